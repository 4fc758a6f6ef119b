/* ring.c - taking entries, keeping promises. */
#include "park/ring.h"

#include "wait/thread.h"

_Static_assert(sizeof(CCCapSubmission) == 64, "ABI");
_Static_assert(offsetof(CCCapSubmission, opcode) == 0, "ABI");
_Static_assert(offsetof(CCCapSubmission, flags) == 2, "ABI");
_Static_assert(offsetof(CCCapSubmission, method) == 4, "ABI");
_Static_assert(offsetof(CCCapSubmission, transfers) == 6, "ABI");
_Static_assert(offsetof(CCCapSubmission, cap) == 8, "ABI");
_Static_assert(offsetof(CCCapSubmission, owner) == 12, "ABI");
_Static_assert(offsetof(CCCapSubmission, user_data) == 16, "ABI");
_Static_assert(offsetof(CCCapSubmission, address) == 24, "ABI");
_Static_assert(offsetof(CCCapSubmission, length) == 32, "ABI");
_Static_assert(offsetof(CCCapSubmission, field) == 36, "ABI");
_Static_assert(offsetof(CCCapSubmission, dependency) == 40, "ABI");
_Static_assert(offsetof(CCCapSubmission, result_address) == 48, "ABI");
_Static_assert(offsetof(CCCapSubmission, result_length) == 56, "ABI");
_Static_assert(offsetof(CCCapSubmission, reserved) == 60, "ABI");
_Static_assert(sizeof(CCCapCompletion) == 32, "ABI");
_Static_assert(offsetof(CCCapCompletion, result) == 8, "ABI");
_Static_assert(offsetof(CCCapCompletion, flags) == 12, "ABI");
_Static_assert(sizeof(CCCapRing) == CC_CAP_RING_ENTRIES, "ABI");
_Static_assert(offsetof(CCCapRing, sq_tail) == 64, "ABI");
_Static_assert(offsetof(CCCapRing, cq_head) == 128, "ABI");
_Static_assert(offsetof(CCCapRing, cq_tail) == 192, "ABI");

/* An index or a part of an entry, in memory that the user may be writing. */
#define SHARED32(field) ((cc__a32 *)(void *)&(field))
typedef struct {
	uint64_t raw;
} __attribute__((may_alias)) part;
enum { PARTS = sizeof(CCCapSubmission) / sizeof(part) };

size_t cc__capring_size(uint32_t sq_entries, uint32_t cq_entries)
{
	return CC_CAP_RING_ENTRIES + sq_entries * sizeof(CCCapSubmission) +
	       cq_entries * sizeof(CCCapCompletion);
}

void cc__capring_init(struct cc__capring *r, CCCapRing *user, uint32_t sq_entries,
                      uint32_t cq_entries)
{
	*r = (struct cc__capring){.user = user, .sq_entries = sq_entries, .cq_entries = cq_entries};
	user->sq_entries = sq_entries;
	user->cq_entries = cq_entries;
}

/* ---- completions; done.lock ---- */

/* What the user says that he has read.  False: it makes no sense. */
static bool refresh(struct cc__capring *r)
{
	/* Acquire: pairs with the user's release after he has read the entries. */
	const uint32_t head = cc__load(SHARED32(r->user->cq_head), CC__ACQUIRE);

	if (head - r->cq_head > r->cq_tail - r->cq_head)
		return false;
	r->cq_head = head;
	return true;
}

static uint32_t to_be_read(const struct cc__capring *r)
{
	return r->cq_tail - r->cq_head;
}

static uint32_t room(struct cc__capring *r)
{
	refresh(r);	/* what makes no sense frees no place */
	return r->cq_entries - to_be_read(r) - r->promised;
}

/* Who is blocked goes on, if there is a reason; the wake that is left to do. */
static struct cc__wake release_blocked(struct cc__capring *r, int result)
{
	refresh(r);
	if (r->done.head == NULL ||
	    (result == 0 && to_be_read(r) < r->wanted && r->moved == r->seen))
		return (struct cc__wake){NULL, 0};
	return cc__waitq_tell(cc__waitq_first(&r->done), CC__REASON_SIGNAL, result);
}

static void post(struct cc__capring *r, uint64_t user_data, int result)
{
	CCCapCompletion *at = cc_cap_completions(r->user, r->sq_entries) +
	                      (r->cq_tail & (r->cq_entries - 1));

	CC__CHECK(r->promised > 0, "R2: a completion that was not promised");
	r->promised--;
	*at = (CCCapCompletion){.user_data = user_data, .result = result};
	r->cq_tail++;
	/* Release: the entry, to the user's acquire. */
	cc__store(SHARED32(r->user->cq_tail), r->cq_tail, CC__RELEASE);
}

