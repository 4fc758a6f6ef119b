/* runq.h - a worker's run queue: free for its owner, open to everybody.
 *
 * The owner's path has no locked instruction: it marks itself busy, looks
 * whether a thief wants something, works, and unmarks.  A thief pays instead.
 * It first asks; an owner that comes by within a few microseconds hands out
 * half by itself.  From an owner that does not (it runs one fiber for long) the
 * thief seizes the queue: a fence on every CPU makes sure that either the
 * owner sees the wish or the thief sees the owner busy.  That fence waits for the
 * CPU of the owner, and a host that has taken this CPU away returns it milliseconds
 * later.  So an owner that wakes a worker opens its queue before: until the owner comes
 * by again, a thief seizes the queue without a fence.
 *
 *   want       to        who     then
 *   NOBODY     ASKED     thief   wait a little
 *   ASKED      GIVING    owner   fill the gift: only while it is busy
 *   GIVING     GIVEN     owner   go on working
 *   GIVEN      NOBODY    thief   took the gift
 *   ASKED      SEIZED    thief   heavy fence, wait until not busy, take half
 *   SEIZED     NOBODY    thief
 *   NOBODY     OPEN      owner   wake a worker: only while it is not busy
 *   OPEN       NOBODY    owner   the next time it is busy
 *   OPEN       SEIZED    thief   take half
 *
 * R1  The lanes are touched by the owner while busy, or by the thief that has
 *     SEIZED and seen it not busy, or has SEIZED what was OPEN.  Never by both.
 * R2  Each QUEUED fiber is in exactly one place, once: no entry is ever stale.
 * R3  A thief never gets a fiber that must stay (cc__fiber_stays): it goes to
 *     the back of the lane instead.
 * R4  The started fiber that would be next may lie in `offer` instead of in its lane,
 *     where it is taken with one exchange, by its owner or by a thief, without the
 *     questions above.  It is older than all of the lane: the owner takes it first. */
#ifndef CC__SCHED_RUNQ_H
#define CC__SCHED_RUNQ_H

#include "os/atomic.h"
#include "task/frame.h"

enum cc__kind {
	CC__URGENT,	/* its time has come: before all others */
	CC__READY,	/* started: oldest first */
	CC__FRESH,	/* unstarted: newest first, thieves oldest first */
	CC__KINDS,
};

enum {
	CC__LANE_FIRST = 256,	/* slots that a lane begins with */
	CC__STEAL_MAX = 256,	/* most that move in one theft */
	CC__AHEAD = 4,		/* how far is looked for what will be needed */
	CC__WAIT_LINES = 5,	/* about what a wait takes of the stack, in cache lines */
	/* What a thief may take. */
	CC__TAKE_STARTED = 1,
	CC__TAKE_ANY = 3,
};

/* Fibers of one kind: a ring that grows.  Positions count up and wrap.  Under R1, but
 * that anybody may read the positions, as a hint. */
struct cc__lane {
	struct cc__fiber **slot;
	uint32_t mask;			/* slots - 1 */
	cc__a32 head, tail;		/* oldest, one past the newest */
};

/* What a thief carries. */
struct cc__loot {
	enum cc__kind kind;
	uint32_t count;
	struct cc__fiber *fiber[CC__STEAL_MAX];	/* oldest first */
};

enum cc__want { CC__NOBODY, CC__ASKED, CC__GIVING, CC__GIVEN, CC__SEIZED, CC__OPEN };

struct cc__runq {
	cc__a32 busy;			/* written by the owner */
	bool pinned;			/* R1; there were unstarted ones that stay */
	struct cc__lane lane[CC__KINDS];
	struct cc__fiber *first_slots[CC__KINDS][CC__LANE_FIRST];

	char apart[64];			/* from the owner's lines; the hook aligns by 16 */
	cc__a32 want;			/* enum cc__want, and what the thief takes << 4 */
	cc__a32 offers;			/* so many there were; written by the owner */
	CC__ATOMIC(struct cc__fiber *) offer;	/* R4; NULL: none.  Filled by the owner */
	struct cc__loot gift;		/* the owner's while GIVING, the thief's when GIVEN */
};

