/* parallel.h - fork and join at about the price of a function call.
 *
 *      static cc_par_fn(sort, int *v; size_t n;)
 *      {
 *              if (self->n < 2)
 *                      return 0;
 *              size_t m = partition(self->v, self->n);
 *
 *              return cc_par2((sort, .v = self->v, .n = m),
 *                             (sort, .v = self->v + m, .n = self->n - m));
 *      }
 *
 *      err = cc_par2((sort, .v = a, .n = 1000), (sort, .v = b, .n = 1000));
 *
 * A call returns when all of its branches have ended.  The caller runs the first branch itself.
 * The others are offered to idle workers, oldest first.  A branch that no worker has taken by then
 * is called by the caller, too, so a recursion needs no cut-off: it creates no task for a branch
 * that stays, and its depth costs as much stack as the same function calls would.
 *
 * Blocking.  A branch may wait for whatever another branch does.  When a branch parks or yields, the
 * branches that its fiber has offered become ordinary tasks, with stacks of their own.
 *
 * Failure.  The first error of a branch cancels the others, as in a nursery, and is the result of
 * the call.  A branch that has not started by then is not run.
 *
 * Cancellation.  Branches are inside the caller's innermost nursery, and are cancelled with it.
 *
 * A branch that stays runs as a part of the caller's task: with its values of local.h, its
 * floating-point environment and its stack.  A branch that was taken is a task of its own, and may
 * run on any worker even if the caller is pinned; its stack is as large as the caller's.  No branch
 * may leave by longjmp or by a C++ exception.
 *
 * A caller that is no fiber runs the call as a task of cc_runtime_current() and waits for it.
 *
 * Inside of a cc_par_fn the forks are inlined.  Elsewhere a call has to find its fiber first, which
 * costs some nanoseconds more.  The macros are for C only; C++ has the functions. */
#ifndef CCC_PARALLEL_H
#define CCC_PARALLEL_H

#include <ccc/branch.h>
#include <ccc/combine.h>
#include <ccc/typed.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A branch of cc_par_all. */
typedef struct CCParBranch {
	cc_par_main *main;
	void *captures;
} CCParBranch;

/* Runs `main(captures, par)`, where `par` is the calling fiber's and may be given to cc_par_run2.
 *
 * Returns what `main` returned, or, if it was not called,
 *   ENOMEM      no memory
 *   ENOTSUP     in a child of fork (runtime.h)
 *   (other)     the caller is no fiber, or 1000 forks are open in it: the errors of cc_block_on
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_par_call(cc_par_main *main, void *captures);

/* Runs `count` branches.
 *
 * Returns 0 if every branch returned 0, or
 *   (error)     the first error of a branch
 *   ECANCELED   no branch failed by itself, but cancellation ended at least one early
 *   ETIMEDOUT   no branch failed by itself, but a deadline ended at least one early
 *   EINVAL      a branch has no `main`; no branch was run
 *   (other)     the errors of cc_par_call; no branch was run
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_par_all(const CCParBranch *branches, size_t count);

/* The body of cc_par_range: does the elements from `from` up to, not including, `to`. */
typedef int cc_range_main(void *captures, size_t from, size_t to);

/* Calls `body(captures, from, to)` for pieces of the range from `from` up to, not including, `to`,
 * each of at most `grain` elements.  With `grain` 0 there are about 16 pieces for each worker.  A
 * piece should take some microseconds, so that a stolen one is worth it.
 *
 * Returns as cc_par_all does; 0 if the range is empty.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_par_range(size_t from, size_t to, size_t grain, cc_range_main *body,
                                      void *captures);

/* The body of cc_par_fold: adds the elements of a piece to *into. */
typedef int cc_fold_main(void *captures, size_t from, size_t to, void *into);
/* Adds *other, the value of the piece that follows, to *into. */
typedef int cc_fold_join(void *captures, void *into, const void *other);

/* Largest value of cc_par_fold in bytes. */
#define CC_FOLD_MAX 256