/* R3: one more, and there is still a place that none of them has. */
static bool keep(struct cc__capring *r)
{
	if (r->over || r->kept + 2 > r->cq_entries)
		return false;
	r->kept++;
	return true;
}

/* What was promised: a completion, or silence for who is gone.  *kept, if there is such a
 * thing: it was for long, and is no more. */
static struct cc__wake settle_kept(struct cc__capring *r, uint64_t user_data, int result,
                                   bool *kept)
{
	struct cc__wake wake;

	cc__lock(&r->done.lock, CC__RANK_DONE);
	if (kept != NULL && *kept) {
		*kept = false;
		r->kept--;
	}
	if (result == CC_CAP_E_GONE) {
		CC__CHECK(r->promised > 0, "R2: a promise given back twice");
		r->promised--;
		r->silent++;
		r->moved++;
	} else {
		post(r, user_data, result);
	}
	wake = release_blocked(r, 0);
	cc__unlock(&r->done.lock);
	return wake;
}

static struct cc__wake settle(struct cc__capring *r, uint64_t user_data, int result)
{
	return settle_kept(r, user_data, result, NULL);
}

static bool promise(struct cc__capring *r)
{
	bool fits;

	cc__lock(&r->done.lock, CC__RANK_DONE);
	if ((fits = room(r) > 0 && !r->over))
		r->promised++;
	cc__unlock(&r->done.lock);
	return fits;
}

/* Something has changed for whoever takes entries (R6). */
static void nudge(struct cc__capring *r)
{
	struct cc__wake wake;

	cc__lock(&r->done.lock, CC__RANK_DONE);
	r->moved++;
	wake = release_blocked(r, 0);
	cc__unlock(&r->done.lock);
	cc__wake(wake);
}

/* ---- timers; done.lock ---- */

/* False: no place for it (R3). */
static bool arm(struct cc__capring *r, uint64_t user_data, cc_time when)
{
	if (r->armed == CC__CAPRING_TIMERS || !keep(r))
		return false;
	for (int i = 0; i < CC__CAPRING_TIMERS; i++)
		if (!r->timer[i].armed) {
			r->timer[i] = (struct cc__capring_timer){true, when, user_data};
			r->armed++;
			return true;
		}
	CC__UNREACHABLE("R3: a timer that was counted and is not there");
}

static void complete_timers(struct cc__capring *r)
{
	const cc_time now = r->armed > 0 ? cc__now() : 0;

	for (int i = 0; i < CC__CAPRING_TIMERS && r->armed > 0; i++)
		if (r->timer[i].armed && r->timer[i].when <= now) {
			r->timer[i].armed = false;
			r->armed--;
			r->kept--;
			post(r, r->timer[i].user_data, 0);
		}
}

static cc_time next_timer(const struct cc__capring *r)
{
	cc_time when = CC_FOREVER;

	for (int i = 0; i < CC__CAPRING_TIMERS && r->armed > 0; i++)
		if (r->timer[i].armed && r->timer[i].when < when)
			when = r->timer[i].when;
	return when;
}

/* ---- what an entry may look like ---- */

static bool is_zero(const CCCapSubmission *e)
{
	const part *p = (const part *)(const void *)e;
	uint64_t all = 0;

	for (int i = 0; i < PARTS; i++)
		all |= p[i].raw;
	return all == 0;
}

/* 0, MALFORMED or UNSUPPORTED: what it uses is as it must be, and the rest is 0. */
static int shape(const CCCapSubmission *e)
{
	CCCapSubmission rest = *e;

	rest.opcode = 0;
	rest.user_data = 0;
	switch (e->opcode) {
	case CC_CAP_OP_NOP:
		break;
	case CC_CAP_OP_RELEASE:
		rest.cap = 0;
		break;
	case CC_CAP_OP_TIMER:
		if (e->dependency == CC_CAP_NEVER)
			return CC_CAP_E_MALFORMED;
		rest.cap = 0;
		rest.dependency = 0;
		break;
	case CC_CAP_OP_PARK:
		if (e->flags != CC_CAP_THREAD_OWNED)
			return CC_CAP_E_MALFORMED;
		rest.flags = 0;
		rest.cap = rest.owner = rest.length = 0;
		rest.address = rest.dependency = 0;
		break;
	case CC_CAP_OP_UNPARK:
		if (e->length == 0)
			return CC_CAP_E_MALFORMED;
		rest.cap = rest.length = 0;
		rest.address = 0;
		break;
	default:
		return CC_CAP_E_UNSUPPORTED;
	}
	return is_zero(&rest) ? 0 : CC_CAP_E_MALFORMED;
}

