/* task.h - run a function as a fiber, and wait for its end.
 *
 *      CCTask task;
 *      int result;
 *
 *      if (cc_task_spawn(NULL, &task, NULL, compute, &job) == 0 &&
 *          cc_task_join(task, CC_FOREVER, &result) == 0)
 *              printf("compute returned %d\n", result);
 *
 * A task is a function that runs on a fiber.  Most programs start tasks in a nursery (nursery.h),
 * which joins them. */
#ifndef CCC_TASK_H
#define CCC_TASK_H

#include <ccc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The function that a task runs.  It starts with the default floating-point environment.  By
 * convention it returns 0 or a positive error number, which cc_task_join hands to the joiner. */
typedef int cc_task_main(void *arg);

/* A handle that names one task.  Handles may be copied.  Joining or detaching consumes the handle
 * and every copy of it: later calls with it return EINVAL, even if the memory of the task has been
 * reused for another task. */
typedef struct CCTask {
	void *frame;
	uint64_t id;
} CCTask;

/* The workers that may run a task. */
typedef enum CCMigration {
	CC_MIGRATE_FREE,	/* any worker; the worker may change at each wait */
	CC_MIGRATE_STICKY,	/* any worker at the start, then that worker while it exists */
	CC_MIGRATE_PINNED,	/* one worker from start to end */
} CCMigration;

/* Options.  A zeroed struct is the default. */
typedef struct CCTaskOptions {
	const char *name;	/* copied, at most 15 characters; NULL: no name */
	CCMigration migration;
	/* Time of cc_now() at which the task starts.  0, or a time in the past: immediately. */
	cc_time start;
	/* Minimum stack size in bytes of address space, guard included (see CCConfig.stack_size);
	 * at most 1 GB.  0, or a size below the default: the default, which is the nursery's size
	 * for a child and the runtime's size otherwise.  The size is rounded up to the runtime's
	 * size times a power of two.  The stack counts towards CCConfig.stacks_max and is reused
	 * as other stacks are; the task does not share it.  docs/stacks.md says how much stack
	 * common libraries need. */
	size_t stack_size;
} CCTaskOptions;

/* Starts `main(arg)` as a fiber of `runtime`; NULL means cc_runtime_current().
 *
 * If `out` is not NULL, it receives the handle, and the task must be joined or detached.  If `out`
 * is NULL, the task is detached from the start.  `options` may be NULL.
 *
 * Returns 0, or
 *   EINVAL      `main` is NULL, the name is too long, the migration is unknown, the start is
 *               CC_FOREVER, or stack_size is above 1 GB
 *   ENOMEM      no memory, or not enough for one stack of that size
 *   EAGAIN      other tasks already wait for stacks that the system does not grant
 *   ECANCELED   the runtime is ending (cc_runtime_free) and accepts no new tasks
 *   ENOTSUP     in a child of fork (runtime.h)
 *   (other)     the default runtime could not be started
 * After an error no task was started and `arg` still belongs to the caller.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_task_spawn(CCRuntime *runtime, CCTask *out,
                                       const CCTaskOptions *options, cc_task_main *main, void *arg);

/* Waits until the task ends, at most until `deadline`, and consumes its handle.  If `result` is
 * not NULL, *result receives what the task's function returned.
 *
 * Several callers may wait for one task; every caller that waits when the task ends gets the
 * result.
 *
 * A fiber outside of any nursery that joins with CC_FOREVER may run a task that has not started
 * yet on its own stack.  The call then returns when the task's function returns.  Only the end of
 * the runtime can end such a wait early, and it does so by ending the waits of the task; a task
 * that computes, or that waits inside a shielded nursery, delays its joiner until it returns.
 *
 * errno belongs to the OS thread, so after a call that may park its earlier value is meaningless.
 *
 * Returns 0, or
 *   ETIMEDOUT   the deadline passed (EAGAIN if it was CC_NOW), or the deadline of a nursery
 *               around the caller passed
 *   ECANCELED   a nursery around the caller was cancelled, or the calling fiber's runtime is
 *               ending (cc_runtime_free)
 *   EINVAL      there is no such task, or its handle is consumed
 *   EDEADLK     the task joins itself
 *   ENOMEM      no memory for the first wait of a thread
 *   ENOTSUP     in a child of fork (runtime.h)
 * After ETIMEDOUT, EAGAIN, ECANCELED and ENOMEM the task still runs and its handle stays valid.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_task_join(CCTask task, cc_time deadline, int *result);

/* Consumes the handle without waiting: no caller will join the task.  A child of a nursery remains
 * a child of that nursery.
 *
 * Returns 0, or
 *   EINVAL      there is no such task, or its handle is consumed
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  Never parks. */
CC_API int cc_task_detach(CCTask task);

