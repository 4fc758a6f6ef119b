/* in_place.c - a task that runs on the stack of the fiber that joins it, or of the child
 * before it.
 *
 * It was in their worker's own queue and nobody has it yet: with the joiner that saves both
 * their switches, and a stack; who wants a larger one than ordinary has it to itself.  With the
 * child before it, it saves their nursery a count.
 *
 * A joiner that lies below a task cannot return before the task does: a cancellation or a deadline
 * wakes a parked joiner, but nothing can take the task off the joiner's stack.  So:
 *
 * PLACE-1  A task runs on its joiner's stack only if every event that would end the joiner's wait
 *          also ends the waits of the task: the join has no deadline, and the task is in the
 *          joiner's scope of cancellation or in an unshielded scope inside it.
 * PLACE-2  The owner of a nursery that joins it may run the nursery's children, because that wait
 *          is ended by nothing but the end of all children.
 * PLACE-3  A child that follows another one on its stack has no fiber below it: the one before has
 *          ended, and its joiners have been woken. */
#include "os/fork.h"
#include "sched/bound.h"
#include "task/local.h"
#include "wait/thread.h"

/* Half of an ordinary stack is left for whoever is called from here. */
static bool room_on(const struct cc__stack_pool *p, const struct cc__stack *s)
{
	return (const char *)__builtin_frame_address(0) - cc__stack_bottom(s) >
	       (ptrdiff_t)(p->shelf[0].size / 2);
}

static inline bool handles_exception(const struct cc__worker *w)
{
	/* Relaxed: as in a switch (switch.c). */
	return __builtin_expect(cc__carry_set(cc__load(&w->carry.words, CC__RELAXED)), 0) && cc__carry_any();
}

/* A task may take the place of `self`, which runs on s and goes wherever the task does.  Not if
 * `self` handles a C++ exception: the task has nothing to do with that (base/carry.h).  Not if `self`
 * may have forked branches: they become tasks when `self` parks, and the task parks in its place. */
static bool gives_place(const struct cc__worker *w, const struct cc__fiber *self,
                        const struct cc__stack *s)
{
	return !cc__fiber_stays(self) && !cc__branches_of_fiber(self) && !handles_exception(w) &&
	       room_on(&w->sched->stacks, s);
}

/* PLACE-1 for a task that is no nursery's child.  Such a task belongs to the root scope of its
 * scheduler, so its joiner, which runs on s, must not be inside a nursery. */
static bool is_outside(struct cc__stack *s)
{
	return __builtin_expect(s->member == NULL, 1) || *cc__past_locals(&s->member) == NULL;
}

/* f, which is in no queue, on s, the stack of `self`, which calls; until f's end `self` lies
 * below it and runs when it runs. */
static inline void step_up(struct cc__worker *w, struct cc__fiber *self, struct cc__stack *s,
                           struct cc__fiber *f, struct cc__below *p)
{
	CC__LOCK_NONE_HELD("PARK-UNDER-LOCK");	/* it may park */
	*p = (struct cc__below){.self = self, .member = s->member, .control = cc__control_renew()};
	cc__worker_claim(w, f);
	CC__EVENT(CC__EV_PLACE, &self->parker, (uintptr_t)f, 0);
	cc__fiber_bind(f, s);
	cc__set_running(w->thread, &f->parker);
}

/* `joined`: the caller takes the result for the joiner, and the handle with it. */
static inline void step_down(struct cc__below *p, struct cc__fiber *f, int result, bool joined)
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
	if (cc__frame_end(f, result, joined, &last))
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
	struct cc__stack *s;
	struct cc__below p;

	if (self == NULL || f == NULL)
		return false;
	s = cc__load(&self->stack, CC__RELAXED);	/* Relaxed: our own */
	/* What lies in our own queue we have put there: it is unstarted, and still the
	 * task that its handle says.  Relaxed: so nobody else has written it. */
	if (!is_outside(s) || !gives_place(w, self, s) ||
	    cc__load(&f->handle, CC__RELAXED) != task.id || !cc__runq_take(&w->queue, f))
		return false;
	/* A child of a nursery parks its joiner: its scope need not be inside of the joiner's, and
	 * what it runs expects a stack of its own. */
	if (!cc__fiber_runs_anywhere(f) || cc__fiber_nursery(f) != NULL) {
		cc__worker_move_in(w, f);
		return false;
	}
	main = f->run.main;
	step_up(w, self, s, f, &p);
	*result = main(f->payload.arg);
	step_down(&p, f, *result, true);
	return true;
}

struct cc__child *cc__sched_child_here(const void *nursery, struct cc__below *p)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__fiber *self = cc__worker_fiber(w), *f;
	struct cc__stack *s;

	if (self == NULL)
		return NULL;
	s = cc__load(&self->stack, CC__RELAXED);	/* Relaxed: our own */
	if (!gives_place(w, self, s) ||
	    (f = cc__runq_take_child(&w->queue, nursery, false)) == NULL)
		return NULL;
	step_up(w, self, s, f, p);
	return &f->payload.child.what;
}

void cc__sched_child_ended(struct cc__below *p, struct cc__child *child, int result)
{
	step_down(p, cc__fiber_of_child(child), result, false);
}

/* ---- a child on the stack of the one before it ---- */

struct cc__child *cc__sched_child_next(const void *nursery, int result)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__fiber *f = cc__worker_fiber(w), *next;
	struct cc__stack *s = cc__load(&f->stack, CC__RELAXED);	/* Relaxed: our own */

	if (cc__tools_order()) {
		cc__happens_before(nursery);	/* it is about to be counted out */
		return NULL;
	}
	/* Relaxed: our own.  (Who leaves something behind, or is a copy of the process, goes
	 * the way of all fibers; and so does a child on a large stack, which is not for the next.) */
	if (cc__load(&w->picks, CC__RELAXED) >= w->fair_at || s->member != NULL ||
	    (f->home & CC__HOME_LARGE) || cc__forked() ||
	    (next = cc__runq_take_child(&w->queue, nursery, true)) == NULL)
		return NULL;
	CC_POINT("task.ended", &f->parker);
	cc__wake(cc__fiber_end(w, f, result));
	cc__fiber_follow(w, cc__worker_claim(w, next), s);
	return &next->payload.child.what;
}
