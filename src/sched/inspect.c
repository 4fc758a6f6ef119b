/* inspect.c - walks over all tasks: what cc_fiber_each shows, and the end of a runtime, which
 * unparks its fibers. */
#include "sched/sched.h"

#include <errno.h>
#include <string.h>

#include "os/fork.h"
#include "sched/later.h"

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

void (*cc__inspect_more)(struct cc__fiber *f, CCFiberInfo *info);

/* False: there is no task in f. */
static bool look_at(struct cc__fiber *f, CCFiberInfo *info)
{
	struct cc__name name;
	uint64_t word;

	*info = (CCFiberInfo){0};
	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	info->id = cc__frame_hold(f);
	if (info->id != 0) {
		/* Acquire: what the task is, from cc__word_publish.  An ASSIGNED frame has the id
		 * before that. */
		word = cc__load(&f->parker.word, CC__ACQUIRE);
		if (cc__word_state(word) != CC__ASSIGNED || cc__later_waits(f)) {
			info->runtime = cc__sched_runtime(cc__fiber_home(f));
			info->state = public_state(word);
			info->frame = f;
			info->worker = cc__word_owner(word);
			cc__fiber_name_of(f, &name);
			memcpy(info->name, name.text, sizeof info->name);
			if (cc__inspect_more != NULL)
				cc__inspect_more(f, info);
			if (info->state != CC_FIBER_DONE)
				cc__sched_stack_of(f, &info->stack, &info->stack_size);
			/* Acquire: the result, from end_alone; a joiner waits for the lock. */
			else if (cc__load(&f->handle, CC__ACQUIRE) & CC__HANDLE_DONE)
				info->cancelled = f->run.result == ECANCELED;
		}
	}
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

	if (look_at(object, &info))
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

/* A frame that has found another task by now is woken for no reason, at worst. */
static bool unpark_frame(void *object, void *home)
{
	struct cc__fiber *f = object;
	bool ours, unbegun;

	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	ours = cc__frame_hold(f) != 0 && cc__fiber_home(f) == home;
	unbegun = ours && cc__later_take(f);
	cc__unlock(&f->done.lock);
	if (unbegun)
		cc__later_begin(f);
	else if (ours)
		cc__unpark(&f->parker);
	return true;
}

void cc__fiber_unpark_all(const struct cc__sched *home)
{
	cc__frames_walk(unpark_frame, (void *)(uintptr_t)home);
}

