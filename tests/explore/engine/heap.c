/* heap.c - memory of an execution, and putting statics back after it.
 *
 * mc_alloc only moves on: nothing is handed out twice, so a freed object stays
 * poisoned to the end of the execution.  A free counts as a write of the whole
 * object: an access that is not ordered before it is found even where it comes
 * first.  Statics need no reset by the scenario: the first write to each
 * granule puts its old content into a log, from which heap_undo restores. */
#include <stdio.h>
#include <string.h>

#include "mc.h"

enum {
	HEAP = 1 << 18,
	OBJECTS = 1 << 10,
	UNDO = 1 << 13,
	RED_ZONE = 16, /* between objects */
};

/* Per granule of the heap: bytes in use, or one of these. */
enum { NOTHING = 0, FREED = 0xff };

static char heap[HEAP] __attribute__((aligned(64)));
static uint8_t status[HEAP / 8];
static size_t heap_used;
static struct object {
	char *p;
	size_t size;
	bool freed;
	uint8_t freed_by;
} objects[OBJECTS];
static int n_objects;

static struct {
	uint64_t *p, old;
} undo[UNDO];
static int n_undo;

void heap_reset(void)
{
	memset(status, NOTHING, (heap_used + 7) / 8 + RED_ZONE / 8);
	heap_used = RED_ZONE;
	n_objects = 0;
}

static bool in_heap(const void *p)
{
	return (size_t)((const char *)p - heap) < HEAP;
}

/* The program's own variables; the linker names their ends. */
extern char __data_start[], _end[];

static bool is_static(const void *p)
{
	return (uintptr_t)p >= (uintptr_t)__data_start && (uintptr_t)p < (uintptr_t)_end;
}

void heap_save(struct granule *g)
{
	uint64_t *p = g->p;

	if (LIKELY(g->saved))
		return;
	g->saved = true;
	if (!is_static(p) || in_heap(p) || ctx_on_stack(p))
		return;
	if (n_undo == UNDO)
		limit("undo log");
	undo[n_undo].p = p;
	undo[n_undo++].old = *p;
}

void heap_undo(void)
{
	while (n_undo > 0) {
		n_undo--;
		*undo[n_undo].p = undo[n_undo].old;
	}
}

static const struct object *object_at(const void *p)
{
	for (int i = 0; i < n_objects; i++)
		if ((size_t)((const char *)p - objects[i].p) < objects[i].size + RED_ZONE)
			return &objects[i];
	return NULL;
}

void heap_live(const void *p, size_t size)
{
	size_t at = (size_t)((const char *)p - heap);
	const struct object *o;

	if (LIKELY(at >= HEAP))
		return;
	for (size_t a = at; a < at + size; a = (a | 7) + 1) {
		unsigned s = status[a / 8];
		size_t stop = (a | 7) + 1 < at + size ? (a | 7) + 1 : at + size;

		if (LIKELY(s != FREED && (stop - 1) % 8 < s))
			continue;
		o = object_at(p);
		if (s == FREED)
			mc_fail("use after free: %s touches byte %zu of the object of %zu that %s "
			        "freed",
			        thread_name(me), (size_t)((const char *)p - o->p), o->size,
			        thread_name(o->freed_by));
		mc_fail("out of bounds: %s touches byte %zd of an object of %zu", thread_name(me),
		        o ? (const char *)p - o->p : -1, o ? o->size : 0);
	}
}

static void *allocate(size_t size, int fill)
{
	struct object *o;
	size_t room = (size + 15) / 16 * 16;

	if (heap_used + room + 2 * RED_ZONE > HEAP || n_objects == OBJECTS)
		limit("heap");
	o = &objects[n_objects++];
	*o = (struct object){.p = heap + heap_used, .size = size};
	for (size_t i = 0; i < size; i += 8)
		status[(heap_used + i) / 8] = (uint8_t)(size - i < 8 ? size - i : 8);
	heap_used += room + RED_ZONE;
	memset(o->p, fill, size);
	if (tracing)
		trace("  %s alloc   %zu bytes: %p\n", thread_name(me), size, (void *)o->p);
	return o->p;
}

void *mc_alloc(size_t size)
{
	return allocate(size, 0xa5);
}

void *mc_alloc_zero(size_t size)
{
	return allocate(size, 0);
}

void mc_free(void *p)
{
	uintptr_t where = (uintptr_t)__builtin_return_address(0);
	struct object *o = objects;

	if (p == NULL)
		return;
	while (o < objects + n_objects && o->p != (char *)p)
		o++;
	if (o == objects + n_objects)
		mc_fail("assert: mc_free of %p, which mc_alloc did not return", p);
	if (o->freed)
		mc_fail("double free: %s at %s frees what %s freed", thread_name(me),
		        where_text(where, WRITE), thread_name(o->freed_by));
	if (tracing)
		trace("  %s free    %p   %s\n", thread_name(me), p, where_text(where, WRITE));
	access_at(p, o->size, WRITE, where);
	o->freed = true;
	o->freed_by = (uint8_t)me;
	memset(status + ((char *)p - heap) / 8, FREED, (o->size + 7) / 8);
}

void heap_leaks(void)
{
	for (int i = 0; i < n_objects; i++)
		if (!objects[i].freed)
			mc_fail("leak: object %d of %zu bytes is left", i, objects[i].size);
}
