/* runq.c - the rare parts of runq.h: thieves, growth. */
#include "sched/runq.h"

#include "os/assert.h"
#include "os/pages.h"

/* A lane does not grow past this; what does not fit goes to the global queue. */
enum { LANE_MAX = 1 << 20 };

/* A turn of waiting for somebody who holds it for a few instructions, unless the
 * system has taken its CPU away. */
static void turn(unsigned *turns)
{
	/* mutant: survives: how long it takes, no more. */
	if (++*turns % 256 == 0)
		cc__thread_yield();
	else
		cc__relax();
}

static uint32_t at_most(uint32_t n, uint32_t most)
{
	return n < most ? n : most;	/* mutant: < -> <= survives: the same. */
}

/* ---- growth; under R1 ---- */

static size_t lane_bytes(const struct cc__lane *r)
{
	return ((size_t)r->mask + 1) * sizeof(struct cc__fiber *);
}

bool cc__runq_grow(struct cc__runq *q, enum cc__kind kind)
{
	struct cc__lane *r = &q->lane[kind];
	const uint32_t wide = 2 * r->mask + 1;
	struct cc__fiber **wider;

	if (r->mask >= LANE_MAX - 1 || (wider = cc__pages_map(2 * lane_bytes(r))) == NULL)
		return false;
	cc__pages_populate(wider, 2 * lane_bytes(r));
	/* Relaxed, both: under R1. */
	for (uint32_t i = cc__load(&r->head, CC__RELAXED); i != cc__load(&r->tail, CC__RELAXED); i++)
		wider[i & wide] = r->slot[i & r->mask];
	if (r->slot != q->first_slots[kind])
		cc__pages_unmap(r->slot, lane_bytes(r));
	r->slot = wider;
	r->mask = wide;
	return true;
}

static void shrink(struct cc__runq *q, enum cc__kind kind)
{
	struct cc__lane *r = &q->lane[kind];

	if (r->slot == q->first_slots[kind] || cc__lane_length(r) != 0)
		return;
	cc__pages_unmap(r->slot, lane_bytes(r));
	r->slot = q->first_slots[kind];
	r->mask = CC__LANE_FIRST - 1;
}

void cc__runq_trim(struct cc__runq *q)
{
	cc__runq_enter(q);
	for (enum cc__kind kind = 0; kind < CC__KINDS; kind++)
		shrink(q, kind);
	cc__runq_leave(q);
}

/* ---- half; under R1 ---- */

/* R3.  The frames of unstarted ones are not touched unless there is need. */
static bool stays(const struct cc__runq *q, const struct cc__fiber *f, enum cc__kind kind)
{
	if (kind == CC__FRESH)
		return q->pinned && cc__fiber_migration(f) == CC_MIGRATE_PINNED;
	return cc__fiber_stays(f);
}

/* Half of a lane, rounded up, without those that stay (R3). */
static void cut(struct cc__runq *q, enum cc__kind kind, struct cc__loot *loot)
{
	struct cc__lane *r = &q->lane[kind];
	uint32_t n = at_most((cc__lane_length(r) + 1) / 2, CC__STEAL_MAX);

	loot->kind = kind;
	loot->count = 0;
	while (n-- > 0) {
		struct cc__fiber *f = cc__lane_oldest(r);

		if (stays(q, f, kind))
			cc__lane_append(r, f);
		else
			loot->fiber[loot->count++] = f;
	}
}

/* Of the most urgent kind that may be taken; unstarted ones before the started
 * whose stacks are warm here. */
static void half(struct cc__runq *q, unsigned take, struct cc__loot *loot)
{
	static const enum cc__kind order[] = {CC__URGENT, CC__FRESH, CC__READY};

	loot->count = 0;
	for (unsigned i = 0; i < CC__KINDS && loot->count == 0; i++)
		if (order[i] != CC__FRESH || take == CC__TAKE_ANY)
			cut(q, order[i], loot);
}

/* ---- the owner's side of the bias ---- */

