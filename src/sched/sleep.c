/* sleep.c - a fiber or thread sleeps until a time, and a worker runs the timers that have expired. */
#include <errno.h>

#include "os/fork.h"
#include "os/trace.h"
#include "sched/later.h"
#include "sched/worker.h"

int cc_sleep_until(cc_time deadline)
{
	struct cc__waitq nobody = {0};
	struct cc__waiter w = {.what = CC__FOR_TIME};
	int err;

	if (cc__forked())
		return ENOTSUP;
	if (deadline <= cc__now())
		return 0;
	CC__EVENT(CC__EV_FOR, cc__self(), CC__FOR_TIME, 0);
	cc__lock(&nobody.lock, CC__RANK_WAITQ);
	err = cc__wait(&nobody, &w, deadline);
	/* Or it is the deadline of a scope around, before its time. */
	return err == ETIMEDOUT && cc__now() >= deadline ? 0 : err;
}

bool cc__worker_run_timers(struct cc__worker *w, struct cc__timers *h, cc_time now)
{
	unsigned fired;

	w->clock = now;
	w->waking = CC__WAKING_EXPIRED;
	fired = cc__timers_run(h, now, CC__FAIR_RUN, cc__worker_fire);
	w->waking = CC__WAKING;
	w->fair_at = fired > 0 ? 0 : w->fair_at;
	return fired > 0;
}

void cc__worker_fire(void *object, uint64_t value)
{
	if (cc__later_is(object))
		cc__later_fire(object, value);
	else
		cc__fiber_wake(object, value);
}
