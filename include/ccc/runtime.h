/* runtime.h - a runtime: workers, stacks, and the fibers that run on them.
 *
 * A default runtime starts on first use, so most programs need nothing from
 * this page.  A library that wants workers of its own, or a test that wants
 * many small runtimes in one process, makes them here. */
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

/* A program's own stacks: `size` bytes each, as configured, page-aligned (what is
 * not is given back and counts as none).  Guard pages are then the program's
 * business.  Called with locks held: they must not call back into libccc. */
typedef struct CCStackHooks {
	void *(*acquire)(void *context, size_t size);	/* the lowest address, or NULL */
	void (*release)(void *context, void *stack, size_t size);
	void *context;
} CCStackHooks;

/* Every tunable.  Begin with cc_config_init; then change fields. */
typedef struct CCConfig {
	unsigned workers;	/* 1: the only number this version runs with */
	size_t stack_size;	/* bytes of address space a fiber, 16 KB to 1 GB, rounded up
				 * to pages; its lowest quarter is the guard; CC_STACK_SIZE */
	CCGuard guard;
	unsigned stack_cache;	/* stacks a worker keeps at hand */
	cc_time stack_idle;	/* pages of stacks unused for that long are given back */
	size_t stacks_max;	/* most stacks at once; 0: what the system allows */
	cc_time shutdown_timeout;	/* how long cc_runtime_free waits for tasks */
	int spec_assert;	/* 1: check every move of a fiber's state; for the whole
				 * process from then on; CC_V3_SPEC_ASSERT */
	CCAllocator allocator;
	CCStackHooks stacks;
	/* Where diagnostics go, a line each; NULL: standard error.  Called on a
	 * worker as well, and must not wait for the runtime's own tasks. */
	void (*log)(void *context, const char *line);
	void *log_context;
} CCConfig;

/* Defaults of the build, then the environment.  EINVAL: NULL, or a variable that
 * cannot be understood: a line on standard error says which and what is wanted.
 * Any thread; never parks. */
CC_API int cc_config_init(CCConfig *config);

/* Start a runtime; config NULL means cc_config_init's.  EINVAL: a field out of
 * range (the log says which); ENOTSUP: CC_GUARD_LIGHT where the kernel has no
 * such guards; ENOMEM, EAGAIN: no memory, no thread.  Any thread; never parks. */
CC_API int cc_runtime_new(CCRuntime **out, const CCConfig *config);

/* Wait until every task of the runtime has ended, stop its workers and free it.
 * ETIMEDOUT: tasks were still there after shutdown_timeout; the runtime lives
 * on and may be freed again.  EDEADLK: called by one of its own fibers.  EINVAL:
 * NULL.  No other thread may use the runtime meanwhile, or free it too.  Blocks
 * the calling thread. */
CC_API int cc_runtime_free(CCRuntime *runtime);

/* The runtime that a task belongs to which is spawned with runtime NULL: the
 * calling fiber's own, else the default one, started if need be.  NULL if it
 * cannot be started.  Any thread; never parks. */
CC_API CCRuntime *cc_runtime_current(void);

/* cc_runtime_free for the default runtime, with the same results; 0 if there is
 * none.  The next use starts a new one.
 *
 * A child of fork has no workers: it may only exec or exit. */
CC_API int cc_shutdown(void);

#ifdef __cplusplus
}
#endif
#endif
