/* worker.c - what a worker does: take, run, switch, settle, sleep. */
#include "sched/worker.h"

#include <errno.h>

#include "base/trace.h"
#include "wait/slab.h"
#include "wait/thread.h"

/* ---- who calls ---- */

struct cc__worker *cc__worker_here(void)
{
	struct cc__thread *t = cc__tls_get();

	return t != NULL ? t->worker : NULL;
}

/* ---- queues ---- */

static void push(struct cc__queue *q, struct cc__fiber *f)
{
	f->next = NULL;
	if (q->head == NULL)
		q->head = f;
	else
		q->tail->next = f;
	q->tail = f;
}

/* f has just become QUEUED. */
static void make_ready(struct cc__worker *w, struct cc__fiber *f)
{
	CC__EVENT(CC__EV_ENQUEUE, &f->parker, 1 | CC__LOCK_DEPTH() << 8, w->id);
	push(&w->ready, f);
}

static struct cc__fiber *pop(struct cc__queue *q)
{
	struct cc__fiber *f = q->head;

	if (f != NULL)
		q->head = f->next;
	return f;
}

/* The number under which the runtime was asked to stop (enum cc__stopping), if
 * every task has ended; else 0. */
static uint32_t over(const struct cc__sched *s)
{
	const struct cc__worker *w = s->worker;
	/* Seq_cst: pairs with the store in cc__sched_stop, which then pokes. */
	const uint32_t asked = cc__load(&s->stopping, CC__SEQ_CST);
	uint64_t spawned;

	if (asked == CC__RUNNING)
		return 0;
	/* Seq_cst: after `stopping`; a spawn counts before it pushes. */
	spawned = cc__load(&s->spawned_outside, CC__SEQ_CST);
	spawned += cc__load(&w->spawned, CC__RELAXED);	/* Relaxed, both: our own */
	return spawned == cc__load(&w->finished, CC__RELAXED) ? asked : 0;
}

/* The handshake between whoever has something for the worker and the worker
 * that goes to sleep; both halves stand here.
 *
 *      pusher                        worker
 *      inbox = f      (1)            asleep = 1     (3)
 *      read asleep    (2)            read inbox     (4)
 *
 * All four are seq_cst: at least one side sees the other.  The flag `stopping`
 * takes the place of the inbox when cc__sched_stop pokes. */
void cc__nap_poke(struct cc__nap *n)
{
	/* Seq_cst (2).  The exchange lets one of several pushers do the wake. */
	if (cc__load(&n->asleep, CC__SEQ_CST) != 0 && cc__xchg(&n->asleep, 0, CC__SEQ_CST) != 0)
		cc__futex_wake(&n->asleep, 1);
}

static struct cc__slab naps = CC__SLAB_INIT(struct cc__nap, next);

struct cc__nap *cc__nap_new(void)
{
	return cc__slab_get(&naps);
}

void cc__nap_free(struct cc__nap *n)
{
	cc__slab_put(&naps, n);
}

static void inbox_push(struct cc__worker *w, struct cc__fiber *f)
{
	/* Relaxed: the exchange decides. */
	struct cc__fiber *head = cc__load(&w->inbox, CC__RELAXED);
	struct cc__nap *nap = w->nap;

	CC__EVENT(CC__EV_ENQUEUE, &f->parker, 2 | CC__LOCK_DEPTH() << 8, w->id);
	do
		f->next = head;
	/* Seq_cst (1); as a release it hands f over to inbox_take. */
	while (!cc__cas_weak(&w->inbox, &head, f, CC__SEQ_CST, CC__RELAXED));
	/* f may have run to its end by now, and w with it: only nap is left. */
	CC_POINT("inbox.before_poke", w);
	cc__nap_poke(nap);
}

/* True: nobody has anything for us, and whoever gets something will poke. */
static bool announce_sleep(struct cc__worker *w)
{
	cc__store(&w->nap->asleep, 1, CC__SEQ_CST);			/* Seq_cst (3) */
	return cc__load(&w->inbox, CC__SEQ_CST) == NULL &&	/* Seq_cst (4) */
	       over(w->sched) == 0;
}

/* Everything in the inbox to the end of the ready queue, oldest first. */
static void inbox_take(struct cc__worker *w)
{
	struct cc__fiber *newest, *oldest = NULL;

	/* Relaxed: a look; an entry that is missed is found next time, and before
	 * any sleep by announce_sleep. */
	if (cc__load(&w->inbox, CC__RELAXED) == NULL)
		return;
	/* Acquire: pairs with the release in inbox_push (1). */
	newest = cc__xchg(&w->inbox, NULL, CC__ACQUIRE);
	while (newest != NULL) {
		struct cc__fiber *f = newest;

		newest = f->next;
		f->next = oldest;
		oldest = f;
	}
	while (oldest != NULL) {
		struct cc__fiber *f = oldest;

		oldest = f->next;
		push(&w->ready, f);
	}
}