/* Computes a value of `size` bytes from a range that is divided as by cc_par_range.  *into is the
 * identity when the call begins, which every piece starts from, and the value when it has
 * succeeded.  Values are joined in the order of the range, so `join` must be associative and need
 * not be commutative.
 *
 * Returns as cc_par_all does, or
 *   EINVAL      a function or `into` is NULL, or `size` is above CC_FOLD_MAX
 * After an error *into is undefined.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_par_fold(size_t from, size_t to, size_t grain, cc_fold_main *fold,
                                     cc_fold_join *join, void *captures, void *into, size_t size);

#ifdef __cplusplus
}
#endif

#ifndef __cplusplus

/* cc_par_fn(name, captures) is the head of a branch's definition, as cc_task_fn is that of a task.
 * `self` is a struct name_captures *, in the frame of the caller. */
#define cc_par_fn(...) CC_MANY_OR_ONE(CC_PAR_FN_, __VA_ARGS__)(__VA_ARGS__)
/* cc_par_decl declares a branch and cc_par_def is the head of its definition, for branches that
 * call each other. */
#define cc_par_decl(...) CC_MANY_OR_ONE(CC_PAR_DECL_, __VA_ARGS__)(__VA_ARGS__)
#define cc_par_def(name) CC_PAR_DEF(name)

/* cc_par2((name, .capture = value, ...), (name, .capture = value, ...)) runs two branches and
 * returns as cc_par_all does.  cc_par takes 2 to 8 branches. */
#define cc_par2(first, second) CC_PAR2(CC_PAR_MAIN first, CC_PAR_MAIN second)
#define cc_par(...) \
	cc_par_all((const CCParBranch[]){CC_PAR_EACH(__VA_ARGS__)}, CC_PAR_COUNT(__VA_ARGS__))

/* cc_range_fn(name, captures) is the head of the body of a loop:
 *
 *      static cc_range_fn(scale, double *v; double by;)
 *      {
 *              for (size_t i = from; i < to; i++)
 *                      self->v[i] *= self->by;
 *              return 0;
 *      }
 *
 *      err = cc_par_for(0, n, 4096, scale, .v = v, .by = 2);
 *
 * All pieces share one copy of the captures.  cc_par_for returns as cc_par_range does. */
