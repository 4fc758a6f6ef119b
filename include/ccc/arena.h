/* arena.h - memory that is allocated by moving a pointer and freed all at once.
 *
 *	CCArena *arena = cc_arena_new();
 *
 *	struct node *n = cc_arena_alloc(arena, sizeof *n);	// in any thread, in any fiber
 *	char *text = cc_arena_alloc(arena, length + 1);
 *	...
 *	cc_arena_reset(arena);		// frees all allocations and keeps the blocks
 *	cc_arena_free(arena);
 *
 * An arena takes memory from an allocator in blocks, or uses a buffer that the caller provides.
 * A program does not free single allocations.  It frees everything with cc_arena_reset, or
 * everything that was allocated since a mark with cc_arena_restore.  An object that must be freed
 * by itself is allocated with cc_arena_get and freed with cc_arena_put.
 *
 * Sharing.  Any number of fibers and OS threads may allocate from one arena at the same time.
 * Each thread takes a part of the block for itself and allocates from it without a lock.
 *
 * Cursors.  A cursor makes frequent small allocations as cheap as advancing a pointer.  It belongs
 * to one fiber or thread:
 *
 *	CCArenaCursor c = cc_arena_cursor(arena);
 *
 *	for (int i = 0; i < count; i++)
 *		list = push(cc_arena_take(&c, sizeof(struct node)), list);
 *	cc_arena_done(c);
 *
 * Contents.  Allocations are aligned to CC_ARENA_ALIGN bytes and are not zeroed.  Size 0 is
 * allowed: the address differs from that of every other allocation, and nothing may be stored
 * there.
 *
 * Exclusive calls.  During cc_arena_mark, cc_arena_keep, cc_arena_restore, cc_arena_reset and
 * cc_arena_free no other call on the arena may be in progress.  The program must ensure this; the
 * library checks only that no cursor is open (EBUSY), and that no fiber or thread ends a mark of
 * another one (EPERM). */
#ifndef CCC_ARENA_H
#define CCC_ARENA_H

#include <ccc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An arena.  The fields are private. */
typedef struct CCArena CCArena;

#define CC_ARENA_ALIGN ((size_t)16)		/* alignment of every allocation, in bytes */
#define CC_ARENA_ALIGN_MAX ((size_t)4096)	/* largest alignment of cc_arena_alloc_aligned */
#define CC_ARENA_BLOCK_MIN ((size_t)1024)	/* smallest CCArenaOptions.block, in bytes */
#define CC_ARENA_BLOCK_MAX ((size_t)1 << 20)	/* largest CCArenaOptions.block, in bytes */

/* Options.  A zeroed struct is the default. */
typedef struct CCArenaOptions {
	/* Runtime whose allocator (CCConfig.allocator) provides the memory.  It must outlive the
	 * arena.  NULL: malloc. */
	CCRuntime *runtime;
	/* Size of a block in bytes, CC_ARENA_BLOCK_MIN to CC_ARENA_BLOCK_MAX; 0: 64 KB.  Must be 0
	 * if there is a buffer. */
	size_t block;
	/* Memory of the caller from which all allocations are made; it must outlive the arena.
	 * Threads then take no parts for themselves: each allocation is one compare-and-swap, and
	 * the whole buffer can be used.  NULL: the arena takes blocks from the allocator. */
	void *buffer;
	/* Size of `buffer` in bytes.  The arena rounds the start of the buffer up and its end down
	 * to a multiple of CC_ARENA_ALIGN; at least CC_ARENA_ALIGN bytes must remain.  Must be 0 if
	 * there is no buffer. */
	size_t buffer_size;
} CCArenaOptions;

/* Creates an arena and stores it in *out.  `options` may be NULL.  The first block is allocated
 * with the first allocation.
 *
 * Returns 0, or
 *   EINVAL      `out` is NULL, `block` is out of range, `block` and `buffer` are both set, there
 *               is a buffer_size without a buffer, or the buffer is too small
 *   ENOMEM      no memory
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error no arena was created.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_arena_create(CCArena **out, const CCArenaOptions *options);

/* Creates an arena with the default options.
 *
 * Returns the arena; NULL if there is no memory, or in a child of fork (runtime.h).
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK CCArena *cc_arena_new(void);

/* Frees the arena and everything that was allocated from it.  Open marks end.  A buffer returns to
 * the caller.  NULL is allowed.
 *
 * Any later use of the arena or of its allocations is an error of the program.  While the
 * allocator has not reused the arena's memory, most calls on the arena abort the program with a
 * message that names the arena; cc_arena_restore and cc_arena_keep return EINVAL.  Once the
 * allocator has reused the memory, the behaviour is undefined.  AddressSanitizer and Valgrind
 * report such uses.
 *
 * Returns 0, or
 *   EBUSY       a cursor is open
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error nothing was freed.
 *
 * Any thread, while no other call on the arena is in progress.  Never parks. */
