/* use.h - which calls wait for a descriptor, so that closing it ends all of them.
 *
 * Numbers are hashed to slots.  A slot has a list of the calls that wait, a list of the numbers
 * that are being closed, and a generation.
 *
 * USE-1  A call reads the generation before it tries its system call.  It enters the list before
 *        it waits, unless the generation has changed since: then the attempt may have been made
 *        on a file that is closed, and is repeated.
 * USE-2  While a number is being closed no call enters the list for it.
 * USE-3  The closing thread marks each listed call of its number.  A marked call returns EBADF,
 *        and does not use the number again.
 * USE-4  The number is closed when no marked call can be in the poller any more, so no call
 *        waits for a number that means another file.  The generation changes after the close. */
#ifndef CC__IO_USE_H
#define CC__IO_USE_H

#include <ccc/base.h>

/* For cc__use_wait and cc__use_sleep: read before the attempt (USE-1). */
uint32_t cc__use_generation(int fd);

/* Waits until one of `events` (CC_FD_*) holds.  0: try again.  EAGAIN (CC_NOW), ETIMEDOUT,
 * ECANCELED, EBADF and the other errors of cc_wait_fd.  May park. */
int cc__use_wait(int fd, unsigned events, cc_time deadline, uint32_t generation);

/* Sleeps until `when` because the attempt found a shortage.  0: try again.  ETIMEDOUT: a
 * nursery's deadline; ECANCELED; EBADF: fd was closed.  May park. */
int cc__use_sleep(int fd, cc_time when, uint32_t generation);

#endif
