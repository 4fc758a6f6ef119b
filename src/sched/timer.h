/* timer.h - deadlines in order: a pairing heap of nodes that live with whoever
 * waits.  Insert O(1), first O(1), remove O(log n) amortised.  Not locked: one
 * owner. */
#ifndef CC__SCHED_TIMER_H
#define CC__SCHED_TIMER_H

#include "base/atomic.h"

struct cc__timer {
	cc_time deadline;
	struct cc__timer *child, *sibling;
	struct cc__timer **from;	/* what points at us; NULL: not in a heap */
};

struct cc__timers {
	struct cc__timer *first;	/* the earliest, or NULL */
};

static inline bool cc__timer_armed(const struct cc__timer *t)
{
	return t->from != NULL;
}

void cc__timers_add(struct cc__timers *h, struct cc__timer *t);
void cc__timers_remove(struct cc__timers *h, struct cc__timer *t);

#endif
