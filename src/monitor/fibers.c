/* fibers.c - the list of all fibers (ccc/fiber.h). */
#include <ccc/fiber.h>

#include <errno.h>
#include <string.h>

#include "monitor/waits.h"
#include "os/fork.h"
#include "sched/later.h"
#include "sched/sched.h"

static CCFiberState public_state(uint64_t word)
{
	static const CCFiberState state[] = {
	    [CC__ASSIGNED] = CC_FIBER_QUEUED, /* it begins later */
	    [CC__QUEUED] = CC_FIBER_QUEUED,   [CC__OWNED] = CC_FIBER_RUNNING,
	    [CC__PARKING] = CC_FIBER_PARKED,  [CC__NOTIFIED] = CC_FIBER_PARKED,
	    [CC__PARKED] = CC_FIBER_PARKED,   [CC__DONE] = CC_FIBER_DONE,
	};

	return state[cc__word_state(word)];
}

/* Under f's lock: what it runs does not change.  The nursery of a daemon is marked. */
static void tell_family(const struct cc__fiber *f, CCFiberInfo *info)
{
	const uintptr_t nursery = (uintptr_t)cc__fiber_nursery(f);

	if (nursery == 0)
		return;
	info->nursery = (const void *)(nursery & ~(uintptr_t)1);
	info->function = (const void *)(uintptr_t)f->payload.child.what.main;
}

/* Under f's lock. */
static void tell_wait(struct cc__fiber *f, CCFiberInfo *info)
{
	struct cc__waits w;

	if (!cc__waits_of_fiber(f, true, &w))
		return;
	info->wait = cc__waits_kind(&w);
	info->since = w.since;
	info->deadline = w.deadline;
	if (w.what == CC__FOR_TASK)
		info->task = w.which;
	else
		info->object = (const void *)(uintptr_t)w.which;
}

/* False: there is no task in f. */
static bool look_at_fiber(struct cc__fiber *f, CCFiberInfo *info)
{
	struct cc__name name;
	uint64_t word;

	*info = (CCFiberInfo){0};
	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	info->id = cc__frame_hold(f);
	if (info->id != 0) {
		cc__fiber_name_of(f, &name);
		/* Relaxed: a look at something that moves. */
		word = cc__load(&f->parker.word, CC__RELAXED);
		if (cc__word_state(word) != CC__ASSIGNED || cc__later_waits(f)) {
			info->runtime = cc__sched_runtime(cc__fiber_home(f));
			info->state = public_state(word);
			info->worker = cc__word_owner(word);
			memcpy(info->name, name.text, sizeof info->name);
			tell_family(f, info);
			if (info->state != CC_FIBER_DONE)
				cc__sched_stack_of(f, &info->stack, &info->stack_size);
			/* Acquire: the result, from end_alone; a joiner waits for the lock. */
			else if (cc__load(&f->handle, CC__ACQUIRE) & CC__HANDLE_DONE)
				info->cancelled = f->run.result == ECANCELED;
		}
	}
	if (info->state == CC_FIBER_PARKED)
		tell_wait(f, info);
	cc__unlock(&f->done.lock);
	return info->runtime != NULL;
}

struct each {
	int (*visit)(const CCFiberInfo *info, void *arg);
	void *arg;
	int answer;
};

static bool visit_frame(void *object, void *arg)
{
	struct each *e = arg;
	CCFiberInfo info;

	if (look_at_fiber(object, &info))
		e->answer = e->visit(&info, e->arg);
	return e->answer == 0;
}

int cc_fiber_each(int (*visit)(const CCFiberInfo *info, void *arg), void *arg)
{
	struct each e = {.visit = visit, .arg = arg};

	if (cc__forked())
		return ENOTSUP;
	if (visit == NULL)
		return EINVAL;
	cc__frames_walk(visit_frame, &e);
	return e.answer;
}
