/* slab.c - type-stable memory. */
#include "base/slab.h"

#include "os/pages.h"

static void **link_of(const struct cc__slab *s, void *object)
{
	return (void **)(void *)((char *)object + s->link);
}

static void *object_at(const struct cc__slab *s, struct cc__slab_chunk *c, size_t i)
{
	return (char *)c + CC__SLAB_HEAD + i * s->size;
}

static uint32_t objects_of_chunk(const struct cc__slab *s)
{
	return (uint32_t)((CC__SLAB_CHUNK - CC__SLAB_HEAD) / s->size);
}

/* Under the lock: a chunk with room, the newest or a new one. */
static struct cc__slab_chunk *chunk_with_room(struct cc__slab *s)
{
	/* Relaxed, twice: we hold the lock under which both are written. */
	struct cc__slab_chunk *c = cc__load(&s->chunks, CC__RELAXED);

	if (c != NULL && cc__load(&c->carved, CC__RELAXED) < objects_of_chunk(s))
		return c;
	/* mutant: != -> == survives: which pages they are takes time only. */
	if ((c = c != NULL ? cc__pages_map_dense(CC__SLAB_CHUNK) : cc__pages_map(CC__SLAB_CHUNK)) == NULL)
		return NULL;
	/* Relaxed: as above. */
	c->next = cc__load(&s->chunks, CC__RELAXED);
	/* Release: the chunk's head, to the acquire in cc__slab_walk. */
	cc__store(&s->chunks, c, CC__RELEASE);
	return c;
}

/* Under the lock, before the nth object is handed out: at each stride its pages.
 * The first stride comes page by page, for those who need but a few objects. */
static inline void page_in(const struct cc__slab *s, struct cc__slab_chunk *c, uint32_t n)
{
	enum { STRIDE = 1 << 16 };
	const size_t from = CC__SLAB_HEAD + n * s->size, to = from + s->size;

	/* mutant: survives: what is not asked for comes page by page, which takes longer;
	 * what is asked for beyond the chunk is there already, or the system refuses. */
	if (from / STRIDE != to / STRIDE && to / STRIDE < CC__SLAB_CHUNK / STRIDE)
		cc__pages_populate((char *)c + to / STRIDE * STRIDE, STRIDE);
}

/* Under the lock: objects that were never handed out before `first`, 1 to `most` of them;
 * how many. */
static unsigned carve(struct cc__slab *s, void **first, unsigned most)
{
	struct cc__slab_chunk *c = chunk_with_room(s);
	uint32_t from, n;

	if (c == NULL)
		return 0;
	/* Relaxed: only lock holders write it. */
	from = cc__load(&c->carved, CC__RELAXED);
	for (n = from; n < from + most && n < objects_of_chunk(s); n++) {
		void *o = object_at(s, c, n);

		/* mutant: survives, as in page_in. */
		page_in(s, c, n);
		*link_of(s, o) = *first;
		*first = o;
	}
	/* Relaxed: all that cc__slab_walk must know is that the objects lie inside
	 * the chunk; what is in them, their own atomics and locks say. */
	cc__store(&c->carved, n, CC__RELAXED);
	return n - from;
}

void *cc__slab_get_chain(struct cc__slab *s, unsigned most, unsigned *count)
{
	void *first = NULL;
	unsigned n = 0, carved = 1;

	cc__lock(&s->lock, CC__RANK_SLAB);
	while (n < most && s->free != NULL) {
		void *o = s->free;

		s->free = *link_of(s, o);
		*link_of(s, o) = first;
		first = o;
		n++;
	}
	while (n < most && carved > 0)
		n += carved = carve(s, &first, most - n);
	/* mutant: swap cc__unlock survives: n and first are our own. */
	cc__unlock(&s->lock);
	*count = n;
	return first;
}

void cc__slab_put_chain(struct cc__slab *s, void *first, void *last)
{
	cc__lock(&s->lock, CC__RANK_SLAB);
	*link_of(s, last) = s->free;
	s->free = first;
	cc__unlock(&s->lock);
}

void *cc__slab_get(struct cc__slab *s)
{
	unsigned count;

	return cc__slab_get_chain(s, 1, &count);
}

void cc__slab_put(struct cc__slab *s, void *object)
{
	cc__slab_put_chain(s, object, object);
}

void cc__slab_walk(struct cc__slab *s, bool (*visit)(void *object, void *arg), void *arg)
{
	/* Acquire: pairs with the release in chunk_with_room. */
	struct cc__slab_chunk *c = cc__load(&s->chunks, CC__ACQUIRE);

	for (; c != NULL; c = c->next) {
		uint32_t n = cc__load(&c->carved, CC__RELAXED);	/* Relaxed: see carve */

		for (uint32_t i = 0; i < n; i++)
			if (!visit(object_at(s, c, i), arg))
				return;
	}
}

void *cc__slab_find(const struct cc__slab *s, const void *address)
{
	/* Acquire: as in cc__slab_walk. */
	struct cc__slab_chunk *c = cc__load(&s->chunks, CC__ACQUIRE);

	for (; c != NULL; c = c->next) {
		/* Of an address before the objects it is beyond them all. */
		const uintptr_t at = (uintptr_t)address - (uintptr_t)c - CC__SLAB_HEAD;

		if (at < objects_of_chunk(s) * s->size)
			return object_at(s, c, at / s->size);
	}
	return NULL;
}

size_t cc__slab_made(const struct cc__slab *s)
{
	size_t n = 0;

	/* Acquire: as in cc__slab_walk.  Relaxed: for people. */
	for (struct cc__slab_chunk *c = cc__load(&s->chunks, CC__ACQUIRE); c != NULL; c = c->next)
		n += cc__load(&c->carved, CC__RELAXED);
	return n;
}
