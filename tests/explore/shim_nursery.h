/* shim_nursery.h - what scope/nursery.c asks of a scheduler, where owner and children are threads:
 * no other stack, no worker, nothing is run in place.  Included by one file of a program. */
#ifndef MC_SHIM_NURSERY_H
#define MC_SHIM_NURSERY_H

#include "sched/spawn.h"

const cc__a32 *shim_cancel_flag(struct cc__parker *p)
{
	struct cc__member *m = *cc__member_slot(p);

	return m != NULL ? cc__member_flag(m) : NULL;
}

void cc__switch_away(struct cc__parker *p, uint64_t ticket, cc_time deadline)
{
	(void)p, (void)ticket, (void)deadline;
	mc_fail("switch_away: a thread has no other stack");
}

struct cc__waiter *shim_fiber_waiter(struct cc__parker *p)
{
	(void)p;
	mc_fail("fiber_waiter: a thread has its own");
}

void cc__worker_push(struct cc__worker *w, struct cc__fiber *f)
{
	(void)w, (void)f;
	mc_fail("shim: there is no worker");
}

void cc__worker_schedule_new(struct cc__fiber *f)
{
	cc__schedule(&f->parker);
}

int cc__sched_spawn(struct cc__sched *s, CCTask *out, const CCTaskOptions *options,
                    cc_task_main *main, void *arg, uintptr_t place)
{
	(void)s, (void)place, (void)out, (void)options, (void)main, (void)arg;
	mc_fail("shim: no child has a deadline");
}

void cc__sched_child_ended(struct cc__below *p, struct cc__child *c, int result)
{
	(void)p, (void)c, (void)result;
	mc_fail("shim: nothing is run in place");
}

_Noreturn void cc__fiber_left_open(const struct cc__fiber *f)
{
	(void)f;
	mc_fail("shim: a task left a nursery open");
}

void cc__locals_end(struct cc__member **place)
{
	(void)place;
	mc_fail("shim: there are no locals");
}

int cc_chan_close(CCChan *chan)
{
	(void)chan;
	return 0;
}

void cc__chan_guard(CCChan *c, struct cc__guard *g)
{
	(void)c, (void)g;
}

void cc__chan_unguard(CCChan *c, const struct cc__guard *g)
{
	(void)c, (void)g;
}

int cc_task_recall(CCTask task)
{
	(void)task;
	mc_fail("shim: no child has a deadline");
}

void cc__nursery_free_arena(struct cc__nursery *n)
{
	(void)n;
}

#endif
