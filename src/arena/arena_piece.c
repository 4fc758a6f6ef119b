/* arena_piece.c - what comes back by itself: pieces, ends of stretches, large allocations.
 *
 * Pieces have sizes of four to each doubling, so that one that was put back serves the
 * next that is not much smaller.  What is listed begins with its link; the rest of it is
 * hidden from whoever still has its address. */
#include <errno.h>
#include <string.h>

#include "os/fork.h"
#include "os/memory.h"
#include "arena/arena.h"

/* Shorter ends are not worth a visit to the lock. */
enum { END_MIN = 256 };

static bool is_marked(const CCArena *a)
{
	return cc__load(&a->marked, CC__RELAXED) != 0;	/* Relaxed: who changes it is alone */
}

/* ---- lists ---- */

/* A size to what stands in free memory at p, and back. */
static size_t seal(const struct cc__arena_free *p, size_t size)
{
	return size ^ (uintptr_t)p * 0x9e3779b97f4a7c15;
}

/* Under the lock. */
static void push(CCArena *a, struct cc__arena_free **list, void *p, size_t size)
{
	struct cc__arena_free *f = p;

	cc__memory_show(f, sizeof *f);
	f->next = *list;
	f->sealed = seal(f, size);
	*list = f;
	a->listed += size;
}

/* Under the lock; the first of a list, which is not empty. */
static void *pop(CCArena *a, struct cc__arena_free **list)
{
	struct cc__arena_free *f = *list;

	*list = f->next;
	a->listed -= seal(f, f->sealed);
	f->sealed = 0;	/* is_listed must not see it again */
	return f;
}

/* Whether the caller's piece is none of his any more.  It holds anything, which tools that
 * watch memory would not let us read. */
static bool is_listed(const void *p, size_t size)
{
	struct cc__arena_free f;

	if (CC__MEMORY_WATCHED)
		return false;
	memcpy(&f, p, sizeof f);
	return seal(p, f.sealed) == size;
}

/* ---- ends of stretches ---- */

void cc__arena_list_end(CCArena *a, const struct cc__stretch *s)
{
	const size_t size = (uintptr_t)s->end - (uintptr_t)s->at;

	if (size == 0)
		return;
	if (size < END_MIN || is_marked(a)) {
		cc__add(&a->dropped, size, CC__RELAXED);	/* Relaxed: a figure */
		return;
	}
	cc__memory_hide(s->at, size);
	cc__lock(&a->lock, CC__RANK_POOL);
	push(a, &a->ends, s->at, size);
	cc__store(&a->ends_there, 1, CC__RELAXED);	/* Relaxed: a hint; the lock orders */
	cc__unlock(&a->lock);
}

bool cc__arena_unlist_end(CCArena *a, size_t least, struct cc__stretch *s)
{
	bool found;

	/* Relaxed, twice: a hint.  Who misses one takes new memory. */
	if (cc__load(&a->ends_there, CC__RELAXED) == 0 || is_marked(a))
		return false;
	cc__lock(&a->lock, CC__RANK_POOL);
	found = a->ends != NULL && seal(a->ends, a->ends->sealed) >= least;
	if (found) {
		s->end = (char *)a->ends + seal(a->ends, a->ends->sealed);
		s->at = pop(a, &a->ends);
		cc__store(&a->ends_there, a->ends != NULL, CC__RELAXED);
	}
	cc__unlock(&a->lock);
	if (found)
		cc__memory_hide(s->at, sizeof(struct cc__arena_free));
	return found;
}

/* ---- large allocations ---- */

void *cc__arena_large_new(CCArena *a, size_t size, size_t need, size_t align)
{
	const size_t bytes = sizeof(struct cc__arena_large) + need + align - CC_ARENA_ALIGN;
	char *memory = a->allocator.alloc(a->allocator.context, bytes), *at;
	struct cc__arena_large *l;

	if (memory == NULL)
		return NULL;
	at = memory + sizeof *l;
	at += -(uintptr_t)at & (align - 1);
	l = (struct cc__arena_large *)(void *)at - 1;
	*l = (struct cc__arena_large){
	    .size = size, .given = need, .memory = memory, .bytes = bytes, .at = at};
	cc__lock(&a->lock, CC__RANK_POOL);
	l->serial = a->serial++;
	if ((l->next = a->larges) != NULL)
		l->next->before = l;
	a->larges = l;
	cc__unlock(&a->lock);
	cc__memory_hide(at + size, need - size);
	return at;
}

/* Under the lock. */
static void unlink_large(CCArena *a, struct cc__arena_large *l)
{
	if (l->next != NULL)
		l->next->before = l->before;
	if (l->before != NULL)
		l->before->next = l->next;
	else
		a->larges = l->next;
}