CC_API int cc_arena_free(CCArena *arena);

/* ---- allocating ---- */

/* Allocates `size` bytes, aligned to CC_ARENA_ALIGN and not zeroed.  An allocation of more than
 * about a quarter of a block gets a block of its own.
 *
 * Returns the address; NULL if there is no memory or the buffer has no room.  In a child of fork
 * (runtime.h) it may also return NULL.  After NULL the arena is unchanged.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK void *cc_arena_alloc(CCArena *arena, size_t size);

/* Allocates `size` bytes, aligned to `align` bytes, and stores the address in *out.  `align` is a
 * power of two up to CC_ARENA_ALIGN_MAX; less than CC_ARENA_ALIGN means CC_ARENA_ALIGN.
 *
 * Returns 0, or
 *   EINVAL      `align` is not such a power of two, or `arena` or `out` is NULL
 *   ENOMEM      no memory, no room in the buffer, or the call was made in a child of fork
 * After ENOMEM *out is NULL.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_arena_alloc_aligned(CCArena *arena, size_t size, size_t align,
                                                void **out);

/* Allocates a piece of `size` bytes that cc_arena_put can free by itself, and stores its address in
 * *out.  Pieces are for an arena that is never reset, and for objects that live longer or shorter
 * than the rest of the arena.  The call takes a short lock.
 *
 * A piece that was put back is reused for a later piece of about its size.  To make this likely,
 * sizes above 64 bytes are rounded up by at most 25 %.  While a mark is open no piece is reused.
 *
 * Returns 0, or
 *   EINVAL      `arena` or `out` is NULL
 *   ENOMEM      no memory, or no room in the buffer
 *   ENOTSUP     in a child of fork (runtime.h)
 * After ENOMEM *out is NULL.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_arena_get(CCArena *arena, size_t size, void **out);

/* Puts a piece back.  `size` is the size that was given to cc_arena_get; another size is an error
 * of the program that is not always detected.
 *
 * A piece that has a block of its own returns to the allocator immediately.  Any other piece is
 * kept for reuse, with two exceptions: a piece that is put back while a mark is open, and a piece
 * of more than 256 KB in a buffer.  Such a piece stays unused, and counts as given in
 * CCArenaStats, until a reset or a restore frees it.
 *
 * Returns 0, or
 *   EINVAL      `arena` or `piece` is NULL, `piece` is not the address of a piece, the piece was
 *               put back before, or `size` cannot be the size of a piece; the last three are
 *               not always detected
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error the arena is unchanged.
 *
 * Any thread.  Never parks. */
CC_API int cc_arena_put(CCArena *arena, void *piece, size_t size);

/* ---- cursors ---- */

/* A cursor: a part of an arena from which one fiber or thread allocates.  A fiber may use its
 * cursor in whatever thread it runs.  Do not copy a cursor.  A local variable is best, because the
 * compiler can keep it in registers.  The fields are private. */
typedef struct CCArenaCursor {
	char *at, *end;
	size_t lost, next;
	void *got;
	CCArena *arena;
} CCArenaCursor;

/* Opens a cursor and returns it.  It takes memory from the arena with its first allocation.
 *
 * Returns the cursor; the call cannot fail.  Close it with cc_arena_done.
 *
 * Any thread.  Never parks. */
CC_API CCArenaCursor cc_arena_cursor(CCArena *arena);

/* Closes the cursor.  Memory that the cursor has taken and not handed out returns to the arena.
 * Allocations that were made with the cursor stay valid.  The cursor must not be used again.
 *
 * Only the owner of the cursor.  Never parks. */
CC_API void cc_arena_done(CCArenaCursor cursor);

/* Takes more memory from the arena and allocates `size` bytes.  cc_arena_take calls this function
 * if the cursor has too little memory; programs do not call it.
 *
 * Returns the cursor to use from now on.  Its field `got` is the address of the allocation; NULL if
 * there is no memory, or in a child of fork (runtime.h).
 *
 * Only the owner of the cursor.  Never parks. */
CC_API CCArenaCursor cc_arena_refill(CCArenaCursor cursor, size_t size);

/* Allocates `size` bytes with a cursor, aligned to CC_ARENA_ALIGN and not zeroed.
 *
 * Returns the address; NULL if there is no memory or the buffer has no room.  In a child of fork
 * (runtime.h) it may also return NULL.  After NULL the cursor stays open.
 *
 * Only the owner of the cursor.  Never parks. */
