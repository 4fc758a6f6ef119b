/* switch.c - how a fiber comes to run and how it leaves: the next one, the switch, what is settled
 * after it, yield and park; and what a wait has to know of its caller. */
#include "sched/worker.h"

#include <errno.h>

#include "os/trace.h"
#include "os/fork.h"
#include "sched/bound.h"
#include "sched/branch.h"
#include "task/local.h"
#include "wait/thread.h"

/* ---- the next one ---- */

/* The next fiber at hand, claimed; NULL: none (D3). */
static inline struct cc__fiber *next_at_hand(struct cc__worker *w)
{
	struct cc__fiber *f = NULL;

	/* Relaxed: our own. */
	if (cc__load(&w->picks, CC__RELAXED) < w->fair_at)
		f = cc__runq_pop(&w->queue);
	if (f == NULL && (f = cc__worker_pick_slowly(w)) == NULL)
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
	AFTER_END = CC__CONTEXT_ENDS,	/* its stack */
	AFTER_YIELD,	/* a fiber */
	AFTER_TURN,	/* of the run queue; the fiber is in it */
	AFTER_MASK = CC__CONTEXT_BITS,
};

/* The context that leaves will never be resumed. */
static inline bool ends(uintptr_t left)
{
	return (left & AFTER_MASK) == AFTER_END;
}

static uintptr_t after(enum after kind, void *object)
{
	return (uintptr_t)object | (uintptr_t)kind;
}

static __attribute__((noinline)) void requeue(struct cc__worker *w, struct cc__fiber *f)
{
	cc__word_requeue(&f->parker);
	cc__worker_make_ready(w, f, CC__READY);
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
	cc__worker_make_ready(w, f, CC__READY);
}

/* The one that left is in the queue already, and nobody has seen it there: its
 * worker is still inside (cc__runq_turn). */
static inline void settle_turn(struct cc__worker *w)
{
	cc__runq_leave(&w->queue);
	if (cc__idle_pushed(w->idle, w->nap, 1))
		cc__worker_call_others(w, 1);
}

static __attribute__((noinline)) void settle_end(struct cc__worker *w, struct cc__stack *s)
{
	s->waiter.who = NULL;
	cc__count(&w->counters.stacks_given);
	/* Relaxed: a hint. */
	if (__builtin_expect(cc__stack_order(s) == 0 && w->reserve != NULL &&
	                     w->stacks.count < w->sched->config.stack_cache &&
	                     cc__load(&w->sched->starved.any, CC__RELAXED) == 0, 1))
		cc__stack_push(&w->stacks, s);
	else
		cc__worker_stack_keep(w, s);
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
		settle_end(w, object);
		break;
	default:
		break;
	}
}

/* A sanitizer learns that the fiber that runs now goes on, and that the context before it has
 * ended if it has. */
static void tell_arrival(struct cc__worker *w, uintptr_t left)
{
	struct cc__fiber *f = cc__worker_fiber(w);

	if (f != NULL)
		cc__happens_after(&f->parker);
	if (ends(left)) {
		struct cc__stack *s = (void *)(left & ~(uintptr_t)AFTER_MASK);
		struct cc__stack_pool *p = &w->sched->stacks;

		cc__tools_ended(cc__stack_bottom(s), cc__stack_top(p, s), p->hooks.acquire == NULL);
	}
}

/* As cc__switch_stack, for a context that takes more along than registers (base/carry.h), and
 * where sanitizers are told (os/tools.h). */
static __attribute__((noinline)) struct cc__arrival
switch_carrying(struct cc__worker *w, struct cc__context *from, struct cc__context *to,
                uintptr_t left)
{
	struct cc__fiber *next = cc__worker_fiber(w);	/* leave has set it; NULL: w's own stack */
	/* Relaxed: next is ours. */
	struct cc__stack *s = next != NULL ? cc__load(&next->stack, CC__RELAXED) : NULL;
	struct cc__carried carried;
	struct cc__arrival a;

	cc__carry_out(&w->carry, &carried);
	if (ends(left))
		cc__happens_before(w->sched);	/* to whoever sees the runtime stopped */
	if (cc__tools == 0) {
		a = cc__switch_stack(&from->sp, to->sp, w, left);
	} else {
		a = cc__context_switch_told(from, to->sp, w, left, ends(left),
		                            s != NULL ? cc__stack_bottom(s) : NULL,
		                            s != NULL ? cc__stack_top(&w->sched->stacks, s) : NULL);
		tell_arrival(a.worker, a.after);
	}
	cc__carry_in(&carried);
	return a;
}

