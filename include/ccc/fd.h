/* fd.h - wait until a descriptor can be read or written.
 *
 *      while ((n = read(fd, buf, size)) < 0 && errno == EAGAIN)        // <ccc/errno.h>
 *              if ((err = cc_wait_fd(fd, CC_FD_READ, CC_FOREVER)) != 0)
 *                      return err; */
#ifndef CCC_FD_H
#define CCC_FD_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Events. */
enum {
	CC_FD_READ = 1,		/* a read would not block: data, end of file, a connection */
	CC_FD_WRITE = 2,	/* a write would not block */
};

/* Waits until one of `events` holds for `fd`, at most until `deadline`.
 *
 * An error or a hang-up counts as ready.  A descriptor that cannot be waited for, such as a regular
 * file, is always ready.  May return 0 spuriously, or after another waiter has taken the data: set
 * O_NONBLOCK and retry.  Any number of callers may wait for one descriptor, in both directions; an
 * event wakes all callers that wait for it.
 *
 * Returns 0, or
 *   ETIMEDOUT   the deadline passed (EAGAIN if it was CC_NOW), or the deadline of a nursery
 *               around the caller passed
 *   EBADF       `fd` is not an open descriptor, or cc_fd_forget was called during the wait
 *   EINVAL      `events` is 0 or has unknown bits
 *   ECANCELED   a nursery around the caller was cancelled, or the calling fiber's runtime is
 *               ending (cc_runtime_free)
 *   ENOMEM      no memory, or the system allows no more watches
 *   EMFILE, ENFILE   no descriptor is left for the first wait of a runtime
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  May park (an OS thread blocks in poll(2)).  Cancellation point. */
CC_API CC_MUST_CHECK int cc_wait_fd(int fd, unsigned events, cc_time deadline);

/* Prepares close(fd): every fiber that waits for `fd`, in any runtime, gets EBADF, and the runtimes
 * release the descriptor.  From then on no fiber may start to wait for `fd`.  A thread that waits
 * outside of any fiber is not woken.
 *
 * If a descriptor is closed without this call, its waiters sleep until their deadlines.  The next
 * descriptor with the same number works correctly, because every wait by cc_wait_fd registers its
 * descriptor anew.
 *
 * Returns 0, or
 *   EBADF       `fd` is negative
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  Never parks. */
CC_API int cc_fd_forget(int fd);

#ifdef __cplusplus
}
#endif
#endif
