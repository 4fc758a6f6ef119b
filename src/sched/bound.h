/* bound.h - the stack under a fiber: it has one from its first run to its end. */
#ifndef CC__SCHED_BOUND_H
#define CC__SCHED_BOUND_H

#include <errno.h>

#include "os/trace.h"
#include "sched/worker.h"

/* That one of those who starve tries again; NULL: nobody. */
static inline void cc__worker_try_again(struct cc__worker *w, struct cc__fiber *starved)
{
	if (starved != NULL)
		cc__worker_move_in(w, starved);
}

/* f is about to run on s, and has run. */
static inline void cc__fiber_bind(struct cc__fiber *f, struct cc__stack *s)
{
	CC__EVENT(CC__EV_STACK, &f->parker, (uintptr_t)s, 0);
	s->waiter.who = &f->parker;
	s->main = f->run.main;
	s->member = NULL;
	cc__store(&s->own.stuck, 0, CC__RELAXED);	/* Relaxed: a hint; not f's yet */
	/* Release: the descriptor, to the acquire in cc__sched_stack_of. */
	cc__store(&f->stack, s, CC__RELEASE);
}

static inline void cc__fiber_unbind(struct cc__fiber *f)
{
	CC__EVENT(CC__EV_STACK, &f->parker, 0, 0);
	/* Relaxed: who looks has made the handle WAITED, and the end waits for it. */
	cc__store(&f->stack, NULL, CC__RELAXED);
}

/* The task of f ends because it was cancelled. */
void cc__fiber_cancelled(struct cc__worker *w, struct cc__fiber *f);

/* Of f, which has run on w: the thread is nobody's until the next.  What is left to do is
 * to wake its last joiner, if there is one. */
static inline struct cc__wake cc__fiber_end(struct cc__worker *w, struct cc__fiber *f, int result)
{
	struct cc__wake last;

	if (__builtin_expect(result == ECANCELED, 0))
		cc__fiber_cancelled(w, f);
	cc__set_running(w->thread, &w->thread->parker);
	cc__fiber_unbind(f);
	if (cc__frame_end(f, result, false, &last))
		cc__frame_put(&w->frames, f);
	cc__count(&w->finished);
	return last;
}

/* f, claimed, begins where the one before it has ended. */
static inline void cc__fiber_follow(struct cc__worker *w, struct cc__fiber *f, struct cc__stack *s)
{
	cc__worker_try_again(w, cc__starved_fed(&w->sched->starved));
	cc__fiber_bind(f, s);
	cc__set_running(w->thread, &f->parker);
	cc__control_reset();	/* the task before may round its own way */
}

/* From the worker's cache, the pool, the reserve; a large one from the pool.  NULL: there
 * are none. */
struct cc__stack *cc__worker_stack_take(struct cc__worker *w, unsigned order);
/* Back, and somebody who starves may have it. */
void cc__worker_stack_give(struct cc__worker *w, struct cc__stack *s);
/* No more than `most` are kept: what we have too many of, others may starve for. */
void cc__worker_keep_stacks(struct cc__worker *w, unsigned most);
/* f, unstarted and QUEUED, waits for one. */
void cc__worker_starve(struct cc__worker *w, struct cc__fiber *f);

/* Idle ones give their pages back; when to look again. */
cc_time cc__worker_age_stacks(struct cc__worker *w);

/* The task on s has returned, and has left something behind. */
void cc__fiber_tidy(struct cc__stack *s);

#endif
