/* barrier.c - nobody goes on until all have come.
 *
 * B1  `come` and `round` change only with the bucket held.  Who sleeps has come.
 * B2  The last one ends the round, and wakes the others after that.  Who gives up is taken
 *     off if his round goes on, in the hold in which he leaves; if it is over, he has
 *     come, and it was not too late. */
#include <errno.h>

#include "sync/sync.h"

struct party {
	struct cc__sleeper sleeper;	/* first */
	CCBarrier *barrier;
	uint32_t round;
	bool over;			/* bucket's lock: it was when he gave up */
};

static void gives_up(struct cc__sleeper *s)
{
	struct party *me = (struct party *)(void *)s;

	me->over = me->round != me->barrier->round;
	if (!me->over)
		me->barrier->come--;
}

/* Held, and dropped. */
static int wait_for_others(struct party *me, struct cc__bucket *b, cc_time deadline)
{
	int err;

	me->barrier->come++;
	me->round = me->barrier->round;
	me->sleeper.left = gives_up;
	err = cc__park_sleep(b, &me->sleeper, deadline);
	return me->over ? 0 : err;
}

static int wait(CCBarrier *barrier, int *last, cc_time deadline)
{
	struct party me = {.sleeper = cc__sync_sleeper(barrier, CC__FOR_BARRIER),
	                   .barrier = barrier};
	struct cc__bucket *b;
	uint64_t newest;
	bool all;

	if (cc__forked())
		return ENOTSUP;
	if (barrier->parties == 0)
		return EINVAL;
	b = cc__sync_hold(&me.sleeper.key);
	all = barrier->come + 1 == barrier->parties;
	if (last != NULL)
		*last = all;
	if (!all)
		return wait_for_others(&me, b, deadline);
	barrier->come = 0;
	barrier->round++;
	newest = b->arrivals;
	cc__park_drop(b);
	cc__sync_wake_all(barrier, newest);
	return 0;
}

int cc_barrier_wait_until(CCBarrier *barrier, int *last, cc_time deadline)
{
	const bool watched = cc__watched();
	int err;

	if (watched)
		cc__happens_before(barrier);
	err = wait(barrier, last, deadline);
	if (watched && err == 0)
		cc__happens_after(barrier);
	return err;
}
