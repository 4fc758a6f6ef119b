/* errno.h - errno that is safe to use in a function that waits.  Include it instead of <errno.h>.
 *
 * A fiber may go on in another thread after a call that may park.  errno belongs to the thread,
 * and the C library tells the compiler that its address never changes within a function.  So the
 * compiler may compute the address once, before the call, and then read and write the errno of a
 * thread that the fiber has left: another fiber's error, or none.
 *
 *      #include <errno.h>
 *
 *      while ((n = read(fd, buf, size)) < 0 && errno == EAGAIN)
 *              cc_wait_fd(fd, CC_FD_READ, CC_FOREVER);         // wrong: errno may be stale
 *
 * With this header errno is a call that the compiler must repeat, so each use means the errno of
 * the thread that the fiber runs on at that moment, and the loop above is right.  The macro is
 * redefined for the rest of the source file; include this header after all others, or include it
 * in each file that needs it: a later <errno.h> changes nothing, but a header with inline
 * functions that was included before has the plain errno in them.
 *
 * The value does not travel.  After a call that may park errno is whatever other code has left in
 * the thread, as after any call of the C library that does not fail.  Read errno right after the
 * call that failed, and keep it in a variable if it is wanted later:
 *
 *      if (connect(fd, address, size) < 0) {
 *              const int err = errno;
 *
 *              cc_send(log, err);      // may park
 *              return err;             // not errno
 *      }
 *
 * Calls of this library return their errors and never set errno on purpose.  It costs one call
 * for each use of errno, about a nanosecond. */
#ifndef CCC_ERRNO_H
#define CCC_ERRNO_H

#include <ccc/base.h>

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the address of the calling thread's errno, which is good until the next call that may
 * park.  For the macro below.  Any thread; never parks; may be called from a signal handler. */
CC_API int *cc_errno_location(void);

#ifdef __cplusplus
}
#endif

#undef errno
#define errno (*cc_errno_location())	/* lint: allow(name) the C library's, replaced on purpose */

#endif
