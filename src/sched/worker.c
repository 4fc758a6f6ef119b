/* worker.c - what a worker does: take, run, switch, settle. */
#include "sched/worker.h"

#include "base/trace.h"
#include "os/fork.h"
#include "sched/later.h"
#include "sched/local.h"
#include "wait/thread.h"

/* How often a busy worker looks at descriptors. */
#define LOOK_EVERY (200 * CC_USEC)

/* ---- who calls ---- */

struct cc__worker *cc__worker_here(void)
{
	struct cc__thread *t = cc__tls_get();

	return t != NULL ? t->worker : NULL;
}

/* ---- into the queue ---- */

static __attribute__((noinline)) void call_others(struct cc__worker *w)
{
	cc__count(&w->counters.calls);
	cc__idle_call(w->idle, cc__runq_length(&w->queue));
}

static inline void pushed(struct cc__worker *w)
{
	if (cc__idle_pushed(w->idle, w->nap))
		call_others(w);
}

static inline void enqueue(struct cc__worker *w, struct cc__fiber *f, enum cc__kind kind)
{
	if (__builtin_expect(!cc__runq_push(&w->queue, f, kind), 0))
		cc__global_push(&w->sched->global, f);
	pushed(w);
}

/* While somebody searches: whom w wakes may be had without a question (R4), if w does
 * not come to it first. */
static bool offer(struct cc__worker *w, struct cc__fiber *f)
{
	if (w->wakes != CC__READY || w->only_woken || !cc__runq_offer(&w->queue, f))
		return false;
	w->fair_at = 0;		/* so the next pick looks there */
	pushed(w);
	return true;
}

/* f has just become QUEUED. */
static inline void make_ready(struct cc__worker *w, struct cc__fiber *f, enum cc__kind kind)
{
	CC__EVENT(CC__EV_ENQUEUE, &f->parker, 1 | CC__LOCK_DEPTH() << 8, w->id);
	enqueue(w, f, kind);
}

/* f, started and woken, may be next, before the queue looks ahead. */
static inline void send_for(const struct cc__worker *w, const struct cc__fiber *f)
{
	if (cc__ring_length(&w->queue.ring[CC__READY]) <= CC__AHEAD)
		cc__stack_ahead(f, CC__WAIT_LINES);
}

/* f has been woken by w. */
static inline void wake_here(struct cc__worker *w, struct cc__fiber *f)
{
	send_for(w, f);
	CC__EVENT(CC__EV_ENQUEUE, &f->parker, 1 | CC__LOCK_DEPTH() << 8, w->id);
	if (__builtin_expect(!cc__idle_hungry(w->idle), 1) || !offer(w, f))
		enqueue(w, f, w->wakes);
}

static __attribute__((noinline)) void push_slowly(struct cc__worker *w, struct cc__fiber *f)
{
	make_ready(w, f, CC__FRESH);
}

void cc__worker_push(struct cc__worker *w, struct cc__fiber *f)
{
	if (__builtin_expect(!cc__watched() && cc__runq_append(&w->queue, f, CC__FRESH), 1))
		pushed(w);
	else
		push_slowly(w, f);
}

/* Nothing that the reserve may not run (sysmon.h). */
static bool is_for_reserve(const struct cc__fiber *f)
{
	/* Relaxed, both: f is ours; a hint. */
	const struct cc__stack *s = cc__load(&f->stack, CC__RELAXED);
	const cc_time stuck = s != NULL ? cc__load(&s->stuck, CC__RELAXED) : 0;

	return s != NULL && (stuck == 0 || cc__now() - stuck >= CC__STUCK_FADES);
}

