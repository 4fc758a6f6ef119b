/* slab.h - objects of one size that stay what they are for ever.
 *
 * S1  Chunks are never unmapped: what was once an object of this slab is one
 *     until the process ends, so whoever holds a stale pointer may still look
 *     at its atomics.
 * S2  Fresh objects are zero.  One that comes back keeps its contents but for
 *     the link, a pointer at a fixed place in it that is the slab's while the
 *     object is free and its owner's otherwise.
 * S3  Process-wide: a slab belongs to no runtime and outlives them all. */
#ifndef CC__BASE_SLAB_H
#define CC__BASE_SLAB_H

#include "base/lock.h"

/* Address space of one chunk: large, since of the first only what is carved is touched. */
enum { CC__SLAB_CHUNK = 2 << 20, CC__SLAB_HEAD = 128 };

/* Its objects begin CC__SLAB_HEAD bytes behind its own beginning. */
struct cc__slab_chunk {
	struct cc__slab_chunk *next;	/* constant once the chunk is listed */
	cc__a32 carved;			/* objects handed out so far; under the lock */
};

struct cc__slab {
	const size_t size;	/* of an object */
	const size_t link;	/* offset of its link */
	struct cc__lock lock;
	void *free;		/* lock; chained through the links */
	/* Newest first; grows only.  Written under the lock, walked by anyone. */
	CC__ATOMIC(struct cc__slab_chunk *) chunks;
};

#define CC__SLAB_INIT(type, link_field) \
	{.size = sizeof(type), .link = offsetof(type, link_field), .lock = CC__LOCK_INIT}

/* One object, or NULL. */
void *cc__slab_get(struct cc__slab *s);
void cc__slab_put(struct cc__slab *s, void *object);

/* A chain of 1 to `most` objects through their links, the last link NULL;
 * *count says how many.  NULL if there is no memory. */
void *cc__slab_get_chain(struct cc__slab *s, unsigned most, unsigned *count);
void cc__slab_put_chain(struct cc__slab *s, void *first, void *last);

/* How many that are; a hint. */
size_t cc__slab_made(const struct cc__slab *s);

/* Every object ever handed out, free ones included, until visit says false.
 * Any thread, at any time; objects made meanwhile may be missed. */
void cc__slab_walk(struct cc__slab *s, bool (*visit)(void *object, void *arg), void *arg);

/* The object of s that `address` lies in; NULL: in none.  Any thread, at any time. */
void *cc__slab_find(const struct cc__slab *s, const void *address);

#endif
