/* shim_fiber.h - fibers for scenarios of the real word and wait queue.
 *
 * The scheduler is a model, as small as can be: one run queue under a lock,
 * workers that sleep ideally, a switch that goes to the next fiber in the queue
 * or to the worker's own stack, and a settle on the side that arrives, as in
 * sched/switch.c.  What is under test is everything between park and resume.
 * Included by one file of a program, which defines SHIM_SCHEDULER, after shim_wait.h. */
#ifndef MC_SHIM_FIBER_H
#define MC_SHIM_FIBER_H

#include "shim_wait.h"

struct fiber {
	struct cc__parker parker;	/* first */
	struct cc__waiter waiter;
	mc_ctx *context;
	void (*main)(void);
	struct fiber *next;	/* run_lock */
	bool queued;		/* run_lock */
	int enqueues, runs;	/* run_lock; the fiber's own */
};

enum { FIBERS = 3 };
static struct fiber fiber[FIBERS];
static int fibers;

static mc_ctx *home[MC_THREADS];	/* each worker's own */
static int run_lock;
static struct fiber *first, *last;	/* run_lock */
static int alive;			/* run_lock */
static cc__a32 events;			/* something was queued, or the last fiber ended */

static void push(struct fiber *f)
{
	mc_lock(&run_lock);
	MC_ASSERT(!f->queued);
	f->queued = true;
	f->enqueues++;
	f->next = NULL;
	if (first == NULL)
		first = f;
	else
		last->next = f;
	last = f;
	cc__add(&events, 1, CC__RELAXED);
	mc_unlock(&run_lock);
}

/* The next one, claimed. */
static struct fiber *pop(void)
{
	struct fiber *f;

	mc_lock(&run_lock);
	if ((f = first) != NULL) {
		first = f->next;
		f->queued = false;
	}
	mc_unlock(&run_lock);
	if (f != NULL)
		cc__word_claim(&f->parker, (unsigned)mc_self() + 1);
	return f;
}

/* ---- the switch ---- */

enum { NOTHING, YIELDED, PARKED, MASK = 3 };

/* Of a fiber that runs, or has just left its stack: the thread that it runs on, or ran on. */
static void check_owner(const struct fiber *f)
{
	/* Relaxed: only this thread has written it. */
	MC_ASSERT(cc__word_owner(cc__load(&f->parker.word, CC__RELAXED)) == (unsigned)mc_self() + 1);
}

static void settle(uintptr_t left)
{
	struct fiber *f = (struct fiber *)(left & ~(uintptr_t)MASK);

	if ((left & MASK) != NOTHING)
		check_owner(f);
	if ((left & MASK) == YIELDED)
		cc__word_yield(&f->parker);
	else if ((left & MASK) != PARKED || cc__word_commit(&f->parker))
		return;
	else
		cc__word_requeue(&f->parker);
	push(f);
}

static mc_ctx *enter(struct fiber *next)
{
	struct cc__thread *t = &record[mc_self()];

	cc__init(&t->running, next != NULL ? &next->parker : &t->parker);
	return next != NULL ? next->context : home[mc_self()];
}

static void leave(struct fiber *next, uintptr_t left)
{
	settle(mc_switch_with(enter(next), NULL, left).after);
}

void cc__schedule(struct cc__parker *p)
{
	MC_ASSERT(cc__word_state(cc__load(&p->word, CC__RELAXED)) == CC__QUEUED);
	push((struct fiber *)(void *)p);
}

void cc__switch_away(struct cc__parker *p, uint64_t ticket, cc_time deadline)
{
	struct fiber *f = (struct fiber *)(void *)p;

	(void)ticket;
	MC_ASSERT(deadline == CC_FOREVER);
	leave(pop(), (uintptr_t)f | PARKED);
	f->runs++;
	check_owner(f);
	MC_ASSERT(cc__self() == p);
}

struct cc__waiter *shim_fiber_waiter(struct cc__parker *p)
{
	return &((struct fiber *)(void *)p)->waiter;
}

static void yield(void)
{
	struct fiber *f = (struct fiber *)(void *)cc__self(), *next = pop();

	if (next == NULL)
		return;
	leave(next, (uintptr_t)f | YIELDED);
	f->runs++;
	check_owner(f);
	MC_ASSERT(cc__self() == &f->parker);
}

static void fiber_main(void *arg)
{
	struct fiber *f = arg;

	settle(mc_arrival().after);
	f->runs++;
	check_owner(f);
	f->main();
	cc__word_done(&f->parker);
	mc_lock(&run_lock);
	if (--alive == 0)
		cc__add(&events, 1, CC__RELAXED);
	mc_unlock(&run_lock);
	mc_ctx_end(enter(NULL));
}

/* ---- workers ---- */

static bool all_ended(void)
{
	bool ended;

	mc_lock(&run_lock);
	ended = alive == 0;
	mc_unlock(&run_lock);
	return ended;
}

static void worker(void)
{
	be_thread();
	home[mc_self()] = mc_ctx_self();
	for (;;) {
		uint32_t seen = cc__load(&events, CC__ACQUIRE);
		struct fiber *f = pop();

		if (f != NULL)
			leave(f, NOTHING);
		else if (all_ended())
			return;
		else
			mc_wait_while(&events, seen);
	}
}

static void spawn(void (*main)(void))
{
	struct fiber *f = &fiber[fibers++];

	f->main = main;
	f->waiter.who = &f->parker;
	f->context = mc_ctx_new(fiber_main, f);
	cc__word_assign(&f->parker);
	cc__word_publish(&f->parker);
	alive++;
	push(f);
}

/* Nothing runnable while everybody sleeps. */
static bool queue_empty(void)
{
	return first == NULL;
}

/* One enqueue, one run. */
static void balanced(void)
{
	for (int i = 0; i < fibers; i++) {
		MC_ASSERT(fiber[i].enqueues == fiber[i].runs);
		MC_ASSERT(cc__word_state(cc__peek(&fiber[i].parker.word)) == CC__DONE);
	}
	check_threads_at_rest();
}

#define FIBER_SCENARIO(name, ...) \
	SCENARIO(name, .final = balanced, .conserve = queue_empty, __VA_ARGS__)

#endif
