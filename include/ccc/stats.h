/* stats.h - figures about the scheduler: workers, tasks, queues, memory, sleeps and wakes.
 *
 *      CCStats s;
 *
 *      if (cc_stats(NULL, &s) == 0)
 *              printf("%" PRIu64 " tasks live, %" PRIu64 " stolen\n", s.tasks_live, s.stolen);
 *
 * docs/statistics.md explains every figure, and how a runtime logs them when it ends. */
#ifndef CCC_STATS_H
#define CCC_STATS_H

#include <ccc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statistics of one runtime.  Figures marked "now" describe the present; the others count from the
 * start of the runtime.
 *
 * Each worker keeps its own counters and continues to count while cc_stats adds them up.  So the
 * figures are approximate, and no two of them belong to the same moment. */
typedef struct CCStats {
	/* Workers. */
	uint64_t workers_base;		/* CCConfig.workers */
	uint64_t workers_most;		/* largest possible number, the spare worker included */
	uint64_t workers;		/* now: workers that exist */
	uint64_t workers_active;	/* now: workers that run fibers */
	uint64_t workers_searching;	/* now: workers that search for work */
	uint64_t workers_sleeping;	/* now: workers that sleep */

	/* Tasks. */
	uint64_t tasks_spawned;		/* tasks that were spawned */
	uint64_t tasks_outside;		/* of tasks_spawned: by threads other than the workers */
	uint64_t tasks_finished;	/* tasks that ended or were recalled */
	uint64_t tasks_cancelled;	/* of tasks_finished: those that returned ECANCELED */
	uint64_t tasks_live;		/* now: tasks_spawned less tasks_finished */
	uint64_t switches;		/* times a worker picked a fiber to run */
	int64_t pressure;		/* now: ready fibers not yet picked; may be negative */

	/* Queues. */
	uint64_t global_length;		/* now: fibers in the global queue */
	uint64_t global_overflows;	/* pushes to the global queue beyond its initial capacity */
	uint64_t inbox_pushes;		/* fibers that were put into a worker's inbox */
	uint64_t stolen;		/* fibers that idle workers stole from other workers */
	uint64_t starved;		/* times a task had to wait because there was no stack */

	/* Memory. */
	uint64_t stacks;		/* now: stacks that exist */
	uint64_t stacks_in_use;		/* now: stacks that tasks use */
	uint64_t stacks_cached;		/* now: stacks less stacks_in_use */
	uint64_t frames;		/* now: task frames of the process, free ones included */

	/* Searching for work.  A worker that has nothing to run searches for a while, probes
	 * everything a last time, announces that it sleeps, and then sleeps in the kernel. */
	uint64_t searches;		/* times a worker had nothing to run */
	uint64_t looks;			/* full probes of inboxes, queues, timers, other workers */
	uint64_t polls;			/* polls for ready descriptors that did not sleep */
	uint64_t spin_hits;		/* times a search found work before its last probe */
	uint64_t no_wait;		/* times a search found work in its last probe */
	uint64_t steal_tries;		/* attempts to steal from another worker */
	uint64_t steal_hits;		/* of steal_tries: those that got a fiber */

	/* Sleeping.  Every announcement ends as one of stale, woken, timed_out and polled. */
	uint64_t sleeps;		/* announcements of a sleep */
	uint64_t stale;			/* withdrawn: a push came first, or the runtime ended */
	uint64_t post_announce_hits;	/* of stale: those after which the worker found work */
	uint64_t waits;			/* the sum of woken, timed_out and polled */
	uint64_t woken;			/* sleeps that a wake ended */
	uint64_t timed_out;		/* sleeps that ended at their own time limit */
	uint64_t polled;		/* sleeps that ready descriptors ended */
	/* Of woken and polled: those after which the wake generation had changed. */
	uint64_t ends_generation;
	/* Of woken and polled: those after which the wake generation had not changed, but the
	 * worker had something to run. */
	uint64_t ends_ready;

	/* Waking.  Every push of a fiber into a queue changes the wake generation. */
	uint64_t pushes;		/* changes of the wake generation */
	uint64_t pushes_unseen;		/* of pushes: those at which no worker slept */
	uint64_t wakes;			/* wakes that were sent to sleeping workers */
	uint64_t wakes_vain;		/* of wakes: those after which the worker found no work */
} CCStats;

/* Fills *out with the statistics of `runtime`; NULL means cc_runtime_current().
 *
 * Returns 0, or
 *   EINVAL      `out` is NULL
 *   (other)     `runtime` is NULL and the default runtime could not be started
 * After an error *out is unchanged.
 *
 * Any thread.  Never parks. */
CC_API int cc_stats(CCRuntime *runtime, CCStats *out);

#ifdef __cplusplus
}
#endif
#endif
