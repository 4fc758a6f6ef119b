/* process.h - an address space, and the threads in it.
 *
 * R1  A process is a scope of cancellation (src/wait/cancel.h) whose members are its threads:
 *     to end it is to cancel the scope.  Who sleeps wakes for that, and no thread of it goes
 *     back to user code (trap.c).
 * R2  The last thread takes the address space with it.  The record stays until the process
 *     is waited for.
 * R3  Memory belongs to the mappings: it is given back when its mapping goes. */
#ifndef KERNEL_PROCESS_H
#define KERNEL_PROCESS_H

#include "page.h"
#include "park/engine.h"
#include "wait/cancel.h"

enum { PROCESSES_MAX = 16, MAPPINGS_MAX = 32 };

struct mapping {
	uint64_t address;
	size_t pages;			/* 0: no mapping */
	void *memory;
};

struct process {
	uint64_t id;			/* 0: no process; never used twice */
	struct process *parent;		/* who may wait for it; NULL: nobody */
	const struct program *program;	/* constant */
	page_table *top;		/* NULL once the last thread has left */
	unsigned threads;		/* that have not ended */
	int status;			/* of the end; the first one stays */
	struct cc__scope scope;
	struct cc__waitq ended;		/* who waits for the end */
	struct mapping mapping[MAPPINGS_MAX];
};

/* A program as the linker left it. */
struct program {
	const char *name;
	const void *image;
};

/* A process that runs `program` with two arguments; NULL: no record, no memory. */
struct process *process_new(const struct program *program, struct process *parent, uint64_t role,
                            uint64_t argument);

/* End it, and with it all its threads (R1).  The caller goes on until it leaves the kernel. */
void process_end(struct process *p, int status);

/* Its status, once it has ended; or EINVAL, ECANCELED.  May park. */
int process_wait(uint64_t id, struct process *parent, int *status);

/* 0, EINVAL or ENOMEM.  Pages that are mapped already are EEXIST. */
int process_map(struct process *p, uint64_t address, size_t pages, unsigned rights);
/* Exactly one mapping. */
int process_unmap(struct process *p, uint64_t address, size_t pages);

unsigned processes(void);

/* ---- for thread.c ---- */

void process_use(struct process *p);
/* One of its threads has ended. */
void process_left(struct process *p);

#endif
