/* task.h - run a function as a fiber, and wait for its end. */
#ifndef CCC_TASK_H
#define CCC_TASK_H

#include <ccc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a task runs, beginning with the default floating-point environment.  Its
 * result, 0 or a positive error number by custom, goes to whoever joins it. */
typedef int cc_task_main(void *arg);

/* A handle.  Copy it freely; it names one task, not the memory it used: a call with a handle
 * that was consumed returns EINVAL, also when its memory is another task's by then. */
typedef struct CCTask {
	void *frame;
	uint64_t id;
} CCTask;

/* Where a task may run. */
typedef enum CCMigration {
	CC_MIGRATE_FREE,	/* on any worker, another one after each wait */
	CC_MIGRATE_STICKY,	/* on any worker; then on that one, while it exists */
	CC_MIGRATE_PINNED,	/* on one worker, from beginning to end */
} CCMigration;

typedef struct CCTaskOptions {
	const char *name;	/* copied, 15 characters; NULL: none */
	CCMigration migration;
	cc_time start;		/* a time of cc_now: it begins then, not before; 0 or one that
				 * has passed: at once */
	/* The least that its stack has, in bytes of address space with the guard, as CCConfig says
	 * it; up to 1 GB.  0, or no more than the runtime's (or the nursery's, of a child): that.
	 * A larger stack is the next doubling of the runtime's.  It counts like others (stacks_max)
	 * and is reused like them; the task has it to itself.  What libraries need: docs/stacks.md. */
	size_t stack_size;
} CCTaskOptions;

/* Run main(arg) as a fiber of `runtime` (NULL: cc_runtime_current()).  With
 * `out` the task must be joined or detached; without, it is detached from the
 * start.  `options` may be NULL.  EINVAL: no main, a name too long, no such
 * migration, a start at CC_FOREVER, or a stack_size of more than 1 GB; ENOMEM: no memory, or not
 * for one stack of that size;
 * EAGAIN: tasks already wait for stacks that the system does not grant;
 * ECANCELED: the runtime is ending (cc_runtime_free) and takes no more; whatever kept
 * the default runtime from starting.  Nothing is spawned on an error.  Any thread;
 * never parks. */
CC_API CC_MUST_CHECK int cc_task_spawn(CCRuntime *runtime, CCTask *out,
                                       const CCTaskOptions *options, cc_task_main *main, void *arg);

/* Waits for the end of a task, at most until `deadline`, and consumes its handle.  The task's
 * result goes to *result unless that is NULL.  Any number of callers may wait for one task; each
 * that waits when it ends gets the result.
 *
 * Returns 0, or
 *   ETIMEDOUT   the deadline of the call (EAGAIN if it was CC_NOW) or of a nursery around the
 *               caller has passed
 *   ECANCELED   a nursery around the caller was cancelled, or the calling fiber's runtime is
 *               ending (cc_runtime_free)
 *   EINVAL      no such task, or its handle is consumed
 *   EDEADLK     the task joins itself
 *   ENOMEM      no memory for a thread's first wait
 * After ETIMEDOUT, EAGAIN, ECANCELED and ENOMEM the task still runs and its handle stays good.
 *
 * A fiber that is outside of any nursery and joins with CC_FOREVER may run the task on its own
 * stack if the task has not begun.  Then the call returns when the task does: only the end of
 * the runtime would end the wait, and it ends what the task waits for; a task that is shielded
 * or computes keeps its joiner until it returns.
 *
 * errno belongs to the thread: its value before a call that may park says nothing
 * after it.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_task_join(CCTask task, cc_time deadline, int *result);

/* Gives the handle up: no caller will join the task.  A child of a nursery stays that
 * nursery's.  EINVAL as above.  Any thread. */
CC_API int cc_task_detach(CCTask task);

/* Take a task back whose start is to come: it never runs, and the handle is consumed.
 * EALREADY: too late, it has begun or is about to; EBUSY: somebody waits for its end; the
 * handle stays good in both cases.  EINVAL as above.  Any thread; never parks.
 *
 *      CCTaskOptions later = {.start = cc_now() + 5 * CC_SEC};
 *
 *      cc_task_spawn(NULL, &alarm, &later, give_up, job);
 *      ...
 *      if (cc_task_recall(alarm) != 0)
 *              err = cc_task_join(alarm, CC_FOREVER, NULL); */
CC_API CC_MUST_CHECK int cc_task_recall(CCTask task);

/* The handle of the task that calls; all zero outside of any.  Whether it may be joined is
 * for who spawned it to know.  Any thread; never parks. */
CC_API CCTask cc_self(void);

/* For loops that compute: 1 if it is time to let others run (cc_yield), or to end: others wait
 * for this worker and the calling fiber has had it for a slice of time, about two ticks of
 * the monitor (scale_interval each, less when there is a queue), or scale_interval if there
 * is no monitor; or the caller is cancelled (cc_cancel_reason).  It reads a few words, and the
 * clock only without a monitor.  In a thread: if it is cancelled.  Any thread; never parks. */
CC_API int cc_should_yield(void);

/* Lets other fibers run, then returns.  In an OS thread: sched_yield.
 *
 * Returns:
 *   0           the caller is not cancelled
 *   ECANCELED   a nursery around the caller was cancelled or its deadline has passed, or the
 *               calling fiber's runtime is ending; the other fibers have had their turn all the
 *               same.  A cancellation that arrives during the call may be told by the next
 *               call only.
 *
 * So a loop that computes ends when it is cancelled:
 *
 *      while (more(job) && cc_yield() == 0)
 *              step(job);
 *
 * The result may be dropped.  Any thread.  May park. */
CC_API int cc_yield(void);

/* Sleep until that time; 0 at once if it has passed.  ECANCELED, ENOMEM as above; ETIMEDOUT:
 * the deadline of a nursery came before.
 * Any thread; may park. */
CC_API int cc_sleep_until(cc_time deadline);

/* The same, so many milliseconds from now. */
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
