/* object.c - from the first hold to the last. */
#include "object.h"

#include "kernel.h"

_Static_assert(sizeof(struct object) <= PAGE_SIZE, "a page for the record");

static struct object *all[OBJECTS_MAX];

static struct object **place_of(const struct object *o)
{
	for (unsigned i = 0; i < OBJECTS_MAX; i++)
		if (all[i] == o)
			return &all[i];
	return NULL;
}

static void last(struct cc__object *engine)
{
	struct object *o = object_of(engine);

	CC__CHECK(cc__load(&engine->pins, CC__RELAXED) == 0, "object: waits without a hold");
	*place_of(o) = NULL;
	page_put(o->memory, o->pages);
	page_put(o, 1);
}

struct object *object_new(size_t pages)
{
	static uint64_t last_id;
	struct object **place = place_of(NULL), *o;

	if (place == NULL || pages == 0 || (o = page_get(1)) == NULL)
		return NULL;
	if ((o->memory = page_get(pages)) == NULL) {
		page_put(o, 1);
		return NULL;
	}
	o->pages = pages;
	cc__object_init(&o->engine, ++last_id, pages * PAGE_SIZE, o->bucket, OBJECT_BUCKET_BITS);
	o->engine.last = last;
	*place = o;
	return o;
}

unsigned objects(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < OBJECTS_MAX; i++)
		count += all[i] != NULL;
	return count;
}

unsigned objects_pins(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < OBJECTS_MAX; i++)
		if (all[i] != NULL)
			count += cc__load(&all[i]->engine.pins, CC__RELAXED);	/* Relaxed: a count */
	return count;
}
