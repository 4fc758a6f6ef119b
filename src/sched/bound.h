/* bound.h - the stack under a fiber: it has one from its first run to its end.
 *
 * BOUND-1  A task that finds no stack when its turn comes starves: it is QUEUED and in no run queue.
 *     One of these gets its turn again with each stack that is given back, and one with each retry;
 *     a task that has got a stack feeds the next.  Spawners are refused meanwhile. */
#ifndef CC__SCHED_BOUND_H
#define CC__SCHED_BOUND_H

#include <errno.h>

#include "os/trace.h"
#include "sched/worker.h"

/* ---- tasks that starve ---- */

/* Some starve; a hint. */
static inline bool cc__starved_any(const struct cc__starved *s)
{
	return cc__load(&s->any, CC__RELAXED) != 0;	/* Relaxed: a hint */
}

/* When the system is asked for stacks again; CC_FOREVER: no task starves. */
cc_time cc__starved_deadline(const struct cc__starved *s);
/* It is time for that. */
bool cc__starved_due(const struct cc__starved *s);
/* There may be a stack: the task that has starved longest tries again, in w's queue, by w. */
void cc__worker_retry_starved(struct cc__worker *w);
/* A task has got a stack: likewise, or none starves. */
void cc__worker_feed_starved(struct cc__worker *w);
/* f, unstarted and QUEUED, starves. */
void cc__worker_starve(struct cc__worker *w, struct cc__fiber *f);

/* ---- a stack under a fiber ---- */

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
	if (__builtin_expect(cc__load(&w->sched->starved.any, CC__RELAXED) != 0, 0))	/* Relaxed: a hint */
		cc__worker_feed_starved(w);
	cc__fiber_bind(f, s);
	cc__set_running(w->thread, &f->parker);
	cc__control_reset();	/* the task before may round its own way */
}

/* From the pool, the worker's cache or the reserve; a large one from the pool.  NULL: there are
 * none. */
struct cc__stack *cc__worker_stack_find(struct cc__worker *w, unsigned order);

/* The same, if the worker's cache has none.  A task that starves has fed the next. */
static inline struct cc__stack *cc__worker_stack_take(struct cc__worker *w, unsigned order)
{
	/* Relaxed: a hint. */
	if (__builtin_expect(order == 0 && w->stacks.first != NULL &&
	                     cc__load(&w->sched->starved.any, CC__RELAXED) == 0, 1))
		return cc__stack_pop(&w->stacks);
	return cc__worker_stack_find(w, order);
}

/* s goes to the pool, or is kept for the day there are no others. */
void cc__worker_stack_keep(struct cc__worker *w, struct cc__stack *s);
/* No more than `most` are kept: what we have too many of, others may starve for. */
void cc__worker_keep_stacks(struct cc__worker *w, unsigned most);

/* Idle ones give their pages back; when to look again. */
cc_time cc__worker_age_stacks(struct cc__worker *w);

/* The task on s has returned, and has left something behind. */
void cc__fiber_tidy(struct cc__stack *s);

#endif
