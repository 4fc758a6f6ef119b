/* closing.c - what a nursery does by itself: it closes channels when its last child has ended,
 * and cancels everybody inside at its deadline. */
#include <errno.h>

#include "sched/allocator.h"
#include "os/fork.h"
#include "scope/nursery.h"

/* ---- channels that it closes ---- */

struct cc__closing {
	struct cc__closing *next;
	CCChan *chan;
};

int cc_nursery_autoclose(CCNursery *nursery, CCChan *chan)
{
	struct cc__nursery *n = cc__nursery_open(nursery);
	struct cc__closing *c;

	if (cc__forked())
		return ENOTSUP;
	if (n == NULL || chan == NULL)
		return EINVAL;
	c = cc__default_allocator.alloc(cc__default_allocator.context, sizeof *c);
	if (c == NULL)
		return ENOMEM;
	c->chan = chan;
	cc__chan_guard(chan, &n->guard);
	c->next = cc__load(&n->closing, CC__RELAXED);	/* Relaxed: the exchange decides */
	/* Release: c, to the acquire in cc__nursery_close_channels. */
	while (!cc__cas_weak(&n->closing, &c->next, c, CC__RELEASE, CC__RELAXED))
		continue;
	return 0;
}

void cc__nursery_close_channels(struct cc__nursery *n)
{
	/* Acquire: pairs with the release above.  There is one end, so nobody else takes. */
	struct cc__closing *c = cc__load(&n->closing, CC__ACQUIRE), *next;

	for (; c != NULL; c = next) {
		next = c->next;
		cc__chan_unguard(c->chan, &n->guard);
		cc_chan_close(c->chan);
		cc__default_allocator.free(cc__default_allocator.context, c, sizeof *c);
	}
}

/* ---- its deadline ---- */

static void be_late(struct cc__nursery *n)
{
	/* Behind a shield it is the cancellation outside that is let in again. */
	cc__scope_cancel(&n->scope,
	                 CC__CANCEL | (n->scope.shield ? 0 : CC__CANCEL_LATE) |
	                     (uint32_t)ETIMEDOUT << CC__CANCEL_REASON_SHIFT,
	                 n->lazy);
}

static int ring(void *arg)
{
	struct cc__nursery *n = arg;

	be_late(n);
	cc__nursery_end(n, &n->daemons, 0);
	return 0;
}

/* A runtime that is ending has no time left for anybody. */
int cc__nursery_set_alarm(struct cc__nursery *n, cc_time deadline)
{
	const CCTaskOptions at = {.start = deadline};
	int err = ECANCELED;

	if (deadline == 0 || deadline == CC_FOREVER)
		return 0;
	if (deadline > cc__now()) {
		cc__nursery_count_in(n, &n->daemons);
		if ((err = cc__sched_spawn(n->sched, &n->alarm, &at, ring, n, 0)) != 0)
			cc__nursery_end(n, &n->daemons, 0);
	}
	if (err != ECANCELED)
		return err;
	be_late(n);
	return 0;
}

/* An alarm that has begun is waited for like any daemon. */
bool cc__nursery_stop_alarm(struct cc__nursery *n)
{
	const bool set = n->alarm.id != 0;
	const bool begun = set && cc_task_recall(n->alarm) != 0;

	if (begun)
		cc_task_detach(n->alarm);
	else if (set)
		cc__nursery_end(n, &n->daemons, 0);
	n->alarm = (CCTask){0};
	return !begun;
}

/* The new alarm is set before the old one is stopped, so an error changes nothing. */
int cc__nursery_move_alarm(struct cc__nursery *n, cc_time deadline)
{
	const CCTask old = n->alarm;
	CCTask moved;
	int err;

	/* Relaxed: be_late in this thread, or in an alarm that the caller need not see yet. */
	if (cc__load(&n->scope.flag, CC__RELAXED) & CC__CANCEL)
		return ECANCELED;
	n->alarm = (CCTask){0};
	err = cc__nursery_set_alarm(n, deadline != CC_NOW ? deadline : 1);
	moved = n->alarm;
	n->alarm = old;
	if (err != 0)
		return err;
	if (!cc__nursery_stop_alarm(n))
		err = ECANCELED;
	n->alarm = moved;
	return err;
}
