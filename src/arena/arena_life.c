/* arena_life.c - the beginning and the end of an arena, its blocks, and its figures. */
#include <errno.h>

#include "os/fork.h"
#include "os/memory.h"
#include "sched/allocator.h"
#include "arena/arena.h"

enum { BLOCK = 64 << 10, STRETCH_MAX = 4096, LINE = 64 };

/* ---- blocks ---- */

struct cc__arena_block *cc__arena_block_new(const CCArena *a)
{
	struct cc__arena_block *b = a->allocator.alloc(a->allocator.context, a->block);

	if (b == NULL)
		return NULL;
	b->start = (char *)(b + 1);
	b->room = a->block - sizeof *b;
	cc__init(&b->used, 0);
	cc__memory_hide(b->start, b->room);
	return b;
}

void cc__arena_block_free(const CCArena *a, struct cc__arena_block *b)
{
	cc__memory_show(b->start, b->room);
	a->allocator.free(a->allocator.context, b, a->block);
}

static void free_spare(CCArena *a)
{
	struct cc__arena_block *b, *below;

	cc__lock(&a->lock, CC__RANK_POOL);
	b = a->spare;
	a->spare = NULL;
	cc__unlock(&a->lock);
	for (; b != NULL; b = below) {
		below = b->below;
		cc__arena_block_free(a, b);
	}
}

int cc_arena_trim(CCArena *a)
{
	if (a == NULL)
		return EINVAL;
	if (cc__forked())
		return ENOTSUP;
	cc__arena_check(a, "cc_arena_trim");
	free_spare(a);
	return 0;
}

/* ---- new and free ---- */

static size_t multiple(size_t n)
{
	return n & ~(CC_ARENA_ALIGN - 1);
}

/* False: nothing is left of the buffer. */
static bool use_buffer(CCArena *a, char *buffer, size_t size)
{
	const size_t gap = -(uintptr_t)buffer & (CC_ARENA_ALIGN - 1);

	if (size < gap + CC_ARENA_ALIGN)
		return false;
	a->fixed.start = buffer + gap;
	a->fixed.room = multiple(size - gap);
	cc__init(&a->current, &a->fixed);
	return true;
}

/* All but the memory it lies in and its allocator; the rest of it is zero. */
static bool init(CCArena *a, const CCArenaOptions *o)
{
	size_t room;

	if (o->buffer != NULL && !use_buffer(a, o->buffer, o->buffer_size))
		return false;
	a->block = o->buffer != NULL ? 0 : multiple(o->block != 0 ? o->block : BLOCK);
	room = o->buffer != NULL ? a->fixed.room : a->block - sizeof(struct cc__arena_block);
	a->large = multiple(room / 4);
	a->stretch = multiple(room / 16 < STRETCH_MAX ? room / 16 : STRETCH_MAX);
	a->small = multiple(a->stretch / 4);
	return true;
}

static bool makes_sense(const CCArenaOptions *o)
{
	if (o->buffer != NULL)
		return o->block == 0;
	return o->buffer_size == 0 && (o->block == 0 || (o->block >= CC_ARENA_BLOCK_MIN &&
	                                                 o->block <= CC_ARENA_BLOCK_MAX));
}

static void free_head(CCArena *a)
{
	a->allocator.free(a->allocator.context, a->memory, sizeof *a + LINE);
}

int cc_arena_create(CCArena **out, const CCArenaOptions *options)
{
	static const CCArenaOptions none;
	const CCAllocator *allocator;
	char *memory;
	CCArena *a;

	if (cc__forked())
		return ENOTSUP;
	if (options == NULL)
		options = &none;
	if (out == NULL || !makes_sense(options))
		return EINVAL;
	allocator = cc__allocator_of(options->runtime);
	if ((memory = allocator->alloc(allocator->context, sizeof *a + LINE)) == NULL)
		return ENOMEM;
	a = (void *)(memory + (-(uintptr_t)memory & (LINE - 1)));
	a->memory = memory;
	a->allocator = *allocator;
	if (!init(a, options)) {
		free_head(a);
		return EINVAL;
	}
	if (a->block == 0)
		cc__memory_hide(a->fixed.start, a->fixed.room);
	*out = a;
	return 0;
}