/* Cancels the start of a task whose start time is in the future: the task never runs, and the
 * handle is consumed.
 *
 *      CCTaskOptions later = {.start = cc_now() + 5 * CC_SEC};
 *
 *      cc_task_spawn(NULL, &alarm, &later, give_up, job);
 *      ...
 *      if (cc_task_recall(alarm) != 0)
 *              err = cc_task_join(alarm, CC_FOREVER, NULL);
 *
 * Returns 0, or
 *   EALREADY    the task has started or is about to start
 *   EBUSY       a caller waits for the end of the task
 *   EINVAL      there is no such task, or its handle is consumed
 *   ENOTSUP     in a child of fork (runtime.h)
 * After EALREADY and EBUSY the handle stays valid.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_task_recall(CCTask task);

/* Returns the handle of the calling task, or a zeroed handle outside of any task.  The handle does
 * not tell whether the task was spawned detached; only a task that was not may be joined.
 *
 * Any thread.  Never parks. */
CC_API CCTask cc_self(void);

/* Tells a loop that computes whether to call cc_yield or to stop.
 *
 * Returns 1 in two cases, else 0:
 *   - Other fibers are ready on this worker and the calling fiber has used up its time slice.  A
 *     slice is about two ticks of the monitor (a tick is scale_interval, shorter while fibers are
 *     queued), or one scale_interval if there is no monitor.
 *   - The caller is cancelled (cc_cancel_reason).  In an OS thread this is the only case.
 * The call reads a few words; it reads the clock only if there is no monitor.
 *
 * Any thread.  Never parks. */
CC_API int cc_should_yield(void);

/* Lets other ready fibers run, then returns.  In an OS thread: sched_yield.
 *
 * A loop that computes ends when it is cancelled:
 *
 *      while (more(job) && cc_yield() == 0)
 *              step(job);
 *
 * Returns 0, or
 *   ECANCELED   a nursery around the caller was cancelled or its deadline has passed, or the
 *               calling fiber's runtime is ending
 * The other fibers have run in either case.  A cancellation that arrives during the call may be
 * reported by the next call only.  The result may be ignored.
 *
 * Any thread.  May park. */
CC_API int cc_yield(void);

/* Sleeps until the time `deadline` of cc_now(); returns immediately if it has passed.
 *
 * Returns 0, or
 *   ECANCELED   a nursery around the caller was cancelled, or the calling fiber's runtime is
 *               ending (cc_runtime_free)
 *   ETIMEDOUT   the deadline of a nursery around the caller came first
 *   ENOMEM      no memory for the first wait of a thread
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error the caller has slept for less than it asked for.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API int cc_sleep_until(cc_time deadline);

/* Sleeps for `ms` milliseconds; returns immediately if `ms` is 0 or less.
 *
 * Returns as cc_sleep_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline int cc_sleep_ms(int64_t ms)
{
	if (ms > CC_FOREVER / CC_MSEC)
		return cc_sleep_until(CC_FOREVER);
	return cc_sleep_until(ms > 0 ? cc_after(ms * CC_MSEC) : CC_NOW);
}

#ifdef __cplusplus
}
#endif
#endif
