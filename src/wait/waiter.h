/* waiter.h - one that waits: what is listed for it, and since when it waits.  wait.h has the rules. */
#ifndef CC__WAIT_WAITER_H
#define CC__WAIT_WAITER_H

#include "base/lock.h"
#include "wait/word.h"

struct cc__group;

/* Why a waiter was taken off its list. */
enum cc__reason {
	CC__REASON_NONE = 0,	/* still listed, or withdrawn by its owner */
	CC__REASON_DATA = 1,	/* the transfer has been done for it */
	CC__REASON_CANCEL = 2,
	CC__REASON_CLOSE = 3,
	CC__REASON_SIGNAL = 4,	/* try again */
};

/* On a list, or what the caller of a single wait asks for: io, lock, cancel and what,
 * the rest 0.  He is told result and reason in it. */
struct cc__waiter {
	struct cc__waiter *next, *prev;	/* the list's lock; next is NULL when not listed */
	struct cc__lock *lock;		/* that list's; NULL before: the queue's own */
	struct cc__parker *who;		/* constant while listed */
	uint64_t ticket;		/* constant while listed; names one wait */
	void *io;			/* the waitable's: what is to be moved */
	union {				/* constant while listed */
		const cc__a32 *cancel;		/* not 0 ends the wait; NULL before: what
						 * cancels its sleeper, if anything */
		struct cc__group *group;	/* instead, if there is an index */
	};
	int result;			/* the waker's until reason is set, then ours */
	uint16_t index;			/* constant; 1-based place in the group; 0: a single wait */
	CC__ATOMIC(uint8_t) reason;	/* enum cc__reason */
	/* Constant while listed; of a single wait: an enum cc__for.  The caller of cc__wait adds
	 * CC__WAIT_FIRST to be listed before the others. */
	uint8_t what;
};

/* It was there before. */
enum { CC__WAIT_FIRST = 0x80 };

/* ---- since when: a coarse clock ---- */

/* Time in units of 1.05 ms; wraps after 52 days, so only differences mean something. */
static inline uint32_t cc__coarse(cc_time t)
{
	return (uint32_t)((uint64_t)t >> 20);
}

/* Not earlier than the last tick of a monitor or the last sleep of a worker that has ended. */
extern cc__a32 cc__coarse_now __attribute__((visibility("hidden")));
/* It is `now`. */
void cc__coarse_set(cc_time now);

/* The waiter for the single waits of a fiber or thread, and what belongs to it.  The fields of a
 * wait are its sleeper's until it is PARKED, and constant while it is; the monitor reads them
 * then, and looks at the word before and after (cc__wait_of). */
struct cc__own {
	struct cc__waiter waiter;
	uint32_t since;		/* coarse; when the last single wait began */
	cc__a32 stuck;		/* sched's (stack.h); coarse */
};

#endif
