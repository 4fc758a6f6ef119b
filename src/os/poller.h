/* poller.h - the kernel tells which descriptors are ready.
 *
 * A descriptor is registered in one of two ways, and changed from one to the other at any time:
 *
 * E1  One shot: it is reported once and then silent until it is registered again.  Edge
 *     (CC__POLLER_EDGE): it stays registered, and is reported each time that something happens to
 *     it.  Either way a registration of what is ready already reports it.
 * E2  A report has the tag of the last registration.  A file that was closed while a duplicate of
 *     it stays open may still be reported, with the tag it had.
 * E3  A thread that gets a report sees what was done before the descriptor was registered: the
 *     kernel passes it on under a lock of its own.
 * E4  The bell is a descriptor that ends a wait.  Rung while no thread waits, it ends
 *     the next wait.  Only a thread that waits silences it, not one that looks (CC_NOW). */
#ifndef CC__OS_POLLER_H
#define CC__OS_POLLER_H

#include <ccc/fd.h>

#include <stdbool.h>

struct cc__poller {
	int epoll;
	int bell;
};

/* Beside CC_FD_* in `events`: the way to register. */
enum { CC__POLLER_EDGE = 4 };
/* Beside CC_FD_READ in `ready`, of an edge: the peer sends no more, or there is an error or urgent
 * data.  From then on there may be something to read although a read returned less than it could. */
enum { CC__POLLER_LAST = 8 };

struct cc__poller_event {
	int fd;
	uint32_t tag;
	unsigned ready;	/* CC_FD_*, both after an error or a hang-up; CC__POLLER_LAST */
};

/* A bell: -1 and the reason in *err if there is none to be had. */
int cc__bell_new(int *err);
void cc__bell_ring(int bell);

/* 0 or an error number.  The bell is not closed with the poller. */
int cc__poller_open(struct cc__poller *p, int bell);
void cc__poller_close(struct cc__poller *p);

/* Registers fd (E1, E2).  `events`: CC_FD_* and perhaps CC__POLLER_EDGE.  EEXIST: that file is
 * registered under that number.  EBADF; EPERM: always ready, there is nothing to report; ENOMEM. */
int cc__poller_add(const struct cc__poller *p, int fd, unsigned events, uint32_t tag);
/* The same for a file that is registered.  ENOENT: it is not, or not under that number. */
int cc__poller_change(const struct cc__poller *p, int fd, unsigned events, uint32_t tag);
void cc__poller_forget(const struct cc__poller *p, int fd);

/* Wait for something to report, at most until `deadline`.  The number of events,
 * 0 for a bell, the deadline, or for no reason. */
unsigned cc__poller_wait(const struct cc__poller *p, struct cc__poller_event *events, unsigned most,
                         cc_time deadline);

/* Asks once.  0: *ready has those of `events` that hold, both after an error or a hang-up.  EAGAIN: none
 * holds.  EBADF: fd is not open. */
int cc__poller_look(int fd, unsigned events, unsigned *ready);

/* Without a poller, blocking the thread: 0 once one of `events` holds, EBADF,
 * ETIMEDOUT, EAGAIN (CC_NOW), ENOMEM; EINTR: the bell, which is silenced (-1: none). */
int cc__poller_block(int fd, unsigned events, int bell, cc_time deadline);

#endif