/* What runs here carries more than registers, so a switch takes the long way (CARRY-2). */
static inline bool carries(const struct cc__worker *w)
{
	/* Relaxed: the words are the thread's own, or constants.  A fiber with state of a runtime
	 * has synchronised with the call that registered the runtime, so it reads what that call
	 * stored, or what the worker stored later (retarget in base/carry.c). */
	const struct cc__carry *c = cc__load(&w->carry.words, CC__RELAXED);

	return __builtin_expect(((uintptr_t)c->handled | c->thrown) != 0, 0);
}

/* The one way from stack to stack.  `next` is claimed; NULL: the worker's own
 * stack.  Returns when the caller's context is resumed, on whatever worker; 0, which is what a
 * yield returns. */
static __attribute__((noinline)) int leave(struct cc__worker *w, struct cc__context *from,
                                            struct cc__fiber *next, uintptr_t left)
{
	struct cc__arrival a;
	struct cc__thread *t = w->thread;
	struct cc__context *to = next != NULL ? &next->run.context : &w->context;

	cc__set_running(t, next != NULL ? &next->parker : &t->parker);
	a = carries(w) ? switch_carrying(w, from, to, left)
	                          : cc__switch_stack(&from->sp, to->sp, w, left);
	settle(a.worker, a.after);
	return 0;
}

static void fiber_main(void *worker, uintptr_t left);

/* A stack under an unstarted task.  False: there is none, and it starves. */
static __attribute__((noinline)) bool prepare(struct cc__worker *w, struct cc__fiber *f)
{
	struct cc__stack *s = cc__worker_stack_take(w, cc__fiber_order(f));
	void *top;

	if (s == NULL) {
		cc__count(&w->counters.starved);
		cc__word_yield(&f->parker);
		cc__worker_starve(w, f);
		return false;
	}
	cc__count(&w->counters.stacks_taken);
	cc__fiber_bind(f, s);
	top = cc__stack_top(&w->sched->stacks, s);
	if (__builtin_expect(cc__tools != 0, 0))
		cc__tools_new(cc__stack_bottom(s), top);
	f->run.context.sp = cc__context_frame(top, fiber_main);
	return true;
}

struct cc__fiber *cc__worker_next(struct cc__worker *w)
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

/* A sanitizer learns that a task begins here. */
static __attribute__((noinline)) void tell_entered(struct cc__worker *w, uintptr_t left)
{
	cc__tools_arrive(NULL);
	tell_arrival(w, left);
}

/* Tasks one after another on one stack, without a switch between them, until
 * a started fiber is next, one that wants another stack, or nothing is at hand. */
static void fiber_main(void *worker, uintptr_t left)
{
	struct cc__worker *w = worker;
	struct cc__fiber *f = cc__fiber_of(cc__running(w->thread));
	/* Relaxed: our own. */
	struct cc__stack *s = cc__load(&f->stack, CC__RELAXED);
	/* An order that no task wants: each has a stack of its own. */
	const uintptr_t order = cc__tools_order() ? CC__STACK_ORDERS : cc__stack_order(s);
	struct cc__context ended;

	if (__builtin_expect(cc__tools != 0, 0))
		tell_entered(w, left);
	settle(w, left);
	do {
		int result = s->main(f->payload.arg);

		if (cc__forked())
			cc__fork_exit(result);	/* whatever is next here is the parent's */
		CC_POINT("task.ended", cc__self());
		if (__builtin_expect(s->member != NULL, 0))
			cc__fiber_tidy(s);
		w = cc__worker_here();	/* the task may have moved us, */
		f = cc__fiber_of(cc__running(w->thread));	/* and others have followed it */
		cc__wake(cc__fiber_end(w, f, result));
		f = next_at_hand(w);
		if (f == NULL || !cc__fiber_wants(f, order))
			break;
		cc__fiber_follow(w, f, s);
	} while (true);
	if (f != NULL && !cc__fiber_started(f) && !prepare(w, f))
		f = cc__worker_next(w);
	leave(w, &ended, f, after(AFTER_END, s));
	CC__UNREACHABLE("a task that has ended runs on");
}

