/* uring.h - waits on futexes that are reported when they end: io_uring.
 *
 * U1  One thread uses a ring, for as long as it lives: what a thread has asked for ends
 *     when the thread does, as if it had been cancelled.
 * U2  Each wait is reported once, however it ended, and not before: until then the kernel
 *     may look at the word.  A cancel has no report of its own.
 * U3  As many waits as the ring was made for, and as many cancels: then no report is
 *     without a place. */
#ifndef CC__OS_URING_H
#define CC__OS_URING_H

#include <stdbool.h>

#include "os/atomic.h"

struct cc__uring {
	int fd;
	void *rings, *entries;		/* mapped, and their sizes */
	size_t rings_size, entries_size;
	/* Constant; the kernel reads and writes what they point to. */
	cc__a32 *sq_head, *sq_tail, *cq_head, *cq_tail;
	uint32_t sq_mask, cq_mask;
	const void *reports;
	uint32_t asked;			/* entries that the kernel has not been told of */
};

struct cc__uring_report {
	uint64_t name;
	int result;	/* 0: woken; EAGAIN: another value; ECANCELED; or an error number */
};

/* For so many waits at a time.  ENOTSUP: the system has no such thing, or does not let us;
 * EMFILE, ENFILE, ENOMEM. */
int cc__uring_open(struct cc__uring *u, unsigned waits);
void cc__uring_close(struct cc__uring *u);

/* Ask for a wait while *word is `expected`; shared: wakes may come from other processes.
 * The kernel learns of it with the next cc__uring_run. */
void cc__uring_wait(struct cc__uring *u, const cc__a32 *word, uint32_t expected, bool shared,
                    uint64_t name);
/* Ask for the end of a wait that has not been reported yet. */
void cc__uring_cancel(struct cc__uring *u, uint64_t name);

/* Do what was asked, and sleep until there is a report, unless there is.  How many. */
unsigned cc__uring_run(struct cc__uring *u, struct cc__uring_report *reports, unsigned most);

#endif
