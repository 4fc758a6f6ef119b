/* trace_rings.c - making rings, taking them and giving them back. */
#include "monitor/trace_rings.h"

#include <unistd.h>

#include "os/trace.h"
#include "os/pages.h"

static CC__ATOMIC(struct cc__trace_ring *) rings;
static cc__a32 ring_count;
static cc__a64 dropped;
static cc__a64 ring_size = {CC__TRACE_EVENTS};

void cc__trace_rings_size(uint64_t events)
{
	uint64_t size = CC__TRACE_EVENTS_LEAST;

	while (size < events && size < CC__TRACE_EVENTS_MOST)
		size *= 2;
	cc__store(&ring_size, size, CC__RELAXED);	/* Relaxed: a number */
}

struct cc__trace_ring *cc__trace_rings(void)
{
	return cc__load(&rings, CC__ACQUIRE);	/* Acquire: the ring, from make_ring */
}

uint64_t cc__trace_rings_dropped(void)
{
	return cc__load(&dropped, CC__RELAXED);	/* Relaxed: a number */
}

/* A ring whose thread has ended. */
static struct cc__trace_ring *take_ring(unsigned worker, const void *home)
{
	for (struct cc__trace_ring *r = cc__trace_rings(); r != NULL; r = r->next) {
		uint32_t taken = 0;

		/* Acquire: what the thread before us wrote, from the release in give_ring_back. */
		if (r->worker == worker && r->home == home &&
		    cc__cas(&r->taken, &taken, 1, CC__ACQUIRE, CC__RELAXED))
			return r;
	}
	return NULL;
}

static void give_ring_back(void *ring)
{
	struct cc__trace_ring *r = ring;

	r->parking = r->waits_for = NULL;
	cc__store(&r->taken, 0, CC__RELEASE);	/* Release: to the acquire in take_ring */
}

static struct cc__trace_ring *make_ring(unsigned worker, const void *home)
{
	const uint64_t size = cc__load(&ring_size, CC__RELAXED);	/* Relaxed: a number */
	struct cc__trace_ring *r = cc__pages_map(sizeof *r + size * sizeof *r->cell);

	if (r == NULL)
		return NULL;
	r->cell = (struct cc__trace_cell *)(void *)(r + 1);
	r->size = size;
	r->worker = worker;
	r->home = home;
	r->last = (uint64_t)cc__now();
	cc__init(&r->taken, 1);
	r->number = cc__add(&ring_count, 1, CC__RELAXED) + 1;	/* Relaxed: a number */
	r->next = cc__load(&rings, CC__RELAXED);		/* Relaxed: the exchange decides */
	/* Release: the ring, to the acquire in cc__trace_rings. */
	while (!cc__cas_weak(&rings, &r->next, r, CC__RELEASE, CC__RELAXED))
		continue;
	return r;
}

struct cc__trace_ring *cc__trace_ring_here(unsigned worker, const void *home)
{
	struct cc__trace_ring *r = cc__trace_slot();

	if (r != NULL)
		return r;
	if ((r = take_ring(worker, home)) == NULL && (r = make_ring(worker, home)) == NULL) {
		cc__add(&dropped, 1, CC__RELAXED);	/* Relaxed: a number */
		return NULL;
	}
	cc__store(&r->thread, (uint32_t)gettid(), CC__RELAXED);	/* Relaxed: for people */
	cc__trace_slot_set(r, give_ring_back);
	return r;
}
