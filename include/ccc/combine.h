/* combine.h - run several jobs concurrently in one call that returns when all of them have ended.
 *
 *      CCJob job[] = {{.main = ask_one, .arg = &question}, {.main = ask_other, .arg = &question}};
 *      size_t first;
 *
 *      if (cc_block_any(job, 2, NULL, &first) == 0)
 *              printf("service %zu was the first to know\n", first);
 *
 * Each call opens a nursery inside the caller's innermost one and joins it.  So no job outlives the
 * call, a cancellation of the caller cancels the jobs, and jobs that are no longer needed are
 * cancelled and waited for.  The caller may be a fiber or a thread.
 *
 * `options` are the options of that nursery; the policy must be the default one.  NULL means all
 * defaults.  If they have a deadline, jobs that wait at that time get ETIMEDOUT.
 *
 * A job that cannot be started counts as a job that failed with the error of cc_nursery_spawn. */
#ifndef CCC_COMBINE_H
#define CCC_COMBINE_H

#include <ccc/nursery.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One job.  The caller sets `main` and `arg`, and does not touch the job until the call has
 * returned. */
typedef struct CCJob {
	cc_task_main *main;
	void *arg;
	int result;	/* what `main` returned, or why it was not called */
	int ran;	/* 1: `main` was called; 0: it was not, and `arg` belongs to the caller */
	void *opaque;	/* private */
} CCJob;

/* Runs `main(arg)` as a fiber and waits for its end.
 *
 * Returns what `main` returned, or, if it was not called,
 *   EINVAL, ENOMEM, EAGAIN   the errors of cc_nursery_spawn
 *   ECANCELED   the caller is cancelled
 *   ETIMEDOUT   the caller is cancelled by a deadline
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_block_on(cc_task_main *main, void *arg,
                                     const CCNurseryOptions *options);

/* Runs all jobs and waits for their ends.  The first error cancels the other jobs.
 *
 * Returns 0 if every job returned 0, or
 *   (error)     the first error of a job
 *   ECANCELED   no job failed by itself, but cancellation ended at least one early
 *   ETIMEDOUT   no job failed by itself, but a deadline ended at least one early
 *   EINVAL      a job has no `main`, or the options have a policy; no job was run
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_block_all(CCJob *jobs, size_t count, const CCNurseryOptions *options);

/* Runs all jobs until one succeeds, cancels the others and waits for their ends.  If `winner` is
 * not NULL, *winner receives the index of the first job that returned 0, or `count` if none did.
 * Other jobs may have succeeded, too, before the cancellation reached them.
 *
 * Returns 0 if a job returned 0, or
 *   (error)     the first error of a job; no job succeeded, and each `result` says why
 *   EINVAL      `count` is 0, a job has no `main`, or the options have a policy; no job was run
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_block_any(CCJob *jobs, size_t count, const CCNurseryOptions *options,
                                      size_t *winner);

/* Runs all jobs until one ends, successfully or not, cancels the others and waits for their ends.
 * If `winner` is not NULL, *winner receives the index of the first job that ended.
 *
 * Returns the result of that job, or
 *   EINVAL      `count` is 0, a job has no `main`, or the options have a policy; no job was run and
 *               *winner is `count`
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_block_race(CCJob *jobs, size_t count, const CCNurseryOptions *options,
                                       size_t *winner);

#ifdef __cplusplus
}
#endif
#endif
