/* runtime.h - a runtime: workers, stacks, and the fibers that run on them.
 *
 * A default runtime starts on first use, so most programs need nothing from this header.  It is
 * for a library that wants workers of its own, a program that sets options, and a test that wants
 * many small runtimes in one process.
 *
 * Fork.  Any thread and any fiber may fork.  If the process has a runtime at that time, the child
 * has a copy of the runtime's memory but none of its workers.  Such a child may exec or exit.
 * Until then every call that needs the runtime returns ENOTSUP, cc_runtime_current returns NULL,
 * and cc_yield only yields the thread.  A task that returns in the child ends the child without
 * running its atexit functions; the task's result is the exit status.  If the process has no
 * runtime when it forks, the child is an ordinary process.
 *
 * Signals.  The threads of a runtime block all signals except faults, SIGPROF and SIGVTALRM.  So
 * the program's own threads receive its signals, and profilers see fibers (docs/signals.md).  A
 * process that a fiber forks inherits this mask; a process that cc_process_spawn starts
 * (process.h) has the program's mask. */
#ifndef CCC_RUNTIME_H
#define CCC_RUNTIME_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A runtime.  The fields are private. */
typedef struct CCRuntime CCRuntime;

/* How stacks are guarded against overflow. */
typedef enum CCGuard {
	CC_GUARD_AUTO,	/* LIGHT if the kernel has it, else SPLIT */
	CC_GUARD_LIGHT,	/* MADV_GUARD_INSTALL: no extra mapping (Linux 6.13) */
	CC_GUARD_SPLIT,	/* mprotect: each stack takes two mappings of vm.max_map_count */
} CCGuard;

/* The allocator of the runtime's own bookkeeping.  Frames and stacks do not use it: they come in
 * pages from the system, and stacks have hooks of their own. */
typedef struct CCAllocator {
	/* Returns zeroed memory, aligned as by malloc, or NULL. */
	void *(*alloc)(void *context, size_t size);
	void (*free)(void *context, void *p, size_t size);
	void *context;
} CCAllocator;

/* Functions by which a program provides its own stacks.  `size` is the configured size, or 2, 4, 8
 * ... times that for tasks and nurseries that ask for larger stacks.  A stack must be page-aligned;
 * one that is not is released and counts as a failure.  Guard pages are then the program's
 * responsibility.  The functions are called with locks held and must not call libccc. */
typedef struct CCStackHooks {
	void *(*acquire)(void *context, size_t size);	/* returns the lowest address, or NULL */
	void (*release)(void *context, void *stack, size_t size);
	void *context;
} CCStackHooks;

/* Form of the scheduler's statistics that are logged when a runtime ends. */
typedef enum CCStatsMode {
	CC_STATS_OFF,
	CC_STATS_TEXT,	/* lines for people */
	CC_STATS_JSON,	/* one object, for programs */
} CCStatsMode;

/* Events that CCConfig.debug logs as they happen, each with its environment variable. */
typedef enum CCDebugFlag {
	CC_DEBUG_FLAG_JOIN = 1 << 0,	/* joins and unparks; CC_DEBUG_JOIN */
	CC_DEBUG_FLAG_WAKE = 1 << 1,	/* sleeps of workers, and wakes by number; CC_DEBUG_WAKE */
	CC_DEBUG_FLAG_INBOX = 1 << 2,	/* fibers that pass through inboxes; CC_DEBUG_INBOX */
	CC_DEBUG_FLAG_SYSMON = 1 << 3,	/* why workers are added or not; CC_DEBUG_SYSMON */
	CC_DEBUG_FLAG_PARK = 1 << 4,	/* parks, and those that were not needed; CC_PARK_DEBUG */
} CCDebugFlag;

/* All settings.  Call cc_config_init first, then change fields.  A comment ends with the
 * environment variable that sets the field, if there is one.  docs/configuration.md has all of
 * them in one table. */
