/* life.c - the beginning and the end of a channel. */
#include <errno.h>
#include <string.h>

#include "chan/buffered.h"
#include "chan/progress.h"
#include "chan/settings.h"
#include "chan/watch.h"
#include "os/fork.h"
#include "os/tools.h"
#include "sched/allocator.h"

/* ---- which kind ---- */

static bool owned_makes_sense(const CCChanOptions *o, size_t size, size_t capacity)
{
	return o->create != NULL && o->drop == NULL && o->mode == CC_CHAN_MODE_BLOCK &&
	       capacity > 0 && size <= CC_CHAN_DROP_MAX;
}

/* Below that the lock and its hand-over are quicker than a ring: with few places nearly
 * every operation meets somebody who waits, and a ring moves one element for each sleep
 * where a hand-over moves two and a buffer full. */
enum { RING_LEAST = 8 };

static const struct cc__chan_kind *plain(const CCChanOptions *o, size_t capacity, bool locked)
{
	const bool drop_old = o->mode == CC_CHAN_MODE_DROP_OLD;

	if (locked || capacity < RING_LEAST)
		return drop_old ? &cc__locked_drop_old : &cc__locked;
	return drop_old ? &cc__buffered_drop_old : &cc__buffered;
}

/* NULL: the options do not go together. */
static const struct cc__chan_kind *kind_of(const CCChanOptions *o, size_t size, size_t capacity)
{
	const bool drop_old = o->mode == CC_CHAN_MODE_DROP_OLD;

	if ((unsigned)o->mode > CC_CHAN_MODE_DROP_OLD ||
	    (drop_old && (capacity == 0 || (o->drop != NULL && size > CC_CHAN_DROP_MAX))))
		return NULL;
	switch (o->kind) {
	case CC_CHAN_KIND_PLAIN:
		return plain(o, capacity, cc__chan_settings() & CC__CHAN_LOCKED);
	case CC_CHAN_KIND_SYNC:
		return plain(o, capacity, true);
	case CC_CHAN_KIND_OWNED:
		return owned_makes_sense(o, size, capacity) ? &cc__owned : NULL;
	case CC_CHAN_KIND_ORDERED:
		return size >= sizeof(CCTask) && !drop_old ? &cc__ordered : NULL;
	case CC_CHAN_KIND_BROADCAST:
		return capacity > 0 && o->drop == NULL ? &cc__broadcast : NULL;
	case CC_CHAN_KIND_WATCH:
		return capacity == 1 && o->drop == NULL && o->mode == CC_CHAN_MODE_BLOCK
		           ? &cc__broadcast
		           : NULL;
	}
	return NULL;
}

/* ---- memory ---- */

/* Slots for `capacity` elements.  False: no memory. */
static bool get_slots(CCChan *c)
{
	static char none;

	c->bytes = c->kind->slot(c->size) * c->capacity;
	c->slots = c->bytes == 0 ? &none : c->allocator.alloc(c->allocator.context, c->bytes);
	return c->slots != NULL;
}

static void put_slots(CCChan *c)
{
	if (c->bytes > 0)
		c->allocator.free(c->allocator.context, c->slots, c->bytes);
}

/* ---- new and free ---- */

CCChan *cc__chan_make(const struct cc__chan_kind *kind, size_t size, size_t capacity,
                      const CCChanOptions *o, uintptr_t place)
{
	CCChan *c = cc__slab_get(kind->heads);

	if (c == NULL)
		return NULL;
	/* Lock and lists are as the one before left them: free and empty (C4). */
	c->kind = kind;
	c->size = (uint32_t)size;
	c->capacity = capacity;
	c->mode = o->mode;
	c->options = *o;
	c->allocator = *cc__allocator_of(o->runtime);
	c->guard = NULL;
	c->place = place;
	cc__place_name(place, c->name, sizeof c->name);
	if (o->name != NULL)
		memcpy(c->name, o->name, strlen(o->name) + 1);
	if (!get_slots(c)) {
		cc__slab_put(kind->heads, c);
		return NULL;
	}
	/* Relaxed: no other thread has it yet. */
	cc__store(&c->watch,
	          (uint16_t)((cc__chan_settings() & ~(unsigned)CC__CHAN_LOCKED) |
	                     (cc__tools_order() ? CC__CHAN_ORDER : 0)),
	          CC__RELAXED);
	kind->init(c);
	if (cc__chan_watch(c) != 0 && !cc__chan_made(c)) {
		put_slots(c);
		cc__slab_put(kind->heads, c);
		return NULL;
	}
	cc__lock(&c->lock, CC__RANK_WAITQ);
	c->alive = true;
	cc__chan_choose_way(c);
	cc__unlock(&c->lock);
	return c;
}

int cc__chan_create(CCChan **out, size_t size, size_t capacity, const CCChanOptions *options,
                    uintptr_t place)
{
	static const CCChanOptions none;
	const struct cc__chan_kind *kind;

	if (cc__forked())
		return ENOTSUP;
	if (options == NULL)
		options = &none;
	if (out == NULL || size > CC_CHAN_SIZE_MAX || capacity > CC_CHAN_CAPACITY_MAX ||
	    (options->name != NULL && strlen(options->name) >= sizeof(*out)->name) ||
	    (kind = kind_of(options, size, capacity)) == NULL)
		return EINVAL;
	/* Before anybody uses the pair (R3).
	 * mutant: delete cc__fence_heavy_start survives: light and heavy stay full fences. */
	cc__fence_heavy_start();
	*out = cc__chan_make(kind, size, capacity, options, place);
	return *out != NULL ? 0 : ENOMEM;
}

int cc_chan_create(CCChan **out, size_t size, size_t capacity, const CCChanOptions *options)
{
	return cc__chan_create(out, size, capacity, options, CC__PLACE_HERE());
}

CCChan *cc_chan_new(size_t size, size_t capacity)
{
	CCChan *c;

	return cc__chan_create(&c, size, capacity, NULL, CC__PLACE_HERE()) == 0 ? c : NULL;
}

CCChan *cc_chan_at(size_t size, size_t capacity, const CCChanOptions *options, const char *place)
{
	CCChan *c;

	return cc__chan_create(&c, size, capacity, options, cc__place_of(place)) == 0 ? c : NULL;
}

/* Somebody waits, or is seen to be at work. */
static bool in_use(CCChan *c)
{
	bool used;

	cc__lock(&c->lock, CC__RANK_WAITQ);
	while (c->telling) {	/* never parks, so it is on its way (C4) */
		/* mutant: swap cc__unlock survives: the close only takes longer. */
		cc__unlock(&c->lock);
		CC_POINT("chan.free_waits", c);
		/* mutant: delete cc__thread_yield, swap cc__lock survive: as above. */
		cc__thread_yield();
		cc__lock(&c->lock, CC__RANK_WAITQ);
	}
	/* mutant: swap cc__unlock survives: those whom only the lock shows may not be there. */
	used = c->wait[CC__SEND].head != NULL || c->wait[CC__RECV].head != NULL ||
	       (c->kind->busy != NULL && c->kind->busy(c));
	cc__unlock(&c->lock);
	return used;
}

int cc_chan_free(CCChan *c)
{
	if (cc__forked())
		return ENOTSUP;
	if (c == NULL)
		return 0;
	if (in_use(c))
		return EBUSY;
	c->kind->empty(c);
	put_slots(c);
	if (cc__chan_watch(c) & ~(unsigned)CC__CHAN_PROBED)
		cc__chan_freed(c);
	else
		cc__chan_give_back(c);
	return 0;
}
