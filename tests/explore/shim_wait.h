/* shim_wait.h - what wait/wait.c and wait/thread.c need around them in a
 * scenario: a record for each model thread, and no slab to take more from, unless
 * SHIM_REAL_SLAB says that base/slab.c is linked; and no poller, unless SHIM_POLLER
 * says that the scenario has one; and no fibers, unless it links a scheduler, or is one:
 * SHIM_SCHEDULER; and no waits at all, if SHIM_NO_WAITS says so.
 * Included by one file of a program. */
#ifndef MC_SHIM_WAIT_H
#define MC_SHIM_WAIT_H

#include "engine.h"
#include "base/slab.h"
#include "wait/thread.h"
#include "wait/wait.h"

#define SHIM_RECORD(i) \
	{ \
		.parker.word.raw = CC__THREAD_BIT | CC__OWNED, .running.raw = &record[i].parker, \
		.own.waiter.who = &record[i].parker \
	}

static struct cc__thread record[MC_THREADS] = {
    SHIM_RECORD(0), SHIM_RECORD(1), SHIM_RECORD(2), SHIM_RECORD(3),
    SHIM_RECORD(4), SHIM_RECORD(5), SHIM_RECORD(6), SHIM_RECORD(7),
};

/* The first thing a body does that sleeps; wakers need no record. */
static inline void be_thread(void)
{
	cc__tls_set(&record[mc_self()], NULL);
}

static inline struct cc__parker *thread_parker(int thread)
{
	return &record[thread].parker;
}

/* In .final: a thread that has ended is in no wait. */
static inline void check_threads_at_rest(void)
{
	for (int i = 0; i < MC_THREADS; i++)
		MC_ASSERT(cc__word_state(cc__peek(&record[i].parker.word)) == CC__OWNED);
}

#ifndef SHIM_REAL_SLAB
void *cc__slab_get(struct cc__slab *s)
{
	(void)s;
	mc_fail("shim: a thread without a record");
}

void cc__slab_put(struct cc__slab *s, void *object)
{
	(void)s, (void)object;
	mc_fail("shim: a record given back");
}

__attribute__((weak)) void cc__slab_walk(struct cc__slab *s, bool (*visit)(void *object, void *arg),
                                         void *arg)
{
	(void)s, (void)visit, (void)arg;
	mc_fail("shim: no slab to walk through");
}
#endif

/* What the scheduler defines, where a program does not link it: nothing cancels a
 * fiber (unless SHIM_CANCEL says that the scenario does), and nobody sleeps in a poller. */
const cc__a32 *shim_cancel_flag(struct cc__parker *p);
struct cc__waiter *shim_fiber_waiter(struct cc__parker *fiber);

#ifndef SHIM_CANCEL
__attribute__((weak)) const cc__a32 *shim_cancel_flag(struct cc__parker *p)
{
	(void)p;
	return NULL;
}
#endif

#ifndef SHIM_NO_WAITS
/* All can run in one domain, unless a scenario says that they cannot. */
static bool shim_apart __attribute__((unused));

__attribute__((weak)) struct cc__wait_context cc__wait_context(uintptr_t *domain)
{
	struct cc__parker *self = cc__self();
	/* Relaxed: a parker is a thread or a fiber for ever. */
	const bool thread = cc__word_is_thread(cc__load(&self->word, CC__RELAXED));

	if (domain != NULL)
		cc__domain_note(domain, shim_apart ? 0 : 8);
	return (struct cc__wait_context){
	    .waiter = thread ? &((struct cc__thread *)cc__tls_get())->waiter : shim_fiber_waiter(self),
	    .cancel = shim_cancel_flag(self),
	};
}
#endif

#ifndef SHIM_SCHEDULER
__attribute__((weak)) void cc__schedule(struct cc__parker *fiber)
{
	(void)fiber;
	mc_fail("schedule: a thread is not enqueued");
}

__attribute__((weak)) void cc__switch_away(struct cc__parker *fiber, uint64_t ticket,
                                           cc_time deadline)
{
	(void)fiber, (void)ticket, (void)deadline;
	mc_fail("switch_away: a thread has no other stack");
}

__attribute__((weak)) struct cc__waiter *shim_fiber_waiter(struct cc__parker *fiber)
{
	(void)fiber;
	mc_fail("fiber_waiter: a thread has its own");
}
#endif

#ifndef SHIM_POLLER
struct cc__bell;
void cc__poll_ring(struct cc__bell *bell);
__attribute__((weak)) void cc__poll_ring(struct cc__bell *bell)
{
	(void)bell;
	mc_fail("shim: a bell without a poller");
}
#endif

/* lock.c says what is held and panics. */
void cc__say_all(const char *first, ...)
{
	(void)first;
}

/* What a wait asks for, in memory of its own.  (Of a single wait the sleeper's own waiter
 * is listed: whoever touches that afterwards is in a race with its end, and found.) */
static inline struct cc__waiter *waiter_new(void)
{
	struct cc__waiter *w = mc_alloc(sizeof *w);

	*w = (struct cc__waiter){0};
	return w;
}

#endif
