/* frame.c - frames: where they come from and how they are found. */
#include "task/frame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/slab.h"
#include "wait/host.h"

_Static_assert(sizeof(struct cc__fiber) == 128, "two cache lines: a million tasks are 128 MB");
_Static_assert(offsetof(struct cc__fiber, parker) == 0, "cc__fiber_of");
_Static_assert(sizeof((struct cc__fiber *)0)->payload.later <= CC__PAYLOAD - CC__NAME_MAX,
               "a name beside the timer");
_Static_assert(sizeof((struct cc__fiber *)0)->payload.child <= CC__PAYLOAD - CC__NAME_MAX,
               "a name beside what a child runs");

struct cc__slab cc__frame_slab = CC__SLAB_INIT(struct cc__fiber, next);

/* ---- pool ---- */

enum { DEPOT = 64 };

/* Where frames go from a worker that ends tasks to one that spawns them: whole stocks. */
static struct {
	struct cc__lock lock;
	unsigned count;				/* lock */
	struct cc__frame_stock stock[DEPOT];	/* lock */
} depot;

/* From one that has some to one that has none. */
static void move(struct cc__frame_stock *to, struct cc__frame_stock *from)
{
	cc__quiet_begin();
	memcpy(to->frame, from->frame, from->count * sizeof *from->frame);
	cc__quiet_end();
	to->count = from->count;
	from->count = 0;
}

static void slab_put(struct cc__frame_stock *s)
{
	for (unsigned i = 1; i < s->count; i++)
		s->frame[i - 1]->next = s->frame[i];
	cc__slab_put_chain(&cc__frame_slab, s->frame[0], s->frame[s->count - 1]);
	s->count = 0;
}

static void slab_get(struct cc__frame_stock *s)
{
	struct cc__fiber *f = cc__slab_get_chain(&cc__frame_slab, CC__FRAMES / 2, &s->count);

	for (unsigned i = 0; f != NULL; f = f->next)
		s->frame[i++] = f;
}

static void depot_put(struct cc__frame_stock *s)
{
	cc__lock(&depot.lock, CC__RANK_POOL);
	if (depot.count < DEPOT)
		move(&depot.stock[depot.count++], s);
	cc__unlock(&depot.lock);
	if (s->count > 0)
		slab_put(s);
}

static void depot_get(struct cc__frame_stock *s)
{
	cc__lock(&depot.lock, CC__RANK_POOL);
	if (depot.count > 0)
		move(s, &depot.stock[--depot.count]);
	cc__unlock(&depot.lock);
}

struct cc__fiber *cc__frame_more(struct cc__frame_cache *cache)
{
	if (cache == NULL)
		return cc__slab_get(&cc__frame_slab);
	if (cache->spare.count > 0)
		move(&cache->stock, &cache->spare);
	else
		depot_get(&cache->stock);
	if (cache->stock.count == 0)
		slab_get(&cache->stock);
	return cache->stock.count > 0 ? cc__frame_take(&cache->stock) : NULL;
}

/* There is no room for another. */
static __attribute__((noinline)) void make_room(struct cc__frame_cache *cache)
{
	if (cache->spare.count > 0)
		depot_put(&cache->spare);
	move(&cache->spare, &cache->stock);
}

void cc__frame_put_slowly(struct cc__frame_cache *cache, struct cc__fiber *f)
{
	if (cache == NULL) {
		cc__slab_put(&cc__frame_slab, f);
		return;
	}
	if (cache->stock.count == CC__FRAMES)
		make_room(cache);
	cache->stock.frame[cache->stock.count++] = f;
}

void cc__frame_cache_flush(struct cc__frame_cache *cache)
{
	if (cache->stock.count > 0)
		depot_put(&cache->stock);
	if (cache->spare.count > 0)
		depot_put(&cache->spare);
}

size_t cc__frames_made(void)
{
	return cc__slab_made(&cc__frame_slab);
}

/* ---- who is there ---- */

void cc__fiber_name_of(const struct cc__fiber *f, struct cc__name *name)
{
	if (f->home & CC__HOME_NAMED)
		memcpy(name->text, f->payload.bytes + CC__PAYLOAD - CC__NAME_MAX, CC__NAME_MAX);
	else
		cc__place_name(cc__fiber_place(f), name->text, sizeof name->text);
}

struct cc__debug_name cc__debug_name(const void *who)
{
	const struct cc__fiber *f = who;
	struct cc__debug_name n = {"somebody"};

	if (who == NULL)
		return n;
	/* Relaxed, both: a stale number is allowed. */
	if (cc__word_is_thread(cc__load(&f->parker.word, CC__RELAXED)))
		snprintf(n.text, sizeof n.text, "thread %p", who);
	else
		snprintf(n.text, sizeof n.text, "task %llu",
		         (unsigned long long)cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID);
	return n;
}

uint64_t cc__frame_hold(struct cc__fiber *f)
{
	uint64_t h = cc__load(&f->handle, CC__RELAXED);	/* Relaxed: the exchange decides */

	/* Acquire: the frame, from cc__frame_show or cc__later_set. */
	while (h != 0 && !(h & CC__HANDLE_WAITED) &&
	       !cc__cas_weak(&f->handle, &h, h | CC__HANDLE_WAITED, CC__ACQUIRE, CC__RELAXED))
		continue;
	return h & CC__HANDLE_ID;
}

void cc__frames_walk(bool (*visit)(void *frame, void *arg), void *arg)
{
	cc__slab_walk(&cc__frame_slab, visit, arg);
}
