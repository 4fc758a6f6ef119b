/* process.h - an address space, and the threads in it.
 *
 * R1  A process is a domain of the park engine: its space knows what is mapped, its
 *     capabilities what it may do, its strands are its threads.  All of that is memory of
 *     this record, fixed from the start.
 * R2  It is a scope of cancellation too (src/wait/cancel.h), with its threads as members.  To
 *     end it is to end the domain and to cancel the scope: waits go without a word, who
 *     sleeps elsewhere wakes, and no thread of it goes back to user code (trap.c).
 * R3  The last thread takes the memory with it.  The record stays until the process has
 *     been waited for.
 * R4  What is mapped can be waited on and the other way round: page tables and the engine's
 *     regions change together (mapping.c). */
#ifndef KERNEL_PROCESS_H
#define KERNEL_PROCESS_H

#include "page.h"
#include "park/ring.h"
#include "wait/cancel.h"

enum {
	PROCESSES_MAX = 8,
	PROCESS_MAPPINGS = 16,
	PROCESS_CAPS = 16,
	PROCESS_THREADS = 40,
	PROCESS_BUCKET_BITS = 5,
};

/* A run of pages that the process sees. */
struct mapping {
	uint64_t address;
	size_t pages;			/* 0: no mapping */
	void *memory;
	bool own;			/* its memory goes with it; else it is an object's */
};

struct process {
	uint64_t id;			/* 0: no process; never used twice */
	struct process *parent;		/* who may wait for it; NULL: nobody */
	const struct program *program;	/* constant */
	page_table *top;		/* NULL once the last thread has left */
	unsigned threads;		/* that have not ended */
	int status;			/* of the end; the first one stays */
	uint32_t completions;		/* that there were when it ended: there will be no more */
	struct cc__scope scope;
	struct cc__waitq ended;		/* who waits for the end */

	struct cc__space space;
	struct cc__caps caps;
	struct cc__strands strands;
	struct cc__capring ring;

	struct mapping mapping[PROCESS_MAPPINGS];
	struct cc__region region[PROCESS_MAPPINGS];
	struct cc__cap cap[PROCESS_CAPS];
	struct cc__strand strand[PROCESS_THREADS];
	struct cc__bucket bucket[1 << PROCESS_BUCKET_BITS];
};

/* A program as the linker left it. */
struct program {
	const char *name;
	const void *image;
};

/* A process that runs `program` with two arguments, and with a copy of a capability of its
 * parent's, or 0.  *out, or EAGAIN, ENOMEM, and what the copying says. */
int process_new(const struct program *program, struct process *parent, uint32_t cap,
                uint64_t role, uint64_t argument, struct process **out);

/* End the caller's process (R2).  The caller goes on until it leaves the kernel. */
void process_end(struct process *p, int status);
bool process_is_over(struct process *p);

/* Its status, once it has ended; or EINVAL, ECANCELED.  May park. */
int process_wait(uint64_t id, struct process *parent, int *status);

/* At a tick, while p runs: take from its ring what a tick may take. */
void process_poll(struct process *p);
uint64_t process_polls(void);

unsigned processes(void);
/* Threads that are parked; in buckets of p itself. */
unsigned process_all_waits(void);
unsigned process_listed(const struct process *p);
/* A capability or a mapping of any process names it. */
bool process_names(const struct cc__object *o);

/* ---- mapping.c ---- */

/* Fresh pages.  0, EINVAL, EEXIST, EAGAIN, ENOMEM. */
int process_map(struct process *p, uint64_t address, size_t pages, unsigned rights);
/* All pages of a MEMORY_OBJECT; and EBADF. */
int process_map_object(struct process *p, uint32_t cap, uint64_t address, unsigned rights);
/* The mapping that begins there: who waits in it has been told, then it goes.  ENOENT; EBUSY:
 * the ring, which we use as well. */
int process_unmap(struct process *p, uint64_t address);
/* All of them; nobody waits any more. */
void process_unmap_all(struct process *p);
/* How often an unmap has left an object to its waits alone. */
uint64_t process_pinned(void);

/* ---- for thread.c ---- */

/* The table of p, or the kernel's own. */
void process_use(struct process *p);
/* One of its threads has ended. */
void process_left(struct process *p);

#endif
