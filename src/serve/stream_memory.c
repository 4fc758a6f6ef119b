/* stream_memory.c - two streams that are connected in memory.
 *
 * Each direction is a ring of bytes.  All of a pair is guarded by one mutex; a change of either
 * ring wakes every waiter of the pair, because there are at most four. */
#include <ccc/sync.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "io/stream.h"

enum { MEMORY_SIZE = 4096 };

/* The bytes that one end has written and the other has not read yet. */
struct direction {
	char *at;	/* constant */
	size_t begin;	/* the pair's lock, as all below */
	size_t held;
	bool ended;	/* the writer will write no more */
	bool unread;	/* the reader has gone */
};

struct memory_end {
	struct memory_pair *pair;	/* constant, as are the other two */
	struct direction *in, *out;
};

struct memory_pair {
	CCMutex lock;
	CCCond changed;
	size_t size;			/* constant */
	unsigned open;			/* the lock; ends that are not closed */
	struct direction way[2];
	struct memory_end end[2];	/* constant */
	char bytes[];
};

/* ---- bytes, under the lock ---- */

static size_t ring_get(struct direction *d, size_t size, char *to, size_t most)
{
	const size_t n = d->held < most ? d->held : most;
	const size_t straight = n < size - d->begin ? n : size - d->begin;

	memcpy(to, d->at + d->begin, straight);
	memcpy(to + straight, d->at, n - straight);
	d->begin = (d->begin + n) % size;
	d->held -= n;
	return n;
}

static size_t ring_put(struct direction *d, size_t size, const char *from, size_t most)
{
	const size_t n = size - d->held < most ? size - d->held : most;
	const size_t begin = (d->begin + d->held) % size;
	const size_t straight = n < size - begin ? n : size - begin;

	memcpy(d->at + begin, from, straight);
	memcpy(d->at, from + straight, n - straight);
	d->held += n;
	return n;
}

static void pair_unlock(struct memory_pair *p, bool changed)
{
	if (changed)
		cc_cond_broadcast(&p->changed);
	cc_mutex_unlock(&p->lock);
}

/* ---- the backend ---- */

static int read_memory(void *object, void *buffer, size_t size, size_t *count)
{
	const struct memory_end *e = object;
	int err = 0;

	cc_mutex_lock_anyway(&e->pair->lock);
	if (e->in->held > 0)
		*count = ring_get(e->in, e->pair->size, buffer, size);
	else
		err = e->in->ended ? EPIPE : EAGAIN;
	pair_unlock(e->pair, err == 0);
	return err;
}

static int write_memory(void *object, const void *buffer, size_t size, size_t *count)
{
	const struct memory_end *e = object;
	int err = 0;

	cc_mutex_lock_anyway(&e->pair->lock);
	if (e->out->unread || e->out->ended)
		err = EPIPE;
	else if (e->out->held == e->pair->size)
		err = EAGAIN;
	else
		*count = ring_put(e->out, e->pair->size, buffer, size);
	pair_unlock(e->pair, err == 0);
	return err;
}

static bool memory_ready(const struct memory_end *e, unsigned event)
{
	if (event == CC_FD_READ)
		return e->in->held > 0 || e->in->ended;
	return e->out->held < e->pair->size || e->out->unread || e->out->ended;
}

static int wait_memory(void *object, unsigned event, cc_time deadline)
{
	const struct memory_end *e = object;
	int err = 0;

	cc_mutex_lock_anyway(&e->pair->lock);
	while (err == 0 && !memory_ready(e, event))
		err = cc_cond_wait_until(&e->pair->changed, &e->pair->lock, deadline);
	pair_unlock(e->pair, false);
	return err;
}

static int shutdown_memory(void *object)
{
	const struct memory_end *e = object;

	cc_mutex_lock_anyway(&e->pair->lock);
	e->out->ended = true;
	pair_unlock(e->pair, true);
	return 0;
}

static int close_memory(void *object)
{
	const struct memory_end *e = object;
	struct memory_pair *p = e->pair;
	bool last;

	cc_mutex_lock_anyway(&p->lock);
	e->out->ended = true;
	e->in->unread = true;
	last = --p->open == 0;
	pair_unlock(p, true);
	if (last)
		free(p);
	return 0;
}

static const CCStreamBackend memory = {
    .read = read_memory,
    .write = write_memory,
    .wait = wait_memory,
    .shutdown = shutdown_memory,
    .close = close_memory,
};

/* ---- making ---- */

static struct memory_pair *new_pair(size_t size)
{
	struct memory_pair *p;

	if (size > SIZE_MAX / 4 || (p = calloc(1, sizeof *p + 2 * size)) == NULL)
		return NULL;
	p->size = size;
	p->open = 2;
	for (unsigned i = 0; i < 2; i++) {
		p->way[i].at = p->bytes + i * size;
		p->end[i] = (struct memory_end){p, &p->way[i], &p->way[1 - i]};
	}
	return p;
}

int cc_stream_pair(CCStream *ends[2], size_t size)
{
	struct memory_pair *p;

	if (ends == NULL)
		return EINVAL;
	if ((p = new_pair(size != 0 ? size : MEMORY_SIZE)) == NULL)
		return ENOMEM;
	if (cc_stream_new(&ends[0], &memory, &p->end[0]) != 0)
		goto free_pair;
	if (cc_stream_new(&ends[1], &memory, &p->end[1]) != 0)
		goto free_first;
	return 0;
free_first:
	free(ends[0]);
free_pair:
	free(p);
	return ENOMEM;
}
