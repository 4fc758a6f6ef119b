/* stats.h - what the scheduler has done, and what it is doing. */
#ifndef CCC_STATS_H
#define CCC_STATS_H

#include <ccc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counted since the runtime started, except where it says now.  Each worker counts
 * for itself and goes on while others look: the figures are about right, and no
 * two of them belong to the same moment. */
typedef struct CCStats {
	/* Workers. */
	uint64_t workers_base;		/* as configured */
	uint64_t workers_most;		/* the limit, with the reserve */
	uint64_t workers;		/* now */
	uint64_t workers_active;	/* now: they run fibers */
	uint64_t workers_searching;	/* now: they look for work */
	uint64_t workers_sleeping;	/* now */

	/* Tasks. */
	uint64_t tasks_spawned;
	uint64_t tasks_outside;		/* of these, by threads that are no workers */
	uint64_t tasks_finished;
	uint64_t tasks_cancelled;	/* of these, those that returned ECANCELED */
	uint64_t tasks_live;		/* now */
	uint64_t switches;		/* times a fiber was picked to run */
	int64_t pressure;		/* now: ready and not picked yet; rough, may be negative */

	/* Queues. */
	uint64_t global_length;		/* now: in the queue that belongs to no worker */
	uint64_t global_overflows;	/* times it had no room and its list was used */
	uint64_t inbox_pushes;		/* fibers that others gave to one worker */
	uint64_t stolen;		/* fibers that idle workers took from other workers' queues */
	uint64_t handed;		/* fibers that went on where the task they waited for had ended */
	uint64_t starved;		/* times a task found no stack and had to wait */

	/* Memory. */
	uint64_t stacks;		/* now: in existence */
	uint64_t stacks_in_use;		/* now: under a task */
	uint64_t stacks_cached;		/* now: the others */
	uint64_t frames;		/* now: of the whole process, free ones included */

	/* Sleeping and waking. */
	uint64_t searches;		/* times a worker had nothing at hand */
	uint64_t looks;			/* full looks at what others have */
	uint64_t polls;			/* questions for ready descriptors, but for sleeps */
	uint64_t spin_hits;		/* work was found while looking around */
	uint64_t no_wait;		/* found by the last look, before the announcement */
	uint64_t steal_tries;		/* times a worker asked another worker's queue */
	uint64_t steal_hits;		/* of these, with success */
	uint64_t sleeps;		/* a worker announced that it sleeps */
	uint64_t stale;			/* something was pushed before it did: no sleep */
	uint64_t post_announce_hits;	/* of these: work was found at once */
	uint64_t waits;			/* it slept in the kernel, until one of the next three */
	uint64_t woken;			/* a wake ended the wait */
	uint64_t timed_out;		/* its time was over: it looks by itself */
	uint64_t polled;		/* descriptors became ready */
	uint64_t ends_generation;	/* of `woken` and `polled`: the generation had moved */
	uint64_t ends_ready;		/* of these: it had not, but there was something to run */
	uint64_t pushes;		/* moves of the wake generation */
	uint64_t pushes_unseen;		/* of these: nobody slept */
	uint64_t wakes;			/* sent to sleeping workers */
	uint64_t wakes_vain;		/* of these: there was nothing left to do */
} CCStats;

/* Fill *out for `runtime` (NULL: cc_runtime_current()).  EINVAL: no out; whatever
 * kept the default runtime from starting.  Any thread; never parks. */
CC_API int cc_stats(CCRuntime *runtime, CCStats *out);

#ifdef __cplusplus
}
#endif
#endif
