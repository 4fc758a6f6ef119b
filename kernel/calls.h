/* calls.h - what kernel and user code agree on: numbers, and where things lie.
 *
 * A call's number is in rax, its arguments in rdi, rsi, rdx and r10; its result comes back in
 * rax, 0 or a count for success, a negative error number otherwise.  What can be asked of
 * capabilities goes through the ring (<ccc/cap.h>); these are for the rest. */
#ifndef KERNEL_CALLS_H
#define KERNEL_CALLS_H

enum call {
	CALL_EXIT,		/* status: of the whole process */
	CALL_WRITE,		/* text, length */
	CALL_THREAD,		/* function, stack's end, argument: the new thread's id */
	CALL_THREAD_EXIT,
	CALL_SELF,		/* the caller's id: the owner of its submissions */
	CALL_YIELD,
	CALL_SPAWN,		/* role, argument, capability to copy or 0: a process of the
				 * same program; its id */
	CALL_WAIT,		/* process id: its status, once it has ended */
	CALL_MAP,		/* address, pages, rights */
	CALL_UNMAP,		/* address */
	CALL_OBJECT,		/* pages: a MEMORY_OBJECT of that many */
	CALL_MAP_OBJECT,	/* MEMORY_OBJECT, address, rights: all of it */
	CALL_DERIVE,		/* MEMORY_OBJECT: a SHARED_PARK_SPACE */
	CALL_CAP,		/* kind: the first capability of that kind, or 0 */
	CALL_ENTER,		/* completions at least, nanoseconds: as cc_cap_enter */
	CALL_LOOK,		/* enum look: a number about the kernel */
	CALL_STOP,		/* status: of the whole machine; the first process only */
	CALLS,
};

/* Rights of CALL_MAP. */
enum { MAP_READ = 1, MAP_WRITE = 2, MAP_RUN = 4 };

/* What CALL_LOOK tells: of the caller's process ... */
enum look {
	LOOK_THREADS,		/* that have not ended */
	LOOK_ASLEEP,		/* of these, asleep in the kernel */
	LOOK_WAITS,		/* of these, in a PARK */
	LOOK_LISTED,		/* of these, in buckets of the process itself */
	LOOK_PROMISED,		/* completions that are kept free */
	/* ... and of the machine. */
	LOOK_PROCESSES,		/* that have not been waited for */
	LOOK_ALL_WAITS,		/* threads in a PARK, or about to leave one */
	LOOK_OBJECTS,		/* that somebody holds */
	LOOK_PINS,		/* waits in objects */
	LOOK_PINNED,		/* how often nothing but waits has held an object */
	LOOK_PAGES,		/* nobody's */
	LOOK_TICKS,
	LOOK_POLLS,		/* how often a tick has polled a ring with something in it */
	LOOK_NAPS,		/* how often the worker has gone to sleep */
	LOOK_NAPS_ENDED,	/* how often the engine has ended that */
};

/* CALL_WAIT of a process that a fault has ended. */
enum { STATUS_FAULT = 0x100 };	/* + the vector */

/* Where a process finds its ring, and its first thread's stack ends. */
#define RING_ADDRESS 0x10000000
#define STACK_END 0x7ffff000
enum { STACK_PAGES = 4, RING_SUBMISSIONS = 16, RING_COMPLETIONS = 64 };

#endif
