/* thread.h - the record of an OS thread, and its way to sleep.
 *
 * Every thread that calls into the library has one, workers included.  Records
 * are process-wide and never unmapped (a late waker may hold one), and go back
 * to a pool when their thread ends. */
#ifndef CC__WAIT_THREAD_H
#define CC__WAIT_THREAD_H

#include "wait/waiter.h"

struct cc__member;

struct cc__thread {
	struct cc__parker parker;	/* first; waits of the thread itself */
	union {
		struct cc__waiter waiter;	/* of a single one of these (W1) */
		struct cc__own own;
	};
	/* Who runs on it now: &parker, or a fiber.  Written by the thread alone; the
	 * monitor reads it and locks the frame that it points at. */
	CC__ATOMIC(struct cc__parker *) running;
	void *worker;			/* sched's: the worker it is, or NULL */
	const void *pool;		/* sched's: whose blocking calls it runs, or NULL */
	uint64_t spare_id;		/* sched's: ids set aside for it ... */
	uint64_t spare_ids;		/* ... and how many */
	uint32_t turn;			/* chan's: where its next select begins */
	cc__a64 operations;		/* chan's: written by the thread while a monitor asks, which reads
					 * it (chan/progress.h) */
	struct cc__member *member;	/* its own: the scope it is in (cancel.h), or NULL; and
					 * what sched keeps there (local.h) */
	void (*at_end)(struct cc__thread *);	/* its own: before it ends; NULL: nothing */
	struct cc__futex_other *other;	/* its own: what its wait is on as well, or NULL */
	/* Of its wait, while it is PARKED; it writes them before. */
	CC__ATOMIC(cc_time) deadline;
	CC__ATOMIC(uint64_t) which;	/* the word, if it is one of the park engine: the monitor
					 * does not look for it on a stack that may be gone */
	cc__a32 live;			/* enum cc__thread_life; who makes and drops it */
	struct cc__thread *next;	/* pool; the pool's lock */
};

enum cc__thread_life { CC__THREAD_NONE, CC__THREAD_LIVE, CC__THREAD_WORKER };

/* Where io of a wait in the park engine has the address of its word. */
enum { CC__WORD_SLEPT_ON = 16 };

static inline bool cc__for_word(enum cc__for what)
{
	return (what >= CC__FOR_MUTEX && what <= CC__FOR_WAIT_GROUP) || what == CC__FOR_WORD;
}

/* Where records come from; for the description of the process. */
extern struct cc__slab cc__thread_slab;

/* Every record, those without a thread included, until visit says false.  Any thread. */
void cc__thread_walk(bool (*visit)(void *record, void *arg), void *arg);

/* What the monitor defines, or NULL: called once in a wait without a deadline that has lasted for
 * CC__PATIENCE, by the thread that waits.  Must not wait. */
extern void (*cc__thread_waits_long)(void);
#define CC__PATIENCE (400 * CC_MSEC)

/* The calling thread's record, made on first use.  NULL: no memory. */
struct cc__thread *cc__thread_self(void);

/* A record for a thread that is yet to start; it sets it as its own. */
struct cc__thread *cc__thread_make(void);
void cc__thread_drop(struct cc__thread *t);

/* The thread is about to end; it calls. */
static inline void cc__thread_end(struct cc__thread *t)
{
	if (t->at_end != NULL)
		t->at_end(t);
}

/* By the thread itself. */
static inline struct cc__parker *cc__running(const struct cc__thread *t)
{
	return cc__peek(&t->running);	/* nobody else writes it */
}

static inline void cc__set_running(struct cc__thread *t, struct cc__parker *p)
{
	/* Release: p's memory, which another thread may have mapped and filled, to the acquire
	 * of the monitor (mark in sysmon.c). */
	cc__store(&t->running, p, CC__RELEASE);
}

/* As cc__thread_self, without a call of that in the usual case. */
static inline struct cc__thread *cc__thread_here(void)
{
	struct cc__thread *t = cc__tls_get();

	return __builtin_expect(t != NULL, 1) ? t : cc__thread_self();
}

/* Whoever calls: the fiber, or the thread outside of any. */
static inline struct cc__parker *cc__self(void)
{
	struct cc__thread *t = cc__thread_here();

	return t != NULL ? cc__running(t) : NULL;
}

/* The thread parker: sleeps while its word is PARKED(ticket) or claimed, until
 * OWNED.  The caller is PARKING.  At deadline it takes itself back, and likewise when the
 * other word ends its sleep; what is listed then has to look there (publish). */
void cc__thread_sleep(struct cc__parker *p, uint64_t ticket, cc_time deadline);
/* Let a claimed thread go: two steps, the futex wake the last touch. */
void cc__thread_release(struct cc__parker *p);

#endif
