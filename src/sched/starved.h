/* starved.h - tasks that found no stack when their turn came.
 *
 * A starved task is QUEUED and in no run queue.  One gets its turn again with
 * each stack that is given back, and one with each retry; what got a stack
 * feeds the next.  Spawners are refused meanwhile. */
#ifndef CC__SCHED_STARVED_H
#define CC__SCHED_STARVED_H

#include "base/lock.h"
#include "task/frame.h"

struct cc__starved {
	struct cc__lock lock;
	struct cc__fiber *first, *last;	/* lock; through next */
	bool told;			/* lock; the log knows why */
	cc__a32 any;			/* written under the lock, a hint to everybody */
	CC__ATOMIC(cc_time) retry_at;	/* when the system is asked again; likewise */
};

/* True: it is the first of all, and the caller says why. */
bool cc__starved_push(struct cc__starved *s, struct cc__fiber *f);
/* There may be a stack: the one that waits longest; NULL: none. */
struct cc__fiber *cc__starved_pop(struct cc__starved *s);
/* A task has got a stack: the next that may try; NULL: none, and none starves. */
struct cc__fiber *cc__starved_fed(struct cc__starved *s);

static inline bool cc__starved_any(const struct cc__starved *s)
{
	return cc__load(&s->any, CC__RELAXED) != 0;	/* Relaxed: a hint */
}

/* Some starve, and it is time to ask the system again. */
bool cc__starved_due(const struct cc__starved *s);
/* When that is; CC_FOREVER: nobody starves. */
cc_time cc__starved_deadline(const struct cc__starved *s);

#endif
