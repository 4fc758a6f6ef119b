/* arena.c - carving: from a stretch, from the block, from the next block. */
#include "arena/arena.h"

#include <errno.h>

#include "os/fork.h"
#include "os/memory.h"

/* ---- the block ---- */

/* Between least and most bytes of b; NULL: there is less. */
static char *take(CCArena *a, struct cc__arena_block *b, size_t least, size_t most, size_t align,
                  size_t *got)
{
	uint64_t used = cc__load(&b->used, CC__RELAXED);	/* Relaxed: the exchange tells */

	for (;;) {
		const size_t left = b->room - used;
		const size_t gap = -(uintptr_t)(b->start + used) & (align - 1);

		if (left < gap || left - gap < least)
			return NULL;
		*got = left - gap < most ? left - gap : most;
		/* Relaxed: nobody has written above `used` since the block was made current, or
		 * since somebody was alone; what is given back was never used (N1). */
		if (!cc__cas_weak(&b->used, &used, used + gap + *got, CC__RELAXED, CC__RELAXED))
			continue;
		if (gap > 0)
			cc__add(&a->dropped, gap, CC__RELAXED);	/* Relaxed: a figure */
		return b->start + used + gap;
	}
}

/* Under the lock. */
static void make_current(CCArena *a, struct cc__arena_block *b)
{
	b->below = cc__load(&a->current, CC__RELAXED);	/* Relaxed: under the lock */
	/* Release: the block's head, to the acquire in cc__arena_carve. */
	cc__store(&a->current, b, CC__RELEASE);
}

/* One more may have been made, which is spare.  A spare one is made current, unless somebody
 * was faster.  True: `seen` is not current. */
static bool replace(CCArena *a, const struct cc__arena_block *seen, struct cc__arena_block *made)
{
	bool moved;

	cc__lock(&a->lock, CC__RANK_POOL);
	moved = cc__load(&a->current, CC__RELAXED) != seen;	/* Relaxed: under the lock */
	if (made != NULL) {
		made->below = a->spare;
		a->spare = made;
	}
	if (!moved && a->spare != NULL) {
		struct cc__arena_block *b = a->spare;

		a->spare = b->below;
		make_current(a, b);
		moved = true;
	}
	cc__unlock(&a->lock);
	return moved;
}

/* There is too little in `seen`.  False: no memory. */
static bool grow(CCArena *a, const struct cc__arena_block *seen)
{
	cc__arena_check(a, "an allocation");
	if (a->block == 0)
		return false;
	/* Made without the lock: the allocator is the user's.  Of two that are made at the
	 * same time one is spare. */
	return replace(a, seen, NULL) || replace(a, seen, cc__arena_block_new(a));
}

char *cc__arena_carve(CCArena *a, size_t least, size_t most, size_t align, size_t *got)
{
	for (;;) {
		/* Acquire: pairs with the release in make_current. */
		struct cc__arena_block *b = cc__load(&a->current, CC__ACQUIRE);
		char *p = b != NULL ? take(a, b, least, most, align, got) : NULL;

		if (p != NULL)
			return p;
		if (!grow(a, b))
			return NULL;
	}
}

/* When there is no memory: of what others have left. */
static char *from_end(CCArena *a, size_t need, size_t align)
{
	struct cc__stretch s;
	char *p;

	if (align > CC_ARENA_ALIGN || !cc__arena_unlist_end(a, need, &s))
		return NULL;
	p = s.at;
	s.at += need;
	cc__arena_list_end(a, &s);
	return p;
}

void *cc__arena_direct(CCArena *a, size_t size, size_t need, size_t align)
{
	size_t got;
	char *p;

	if (a->block != 0 && need + align > a->large)
		return cc__arena_large_new(a, size, need, align);
	if ((p = cc__arena_carve(a, need, need, align, &got)) == NULL &&
	    (p = from_end(a, need, align)) == NULL)
		return NULL;
	if (need != size)
		cc__add(&a->lost, need - size, CC__RELAXED);	/* Relaxed: a figure */
	cc__memory_show(p, size);
	return p;
}

