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
 * the thread that the fiber runs on at that moment, and the loop above is right.
 *
 * The header redefines the macro errno for the rest of the source file.  Include it in each source
 * file that needs it.  Including <errno.h> after it changes nothing.  Inline functions of headers
 * that were included before it still use the plain errno.
 *
 * The value does not travel.  After a call that may park errno is whatever other code has left in
 * the thread, as after any call of the C library that does not fail.  Read errno right after the
 * call that failed, and keep it in a variable if it is needed later:
 *
 *      if (connect(fd, address, size) < 0) {
 *              const int err = errno;
 *
 *              cc_send(log, err);      // may park
 *              return err;             // not errno
 *      }
 *
 * Calls of this library return their errors and never set errno on purpose.  Each use of the
 * redefined errno costs one call, about a nanosecond. */
#ifndef CCC_ERRNO_H
#define CCC_ERRNO_H

#include <ccc/base.h>

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the address of the calling thread's errno.  The address is valid until the next call that
 * may park.  The macro errno below calls this function; programs use the macro.
 *
 * Any thread.  Never parks.  May be called from a signal handler. */
CC_API int *cc_errno_location(void);

#ifdef __cplusplus
}
#endif

#undef errno
#define errno (*cc_errno_location())	/* lint: allow(name) the C library's, replaced on purpose */

#endif
