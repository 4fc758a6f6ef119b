/* timer.h - deadlines in order: one heap a worker, with a lock, so that anybody
 * can serve the timers of a worker that is stuck.
 *
 * T1  A node lives with whoever waits.  It is in the heap until it expires or its
 *     owner removes it; both happen under the lock, so an owner that has asked
 *     for the removal may let the node go.
 * T2  What expires is copied out under the lock and fired after it.
 *
 * A pairing heap: insert O(1), first O(1), remove O(log n) amortised. */
#ifndef CC__SCHED_TIMER_H
#define CC__SCHED_TIMER_H

#include "base/lock.h"

struct cc__timer {
	cc_time deadline;		/* constant while armed */
	struct cc__timer *child, *sibling;	/* the heap's lock */
	struct cc__timer **from;	/* the lock; what points at us; NULL: in no heap */
	/* When it expires: fire(object, value), of a copy, without the lock. */
	void (*fire)(void *object, uint64_t value);
	void *object;
	uint64_t value;
};

struct cc__timers {
	struct cc__lock lock;
	struct cc__timer *first;	/* lock; the earliest, or NULL */
	CC__ATOMIC(cc_time) earliest;	/* its deadline, or CC_FOREVER; written under the
					 * lock, a hint to everybody */
};

static inline bool cc__timer_armed(const struct cc__timer *t)	/* lock */
{
	return t->from != NULL;
}

void cc__timers_init(struct cc__timers *h);

/* True: it is the earliest now. */
bool cc__timers_add(struct cc__timers *h, struct cc__timer *t);
/* False: it has expired already. */
bool cc__timers_remove(struct cc__timers *h, struct cc__timer *t);

/* Fires all that has expired.  True: something has.  No lock may be held. */
bool cc__timers_run(struct cc__timers *h, cc_time now);

static inline cc_time cc__timers_earliest(const struct cc__timers *h)
{
	return cc__load(&h->earliest, CC__RELAXED);	/* Relaxed: a hint */
}

#endif
