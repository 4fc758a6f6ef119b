/* blocking.h - calls that block the thread they are made on. */
#ifndef CCC_BLOCKING_H
#define CCC_BLOCKING_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Run fn(arg) where it may block: on an OS thread that the calling fiber's runtime
 * keeps for such calls.  The fiber waits meanwhile, its worker runs others; *result
 * (NULL: not wanted) is what fn returned.  0 after fn has run: once fn has a thread, neither
 * a deadline nor a cancellation ends the call.  EINVAL: no fn.
 *
 * The runtime has a limited number of these threads (blocking_max).  Calls beyond it wait for
 * their turn, first come, first served: one that only another call's end would
 * end must not be made from behind that many.  A call that waits for its turn is a
 * cancellation point: ECANCELED, or ETIMEDOUT if it was a nursery's deadline, and fn has not
 * been called.  A call that finds a thread runs fn though its caller is cancelled.
 *
 * Inside, fn is a thread like any other: cc_fiber_id() is 0, everything that a
 * thread may call can be called, a runtime of NULL means the default one.  It
 * blocks the program's signals as a worker does (runtime.h), and its errno does not come back.
 *
 * What a call costs beside fn itself: about 1 us if a thread of the runtime has ended another
 * call within the last microseconds and has a processor of its own, as in a loop of calls;
 * else two switches between threads, about 10 us.  A call that does not block, such as a read
 * of 64 KB that are in memory (15 us), is not much dearer through cc_blocking; a loop over small
 * ones is.  (Measured: bench blocking_call, blocking_file.)
 *
 * Called by a thread, or where no thread can be had, fn runs on the spot.  Any
 * thread; may park. */
CC_API CC_MUST_CHECK int cc_blocking(int (*fn)(void *arg), void *arg, int *result);

#ifdef __cplusplus
}
#endif
#endif
