/* engine.h - what runs the blocks of a file at the same time, in their order.
 *
 * A job is three steps for each block: read it, work on it, write it.  Reads happen one after
 * the other in the order of the file, and so do writes; the work on different blocks happens at
 * the same time.  An engine drives these steps over a limited number of blocks.
 *
 *      fiber    a fiber reads, each block is worked on by a fiber of its own, and an ordered
 *               channel carries these fibers to the main thread, which writes
 *      thread   the same with threads, a mutex and condition variables
 *      direct   the main thread reads, starts fibers, and joins the oldest when all blocks
 *               are in use
 *      serial   one block after the other, on the main thread
 *
 * All of them stop at the first error of any step, and return it. */
#ifndef CCGZ_ENGINE_H
#define CCGZ_ENGINE_H

#include <stdbool.h>

#include <ccc/ccc.h>

struct job;

/* The beginning of a block; the job knows the rest. */
struct block {
	bool last;	/* set by the read of the last block */
};

/* The steps, which return 0 or an error number. */
struct job {
	/* A new block, or NULL: no memory.  Called by the step that is about to read. */
	struct block *(*block_new)(struct job *job);
	void (*block_free)(struct block *block);

	int (*read)(struct job *job, struct block *block);
	int (*work)(struct job *job, struct block *block);	/* any fiber or thread */
	int (*write)(struct job *job, struct block *block);	/* the main thread */
};

struct engine {
	const char *name;
	int (*run)(struct job *job, unsigned processes);
};

extern const struct engine engine_fiber, engine_thread, engine_direct, engine_serial;

/* The engine of that name, or NULL. */
const struct engine *engine_named(const char *name);

/* How many blocks an engine uses: each process has one to work on and one that waits for it,
 * and one is being read and one written. */
static inline unsigned engine_blocks(unsigned processes)
{
	return 2 * processes + 2;
}

/* Stores the runtime that has `processes` workers for the fibers, which the first call starts.
 * The main thread only. */
int engine_runtime(CCRuntime **out, unsigned processes);

/* Ends the runtime, if it was started. */
void engine_end(void);

#endif