/* ---- taking one; ring lock ---- */

enum mode {
	ENTER,
	POLL,		/* nothing that sleeps or wakes */
	RETIRE,		/* only what belongs to nobody any more */
};

/* The entry at the head, copied.  1; 0: there is none; or CC_CAP_E_RING. */
static int next(struct cc__capring *r, CCCapSubmission *e)
{
	/* Acquire: pairs with the user's release after he has written the entries. */
	const uint32_t tail = cc__load(SHARED32(r->user->sq_tail), CC__ACQUIRE);
	const part *from = (const part *)(const void *)(cc_cap_submissions(r->user) +
	                                                (r->sq_head & (r->sq_entries - 1)));
	part *to = (part *)(void *)e;

	if (tail - r->sq_head > r->sq_entries)
		return CC_CAP_E_RING;
	if (tail == r->sq_head)
		return 0;
	for (int i = 0; i < PARTS; i++)
		to[i].raw = cc__load(&from[i], CC__RELAXED);	/* Relaxed: ordered by the tail */
	CC_POINT("ring.copied_under_lock", r);
	return 1;
}

/* Whether it is to be taken, and with what error. */
static bool is_for(struct cc__capring *r, const struct cc__strand *self, enum mode mode,
                   const CCCapSubmission *e, int *error)
{
	const bool parks = e->opcode == CC_CAP_OP_PARK;
	bool orphan;

	if (mode == POLL && (parks || e->opcode == CC_CAP_OP_UNPARK))
		return false;
	*error = shape(e);
	if ((orphan = parks && *error == 0 && !cc__strand_lives(r->strands, e->owner)))
		*error = CC_CAP_E_OWNER;
	if (mode == RETIRE)
		return orphan;
	return !parks || *error != 0 || e->owner == cc__strand_id(self);
}

/* 1: it has been taken, and its completion is promised; 0: there is nothing for us; or
 * CC_CAP_E_*: AGAIN, no completion can be promised; RING. */
static int take(struct cc__capring *r, const struct cc__strand *self, enum mode mode,
                CCCapSubmission *e, int *error)
{
	int got;

	cc__lock(&r->lock, CC__RANK_RING);
	got = next(r, e);
	if (got > 0 && !is_for(r, self, mode, e, error))
		got = 0;
	if (got > 0 && !promise(r))
		got = CC_CAP_E_AGAIN;
	if (got > 0) {
		r->sq_head++;
		/* Release: we have read it, to the user's acquire before he writes another. */
		cc__store(SHARED32(r->user->sq_head), r->sq_head, CC__RELEASE);
	}
	cc__unlock(&r->lock);
	return got;
}

/* ---- doing it ---- */

/* A capability to park with: 0, with its object in *object, held; or CC_CAP_E_*. */
static int authority(struct cc__capring *r, uint32_t id, struct cc__cap *cap)
{
	*cap = cc__caps_look(r->caps, id);
	switch (cap->kind) {
	case CC_CAP_PARK_SPACE:
	case CC_CAP_SHARED_PARK_SPACE:
		return 0;
	case CC_CAP_NONE:
		return CC_CAP_E_CAP;
	default:
		cc__cap_look_away(cap);
		cap->object = NULL;
		return CC_CAP_E_KIND;
	}
}

static int unpark(struct cc__capring *r, const CCCapSubmission *e)
{
	struct cc__cap cap;
	int result = authority(r, e->cap, &cap);

	if (result == 0)
		result = cc__space_wake(r->space, cap.object, cap.generation, e->address, e->length);
	cc__cap_look_away(&cap);
	return result;
}

static struct cc__strand *strand_of(struct cc__node *n)
{
	return (struct cc__strand *)n;
}

/* R3, with the bucket held. */
static bool admit(struct cc__node *n)
{
	struct cc__strand *s = strand_of(n);
	bool keeps;

	cc__lock(&s->ring->done.lock, CC__RANK_DONE);
	keeps = s->keeps = keep(s->ring);
	cc__unlock(&s->ring->done.lock);
	return keeps;
}

static struct cc__wake ended(struct cc__node *n, int result)
{
	struct cc__strand *s = strand_of(n);

	return settle_kept(s->ring, s->user_data, result, &s->keeps);
}