/* f, which runs, may have an array of branches. */
static inline bool may_fork(const struct cc__fiber *f)
{
	/* Relaxed: f is the caller's.  The low bits are marks (local.h, CC__BRANCHES_MARK). */
	return ((uintptr_t)cc__load(&f->stack, CC__RELAXED)->member & 3) != 0;
}

/* ---- what a wait asks ---- */

struct cc__member **cc__local_place(struct cc__parker *p)
{
	/* Relaxed: a parker is a thread or a fiber for ever. */
	if (cc__word_is_thread(cc__load(&p->word, CC__RELAXED)))
		return &((struct cc__thread *)(void *)p)->member;
	/* Relaxed: our own. */
	return &cc__load(&cc__fiber_of(p)->stack, CC__RELAXED)->member;
}

/* The same where the place holds values of local.h, or the array of a fiber that forks (BRANCH-4), or
 * both. */
static __attribute__((noinline)) struct cc__member **slot_past_marks(struct cc__member **place)
{
	struct cc__member **slot = cc__past_locals(place);

	return (uintptr_t)*slot & CC__BRANCHES_MARK ? cc__branches_enter(cc__branches_marked(*slot))
	                                            : slot;
}

static inline struct cc__member **past_marks(struct cc__member **place)
{
	return __builtin_expect((uintptr_t)*place & 3, 0) ? slot_past_marks(place) : place;
}

struct cc__member **cc__member_slot(struct cc__parker *p)
{
	return past_marks(cc__local_place(p));
}

/* Not inlined, so that the usual caller, a fiber outside of any nursery, saves few registers. */
static __attribute__((noinline)) struct cc__wait_context inside(struct cc__waiter *waiter,
                                                                struct cc__member *m)
{
	return (struct cc__wait_context){waiter, cc__member_flag(m)};
}

static __attribute__((noinline)) struct cc__wait_context context_of_thread(uintptr_t *domain)
{
	struct cc__thread *t = cc__thread_self();
	struct cc__member *m = t != NULL ? *past_marks(&t->member) : NULL;

	if (t == NULL)
		return (struct cc__wait_context){NULL, NULL};
	if (domain != NULL)
		cc__domain_note(domain, 0);
	return m != NULL ? inside(&t->waiter, m)
	                 : (struct cc__wait_context){&t->waiter, NULL};
}

struct cc__wait_context cc__wait_context(uintptr_t *domain)
{
	struct cc__thread *t = cc__tls_get();
	struct cc__fiber *f;
	struct cc__stack *s;
	struct cc__member *m;

	if (__builtin_expect(t == NULL || cc__running(t) == &t->parker, 0))
		return context_of_thread(domain);
	f = cc__fiber_of(cc__running(t));
	s = cc__load(&f->stack, CC__RELAXED);	/* Relaxed: our own */
	m = *past_marks(&s->member);
	if (domain != NULL)
		cc__domain_note(domain, f->home & CC__HOME_MIGRATION ? 0 : (uintptr_t)cc__fiber_home(f));
	return m != NULL ? inside(&s->waiter, m)
	                 : (struct cc__wait_context){&s->waiter, &cc__fiber_home(f)->cancel};
}

/* ---- yield ---- */

/* The calling fiber or thread, w's if it is a worker's, is cancelled. */
static bool caller_is_cancelled(struct cc__parker *self, const struct cc__worker *w)
{
	struct cc__member *m = *cc__member_slot(self);

	if (m != NULL)
		return cc__scope_cancelled(m->scope);
	/* Relaxed: a hint. */
	return cc__worker_fiber(w) != NULL && cc__load(&w->sched->cancel, CC__RELAXED) != 0;
}

/* What a yield returns to its caller. */
static int yielded(void)
{
	struct cc__thread *t = cc__tls_get();

	if (cc__fork_ordinary() || cc__forked() || t == NULL)
		return 0;
	return caller_is_cancelled(cc__running(t), t->worker) ? ECANCELED : 0;
}

