/* inspect.c - a walk over all tasks: the end of a runtime unparks its fibers. */
#include "sched/sched.h"

#include "sched/later.h"

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