/* ---- stretches ---- */

void cc__arena_give_end(CCArena *a, struct cc__stretch *s)
{
	/* Acquire: as in cc__arena_carve. */
	struct cc__arena_block *b = cc__load(&a->current, CC__ACQUIRE);
	uint64_t end;

	if (s->at == s->end || (uintptr_t)s->end - (uintptr_t)b->start > b->room)
		return;
	end = (uint64_t)(s->end - b->start);
	if (cc__cas(&b->used, &end, (uint64_t)(s->at - b->start), CC__RELAXED,
	            CC__RELAXED)) /* Relaxed: as in take */
		s->at = s->end;
}

/* A new one with `need` bytes or more, about `most`.  False: no memory; it has what it had,
 * or gave that back and is empty. */
static bool refill(CCArena *a, struct cc__stretch *s, size_t need, size_t most)
{
	struct cc__stretch next;
	size_t got;

	cc__arena_give_end(a, s);
	if (!cc__arena_unlist_end(a, need, &next)) {
		if ((next.at = cc__arena_carve(a, need, most, CC_ARENA_ALIGN, &got)) == NULL)
			return false;
		next.end = next.at + got;
	}
	cc__arena_list_end(a, s);
	*s = next;
	return true;
}

/* ---- the stretch of a thread ---- */

/* Records lie side by side: those of a few workers have different slots. */
static struct cc__arena_slot *slot_for(CCArena *a, const struct cc__thread *t)
{
	return &a->slot[(uintptr_t)t / sizeof *t % CC__ARENA_SLOTS];
}

/* `need` bytes of our slot; NULL: there is less. */
static inline char *cut(struct cc__arena_slot *s, size_t size, size_t need)
{
	/* Relaxed, all: nobody else writes them. */
	char *p = cc__load(&s->at, CC__RELAXED);

	if (need - 1 >= (uintptr_t)cc__load(&s->end, CC__RELAXED) - (uintptr_t)p)
		return NULL;
	cc__store(&s->at, p + need, CC__RELAXED);
	if (need != size)
		cc__store(&s->lost, cc__load(&s->lost, CC__RELAXED) + (need - size), CC__RELAXED);
	cc__memory_show(p, size);
	return p;
}

/* The calling thread's, claimed if it is nobody's; NULL: it is another one's. */
static struct cc__arena_slot *own_slot(CCArena *a)
{
	const struct cc__thread *t = cc__thread_self(), *owner = NULL;
	struct cc__arena_slot *s;

	if (t == NULL)
		return NULL;
	s = slot_for(a, t);
	/* Relaxed: it is empty, and what was before it came to the caller some other way; a
	 * record that was another thread's came through the lock of its slab. */
	if (cc__load(&s->owner, CC__RELAXED) == t ||
	    cc__cas(&s->owner, &owner, t, CC__RELAXED, CC__RELAXED))
		return s;
	return NULL;
}

static void *from_slot(CCArena *a, struct cc__arena_slot *slot, size_t size, size_t need)
{
	/* Relaxed, here and below: nobody else writes them. */
	struct cc__stretch s = {cc__load(&slot->at, CC__RELAXED),
	                        cc__load(&slot->end, CC__RELAXED)};
	const bool filled = (uintptr_t)s.end - (uintptr_t)s.at >= need ||
	                    refill(a, &s, need, a->stretch);

	cc__store(&slot->at, s.at, CC__RELAXED);
	cc__store(&slot->end, s.end, CC__RELAXED);
	return filled ? cut(slot, size, need) : NULL;
}

