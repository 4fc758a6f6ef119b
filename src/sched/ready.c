/* ready.c - where a fiber goes that may run: into the queue of the worker that makes it so,
 * from outside into an inbox, or to whoever comes by.
 *
 * A fiber that others can see may have run to its end a moment later, and its runtime with
 * it: after the push only what outlives them is touched. */
#include "os/trace.h"
#include "sched/worker.h"

/* ---- into the queue ---- */

void cc__worker_wake_another(struct cc__worker *w)
{
	if (!cc__idle_hungry(w->idle)) {	/* else the push is likely left to a searcher */
		/* Relaxed, all: our own, and hints to the worker that is woken (search.c). */
		cc__store(&w->called_picks, cc__load(&w->picks, CC__RELAXED), CC__RELAXED);
		cc__store(&w->called_at, cc__now(), CC__RELAXED);
	}
	cc__idle_call(w->idle);
}

__attribute__((noinline)) void cc__worker_call_others(struct cc__worker *w, unsigned n)
{
	cc__count_by(&w->counters.calls, n);
	if (cc__idle_watched(w->idle, cc__runq_length(&w->queue)))
		return;
	cc__runq_open(&w->queue);
	cc__worker_wake_another(w);
}

/* So many have been put into w's queue, by w: workers that sleep may want to know. */
static inline void pushed(struct cc__worker *w, unsigned n)
{
	if (cc__idle_pushed(w->idle, w->nap, n))
		cc__worker_call_others(w, n);
}

static inline void enqueue(struct cc__worker *w, struct cc__fiber *f, enum cc__kind kind)
{
	if (__builtin_expect(!cc__runq_push(&w->queue, f, kind), 0))
		cc__global_push(&w->sched->global, f);
	pushed(w, 1);
}

void cc__worker_make_ready(struct cc__worker *w, struct cc__fiber *f, enum cc__kind kind)
{
	cc__word_enqueued(&f->parker, 1, w->id);
	enqueue(w, f, kind);
}

bool cc__worker_is_for_reserve(const struct cc__fiber *f)
{
	/* Relaxed, both: f is ours; a hint. */
	const struct cc__stack *s = cc__load(&f->stack, CC__RELAXED);
	const uint32_t stuck = cc__is_stack(s) ? cc__load(&s->own.stuck, CC__RELAXED) : 0;

	return cc__is_stack(s) &&
	       (stuck == 0 || (int32_t)(cc__coarse(cc__now()) - stuck) >=
	                          (int32_t)cc__coarse(CC__STUCK_FADES));
}

/* While somebody searches: whom w wakes may be had without a question (R4), if w does
 * not come to it first. */
static bool offer(struct cc__worker *w, struct cc__fiber *f)
{
	if (w->waking != CC__WAKING || w->only_woken || !cc__runq_offer(&w->queue, f))
		return false;
	w->fair_at = 0;		/* so the next pick looks there */
	pushed(w, 1);
	return true;
}

/* f, started and woken, may be next, before the queue looks ahead. */
static inline void send_for(const struct cc__worker *w, const struct cc__fiber *f)
{
	if (cc__lane_length(&w->queue.lane[CC__READY]) <= CC__AHEAD)
		cc__stack_ahead(f, CC__WAIT_LINES);
}

/* f has been woken by w. */
static inline void wake_here(struct cc__worker *w, struct cc__fiber *f)
{
	send_for(w, f);
	cc__word_enqueued(&f->parker, 1, w->id);
	if (cc__idle_hungry(w->idle) && offer(w, f))
		return;
	enqueue(w, f, w->waking == CC__WAKING_EXPIRED ? CC__URGENT : CC__READY);
}

static __attribute__((noinline)) void push_slowly(struct cc__worker *w, struct cc__fiber *f)
{
	cc__worker_make_ready(w, f, CC__FRESH);
}

void cc__worker_push(struct cc__worker *w, struct cc__fiber *f)
{
	if (__builtin_expect(!cc__watched() && cc__runq_append(&w->queue, f, CC__FRESH), 1))
		pushed(w, 1);
	else
		push_slowly(w, f);
}

