/* arena.h - an arena: memory that is handed out by moving a pointer, and given back at once.
 *
 *	CCArena *arena = cc_arena_new();
 *
 *	struct node *n = cc_arena_alloc(arena, sizeof *n);	any thread, any fiber
 *	char *text = cc_arena_alloc(arena, length + 1);
 *	...
 *	cc_arena_reset(arena);		all of it is free again, the blocks are kept
 *	cc_arena_free(arena);
 *
 * It grows by blocks, or stays within a buffer of the caller's.  Any number of fibers
 * and OS threads may allocate from one arena at the same time: each thread has a
 * stretch of the block to itself, and takes the next one without a lock.  Who allocates
 * very often and little each time takes a cursor, which costs what a bare pointer does:
 *
 *	CCArenaCursor c = cc_arena_cursor(arena);	for one fiber or thread
 *
 *	for (int i = 0; i < count; i++)
 *		list = push(cc_arena_take(&c, sizeof(struct node)), list);
 *	cc_arena_done(c);
 *
 * Allocations are aligned to 16 bytes and hold anything at first.  Size 0 is a size like
 * any other: the address is the caller's alone, and nothing may be stored there.
 *
 * One call of mark, keep, restore, reset or free must be alone: no other call on the arena
 * is in progress meanwhile.  What can be found out of that is refused with EBUSY or EPERM. */
#ifndef CCC_ARENA_H
#define CCC_ARENA_H

#include <ccc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CCArena CCArena;

#define CC_ARENA_ALIGN ((size_t)16)		/* of every allocation */
#define CC_ARENA_ALIGN_MAX ((size_t)4096)	/* that can be asked for */
#define CC_ARENA_BLOCK_MIN ((size_t)1024)
#define CC_ARENA_BLOCK_MAX ((size_t)1 << 20)

/* All zero is the default. */
typedef struct CCArenaOptions {
	CCRuntime *runtime;	/* whose allocator the memory comes from, and which must outlive
				 * the arena; NULL: malloc's */
	size_t block;		/* bytes of a block, CC_ARENA_BLOCK_MIN to CC_ARENA_BLOCK_MAX;
				 * 0: 64 KB */
	void *buffer;		/* allocations come from here and from nowhere else, to the last
				 * byte, each by an atomic exchange; NULL: the arena grows */
	size_t buffer_size;	/* of it; what its alignment leaves of it counts */
} CCArenaOptions;

/* The head is allocated, the first block with the first allocation.  EINVAL: no out, or
 * options that make no sense; ENOMEM.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_arena_create(CCArena **out, const CCArenaOptions *options);
/* With the defaults.  NULL: no memory. */
CC_API CC_MUST_CHECK CCArena *cc_arena_new(void);

/* With everything in it.  EBUSY, and nothing is freed: somebody has a cursor.  0 for NULL.
 * Any thread, alone; never parks.
 *
 * The memory goes back to the allocator.  As long as that leaves it alone, a later call on the
 * arena stops the program with a message that names it, or fails with EINVAL; otherwise the
 * behaviour is undefined, as is any use of what was allocated from it, and
 * AddressSanitizer or Valgrind report it. */
CC_API int cc_arena_free(CCArena *arena);

/* ---- allocating ---- */

/* NULL: no memory; the arena is as before.  Any thread; never parks. */
CC_API CC_MUST_CHECK void *cc_arena_alloc(CCArena *arena, size_t size);

/* The same for a power of two up to CC_ARENA_ALIGN_MAX.  EINVAL: another one, no arena or
 * no out; ENOMEM.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_arena_alloc_aligned(CCArena *arena, size_t size, size_t align,
                                                void **out);

/* A piece that can be given back by itself, for what outlives much else in an arena that
 * is never reset: what is put back is used for later pieces of about its size (25 % larger
 * at most).  Under a short lock.  Put is told the size that was asked for.  While a mark
 * is open, pieces are allocated like anything else, and those put back stay unused, and
 * count as given, until the next reset.  EINVAL: no arena, no out, not a piece, or one that
 * was put back already, as far as that can be seen; ENOMEM.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_arena_get(CCArena *arena, size_t size, void **out);
CC_API int cc_arena_put(CCArena *arena, void *piece, size_t size);

/* ---- a cursor ---- */

