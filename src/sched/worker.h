/* worker.h - one worker: its queue, its inbox and its sleep.
 *
 * A fiber's way through this layer: cc__sched_spawn (sched.c) fills a frame and
 * queues it; next_ready claims it and puts a stack under it; leave switches to
 * it; when it yields, parks or ends, leave switches on, and the side that
 * arrives settles what was left behind.
 *
 * D1  The ready queue, the caches and the timers are the worker's alone.  Anybody
 *     else pushes into the inbox.
 * D2  A fiber is queued or committed only after the switch away from it, on the
 *     stack that the switch arrived on (settle).
 * D3  While a fiber is PARKING its worker takes only work at hand; with none it
 *     goes to its own stack, settles, and searches or sleeps there.
 * D4  A fiber queued here runs after at most CC__FAIR_RUN switches more than
 *     there were fibers in front of it. */
#ifndef CC__SCHED_WORKER_H
#define CC__SCHED_WORKER_H

#include "sched/sched.h"

/* The inbox and the timers are looked at after that many switches at the latest. */
enum { CC__FAIR_RUN = 64 };

/* First in, first out, through cc__fiber.next. */
struct cc__queue {
	struct cc__fiber *head, *tail;
};

/* What a worker sleeps on.  Process-wide and type-stable: whoever pushes into the
 * inbox pokes afterwards, when the fiber may have run, its runtime ended and the
 * worker gone.  A stray poke makes the next owner look around, no more. */
struct cc__nap {
	_Alignas(64) cc__a32 asleep;	/* 1: the worker sleeps, or is about to */
	struct cc__nap *next;		/* the slab's */
};

struct cc__nap *cc__nap_new(void);	/* NULL: no memory */
void cc__nap_free(struct cc__nap *n);
/* Make its worker look around, should it sleep. */
void cc__nap_poke(struct cc__nap *n);

struct cc__worker {
	struct cc__sched *sched;	/* constant */
	struct cc__nap *nap;		/* constant */
	unsigned id;			/* constant, 1-based */
	struct cc__os_thread os;	/* the runtime's */

	/* The worker's own (D1), but for what sched.c sets up before it starts. */
	struct cc__thread *thread;	/* its record */
	struct cc__context context;	/* its own stack, while a fiber runs */
	struct cc__queue ready;
	unsigned until_fair;		/* switches left before the inbox's turn */
	struct cc__timers timers;
	struct cc__frame_cache frames;
	struct cc__stack_list stacks;
	struct cc__stack *reserve;	/* for the day there are no others */
	struct cc__queue starved;	/* tasks that found no stack */
	cc_time retry_at;		/* when they ask the system again */
	bool told_starved;		/* the log has been told why */
	cc_time age_at;			/* when idle stacks are looked at again */

	/* Written by the worker, read by anyone: no decision hangs on the
	 * difference of two of them but at rest. */
	cc__a64 spawned, finished;
	cc__a32 is_starved;		/* the starved queue is not empty */

	/* Anybody's: a stack of fibers, pushed by compare-exchange, taken whole. */
	char apart[64];			/* from the cache line above; the hook aligns by 16 */
	CC__ATOMIC(struct cc__fiber *) inbox;
};

/* A counter with one writer. */
static inline void cc__count(cc__a64 *counter)
{
	/* Relaxed, twice: ours alone to write; readers take it as a hint, or read
	 * it when nothing moves. */
	cc__store(counter, cc__load(counter, CC__RELAXED) + 1, CC__RELAXED);
}

/* The calling thread's worker; NULL: it is none.  Ask again after a switch. */
struct cc__worker *cc__worker_here(void);

/* The thread's main function; arg is the worker. */
void cc__worker_main(void *arg);

#endif