void cc__sched_give(struct cc__sched *s, struct cc__fiber *f)
{
	struct cc__idle *idle = s->idle;

	if (cc__worker_is_for_reserve(f) && !cc__fiber_stays(f))
		cc__inbox_push(&s->woken, f);
	else
		cc__global_push(&s->global, f);
	/* f may have run to its end by now, and its runtime with it: only idle is
	 * left (I8). */
	cc__idle_pushed_outside(idle, CC__ANY);
}

void cc__worker_give_away(struct cc__worker *w, struct cc__fiber *f)
{
	cc__count(&w->moved);
	cc__sched_give(w->sched, f);
}

/* What is in w's queue now has its turn before anything is sent back (T3). */
static void note_turn(struct cc__worker *w)
{
	/* Relaxed: our own. */
	w->lesson.turned = cc__load(&w->queue.lane[CC__READY].tail, CC__RELAXED);
}

static void move_in_as(struct cc__worker *w, struct cc__fiber *f, enum cc__kind kind)
{
	if (w->only_woken && !cc__worker_is_for_reserve(f)) {
		cc__worker_give_away(w, f);
		return;
	}
	cc__count(&w->moved);
	enqueue(w, f, kind);
	if (kind == CC__URGENT)
		w->fair_at = 0;
	note_turn(w);
}

void cc__worker_move_in(struct cc__worker *w, struct cc__fiber *f)
{
	move_in_as(w, f, cc__fiber_started(f) ? CC__READY : CC__FRESH);
}

void cc__worker_move_in_many(struct cc__worker *w, struct cc__fiber **f, unsigned n, bool urgent)
{
	unsigned unstarted = 0;

	for (unsigned i = 0; i < n; i++)
		if (cc__fiber_started(f[i]))
			move_in_as(w, f[i], urgent ? CC__URGENT : CC__READY);
		else
			f[unstarted++] = f[i];
	while (unstarted > 0)
		cc__worker_move_in(w, f[--unstarted]);
}

void cc__worker_move_in_loot(struct cc__worker *w, struct cc__loot *loot)
{
	if (loot->kind != CC__FRESH || !cc__runq_push_stolen(&w->queue, loot)) {
		cc__worker_move_in_many(w, loot->fiber, loot->count, loot->kind == CC__URGENT);
		return;
	}
	cc__count_by(&w->moved, loot->count);
	pushed(w, loot->count);
	note_turn(w);
}

void cc__worker_move_in_inbox(struct cc__worker *w, struct cc__fiber *oldest)
{
	struct cc__fiber *f;

	while ((f = cc__chain_pop(&oldest)) != NULL) {
		CC__EVENT(CC__EV_TAKE, &f->parker, w->id, 0);
		cc__count(&w->counters.from_inboxes);
		cc__worker_move_in(w, f);
	}
}

/* ---- from outside ---- */

/* The worker that ran f last, if it is one of s that still takes; else NULL. */
static struct cc__worker *last_worker(const struct cc__sched *s, const struct cc__fiber *f)
{
	/* Relaxed: f is ours, QUEUED. */
	const unsigned owner = cc__word_owner(cc__load(&f->parker.word, CC__RELAXED));

	return owner != 0 ? s->worker[owner - 1] : NULL;
}

struct cc__worker *cc__worker_in_turn(struct cc__sched *s)
{
	/* Relaxed: spreads, nothing else. */
	return s->worker[cc__add(&s->next_worker, 1, CC__RELAXED) % s->config.workers];
}

/* Once, wherever it ends up: what was to be an inbox may be the global queue. */
static void came_from_outside(const struct cc__fiber *f, const struct cc__worker *to)
{
	cc__word_enqueued(&f->parker, 2, to != NULL ? to->id : 0);
}

static bool push_inbox(struct cc__idle *idle, struct cc__worker *to, struct cc__inbox *inbox,
                       struct cc__fiber *f)
{
	const int number = (int)to->id - 1;