/* Completed in all cases, here or by whoever ends it. */
static void park(struct cc__capring *r, struct cc__strand *self, const CCCapSubmission *e)
{
	struct cc__node_wait w = {.address = e->address, .expected = e->length};
	struct cc__cap cap;
	const int result = authority(r, e->cap, &cap);

	nudge(r);	/* what comes behind it is anybody's */
	if (result != 0) {
		cc__wake(settle(r, e->user_data, result));
		return;
	}
	w.deadline = cc__park_deadline(e->dependency);
	w.object = cap.object;
	w.generation = cap.generation;
	self->ring = r;
	self->user_data = e->user_data;
	self->node.admit = admit;
	self->node.ended = ended;
	cc__node_wait(&self->node, &w);
	cc__cap_look_away(&cap);
}

static void start_timer(struct cc__capring *r, const CCCapSubmission *e)
{
	const struct cc__cap cap = cc__caps_look(r->caps, e->cap);
	const cc_time when = cc__park_deadline(e->dependency);
	bool armed;

	cc__cap_look_away(&cap);
	if (cap.kind != CC_CAP_TIMER) {
		cc__wake(settle(r, e->user_data,
		                cap.kind == CC_CAP_NONE ? CC_CAP_E_CAP : CC_CAP_E_KIND));
		return;
	}
	cc__lock(&r->done.lock, CC__RANK_DONE);
	armed = when != CC_NOW && arm(r, e->user_data, when);
	cc__unlock(&r->done.lock);
	if (armed)
		nudge(r);	/* it may be the earliest */
	else
		cc__wake(settle(r, e->user_data, when == CC_NOW ? 0 : CC_CAP_E_AGAIN));
}

static void execute(struct cc__capring *r, struct cc__strand *self, const CCCapSubmission *e,
                    int error)
{
	int result = error;

	if (error == 0)
		switch (e->opcode) {
		case CC_CAP_OP_PARK:
			park(r, self, e);
			return;
		case CC_CAP_OP_TIMER:
			start_timer(r, e);
			return;
		case CC_CAP_OP_UNPARK:
			result = unpark(r, e);
			break;
		case CC_CAP_OP_RELEASE:
			result = cc__caps_release(r->caps, e->cap) == 0 ? 0 : CC_CAP_E_CAP;
			break;
		default:
			break;
		}
	cc__wake(settle(r, e->user_data, result));
}

/* As many as can be taken, and whether there was a wait of the caller's own.  0, or why not
 * all: CC_CAP_E_AGAIN or RING. */
static int take_all(struct cc__capring *r, struct cc__strand *self, enum mode mode, bool *parked)
{
	CCCapSubmission e;
	int error = 0, got;

	while ((self == NULL || cc__node_lives(&self->node)) &&
	       (got = take(r, self, mode, &e, &error)) != 0) {
		if (got < 0)
			return got;
		execute(r, self, &e, error);
		if (self != NULL && e.opcode == CC_CAP_OP_PARK)
			*parked |= e.owner == cc__strand_id(self);
	}
	return 0;
}

/* ---- enter ---- */

struct visit {
	struct cc__strand *self;
	uint32_t wanted;
	cc_time deadline;
	bool parked;		/* there was a wait of its own: it does not stay for completions,
				 * which another may have read already */
	bool full;		/* there is more to take when a completion has been read */
	bool blocked;		/* it is the one that may block (R6) */
};

/* So many completions are enough. */
static uint32_t wanted(const struct visit *v)
{
	return v->full && v->wanted > 1 ? 1 : v->wanted;
}

/* done.lock: the number of completions, or CC_CAP_E_*, or that it has to block. */
enum { BLOCK = INT32_MIN };
static int look(struct cc__capring *r, const struct visit *v)
{
	if (r->over || !cc__node_lives(&v->self->node))
		return CC_CAP_E_GONE;
	if (!refresh(r))
		return CC_CAP_E_RING;
	if (to_be_read(r) >= wanted(v) || v->parked || v->deadline == CC_NOW ||
	    (v->deadline != CC_FOREVER && cc__now() >= v->deadline))
		return (int)to_be_read(r);
	return r->entering && !v->blocked ? CC_CAP_E_BUSY : BLOCK;
}

