/* engine_direct.c - fibers that are joined directly: the main thread reads a block, starts a
 * fiber for it, and goes on; when all blocks are in use it joins the oldest fiber and writes its
 * block.  There is no channel and no fiber that reads.  The blocks are a ring. */
#include <errno.h>
#include <stdlib.h>

#include "engine.h"

struct slot {
	CCTask task;
	struct block *block;	/* NULL: not needed so far */
};

struct ring {
	unsigned count, first, used;	/* slots; the oldest in use; how many are in use */
	struct slot slots[];
};

static cc_task_fn(work_on, struct job *job; struct block * block;)
{
	return self->job->work(self->job, self->block);
}

static int read_one(struct job *job, CCNursery *n, struct ring *ring, bool *last)
{
	struct slot *slot = &ring->slots[(ring->first + ring->used) % ring->count];

	if (slot->block == NULL && (slot->block = job->block_new(job)) == NULL)
		return ENOMEM;
	cc_try(job->read(job, slot->block));
	*last = slot->block->last;
	cc_try(cc_spawn_task(n, &slot->task, work_on, .job = job, .block = slot->block));
	ring->used++;
	return 0;
}

static int write_one(struct job *job, struct ring *ring)
{
	struct slot *slot = &ring->slots[ring->first];
	int result = 0;

	cc_try(cc_task_join(slot->task, CC_FOREVER, &result));
	cc_try(result);
	ring->first = (ring->first + 1) % ring->count;
	ring->used--;
	return job->write(job, slot->block);
}

static int drive(struct job *job, CCNursery *n, struct ring *ring)
{
	for (bool last = false; !last;) {
		if (ring->used == ring->count)
			cc_try(write_one(job, ring));
		cc_try(read_one(job, n, ring, &last));
	}
	while (ring->used > 0)
		cc_try(write_one(job, ring));
	return 0;
}

static int run_direct(struct job *job, unsigned processes)
{
	const unsigned count = engine_blocks(processes);
	CCNurseryOptions options = {0};
	struct ring *ring;
	int err = 0;

	cc_try(engine_runtime(&options.runtime, processes));
	if ((ring = calloc(1, sizeof *ring + count * sizeof ring->slots[0])) == NULL)
		return ENOMEM;
	ring->count = count;
	cc_nursery_scope_with(n, &err, &options) {
		const int failed = drive(job, n, ring);

		if (failed != 0)
			cc_nursery_cancel(n, failed);
	}
	for (unsigned i = 0; i < count && ring->slots[i].block != NULL; i++)
		job->block_free(ring->slots[i].block);
	free(ring);
	return err;
}

const struct engine engine_direct = {.name = "direct", .run = run_direct};
