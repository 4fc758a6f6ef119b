/* use.h - calls that try a system call and wait only if it would block.
 *
 *	do {
 *		token = cc__use_generation(fd);
 *		err = (the system call);
 *	} while (err == EAGAIN && (err = cc__use_wait(fd, CC_FD_READ, deadline, token)) == 0);
 *
 * Fibers are listed with the records of their poll (io/poll.h).  Threads in poll(2) and calls
 * that sleep because of a shortage are listed here, in slots by number.
 *
 * USE-1  A call takes a token before its attempt.  It is listed, here or there, only if the token is
 *        still the same: otherwise the file may have become ready, or been closed, since the
 *        attempt, which is repeated.
 * USE-2  A call checks the number's word (io/fd_word.h) and lists itself in one critical section.
 *        The closing thread changes the word first, so it finds the call, or the call returns EBADF.
 * USE-3  The closing thread ends each listed call of its number, with EBADF, before it closes the
 *        number.  Such a call does not use the number again. */
#ifndef CC__IO_USE_H
#define CC__IO_USE_H

#include <ccc/base.h>

/* The token for cc__use_wait, cc__use_sleep and cc__use_short: before the attempt (USE-1). */
uint32_t cc__use_generation(int fd);

/* Waits until one of `events` (CC_FD_*) holds.  0: try again.  EAGAIN (CC_NOW), ETIMEDOUT,
 * ECANCELED, EBADF and the other errors of cc_wait_fd.  May park. */
int cc__use_wait(int fd, unsigned events, cc_time deadline, uint32_t generation);

/* The read after that token returned fewer bytes than it asked for. */
void cc__use_short(int fd, uint32_t generation);
/* An attempt to read would block, as far as is known, so it can be left out before the first
 * cc__use_wait of a call.  Not after that: a wait that ended at its deadline may have seen what is
 * not yet reported, and without an attempt the call would never end. */
int cc__use_drained(int fd, uint32_t generation);

/* Sleeps until `when` because the attempt found a shortage.  0: try again.  ETIMEDOUT: a
 * nursery's deadline; ECANCELED; EBADF: fd was closed.  May park. */
int cc__use_sleep(int fd, cc_time when, uint32_t generation);

/* For tests: so many threads and sleeping calls are listed for `fd`. */
unsigned cc__use_count(int fd);

#endif