void cc__runq_init(struct cc__runq *q);
void cc__runq_fini(struct cc__runq *q);
/* The owner's: give back the memory of lanes that have grown and are empty. */
void cc__runq_trim(struct cc__runq *q);

/* Anybody but the owner: the offer, or half of what is there, at most CC__STEAL_MAX.  `take` is
 * CC__TAKE_*; asks for `patience` turns before it seizes.  False: there is
 * nothing, or another thief is at it. */
bool cc__runq_steal(struct cc__runq *q, unsigned take, unsigned patience, struct cc__loot *loot);

/* About how many of a kind there are. */
static inline uint32_t cc__lane_length(const struct cc__lane *r)
{
	/* Relaxed, both: a hint to others; exact to whom R1 lets in. */
	const uint32_t tail = cc__load(&r->tail, CC__RELAXED);
	const int32_t n = (int32_t)(tail - cc__load(&r->head, CC__RELAXED));

	return n > 0 ? (uint32_t)n : 0;	/* mutant: > -> >= survives: the same. */
}

/* About whether there is an offer. */
static inline bool cc__runq_offered(const struct cc__runq *q)
{
	return cc__load(&q->offer, CC__RELAXED) != NULL;	/* Relaxed: a hint */
}

/* About how many started ones there are; how many of all. */
static inline uint32_t cc__runq_started(const struct cc__runq *q)
{
	return cc__lane_length(&q->lane[CC__URGENT]) + cc__lane_length(&q->lane[CC__READY]) +
	       cc__runq_offered(q);
}

static inline uint32_t cc__runq_length(const struct cc__runq *q)
{
	return cc__runq_started(q) + cc__lane_length(&q->lane[CC__FRESH]);
}

/* The offer, to whoever is the first to ask; NULL: there is none. */
static inline struct cc__fiber *cc__runq_take_offer(struct cc__runq *q)
{
	/* Acquire: the fiber, from the release in cc__runq_offer. */
	return cc__runq_offered(q) ? cc__xchg(&q->offer, NULL, CC__ACQUIRE) : NULL;
}

/* ---- the owner's side ---- */

/* Rare parts of enter and push.  False: not busy, try again; no room. */
bool cc__runq_meet_thief(struct cc__runq *q);
bool cc__runq_grow(struct cc__runq *q, enum cc__kind kind);

/* Busy from here on.  True: there is no thief to be met. */
static inline bool cc__runq_come(struct cc__runq *q)
{
	/* Relaxed, then the light fence: against the thief's heavy one,
	 *
	 *      owner              thief
	 *      busy = 1           want = SEIZED
	 *      light fence        heavy fence
	 *      read want          read busy
	 *
	 * one of them sees the other. */
	cc__store(&q->busy, 1, CC__RELAXED);
	cc__fence_light();
	/* Acquire: what the last thief left (3). */
	return __builtin_expect(cc__load(&q->want, CC__ACQUIRE) == CC__NOBODY, 1);
}

static inline void cc__runq_enter(struct cc__runq *q)
{
	while (!cc__runq_come(q) && !cc__runq_meet_thief(q))
		continue;
}

static inline void cc__runq_leave(struct cc__runq *q)
{
	/* Release (1): the lanes, to the acquire of a thief that finds us gone (2). */
	cc__store(&q->busy, 0, CC__RELEASE);
}

/* Not busy: the next thief needs no fence, and the next call of the owner is a slow one. */
static inline void cc__runq_open(struct cc__runq *q)
{
	uint32_t want = CC__NOBODY;

	/* Release (5): the lanes, to the acquire of the thief that seizes; those that the
	 * thief before it has left (3), too, because an exchange continues that release.
	 * Relaxed if it fails: there is a thief, or the queue is open. */
	cc__cas(&q->want, &want, CC__OPEN, CC__RELEASE, CC__RELAXED);
}

/* Under R1.  Relaxed, all: R1 orders the positions, others take them as hints. */
static inline struct cc__fiber *cc__lane_oldest(struct cc__lane *r)
{
	const uint32_t head = cc__load(&r->head, CC__RELAXED);

	if (head == cc__load(&r->tail, CC__RELAXED))
		return NULL;
	cc__store(&r->head, head + 1, CC__RELAXED);
	return r->slot[head & r->mask];
}

/* The newest comes out; those after it are sent for, since stolen ones are in another
 * core's cache. */
