/* arena.h - an arena from inside: blocks, stretches, pieces and marks.
 *
 *     block     [ given ... | stretch of a thread | given | stretch of a cursor | free ... ]
 *                                                                               ^ used
 *
 * N1  What lies below `used` of a block is somebody's, what lies above is nobody's and
 *     unwritten.  An exchange moves `used` up; down moves it only who has the topmost
 *     stretch, from the end of that to where it still is unused.
 * N2  A stretch is one thread's (a slot) or one cursor's, who hands out of it without
 *     asking anybody.  A slot is used between two switches of a fiber, never across one.
 * N3  Blocks are added under the lock and leave only when the caller is alone (rewind), so
 *     whoever holds `current` of a moment ago may still carve from it.
 * N4  While a mark is open nothing is listed and nothing taken from a list: what is listed
 *     lies before every mark.
 *
 * arena.c carves, arena_piece.c has what comes back by itself, arena_mark.c goes back, and
 * arena_life.c has the beginning, the end and the figures. */
#ifndef CC__ARENA_ARENA_H
#define CC__ARENA_ARENA_H

#include <ccc/arena.h>

#include "base/freed.h"
#include "base/lock.h"
#include "wait/thread.h"

struct cc__arena_block {
	struct cc__arena_block *below;	/* constant while it is `current` or below that */
	char *start;			/* constant; aligned to CC_ARENA_ALIGN */
	size_t room;			/* constant; a multiple of that */
	cc__a64 used;			/* anyone (N1) */
	char apart[32];			/* what follows in memory is the users' */
};

/* Too much for a block: memory of its own, this head right before the allocation. */
struct cc__arena_large {
	struct cc__arena_large *next, *before;	/* lock */
	uint64_t serial;			/* constant; larger than those made before it */
	size_t size, given;			/* constant: asked for, and rounded */
	void *memory;				/* constant: the allocator's ... */
	size_t bytes;				/* ... and how much */
	char *at;				/* constant: the allocation */
};

/* Memory that nobody uses begins with one. */
struct cc__arena_free {
	struct cc__arena_free *next;	/* lock */
	size_t sealed;			/* lock; its size, as nobody else would write it */
};

/* Lies in the arena itself, after the place that it names. */
struct cc__arena_mark {
	struct cc__arena_mark *below;
	uint64_t id;
	const struct cc__parker *who;	/* made it */
	struct cc__arena_block *block;	/* current then; NULL: there was none */
	uint64_t used;			/* of it */
	uint64_t serial;		/* of the next large one */
	uint64_t lost, dropped;
};

/* A thread's stretch.  The owner's, but for the claim and who looks for the figures. */
struct cc__arena_slot {
	CC__ATOMIC(const struct cc__thread *) owner;	/* NULL: nobody's, and at is end */
	CC__ATOMIC(char *) at;
	CC__ATOMIC(char *) end;
	cc__a64 lost;			/* to rounding, since the claim */
	char apart[32];
};

enum {
	CC__ARENA_SLOTS = 8,
	CC__ARENA_CLASSES = 52,
	CC__ARENA_CLASS_MAX = 1 << 18,	/* bytes of the last class */
};
#define CC__ARENA_FREED UINT32_C(0xf4eea4e0)	/* or more: no arena has so many cursors */

struct CCArena {
	struct cc__arena_slot slot[CC__ARENA_SLOTS];	/* first: each in a line of its own */

	CCAllocator allocator;		/* constant, as are those down to `fixed` */
	void *memory;			/* the allocator's, for this head */
	size_t block;			/* bytes of a block with its head; 0: only `fixed` */
	size_t stretch;			/* bytes of one */
	size_t small;			/* most that is cut from a stretch */
	size_t large;			/* more than that has a block of its own */

	/* Written under the lock, by who is alone without it; the chain below it grows only. */
	CC__ATOMIC(struct cc__arena_block *) current;
	cc__a32 cursors;		/* anyone: how many there are; CC__ARENA_FREED after its free */
	cc__a64 lost;			/* anyone: to rounding, but for what slots and larges know */
	cc__a64 dropped;		/* anyone: ends of stretches, gaps, marks */

	struct cc__lock lock;
	struct cc__arena_block *spare;	/* lock; all of one size, unused */
	struct cc__arena_large *larges;	/* lock; newest first */
	uint64_t serial;		/* lock; of the next */
	size_t listed;			/* lock; bytes in the two below */
	struct cc__arena_free *ends;	/* lock; of stretches; any size */
	struct cc__arena_free *piece[CC__ARENA_CLASSES];	/* lock; by their size */
	cc__a32 ends_there;		/* written under the lock: whether to look */

	cc__a32 marked;			/* who is alone writes it: whether a mark is open */
	struct cc__arena_mark *top;	/* who is alone */
	uint64_t marks;			/* who is alone; made so far */
	struct cc__arena_block fixed;	/* the caller's buffer */
};

/* On slow paths: reports a use after the free.  The memory is the allocator's then, so this is no
 * more than an attempt. */
static inline void cc__arena_check(const CCArena *a, const char *call)
{
	/* Relaxed: a check, not an order. */
	if (__builtin_expect(cc__load(&a->cursors, CC__RELAXED) >= CC__ARENA_FREED, 0))
		cc__freed("arena", a, "", call);
}

/* Bytes that an allocation takes; 0 for what can never be had. */
static inline size_t cc__arena_need(size_t size)
{
	if (size > SIZE_MAX >> 16)
		return 0;
	return size == 0 ? CC_ARENA_ALIGN : (size + CC_ARENA_ALIGN - 1) & ~(CC_ARENA_ALIGN - 1);
}

/* A stretch, in nobody's sight. */
struct cc__stretch {
	char *at, *end;
};

/* arena.c: between `least` and `most` bytes of the current block, or the next; *got says
 * how many.  NULL: no memory. */
char *cc__arena_carve(CCArena *a, size_t least, size_t most, size_t align, size_t *got);
/* An allocation that comes from nobody's stretch. */
void *cc__arena_direct(CCArena *a, size_t size, size_t need, size_t align);
/* Back to the block if nothing lies above it; it is empty then. */
void cc__arena_give_end(CCArena *a, struct cc__stretch *s);
/* By who is alone: no slot has an owner.  What they had left goes back or is dropped. */
void cc__arena_clear_slots(CCArena *a);

/* arena_piece.c: what nobody will use is listed, or dropped. */
void cc__arena_list_end(CCArena *a, const struct cc__stretch *s);
/* One of them with that much; false: none at hand. */
bool cc__arena_unlist_end(CCArena *a, size_t least, struct cc__stretch *s);
/* Memory of its own. */
void *cc__arena_large_new(CCArena *a, size_t size, size_t need, size_t align);
/* Give back those made from that one on.  By who is alone. */
void cc__arena_free_larges(CCArena *a, uint64_t from);

/* arena_mark.c: back to that place.  By who is alone. */
void cc__arena_rewind(CCArena *a, struct cc__arena_block *to, uint64_t used, uint64_t serial);

/* arena_life.c: a block, unused and in no list; NULL: no memory. */
struct cc__arena_block *cc__arena_block_new(const CCArena *a);
void cc__arena_block_free(const CCArena *a, struct cc__arena_block *b);

#endif
