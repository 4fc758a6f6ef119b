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
 *   EBADF       `fd` is not an open descriptor, or cc_fd_close closed it during the wait
 *   EINVAL      `events` is 0 or has unknown bits
 *   ECANCELED   a nursery around the caller was cancelled, or the calling fiber's runtime is
 *               ending (cc_runtime_free)
 *   ENOMEM      no memory, or the system allows no more watches
 *   EMFILE, ENFILE   no descriptor is left for the first wait of a runtime
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  May park (an OS thread blocks in poll(2)).  Cancellation point. */
CC_API CC_MUST_CHECK int cc_wait_fd(int fd, unsigned events, cc_time deadline);

/* Waits as cc_wait_fd does and stores in *ready which of `events` hold: both CC_FD_READ and
 * CC_FD_WRITE, if asked for, after an error or a hang-up.  Unlike cc_wait_fd it does not return
 * spuriously: when it looked, the event was there.
 *
 * Returns 0, an error of cc_wait_fd, or
 *   EINVAL   `ready` is NULL
 * After an error *ready is unchanged.
 *
 * Any thread.  May park (an OS thread blocks in poll(2)).  Cancellation point. */
CC_API CC_MUST_CHECK int cc_fd_ready(int fd, unsigned events, unsigned *ready, cc_time deadline);

/* Closes `fd` and ends, with EBADF, every call of the library that waits for it, in fibers of any
 * runtime and in threads: cc_wait_fd, the cases of a select, and the calls of <ccc/io.h> and
 * <ccc/net.h>.  None of them uses the number again, so none can meet another file that gets it.
 * close(2) itself takes as long as the file wants, as with SO_LINGER.
 *
 * If a descriptor is closed by close(2) instead, its waiters sleep until their deadlines.  The next
 * descriptor with the same number works correctly in cc_wait_fd and in a select, because each of
 * their waits registers the descriptor anew; net.h says what holds for other calls.
 *
 * Returns 0, or
 *   EBADF         `fd` is not open, or another call closes it
 *   EIO, ENOSPC   the file could not be written; the descriptor is closed
 *
 * Any thread.  Never parks. */
CC_API int cc_fd_close(int fd);

#ifdef __cplusplus
}
#endif
#endif