static inline struct cc__fiber *cc__lane_cut_newest(struct cc__lane *r, uint32_t newest)
{
	if (newest - cc__load(&r->head, CC__RELAXED) >= CC__AHEAD)
		__builtin_prefetch(r->slot[(newest - CC__AHEAD) & r->mask], 1);
	cc__store(&r->tail, newest, CC__RELAXED);
	return r->slot[newest & r->mask];
}

static inline struct cc__fiber *cc__lane_newest(struct cc__lane *r)
{
	const uint32_t tail = cc__load(&r->tail, CC__RELAXED);

	return tail != cc__load(&r->head, CC__RELAXED) ? cc__lane_cut_newest(r, tail - 1) : NULL;
}

static inline void cc__lane_append(struct cc__lane *r, struct cc__fiber *f)
{
	const uint32_t tail = cc__load(&r->tail, CC__RELAXED);

	r->slot[tail & r->mask] = f;
	cc__store(&r->tail, tail + 1, CC__RELAXED);
}

/* False: full, and f is still the caller's. */
static inline bool cc__runq_push(struct cc__runq *q, struct cc__fiber *f, enum cc__kind kind)
{
	struct cc__lane *r = &q->lane[kind];
	bool room;

	cc__runq_enter(q);
	room = cc__lane_length(r) <= r->mask || cc__runq_grow(q, kind);
	if (room) {
		if (kind == CC__FRESH && cc__fiber_migration(f) == CC_MIGRATE_PINNED)
			q->pinned = true;
		cc__lane_append(r, f);
	}
	cc__runq_leave(q);
	return room;
}

/* f, started and free to move, as an offer.  False: others wait here longer, and f
 * belongs behind them. */
static inline bool cc__runq_offer(struct cc__runq *q, struct cc__fiber *f)
{
	if (cc__lane_length(&q->lane[CC__READY]) > 0 || cc__runq_offered(q))
		return false;
	/* Relaxed, both: ours alone to write, a hint to others.
	 * mutant: swap survives: likewise. */
	cc__store(&q->offers, cc__load(&q->offers, CC__RELAXED) + 1, CC__RELAXED);
	/* Release: the fiber, to the acquire in cc__runq_take_offer. */
	cc__store(&q->offer, f, CC__RELEASE);
	return true;
}

/* With many fibers neither their frames nor the tops of their stacks are in the cache
 * when their turn comes, nor is the stack's page in the TLB: both are sent for in time.
 * Who has yielded needs a line of its stack, who has waited comes back through some. */
static inline void cc__stack_ahead(const struct cc__fiber *started, unsigned lines)
{
	const char *sp = (const void *)started->run.context.sp;

#pragma GCC unroll 16
	for (unsigned i = 0; i < lines; i++)	/* mutant: survives: a hint. */
		__builtin_prefetch(sp + (size_t)i * 64);
}

/* As cc__runq_push, for one that is not pinned, in the usual case: false, and nothing is
 * done, if there is a thief to be met or no room.  A started one may be next, before the
 * queue looks ahead: its stack is sent for. */
static inline bool cc__runq_append(struct cc__runq *q, struct cc__fiber *f, enum cc__kind kind)
{
	struct cc__lane *r = &q->lane[kind];
	uint32_t tail, count;
	bool usual = cc__runq_come(q);

	if (usual) {
		/* Relaxed, all: under R1. */
		tail = cc__load(&r->tail, CC__RELAXED);
		count = tail - cc__load(&r->head, CC__RELAXED);
		if (kind == CC__READY && count <= CC__AHEAD)
			cc__stack_ahead(f, CC__WAIT_LINES);
		if ((usual = __builtin_expect(count <= r->mask, 1))) {
			r->slot[tail & r->mask] = f;
			cc__store(&r->tail, tail + 1, CC__RELAXED);
		}
	}
	cc__runq_leave(q);
	return usual;
}

/* Of more than CC__AHEAD, the oldest at `head`. */
static inline void cc__lane_ahead(struct cc__fiber **slot, uint32_t mask, uint32_t head,
                                  unsigned lines)
{
	__builtin_prefetch(slot[(head + CC__AHEAD) & mask]);
	cc__stack_ahead(slot[(head + CC__AHEAD / 2) & mask], lines);
}

