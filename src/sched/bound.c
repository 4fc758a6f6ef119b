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

/* ---- tasks that starve ---- */

/* How long before the system is asked again. */
#define RETRY (10 * CC_MSEC)

/* True: f is the first of all, and the caller says why. */
static bool push_starved(struct cc__starved *s, struct cc__fiber *f)
{
	const cc_time now = cc__now();
	bool tell;

	f->next = NULL;
	cc__lock(&s->lock, CC__RANK_POOL);
	/* Relaxed, all: hints, written under the lock. */
	if (s->first == NULL || now >= cc__load(&s->retry_at, CC__RELAXED))
		cc__store(&s->retry_at, now + RETRY, CC__RELAXED);
	if (s->first == NULL)
		s->first = f;
	else
		s->last->next = f;
	s->last = f;
	cc__store(&s->any, 1, CC__RELAXED);
	tell = !s->told;
	s->told = true;
	cc__unlock(&s->lock);
	return tell;
}

static void move_in_starved(struct cc__worker *w, bool all_fed)
{
	struct cc__starved *s = &w->sched->starved;
	struct cc__fiber *f;

	if (!cc__starved_any(s))
		return;
	cc__lock(&s->lock, CC__RANK_POOL);
	if ((f = s->first) != NULL)
		s->first = f->next;
	else if (all_fed)
		cc__store(&s->any, 0, CC__RELAXED);	/* Relaxed: a hint */
	cc__unlock(&s->lock);
	if (f != NULL)
		cc__worker_move_in(w, f);
}

void cc__worker_retry_starved(struct cc__worker *w)
{
	move_in_starved(w, false);
}

void cc__worker_feed_starved(struct cc__worker *w)
{
	move_in_starved(w, true);
}

cc_time cc__starved_deadline(const struct cc__starved *s)
{
	/* Relaxed: a hint. */
	return cc__starved_any(s) ? cc__load(&s->retry_at, CC__RELAXED) : CC_FOREVER;
}

bool cc__starved_due(const struct cc__starved *s)
{
	return cc__starved_any(s) && cc__now() >= cc__starved_deadline(s);
}

/* ---- stacks ---- */

/* Behind those who starve already, until there is news. */
static bool has_to_wait(const struct cc__worker *w)
{
	return cc__starved_any(&w->sched->starved) && w->stacks.first == NULL &&
	       w->reserve == NULL && !cc__starved_due(&w->sched->starved);
}

static struct cc__stack *find_stack(struct cc__worker *w)
{
	struct cc__stack *s = cc__stack_pop(&w->stacks);

	if (s == NULL && (s = cc__stack_get(&w->sched->stacks, 0)) == NULL) {
		s = w->reserve;
		w->reserve = NULL;
	}
	return s;
}

struct cc__stack *cc__worker_stack_find(struct cc__worker *w, unsigned order)
{
	struct cc__stack *s = NULL;

	if (order != 0)
		s = cc__stack_get(&w->sched->stacks, order);
	else if (!has_to_wait(w))
		s = find_stack(w);
	if (s != NULL)
		cc__worker_feed_starved(w);
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

void cc__worker_stack_keep(struct cc__worker *w, struct cc__stack *s)
{
	if (cc__stack_order(s) != 0) {	/* few tasks want such a stack */
		cc__stack_put(&w->sched->stacks, s);
		look_soon(w);
	} else if (w->reserve == NULL) {
		w->reserve = s;
	} else {
		cc__stack_push(&w->stacks, s);
	}
	/* What we have too many of, others may starve for. */
	cc__worker_keep_stacks(w, cc__starved_any(&w->sched->starved)
	                              ? 0
	                              : w->sched->config.stack_cache);
	cc__worker_retry_starved(w);
}

__attribute__((noinline, cold)) void cc__worker_starve(struct cc__worker *w, struct cc__fiber *f)
{
	struct cc__starved *starved = &w->sched->starved;
	const unsigned order = cc__fiber_order(f);
	char why[256];
	bool tell;

	cc__word_enqueued(&f->parker, 3, w->id);
	tell = push_starved(starved, f);
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
