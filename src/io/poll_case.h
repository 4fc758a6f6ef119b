/* poll_case.h - a descriptor as one of several things that a caller waits for (chan/select.c).
 *
 * The waiter of the case is listed with the descriptor's record, as that of cc_wait_fd is.  A fiber
 * uses the poll of its runtime.  A thread sleeps on its own word, where no poll(2) looks, so one
 * poll of the process serves all threads.
 *
 * POLL-CASE-1  The thread `cc-select` sleeps in that poll while a case is listed there, and ends
 *              after a second without one.  P5 (poll.h) decides between the thread that leaves
 *              and a case that comes: one of the two sees the other.
 * POLL-CASE-2  Readiness does not last, so a waker only says that the case should look again. */
#ifndef CC__IO_POLL_CASE_H
#define CC__IO_POLL_CASE_H

#include "wait/wait.h"

/* The object is the number, an int; `io` of the waiter is the events (CC_FD_*).  The result is 0:
 * look again; or an error of cc__poll_list, or EBADF: cc_fd_close has closed it. */
extern const struct cc__waitable_ops cc__fd_case_ops;

#endif
