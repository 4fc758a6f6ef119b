/* steal.c - the thief of steal.h. */
#include "sched/steal.h"

#include "os/trace.h"
#include "sched/worker.h"

/* What has waited so long may be taken. */
#define AGE_STARTED (5 * CC_USEC)
#define AGE_OFFERED (2 * CC_USEC)
#define AGE_UNSTARTED (1 * CC_USEC)
/* A worker that has picked nothing for so long does not come by its inbox. */
#define AGE_INBOX (100 * CC_USEC)
/* Who meets others more often than that is too close to them. */
#define MEETS_EVERY (4 * CC_USEC)
/* The oldest age is the youngest, doubled so often: 5 ms. */
enum { SHY_MOST = 10 };
/* Turns in which the owner may hand out by itself. */
enum { PATIENCE = 200 };

/* ---- what has waited (T1) ---- */

static bool started_have_waited(struct cc__sample *seen, const struct cc__lane *r, cc_time now)
{
	const uint32_t head = cc__load(&r->head, CC__RELAXED);	/* Relaxed, both: hints */

	if (now - seen->ready_at < AGE_STARTED << seen->shy)
		return false;
	if ((int32_t)(seen->ready_tail - head) > 0 && cc__lane_length(r) > 0)
		return true;
	seen->ready_tail = cc__load(&r->tail, CC__RELAXED);
	seen->ready_at = now;
	return false;
}

static bool offer_has_waited(struct cc__sample *seen, const struct cc__runq *q, cc_time now)
{
	const uint32_t offers = cc__load(&q->offers, CC__RELAXED);	/* Relaxed: a hint */

	if (!cc__runq_offered(q))
		return false;
	if (seen->offers == offers)
		return now - seen->offered_at >= AGE_OFFERED << seen->shy;
	seen->offers = offers;
	seen->offered_at = now;
	return false;
}

/* The owner takes the newest: if the oldest is where it was, it is the same. */
static bool unstarted_have_waited(struct cc__sample *seen, const struct cc__lane *r, cc_time now)
{
	const uint32_t head = cc__load(&r->head, CC__RELAXED);	/* Relaxed: a hint */
	const bool any = cc__lane_length(r) > 0;

	if (any && seen->fresh && seen->fresh_head == head)
		return now - seen->fresh_at >= AGE_UNSTARTED;
	seen->fresh = any;
	seen->fresh_head = head;
	seen->fresh_at = now;
	return false;
}

/* Something of v that w may run: all of it if eager. */
static bool has_waited(struct cc__worker *w, const struct cc__worker *v, cc_time now, bool eager)
{
	const struct cc__runq *q = &v->queue;
	const uint32_t started = cc__runq_started(q), all = cc__runq_length(q);
	struct cc__sample *seen = &w->seen[v->id - 1];

	if ((w->only_woken ? started : all) == 0) {
		seen->fresh = false;
		return false;
	}
	if (eager || cc__lane_length(&q->lane[CC__URGENT]) > 0 || offer_has_waited(seen, q, now) ||
	    (!w->only_woken && unstarted_have_waited(seen, &q->lane[CC__FRESH], now)) ||
	    started_have_waited(seen, &q->lane[CC__READY], now))
		return true;
	w->doubt = true;
	return false;
}

/* v runs one fiber for long, or sleeps. */
static bool stands_still(struct cc__worker *w, const struct cc__worker *v, cc_time now)
{
	struct cc__sample *seen = &w->seen[v->id - 1];
	const uint64_t picks = cc__load(&v->picks, CC__RELAXED);	/* Relaxed: a hint */

	if (seen->picks == picks)
		return now - seen->picked_at >= AGE_INBOX;
	seen->picks = picks;
	seen->picked_at = now;
	return false;
}

/* ---- what is learned (T2, T3) ---- */

/* Begin to count, or begin anew. */
static void observe(struct cc__worker *w, unsigned from, cc_time now)
{
	cc__store(&w->lesson.from, from, CC__RELAXED);	/* Relaxed: a hint to others */
	w->lesson.since = now;
	w->lesson.contentions = cc__contentions();
}

static unsigned robbed(const struct cc__worker *w)
{
	return cc__load(&w->lesson.from, CC__RELAXED);	/* Relaxed: our own, or a hint */
}

static bool learn(struct cc__worker *w, unsigned from, cc_time now)
{
	struct cc__sample *seen = &w->seen[from - 1];
	const cc_time met = (cc_time)(cc__contentions() - w->lesson.contentions);
	const bool too_close = met * MEETS_EVERY > now - w->lesson.since;

	if (too_close)
		seen->shy += seen->shy < SHY_MOST;
	else
		seen->shy -= seen->shy > 0;
	return too_close;
}

void cc__lesson_end(struct cc__worker *w)
{
	const unsigned from = robbed(w);

	if (from == 0)
		return;
	learn(w, from, cc__now());
	cc__store(&w->lesson.from, 0, CC__RELAXED);	/* Relaxed: a hint to others */
}

/* Of two who have robbed each other one gives back, or they would exchange for ever. */
static bool may_send_back(const struct cc__worker *w, const struct cc__worker *to)
{
	/* Relaxed: our own. */
	const uint32_t head = cc__load(&w->queue.lane[CC__READY].head, CC__RELAXED);

	return (int32_t)(head - w->lesson.turned) >= 0 && (w->id > to->id || robbed(to) != w->id);
}

static void send_back(struct cc__worker *w, struct cc__worker *to)
{
	struct cc__fiber *f;

	w->doubt = true;
	cc__idle_wake_was(w->sched->idle, false);
	for (uint32_t n = cc__lane_length(&w->queue.lane[CC__READY]); n > 0; n--)
		if ((f = cc__runq_pop_kind(&w->queue, CC__READY)) != NULL)
			cc__worker_send(w, to, f);
}

void cc__lesson_think(struct cc__worker *w)
{
	const unsigned from = robbed(w);
	struct cc__worker *v = w->sched->worker[from - 1];
	const cc_time now = cc__now();

	if (learn(w, from, now) && may_send_back(w, v))
		send_back(w, v);
	observe(w, from, now);
}

/* ---- the theft ---- */

bool cc__steal(struct cc__worker *w, struct cc__worker *v, cc_time now, bool eager)
{
	struct cc__loot *loot = &w->loot;

	if (!has_waited(w, v, now, eager))
		return false;
	cc__count(&w->counters.steal_tries);
	if (!cc__runq_steal(&v->queue, w->only_woken ? CC__TAKE_STARTED : CC__TAKE_ANY, PATIENCE,
	                    loot))
		return false;
	CC__EVENT(CC__EV_STEAL, v, w->id, loot->count);
	cc__count(&w->counters.steal_hits);
	cc__count_by(&w->counters.stolen, loot->count);
	now = cc__now();
	w->seen[v->id - 1].ready_at = now;	/* begin anew */
	w->seen[v->id - 1].fresh = false;
	observe(w, v->id, now);
	cc__worker_move_in_loot(w, loot);
	return true;
}

bool cc__steal_inbox(struct cc__worker *w, struct cc__worker *v, cc_time now, bool eager)
{
	struct cc__fiber *f = NULL;

	if (stands_still(w, v, now) || eager)
		f = cc__inbox_take(&v->inbox);
	else if (cc__inbox_any(&v->inbox))
		w->doubt = true;	/* left to v: that wants another look */
	cc__worker_move_in_inbox(w, f);
	return f != NULL;
}