static inline CC_MUST_CHECK void *cc_arena_take(CCArenaCursor *c, size_t size)
{
	const size_t need = (size + (CC_ARENA_ALIGN - 1)) & ~(CC_ARENA_ALIGN - 1);
	char *const p = c->at;

	/* `need` is 0 if `size` is 0, and also if `size` is so large that the sum overflows.  In
	 * both cases need - 1 is the largest size_t, so the comparison fails. */
	if (__builtin_expect(need - 1 < (size_t)(c->end - p), 1)) {
		c->at = p + need;
		c->lost += need - size;
		return p;
	}
	*c = cc_arena_refill(*c, size);
	return c->got;
}

/* ---- marks and reset ---- */

/* Names one mark of one arena.  An id is never used again within an arena. */
typedef struct CCArenaMark {
	const CCArena *arena;	/* the arena that has the mark */
	uint64_t id;		/* number of the mark, from 1 */
} CCArenaMark;

/* Marks the present state of the arena, so that cc_arena_restore can return to it, and stores the
 * mark in *out.  The mark belongs to the calling fiber or thread and takes 64 bytes of the arena.
 * Marks nest.
 *
 *	CCArenaMark before;
 *
 *	if (cc_arena_mark(arena, &before) != 0)
 *		return NULL;
 *	tree = parse(arena, text);
 *	if (tree != NULL)
 *		cc_arena_keep(arena, before);
 *	else
 *		cc_arena_restore(arena, before);	// frees what parse has allocated
 *
 * Returns 0, or
 *   EINVAL      `arena` or `out` is NULL
 *   EBUSY       a cursor is open
 *   ENOMEM      no memory, or no room in the buffer
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error no mark was made.
 *
 * Any thread, while no other call on the arena is in progress.  Never parks. */
CC_API CC_MUST_CHECK int cc_arena_mark(CCArena *arena, CCArenaMark *out);

/* Frees everything that any fiber or thread has allocated from the arena since the mark was made.
 * The mark ends, and so do the marks that were made after it.
 *
 * Returns 0, or
 *   EINVAL      `arena` is NULL, or the arena has no such open mark
 *   EPERM       another fiber or thread made the mark, or made a mark after it that is open
 *   EBUSY       a cursor is open
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error nothing was freed and all marks stay open.
 *
 * Any thread, while no other call on the arena is in progress.  Never parks. */
CC_API int cc_arena_restore(CCArena *arena, CCArenaMark mark);

/* Ends the mark and the marks that were made after it, and frees nothing.
 *
 * Returns 0, or the errors of cc_arena_restore.  After an error all marks stay open.
 *
 * Any thread, while no other call on the arena is in progress.  Never parks. */
CC_API int cc_arena_keep(CCArena *arena, CCArenaMark mark);

/* Frees everything that was allocated from the arena and ends all marks.  The arena keeps its
 * blocks for later allocations; blocks that were made for one large allocation return to the
 * allocator.
 *
 * Returns 0, or
 *   EINVAL      `arena` is NULL
 *   EPERM       another fiber or thread has an open mark
 *   EBUSY       a cursor is open
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error nothing was freed and all marks stay open.
 *
 * Any thread, while no other call on the arena is in progress.  Never parks. */
CC_API int cc_arena_reset(CCArena *arena);

/* Gives unused blocks back to the allocator.  An arena has such blocks after cc_arena_reset and
 * cc_arena_restore, because both keep blocks for later allocations.
 *
 * Returns 0, or
 *   EINVAL      `arena` is NULL
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  Never parks. */
CC_API int cc_arena_trim(CCArena *arena);

/* ---- statistics ---- */

/* Present use of an arena, in bytes except for `blocks`.  The figures are exact if no other call on
 * the arena is in progress.  Memory that a cursor has taken counts as asked for and given until the
 * cursor is closed.  `held` is the sum of `given`, `unused` and `waste`. */
typedef struct CCArenaStats {
	size_t asked;	/* sum of the sizes of the present allocations, as requested */
	size_t given;	/* sum of the sizes of the present allocations, rounded up */
	size_t unused;	/* memory that is free for allocations */
	size_t waste;	/* unusable memory: ends of blocks, gaps for alignment, marks */
	size_t held;	/* memory for allocations, from the allocator or in the buffer */
	size_t blocks;	/* number of blocks that make up `held`; the buffer is one block */
} CCArenaStats;

/* Stores the statistics of the arena in *out.
 *
 * Returns 0, or
 *   EINVAL      `arena` or `out` is NULL
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error *out is unchanged.
 *
 * Any thread.  Never parks. */
CC_API int cc_arena_stats(CCArena *arena, CCArenaStats *out);

#ifdef __cplusplus
}
#endif
#endif
