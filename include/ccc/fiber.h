/* fiber.h - who am I, and who else is there: for logs, dumps and language
 * runtimes. */
#ifndef CCC_FIBER_H
#define CCC_FIBER_H

#include <ccc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CCFiberState {
	CC_FIBER_QUEUED,	/* may run and no worker has it, or its start is to come */
	CC_FIBER_RUNNING,
	CC_FIBER_PARKED,	/* waits for something, or is about to */
	CC_FIBER_DONE,		/* ended, not joined yet; see `cancelled` */
} CCFiberState;

/* A look at one fiber.  The fiber goes on meanwhile: only id and name are sure
 * to belong together. */
typedef struct CCFiberInfo {
	uint64_t id;
	char name[16];
	CCFiberState state;
	unsigned worker;	/* that runs it or ran it last; 0: none yet */
	int cancelled;		/* 1: DONE, and it returned ECANCELED: it was cancelled */
	const CCRuntime *runtime;	/* for comparison only */
	const void *stack;	/* lowest usable address; NULL: it has none */
	size_t stack_size;
} CCFiberInfo;

/* The calling fiber's id, never used twice; 0 outside of any.  Any thread; may be called
 * from a signal handler, where it names the fiber that was interrupted. */
CC_API uint64_t cc_fiber_id(void);

/* Its name into `name`, or "" if it has none.  Any thread. */
CC_API void cc_fiber_name(char name[16]);

/* Visit every fiber of every runtime until `visit` returns non-zero, which is
 * then returned.  Fibers that begin or end meanwhile may be missed.  EINVAL:
 * no visit.  Any thread. */
CC_API int cc_fiber_each(int (*visit)(const CCFiberInfo *info, void *arg), void *arg);

#ifdef __cplusplus
}
#endif
#endif