void cc__sched_give(struct cc__sched *s, struct cc__fiber *f)
{
	struct cc__idle *idle = s->idle;

	if (is_for_reserve(f) && !cc__fiber_stays(f))
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

static void move_in_as(struct cc__worker *w, struct cc__fiber *f, enum cc__kind kind)
{
	if (w->only_woken && !is_for_reserve(f)) {
		cc__worker_give_away(w, f);
		return;
	}
	cc__count(&w->moved);
	enqueue(w, f, kind);
	if (kind == CC__URGENT)
		w->fair_at = 0;
	/* Relaxed: our own. */
	w->lesson.turned = cc__load(&w->queue.ring[CC__READY].tail, CC__RELAXED);
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

void cc__worker_move_in_inbox(struct cc__worker *w, struct cc__fiber *oldest)
{
	struct cc__fiber *f;

	while ((f = cc__chain_pop(&oldest)) != NULL) {
		CC__EVENT(CC__EV_TAKE, &f->parker, w->id, 0);
		cc__count(&w->counters.from_inboxes);
		cc__worker_move_in(w, f);
	}
}

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

/* ---- from outside ---- */

/* The worker that ran f last, if it is one of s that still takes; else NULL. */
static struct cc__worker *last_worker(const struct cc__sched *s, const struct cc__fiber *f)
{
	/* Relaxed: f is ours, QUEUED. */
	const unsigned owner = cc__word_owner(cc__load(&f->parker.word, CC__RELAXED));

	return owner != 0 ? s->worker[owner - 1] : NULL;
}

struct cc__worker *cc__worker_next(struct cc__sched *s)
{
	/* Relaxed: spreads, nothing else. */
	return s->worker[cc__add(&s->next_worker, 1, CC__RELAXED) % s->config.workers];
}

/* Once, wherever it ends up: what was to be an inbox may be the global queue. */
static void came_from_outside(const struct cc__fiber *f, const struct cc__worker *to)
{
	CC__EVENT(CC__EV_ENQUEUE, &f->parker, 2 | CC__LOCK_DEPTH() << 8, to != NULL ? to->id : 0);
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
		to = here != NULL && here->id <= s->config.workers ? here : cc__worker_next(s);
	if (to == here) {
		make_ready(here, f, cc__fiber_started(f) ? CC__READY : CC__FRESH);
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
		make_ready(w, f, w->wakes == CC__URGENT ? CC__URGENT : CC__FRESH);
}

/* Woken by one that it may run beside, in its own runtime, with nobody about who wants to
 * know or to run it: most are. */
static inline bool schedule_here(struct cc__worker *w, struct cc__fiber *f)
{
	if (w == NULL || cc__fiber_home(f) != w->sched || cc__fiber_stays(f) ||
	    !cc__fiber_started(f) || w->wakes != CC__READY || cc__watched() ||
	    cc__idle_hungry(w->idle))
		return false;
	return cc__runq_append(&w->queue, f, CC__READY);
}

void cc__schedule(struct cc__parker *p)
{
	struct cc__worker *w = cc__worker_here();

	/* Relaxed: the fiber is the caller's. */
	CC__ASSERT(cc__word_state(cc__load(&p->word, CC__RELAXED)) == CC__QUEUED,
	           "schedule: a fiber that is not runnable");
	if (__builtin_expect(schedule_here(w, cc__fiber_of(p)), 1))
		pushed(w);
	else
		schedule_any(w, cc__fiber_of(p));
}

/* ---- timers ---- */

bool cc__worker_run_timers(struct cc__worker *w, struct cc__timers *h, cc_time now)
{
	unsigned fired;

	w->clock = now;
	w->wakes = CC__URGENT;
	fired = cc__timers_run(h, now, CC__FAIR_RUN, cc__worker_fire);
	w->wakes = CC__READY;
	w->fair_at = fired > 0 ? 0 : w->fair_at;
	return fired > 0;
}

void cc__worker_fire(void *object, uint64_t value)
{
	if (cc__later_is(object))
		cc__later_fire(object, value);
	else
		cc__fiber_wake(object, value);
}

/* ---- stacks ---- */

static struct cc__stack *stack_take(struct cc__worker *w)
{
	struct cc__stack *s = cc__stack_pop(&w->stacks);

	if (s == NULL && (s = cc__stack_get(&w->sched->stacks)) == NULL) {
		s = w->reserve;
		w->reserve = NULL;
	}
	return s;
}

static void try_again(struct cc__worker *w, struct cc__fiber *starved)
{
	if (starved != NULL)
		cc__worker_move_in(w, starved);
}

static void keep_stacks(struct cc__worker *w, unsigned most)
{
	if (w->stacks.count <= most)
		return;
	cc__stack_put_list(&w->sched->stacks, &w->stacks);
	/* Warm ones that are no longer here. */
	if (w->age_at == CC_FOREVER && w->sched->config.stack_idle != CC_FOREVER)
		w->age_at = 0;
}

static __attribute__((noinline)) void stack_give(struct cc__worker *w, struct cc__stack *s)
{
	s->waiter.who = NULL;
	cc__count(&w->counters.stacks_given);
	if (w->reserve == NULL)
		w->reserve = s;
	else
		cc__stack_push(&w->stacks, s);
	/* What we have too many of, others may starve for. */
	keep_stacks(w, cc__starved_any(&w->sched->starved) ? 0 : w->sched->config.stack_cache);
	try_again(w, cc__starved_pop(&w->sched->starved));
}

/* Kept out of line, as all that is rare: its buffer would widen the frame of
 * every yield by four cache lines. */
static __attribute__((noinline, cold)) void starve(struct cc__worker *w, struct cc__fiber *f)
{
	struct cc__starved *starved = &w->sched->starved;
	char why[256];
	bool tell;

	CC__EVENT(CC__EV_ENQUEUE, &f->parker, 3 | CC__LOCK_DEPTH() << 8, w->id);
	tell = cc__starved_push(starved, f);
	/* Somebody has to come back to it, and we may sleep without a deadline. */
	cc__idle_timer(w->idle, cc__starved_deadline(starved));
	if (!tell)
		return;
	cc__stack_pool_explain(&w->sched->stacks, why, sizeof why);
	cc__sched_log(w->sched, why);
	/* Stacks that sleeping workers keep. */
	cc__idle_wake_all(w->sched->idle);
}

static void fiber_main(void *worker, uintptr_t after);

static void bind(struct cc__fiber *f, struct cc__stack *s)
{
	CC__EVENT(CC__EV_STACK, &f->parker, (uintptr_t)s, 0);
	s->waiter.who = &f->parker;
	s->main = f->run.main;
	s->member = NULL;
	cc__store(&s->stuck, 0, CC__RELAXED);	/* Relaxed: a hint; not f's yet */
	/* Release: the descriptor, to the acquire in cc__sched_stack_of. */
	cc__store(&f->stack, s, CC__RELEASE);
}

static void unbind(struct cc__fiber *f)
{
	CC__EVENT(CC__EV_STACK, &f->parker, 0, 0);
	/* Relaxed: who looks has made the handle WAITED, and the end waits for it. */
	cc__store(&f->stack, NULL, CC__RELAXED);
}

void cc__sched_stack_of(struct cc__fiber *f, const void **bottom, size_t *size)
{
	/* Acquire: pairs with the release in bind; its memory is constant. */
	const struct cc__stack *s = cc__load(&f->stack, CC__ACQUIRE);
	const struct cc__stack_pool *p = &cc__fiber_home(f)->stacks;

	if (s == NULL)
		return;
	*bottom = cc__stack_bottom(p, s);
	*size = p->size - p->guard_size;
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

/* ---- what others have for it ---- */

/* Stacks for those who starve, and one of them who tries, now and then. */
static __attribute__((noinline, cold)) void help_starved(struct cc__worker *w)
{
	keep_stacks(w, 0);
	if (cc__starved_due(&w->sched->starved))
		try_again(w, cc__starved_pop(&w->sched->starved));
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

/* Descriptors are waited for: a look now and then, and somebody idle who looks after
 * them while there is something to run here. */
static __attribute__((noinline)) void serve_descriptors(struct cc__worker *w)
{
	struct cc__poll *p = &w->sched->poll;
	const cc_time now = cc__now();

	if (now >= w->look_at) {
		w->look_at = now + LOOK_EVERY;
		cc__poll_run(p, CC_NOW);
	}
	if (cc__runq_length(&w->queue) > 0 && cc__poll_unattended(p))
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
	if (cc__poll_waiting(&w->sched->poll) != 0)
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

	if (cc__ring_length(&w->queue.ring[CC__URGENT]) == 0) {
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
		if (is_for_reserve(f))
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

static __attribute__((noinline)) struct cc__fiber *pick_slowly(struct cc__worker *w)
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

/* The next fiber at hand, claimed; NULL: none (D3). */
static inline struct cc__fiber *next_at_hand(struct cc__worker *w)
{
	struct cc__fiber *f = NULL;

	/* Relaxed: our own. */
	if (cc__load(&w->picks, CC__RELAXED) < w->fair_at)
		f = cc__runq_pop(&w->queue);
	if (f == NULL && (f = pick_slowly(w)) == NULL)
		return NULL;
	cc__count(&w->picks);
	cc__word_claim(&f->parker, w->id);
	return f;
}

/* ---- the switch ---- */

/* What the side that arrives has to do for the one that left: a pointer with
 * the kind in its low bits. */
enum after {
	AFTER_NOTHING,
	AFTER_PARK,	/* a fiber */
	AFTER_END,	/* its stack */
	AFTER_YIELD,	/* a fiber */
	AFTER_TURN,	/* of the run queue; the fiber is in it */
	AFTER_MASK = 7,
};

static uintptr_t after(enum after kind, void *object)
{
	return (uintptr_t)object | (uintptr_t)kind;
}

static __attribute__((noinline)) void requeue(struct cc__worker *w, struct cc__fiber *f)
{
	cc__word_requeue(&f->parker);
	make_ready(w, f, CC__READY);
}

static __attribute__((noinline)) void settle_park_watched(struct cc__worker *w, struct cc__fiber *f)
{
	if (!cc__word_commit_watched(&f->parker))
		requeue(w, f);
}

static inline void settle_park(struct cc__worker *w, struct cc__fiber *f)
{
	if (cc__watched())
		settle_park_watched(w, f);
	else if (__builtin_expect(!cc__word_committed(&f->parker, false), 0))
		requeue(w, f);
}

static __attribute__((noinline)) void settle_yield(struct cc__worker *w, struct cc__fiber *f)
{
	cc__word_yield(&f->parker);
	make_ready(w, f, CC__READY);
}

/* The one that left is in the queue already, and nobody has seen it there: its
 * worker is still inside (cc__runq_turn). */
static inline void settle_turn(struct cc__worker *w)
{
	cc__runq_leave(&w->queue);
	pushed(w);
}

/* On the stack that a switch arrived on (D2). */
static inline void settle(struct cc__worker *w, uintptr_t left)
{
	void *object = (void *)(left & ~(uintptr_t)AFTER_MASK);

	if (__builtin_expect(left == AFTER_TURN, 1)) {
		settle_turn(w);
		return;
	}
	if (__builtin_expect((left & AFTER_MASK) == AFTER_PARK, 1)) {
		settle_park(w, object);
		return;
	}
	switch ((enum after)(left & AFTER_MASK)) {
	case AFTER_YIELD:
		settle_yield(w, object);
		break;
	case AFTER_END:
		stack_give(w, object);
		break;
	default:
		break;
	}
}

/* The one way from stack to stack.  `next` is claimed; NULL: the worker's own
 * stack.  Returns when the caller's context is resumed, on whatever worker. */
static __attribute__((noinline)) void leave(struct cc__worker *w, struct cc__context *from,
                                            struct cc__fiber *next, uintptr_t left, bool last)
{
	struct cc__arrival a;
	struct cc__context *to = next != NULL ? &next->run.context : &w->context;

	cc__set_running(w->thread, next != NULL ? &next->parker : &w->thread->parker);
	a = cc__context_switch(from, to, w, left, last);
	settle(a.worker, a.after);
}

/* A stack under an unstarted task.  False: there is none, and it starves. */
static __attribute__((noinline)) bool prepare(struct cc__worker *w, struct cc__fiber *f)
{
	struct cc__sched *sched = w->sched;
	/* Behind those who starve already, until there is news. */
	const bool wait = cc__starved_any(&sched->starved) && w->stacks.first == NULL &&
	                  w->reserve == NULL && !cc__starved_due(&sched->starved);
	struct cc__stack *s = wait ? NULL : stack_take(w);

	if (s == NULL) {
		cc__count(&w->counters.starved);
		cc__word_yield(&f->parker);
		starve(w, f);
		return false;
	}
	try_again(w, cc__starved_fed(&sched->starved));
	cc__count(&w->counters.stacks_taken);
	bind(f, s);
	cc__context_make(&f->run.context, &s->tools, cc__stack_bottom(&sched->stacks, s),
	                 cc__stack_top(&sched->stacks, s), fiber_main);
	return true;
}

/* The next fiber at hand that has a stack to run on; NULL: none. */
static struct cc__fiber *next_ready(struct cc__worker *w)
{
	struct cc__fiber *f;

	while ((f = next_at_hand(w)) != NULL && !cc__fiber_started(f) && !prepare(w, f))
		continue;
	return f;
}

/* The same in the usual case: a started fiber whose turn it is, had without a call.
 * NULL: it is not that simple. */
static inline struct cc__fiber *next_started(struct cc__worker *w)
{
	struct cc__fiber *f;

	/* Relaxed: our own. */
	if (cc__load(&w->picks, CC__RELAXED) >= w->fair_at || cc__watched() ||
	    (f = cc__runq_oldest(&w->queue)) == NULL)
		return NULL;
	cc__count(&w->picks);
	cc__word_claim_unwatched(&f->parker, w->id);
	return f;
}

/* The task on s has returned, and has left something behind. */
static __attribute__((noinline)) void tidy(struct cc__stack *s)
{
	cc__locals_end(&s->member);
	CC__CHECK(s->member == NULL, "task: ended with a nursery open");
}

/* Tasks one after another on one stack, without a switch between them, until
 * a started fiber is next or nothing is at hand. */
static void fiber_main(void *worker, uintptr_t left)
{
	struct cc__worker *w = worker;
	struct cc__fiber *f = cc__fiber_of(cc__running(w->thread));
	/* Relaxed: our own. */
	struct cc__stack *s = cc__load(&f->stack, CC__RELAXED);
	struct cc__context ended;

	cc__context_entered();
	settle(w, left);
	do {
		int result = s->main(f->payload.arg);

		if (cc__forked())
			cc__fork_exit(result);	/* whatever is next here is the parent's */
		CC_POINT("task.ended", &f->parker);
		if (__builtin_expect(s->member != NULL, 0))
			tidy(s);
		w = cc__worker_here();	/* the task may have moved us */
		cc__set_running(w->thread, &w->thread->parker);
		unbind(f);
		if (cc__frame_end(f, result, false))
			cc__frame_put(&w->frames, f);
		cc__count(&w->finished);
		f = next_at_hand(w);
		if (f == NULL || cc__fiber_started(f))
			break;
		try_again(w, cc__starved_fed(&w->sched->starved));
		bind(f, s);
		cc__context_on(&f->run.context, &s->tools, cc__stack_bottom(&w->sched->stacks, s),
		               cc__stack_top(&w->sched->stacks, s));
		cc__set_running(w->thread, &f->parker);
		cc__control_reset();	/* the task before may round its own way */
	} while (true);
	leave(w, &ended, f, after(AFTER_END, s), true);
	CC__UNREACHABLE("a task that has ended runs on");
}

/* ---- yield and park ---- */

static struct cc__fiber *fiber_on(const struct cc__worker *w)
{
	return w == NULL || cc__running(w->thread) == &w->thread->parker
	           ? NULL
	           : cc__fiber_of(cc__running(w->thread));
}

static __attribute__((noinline)) void yield_slowly(void)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__fiber *f = fiber_on(w), *next;

	if (f == NULL || cc__forked())
		cc__thread_yield();
	else if ((next = next_ready(w)) != NULL || (w->only_woken && !is_for_reserve(f)))
		leave(w, &f->run.context, next, after(AFTER_YIELD, f), false);
}

/* If the next at hand is a started fiber, it runs, and the caller is behind all others
 * in one visit to the queue.  What is not that simple goes the way of all fibers.
 * Nothing here needs a register that a call preserves, so nothing is saved twice. */
static inline __attribute__((always_inline)) void yield(struct cc__thread *t, bool watched)
{
	struct cc__worker *w = t != NULL ? t->worker : NULL;
	struct cc__fiber *f, *next;

	/* Relaxed: our own. */
	if (w == NULL || cc__running(t) == &t->parker || cc__fork_wiped() ||
	    cc__load(&w->picks, CC__RELAXED) >= w->fair_at ||
	    (next = cc__runq_turn(&w->queue, f = cc__fiber_of(cc__running(t)))) == NULL) {
		yield_slowly();
		return;
	}
	if (watched) {
		cc__word_yield(&f->parker);
		cc__word_claim(&next->parker, w->id);
		CC__EVENT(CC__EV_ENQUEUE, &f->parker, 1 | CC__LOCK_DEPTH() << 8, w->id);
	} else {
		cc__word_turn(&f->parker, &next->parker, w->id);
	}
	cc__count(&w->picks);
	leave(w, &f->run.context, next, AFTER_TURN, false);
}

static __attribute__((noinline)) void yield_watched(struct cc__thread *t)
{
	yield(t, true);
}

void cc_yield(void)
{
	struct cc__thread *t = cc__tls_get();

	if (cc__watched())
		yield_watched(t);
	else
		yield(t, false);
}

/* ---- should it? ---- */

static bool is_cancelled(struct cc__parker *self, const struct cc__worker *w)
{
	struct cc__member *m = *cc__member_slot(self);

	if (m != NULL)
		return cc__scope_cancelled(m->scope);
	/* Relaxed: a hint. */
	return fiber_on(w) != NULL && cc__load(&w->sched->cancel, CC__RELAXED) != 0;
}

/* The fiber has asked before, and for so long nobody else has run here. */
static bool slice_is_over(struct cc__worker *w)
{
	const struct cc__sched *s = w->sched;
	const bool ticks = s->sysmon.there;
	/* Relaxed, both: our own; a clock. */
	const uint64_t picks = cc__load(&w->picks, CC__RELAXED);
	const cc_time now = ticks ? (cc_time)cc__load(&s->sysmon.ticks, CC__RELAXED) : cc__now();

	if (picks != w->slice_picks) {
		w->slice_picks = picks;
		w->slice_from = now;
	}
	return now - w->slice_from >= (ticks ? 2 : s->config.scale_interval);
}

static bool others_wait(struct cc__worker *w)
{
	return cc__runq_length(&w->queue) > 0 || cc__inbox_any(&w->own) ||
	       cc__inbox_any(&w->inbox) || cc__inbox_any(&w->sched->woken) ||
	       cc__global_length(&w->sched->global) > 0;
}

int cc_should_yield(void)
{
	struct cc__parker *self = cc__forked() ? NULL : cc__self();
	struct cc__worker *w = self != NULL ? cc__worker_here() : NULL;

	if (self == NULL)
		return 0;
	if (is_cancelled(self, w))
		return 1;
	return fiber_on(w) != NULL && slice_is_over(w) && others_wait(w);
}

struct cc__waiter *cc__fiber_waiter(struct cc__parker *p)
{
	/* Relaxed: our own. */
	return &cc__load(&cc__fiber_of(p)->stack, CC__RELAXED)->waiter;
}

/* With its stack's descriptor, not on the stack: whoever runs the timers reads it. */
static struct cc__timer *set_alarm(struct cc__worker *w, struct cc__fiber *f, uint64_t ticket,
                                   cc_time deadline)
{
	/* Relaxed: our own. */
	struct cc__timer *t = cc__stack_alarm(cc__load(&f->stack, CC__RELAXED));

	t->deadline = deadline;
	t->object = &f->parker;
	t->value = ticket;
	if (cc__timers_add(&w->timers, t, w->clock))
		cc__idle_timer(w->idle, deadline);
	return t;
}

static __attribute__((noinline)) void park_slowly(struct cc__worker *w, struct cc__fiber *f)
{
	leave(w, &f->run.context, next_ready(w), after(AFTER_PARK, f), false);
}

static inline void park(struct cc__worker *w, struct cc__fiber *f)
{
	struct cc__fiber *next = next_started(w);

	if (__builtin_expect(next != NULL, 1))
		leave(w, &f->run.context, next, after(AFTER_PARK, f), false);
	else
		park_slowly(w, f);
}

static __attribute__((noinline)) void park_until(struct cc__worker *w, struct cc__fiber *f,
                                                 uint64_t ticket, cc_time deadline)
{
	struct cc__timers *timers = &w->timers;
	struct cc__timer *alarm = set_alarm(w, f, ticket, deadline);

	park(w, f);
	cc__timers_remove(timers, alarm);
}

void cc__switch_away(struct cc__parker *p, uint64_t ticket, cc_time deadline)
{
	const struct cc__thread *t = cc__tls_get();	/* a worker's: p runs on it */

	if (deadline == CC_FOREVER)
		park(t->worker, cc__fiber_of(p));
	else
		park_until(t->worker, cc__fiber_of(p), ticket, deadline);
}

/* ---- a child in place of its joiner ---- */

/* Half of the stack is left for whoever is called from here. */
static bool room_on(const struct cc__stack_pool *p, const struct cc__stack *s)
{
	const char *bottom = cc__stack_bottom(p, s);

	return (const char *)__builtin_frame_address(0) - bottom > (ptrdiff_t)(p->size / 2);
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
	bind(f, s);
	cc__context_on(&f->run.context, &s->tools, cc__stack_bottom(&w->sched->stacks, s),
	               cc__stack_top(&w->sched->stacks, s));
	cc__set_running(w->thread, &f->parker);
	result = main(f->payload.arg);
	if (cc__forked())
		cc__fork_exit(result);	/* as in fiber_main */
	CC_POINT("task.ended", &f->parker);
	if (__builtin_expect(s->member != NULL, 0))
		tidy(s);
	w = cc__worker_here();	/* the task may have moved us */
	s->waiter.who = &self->parker;
	s->member = member;
	cc__set_running(w->thread, &self->parker);
	unbind(f);
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
	struct cc__fiber *self = fiber_on(w), *f = task.frame;

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
	struct cc__fiber *self = fiber_on(w), *f = NULL;

	if (self != NULL && gives_place(w, self))
		f = cc__runq_take_child(&w->queue, nursery);
	return f != NULL ? &f->payload.child.what : NULL;
}

void cc__sched_run_taken(struct cc__child *child)
{
	struct cc__worker *w = cc__worker_here();

	run_here(w, fiber_on(w), cc__fiber_of_child(child));
}

void cc__worker_run(struct cc__worker *w)
{
	struct cc__fiber *f;

	while ((f = next_ready(w)) != NULL)
		leave(w, &w->context, f, AFTER_NOTHING, false);
}