static __attribute__((noinline)) int yield_slowly(void)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__fiber *f = cc__worker_fiber(w), *next;

	if (f != NULL && may_fork(f) && !cc__forked())
		cc__branches_leave(w, f);	/* BRANCH-3 */
	if (f == NULL || cc__forked())
		cc__thread_yield();
	else if ((next = cc__worker_next(w)) != NULL ||
	         (w->only_woken && !cc__worker_is_for_reserve(f)))
		leave(w, &f->run.context, next, after(AFTER_YIELD, f));
	return yielded();
}

/* If the next at hand is a started fiber, it runs, and the caller is behind all others
 * in one visit to the queue.  What is not that simple goes the way of all fibers.
 * Nothing here needs a register that a call preserves, so nothing is saved twice. */
static inline __attribute__((always_inline)) int yield(struct cc__thread *t, bool watched)
{
	struct cc__worker *w = t != NULL ? t->worker : NULL;
	struct cc__fiber *f, *next;

	/* Relaxed: our own. */
	if (w == NULL || cc__running(t) == &t->parker || !cc__fork_ordinary() ||
	    cc__load(&w->picks, CC__RELAXED) >= w->fair_at ||
	    (next = cc__runq_turn(&w->queue, f = cc__fiber_of(cc__running(t)))) == NULL)
		return yield_slowly();
	if (watched) {
		cc__word_yield(&f->parker);
		cc__word_claim(&next->parker, w->id);
		cc__word_enqueued(&f->parker, 1, w->id);
	} else {
		cc__word_turn(&f->parker, &next->parker, w->id);
	}
	cc__count(&w->picks);
	return leave(w, &f->run.context, next, AFTER_TURN);
}

static __attribute__((noinline)) int yield_watched(struct cc__thread *t)
{
	return yield(t, true);
}

int cc_yield(void)
{
	struct cc__thread *t = cc__tls_get();

	return cc__watched() ? yield_watched(t) : yield(t, false);
}

/* ---- park ---- */

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
	leave(w, &f->run.context, cc__worker_next(w), after(AFTER_PARK, f));
}

static inline void park(struct cc__worker *w, struct cc__fiber *f)
{
	struct cc__fiber *next = next_started(w);

	if (__builtin_expect(next != NULL, 1))
		leave(w, &f->run.context, next, after(AFTER_PARK, f));
	else
		park_slowly(w, f);
}

static __attribute__((noinline)) void park_until(struct cc__fiber *f, uint64_t ticket,
                                                 cc_time deadline)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__timers *timers = &w->timers;
	struct cc__timer *alarm = set_alarm(w, f, ticket, deadline);

	park(w, f);
	cc__timers_remove(timers, alarm);
}

/* BRANCH-3 */
static __attribute__((noinline)) void park_forking(struct cc__fiber *f, uint64_t ticket,
                                                   cc_time deadline)
{
	const struct cc__thread *t = cc__tls_get();	/* a worker's: f runs on it */
	struct cc__branches *p = cc__branches_leave(t->worker, f);

	if (deadline == CC_FOREVER)
		park(t->worker, f);
	else
		park_until(f, ticket, deadline);
	cc__branches_resume(p);
}

void cc__switch_away(struct cc__parker *p, uint64_t ticket, cc_time deadline)
{
	const struct cc__thread *t;

	if (__builtin_expect(may_fork(cc__fiber_of(p)), 0)) {
		park_forking(cc__fiber_of(p), ticket, deadline);
		return;
	}
	if (deadline != CC_FOREVER) {
		park_until(cc__fiber_of(p), ticket, deadline);
		return;
	}
	t = cc__tls_get();	/* a worker's: p runs on it */
	park(t->worker, cc__fiber_of(p));
}

/* ---- run ---- */

void cc__worker_run(struct cc__worker *w)
{
	struct cc__fiber *f;

	while ((f = cc__worker_next(w)) != NULL)
		leave(w, &w->context, f, AFTER_NOTHING);
}

/* ---- should it? ---- */

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
	if (caller_is_cancelled(self, w))
		return 1;
	return cc__worker_fiber(w) != NULL && slice_is_over(w) && others_wait(w);
}
