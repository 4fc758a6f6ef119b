/* fiber.h - the calling fiber's identity, and a list of all fibers: for logs, dumps and language
 * runtimes. */
#ifndef CCC_FIBER_H
#define CCC_FIBER_H

#include <ccc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The state of a fiber. */
typedef enum CCFiberState {
	CC_FIBER_QUEUED,	/* ready but not running, or its start time is in the future */
	CC_FIBER_RUNNING,
	CC_FIBER_PARKED,	/* waits, or is about to wait */
	CC_FIBER_DONE,		/* ended, but not joined yet; see `cancelled` */
} CCFiberState;

/* What a fiber waits for: a parked one, or one that runs the task that it joins on its own stack, whose
 * state is that of the task. */
typedef enum CCWaitKind {
	CC_WAIT_NONE,		/* it does not wait */
	CC_WAIT_RECV,		/* to receive from a channel */
	CC_WAIT_SEND,		/* to send to a channel */
	CC_WAIT_SELECT,		/* in cc_select */
	CC_WAIT_TASK,		/* in cc_task_join */
	CC_WAIT_NURSERY,	/* for the children of a nursery, in cc_nursery_join */
	CC_WAIT_MUTEX,
	CC_WAIT_RWLOCK,
	CC_WAIT_COND,
	CC_WAIT_SEMAPHORE,
	CC_WAIT_ONCE,
	CC_WAIT_BARRIER,
	CC_WAIT_WAIT_GROUP,
	CC_WAIT_TOKEN,
	CC_WAIT_PARK_WORD,	/* in cc_park_wait */
	CC_WAIT_SLEEP,		/* in cc_sleep and its kin */
	CC_WAIT_FD,		/* for a descriptor */
	CC_WAIT_BLOCKING,	/* for the end of a cc_blocking call */
	CC_WAIT_OTHER,
} CCWaitKind;

/* A snapshot of one fiber.  The fiber runs on while the snapshot is taken, so only `id` and `name`
 * are certain to belong together. */
typedef struct CCFiberInfo {
	uint64_t id;
	const void *frame;	/* with `id` the handle, as in CCTask */
	char name[16];
	CCFiberState state;
	unsigned worker;	/* the worker that runs it or ran it last; 0: none yet */
	int cancelled;		/* 1: the state is DONE and the task returned ECANCELED */
	const CCRuntime *runtime;	/* for comparison only */
	const void *stack;	/* lowest usable address; NULL: it has no stack */
	size_t stack_size;	/* in bytes */
	const void *nursery;	/* the nursery that it is a child of; NULL: none */
	const void *function;	/* what it runs, if it is a child of a nursery; otherwise NULL */
	const char *place;	/* "FILE:LINE" of the cc_spawn (typed.h) that started it; NULL: not
				 * known.  A part of the program's text */
	const void *spawned_at;	/* return address of the call that started it, if `place` is NULL;
				 * NULL: not known */
	CCWaitKind wait;	/* the fields below mean something unless it is CC_WAIT_NONE */
	const void *object;	/* address of what it waits for; NULL: not known, or none */
	uint64_t task;		/* CC_WAIT_TASK: id of the task that it joins; otherwise 0 */
	cc_time since;		/* when the wait began, up to 20 ms earlier; 0: not known */
	cc_time deadline;	/* CC_FOREVER: it has none */
} CCFiberInfo;

/* Returns the id of the calling fiber, or 0 outside of any fiber.  An id is never used twice.  In a
 * signal handler it is the id of the fiber that was interrupted.
 *
 * Any thread.  Never parks.  May be called from a signal handler. */
CC_API uint64_t cc_fiber_id(void);

/* Copies the name of the calling fiber to `name`; "" if it has none.
 *
 * Any thread.  Never parks. */
CC_API void cc_fiber_name(char name[16]);

/* Calls `visit(info, arg)` for every fiber of every runtime until a call returns a value other than
 * 0.  Fibers that start or end during the call may be missed.
 *
 * Returns 0, or
 *   (value)     the value other than 0 that `visit` returned
 *   EINVAL      `visit` is NULL
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  Never parks. */
CC_API int cc_fiber_each(int (*visit)(const CCFiberInfo *info, void *arg), void *arg);

#ifdef __cplusplus
}
#endif
#endif
