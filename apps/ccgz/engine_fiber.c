/* engine_fiber.c - the pipeline on fibers.
 *
 *      pool -> read_blocks -> work_on, many at once -> ordered channel -> write, main thread
 *        ^                                                                     |
 *        +---------------------------------------------------------------------+
 *
 * The pool is an owned channel: it makes blocks as they are needed, up to its capacity, and the
 * reader waits for one when all of them are on their way.  The ordered channel carries each block
 * with the task that works on it.  Its order is the order of the reads, so the main thread joins
 * the tasks and writes the blocks in this order, whichever task ends first.
 *
 * All fibers are children of one nursery.  The first error, wherever it happens, cancels them:
 * whatever they wait for ends with ECANCELED, and the nursery ends when the last of them has. */
#include <errno.h>

#include "engine.h"

cc_chan_type(Pool, struct block *);

struct item {
	CCTask task;	/* that works on the block */
	struct block *block;
};
cc_chan_type(Items, struct item);

/* ---- the steps ---- */

static cc_task_fn(work_on, struct job *job; struct block * block;)
{
	return self->job->work(self->job, self->block);
}

static cc_task_fn(read_blocks, struct job *job; Pool pool; ItemsTx out;)
{
	int err = 0;

	for (bool last = false; err == 0 && !last;) {
		struct item item = {0};

		cc_try(cc_recv(self->pool, &item.block));
		err = self->job->read(self->job, item.block);
		last = item.block->last;
		if (err == 0)
			err = cc_spawn_send(self->out, &item, work_on, .job = self->job,
			                    .block = item.block);
		if (err != 0)	/* it was not sent */
			cc_ignore(cc_send(self->pool, item.block));
	}
	return err != 0 ? err : cc_close(self->out);
}

/* Writes what comes until the channel is closed, or something fails.  *item is then what was
 * received and not given back to the pool: its task may still run. */
static int write_blocks(struct job *job, ItemsRx in, Pool pool, struct item *item)
{
	int err;

	while ((err = cc_recv(in, item)) == 0) {
		cc_try(cc_task_join(item->task, CC_FOREVER, &err));
		cc_try(err);
		cc_try(job->write(job, item->block));
		cc_try(cc_send(pool, item->block));
		item->block = NULL;
	}
	return err == EPIPE ? 0 : err;
}

/* ---- the channels ---- */

static int create_block(void *context, void *item)
{
	struct job *job = context;
	struct block **block = item;

	*block = job->block_new(job);
	return *block != NULL ? 0 : ENOMEM;
}

static void destroy_block(void *context, void *item)
{
	struct job *job = context;
	struct block **block = item;

	job->block_free(*block);
}

/* An item that was not received, because something failed. */
static void drop_item(void *context, void *dropped)
{
	Pool *pool = context;
	struct item *item = dropped;

	cc_task_detach(item->task);
	cc_ignore(cc_send(*pool, item->block));
}

/* The nursery of one file. */
static int run_nursery(struct job *job, unsigned processes, Pool pool, Items items)
{
	CCNurseryOptions options = {0};
	struct item left = {0};
	int err = 0;

	cc_try(engine_runtime(&options.runtime, processes));
	cc_nursery_scope_with(n, &err, &options) {
		int failed;

		cc_spawn(n, read_blocks, .job = job, .pool = pool, .out = items.tx);
		if ((failed = write_blocks(job, items.rx, pool, &left)) != 0)
			cc_nursery_cancel(n, failed);
	}
	if (left.block != NULL)
		drop_item(&pool, &left);
	return err;
}

static int run_fiber(struct job *job, unsigned processes)
{
	const unsigned blocks = engine_blocks(processes);
	Pool pool = {0};
	Items items = {0};
	const CCChanOptions owned = {.kind = CC_CHAN_KIND_OWNED,
	                             .create = create_block,
	                             .destroy = destroy_block,
	                             .context = job};
	const CCChanOptions ordered = {
	    .kind = CC_CHAN_KIND_ORDERED, .drop = drop_item, .context = &pool};
	int err = cc_chan_create(&pool.chan, sizeof(struct block *), blocks, &owned);

	if (err == 0)
		err = cc_chan_create(&items.chan, sizeof(struct item), blocks, &ordered);
	if (err == 0)
		err = run_nursery(job, processes, pool, items);
	cc_free(items);	/* before the pool, which gets the blocks back */
	cc_free(pool);
	return err;
}

const struct engine engine_fiber = {.name = "fiber", .run = run_fiber};
