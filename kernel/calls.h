/* calls.h - what kernel and user code agree on: numbers, and where things lie.
 *
 * A call's number is in rax, its arguments in rdi, rsi, rdx and r10; its result comes back in
 * rax, 0 or a count for success, a negative error number otherwise. */
#ifndef KERNEL_CALLS_H
#define KERNEL_CALLS_H

enum call {
	CALL_EXIT,		/* status: of the whole process */
	CALL_WRITE,		/* text, length */
	CALL_THREAD,		/* function, stack's end, argument: the new thread's id */
	CALL_THREAD_EXIT,
	CALL_YIELD,
	CALL_SPAWN,		/* role, argument: a process of the same program; its id */
	CALL_WAIT,		/* process id: its status, once it has ended */
	CALL_MAP,		/* address, pages, rights */
	CALL_UNMAP,		/* address, pages */
	CALL_PARK,		/* address, expected, nanoseconds */
	CALL_UNPARK,		/* address, how many */
	CALL_LOOK,		/* enum look: a number about the kernel */
	CALL_STOP,		/* status: of the whole machine; the first process only */
	CALLS,
};

/* Rights of CALL_MAP. */
enum { MAP_READ = 1, MAP_WRITE = 2, MAP_RUN = 4 };

/* What CALL_LOOK tells. */
enum look {
	LOOK_PARKED,		/* threads of the caller's process that are parked */
	LOOK_THREADS,		/* of the caller's process */
	LOOK_PROCESSES,		/* that have not been waited for */
	LOOK_PAGES,		/* nobody's */
	LOOK_TICKS,
	LOOK_NAPS,		/* how often the worker has gone to sleep */
	LOOK_NAPS_ENDED,	/* how often the engine has ended that */
};

/* CALL_WAIT of a process that a fault has ended. */
enum { STATUS_FAULT = 0x100 };	/* + the vector */

#define STACK_END 0x7ffff000	/* of a process's first thread */
enum { STACK_PAGES = 4 };

#endif
