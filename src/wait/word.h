/* word.h - the one word of everybody who can wait, and all its transitions.
 *
 *      63            20 19        4 3      2     0
 *     | ticket: 44     | owner: 16 | thread | state |
 *
 * ticket   numbers the waits of this fiber or thread.  A compare-exchange that
 *          names it can never claim a later wait.
 * owner    the worker that runs it, or ran it last: 1-based, 0 before the first.
 * thread   an OS thread: woken through a futex, not through a run queue.
 *
 *   from               to        who       function            then
 *   IDLE               ASSIGNED  spawner   cc__word_assign     write the thunk
 *   ASSIGNED           QUEUED    spawner   cc__word_publish    enqueue
 *   ASSIGNED           DONE      recaller  cc__word_recall     recycle it: it never runs
 *   QUEUED             OWNED     worker    cc__word_claim      run it
 *   OWNED              QUEUED    worker    cc__word_yield      enqueue; on another stack
 *   OWNED              PARKING   sleeper   cc__word_park       publish, then look
 *   OWNED              PARKING   sleeper   cc__word_repark     the same, same ticket
 *   PARKING, NOTIFIED  OWNED     sleeper   cc__word_abort      go on running
 *   PARKING            PARKED    worker    cc__word_commit     forget it; on another stack
 *   PARKING            NOTIFIED  waker     cc__word_wake       nothing: the commit fails
 *   NOTIFIED           OWNED     thread    cc__word_resume     go on; a worker requeues
 *   NOTIFIED           QUEUED    worker    cc__word_requeue    enqueue
 *   PARKED             QUEUED    waker     cc__word_wake       enqueue (thread: release)
 *   PARKED             OWNED     thread    cc__word_unpark     its own timeout; threads only
 *   QUEUED             OWNED     waker     cc__word_release    futex wake (threads)
 *   OWNED              DONE      worker    cc__word_done       then end the handle (F3)
 *   DONE               IDLE      allocator cc__word_recycle
 *
 * One function a row, each tells its caller what is left to do, and nobody else
 * writes the word. */
#ifndef CC__WAIT_WORD_H
#define CC__WAIT_WORD_H

#include "os/assert.h"
#include "os/atomic.h"
#include "base/point.h"
#include "os/trace.h"

/* ---- what the event log is told ---- */

#ifdef CC__EXPLORE
static inline void cc__watch_move(uint64_t number, const void *who, uint64_t from, uint64_t to)
{
	(void)number, (void)who, (void)from, (void)to;
}
static inline void cc__watch_enqueued(const void *who, unsigned how, unsigned worker)
{
	(void)who, (void)how, (void)worker;
}
#else
/* Logs the move and, under CC__WATCH_ASSERT, aborts on one that the table does not have. */
void cc__watch_moved(uint64_t number, const void *who, uint64_t from, uint64_t to);
/* Logs that the parker `who` is put into a run queue and, under CC__WATCH_ASSERT, aborts unless
 * it is runnable.  See CC__EV_ENQUEUE. */
void cc__watch_enqueued(const void *who, unsigned how, unsigned worker);

/* After a move whose number cc__watch_begin gave before it. */
static inline void cc__watch_move(uint64_t number, const void *who, uint64_t from, uint64_t to)
{
	if (__builtin_expect(number != 0, 0))
		cc__watch_moved(number, who, from, to);
}
#endif

enum cc__state {
	CC__IDLE,
	CC__ASSIGNED,
	CC__QUEUED,
	CC__OWNED,
	CC__PARKING,
	CC__NOTIFIED,
	CC__PARKED,
	CC__DONE,
};

/* A fiber or an OS thread, as far as waiting goes.  Type-stable: the memory
 * stays a parker for the life of the process, so a late waker may look at the
 * word of one that is long gone. */
struct cc__parker {
	cc__a64 word;
};

enum {
	CC__THREAD_BIT = 1 << 3,
	CC__OWNER_SHIFT = 4,
	CC__OWNER_MAX = 0xffff,
	CC__TICKET_SHIFT = 20,
};
#define CC__OWNER_MASK ((uint64_t)CC__OWNER_MAX << CC__OWNER_SHIFT)
#define CC__TICKET_ONE ((uint64_t)1 << CC__TICKET_SHIFT)
#define CC__TICKET_MASK (~(CC__TICKET_ONE - 1))

static inline enum cc__state cc__word_state(uint64_t word)
{
	return (enum cc__state)(word & 7);
}

/* The ticket in its place in the word: compared, never counted with. */
static inline uint64_t cc__word_ticket(uint64_t word)
{
	return word & CC__TICKET_MASK;
}

static inline unsigned cc__word_owner(uint64_t word)
{
	return (unsigned)((word & CC__OWNER_MASK) >> CC__OWNER_SHIFT);
}