void cc__arena_clear_slots(CCArena *a)
{
	for (unsigned i = 0; i < CC__ARENA_SLOTS; i++) {
		struct cc__arena_slot *slot = &a->slot[i];
		struct cc__stretch s = {cc__peek(&slot->at), cc__peek(&slot->end)};

		cc__arena_give_end(a, &s);
		/* Relaxed, all: we are alone. */
		cc__add(&a->dropped, (uintptr_t)s.end - (uintptr_t)s.at, CC__RELAXED);
		cc__add(&a->lost, cc__peek(&slot->lost), CC__RELAXED);
		cc__store(&slot->owner, NULL, CC__RELAXED);
		cc__store(&slot->at, NULL, CC__RELAXED);
		cc__store(&slot->end, NULL, CC__RELAXED);
		cc__store(&slot->lost, 0, CC__RELAXED);
	}
}

/* ---- what users call ---- */

static __attribute__((noinline)) void *allocate(CCArena *a, size_t size, size_t align)
{
	const size_t need = cc__arena_need(size);
	struct cc__arena_slot *slot;

	if (need == 0 || cc__forked())
		return NULL;
	if (a->block != 0 && align == CC_ARENA_ALIGN && need <= a->small &&
	    (slot = own_slot(a)) != NULL)
		return from_slot(a, slot, size, need);
	return cc__arena_direct(a, size, need, align);
}

void *cc_arena_alloc(CCArena *a, size_t size)
{
	const struct cc__thread *t = cc__tls_get();
	struct cc__arena_slot *slot = slot_for(a, t);
	const size_t need = (size + CC_ARENA_ALIGN - 1) & ~(CC_ARENA_ALIGN - 1);
	char *p = NULL;

	/* Relaxed: only we make it ours.  One that is nobody's is empty. */
	if (__builtin_expect(cc__load(&slot->owner, CC__RELAXED) == t, 1))
		p = cut(slot, size, need);
	return __builtin_expect(p != NULL, 1) ? p : allocate(a, size, CC_ARENA_ALIGN);
}

int cc_arena_alloc_aligned(CCArena *a, size_t size, size_t align, void **out)
{
	if (a == NULL || out == NULL || align == 0 || (align & (align - 1)) != 0 ||
	    align > CC_ARENA_ALIGN_MAX)
		return EINVAL;
	*out = align <= CC_ARENA_ALIGN ? cc_arena_alloc(a, size) : allocate(a, size, align);
	return *out != NULL ? 0 : ENOMEM;
}

/* ---- cursors ---- */

CCArenaCursor cc_arena_cursor(CCArena *a)
{
	/* Any place that is not NULL, with nothing behind it. */
	CCArenaCursor c = {.at = (char *)a, .end = (char *)a, .next = a->stretch, .arena = a};

	cc__add(&a->cursors, 1, CC__RELAXED);	/* Relaxed: for who is alone */
	return c;
}

CCArenaCursor cc_arena_refill(CCArenaCursor c, size_t size)
{
	const size_t need = cc__arena_need(size);
	struct cc__stretch s = {c.at, c.end};

	c.got = NULL;
	if (need == 0 || cc__forked())
		return c;
	/* Tools that watch memory are told of each allocation by itself. */
	if (CC__MEMORY_WATCHED || need > c.arena->small) {
		c.got = cc__arena_direct(c.arena, size, need, CC_ARENA_ALIGN);
		return c;
	}
	if (refill(c.arena, &s, need, c.next)) {
		c.got = s.at;
		s.at += need;
		c.lost += need - size;
		/* Who comes often takes more at a time. */
		c.next = c.next * 2 < c.arena->large ? c.next * 2 : c.next;
	}
	c.at = s.at;
	c.end = s.end;
	return c;
}

void cc_arena_done(CCArenaCursor c)
{
	struct cc__stretch s = {c.at, c.end};

	if (cc__forked())
		return;
	if (c.lost > 0)
		cc__add(&c.arena->lost, c.lost, CC__RELAXED);	/* Relaxed: a figure */
	cc__arena_give_end(c.arena, &s);
	cc__arena_list_end(c.arena, &s);
	cc__sub(&c.arena->cursors, 1, CC__RELAXED);	/* Relaxed: for who is alone */
}