static enum cc__want state_of(uint32_t want)
{
	return (enum cc__want)(want & 15);
}

bool cc__runq_meet_thief(struct cc__runq *q)
{
	/* Acquire: a thief that has just been inside (3), or the one before the one that asks
	 * now, whose exchange continues its release. */
	uint32_t want = cc__load(&q->want, CC__ACQUIRE);
	unsigned turns = 0;

	/* Acquire: it fails if a thief was faster, which may have been inside and gone (3). */
	if (want == CC__OPEN && cc__cas(&q->want, &want, CC__NOBODY, CC__ACQUIRE, CC__ACQUIRE))
		return true;
	/* Relaxed, both ways: it is as just read, or SEIZED by the one that asked, who waits
	 * for us to leave. */
	if (state_of(want) == CC__ASKED &&
	    cc__cas(&q->want, &want, CC__GIVING, CC__RELAXED, CC__RELAXED)) {
		half(q, want >> 4, &q->gift);
		/* Release (4): the gift, to the thief's acquire. */
		cc__store(&q->want, CC__GIVEN, CC__RELEASE);
	}
	if (state_of(want) != CC__SEIZED)
		return true;	/* NOBODY, or GIVEN by now and not collected: the lanes are ours */
	cc__runq_leave(q);
	while (state_of(cc__load(&q->want, CC__RELAXED)) == CC__SEIZED)	/* Relaxed: we look again */
		turn(&turns);
	return false;
}

bool cc__runq_push_stolen(struct cc__runq *q, const struct cc__loot *loot)
{
	struct cc__lane *r = &q->lane[CC__FRESH];
	uint32_t n = loot->count;
	bool room;

	cc__runq_enter(q);
	if ((room = cc__lane_length(r) + n <= r->mask + 1))
		while (n > 0)
			cc__lane_append(r, loot->fiber[--n]);
	cc__runq_leave(q);
	return room;
}

bool cc__runq_take(struct cc__runq *q, struct cc__fiber *f)
{
	enum { NEWEST = 8 };
	struct cc__lane *r = &q->lane[CC__FRESH];
	uint32_t newest, n, i;
	bool found;

	cc__runq_enter(q);
	newest = cc__load(&r->tail, CC__RELAXED) - 1;	/* Relaxed, all: under R1 */
	n = at_most(cc__lane_length(r), NEWEST);
	for (i = 0; i != n && r->slot[(newest - i) & r->mask] != f; i++)
		continue;
	if ((found = i < n)) {
		for (; i > 0; i--)	/* the newer ones move up */
			r->slot[(newest - i) & r->mask] = r->slot[(newest - i + 1) & r->mask];
		cc__store(&r->tail, newest, CC__RELAXED);
	}
	cc__runq_leave(q);
	return found;
}

/* Under R1. */
static bool any_of(const struct cc__lane *r)
{
	/* Relaxed, both: as in cc__lane_oldest. */
	return cc__load(&r->head, CC__RELAXED) != cc__load(&r->tail, CC__RELAXED);
}

struct cc__fiber *cc__runq_take_newest(struct cc__runq *q, const void *nursery, bool next,
                                       uintptr_t unfit)
{
	struct cc__lane *r = &q->lane[CC__FRESH];
	struct cc__fiber *f = NULL;
	uint32_t tail;

	cc__runq_enter(q);
	tail = cc__load(&r->tail, CC__RELAXED);	/* Relaxed, all: under R1 */
	if (tail != cc__load(&r->head, CC__RELAXED) && !(next && any_of(&q->lane[CC__READY]))) {
		f = r->slot[(tail - 1) & r->mask];
		/* It is in our queue, so nobody runs it and it is what it was. */
		if (cc__fiber_nursery(f) == nursery && (f->home & unfit) == 0) {
			cc__lane_cut_newest(r, tail - 1);
		} else {
			f = NULL;
		}
	}
	cc__runq_leave(q);
	return f;
}

/* ---- the thief's side ---- */