static inline bool cc__word_is_thread(uint64_t word)
{
	return (word & CC__THREAD_BIT) != 0;
}

static inline uint64_t cc__word_with(uint64_t word, enum cc__state state)
{
	return (word & ~(uint64_t)7) | (uint64_t)state;
}

/* The code of a word in traces and dumps: idle 0, assigned -1, parked -2,
 * parking -3, done -4, queued -5, notified -6, owned by worker n: n. */
static inline int cc__word_code(uint64_t word)
{
	static const signed char code[] = {
	    [CC__IDLE] = 0,      [CC__ASSIGNED] = -1, [CC__PARKED] = -2,   [CC__PARKING] = -3,
	    [CC__DONE] = -4,     [CC__QUEUED] = -5,   [CC__NOTIFIED] = -6, [CC__OWNED] = 0,
	};

	if (cc__word_state(word) == CC__OWNED)
		return (int)cc__word_owner(word);
	return code[cc__word_state(word)];
}

/* The table above, for whoever watches (cc__watch). */
static inline bool cc__word_legal(uint64_t from, uint64_t to)
{
	static const unsigned char next[] = {
	    [CC__IDLE] = 1 << CC__ASSIGNED,
	    [CC__ASSIGNED] = 1 << CC__QUEUED | 1 << CC__DONE,
	    [CC__QUEUED] = 1 << CC__OWNED,
	    [CC__OWNED] = 1 << CC__QUEUED | 1 << CC__PARKING | 1 << CC__DONE,
	    [CC__PARKING] = 1 << CC__OWNED | 1 << CC__PARKED | 1 << CC__NOTIFIED,
	    [CC__NOTIFIED] = 1 << CC__OWNED | 1 << CC__QUEUED,
	    [CC__PARKED] = 1 << CC__QUEUED | 1 << CC__OWNED,
	    [CC__DONE] = 1 << CC__IDLE,
	};
	const bool new_wait =
	    cc__word_state(from) == CC__OWNED && cc__word_state(to) == CC__PARKING;
	/* A thread's own timeout.  A parked fiber runs only after a waker has queued it. */
	const bool unparks = cc__word_state(from) == CC__PARKED && cc__word_state(to) == CC__OWNED;

	return (next[cc__word_state(from)] >> cc__word_state(to) & 1) != 0 &&
	       cc__word_is_thread(from) == cc__word_is_thread(to) &&
	       (!unparks || cc__word_is_thread(from)) &&
	       (cc__word_ticket(to) == cc__word_ticket(from) ||
	        (new_wait && cc__word_ticket(to) == cc__word_ticket(from + CC__TICKET_ONE)));
}

/* Writes p's word where the caller is the only one who may: `from` is a state
 * that nobody else leaves.  The order is the row's, with its partner. */
#define CC__WORD_SET(p, from, to, order) \
	(cc__watched() ? cc__word_set_watched(p, from, to, order) \
	               : cc__store(&(p)->word, to, order))
void cc__word_set_watched(struct cc__parker *p, uint64_t from, uint64_t to, int order);

/* The only one that may write p's word now: states that nobody else leaves. */
static inline uint64_t cc__word_mine(const struct cc__parker *p, enum cc__state expected)
{
	/* Relaxed: we wrote it, or got p through a queue that orders. */
	uint64_t w = cc__load(&p->word, CC__RELAXED);

	CC__ASSERT(cc__word_state(w) == expected, "word: transition from the wrong state");
	(void)expected;
	return w;
}

/* p is about to be published in a run queue, or to be picked without one.  Under
 * CC__WATCH_ASSERT the process stops unless p is QUEUED.  `how` and `worker` are those of
 * CC__EV_ENQUEUE; the locks held are added. */
static inline void cc__word_enqueued(const struct cc__parker *p, unsigned how, unsigned worker)
{
	if (cc__watched())
		cc__watch_enqueued(p, how, worker);
}

/* ---- spawn, run, end ---- */

/* The frame is its spawner's: it came from a pool that hands out once. */
static inline void cc__word_assign(struct cc__parker *p)
{
	const uint64_t w = cc__load(&p->word, CC__RELAXED);	/* Relaxed: as below */

	CC__CHECK(cc__word_state(w) == CC__IDLE, "word: two spawners hold one frame");
	/* Relaxed: the pool that handed the frame out orders it after its former
	 * life, by its lock or as the same thread's. */
	CC__WORD_SET(p, w, cc__word_with(w, CC__ASSIGNED), CC__RELAXED);
}

static inline void cc__word_publish(struct cc__parker *p)
{
	uint64_t w = cc__word_mine(p, CC__ASSIGNED);

	/* Relaxed: workers get the thunk through the queue, and who only looks
	 * (cc_fiber_each) passes the frame's lock. */
	CC__WORD_SET(p, w, cc__word_with(w, CC__QUEUED), CC__RELAXED);
}

