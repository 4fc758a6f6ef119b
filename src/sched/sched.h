/* sched.h - a scheduler: its configuration, its stacks, its worker; what the
 * layers above call. */
#ifndef CC__SCHED_SCHED_H
#define CC__SCHED_SCHED_H

#include "base/lock.h"
#include "os/context.h"
#include "sched/blocking.h"
#include "sched/fiber.h"
#include "sched/poll.h"
#include "sched/stack.h"
#include "sched/timer.h"

struct cc__worker;

/* Else the number of the one who asks to stop.  The worker ends only by making
 * that very number ENDING; until then the one who asked may take it back.  Not
 * one value for all: what the worker found out for the first is not true for
 * the second. */
enum cc__stopping { CC__RUNNING, CC__ENDING, CC__STOP_FIRST };

struct cc__sched {
	CCConfig config;		/* constant */
	struct cc__stack_pool stacks;
	struct cc__worker *worker;	/* constant */
	struct cc__blocking blocking;	/* its own lock */
	cc__a64 spawned_outside;	/* tasks spawned by other threads */
	cc__a32 stopping;		/* enum cc__stopping */
	uint32_t stops;			/* asked for so far; who stops's */
	cc__a32 stopped;		/* futex: it has ended */
	struct cc__poll poll;		/* descriptors its fibers wait for */
};

/* 0 or an error number; `config` has been checked. */
int cc__sched_start(struct cc__sched *s, const CCConfig *config);
/* Wait for all tasks to end, then for the worker.  ETIMEDOUT: it goes on. */
int cc__sched_stop(struct cc__sched *s, cc_time deadline);

/* Run main(arg) as a fiber of s. */
int cc__sched_spawn(struct cc__sched *s, CCTask *out, const CCTaskOptions *options,
                    cc_task_main *main, void *arg);

/* The scheduler whose fiber or worker calls; NULL outside. */
struct cc__sched *cc__sched_here(void);
/* The calling worker's frame cache; NULL outside. */
struct cc__frame_cache *cc__frame_cache_here(void);

/* The runtime around it: the same address (runtime.c). */
static inline const CCRuntime *cc__sched_runtime(const struct cc__sched *s)
{
	return (const CCRuntime *)(const void *)s;
}

/* Where f's stack lies, if it has one.  f's lock is held and f is not DONE, so
 * its scheduler still exists. */
void cc__sched_stack_of(struct cc__fiber *f, const void **bottom, size_t *size);

void cc__sched_log(const struct cc__sched *s, const char *line);

#endif
