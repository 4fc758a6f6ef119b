/* in_place.c - a task that runs on the stack of the fiber that joins it, or of the child
 * before it.
 *
 * It was in their worker's own queue and nobody has it yet: with the joiner that saves both
 * their switches, and a stack; who wants a larger one than ordinary has it to itself.  With the
 * child before it, it saves their nursery a count. */
#include "os/fork.h"
#include "sched/bound.h"
#include "wait/thread.h"

/* Half of an ordinary stack is left for whoever is called from here. */
static bool room_on(const struct cc__stack_pool *p, const struct cc__stack *s)
{
	return (const char *)__builtin_frame_address(0) - cc__stack_bottom(s) >
	       (ptrdiff_t)(p->shelf[0].size / 2);
}

/* A task may take the place of `self`, which goes wherever the task does.  Not if `self` handles
 * a C++ exception: the task has nothing to do with that (os/carry.h). */
static bool gives_place(const struct cc__worker *w, const struct cc__fiber *self)
{
	return !cc__fiber_stays(self) && !cc__carries(w->thread->carry) &&
	       /* Relaxed: our own. */
	       room_on(&w->sched->stacks, cc__load(&self->stack, CC__RELAXED));
}

/* f, which is in no queue, on the stack of the fiber that calls; until its end that
 * fiber lies below it and runs when it runs. */
static inline void step_up(struct cc__worker *w, struct cc__fiber *f, struct cc__below *p)
{
	struct cc__fiber *self = cc__worker_fiber(w);
	struct cc__stack *s = cc__load(&self->stack, CC__RELAXED);	/* Relaxed: our own */

	CC__LOCK_NONE_HELD("PARK-UNDER-LOCK");	/* it may park */
	*p = (struct cc__below){.self = self, .member = s->member, .control = cc__control_renew()};
	cc__worker_claim(w, f);
	CC__EVENT(CC__EV_PLACE, &self->parker, (uintptr_t)f, 0);
	cc__fiber_bind(f, s);
	cc__context_on(&f->run.context, &s->tools, cc__stack_bottom(s),
	               cc__stack_top(&w->sched->stacks, s));
	cc__set_running(w->thread, &f->parker);
}

static inline void step_down(struct cc__below *p, struct cc__fiber *f, int result)
{
	struct cc__fiber *self = p->self;
	struct cc__stack *s = cc__load(&self->stack, CC__RELAXED);	/* Relaxed: our own */
	struct cc__wake last;
	struct cc__worker *w;

	if (cc__forked())
		cc__fork_exit(result);	/* as in fiber_main */
	CC_POINT("task.ended", &f->parker);
	if (__builtin_expect(s->member != NULL, 0))
		cc__fiber_tidy(s);
	w = cc__worker_here();	/* the task may have moved us */
	s->waiter.who = &self->parker;
	s->member = p->member;
	cc__set_running(w->thread, &self->parker);
	cc__fiber_unbind(f);
	if (cc__frame_end(f, result, true, &last))
		cc__frame_put(&w->frames, f);
	CC__EVENT(CC__EV_PLACE, &self->parker, 0, 0);
	cc__count(&w->finished);
	cc__control_restore(p->control);
	cc__wake(last);
}

bool cc__sched_run_here(CCTask task, int *result)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__fiber *self = cc__worker_fiber(w), *f = task.frame;
	cc_task_main *main;
	struct cc__below p;

	/* What lies in our own queue we have put there: it is unstarted, and still the
	 * task that its handle says.  Relaxed: so nobody else has written it. */
	if (self == NULL || f == NULL || !gives_place(w, self) ||
	    cc__load(&f->handle, CC__RELAXED) != task.id || !cc__runq_take(&w->queue, f))
		return false;
	if (cc__fiber_stays(f)) {
		cc__worker_move_in(w, f);
		return false;
	}
	main = f->run.main;
	step_up(w, f, &p);
	*result = main(f->payload.arg);
	step_down(&p, f, *result);
	return true;
}

struct cc__child *cc__sched_child_here(const void *nursery, struct cc__below *p)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__fiber *self = cc__worker_fiber(w), *f;

	if (self == NULL || !gives_place(w, self) ||
	    (f = cc__runq_take_child(&w->queue, nursery, false)) == NULL)
		return NULL;
	step_up(w, f, p);
	return &f->payload.child.what;
}

void cc__sched_child_ended(struct cc__below *p, struct cc__child *child, int result)
{
	step_down(p, cc__fiber_of_child(child), result);
}

/* ---- a child on the stack of the one before it ---- */

struct cc__child *cc__sched_child_next(const void *nursery, int result)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__fiber *f = cc__worker_fiber(w), *next;
	struct cc__stack *s = cc__load(&f->stack, CC__RELAXED);	/* Relaxed: our own */

	/* Relaxed: our own.  (Who leaves something behind, or is a copy of the process, goes
	 * the way of all fibers.) */
	if (cc__load(&w->picks, CC__RELAXED) >= w->fair_at || s->member != NULL || cc__forked() ||
	    (next = cc__runq_take_child(&w->queue, nursery, true)) == NULL)
		return NULL;
	CC_POINT("task.ended", &f->parker);
	cc__wake(cc__fiber_end(w, f, result));
	cc__fiber_follow(w, cc__worker_claim(w, next), s);
	return &next->payload.child.what;
}