#define cc_range_fn(name, ...) \
	int name##_range(void *cc_captures, size_t from, size_t to); \
	struct name##_captures { \
		__VA_ARGS__ \
	}; \
	static int name(struct name##_captures *self, size_t from, size_t to); \
	int name##_range(void *cc_captures, size_t from, size_t to) \
	{ \
		return name(cc_captures, from, to); \
	} \
	static int name(struct name##_captures *self __attribute__((unused)), size_t from, \
	                size_t to)
#define cc_par_for(from, to, grain, name, ...) \
	cc_par_range(from, to, grain, name##_range, &(struct name##_captures){__VA_ARGS__})

/* cc_fold_fn(name, type, captures) and cc_join_fn(name) are the heads of a reduction to a value of
 * that type:
 *
 *      static cc_fold_fn(sum, double, const double *v;)
 *      {
 *              for (size_t i = from; i < to; i++)
 *                      *into += self->v[i];
 *              return 0;
 *      }
 *      static cc_join_fn(sum)
 *      {
 *              *into += *other;
 *              return 0;
 *      }
 *
 *      double total = 0;
 *      err = cc_par_reduce(0, n, 4096, &total, sum, .v = v);
 *
 * cc_par_reduce returns as cc_par_fold does. */
#define cc_fold_fn(name, type, ...) \
	int name##_fold(void *cc_captures, size_t from, size_t to, void *into); \
	typedef type name##_value; \
	struct name##_captures { \
		__VA_ARGS__ \
	}; \
	static int name(struct name##_captures *self, size_t from, size_t to, name##_value *into); \
	int name##_fold(void *cc_captures, size_t from, size_t to, void *into) \
	{ \
		return name(cc_captures, from, to, into); \
	} \
	static int name(struct name##_captures *self __attribute__((unused)), size_t from, \
	                size_t to, name##_value *into)
#define cc_join_fn(name) \
	int name##_join(void *cc_captures, void *into, const void *other); \
	static int name##_joining(struct name##_captures *self, name##_value *into, \
	                          const name##_value *other); \
	int name##_join(void *cc_captures, void *into, const void *other) \
	{ \
		return name##_joining(cc_captures, into, other); \
	} \
	static int name##_joining(struct name##_captures *self __attribute__((unused)), \
	                          name##_value *into, const name##_value *other)
#define cc_par_reduce(from, to, grain, result, name, ...) \
	cc_par_fold(from, to, grain, name##_fold, name##_join, \
	            &(struct name##_captures){__VA_ARGS__}, CC_FOLD_INTO(name##_value, result))
#define CC_FOLD_INTO(type, result) *(type *[]){result}, sizeof(type)

/* ---- implementation of the macros ---- */

/* Does nothing.  In a branch the name is that of a parameter, CCPar *cc_par_context, so that the
 * macros know where they are.
 *
 * Any thread.  Never parks. */
static inline void cc_par_context(void) {}

#define CC_PAR_FN_MANY(name, ...) \
	CC_PAR_DECL_MANY(name, __VA_ARGS__); \
	CC_PAR_DEF(name)
#define CC_PAR_FN_ONE(name) \
	CC_PAR_DECL_ONE(name); \
	CC_PAR_DEF(name)
#define CC_PAR_DECL_MANY(name, ...) \
	int name##_par(void *cc_captures, CCPar *par); \
	struct name##_captures { \
		__VA_ARGS__ \
	}
#define CC_PAR_DECL_ONE(name) CC_PAR_DECL_MANY(name, char cc_takes_no_captures;)
#define CC_PAR_DEF(name) \
	int name##_par(void *cc_captures, CCPar *par); \
	static int name(struct name##_captures *self, CCPar *cc_par_context); \
	int name##_par(void *cc_captures, CCPar *par) \
	{ \
		return name(cc_captures, par); \
	} \
	static int name(struct name##_captures *self __attribute__((unused)), \
	                CCPar *cc_par_context __attribute__((unused)))

/* A tuple (name, captures) as two arguments: the function and its captures. */
#define CC_PAR_MAIN(...) CC_MANY_OR_ONE(CC_PAR_MAIN_, __VA_ARGS__)(__VA_ARGS__)
#define CC_PAR_MAIN_MANY(name, ...) \
	name##_par, &(struct name##_captures) \
	{ \
		__VA_ARGS__ \
	}
#define CC_PAR_MAIN_ONE(name) \
	name##_par, &(struct name##_captures) \
	{ \
		.cc_takes_no_captures = 0 \
	}

#define CC_PAR2(...) \
	_Generic((cc_par_context), CCPar * \
	         : cc_par_run2, default \
	         : cc_par_outer2)(cc_par_context, __VA_ARGS__)

/* Runs both branches for a caller that is in no cc_par_fn.
 *
 * Returns as cc_par2 does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_par_outer2(void (*context)(void), cc_par_main *first,
                                              void *first_captures, cc_par_main *second,
                                              void *second_captures)
{
	(void)context;
	return cc_par_call2(first, first_captures, second, second_captures);
}

#define CC_PAR_COUNT(...) CC_PAR_ARGUMENT_9(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CC_PAR_ARGUMENT_9(a1, a2, a3, a4, a5, a6, a7, a8, a9, ...) a9
#define CC_PAR_EACH(...) CC_PASTE(CC_PAR_EACH_, CC_PAR_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define CC_PAR_EACH_1(a) \
	{ \
		CC_PAR_MAIN a \
	}
#define CC_PAR_EACH_2(a, ...) CC_PAR_EACH_1(a), CC_PAR_EACH_1(__VA_ARGS__)
#define CC_PAR_EACH_3(a, ...) CC_PAR_EACH_1(a), CC_PAR_EACH_2(__VA_ARGS__)
#define CC_PAR_EACH_4(a, ...) CC_PAR_EACH_1(a), CC_PAR_EACH_3(__VA_ARGS__)
#define CC_PAR_EACH_5(a, ...) CC_PAR_EACH_1(a), CC_PAR_EACH_4(__VA_ARGS__)
#define CC_PAR_EACH_6(a, ...) CC_PAR_EACH_1(a), CC_PAR_EACH_5(__VA_ARGS__)
#define CC_PAR_EACH_7(a, ...) CC_PAR_EACH_1(a), CC_PAR_EACH_6(__VA_ARGS__)
#define CC_PAR_EACH_8(a, ...) CC_PAR_EACH_1(a), CC_PAR_EACH_7(__VA_ARGS__)

#endif
#endif
