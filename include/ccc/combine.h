/* combine.h - jobs that run at once, as one call that returns when all of them have ended.
 *
 *      CCJob job[] = {{.main = ask_one, .arg = &question}, {.main = ask_other, .arg = &question}};
 *      size_t first;
 *
 *      if (cc_block_any(job, 2, NULL, &first) == 0)
 *              printf("service %zu was the first to know\n", first);
 *
 * Each call opens a nursery of its own, inside of what its caller is in, and joins it:
 * nothing outlives the call, what cancels the caller cancels the jobs, and those that are
 * not needed any more are cancelled and waited for.  The caller is a fiber or a thread.
 *
 * `options` is that nursery's, with the default policy; NULL: all defaults.  With a deadline,
 * jobs that wait then get ETIMEDOUT.
 *
 * A job that cannot be started counts as one that failed with the error of cc_nursery_spawn. */
#ifndef CCC_COMBINE_H
#define CCC_COMBINE_H

#include <ccc/nursery.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One job.  The caller sets main and arg, and leaves the rest alone until the call has
 * returned. */
typedef struct CCJob {
	cc_task_main *main;
	void *arg;
	int result;	/* what main returned, or why it was not called */
	int ran;	/* 1: main was called; 0: what arg owns is still the caller's */
	void *opaque;	/* the library's */
} CCJob;

/* Run main(arg) as a fiber.  What it returns, or why it was not called: EINVAL, ENOMEM,
 * EAGAIN as for cc_nursery_spawn; ECANCELED: the caller is cancelled, or ETIMEDOUT: by a
 * deadline.  Any thread; may park. */
CC_API CC_MUST_CHECK int cc_block_on(cc_task_main *main, void *arg,
                                     const CCNurseryOptions *options);

/* All of them; the first error cancels the others.  0: each succeeded; else that error, or
 * ECANCELED, ETIMEDOUT: some were cut short, and none failed by itself.  EINVAL: a job
 * without main, or a policy; nothing has been run.  Any thread; may park. */
CC_API CC_MUST_CHECK int cc_block_all(CCJob *jobs, size_t count, const CCNurseryOptions *options);

/* The first that succeeds; the others are cancelled.  0, and *winner is its index, unless
 * winner is NULL; others may have succeeded too by the time they were told.  If none
 * succeeds, the first error, and *winner is count: each result says why.  EINVAL: as above,
 * or there are no jobs.  Any thread; may park. */
CC_API CC_MUST_CHECK int cc_block_any(CCJob *jobs, size_t count, const CCNurseryOptions *options,
                                      size_t *winner);

/* The first that ends, whatever it returns, which is returned, with its index in *winner;
 * the others are cancelled.  EINVAL: as above, and *winner is count.  Any thread; may park. */
CC_API CC_MUST_CHECK int cc_block_race(CCJob *jobs, size_t count, const CCNurseryOptions *options,
                                       size_t *winner);

#ifdef __cplusplus
}
#endif
#endif
