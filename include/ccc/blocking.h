/* blocking.h - run calls that block their thread. */
#ifndef CCC_BLOCKING_H
#define CCC_BLOCKING_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs `fn(arg)` on an OS thread that the calling fiber's runtime keeps for blocking calls.  The
 * fiber waits while its worker runs other fibers.  If `result` is not NULL, *result receives what
 * `fn` returned.  Once `fn` has a thread, neither a deadline nor a cancellation ends the call.
 *
 * The runtime has at most blocking_max such threads.  Calls beyond the limit queue in the order of
 * their arrival.  A call that can only finish when another queued call has run will deadlock.  A
 * call that waits in the queue is a cancellation point; a call that finds a thread at once runs
 * `fn` even if the caller is cancelled.
 *
 * `fn` runs in an ordinary thread: cc_fiber_id() is 0, it may call all that a thread may call, and
 * a runtime of NULL means the default one.  The thread blocks the program's signals as a worker
 * does (runtime.h).  The errno of `fn` does not reach the caller.  If the caller is a thread, or no
 * thread can be started, `fn` runs in the calling thread.
 *
 * A call costs about 1 us beside `fn` if a thread of the runtime has finished another call within
 * the last microseconds and has a CPU of its own, as in a loop of calls.  Otherwise it costs two
 * switches between threads, about 10 us.  So a call that does not block, such as a read of 64 KB
 * that are in memory (15 us), is not much slower through cc_blocking, but a loop of small calls is.
 * (Measured by bench blocking_call and blocking_file.)
 *
 * Returns 0 after `fn` has run, or
 *   EINVAL      `fn` is NULL
 *   ECANCELED   the caller was cancelled while it waited in the queue
 *   ETIMEDOUT   the deadline of a nursery passed while the caller waited in the queue
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error `fn` was not called.
 *
 * Any thread.  May park.  Cancellation point while it waits in the queue. */
CC_API CC_MUST_CHECK int cc_blocking(int (*fn)(void *arg), void *arg, int *result);

#ifdef __cplusplus
}
#endif
#endif