static inline void cc__word_recall(struct cc__parker *p)
{
	uint64_t w = cc__word_mine(p, CC__ASSIGNED);

	/* Relaxed: nobody else has it. */
	CC__WORD_SET(p, w, cc__word_with(w, CC__DONE), CC__RELAXED);
}

static inline uint64_t cc__word_claimed(uint64_t w, unsigned worker)
{
	return cc__word_with((w & ~CC__OWNER_MASK) | (uint64_t)worker << CC__OWNER_SHIFT, CC__OWNED);
}

static inline void cc__word_claim(struct cc__parker *p, unsigned worker)
{
	uint64_t w = cc__word_mine(p, CC__QUEUED);

	/* Relaxed: the queue handed p to us alone, and ordered it. */
	CC__WORD_SET(p, w, cc__word_claimed(w, worker), CC__RELAXED);
}

/* The same, while nobody watches. */
static inline void cc__word_claim_unwatched(struct cc__parker *p, unsigned worker)
{
	/* Relaxed: as above. */
	cc__store(&p->word, cc__word_claimed(cc__word_mine(p, CC__QUEUED), worker), CC__RELAXED);
}

static inline void cc__word_yield(struct cc__parker *p)
{
	uint64_t w = cc__word_mine(p, CC__OWNED);

	/* Relaxed: the queue publishes p. */
	CC__WORD_SET(p, w, cc__word_with(w, CC__QUEUED), CC__RELAXED);
}

/* Both of a yield, cc__word_yield and cc__word_claim, while nobody watches. */
static inline void cc__word_turn(struct cc__parker *from, struct cc__parker *to, unsigned worker)
{
	/* Relaxed: as in cc__word_yield.
	 * mutant: swap survives: two words that nobody looks at together. */
	cc__store(&from->word, cc__word_with(cc__word_mine(from, CC__OWNED), CC__QUEUED), CC__RELAXED);
	cc__word_claim_unwatched(to, worker);
}

static inline void cc__word_done(struct cc__parker *p)
{
	uint64_t w = cc__word_mine(p, CC__OWNED);

	/* Relaxed: the handle says whether it is over; this one is for who looks. */
	CC__WORD_SET(p, w, cc__word_with(w, CC__DONE), CC__RELAXED);
}

static inline void cc__word_recycle(struct cc__parker *p)
{
	uint64_t w = cc__word_mine(p, CC__DONE);

	/* Without an owner: the next task has run nowhere, and may be another runtime's.
	 * Relaxed: the pool orders the frame's next life after this one. */
	CC__WORD_SET(p, w, cc__word_with(w & ~CC__OWNER_MASK, CC__IDLE), CC__RELAXED);
}

/* ---- park ---- */

static inline uint64_t cc__word_enter(struct cc__parker *p, uint64_t from, uint64_t ticket)
{
	uint64_t w = cc__word_with((from & ~CC__TICKET_MASK) | ticket, CC__PARKING);

	/* Seq_cst (1): "PARKING, then look" against "change, then look at the
	 * word" of cc__unpark (2).  With less, both may look too early and the
	 * sleeper sleeps for ever. */
	CC__WORD_SET(p, from, w, CC__SEQ_CST);
	return ticket;
}

/* A new wait: its ticket.  Before anything about it is published. */
static inline uint64_t cc__word_park(struct cc__parker *p)
{
	uint64_t w = cc__word_mine(p, CC__OWNED);

	return cc__word_enter(p, w, cc__word_ticket(w + CC__TICKET_ONE));
}

/* The same wait again, after a wake that decided nothing: a node that is still
 * listed keeps its meaning. */
static inline uint64_t cc__word_repark(struct cc__parker *p)
{
	uint64_t w = cc__word_mine(p, CC__OWNED);

	return cc__word_enter(p, w, cc__word_ticket(w));
}

/* Before the switch: there is no need to sleep after all. */
static inline void cc__word_abort(struct cc__parker *p)
{
	/* Relaxed: a concurrent waker changes the state only, and its exchange
	 * comes before ours or finds OWNED. */
	uint64_t owned = cc__word_with(cc__load(&p->word, CC__RELAXED), CC__OWNED), w;
	/* Not V1: a waker's move to NOTIFIED may slip in between; the checker
	 * knows this one row. */
	const uint64_t number = cc__watch_begin();

	/* Relaxed: why we abort we know from a flag or under a lock, and that
	 * orders; what a waker that made it NOTIFIED (3) did is found there too. */
	w = cc__xchg(&p->word, owned, CC__RELAXED);
	CC__ASSERT(cc__word_state(w) == CC__PARKING || cc__word_state(w) == CC__NOTIFIED,
	           "word: abort outside PARKING");
	cc__watch_move(number, p, w, owned);
}