void cc__schedule(struct cc__parker *p)
{
	struct cc__fiber *f = cc__fiber_of(p);
	struct cc__worker *w = cc__worker_here();

	if (w != NULL && w->sched == f->home)
		make_ready(w, f);
	else
		inbox_push(f->home->worker, f);
}

/* ---- timers ---- */

struct wake_at {
	struct cc__timer timer;		/* first */
	struct cc__parker *who;
	uint64_t ticket;
};

static void fire_timers(struct cc__worker *w)
{
	const cc_time now = w->timers.first != NULL ? cc__now() : 0;

	while (w->timers.first != NULL && w->timers.first->deadline <= now) {
		struct wake_at *a = (struct wake_at *)(void *)w->timers.first;
		struct cc__parker *who = a->who;
		uint64_t ticket = a->ticket;

		cc__timers_remove(&w->timers, &a->timer);
		cc__fiber_wake(who, ticket);	/* `a` may be gone from here on */
	}
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

/* There may be a stack: one task that found none gets its turn again. */
static void feed_one(struct cc__worker *w)
{
	struct cc__fiber *f = pop(&w->starved);

	if (f != NULL)
		push(&w->ready, f);
}

/* A task has got a stack.  If others starve, the next one tries. */
static void fed(struct cc__worker *w)
{
	/* Relaxed: a hint to spawners. */
	if (cc__load(&w->is_starved, CC__RELAXED) == 0)
		return;
	if (w->starved.head == NULL)
		cc__store(&w->is_starved, 0, CC__RELAXED);	/* Relaxed: the same hint */
	else
		feed_one(w);
}

static __attribute__((noinline)) void stack_give(struct cc__worker *w, struct cc__stack *s)
{
	s->fiber = NULL;
	if (w->reserve == NULL)
		w->reserve = s;
	else
		cc__stack_push(&w->stacks, s);
	if (w->stacks.count > w->sched->config.stack_cache) {
		cc__stack_put_list(&w->sched->stacks, &w->stacks);
		/* Warm ones that are no longer here. */
		if (w->age_at == CC_FOREVER && w->sched->config.stack_idle != CC_FOREVER)
			w->age_at = 0;
	}
	feed_one(w);
}

/* How long tasks wait that found no stack before the system is asked again. */
#define STARVED_RETRY (10 * CC_MSEC)

/* Kept out of line, as all that is rare: its buffer would widen the frame of
 * every yield by four cache lines. */
static __attribute__((noinline, cold)) void starve(struct cc__worker *w, struct cc__fiber *f)
{
	char why[256];

	if (!w->told_starved) {
		w->told_starved = true;
		cc__stack_pool_explain(&w->sched->stacks, why, sizeof why);
		cc__sched_log(w->sched, why);
	}
	cc__store(&w->is_starved, 1, CC__RELAXED);	/* Relaxed: a hint to spawners */
	if (w->starved.head == NULL || cc__now() >= w->retry_at)
		w->retry_at = cc__from_now(STARVED_RETRY);
	push(&w->starved, f);
}

static void fiber_main(void *worker, uintptr_t after);

static void bind(struct cc__fiber *f, struct cc__stack *s)
{
	CC__EVENT(CC__EV_STACK, &f->parker, (uintptr_t)s, 0);
	s->fiber = f;
	s->main = f->run.main;
	/* Release: the descriptor, to the acquire in cc__sched_stack_of. */
	cc__store(&f->stack, s, CC__RELEASE);
}

static bool started(const struct cc__fiber *f)
{
	return cc__load(&f->stack, CC__RELAXED) != NULL;	/* Relaxed: f is ours */
}

void cc__sched_stack_of(struct cc__fiber *f, const void **bottom, size_t *size)
{
	/* Acquire: pairs with the release in bind; its memory is constant. */
	const struct cc__stack *s = cc__load(&f->stack, CC__ACQUIRE);
	const struct cc__stack_pool *p = &f->home->stacks;

	if (s == NULL)
		return;
	*bottom = cc__stack_bottom(p, s);
	*size = p->size - p->guard_size;
}

/* ---- what runs next ---- */

static __attribute__((noinline)) void take_fair(struct cc__worker *w)
{
	w->until_fair = CC__FAIR_RUN;
	fire_timers(w);
	inbox_take(w);
	if (w->starved.head != NULL && cc__now() >= w->retry_at)
		feed_one(w);	/* also when there is no time to sleep */
}

/* The registers of the one after the next are on their way when its turn comes,
 * and the frame of the one after that: with many fibers neither is in the cache,
 * nor is the page of the stack in the TLB. */
static inline void look_ahead(const struct cc__fiber *next)
{
	const char *sp;

	if (next == NULL || (next = next->next) == NULL)
		return;
	sp = next->run.context.sp;
	__builtin_prefetch(sp);
	__builtin_prefetch(sp + 64);
	__builtin_prefetch(next->next);
}

/* The next fiber at hand, claimed; NULL: none (D3). */
static inline struct cc__fiber *next_at_hand(struct cc__worker *w)
{
	struct cc__fiber *f;

	if (w->until_fair-- == 0 || w->ready.head == NULL)
		take_fair(w);
	if ((f = pop(&w->ready)) == NULL)
		return NULL;
	cc__word_claim(&f->parker, w->id);
	look_ahead(w->ready.head);
	return f;
}

/* ---- the switch ---- */

/* What the side that arrives has to do for the one that left: a pointer with
 * the kind in its low bits. */
enum after { AFTER_NOTHING, AFTER_YIELD, AFTER_PARK, AFTER_END, AFTER_MASK = 3 };

static uintptr_t after(enum after kind, void *object)
{
	return (uintptr_t)object | (uintptr_t)kind;
}

static __attribute__((noinline)) void settle_park(struct cc__worker *w, struct cc__fiber *f)
{
	if (cc__word_commit(&f->parker))
		return;
	cc__word_requeue(&f->parker);
	make_ready(w, f);
}

static inline void settle_yield(struct cc__worker *w, struct cc__fiber *f)
{
	cc__word_yield(&f->parker);
	make_ready(w, f);
}

/* On the stack that a switch arrived on (D2). */
static inline void settle(struct cc__worker *w, uintptr_t left)
{
	void *object = (void *)(left & ~(uintptr_t)AFTER_MASK);

	switch ((enum after)(left & AFTER_MASK)) {
	case AFTER_YIELD:
		settle_yield(w, object);
		break;
	case AFTER_PARK:
		settle_park(w, object);
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
	struct cc__context *to = &w->context;

	w->thread->running = &w->thread->parker;
	if (next != NULL) {
		w->thread->running = &next->parker;
		to = &next->run.context;
	}
	a = cc__context_switch(from, to, w, left, last);
	settle(a.worker, a.after);
}

/* A stack under an unstarted task.  False: there is none, and it starves. */
static __attribute__((noinline)) bool prepare(struct cc__worker *w, struct cc__fiber *f)
{
	/* Behind those who starve already, until there is news. */
	struct cc__stack *s =
	    w->starved.head != NULL && w->stacks.first == NULL && w->reserve == NULL &&
	            cc__now() < w->retry_at
	        ? NULL
	        : stack_take(w);

	if (s == NULL) {
		cc__word_yield(&f->parker);
		CC__EVENT(CC__EV_ENQUEUE, &f->parker, 3 | CC__LOCK_DEPTH() << 8, w->id);
		starve(w, f);
		return false;
	}
	fed(w);
	bind(f, s);
	cc__context_make(&f->run.context, &s->tools, cc__stack_bottom(&w->sched->stacks, s),
	                 cc__stack_top(&w->sched->stacks, s), fiber_main);
	return true;
}

/* The next fiber at hand that has a stack to run on; NULL: none. */
static struct cc__fiber *next_ready(struct cc__worker *w)
{
	struct cc__fiber *f;

	while ((f = next_at_hand(w)) != NULL && !started(f) && !prepare(w, f))
		continue;
	return f;
}

/* Tasks one after another on one stack, without a switch between them, until
 * a started fiber is next or nothing is at hand. */
static void fiber_main(void *worker, uintptr_t left)
{
	struct cc__worker *w = worker;
	struct cc__fiber *f = cc__fiber_of(w->thread->running);
	/* Relaxed: our own. */
	struct cc__stack *s = cc__load(&f->stack, CC__RELAXED);
	struct cc__context ended;

	cc__context_entered();
	settle(w, left);
	do {
		int result = s->main(f->payload.arg);

		CC_POINT("task.ended", &f->parker);
		w = cc__worker_here();	/* the task may have moved us */
		w->thread->running = &w->thread->parker;
		CC__EVENT(CC__EV_STACK, &f->parker, 0, 0);
		/* Relaxed: who looks holds the frame's lock, which DONE passes. */
		cc__store(&f->stack, NULL, CC__RELAXED);
		if (cc__frame_end(f, result))
			cc__frame_put(&w->frames, f);
		cc__count(&w->finished);
		f = next_at_hand(w);
		if (f == NULL || started(f))
			break;
		fed(w);
		bind(f, s);
		cc__context_on(&f->run.context, &s->tools, cc__stack_bottom(&w->sched->stacks, s),
		               cc__stack_top(&w->sched->stacks, s));
		w->thread->running = &f->parker;
		cc__control_reset();	/* the task before may round its own way */
	} while (true);
	leave(w, &ended, f, after(AFTER_END, s), true);
	CC__UNREACHABLE("a task that has ended runs on");
}

/* ---- yield and park ---- */

static struct cc__fiber *fiber_on(const struct cc__worker *w)
{
	return w == NULL || w->thread->running == &w->thread->parker
	           ? NULL
	           : cc__fiber_of(w->thread->running);
}

void cc_yield(void)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__fiber *f = fiber_on(w), *next;

	if (f == NULL)
		cc__thread_yield();
	else if ((next = next_ready(w)) != NULL)
		leave(w, &f->run.context, next, after(AFTER_YIELD, f), false);
}

void cc__switch_away(struct cc__parker *p, uint64_t ticket, cc_time deadline)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__fiber *f = cc__fiber_of(p);
	struct wake_at alarm = {.timer.deadline = deadline, .who = p, .ticket = ticket};

	if (deadline != CC_FOREVER)
		cc__timers_add(&w->timers, &alarm.timer);
	leave(w, &f->run.context, next_ready(w), after(AFTER_PARK, f), false);
	/* Still the same worker: there is one. */
	if (cc__timer_armed(&alarm.timer))
		cc__timers_remove(&cc__worker_here()->timers, &alarm.timer);
}