static void free_large(CCArena *a, struct cc__arena_large *l)
{
	cc__memory_show(l->at, l->given);
	a->allocator.free(a->allocator.context, l->memory, l->bytes);
}

void cc__arena_free_larges(CCArena *a, uint64_t from)
{
	struct cc__arena_large *l;

	while ((l = a->larges) != NULL && l->serial >= from) {
		unlink_large(a, l);
		free_large(a, l);
	}
}

static int put_large(CCArena *a, void *piece)
{
	struct cc__arena_large *l = (struct cc__arena_large *)piece - 1;

	if (l->at != piece)
		return EINVAL;
	cc__lock(&a->lock, CC__RANK_POOL);
	unlink_large(a, l);
	cc__unlock(&a->lock);
	free_large(a, l);
	return 0;
}

/* ---- pieces ---- */

/* A quarter of a doubling, as a power of two: `need`, more than 64, is rounded up to a multiple
 * of that. */
static unsigned step_of(size_t need)
{
	return 61u - (unsigned)__builtin_clzl(need - 1);
}

/* The bytes of a piece of that size; 0: it can never be had. */
static size_t class_size(size_t size)
{
	const size_t need = cc__arena_need(size);
	size_t step;

	if (need <= 64)
		return need;
	step = (size_t)1 << step_of(need);
	return (need + step - 1) & ~(step - 1);
}

/* Its list; NULL: there is none. */
static struct cc__arena_free **list_of(CCArena *a, size_t size)
{
	if (size > CC__ARENA_CLASS_MAX)
		return NULL;
	if (size <= 64)
		return &a->piece[size / CC_ARENA_ALIGN - 1];
	return &a->piece[(step_of(size) - 4) * 4 + ((size - 1) >> step_of(size))];
}

static bool is_large(const CCArena *a, size_t given)
{
	return a->block != 0 && given + CC_ARENA_ALIGN > a->large;
}

/* One that was put back. */
static void *used_piece(CCArena *a, size_t size, size_t given)
{
	struct cc__arena_free **list = list_of(a, given);
	void *p = NULL;

	if (list == NULL || is_large(a, given) || is_marked(a))
		return NULL;
	cc__lock(&a->lock, CC__RANK_POOL);
	if (*list != NULL)
		p = pop(a, list);
	cc__unlock(&a->lock);
	if (p != NULL) {
		if (cc__watched())
			cc__happens_after(p);
		cc__memory_show(p, size);
		cc__memory_hide((char *)p + size, given - size);
		cc__add(&a->lost, given - size, CC__RELAXED);	/* Relaxed: a figure */
	}
	return p;
}

int cc_arena_get(CCArena *a, size_t size, void **out)
{
	const size_t given = class_size(size);

	if (a == NULL || out == NULL)
		return EINVAL;
	if (cc__forked())
		return ENOTSUP;
	*out = NULL;
	if (given != 0 && (*out = used_piece(a, size, given)) == NULL)
		*out = cc__arena_direct(a, size, given, CC_ARENA_ALIGN);
	return *out != NULL ? 0 : ENOMEM;
}

/* Debug builds look whether it lies in one of the blocks. */
static __attribute__((unused)) bool is_ours(CCArena *a, const void *p)
{
	/* Acquire: as in cc__arena_carve. */
	for (const struct cc__arena_block *b = cc__load(&a->current, CC__ACQUIRE); b != NULL;
	     b = b->below)
		if ((uintptr_t)p - (uintptr_t)b->start < b->room)
			return true;
	return false;
}

int cc_arena_put(CCArena *a, void *piece, size_t size)
{
	const size_t given = class_size(size);
	struct cc__arena_free **list;
	bool marked;

	if (a == NULL || piece == NULL || given == 0 || (uintptr_t)piece % CC_ARENA_ALIGN != 0)
		return EINVAL;
	if (cc__forked())
		return ENOTSUP;
	if ((marked = is_marked(a)))
		cc__arena_check(a, "cc_arena_put");
	if (is_large(a, given))
		return put_large(a, piece);
	CC__ASSERT(is_ours(a, piece), "arena: what is put back is not from it");
	if (is_listed(piece, given))
		return EINVAL;
	cc__memory_hide(piece, given);
	if (marked || (list = list_of(a, given)) == NULL)
		return 0;	/* unused until the reset */
	if (cc__watched())
		cc__happens_before(piece);
	cc__lock(&a->lock, CC__RANK_POOL);
	push(a, list, piece, given);
	cc__unlock(&a->lock);
	cc__sub(&a->lost, given - size, CC__RELAXED);	/* Relaxed: a figure */
	return 0;
}