/* `watched` is constant: the path without a watcher has no calls in it. */
static inline bool cc__word_committed(struct cc__parker *p, bool watched)
{
	/* Relaxed: the ticket and owner are ours until PARKED is visible. */
	uint64_t w = cc__word_with(cc__load(&p->word, CC__RELAXED), CC__PARKING);
	const uint64_t number = watched ? cc__watch_begin() : 0;

	CC_POINT("park.before_commit", p);
	/* Release (4): p's saved registers and stack, before the waker that takes
	 * PARKED (3) hands p to another worker.  Acquire on failure: what the
	 * waker did before it took PARKING (3). */
	if (cc__cas(&p->word, &w, cc__word_with(w, CC__PARKED), CC__RELEASE, CC__ACQUIRE)) {
		cc__watch_move(number, p, w, cc__word_with(w, CC__PARKED));
		CC_POINT("park.after_commit", p);
		return true;
	}
	CC__ASSERT(cc__word_state(w) == CC__NOTIFIED, "word: commit outside PARKING");
	CC_POINT("park.notified", p);
	return false;
}
bool cc__word_commit_watched(struct cc__parker *p);

/* On another stack.  True: p sleeps, forget it.  False: a wake came first; p is
 * NOTIFIED and the caller's to resume or requeue. */
static inline bool cc__word_commit(struct cc__parker *p)
{
	return cc__watched() ? cc__word_commit_watched(p) : cc__word_committed(p, false);
}

static inline void cc__word_resume(struct cc__parker *p)
{
	uint64_t w = cc__word_mine(p, CC__NOTIFIED);

	/* Relaxed: out of NOTIFIED only this worker may move. */
	CC__WORD_SET(p, w, cc__word_with(w, CC__OWNED), CC__RELAXED);
}

static inline void cc__word_requeue(struct cc__parker *p)
{
	uint64_t w = cc__word_mine(p, CC__NOTIFIED);

	/* Relaxed: as above, and the queue publishes p. */
	CC__WORD_SET(p, w, cc__word_with(w, CC__QUEUED), CC__RELAXED);
}

/* A sleeping thread takes itself back, at its deadline.  False: a waker has
 * claimed it and will release it. */
static inline bool cc__word_unpark(struct cc__parker *p, uint64_t ticket)
{
	/* Relaxed: the exchange decides. */
	uint64_t w = cc__load(&p->word, CC__RELAXED);
	const uint64_t number = cc__watch_begin();

	if (cc__word_state(w) != CC__PARKED || cc__word_ticket(w) != ticket ||
	    /* Relaxed: nobody else did anything for this wait. */
	    !cc__cas(&p->word, &w, cc__word_with(w, CC__OWNED), CC__RELAXED, CC__RELAXED))
		return false;
	cc__watch_move(number, p, w, cc__word_with(w, CC__OWNED));
	return true;
}

/* ---- wake ---- */

/* `watched` as above. */
static inline bool cc__word_woken(struct cc__parker *p, uint64_t ticket, bool watched)
{
	/* Relaxed: whoever knows the ticket knows it through a lock or cc__unpark,
	 * so PARKING happened before. */
	uint64_t w = cc__load(&p->word, CC__RELAXED);

	while (cc__word_ticket(w) == ticket) {
		const uint64_t number = watched ? cc__watch_begin() : 0;
		enum cc__state next;

		if (cc__word_state(w) == CC__PARKED)
			next = CC__QUEUED;
		else if (cc__word_state(w) == CC__PARKING)
			next = CC__NOTIFIED;
		else
			break;
		CC_POINT("wake.before_claim", p);
		if (watched)
			cc__happens_before(p);
		/* Acq_rel (3): acquires the sleeper's stack (4), releases what we
		 * did for it to the commit that fails or the worker that runs it. */
		if (cc__cas_weak(&p->word, &w, cc__word_with(w, next), CC__ACQ_REL, CC__RELAXED)) {
			cc__watch_move(number, p, w, cc__word_with(w, next));
			return next == CC__QUEUED;
		}
	}
	return false;	/* that wait is over, or somebody else woke it */
}
bool cc__word_wake_watched(struct cc__parker *p, uint64_t ticket);

/* True to the one caller that must make p runnable. */
static inline bool cc__word_wake(struct cc__parker *p, uint64_t ticket)
{
	return cc__watched() ? cc__word_wake_watched(p, ticket) : cc__word_woken(p, ticket, false);
}

/* A claimed thread may run: the last touch but for the futex wake. */
static inline void cc__word_release(struct cc__parker *p)
{
	uint64_t w = cc__word_mine(p, CC__QUEUED);

	/* Release: everything before the wake, to the acquire with which the
	 * thread sees OWNED (cc__thread_sleep). */
	CC__WORD_SET(p, w, cc__word_with(w, CC__OWNED), CC__RELEASE);
}

#endif
