/* thread.h - threads, and the worker that runs them.
 *
 * T1  A thread is a fiber to src/wait: its word has the library's states, its stack is
 *     its kernel stack, and the worker is the one who claims and commits it.
 * T2  The worker is the processor on a stack of its own.  Whoever leaves (parks, yields,
 *     ends) switches there, and the worker settles him before it takes the next.
 * T3  With nobody to run the worker sleeps on a park word of its own, by the same call as
 *     the library's (cc__futex_wait), which the park engine answers.
 * T4  Records are a fixed table and stay threads for ever, as late wakers may ask. */
#ifndef KERNEL_THREAD_H
#define KERNEL_THREAD_H

#include "cpu.h"
#include "wait/cancel.h"
#include "wait/wait.h"

struct cc__strand;
struct process;

enum { THREADS_MAX = 64, THREAD_STACK_PAGES = 2 };

struct thread {
	struct cc__parker parker;	/* first */
	union {
		struct cc__waiter waiter;	/* of its single waits */
		struct cc__own own;
	};
	struct cc__member member;	/* of its process's scope */
	struct cc__member *scopes;	/* its own: &member while it lives */
	struct process *process;	/* constant while it lives */
	struct cc__strand *strand;	/* constant while it lives; what it is to the park engine */
	enum { PARKS, YIELDS, ENDS } leaving;	/* its own; for the worker */
	uint64_t ticket;		/* of its sleep */
	cc_time deadline;		/* of its sleep; CC_FOREVER: none */
	struct thread *next;		/* of the run queue */
	void *stack;			/* its kernel stack, THREAD_STACK_PAGES */
	void *sp;			/* where it left off, while it does not run */
};

/* Who came into the kernel; NULL: the worker runs. */
struct thread *thread_self(void);

/* A thread of `p` that will begin at `ip` with two arguments; its id, which names no other
 * thread of p ever, in *id, which may be NULL.  0, EINVAL,
 * EAGAIN, ENOMEM. */
int thread_new(struct process *p, uint64_t ip, uint64_t sp, uint64_t a, uint64_t b, uint32_t *id);

void thread_yield(void);
_Noreturn void thread_end(void);

/* Threads of p that sleep, in whatever. */
unsigned threads_asleep(const struct process *p);

/* Somebody else could run. */
bool thread_others(void);

/* At a tick: wake those whose time has come. */
void thread_expire(cc_time now);

/* The worker, on the stack of main.c. */
_Noreturn void worker_run(void);
/* How often it has gone to sleep. */
uint64_t worker_naps(void);

#endif