static void copy(struct cc__loot *to, const struct cc__loot *from)
{
	to->kind = from->kind;
	to->count = from->count;
	for (uint32_t i = 0; i < from->count; i++)
		to->fiber[i] = from->fiber[i];
}

static bool take_gift(struct cc__runq *q, struct cc__loot *loot)
{
	copy(loot, &q->gift);
	/* Release: that we have read the gift, to the owner who writes the next,
	 * through the acquire in cc__runq_meet_thief. */
	cc__store(&q->want, CC__NOBODY, CC__RELEASE);
	return loot->count > 0;
}

/* SEIZED, and the owner is out. */
static bool take_half(struct cc__runq *q, unsigned take, struct cc__loot *loot)
{
	half(q, take, loot);
	/* Release (3): the lanes, to the acquire in cc__runq_come. */
	cc__store(&q->want, CC__NOBODY, CC__RELEASE);
	return loot->count > 0;
}

static bool seize(struct cc__runq *q, unsigned take, struct cc__loot *loot)
{
	unsigned turns = 0;

	cc__fence_heavy();	/* see cc__runq_come */
	/* Acquire (2): pairs with the release in cc__runq_leave (1). */
	while (cc__load(&q->busy, CC__ACQUIRE) != 0)
		turn(&turns);
	return take_half(q, take, loot);
}

/* The owner has not been here since it opened: it reads what it wrote, OPEN, or what a
 * thief wrote after that, and exchanges OPEN itself before it touches the lanes.  One of
 * the two exchanges fails. */
static bool seize_open(struct cc__runq *q, unsigned take, struct cc__loot *loot)
{
	uint32_t want = CC__OPEN;

	/* Acquire: pairs with the release in cc__runq_open (5). */
	return cc__cas(&q->want, &want, CC__SEIZED, CC__ACQUIRE, CC__RELAXED) &&
	       take_half(q, take, loot);
}

bool cc__runq_steal(struct cc__runq *q, unsigned take, unsigned patience, struct cc__loot *loot)
{
	const uint32_t asked = CC__ASKED | take << 4;
	uint32_t want = CC__NOBODY;
	unsigned turns = 0;

	loot->kind = CC__READY;
	loot->count = (loot->fiber[0] = cc__runq_take_offer(q)) != NULL;
	if (loot->count > 0)
		return true;
	/* Acquire: what the thief before us left (3), and we pass on.
	 * mutant: acquire -> relaxed survives: the heavy fence, or the gift, brings it as well;
	 * only TSan does not see that. */
	if (!cc__cas(&q->want, &want, asked, CC__ACQUIRE, CC__RELAXED))
		return want == CC__OPEN && seize_open(q, take, loot);
	while (patience-- > 0) {
		/* Acquire: pairs with the release in cc__runq_meet_thief (4). */
		if (cc__load(&q->want, CC__ACQUIRE) == CC__GIVEN)
			return take_gift(q, loot);
		cc__relax();	/* mutant: delete cc__relax survives: how long it takes. */
	}
	want = asked;
	/* Relaxed on success: the heavy fence follows. */
	if (cc__cas(&q->want, &want, CC__SEIZED, CC__RELAXED, CC__RELAXED))
		return seize(q, take, loot);
	/* The owner has begun to give.
	 * Acquire: pairs with the release in cc__runq_meet_thief (4). */
	while (cc__load(&q->want, CC__ACQUIRE) != CC__GIVEN)
		turn(&turns);
	return take_gift(q, loot);
}

/* ---- life ---- */

void cc__runq_init(struct cc__runq *q)
{
	for (enum cc__kind kind = 0; kind != CC__KINDS; kind++) {
		q->lane[kind].slot = q->first_slots[kind];
		q->lane[kind].mask = CC__LANE_FIRST - 1;
	}
}

void cc__runq_fini(struct cc__runq *q)
{
	CC__CHECK(cc__runq_length(q) == 0, "R2: a queued fiber is left");
	cc__runq_trim(q);
}
