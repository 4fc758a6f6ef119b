/* branch.h - the part of fork and join that is compiled into the program.  Include
 * <ccc/parallel.h>, which says how it is used.
 *
 * A fork is a record in the frame of the caller (CCBranch) and its address in an array of the
 * calling fiber (CCPar), both written by plain stores.  An idle worker may take the oldest record
 * of that array.  The caller takes its own record back when its first branch has returned, and
 * calls the second branch itself unless a worker was faster. */
#ifndef CCC_BRANCH_H
#define CCC_BRANCH_H

#include <ccc/task.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CCPar CCPar;
typedef struct CCBranch CCBranch;

/* The function of a branch: its captures, and the array of the fiber that runs it. */
typedef int cc_par_main(void *captures, CCPar *par);

/* A forked branch, in the frame of its caller. */
struct CCBranch {
	cc_par_main *main;
	void *captures;
	uint64_t opaque[22];	/* the library's; not written by an ordinary fork */
};

/* The forked branches of one fiber, its owner.  The fields are private. */
struct CCPar {
	/* One past the newest record.  Written by the fiber that runs. */
	struct {
		CCBranch **raw;
	} tail;
	/* Records below this one are not the fiber's alone. */
	struct {
		CCBranch **raw;
	} limit;
	CCBranch **end;	/* constant; of the array */
};

/* The operations of the fast path.  The library's model checker replaces them. */
#ifndef CC_PAR_LOAD
/* Relaxed: after the compiler fence; see src/sched/branch.h for its partner. */
#define CC_PAR_LOAD(a) __atomic_load_n(&(a)->raw, __ATOMIC_RELAXED) /* lint: allow(atomic) inline */
/* Release: the record and its place in the array, to the acquire of the worker that takes it. */
#define CC_PAR_STORE(a, v) CC_PAR_WRITE(&(a)->raw, v)
#define CC_PAR_WRITE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE) /* lint: allow(atomic) inline */
#define CC_PAR_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)      /* lint: allow(atomic) inline */
#endif

/* Runs both branches for a caller that does not know its CCPar, or whose array is full.
 *
 * Returns as cc_par2 does.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_par_call2(cc_par_main *first, void *first_captures, cc_par_main *second,
                                      void *second_captures);

/* Ends a fork that the library has to know of: `branch`, the newest record of `par`, was taken by a
 * worker or became a task, or its fiber has waited since.  `result` is what the first branch
 * returned.
 *
 * Returns as cc_par2 does.
 *
 * Owner only.  May park. */
CC_API CC_MUST_CHECK int cc_branch_join(CCPar *par, CCBranch *branch, int result);

/* Forks: writes the record of the second branch, and its address to `place`, the tail of the array,
 * which must not be full.
 *
 * Owner only.  Never parks. */
static inline CC_IN_CALLER void cc_branch_offer(CCPar *par, CCBranch **place, CCBranch *branch,
                                                cc_par_main *main, void *captures)
{
	branch->main = main;
	branch->captures = captures;
	*place = branch;
	CC_PAR_STORE(&par->tail, place + 1);
}

/* Takes the newest record back, which is at `place`.  Returns 1 if it belongs to the caller alone,
 * and 0 if cc_branch_join has to end the fork.
 *
 * Owner only.  Never parks. */
static inline CC_IN_CALLER CC_MUST_CHECK int cc_branch_retract(CCPar *par, CCBranch **place)
{
	CC_PAR_STORE(&par->tail, place);
	CC_PAR_FENCE();
	return __builtin_expect(CC_PAR_LOAD(&par->limit) <= place, 1) != 0;
}

/* Runs both branches, the first one and an unstolen second one by calling them here.
 *
 * Returns as cc_par2 does.
 *
 * Owner only.  May park.  Cancellation point. */
static inline CC_IN_CALLER CC_MUST_CHECK int cc_par_run2(CCPar *par, cc_par_main *first,
                                                         void *first_captures, cc_par_main *second,
                                                         void *second_captures)
{
	CCBranch branch, **place = CC_PAR_LOAD(&par->tail);
	int result;

	if (__builtin_expect(place == par->end, 0))
		return cc_par_call2(first, first_captures, second, second_captures);
	cc_branch_offer(par, place, &branch, second, second_captures);
	result = first(first_captures, par);
	if (!cc_branch_retract(par, place))
		return cc_branch_join(par, &branch, result);
	return __builtin_expect(result != 0, 0) ? result : second(second_captures, par);
}

#ifdef __cplusplus
}
#endif
#endif
