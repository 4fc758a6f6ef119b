/* object.h - memory objects: pages that several processes may map, with the buckets of those
 * who wait there.
 *
 * An object is its pages and one more, for this record: that is all it costs, however many
 * of its words are waited on.  All go when the engine says that nobody holds it. */
#ifndef KERNEL_OBJECT_H
#define KERNEL_OBJECT_H

#include "page.h"
#include "park/space.h"

enum { OBJECTS_MAX = 16, OBJECT_BUCKET_BITS = 5 };

struct object {
	struct cc__object engine;	/* first */
	void *memory;			/* constant */
	size_t pages;			/* constant */
	struct cc__bucket bucket[1 << OBJECT_BUCKET_BITS];
};

/* With a hold of the caller's; NULL: no memory, or too many. */
struct object *object_new(size_t pages);

static inline struct object *object_of(struct cc__object *o)
{
	return (struct object *)(void *)o;
}

/* That there are, and waits in them. */
unsigned objects(void);
unsigned objects_pins(void);

#endif
