/* poll.h - fibers that wait for descriptors, and whoever looks after them.
 *
 * A fiber lists itself with the descriptor's record and sleeps; a worker that has
 * nothing better to do waits in the kernel for all of them (cc__poll_sleep).
 *
 * P1  A waiter is listed, and its descriptor armed for everybody listed, in one hold
 *     of the record's lock.  (System calls under a lock: short ones.)
 * P2  An event takes those whom it concerns and arms for the others, in one hold
 *     again.  So nobody is listed without being armed for, but while the event that
 *     will take or re-arm it is on its way to that lock.
 * P3  A record belongs to a number, whatever file that means today.  The most that
 *     a mistake about it costs is a wake for no reason.
 * P4  Records never move, and are freed with the whole.
 * P5  `waiting` counts those who are listed or about to be; whoever takes one off
 *     counts it out in the same hold, so a fiber that is woken no longer waits.  Raised before the
 *     look at `claimed`, and looked at after a claim was given back: a wait that
 *     begins while somebody leaves is seen by one of the two. */
#ifndef CC__IO_POLL_H
#define CC__IO_POLL_H

#include <ccc/runtime.h>

#include "os/poller.h"
#include "wait/cancel.h"

/* What ends cc__poll_sleep from outside, or the sleep of a thread in poll(2).  Process-wide
 * and type-stable, its descriptor with it: who rings late, when the runtime has ended,
 * makes the next owner look around, and writes into nobody else's file. */
struct cc__bell {
	cc__a32 rung;		/* 1: no need to ring again */
	int fd;			/* constant once has_fd */
	bool has_fd;		/* the owner's; stays true */
	struct cc__bell *next;	/* the slab's */
};

/* What was reported, between the sleep and the wakes. */
enum { CC__POLL_EVENTS = 64 };
struct cc__poll_found {
	unsigned count;
	struct cc__poller_event event[CC__POLL_EVENTS];
};

/* Chunk c holds the records of 64 << c numbers. */
enum { CC__POLL_FIRST = 64, CC__POLL_CHUNKS = 26 };

/* All zero but for the first two until the first wait. */
struct cc__poll {
	const CCAllocator *allocator;	/* constant */
	/* Constant: a fiber is about to wait, and nobody sleeps here.  NULL: whoever
	 * made this one sees to it. */
	void (*unattended)(struct cc__poll *p);
	cc__a32 opened;			/* 1: the next two are there, constant; written under
					 * the lock of all polls */
	struct cc__poller poller;
	struct cc__bell *bell;
	struct cc__poll *next, **from;	/* the list of those opened; its lock */
	cc__a32 claimed;		/* 1: somebody sleeps here, or is about to */
	cc__a32 waiting;		/* P5 */
	/* Records by number; each chunk made when first used. */
	CC__ATOMIC(struct cc__waitq *) chunk[CC__POLL_CHUNKS];
};

void cc__poll_init(struct cc__poll *p, const CCAllocator *allocator);
/* Nobody waits or runs any more. */
void cc__poll_fini(struct cc__poll *p);

/* cc_wait_fd for a fiber; `deadline` is not CC_NOW.  May park. */
int cc__poll_wait(struct cc__poll *p, int fd, unsigned events, cc_time deadline);

/* The right to sleep here, which one thread has at a time.  True: the caller has it
 * until it releases it, and a kick from then on is for it.  So a worker claims,
 * announces that it will sleep, looks for work, and sleeps or releases.  False also
 * if nobody has ever waited. */
bool cc__poll_claim(struct cc__poll *p);
void cc__poll_release(struct cc__poll *p);

/* Claimed: wait for events, at most until `deadline`, and release.  Nothing may be
 * found: after a kick, at the deadline, or for no reason. */
void cc__poll_sleep(struct cc__poll *p, cc_time deadline, struct cc__poll_found *found);
/* Then: wake whom they concern.  True if there was anybody.  No lock may be held. */
bool cc__poll_wake(struct cc__poll *p, const struct cc__poll_found *found);

/* Both, for one who has not claimed: false at once if somebody else has.  With
 * CC_NOW it only looks, takes the place of nobody and hears no kick: for the busy. */
bool cc__poll_run(struct cc__poll *p, cc_time deadline);

/* cc__poll_ring(bell) is a kick: whoever has claimed the sleep, or else the next to do so,
 * does not sleep on.  What the caller did before is visible to it then.  At any time, with a
 * poll's bell from when it lived. */

/* Fibers that wait, a moment ago: is it worth while to look? */
static inline unsigned cc__poll_waiting(const struct cc__poll *p)
{
	/* Relaxed: a hint.  The worker that a fiber parks on sees that fiber. */
	return cc__load(&p->waiting, CC__RELAXED);
}

/* Somebody waits, and nobody sleeps here. */
static inline bool cc__poll_unattended(const struct cc__poll *p)
{
	/* Seq_cst, both: P5, with cc__poll_wait and cc__poll_release. */
	return cc__load(&p->waiting, CC__SEQ_CST) != 0 && cc__load(&p->claimed, CC__SEQ_CST) == 0;
}

#endif