/* The oldest started one.  Under R1; relaxed: as above. */
static inline struct cc__fiber *cc__lane_oldest_ahead(struct cc__lane *r)
{
	const uint32_t head = cc__load(&r->head, CC__RELAXED);
	const uint32_t count = cc__load(&r->tail, CC__RELAXED) - head;

	if (count == 0)
		return NULL;
	cc__store(&r->head, head + 1, CC__RELAXED);
	if (count > CC__AHEAD)
		cc__lane_ahead(r->slot, r->mask, head, CC__WAIT_LINES);
	return r->slot[head & r->mask];
}

/* The same, and f at the end, in the room that it leaves. */
static inline struct cc__fiber *cc__lane_turn(struct cc__lane *r, struct cc__fiber *f)
{
	const uint32_t head = cc__load(&r->head, CC__RELAXED), tail = cc__load(&r->tail, CC__RELAXED);
	struct cc__fiber **slot = r->slot, *next;
	const uint32_t mask = r->mask;

	if (head == tail)
		return NULL;
	cc__store(&r->head, head + 1, CC__RELAXED);
	if (tail - head > CC__AHEAD)
		cc__lane_ahead(slot, mask, head, 1);
	next = slot[head & mask];
	slot[tail & mask] = f;
	cc__store(&r->tail, tail + 1, CC__RELAXED);
	return next;
}

/* The next to run in the ordinary order: started, else unstarted. */
static inline struct cc__fiber *cc__runq_pop(struct cc__runq *q)
{
	struct cc__fiber *f;

	cc__runq_enter(q);
	if ((f = cc__lane_oldest_ahead(&q->lane[CC__READY])) == NULL)
		f = cc__lane_newest(&q->lane[CC__FRESH]);
	cc__runq_leave(q);
	return f;
}

/* The oldest started one, in the usual case; NULL: there is none, or a thief to be met. */
static inline struct cc__fiber *cc__runq_oldest(struct cc__runq *q)
{
	struct cc__fiber *f = NULL;

	if (cc__runq_come(q))
		f = cc__lane_oldest_ahead(&q->lane[CC__READY]);
	cc__runq_leave(q);
	return f;
}

/* f goes to the end and the next started one comes out, all in one: f is still
 * running, so the caller stays inside, and leaves on another stack.  NULL:
 * there is no other, or a thief to be met, and the caller is not inside. */
static inline struct cc__fiber *cc__runq_turn(struct cc__runq *q, struct cc__fiber *f)
{
	struct cc__fiber *next = NULL;

	if (!cc__runq_come(q) || (next = cc__lane_turn(&q->lane[CC__READY], f)) == NULL)
		cc__runq_leave(q);
	return next;
}

/* Unstarted ones, stolen elsewhere; the oldest goes in last, since the newest here runs first.
 * Their frames are not touched: they are in another core's cache.  False: no room. */
bool cc__runq_push_stolen(struct cc__runq *q, const struct cc__loot *loot);
/* That unstarted one, if it is among the newest.  True: f is the caller's. */
bool cc__runq_take(struct cc__runq *q, struct cc__fiber *f);
/* As cc__runq_take_child; `unfit`: CC__HOME_* that it must not have. */
struct cc__fiber *cc__runq_take_newest(struct cc__runq *q, const void *nursery, bool next,
                                       uintptr_t unfit);
/* The newest unstarted one, if it is a child of that nursery; else NULL.  `next`: and if it
 * is what cc__runq_pop would give; else if it may run where another one does.  A child that
 * wants a larger stack than ordinary is not taken. */
static inline struct cc__fiber *cc__runq_take_child(struct cc__runq *q, const void *nursery,
                                                    bool next)
{
	return cc__runq_take_newest(q, nursery, next,
	                            next ? CC__HOME_LARGE : CC__HOME_LARGE | CC__HOME_MIGRATION);
}

/* The oldest of a kind. */
static inline struct cc__fiber *cc__runq_pop_kind(struct cc__runq *q, enum cc__kind kind)
{
	struct cc__fiber *f;

	cc__runq_enter(q);
	f = cc__lane_oldest(&q->lane[kind]);
	cc__runq_leave(q);
	return f;
}

#endif
