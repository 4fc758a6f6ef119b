/* poller.h - the kernel tells which descriptors are ready.
 *
 * E1  One shot: what is armed is reported once and then silent until it is armed
 *     again.  Arming what is ready already reports it.
 * E2  Arming replaces what the descriptor was armed for before.  Whatever is left
 *     over of a closed one with the same number does not matter to it, but may
 *     be reported once as if it were the new one.
 * E3  Who gets a report sees what was done before the descriptor was armed: the kernel
 *     passes it on under a lock of its own.
 * E4  The bell is a descriptor that ends a wait.  Rung while nobody waits, it ends
 *     the next one.  Only who waits silences it, not who looks (CC_NOW). */
#ifndef CC__OS_POLLER_H
#define CC__OS_POLLER_H

#include <ccc/fd.h>

#include <stdbool.h>

struct cc__poller {
	int epoll;
	int bell;
};

struct cc__poller_event {
	int fd;
	unsigned ready;	/* CC_FD_*; both after an error or a hang-up */
};

/* A bell: -1 and the reason in *err if there is none to be had. */
int cc__bell_new(int *err);
void cc__bell_ring(int bell);

/* 0 or an error number.  The bell is not closed with the poller. */
int cc__poller_open(struct cc__poller *p, int bell);
void cc__poller_close(struct cc__poller *p);

/* Report fd once when one of `events` holds (E1).  `again`: it has been armed
 * before, a guess that saves a system call if it is right.  EBADF; EPERM: always
 * ready, there is nothing to report; ENOMEM. */
int cc__poller_arm(const struct cc__poller *p, int fd, unsigned events, bool again);
void cc__poller_forget(const struct cc__poller *p, int fd);

/* Wait for something to report, at most until `deadline`.  The number of events,
 * 0 for a bell, the deadline, or for no reason. */
unsigned cc__poller_wait(const struct cc__poller *p, struct cc__poller_event *events, unsigned most,
                         cc_time deadline);

/* Without a poller, blocking the thread: 0 once one of `events` holds, EBADF,
 * ETIMEDOUT, EAGAIN (CC_NOW), ENOMEM; EINTR: the bell, which is silenced (-1: none). */
int cc__poller_block(int fd, unsigned events, int bell, cc_time deadline);

#endif