CCArena *cc_arena_new(void)
{
	CCArena *a;

	return cc_arena_create(&a, NULL) == 0 ? a : NULL;
}

/* Every call that can tell comes to cc__arena_check from now on. */
static void be_freed(CCArena *a)
{
	/* Relaxed, all: we are alone. */
	cc__store(&a->cursors, CC__ARENA_FREED, CC__RELAXED);
	cc__store(&a->marked, 1, CC__RELAXED);
	cc__store(&a->ends_there, 0, CC__RELAXED);
	a->top = NULL;
	a->fixed.room = 0;
	a->large = SIZE_MAX;	/* nothing has a block of its own */
}

int cc_arena_free(CCArena *a)
{
	if (cc__forked())
		return ENOTSUP;
	if (a == NULL)
		return 0;
	cc__arena_check(a, "a second cc_arena_free");
	if (cc__load(&a->cursors, CC__RELAXED) != 0)	/* Relaxed: a check, not an order */
		return EBUSY;
	cc__arena_rewind(a, a->block == 0 ? &a->fixed : NULL, 0, 0);
	free_spare(a);
	if (a->block == 0)
		cc__memory_show(a->fixed.start, a->fixed.room);
	be_freed(a);
	free_head(a);
	return 0;
}

/* ---- figures ---- */

/* What the blocks in use have; *carved is what lies below `used` in them. */
static void add_blocks(CCArena *a, CCArenaStats *s, size_t *carved)
{
	struct cc__arena_block *b = cc__load(&a->current, CC__RELAXED);	/* Relaxed: the lock */

	if (b != NULL)
		s->unused = b->room - cc__load(&b->used, CC__RELAXED);	/* Relaxed: a figure */
	for (; b != NULL; b = b->below) {
		s->blocks++;
		s->held += b->room;
		*carved += cc__load(&b->used, CC__RELAXED); /* Relaxed: a figure */
	}
	for (b = a->spare; b != NULL; b = b->below) {
		s->blocks++;
		s->held += b->room;
		s->unused += b->room;
	}
}

/* What threads have left of their stretches; *lost is what rounding took. */
static size_t left_in_slots(const CCArena *a, size_t *lost)
{
	size_t sum = 0;

	for (unsigned i = 0; i < CC__ARENA_SLOTS; i++) {
		/* Relaxed, all: figures.  Of two stretches they mean nothing, and of one, which
		 * may have been a cursor's, they are less than that. */
		const uintptr_t at = (uintptr_t)cc__load(&a->slot[i].at, CC__RELAXED);
		const uintptr_t end = (uintptr_t)cc__load(&a->slot[i].end, CC__RELAXED);

		sum += end - at <= a->large ? end - at : 0;
		*lost += cc__load(&a->slot[i].lost, CC__RELAXED);
	}
	return sum;
}

static void add_larges(const CCArena *a, CCArenaStats *s, size_t *lost)
{
	for (const struct cc__arena_large *l = a->larges; l != NULL; l = l->next) {
		s->blocks++;
		s->held += l->given;
		s->given += l->given;
		*lost += l->given - l->size;
	}
}

/* Figures of different moments may not add up. */
static size_t less(size_t from, size_t what)
{
	return from > what ? from - what : 0;
}

int cc_arena_stats(CCArena *a, CCArenaStats *out)
{
	CCArenaStats s = {0};
	size_t carved = 0, lost, left;

	if (a == NULL || out == NULL)
		return EINVAL;
	if (cc__forked())
		return ENOTSUP;
	cc__arena_check(a, "cc_arena_stats");
	cc__lock(&a->lock, CC__RANK_POOL);
	lost = cc__load(&a->lost, CC__RELAXED);	/* Relaxed, here and below: figures */
	left = left_in_slots(a, &lost) + a->listed;
	add_blocks(a, &s, &carved);
	add_larges(a, &s, &lost);
	cc__unlock(&a->lock);
	s.unused += left;
	s.given += less(carved, left + cc__load(&a->dropped, CC__RELAXED));
	s.asked = less(s.given, lost);
	s.waste = less(s.held, s.given + s.unused);
	*out = s;
	return 0;
}
