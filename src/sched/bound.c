/* bound.c - stacks that a worker has at hand, and what is done when there are none.
 *
 * What is called from a switch is kept out of line: it would widen the frame of every
 * yield. */
#include "sched/bound.h"

#include <stdio.h>

#include "task/local.h"

void cc__fiber_cancelled(struct cc__worker *w, struct cc__fiber *f)
{
	CC__EVENT(CC__EV_CANCELLED, &f->parker, 0, 0);
	cc__count(&w->counters.cancelled);
}

/* Behind those who starve already, until there is news. */
static bool has_to_wait(const struct cc__worker *w)
{
	return cc__starved_any(&w->sched->starved) && w->stacks.first == NULL &&
	       w->reserve == NULL && !cc__starved_due(&w->sched->starved);
}

struct cc__stack *cc__worker_stack_take(struct cc__worker *w, unsigned order)
{
	struct cc__stack *s;

	if (__builtin_expect(order != 0, 0))
		return cc__stack_get(&w->sched->stacks, order);
	if (has_to_wait(w))
		return NULL;
	if ((s = cc__stack_pop(&w->stacks)) == NULL &&
	    (s = cc__stack_get(&w->sched->stacks, 0)) == NULL) {
		s = w->reserve;
		w->reserve = NULL;
	}
	return s;
}

/* The pool has got warm ones. */
static void look_soon(struct cc__worker *w)
{
	if (w->age_at == CC_FOREVER && w->sched->config.stack_idle != CC_FOREVER)
		w->age_at = 0;
}

void cc__worker_keep_stacks(struct cc__worker *w, unsigned most)
{
	if (w->stacks.count <= most)
		return;
	cc__stack_put_list(&w->sched->stacks, &w->stacks);
	look_soon(w);
}

/* Straight to the pool: those who want one are few. */
static void give_large(struct cc__worker *w, struct cc__stack *s)
{
	cc__stack_put(&w->sched->stacks, s);
	look_soon(w);
}

__attribute__((noinline)) void cc__worker_stack_give(struct cc__worker *w, struct cc__stack *s)
{
	s->waiter.who = NULL;
	cc__count(&w->counters.stacks_given);
	if (__builtin_expect(cc__stack_order(s) != 0, 0))
		give_large(w, s);
	else if (w->reserve == NULL)
		w->reserve = s;
	else
		cc__stack_push(&w->stacks, s);
	/* What we have too many of, others may starve for. */
	cc__worker_keep_stacks(w, cc__starved_any(&w->sched->starved)
	                              ? 0
	                              : w->sched->config.stack_cache);
	cc__worker_try_again(w, cc__starved_pop(&w->sched->starved));
}

__attribute__((noinline, cold)) void cc__worker_starve(struct cc__worker *w, struct cc__fiber *f)
{
	struct cc__starved *starved = &w->sched->starved;
	const unsigned order = cc__fiber_order(f);
	char why[256];
	bool tell;

	cc__word_enqueued(&f->parker, 3, w->id);
	tell = cc__starved_push(starved, f);
	/* Somebody has to come back to it, and we may sleep without a deadline. */
	cc__idle_timer(w->idle, cc__starved_deadline(starved));
	if (!tell)
		return;
	cc__stack_pool_explain(&w->sched->stacks, order, why, sizeof why);
	cc__sched_log(w->sched, why);
	/* Stacks that sleeping workers keep. */
	cc__idle_wake_all(w->sched->idle);
}

void cc__sched_stack_of(struct cc__fiber *f, const void **bottom, size_t *size)
{
	/* Acquire: pairs with the release in cc__fiber_bind; its memory is constant. */
	const struct cc__stack *s = cc__load(&f->stack, CC__ACQUIRE);

	if (!cc__is_stack(s))
		return;
	*bottom = cc__stack_bottom(s);
	*size = cc__stack_usable(&cc__fiber_home(f)->stacks, s);
}

cc_time cc__worker_age_stacks(struct cc__worker *w)
{
	const cc_time idle = w->sched->config.stack_idle, now = cc__now();

	if (w->stacks.count > 0 && w->age_at == CC_FOREVER && idle < CC_FOREVER - now)
		w->age_at = now + idle;
	if (w->age_at != CC_FOREVER && now >= w->age_at) {
		cc__stack_put_list(&w->sched->stacks, &w->stacks);
		w->age_at = cc__stack_pool_age(&w->sched->stacks, now, idle);
	}
	return w->age_at;
}

/* (The nursery itself lay in a frame that has returned.) */
__attribute__((cold)) void cc__fiber_left_open(const struct cc__fiber *f)
{
	const char *line = cc__place_line(cc__fiber_place(f));
	struct cc__name name;
	char text[240];

	cc__fiber_name_of(f, &name);
	snprintf(text, sizeof text,
	         "task: %llu '%s'%s%s ended with a nursery open; join it before the task returns "
	         "(cc_nursery_join, cc_nursery_scope)",
	         /* Relaxed: our own. */
	         (unsigned long long)(cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID), name.text,
	         line != NULL ? ", spawned at " : "", line != NULL ? line : "");
	cc__panic(__FILE__, __LINE__, text);
}

void cc__fiber_tidy(struct cc__stack *s)
{
	cc__locals_end(&s->member);
	if (__builtin_expect(s->member != NULL, 0))
		cc__fiber_left_open(cc__fiber_of(s->own.waiter.who));
}