/* ---- the worker's own stack ---- */

/* Stacks that lie idle grow cold (T3); the time to look again. */
static cc_time age_stacks(struct cc__worker *w)
{
	const cc_time idle = w->sched->config.stack_idle;

	if (w->stacks.count > 0 && w->age_at == CC_FOREVER)
		w->age_at = cc__from_now(idle);
	if (w->age_at != CC_FOREVER && cc__now() >= w->age_at) {
		cc__stack_put_list(&w->sched->stacks, &w->stacks);
		w->age_at = cc__stack_pool_age(&w->sched->stacks) ? cc__from_now(idle) : CC_FOREVER;
	}
	return w->age_at;
}

static void sleep_until_work(struct cc__worker *w)
{
	cc_time deadline = age_stacks(w);

	if (w->timers.first != NULL && w->timers.first->deadline < deadline)
		deadline = w->timers.first->deadline;
	if (w->starved.head != NULL && w->retry_at < deadline)
		deadline = w->retry_at;
	CC__EVENT(CC__EV_SLEEP, w, w->id, 0);
	CC_POINT("worker.before_sleep", w);
	if (announce_sleep(w))
		while (cc__load(&w->nap->asleep, CC__SEQ_CST) != 0)	/* Seq_cst: see inbox_push */
			if (cc__futex_wait(&w->nap->asleep, 1, deadline) == ETIMEDOUT)
				break;
	/* Relaxed: a pusher that still sees 1 wakes nobody, which is harmless. */
	cc__store(&w->nap->asleep, 0, CC__RELAXED);
	CC__EVENT(CC__EV_AWAKE, w, w->id, 0);
}

