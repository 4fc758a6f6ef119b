/* global.h - the queue that belongs to no worker: a lock-free ring in front of a
 * list without end.
 *
 * G1  A push never waits for anybody and never fails: what the ring has no room
 *     for goes to the list, under a lock that is held for two stores.
 * G2  A pop looks at the list when the ring is empty, so nothing is stranded.
 * G3  A slot that is reserved but not yet written stops the ring for a moment:
 *     whoever reserved it announces the push after it has written it. */
#ifndef CC__SCHED_GLOBAL_H
#define CC__SCHED_GLOBAL_H

#include "base/lock.h"
#include "task/frame.h"

#ifndef CC_FIBER_QUEUE_INITIAL
#define CC_FIBER_QUEUE_INITIAL 4096
#endif
_Static_assert(CC_FIBER_QUEUE_INITIAL >= 2 &&
                   (CC_FIBER_QUEUE_INITIAL & (CC_FIBER_QUEUE_INITIAL - 1)) == 0,
               "CC_FIBER_QUEUE_INITIAL is a power of two");

/* stamp == position: free for the push at that position; position + 1: full for
 * the pop at it. */
struct cc__global_slot {
	cc__a64 stamp;
	struct cc__fiber *fiber;	/* the pusher's until stamped, then the popper's */
};

struct cc__global {
	cc__a64 tail;			/* next position to push */
	char apart[64];			/* in different cache lines; the hook aligns by 16 */
	cc__a64 head;			/* next position to pop */
	char apart_too[64];
	struct cc__lock lock;
	struct cc__fiber *first, *last;	/* the list; the lock */
	cc__a32 listed;			/* its length; written under the lock, read as a hint */
	cc__a64 overflows;		/* what was ever listed; likewise */
	struct cc__global_slot ring[CC_FIBER_QUEUE_INITIAL];
};

void cc__global_init(struct cc__global *g);
void cc__global_push(struct cc__global *g, struct cc__fiber *f);
/* NULL: nothing there, or only what is not quite there yet (G3). */
struct cc__fiber *cc__global_pop(struct cc__global *g);
/* About how many there are. */
uint64_t cc__global_length(const struct cc__global *g);

#endif
