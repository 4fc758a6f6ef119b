/* engine_thread.c - the pipeline on plain threads, without the library: one thread reads, as many
 * as asked for work, and the main thread writes.
 *
 * The blocks are a ring.  A block goes FREE -> READY (the reader) -> BUSY -> DONE (a worker) ->
 * FREE (the main thread).  Positions count blocks since the start; position p is in slot
 * p % count.  One mutex guards all of it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "engine.h"

enum state { FREE, READY, BUSY, DONE };

struct slot {
	enum state state;	/* mutex */
	struct block *block;	/* of the thread that has the slot, as its state says; NULL: not needed so far */
};

struct ring {
	struct job *job;
	pthread_mutex_t mutex;
	pthread_cond_t freed, readied, done;	/* a slot became FREE, READY, DONE */
	uint64_t next_work;			/* mutex: the next position that a worker takes */
	uint64_t end; /* mutex: the position after the last block, when it is known */
	int error;				/* mutex: the first one; all threads stop */
	unsigned count;
	struct slot slots[];
};

static struct slot *slot_at(struct ring *r, uint64_t position)
{
	return &r->slots[position % r->count];
}

/* Waits until the slot of a position has a state.  False: an error, or no such block. */
static bool wait_for(struct ring *r, uint64_t position, enum state state, pthread_cond_t *change)
{
	while (r->error == 0 && position < r->end && slot_at(r, position)->state != state)
		pthread_cond_wait(change, &r->mutex);
	return r->error == 0 && position < r->end;
}

/* Enters a new state, or the error of the step that should have led to it. */
static void settle(struct ring *r, struct slot *slot, int err, enum state state,
                   pthread_cond_t *change)
{
	pthread_mutex_lock(&r->mutex);
	slot->state = state;
	pthread_cond_broadcast(change);
	if (err != 0 && r->error == 0) {
		r->error = err;
		pthread_cond_broadcast(&r->freed);
		pthread_cond_broadcast(&r->readied);
		pthread_cond_broadcast(&r->done);
	}
	pthread_mutex_unlock(&r->mutex);
}

static int read_into(struct ring *r, struct slot *slot)
{
	if (slot->block == NULL && (slot->block = r->job->block_new(r->job)) == NULL)
		return ENOMEM;
	return r->job->read(r->job, slot->block);
}

static void *reader(void *arg)
{
	struct ring *r = arg;
	bool last = false;

	for (uint64_t position = 0; !last; position++) {
		struct slot *slot = slot_at(r, position);
		int err;

		pthread_mutex_lock(&r->mutex);
		last = !wait_for(r, position, FREE, &r->freed);
		pthread_mutex_unlock(&r->mutex);
		if (last)
			break;
		err = read_into(r, slot);
		last = err != 0 || slot->block->last;
		if (last) { /* before the block is READY, so that whoever waits for it sees both */
			pthread_mutex_lock(&r->mutex);
			r->end = position + 1;
			pthread_mutex_unlock(&r->mutex);
		}
		settle(r, slot, err, READY, &r->readied);
	}
	return NULL;
}

static void *worker(void *arg)
{
	struct ring *r = arg;

	for (;;) {
		struct slot *slot = NULL;

		pthread_mutex_lock(&r->mutex);
		while (r->error == 0 && r->next_work < r->end &&
		       slot_at(r, r->next_work)->state != READY)
			pthread_cond_wait(&r->readied, &r->mutex);
		if (r->error == 0 && r->next_work < r->end) {
			slot = slot_at(r, r->next_work++);
			slot->state = BUSY;
		}
		pthread_mutex_unlock(&r->mutex);
		if (slot == NULL)
			return NULL;
		settle(r, slot, r->job->work(r->job, slot->block), DONE, &r->done);
	}
}

static void write_all(struct ring *r)
{
	for (uint64_t position = 0;; position++) {
		struct slot *slot = slot_at(r, position);
		bool going;

		pthread_mutex_lock(&r->mutex);
		going = wait_for(r, position, DONE, &r->done);
		pthread_mutex_unlock(&r->mutex);
		if (!going)
			return;
		settle(r, slot, r->job->write(r->job, slot->block), FREE, &r->freed);
	}
}

/* Starts a thread that blocks all signals, so that the main thread handles them. */
static int start(pthread_t *thread, void *(*main)(void *), struct ring *r)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, main, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

static void run_ring(struct ring *r, pthread_t *threads, unsigned processes)
{
	unsigned started = 0;
	int err = 0;

	while (err == 0 && started <= processes)
		if ((err = start(&threads[started], started == 0 ? reader : worker, r)) == 0)
			started++;
	if (err != 0)	/* tells those that were started */
		settle(r, &r->slots[0], err, FREE, &r->freed);
	else
		write_all(r);
	while (started > 0)
		pthread_join(threads[--started], NULL);
}

static int run_thread(struct job *job, unsigned processes)
{
	const unsigned count = engine_blocks(processes);
	struct ring *r = calloc(1, sizeof *r + count * sizeof r->slots[0]);
	pthread_t *threads = calloc(processes + 1, sizeof *threads);
	int err = ENOMEM;

	if (r != NULL && threads != NULL) {
		*r = (struct ring){.job = job,
		                   .count = count,
		                   .end = UINT64_MAX,
		                   .mutex = PTHREAD_MUTEX_INITIALIZER,
		                   .freed = PTHREAD_COND_INITIALIZER,
		                   .readied = PTHREAD_COND_INITIALIZER,
		                   .done = PTHREAD_COND_INITIALIZER};
		run_ring(r, threads, processes);
		err = r->error;
		for (unsigned i = 0; i < count && r->slots[i].block != NULL; i++)
			job->block_free(r->slots[i].block);
	}
	free(threads);
	free(r);
	return err;
}

const struct engine engine_thread = {.name = "thread", .run = run_thread};