/* False: whoever wanted us to stop has just lost its patience. */
static bool agree_to_end(struct cc__sched *s, uint32_t asked)
{
	/* Relaxed: one word, two sides; the other is in cc__sched_stop. */
	return cc__cas(&s->stopping, &asked, CC__ENDING, CC__RELAXED, CC__RELAXED);
}

void cc__worker_main(void *arg)
{
	struct cc__worker *w = arg;
	struct cc__sched *s = w->sched;

	w->thread->worker = w;
	cc__tls_set(w->thread, NULL);
	cc__context_adopt(&w->context);
	for (;;) {
		struct cc__fiber *f = next_ready(w);
		uint32_t asked;

		if (f != NULL)
			leave(w, &w->context, f, AFTER_NOTHING, false);
		else if ((asked = over(s)) != 0 && agree_to_end(s, asked))
			break;
		else
			sleep_until_work(w);
	}
	cc__frame_cache_flush(&w->frames);
	cc__stack_put_list(&s->stacks, &w->stacks);
	if (w->reserve != NULL)
		cc__stack_put(&s->stacks, w->reserve);
	cc__tls_set(NULL, NULL);
	/* Release: all of the above, to the acquire in cc__sched_stop. */
	cc__store(&s->stopped, 1, CC__RELEASE);
	cc__futex_wake(&s->stopped, INT32_MAX);
}
