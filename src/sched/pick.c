/* pick.c - what a worker runs next (D4). */
#include "sched/bound.h"

/* How often a busy worker looks at descriptors. */
#define LOOK_EVERY (200 * CC_USEC)

/* ---- what others have for it ---- */

/* A share of the global queue: the others come by too. */
static void take_global(struct cc__worker *w)
{
	enum { SHARE_MAX = 64 };
	struct cc__global *g = &w->sched->global;
	/* Relaxed: a hint. */
	const uint64_t share = cc__global_length(g) / cc__load(&w->sched->workers, CC__RELAXED) + 1;
	struct cc__fiber *taken[SHARE_MAX];
	unsigned n = 0;

	while (n < SHARE_MAX && n < share && (taken[n] = cc__global_pop(g)) != NULL)
		n++;
	cc__worker_move_in_many(w, taken, n, false);
}

/* Stacks for those who starve, and one of them who tries, now and then. */
static __attribute__((noinline, cold)) void help_starved(struct cc__worker *w)
{
	cc__worker_keep_stacks(w, 0);
	if (cc__starved_due(&w->sched->starved))
		cc__worker_retry_starved(w);
}

void cc__worker_take_in(struct cc__worker *w)
{
	cc__worker_move_in_inbox(w, cc__inbox_take(&w->own));
	cc__worker_move_in_inbox(w, cc__inbox_take(&w->inbox));
	cc__worker_move_in_inbox(w, cc__inbox_take(&w->sched->woken));
	if (!w->only_woken)
		take_global(w);
	if (cc__starved_any(&w->sched->starved))
		help_starved(w);
}

bool cc__worker_poll(struct cc__worker *w)
{
	cc__count(&w->counters.polls);
	return cc__poll_run(&w->sched->poll, CC_NOW);
}

/* Descriptors are waited for, and there is something to run here: a look now and then, and
 * an idle worker is woken to look after them.  (With nothing to run, search.c does both.) */
static __attribute__((noinline)) void serve_descriptors(struct cc__worker *w)
{
	struct cc__poll *p = &w->sched->poll;
	const cc_time now = cc__now();

	if (now >= w->look_at) {
		w->look_at = now + LOOK_EVERY;
		cc__worker_poll(w);
	}
	if (cc__poll_unattended(p))
		cc__idle_poll(w->sched->idle);
}

/* ---- what runs next ---- */

/* Everything that has its turn every CC__FAIR_RUN picks (D4). */
static __attribute__((noinline)) void serve(struct cc__worker *w)
{
	/* Relaxed: our own. */
	w->fair_at = w->serve_at = cc__load(&w->picks, CC__RELAXED) + CC__FAIR_RUN;
	cc__count(&w->serves);
	if (cc__load(&w->stuck, CC__RELAXED) != 0)	/* Relaxed, both: a hint */
		cc__store(&w->stuck, 0, CC__RELAXED);
	if (cc__timers_earliest(&w->timers) != CC_FOREVER)
		cc__worker_run_timers(w, &w->timers, cc__now());
	cc__worker_take_in(w);
	if (cc__poll_waiting(&w->sched->poll) != 0 && cc__runq_length(&w->queue) > 0)
		serve_descriptors(w);
	if (cc__lesson_due(&w->lesson))
		cc__lesson_think(w);
}

/* The next in the ordinary order (R4). */
static struct cc__fiber *pick_ordinary(struct cc__worker *w)
{
	struct cc__fiber *f = cc__runq_take_offer(&w->queue);

	return f != NULL ? f : cc__runq_pop(&w->queue);
}

/* One of those whose time has come, if there are any; now and then another. */
static struct cc__fiber *pick_urgent(struct cc__worker *w)
{
	enum { FAVOURS_IN_A_ROW = 8 };
	struct cc__fiber *f = NULL;

	if (cc__lane_length(&w->queue.lane[CC__URGENT]) == 0) {
		w->fair_at = w->serve_at;
		return NULL;
	}
	w->fair_at = 0;		/* here again, for the next */
	if (++w->favours % FAVOURS_IN_A_ROW == 0)
		f = pick_ordinary(w);
	return f != NULL ? f : cc__runq_pop_kind(&w->queue, CC__URGENT);
}

/* The reserve's next: whose time has come, else the oldest.  What was found stuck
 * since it was queued is not for it. */
static struct cc__fiber *pick_woken(struct cc__worker *w)
{
	struct cc__fiber *f;

	while ((f = cc__runq_pop_kind(&w->queue, CC__URGENT)) != NULL ||
	       (f = cc__runq_pop_kind(&w->queue, CC__READY)) != NULL) {
		if (cc__worker_is_for_reserve(f))
			return f;
		cc__worker_give_away(w, f);
	}
	return NULL;
}

static __attribute__((noinline)) struct cc__fiber *pick_fair(struct cc__worker *w)
{
	/* Relaxed: our own. */
	const bool turn = cc__load(&w->picks, CC__RELAXED) >= w->serve_at;
	struct cc__fiber *f;

	if (turn)
		serve(w);
	if (w->only_woken) {
		w->fair_at = 0;		/* so it always comes through here */
		return pick_woken(w);
	}
	if (turn && (f = cc__runq_pop_kind(&w->queue, CC__FRESH)) != NULL) {
		w->fair_at = 0;		/* then those whose time has come */
		return f;
	}
	return pick_urgent(w);
}

__attribute__((noinline)) struct cc__fiber *cc__worker_pick_slowly(struct cc__worker *w)
{
	struct cc__fiber *f = NULL;

	/* Relaxed: our own. */
	if (cc__load(&w->picks, CC__RELAXED) >= w->fair_at)
		f = pick_fair(w);
	if (f == NULL && !w->only_woken && (f = pick_ordinary(w)) == NULL) {
		serve(w);
		if ((f = pick_urgent(w)) == NULL)
			f = pick_ordinary(w);
	}
	if (cc__runq_offered(&w->queue))
		w->fair_at = 0;		/* another was before it */
	return f;
}
