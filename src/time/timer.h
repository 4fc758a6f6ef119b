/* timer.h - deadlines in order: a wheel a worker, with a lock, so that anybody can
 * serve the timers of a worker that is stuck.
 *
 * Time is counted in units of 1024 ns, deadlines are rounded up.  The wheel knows the
 * unit it has come to.  A timer lies on the level of the highest of its 6-bit digits
 * that differs from the wheel's, in the slot of that digit: so the lowest slot of the
 * lowest level holds the next ones.  When the wheel comes to a slot, what lies there
 * expires, or moves to a lower level: each timer moves a few times at most, however
 * many there are.
 *
 * T1  A timer lives with whoever waits.  It is in the wheel until it expires or its
 *     owner removes it; both happen under the lock, and end with the word that says
 *     it is in no wheel: who reads that may let the timer go.
 * T2  What expires is copied out under the lock and fired after it.
 * T3  At most a few dozen timers are touched in one hold of the lock: a slot that the
 *     wheel has come to is taken apart bit by bit.
 * T4  Somebody sleeps until what is due first, and is told when it comes to be due
 *     earlier.  That is by an addition alone: nothing else makes `earliest` less. */
#ifndef CC__TIME_TIMER_H
#define CC__TIME_TIMER_H

#include "base/lock.h"

enum {
	CC__TIMER_UNIT = 1024,		/* nanoseconds */
	CC__TIMER_LEVELS = 9,		/* for 54 bits of units */
	CC__TIMER_SLOTS = 64,
};

struct cc__timer {
	cc_time deadline;		/* constant while armed */
	struct cc__timer *next;		/* the lock; in the same slot */
	/* What points at it; NULL: in no wheel.  Written under the lock, NULL last of all. */
	CC__ATOMIC(struct cc__timer **) from;
	/* When it expires: fire(object, value), of a copy, without the lock. */
	void *object;
	uint64_t value;
};

typedef void cc__timer_fire(void *object, uint64_t value);

struct cc__timer_slot {
	struct cc__timer *first;
	cc_time earliest;		/* none here is due before; means something if there
					 * are any */
};

struct cc__timers {
	struct cc__lock lock;
	/* Nothing is due before; CC_FOREVER: there is nothing.  Only what is added makes it
	 * earlier (T4); what is removed still counts until then, so that waits which end in
	 * time tell nobody.  Written under the lock, a hint to everybody. */
	CC__ATOMIC(cc_time) earliest;
	/* Below: the lock. */
	uint64_t at;			/* the unit it has come to */
	struct cc__timer_slot reached;	/* of a slot it has come to: to be looked at */
	uint32_t levels;		/* a bit for each level with timers */
	uint64_t slots[CC__TIMER_LEVELS];	/* a bit for each slot with timers */
	struct cc__timer_slot slot[CC__TIMER_LEVELS * CC__TIMER_SLOTS];	/* level by level */
};

static inline bool cc__timer_armed(const struct cc__timer *t)
{
	/* Acquire: pairs with the release in take_out, the last touch (T1). */
	return cc__load(&t->from, CC__ACQUIRE) != NULL;
}

void cc__timers_init(struct cc__timers *h);

/* `recent` is a time that has passed, the later the better.  True: none is due before
 * t now.  The second is under the lock already. */
bool cc__timers_add(struct cc__timers *h, struct cc__timer *t, cc_time recent);
bool cc__timers_add_locked(struct cc__timers *h, struct cc__timer *t, cc_time recent);
/* False: it has expired already. */
bool cc__timers_remove(struct cc__timers *h, struct cc__timer *t);

/* Fires what has expired, in the order of the units, until `most` or a few more have
 * been.  How many.  No lock may be held. */
unsigned cc__timers_run(struct cc__timers *h, cc_time now, unsigned most, cc__timer_fire *fire);

static inline cc_time cc__timers_earliest(const struct cc__timers *h)
{
	return cc__load(&h->earliest, CC__RELAXED);	/* Relaxed: a hint */
}

#endif
