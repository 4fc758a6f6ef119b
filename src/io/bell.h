/* bell.h - what ends the sleep of a thread in the kernel from outside.
 *
 * A bell is process-wide and type-stable, and its descriptor (os/poller.h) with it: a thread that rings
 * late, when the runtime has ended, makes the next owner check its state, and writes into no
 * other file. */
#ifndef CC__IO_BELL_H
#define CC__IO_BELL_H

#include "os/atomic.h"

struct cc__bell {
	cc__a32 rung;		/* 1: no need to ring again */
	int fd;			/* constant once has_fd */
	bool has_fd;		/* the owner's; stays true */
	struct cc__bell *next;	/* the slab's */
};

/* NULL and the reason in *err: ENOMEM, EMFILE, ENFILE. */
struct cc__bell *cc__bell_get(int *err);
void cc__bell_put(struct cc__bell *b);

/* The owner has been woken, and is about to check its state. */
void cc__bell_heard(struct cc__bell *b);

/* cc__poll_ring (wait/cancel.h) rings. */

#endif
