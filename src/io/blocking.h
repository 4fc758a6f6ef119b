/* blocking.h - a pool of OS threads for calls that block.
 *
 * A job lives on its caller's stack.  It goes into a queue if a thread that has just ended
 * another job is about to look there; else to an idle thread; else into the queue, and a
 * thread is started for it unless one is about to look there, or there are as many as there
 * may be.
 *
 * Waking an idle thread costs the caller a system call and the job some microseconds.  So a
 * thread that has ended a job watches the queue for a moment before it becomes idle, one
 * thread at a time: calls that one fiber makes back to back all run on one thread that never
 * sleeps.  A watch that sees no job is not repeated after the next 1, 2, 4 ... 64 jobs of that
 * thread, so calls that come one by one pay for a 64th of a watch each.
 *
 * B1  A thread looks into the queue and lists itself as idle in one critical section.  So
 *     while a thread is idle no more jobs wait than threads are awake and about to look.
 *     Jobs are taken in their order.
 * B2  The newest idle thread gets the next job: the others grow old, and end when
 *     they have been idle for long enough.
 * B3  `live` counts the threads that will look into the queue again, from before
 *     they start.  A thread is counted out in the hold that takes it off the idle
 *     list without a job: none is handed to a thread that ends.  Jobs wait only
 *     while `live` is not 0.
 * B4  A job is told its end under its own lock, and touched no more after that.
 * B5  A thread that is counted out is joined by the one that is counted out next,
 *     or by fini.  So the last is left over, not one for each that ever ended.
 * B6  A caller that is cancelled withdraws its job from the queue under the pool's lock, but
 *     only if more jobs are in front of it than threads are about to look: then it would wait
 *     for the end of another job.  A job that has a thread is seen through. */
#ifndef CC__IO_BLOCKING_H
#define CC__IO_BLOCKING_H

#include "wait/wait.h"

struct cc__blocking_job;
struct cc__blocking_thread;

struct cc__blocking {
	unsigned max;		/* constant; most threads at once, 0: no pool */
	unsigned watch;		/* constant; turns of a watch, 0: none */
	cc_time idle_time;	/* constant; an idle thread ends after that */
	cc__a32 callers;	/* that wait for the end of their jobs: they will soon run again */
	struct cc__waitq idle;	/* idle threads, newest first; its lock is the pool's */
	/* Below: that lock. */
	struct cc__blocking_job *first, *last;	/* jobs that wait, oldest first */
	cc__a32 waiting;			/* how many these are; a watch reads it without */
	cc__a64 taken;				/* ever; the monitor reads it without */
	struct cc__blocking_thread *ended;	/* counted out, to be joined (B5) */
	unsigned live;				/* B3 */
	unsigned looking;			/* of these: run no job before they look */
	unsigned awake;				/* of these: have run one, so they soon look */
	bool watched;				/* one of these watches the queue */
	unsigned started;			/* ever: numbers for names */
	bool closing;				/* fini: whoever finds no job ends */
};

/* Turns of a watch where another processor can run the fiber meanwhile: 5 to 20 us. */
enum { CC__BLOCKING_WATCH = 50 };

void cc__blocking_init(struct cc__blocking *p, unsigned max, cc_time idle_time, unsigned watch);
/* Every cc__blocking_run has returned.  Returns when all threads have ended. */
void cc__blocking_fini(struct cc__blocking *p);

/* Have fn(arg) run by a thread of the pool, and wait for its end; *result unless
 * that is NULL.  Without a thread it runs right here.  0, or ECANCELED, ETIMEDOUT and fn has
 * not been called (B6).  May park. */
int cc__blocking_run(struct cc__blocking *p, int (*fn)(void *arg), void *arg, int *result);

/* The pool whose thread calls; NULL: another thread. */
const struct cc__blocking *cc__blocking_here(void);

#endif
