/* runtime.h - a runtime: workers, stacks, and the fibers that run on them.
 *
 * A default runtime starts on first use, so most programs need nothing from
 * this page.  A library that wants workers of its own, or a test that wants
 * many small runtimes in one process, makes them here.
 *
 * Any thread and any fiber may fork.  If there is a runtime at that time, the child
 * has a copy of its memory and none of its workers: it may exec or exit, and until
 * then every call that needs the runtime returns ENOTSUP there, cc_runtime_current
 * NULL; cc_yield only yields the thread.  A task that returns in the child ends it,
 * without its atexit functions, and its result is the status.  Without a runtime the
 * child is a process like any other.
 *
 * Threads of a runtime block every signal but faults, SIGPROF and SIGVTALRM, so that the
 * program's own threads receive its signals and profilers see fibers (docs/signals.md).
 * A process that a fiber forks has the same mask until it changes it; one that
 * cc_process_spawn starts (process.h) has the program's. */
#ifndef CCC_RUNTIME_H
#define CCC_RUNTIME_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CCRuntime CCRuntime;

/* How stacks are guarded against overflow. */
typedef enum CCGuard {
	CC_GUARD_AUTO,	/* the better one that works here */
	CC_GUARD_LIGHT,	/* MADV_GUARD_INSTALL: no extra mapping (Linux 6.13) */
	CC_GUARD_SPLIT,	/* mprotect: two mappings of vm.max_map_count a stack */
} CCGuard;

/* Where the runtime's own bookkeeping gets its memory.  Frames and stacks come
 * in pages from the system; stacks have hooks of their own. */
typedef struct CCAllocator {
	/* Zeroed, aligned as by malloc; NULL: none left. */
	void *(*alloc)(void *context, size_t size);
	void (*free)(void *context, void *p, size_t size);
	void *context;
} CCAllocator;

/* A program's own stacks: `size` bytes each, as configured or 2, 4, 8 ... times that for
 * nurseries that ask for it, page-aligned (what is not is given back and counts as none).  Guard pages are then the program's
 * business.  Called with locks held: they must not call back into libccc. */
typedef struct CCStackHooks {
	void *(*acquire)(void *context, size_t size);	/* the lowest address, or NULL */
	void (*release)(void *context, void *stack, size_t size);
	void *context;
} CCStackHooks;

/* Statistics of the scheduler, in the log when a runtime ends. */
typedef enum CCStatsMode {
	CC_STATS_OFF,
	CC_STATS_TEXT,	/* lines for people */
	CC_STATS_JSON,	/* one object, for programs */
} CCStatsMode;

/* What CCConfig.debug logs as it happens. */
typedef enum CCDebugFlag {
	CC_DEBUG_FLAG_JOIN = 1 << 0,	/* joins and unparks; CC_DEBUG_JOIN */
	CC_DEBUG_FLAG_WAKE = 1 << 1,	/* workers' sleeps, and wakes by number; CC_DEBUG_WAKE */
	CC_DEBUG_FLAG_INBOX = 1 << 2,	/* what goes through inboxes; CC_DEBUG_INBOX */
	CC_DEBUG_FLAG_SYSMON = 1 << 3,	/* why workers are added or not; CC_DEBUG_SYSMON */
	CC_DEBUG_FLAG_PARK = 1 << 4,	/* who parks and who need not; CC_PARK_DEBUG */
} CCDebugFlag;

/* Every tunable.  Begin with cc_config_init; then change fields.  At the end of a
 * comment: the environment variable that sets the field, where there is one.
 * docs/configuration.md has all of it in one table. */
