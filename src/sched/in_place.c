/* in_place.c - a task that runs on the stack of the fiber that joins it.
 *
 * It was in the joiner's own queue and nobody has it yet: that saves both their switches,
 * and a stack.  Who wants a larger stack than ordinary ones has one to itself. */
#include "os/fork.h"
#include "sched/bound.h"
#include "wait/thread.h"

/* Half of an ordinary stack is left for whoever is called from here. */
static bool room_on(const struct cc__stack_pool *p, const struct cc__stack *s)
{
	return (const char *)__builtin_frame_address(0) - cc__stack_bottom(s) >
	       (ptrdiff_t)(p->shelf[0].size / 2);
}

/* A task may take the place of `self`, which goes wherever the task does. */
static bool gives_place(const struct cc__worker *w, const struct cc__fiber *self)
{
	return !cc__fiber_stays(self) &&
	       /* Relaxed: our own. */
	       room_on(&w->sched->stacks, cc__load(&self->stack, CC__RELAXED));
}

/* f, which is in no queue, on the stack of the fiber that calls; until its end that
 * fiber lies below it and runs when it runs. */
static int run_here(struct cc__worker *w, struct cc__fiber *self, struct cc__fiber *f)
{
	struct cc__stack *s = cc__load(&self->stack, CC__RELAXED);	/* Relaxed: our own */
	cc_task_main *main = f->run.main;
	struct cc__member *const member = s->member;
	const uint64_t control = cc__control_renew();
	int result;

	CC__LOCK_NONE_HELD("PARK-UNDER-LOCK");	/* it may park */
	cc__count(&w->picks);
	cc__word_claim(&f->parker, w->id);
	CC__EVENT(CC__EV_PLACE, &self->parker, (uintptr_t)f, 0);
	cc__fiber_bind(f, s);
	cc__context_on(&f->run.context, &s->tools, cc__stack_bottom(s),
	               cc__stack_top(&w->sched->stacks, s));
	cc__set_running(w->thread, &f->parker);
	result = main(f->payload.arg);
	if (cc__forked())
		cc__fork_exit(result);	/* as in fiber_main */
	CC_POINT("task.ended", &f->parker);
	if (__builtin_expect(s->member != NULL, 0))
		cc__fiber_tidy(s);
	w = cc__worker_here();	/* the task may have moved us */
	s->waiter.who = &self->parker;
	s->member = member;
	cc__set_running(w->thread, &self->parker);
	cc__fiber_unbind(f);
	if (cc__frame_end(f, result, true))
		cc__frame_put(&w->frames, f);
	CC__EVENT(CC__EV_PLACE, &self->parker, 0, 0);
	cc__count(&w->finished);
	cc__control_restore(control);
	return result;
}

bool cc__sched_run_here(CCTask task, int *result)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__fiber *self = cc__worker_fiber(w), *f = task.frame;

	/* What lies in our own queue we have put there: it is unstarted, and still the
	 * task that its handle says.  Relaxed: so nobody else has written it. */
	if (self == NULL || f == NULL || !gives_place(w, self) ||
	    cc__load(&f->handle, CC__RELAXED) != task.id || !cc__runq_take(&w->queue, f))
		return false;
	if (cc__fiber_stays(f)) {
		cc__worker_move_in(w, f);
		return false;
	}
	*result = run_here(w, self, f);
	return true;
}

struct cc__child *cc__sched_take_child(const void *nursery)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__fiber *self = cc__worker_fiber(w), *f = NULL;

	if (self != NULL && gives_place(w, self))
		f = cc__runq_take_child(&w->queue, nursery);
	return f != NULL ? &f->payload.child.what : NULL;
}

void cc__sched_run_taken(struct cc__child *child)
{
	struct cc__worker *w = cc__worker_here();

	run_here(w, cc__worker_fiber(w), cc__fiber_of_child(child));
}
