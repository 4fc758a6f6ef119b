/* fd.h - wait until a descriptor can be read or written. */
#ifndef CCC_FD_H
#define CCC_FD_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	CC_FD_READ = 1,		/* a read would not block: data, end of file, a connection */
	CC_FD_WRITE = 2,	/* a write would not block */
};

/* Wait until one of `events` holds for fd, at most until `deadline`.  An error or
 * a hang-up counts as ready, and what cannot be waited for (a regular file) is
 * always ready.  0 may also come for no reason, or for somebody else to be
 * quicker: descriptors want O_NONBLOCK, and the caller tries and waits again.
 * Any number may wait for one descriptor, in both directions; what makes it ready
 * wakes all whom it concerns.
 *
 * ETIMEDOUT, or EAGAIN for CC_NOW: it is not ready.  EBADF: not an open
 * descriptor, or forgotten meanwhile.  EINVAL: no events, or unknown ones.
 * ECANCELED: a nursery around the caller was cancelled, or the calling fiber's
 * runtime is ending (cc_runtime_free).  ENOMEM: no memory, or no more watches to be
 * had.  EMFILE, ENFILE: no descriptor left for a runtime's first wait, or for a
 * thread's in a nursery.  Any thread; a fiber parks, a thread outside of any blocks
 * in poll(2). */
CC_API CC_MUST_CHECK int cc_wait_fd(int fd, unsigned events, cc_time deadline);

/* Before close(fd): every fiber that waits for fd, in whatever runtime, gets EBADF,
 * and the runtimes let go of it.  Nobody may begin to wait for it from here on, and
 * a thread outside of any fiber is not woken.  EBADF: fd is negative.  Any thread;
 * never parks.
 *
 * A descriptor closed without this call leaves those who wait for it asleep until
 * their deadline.  The next one with the same number is not harmed: every wait
 * arms its descriptor anew, whatever the number meant before.  It may be woken
 * for no reason once, if the former one lives on as a duplicate. */
CC_API int cc_fd_forget(int fd);

#ifdef __cplusplus
}
#endif
#endif
