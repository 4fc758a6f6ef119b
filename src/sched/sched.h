/* sched.h - a scheduler: its configuration, its stacks, its workers and what
 * belongs to none of them; what the layers above call. */
#ifndef CC__SCHED_SCHED_H
#define CC__SCHED_SCHED_H

#include "base/lock.h"
#include "os/context.h"
#include "io/blocking.h"
#include "task/frame.h"
#include "sched/global.h"
#include "sched/inbox.h"
#include "io/poll.h"
#include "sched/pressure.h"
#include "stack/stack.h"
#include "sched/sysmon.h"
#include "time/timer.h"
#include "wait/cancel.h"
#include "wait/host.h"

struct cc__idle;
struct cc__worker;

/* Else the number of the one who asks to stop.  The workers end only when one of
 * them makes that very number ENDING; until then the one who asked may take it
 * back.  Not one value for all: what a worker found out for the first is not
 * true for the second. */
enum cc__stopping { CC__RUNNING, CC__ENDING, CC__STOP_FIRST };

/* Tasks that found no stack when their turn came (BOUND-1 in bound.h). */
struct cc__starved {
	struct cc__lock lock;
	struct cc__fiber *first, *last;	/* lock; through next */
	bool told;			/* lock; the log knows why */
	cc__a32 any;			/* written under the lock, a hint to other threads */
	CC__ATOMIC(cc_time) retry_at;	/* when the system is asked again; likewise */
};

struct cc__sched {
	/* As malloc aligns; low bits of its address are used (CC__HOME_BITS). */
	_Alignas(16) CCConfig config;	/* constant */
	struct cc__stack_pool stacks;
	struct cc__idle *idle;		/* constant */
	struct cc__worker **worker;	/* constant; cc__sched_places of them, made on demand */
	cc__a32 workers;		/* how many were made; who starts writes it, then the
					 * monitor */
	cc__a32 live;			/* how many of those have not retired */
	struct cc__sysmon sysmon;
	struct cc__starved starved;
	struct cc__poll poll;		/* its own locks */
	struct cc__blocking blocking;	/* its own lock */
	cc__a64 spawned_outside;	/* tasks spawned by other threads */
	cc__a64 recalled_outside;	/* taken back by them */
	struct cc__pressure pressure;	/* the sampler's */
	uint64_t born, calls_born;	/* constant; what idle counted of others then (I8) */
	cc__a32 stopping;		/* enum cc__stopping */
	uint32_t stops;			/* asked for so far; who stops's */
	cc__a32 stopped;		/* futex: it has ended */
	cc__a32 cancel;			/* 1: takes no new tasks, and their waits end; stays */
	struct cc__root root;		/* around every scope of its tasks; cancelled then, too */
	cc__a32 next_worker;		/* the next that cc__worker_in_turn names */
	struct cc__inbox woken;		/* what the global queue is for, of started fibers that
					 * the reserve may run; anybody takes all */
	struct cc__global global;
	struct cc__sched *next;		/* monitor/quiet.c's, with its lock */
};

/* 0 or an error number; `config` has been checked. */
int cc__sched_start(struct cc__sched *s, const CCConfig *config);
/* Wait for all tasks to end, until `deadline`; then take no more, cancel the waits of
 * those that are left, and give them as long as grace() says; then wait for the
 * workers.  ETIMEDOUT: it goes on, and may be stopped again. */
int cc__sched_stop(struct cc__sched *s, cc_time deadline);

/* Run main(arg) as a fiber of s; NULL: of the scheduler whose worker calls, or the default one. */
int cc__sched_spawn(struct cc__sched *s, CCTask *out, const CCTaskOptions *options,
                    cc_task_main *main, void *arg, uintptr_t place);

/* The task of f has returned with a nursery open: says so, and aborts. */
_Noreturn void cc__fiber_left_open(const struct cc__fiber *f);

/* The caller is about to wait for all children of that nursery: one of them that can be run
 * likewise, and is who runs from now on; NULL: none.  The caller calls it, and says so. */
struct cc__below {
	struct cc__fiber *self;		/* the caller */
	struct cc__member *member;	/* what his stack said */
	uint64_t control;		/* his control words */
};
struct cc__child *cc__sched_child_here(const void *nursery, struct cc__below *p);
void cc__sched_child_ended(struct cc__below *p, struct cc__child *child, int result);
/* A child of that nursery has come to its end, on a stack of its own: if another one is next
 * to run, that is who runs from now on, on the same stack.  NULL: it is not, and the caller
 * returns. */
struct cc__child *cc__sched_child_next(const void *nursery, int result);

/* A QUEUED fiber that is in no queue, for whoever comes first.  Any thread. */
void cc__sched_give(struct cc__sched *s, struct cc__fiber *f);

/* Places for workers: those of the pool, the base and the temporary ones, are the first
 * config.workers_max; a pool that can grow has the reserve's behind them (M4). */
static inline unsigned cc__sched_places(const struct cc__sched *s)
{
	return s->config.workers_max + (s->config.workers_max > s->config.workers);
}

/* Starts one more worker, in the first place that is free, and stores its number in
 * `number`.  The reserve is started only if `reserve`.  Returns 0, ERANGE if every place
 * is taken, ENOMEM, or the error of the system that gave no thread.  The monitor's. */
int cc__sched_grow(struct cc__sched *s, bool reserve, unsigned *number);
/* Join the threads of workers that have retired.  The monitor's. */
void cc__sched_reap(struct cc__sched *s);
/* A worker has retired and waits for that. */
bool cc__sched_has_retired(const struct cc__sched *s);

/* No task was there at some moment of this call. */
bool cc__sched_at_rest(const struct cc__sched *s);

/* The innermost scope around the caller, which begins the nursery that it belongs to; NULL: the
 * caller is in no nursery. */
struct cc__scope *cc__scope_here(void);
/* Whatever cancels the caller cancels the task too: the task is a child of the caller's innermost
 * nursery, or neither of them is in a nursery and both belong to one runtime.  False if the
 * handle is consumed. */
bool cc__task_is_cancelled_with_caller(CCTask task);

/* The scheduler whose fiber or worker calls; NULL outside. */
struct cc__sched *cc__sched_here(void);

/* Defined by the runtime: its default one's scheduler, which is started if there is none. */
int cc__sched_default(struct cc__sched **out);

/* The runtime around it: the same address (runtime.c). */
static inline const CCRuntime *cc__sched_runtime(const struct cc__sched *s)
{
	return (const CCRuntime *)(const void *)s;
}

/* Unpark every fiber of `home`, and begin what was to begin later: its cancel flag has
 * been set. */
void cc__fiber_unpark_all(const struct cc__sched *home);

/* Where f's stack lies, if it has one.  f's lock is held and f is not DONE, so
 * its scheduler still exists. */
void cc__sched_stack_of(struct cc__fiber *f, const void **bottom, size_t *size);

/* What the monitor defines, or NULL: the fields of a wait and of the family.  f's lock is held, and f
 * has a task. */
extern void (*cc__inspect_more)(struct cc__fiber *f, CCFiberInfo *info);

void cc__sched_log(const struct cc__sched *s, const char *line);

#endif