typedef struct CCConfig {
	/* Threads that run fibers, 1 to 256.  Default: CC_FIBER_WORKERS of the build; if that is
	 * 0, one for each CPU that the affinity mask and the cgroup quota allow.  CC_WORKERS */
	unsigned workers;
	/* Largest number of workers that start tasks, temporary workers included; at most 512.
	 * 0: twice `workers`.  If it is more than `workers`, one spare worker may be added that
	 * only resumes fibers that were woken */
	unsigned workers_max;
	/* How often the monitor checks whether workers are stuck; it adds at most one worker each
	 * time.  CC_SCALE_INTERVAL_MS */
	cc_time scale_interval;
	cc_time worker_idle;	/* a temporary worker that is idle for this long ends */
	int sysmon;		/* 0: no monitor thread, and no temporary workers.  CC_SYSMON */
	/* Longest sleep of an idle worker that checks for work by itself, if it is less than
	 * 2 ms.  CC_FOREVER: no worker does, and every push wakes a worker.
	 * CC_IDLE_WAIT_TIMEOUT_MS, where 0 is CC_FOREVER */
	cc_time idle_wait;
	/* If a worker's inbox has more than this number of woken fibers, further ones go to the
	 * queue of all workers; 1 to 1048576 */
	unsigned inbox_max;

	/* Bytes of address space for each stack, 16 KB to 1 GB, rounded up to pages.  The lowest
	 * quarter is the guard.  CC_STACK_SIZE, which may end with K, M or G */
	size_t stack_size;
	CCGuard guard;		/* how stacks are guarded */
	unsigned stack_cache;	/* number of stacks that a worker keeps for reuse */
	cc_time stack_idle;	/* pages of a stack unused for this long return to the system */
	size_t stacks_max;	/* most stacks at once, of all sizes; 0: what the system allows */

	unsigned blocking_max;	/* most threads for blocking calls, 1 to 4096 */
	cc_time blocking_idle;	/* such a thread that is idle for this long ends */

	/* How long cc_runtime_free waits for tasks before it cancels them */
	cc_time shutdown_timeout;

	/* A fiber that occupies its worker for this long is reported; CC_FOREVER: no report.
	 * CC_DEBUG_STALL: 0 is CC_FOREVER, 1 the default, more is milliseconds */
	cc_time stall;
	/* A fiber or thread that is parked for this long while it holds a mutex or a write lock is
	 * reported on standard error, once for each place that locks.  Takes effect for the whole
	 * process from then on.  CC_FOREVER: no report.  CC_DEBUG_HOLD in milliseconds, where 0
	 * is CC_FOREVER */
	cc_time hold;
	/* Logs the scheduler's statistics when the runtime ends; for the default runtime at exit
	 * at the latest.  CC_FIBER_STATS: 0, 1 or json */
	CCStatsMode stats;
	/* 1: also logs the counters of the wake generation.  CC_WAKE_GEN_STATS */
	int wake_stats;
	/* 1: also logs what the monitor measured and why it added workers or not.
	 * CC_V3_PRESSURE_STATS_DUMP */
	int pressure_stats;
	int verbose;		/* 1: logs the settings in force at the start.  CC_VERBOSE */
	/* Flags of CCDebugFlag, with a variable each.  Logged to standard error, for the whole
	 * process from then on */
	unsigned debug;
	/* 1: checks every transition of a fiber's state, for the whole process from then on.
	 * CC_V3_SPEC_ASSERT */
	int spec_assert;

	CCAllocator allocator;	/* default: malloc */
	CCStackHooks stacks;	/* default: none */
	/* Receives diagnostics, one line a call.  NULL: standard error.  Workers and the monitor
	 * call it, so it must not wait for tasks of this runtime. */
	void (*log)(void *context, const char *line);
	void *log_context;	/* passed to `log` */
} CCConfig;

/* Fills *config with the defaults of the build and then applies the environment.
 *
 * Returns 0, or
 *   EINVAL      `config` is NULL, or an environment variable has an invalid value; a line on
 *               standard error names each such variable and its valid values
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_config_init(CCConfig *config);

/* Starts a runtime and stores it in *out.  If `config` is NULL, the settings are those of
 * cc_config_init.
 *
 * Returns 0, or
 *   EINVAL      `out` is NULL, or a field is out of range; the log names the field
 *   ENOTSUP     CC_GUARD_LIGHT on a kernel without such guards, or in a child of fork
 *   ENOMEM      no memory
 *   EAGAIN      a thread could not be started
 * After an error no runtime was started.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_runtime_new(CCRuntime **out, const CCConfig *config);

/* Sets the configuration with which the default runtime starts.  Call it before the first use of
 * the library, for example first in main.  The configuration also holds for default runtimes that
 * start after cc_shutdown.  `config` is copied.  NULL restores cc_config_init's.
 *
 *      CCConfig c;
 *
 *      if (cc_config_init(&c) != 0)
 *              return 1;
 *      c.workers = 4;
 *      if (cc_runtime_configure(&c) != 0)
 *              return 1;
 *
 * Returns 0, or
 *   EBUSY       the default runtime has started, or is being ended
 *   EINVAL      a field is out of range; the log says which
 *   ENOTSUP     in a child of fork
 * After an error the former configuration still holds.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_runtime_configure(const CCConfig *config);

/* Waits until every task of the runtime has ended, stops its workers and frees it.
 *
 * For shutdown_timeout the tasks may run on and start new tasks.  After that the runtime accepts
 * no new tasks and is cancelled: every wait of its fibers returns ECANCELED, at that time and
 * later.  The exception is a cc_blocking whose function already has a thread: it waits until the
 * function returns.  Queued tasks still run, and tasks with a start time in the future start at
 * once.  The tasks then get a grace period of shutdown_timeout again, at most one second.
 *
 * No other thread may use or free the runtime during the call.
 *
 * Returns 0, or
 *   ETIMEDOUT   tasks are still running after the grace period; the runtime stays, accepts no new
 *               tasks, and may be freed again
 *   EDEADLK     the caller is a fiber of this runtime
 *   EINVAL      `runtime` is NULL
 *   ENOTSUP     in a child of fork
 *
 * Any thread.  Blocks the calling thread. */
CC_API CC_MUST_CHECK int cc_runtime_free(CCRuntime *runtime);

/* Returns the runtime that other calls use if their runtime is NULL: that of the calling fiber,
 * else the default runtime, which is started if necessary.
 *
 * While cc_shutdown ends the default runtime, a thread waits for that and then starts a new one.
 * The exception is a function that a task of the default runtime runs through cc_blocking.
 *
 * Returns NULL if the default runtime cannot be started, in a child of fork, or in that exception.
 *
 * Any thread.  Never parks in a fiber; may block a thread while cc_shutdown runs. */
CC_API CCRuntime *cc_runtime_current(void);

/* Ends and frees the default runtime as cc_runtime_free does.  The next use starts a new one.
 * If several threads call it, one does the work and the others wait for it.  Other calls that use
 * the default runtime must have returned before.
 *
 * Returns 0, also if there is no default runtime, or
 *   (error)     the errors of cc_runtime_free; after ETIMEDOUT the default runtime is still the
 *               same one and accepts no tasks
 *
 * Any thread.  Blocks the calling thread. */
CC_API CC_MUST_CHECK int cc_shutdown(void);

#ifdef __cplusplus
}
#endif
#endif