/* done.lock, which is dropped: until there are enough, or something has changed. */
static int block(struct cc__capring *r, struct visit *v, uint64_t seen)
{
	const cc_time timer = next_timer(r);
	const cc_time until = timer < v->deadline ? timer : v->deadline;
	struct cc__waiter w = {0};

	v->blocked = r->entering = true;
	if (r->moved != seen) {
		cc__unlock(&r->done.lock);
		return BLOCK;
	}
	r->wanted = wanted(v);
	r->seen = seen;
	CC__EVENT(CC__EV_FOR, cc__self(), CC__FOR_RING, (uintptr_t)r->user);
	switch (cc__wait(&r->done, &w, until)) {
	case ECANCELED:
		return CC_CAP_E_CANCELED;
	case ETIMEDOUT:
		/* Or it was the deadline of a scope around it. */
		return cc__now() >= until ? BLOCK : CC_CAP_E_CANCELED;
	case ENOMEM:
		return CC_CAP_E_MEMORY;
	default:
		return BLOCK;
	}
}

/* Before entries are taken: 0 or CC_CAP_E_*; in *seen, the changes so far. */
static int begin(struct cc__capring *r, uint64_t *seen)
{
	int result = 0;

	cc__lock(&r->done.lock, CC__RANK_DONE);
	*seen = r->moved;
	if (r->over)
		result = CC_CAP_E_GONE;
	else if (!refresh(r))
		result = CC_CAP_E_RING;
	cc__unlock(&r->done.lock);
	return result;
}

/* BLOCK: once more. */
static int visit_once(struct cc__capring *r, struct visit *v)
{
	struct cc__wake wake;
	uint64_t seen;
	int result;

	if ((result = begin(r, &seen)) != 0 ||
	    (result = take_all(r, v->self, ENTER, &v->parked)) == CC_CAP_E_RING)
		return result;
	v->full = result == CC_CAP_E_AGAIN;
	CC_POINT("ring.before_block", r);
	cc__lock(&r->done.lock, CC__RANK_DONE);
	complete_timers(r);
	wake = release_blocked(r, 0);
	result = look(r, v);
	if (wake.who == NULL && result == BLOCK)
		return block(r, v, seen);
	cc__unlock(&r->done.lock);
	cc__wake(wake);
	return result;
}

int cc__capring_enter(struct cc__capring *r, struct cc__strand *self, uint32_t min_complete,
                      uint64_t timeout)
{
	struct visit v = {
	    .self = self, .wanted = min_complete, .deadline = cc__park_deadline(timeout)};
	int result;

	if (min_complete > r->cq_entries)
		return CC_CAP_E_MALFORMED;
	if (!cc__strand_enter(self))
		return CC_CAP_E_BUSY;
	while ((result = visit_once(r, &v)) == BLOCK)
		continue;
	if (v.blocked) {
		cc__lock(&r->done.lock, CC__RANK_DONE);
		r->entering = false;
		cc__unlock(&r->done.lock);
	}
	cc__strand_exit(self);
	return result;
}

int cc__capring_poll(struct cc__capring *r)
{
	struct cc__wake wake;
	bool parked = false;
	uint64_t seen;
	int result = begin(r, &seen);

	if (result == 0)
		result = take_all(r, NULL, POLL, &parked);
	cc__lock(&r->done.lock, CC__RANK_DONE);
	complete_timers(r);
	if (result == 0 || result == CC_CAP_E_AGAIN)
		result = refresh(r) ? (int)to_be_read(r) : CC_CAP_E_RING;
	wake = release_blocked(r, 0);
	cc__unlock(&r->done.lock);
	cc__wake(wake);
	return result;
}

/* ---- the end ---- */

bool cc__capring_strand_end(struct cc__capring *r, uint32_t id)
{
	bool parked = false;

	if (!cc__strand_end(r->strands, id))
		return false;
	/* Nonsense in the indices is told to whoever enters. */
	take_all(r, NULL, RETIRE, &parked);
	nudge(r);
	return true;
}

void cc__capring_exit(struct cc__capring *r)
{
	struct cc__wake wake;

	cc__lock(&r->done.lock, CC__RANK_DONE);
	r->over = true;
	r->promised -= r->armed;
	r->kept -= r->armed;
	r->armed = 0;
	for (int i = 0; i < CC__CAPRING_TIMERS; i++)
		r->timer[i].armed = false;
	wake = release_blocked(r, ESHUTDOWN);
	cc__unlock(&r->done.lock);
	cc__wake(wake);
	cc__strands_end(r->strands);
	cc__space_end(r->space);
	cc__caps_end(r->caps);
}

/* ---- the direct door ---- */

int cc__strand_wait(struct cc__strand *s, const struct cc__node_wait *w)
{
	int result;

	if (!cc__strand_enter(s))
		return CC_CAP_E_BUSY;
	s->node.admit = NULL;
	s->node.ended = NULL;
	result = cc__node_wait(&s->node, w);
	cc__strand_exit(s);
	return result;
}
