/* park.h - sleep while a word has a value, and wake whoever sleeps on it.
 *
 * The word is the program's: it changes it by atomic operations of its own, and calls only
 * when somebody has to wait.  Locks and the like are made of it; those of sync.h are.
 *
 *      while (!atomic_load(&ready))                    atomic_store(&ready, 1);
 *              cc_park_wait(space, &ready, 0, ...);    cc_park_wake(space, &ready, 1, NULL);
 *
 * The look at the word and the falling asleep are one step to a wake: it finds the sleeper,
 * or the sleeper has seen what was written before the wake. */
#ifndef CCC_PARK_H
#define CCC_PARK_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The right to wait and to wake in one address space.  It gives no access to memory. */
typedef struct CCParkSpace CCParkSpace;

/* How a wait ended. */
typedef enum CCParkStatus {
	CC_PARK_WOKEN = 0,		/* by a wake, never for no reason */
	CC_PARK_VALUE_MISMATCH = 1,	/* at once: the word had another value */
	CC_PARK_TIMED_OUT = 2,
	CC_PARK_INTERRUPTED = 3,	/* the caller is cancelled */
} CCParkStatus;

/* That of the program itself, which is trusted: a word may lie anywhere, on a stack too,
 * for as long as somebody sleeps on it.  Any thread; never parks. */
CC_API CCParkSpace *cc_park_space(void);

/* Sleep while *word is `expected`, until a wake or the deadline.  0, and how it ended in
 * *status; `status` may be NULL.  ECANCELED, or ETIMEDOUT if it was the deadline of a
 * nursery: INTERRUPTED.  EINVAL: no space, no word, or one that is not aligned to 4 bytes;
 * ENOMEM, ENOTSUP as for cc_chan_recv_until; *status is left alone then.  Any thread; may
 * park; a cancel point. */
CC_API int cc_park_wait(CCParkSpace *space, const uint32_t *word, uint32_t expected,
                        cc_time deadline, CCParkStatus *status);

/* Wake up to `max` of those who sleep on that word, who came first first; how many in
 * *woken, which may be NULL.  The word is not looked at.  EINVAL: as above, or max is 0;
 * ENOTSUP.  Any thread; never parks. */
CC_API int cc_park_wake(CCParkSpace *space, const uint32_t *word, uint32_t max, uint32_t *woken);

#ifdef __cplusplus
}
#endif
#endif