typedef struct CCConfig {
	/* Threads that run fibers, 1 to 256.  By default CC_FIBER_WORKERS of the build;
	 * where that is 0, one for each CPU that affinity mask and cgroup quota allow.
	 * CC_WORKERS */
	unsigned workers;
	unsigned workers_max;	/* most workers that start tasks, temporary ones included, up to
				 * 512; 0: twice `workers`.  If it is more than `workers`, one
				 * more may be added as a reserve, which only resumes fibers that
				 * were woken */
	cc_time scale_interval;	/* how often the monitor looks whether workers are stuck;
				 * it adds at most one each time.  CC_SCALE_INTERVAL_MS */
	cc_time worker_idle;	/* a temporary worker idle for that long retires */
	int sysmon;		/* 0: no monitor thread, and no temporary workers.  CC_SYSMON */
	cc_time idle_wait;	/* longest sleep of an idle worker that looks around by itself, if
				 * less than 2 ms; CC_FOREVER: none does, and every push wakes.
				 * CC_IDLE_WAIT_TIMEOUT_MS, where 0 is CC_FOREVER */
	unsigned inbox_max;	/* a worker with more wakes than that in its inbox is left
				 * alone: further ones go to all; 1 to 1048576 */

	size_t stack_size;	/* bytes of address space a fiber, 16 KB to 1 GB, rounded up
				 * to pages; its lowest quarter is the guard.
				 * CC_STACK_SIZE, which may end with K, M or G */
	CCGuard guard;		/* how stacks are guarded */
	unsigned stack_cache;	/* stacks a worker keeps at hand */
	cc_time stack_idle;	/* pages of stacks unused for that long are given back */
	size_t stacks_max;	/* most stacks at once, of all sizes; 0: what the system allows */

	unsigned blocking_max;	/* most threads for blocking calls, 1 to 4096 */
	cc_time blocking_idle;	/* one of them idle for that long ends */

	cc_time shutdown_timeout;	/* how long cc_runtime_free waits for tasks before it
					 * cancels them */

	/* A fiber that keeps its worker for that long is reported; CC_FOREVER: none is.
	 * CC_DEBUG_STALL: 0 is CC_FOREVER, 1 the default, more is milliseconds */
	cc_time stall;
	/* A fiber or thread that has been parked for that long with a mutex or a writer's
	 * lock held is reported, on standard error, once for each place that locks; for the
	 * whole process from then on.  CC_FOREVER: none is.  CC_DEBUG_HOLD in ms, where 0
	 * is CC_FOREVER */
	cc_time hold;
	/* Of the scheduler, in the log when the runtime ends; for the default one at the
	 * latest at exit.  CC_FIBER_STATS: 0, 1 or json */
	CCStatsMode stats;
	int wake_stats;		/* 1: of these, the counters of the wake generation.
				 * CC_WAKE_GEN_STATS */
	int pressure_stats;	/* 1: what the monitor measured and why it added workers or
				 * not, likewise.  CC_V3_PRESSURE_STATS_DUMP */
	int verbose;		/* 1: a line at start says what is in force.  CC_VERBOSE */
	unsigned debug;		/* of CCDebugFlag; a variable each.  To standard error, for
				 * the whole process from then on */
	int spec_assert;	/* 1: check every move of a fiber's state; for the whole
				 * process from then on.  CC_V3_SPEC_ASSERT */

	CCAllocator allocator;	/* malloc's by default */
	CCStackHooks stacks;	/* none by default */
	/* Where diagnostics go, a line each; NULL: standard error.  Called on a
	 * worker and on the monitor as well, and must not wait for the runtime's own tasks. */
	void (*log)(void *context, const char *line);
	void *log_context;	/* for `log` */
} CCConfig;

/* Defaults of the build, then the environment.  EINVAL: NULL, or variables that
 * cannot be understood: a line each on standard error says which and what is
 * wanted.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_config_init(CCConfig *config);

/* Start a runtime; config NULL means cc_config_init's.  EINVAL: a field out of
 * range (the log says which); ENOTSUP: CC_GUARD_LIGHT where the kernel has no
 * such guards; ENOMEM, EAGAIN: no memory, no thread.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_runtime_new(CCRuntime **out, const CCConfig *config);

/* Wait until every task of the runtime has ended, stop its workers and free it.
 *
 * Tasks have shutdown_timeout to end, and may spawn others meanwhile.  After that
 * the runtime takes no new tasks, and whatever its fibers wait for returns ECANCELED,
 * then and from then on; only a cc_blocking whose function has a thread waits until
 * that returns.  What is queued still runs, tasks whose start is to come begin at once,
 * and all have as long again, but no more than a second, to come to their end.
 *
 * ETIMEDOUT: tasks are still there; the runtime lives on, takes no new ones and may
 * be freed again.  EDEADLK: called by one of its own fibers.  EINVAL: NULL.  No
 * other thread may use the runtime meanwhile, or free it too.  Blocks the calling
 * thread. */
CC_API CC_MUST_CHECK int cc_runtime_free(CCRuntime *runtime);

/* The runtime that a task belongs to which is spawned with runtime NULL: the
 * calling fiber's own, else the default one, started if need be.  NULL if it
 * cannot be started.  While cc_shutdown ends the default one, a thread waits for
 * that and then starts the next; a call made through cc_blocking by one of its tasks
 * gets NULL.  Any thread; a fiber does not park. */
CC_API CCRuntime *cc_runtime_current(void);

/* cc_runtime_free for the default runtime, with the same results; 0 if there is
 * none.  The next use starts a new one; after ETIMEDOUT it is still the same, which
 * takes no tasks.  Any thread; if several call, all but one wait for that one.  Other
 * calls that use the default one must have returned when it begins. */
CC_API CC_MUST_CHECK int cc_shutdown(void);

#ifdef __cplusplus
}
#endif
#endif