	if (!cc__inbox_push(inbox, f))
		return false;
	/* As in cc__sched_give. */
	CC_POINT("inbox.before_poke", to);
	cc__idle_pushed_outside(idle, number);
	return true;
}

/* Unless it is stuck or too much waits there already. */
static bool push_to(struct cc__sched *s, struct cc__worker *to, struct cc__fiber *f)
{
	/* Relaxed: a hint. */
	return cc__load(&to->stuck, CC__RELAXED) == 0 &&
	       cc__inbox_length(&to->inbox) < s->config.inbox_max &&
	       push_inbox(s->idle, to, &to->inbox, f);
}

/* By a thread that is no worker of s: to the worker that ran f last and may have
 * it in its cache. */
static void push_from_outside(struct cc__sched *s, struct cc__fiber *f)
{
	struct cc__worker *to = last_worker(s, f);

	came_from_outside(f, to);
	if (to == NULL || !push_to(s, to, f))
		cc__sched_give(s, f);
}

void cc__worker_send(struct cc__worker *w, struct cc__worker *to, struct cc__fiber *f)
{
	if (cc__fiber_stays(f)) {
		cc__worker_move_in(w, f);
		return;
	}
	cc__count(&w->moved);
	if (!push_to(w->sched, to, f))
		cc__sched_give(w->sched, f);
}

/* f stays with a worker: to that one, or to one that it begins on. */
static void push_home(struct cc__worker *here, struct cc__sched *s, struct cc__fiber *f)
{
	struct cc__worker *to = last_worker(s, f);

	if (to == NULL)
		to = here != NULL && here->id <= s->config.workers ? here : cc__worker_in_turn(s);
	if (to == here) {
		cc__worker_make_ready(here, f, cc__fiber_started(f) ? CC__READY : CC__FRESH);
		return;
	}
	came_from_outside(f, to);
	if (!push_inbox(s->idle, to, &to->own, f))
		cc__sched_give(s, f);
}

/* Any f, by w or, NULL, by a thread that is no worker. */
static __attribute__((noinline)) void schedule_any(struct cc__worker *w, struct cc__fiber *f)
{
	struct cc__sched *s = cc__fiber_home(f);

	if (w != NULL && w->sched != s)
		w = NULL;
	if (cc__fiber_migration(f) == CC_MIGRATE_PINNED ||
	    (cc__fiber_stays(f) && cc__fiber_started(f)))
		push_home(w, s, f);
	else if (w == NULL)
		push_from_outside(s, f);
	else if (cc__fiber_started(f))
		wake_here(w, f);
	else if (w->only_woken)
		push_from_outside(s, f);
	else	/* its time has come, too */
		cc__worker_make_ready(w, f, w->waking == CC__WAKING_EXPIRED ? CC__URGENT : CC__FRESH);
}

/* Woken by one that it may run beside, in its own runtime, with nobody about who wants to
 * know or to run it: most are. */
static inline bool schedule_here(struct cc__worker *w, struct cc__fiber *f)
{
	/* Started, because it has waited; of w's scheduler, and free to run anywhere there. */
	if (w == NULL || (f->home & ~(uintptr_t)(CC__HOME_NAMED | CC__HOME_LARGE)) != (uintptr_t)w->sched ||
	    w->waking != CC__WAKING || cc__watched() || cc__idle_hungry(w->idle))
		return false;
	return cc__runq_append(&w->queue, f, CC__READY);
}

void cc__worker_schedule_new(struct cc__fiber *f)
{
	schedule_any(cc__worker_here(), f);
}

void cc__schedule(struct cc__parker *p)
{
	const struct cc__thread *t = cc__tls_get();
	struct cc__worker *w = t != NULL ? t->worker : NULL;

	/* Relaxed: the fiber is the caller's. */
	CC__ASSERT(cc__word_state(cc__load(&p->word, CC__RELAXED)) == CC__QUEUED,
	           "schedule: a fiber that is not runnable");
	if (__builtin_expect(schedule_here(w, cc__fiber_of(p)), 1))
		pushed(w, 1);
	else
		schedule_any(w, cc__fiber_of(p));
}