/* One user's own place in an arena: a fiber may take it along wherever it runs.  Do not
 * copy it.  Best a local variable, so that it lives in registers.  The fields are the
 * library's. */
typedef struct CCArenaCursor {
	char *at, *end;
	size_t lost, next;
	void *got;
	CCArena *arena;
} CCArenaCursor;

/* Takes no memory yet.  Any thread; never parks. */
CC_API CCArenaCursor cc_arena_cursor(CCArena *arena);
/* What the cursor has not handed out is for others.  The last use of it, by who has it; never
 * parks. */
CC_API void cc_arena_done(CCArenaCursor cursor);

/* The cursor has too little: the allocation is `got` of what is returned. */
CC_API CCArenaCursor cc_arena_refill(CCArenaCursor cursor, size_t size);

/* As cc_arena_alloc.  Who has the cursor; never parks. */
static inline CC_MUST_CHECK void *cc_arena_take(CCArenaCursor *c, size_t size)
{
	const size_t need = (size + (CC_ARENA_ALIGN - 1)) & ~(CC_ARENA_ALIGN - 1);
	char *const p = c->at;

	/* need is 0 for 0 and for what is far too much: neither is less. */
	if (__builtin_expect(need - 1 < (size_t)(c->end - p), 1)) {
		c->at = p + need;
		c->lost += need - size;
		return p;
	}
	*c = cc_arena_refill(*c, size);
	return c->got;
}

/* ---- going back ---- */

/* Names a mark of an arena; ids never repeat. */
typedef struct CCArenaMark {
	const CCArena *arena;
	uint64_t id;
} CCArenaMark;

/* A place to come back to.  It takes 64 bytes of the arena.  Marks nest.  EINVAL: no
 * arena, no out; EBUSY: somebody has a cursor; ENOMEM.  Any thread, alone; never parks. */
CC_API CC_MUST_CHECK int cc_arena_mark(CCArena *arena, CCArenaMark *out);

/* Everything allocated since the mark, by whomever, is free again; the mark and those made
 * after it are over.  EINVAL: no such mark is open; EPERM: another fiber or thread made it,
 * or one after it; EBUSY: somebody has a cursor.  Then nothing has happened.  Any thread,
 * alone; never parks. */
CC_API int cc_arena_restore(CCArena *arena, CCArenaMark mark);
/* The marks are over, what was allocated stays.  Otherwise the same. */
CC_API int cc_arena_keep(CCArena *arena, CCArenaMark mark);

/* Everything is free again, and every mark over.  Blocks are kept for what comes; large
 * allocations had blocks of their own, which go back.  EINVAL: NULL; EPERM: another fiber
 * or thread has a mark; EBUSY: somebody has a cursor.  Any thread, alone; never parks. */
CC_API int cc_arena_reset(CCArena *arena);

/* Blocks that are kept and unused go back to the allocator.  EINVAL: NULL.  Any thread;
 * never parks. */
CC_API int cc_arena_trim(CCArena *arena);

/* ---- statistics ---- */

/* In bytes, unless it says otherwise.  Since the last reset, as restore has left it.  What a
 * cursor has counts as given until it is done.  Exact while nobody else allocates. */
typedef struct CCArenaStats {
	size_t asked;	/* by allocations that are still there */
	size_t given;	/* to them: the same, rounded up */
	size_t unused;	/* of what is held: to be given yet */
	size_t waste;	/* neither: ends of blocks and stretches, gaps, marks */
	size_t held;	/* from the allocator for allocations, or the buffer */
	size_t blocks;	/* a number: of which that is made */
} CCArenaStats;

/* EINVAL: no arena or no out.  Any thread; never parks. */
CC_API int cc_arena_stats(CCArena *arena, CCArenaStats *out);

#ifdef __cplusplus
}
#endif
#endif
