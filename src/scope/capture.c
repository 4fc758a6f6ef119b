/* capture.c - what a child takes along: a copy that is its own until it ends.
 *
 * K1  A few bytes lie in the payload of a frame from the pool, which is assigned and
 *     never runs; more in a piece of the nursery's arena.  In both the child's function
 *     is written beside them, and what the nursery runs is a call of that.
 * K2  The copy is given back by the child, before it is counted out: the arena is there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/fork.h"
#include "os/tools.h"
#include "scope/nursery.h"

_Static_assert((int)CC_CAPTURES_SMALL == (int)CC__PAYLOAD, "small captures fill a payload");

/* One of three ways to spawn, known to the compiler where spawn_copy is called. */
struct verb {
	bool daemon;
	CCTask *out;			/* not NULL: it can be joined */
	struct cc__handles *keep;	/* see cc__nursery_spawn_joinable */
	uintptr_t place;		/* base/place.h */
};

#define INLINE static inline __attribute__((always_inline))

INLINE int spawn(const struct verb v, CCNursery *n, const CCTaskOptions *options,
                 cc_task_main *main, void *arg)
{
	if (v.out != NULL)
		return cc__nursery_spawn_joinable(n, v.out, v.keep, options, main, arg, v.place);
	return v.daemon ? cc__nursery_spawn_daemon(n, options, main, arg, v.place)
	                : cc__nursery_spawn(n, options, main, arg, v.place);
}

/* ---- a frame ---- */

static void put_frame(struct cc__fiber *f)
{
	cc__word_recall(&f->parker);
	cc__frame_put(cc__frame_cache_here(), f);
}

static int call_in_frame(void *arg)
{
	struct cc__fiber *f = arg;
	const int result = f->run.main(f->payload.bytes);

	put_frame(f);
	return result;
}

INLINE int spawn_in_frame(const struct verb v, CCNursery *n, const CCTaskOptions *options,
                          cc_task_main *main, const void *captures, size_t size)
{
	struct cc__fiber *f = cc__frame_get(cc__frame_cache_here());
	int err;

	if (f == NULL)
		return cc__nursery_unstarted(n, ENOMEM);
	f->run.main = main;
	memcpy(f->payload.bytes, captures, size);
	if ((err = spawn(v, n, options, call_in_frame, f)) != 0)
		put_frame(f);
	return err;
}

/* ---- a piece of the arena ---- */

struct capture {
	cc_task_main *main;
	CCArena *arena;
	size_t size;	/* of all of it */
	size_t unused;	/* what follows is aligned */
};

_Static_assert(sizeof(struct capture) % CC_CAPTURES_ALIGN == 0, "captures' alignment");

static int call_in_piece(void *arg)
{
	struct capture *p = arg;
	const int result = p->main(p + 1);

	cc_arena_put(p->arena, p, p->size);
	return result;
}

INLINE int spawn_in_piece(const struct verb v, CCNursery *n, const CCTaskOptions *options,
                          cc_task_main *main, const void *captures, size_t size)
{
	CCArena *arena = cc_nursery_arena(n);
	struct capture *p;
	void *memory;
	int err;

	if (arena == NULL || size > SIZE_MAX - sizeof *p ||
	    cc_arena_get(arena, sizeof *p + size, &memory) != 0)
		return cc__nursery_unstarted(n, ENOMEM);
	p = memory;
	*p = (struct capture){.main = main, .arena = arena, .size = sizeof *p + size};
	memcpy(p + 1, captures, size);
	if ((err = spawn(v, n, options, call_in_piece, p)) != 0)
		cc_arena_put(arena, p, p->size);
	return err;
}

/* ---- memory of its own ---- */

/* For ThreadSanitizer, which knows when memory of the allocator changes hands (os/tools.h). */
static int call_in_memory(void *arg)
{
	struct capture *p = arg;
	const int result = p->main(p + 1);

	free(p);
	return result;
}

static int spawn_in_memory(const struct verb v, CCNursery *n, const CCTaskOptions *options,
                           cc_task_main *main, const void *captures, size_t size)
{
	struct capture *p = size > SIZE_MAX - sizeof *p ? NULL : malloc(sizeof *p + size);
	int err;

	if (p == NULL)
		return cc__nursery_unstarted(n, ENOMEM);
	p->main = main;
	memcpy(p + 1, captures, size);
	if ((err = spawn(v, n, options, call_in_memory, p)) != 0)
		free(p);
	return err;
}

/* ---- either ---- */

INLINE int spawn_copy(const struct verb v, CCNursery *n, const CCTaskOptions *options,
                      cc_task_main *main, const void *captures, size_t size)
{
	if (cc__forked())
		return ENOTSUP;
	if (cc__nursery_open(n) == NULL || main == NULL || captures == NULL)
		return cc__nursery_unstarted(n, EINVAL);
	if (cc__tools_order())
		return spawn_in_memory(v, n, options, main, captures, size);
	if (CC__CAPTURES_IN_FRAMES && size <= CC_CAPTURES_SMALL)
		return spawn_in_frame(v, n, options, main, captures, size);
	return spawn_in_piece(v, n, options, main, captures, size);
}

int cc_nursery_spawn_copy(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                          const void *captures, size_t size)
{
	return spawn_copy((struct verb){.place = CC__PLACE_HERE()}, nursery, options, main, captures,
	                  size);
}

int cc_spawn_copy_at(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                     const void *captures, size_t size, const char *place)
{
	return spawn_copy((struct verb){.place = cc__place_of(place)}, nursery, options, main, captures,
	                  size);
}

int cc_nursery_spawn_daemon_copy(CCNursery *nursery, const CCTaskOptions *options,
                                 cc_task_main *main, const void *captures, size_t size)
{
	return spawn_copy((struct verb){.daemon = true, .place = CC__PLACE_HERE()}, nursery, options,
	                  main, captures, size);
}

int cc_spawn_daemon_copy_at(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                            const void *captures, size_t size, const char *place)
{
	return spawn_copy((struct verb){.daemon = true, .place = cc__place_of(place)}, nursery, options,
	                  main, captures, size);
}

int cc__nursery_spawn_joinable_copy(CCNursery *nursery, CCTask *out, struct cc__handles *keep,
                                    const CCTaskOptions *options, cc_task_main *main,
                                    const void *captures, size_t size, uintptr_t place)
{
	return spawn_copy((struct verb){.out = out, .keep = keep, .place = place}, nursery, options,
	                  main, captures, size);
}

/* (A piece may be gone when its child has nearly ended; a frame never is.) */
const void *cc__child_function(const struct cc__child *child)
{
	const struct cc__fiber *captured = child->arg;

	if (child->main == call_in_frame)
		return (const void *)(uintptr_t)captured->run.main;
	return child->main == call_in_piece || child->main == call_in_memory
	           ? NULL
	           : (const void *)(uintptr_t)child->main;
}

/* ---- the arena ---- */

/* Most nurseries are small and soon over, and allocators clear what they give. */
enum { BLOCK = 8192 };

CCArena *cc_nursery_arena(CCNursery *nursery)
{
	struct cc__nursery *n = cc__nursery_open(nursery);
	CCArenaOptions o = {.block = BLOCK};
	CCArena *arena, *theirs = NULL;

	if (n == NULL || cc__forked())
		return NULL;
	o.runtime = (CCRuntime *)(void *)n->sched;
	/* Acquire: the arena, from the release below. */
	if ((arena = cc__load(&n->arena, CC__ACQUIRE)) != NULL)
		return arena;
	if (cc_arena_create(&arena, &o) != 0)
		return NULL;
	/* Release: the arena, to the acquire above; acquire: somebody else's. */
	if (cc__cas(&n->arena, &theirs, arena, CC__ACQ_REL, CC__ACQUIRE))
		return arena;
	cc_arena_free(arena);
	return theirs;
}

void cc__nursery_free_arena(struct cc__nursery *n)
{
	CCArena *arena = cc__load(&n->arena, CC__RELAXED);	/* Relaxed: after the tally */

	CC__CHECK(arena == NULL || cc_arena_free(arena) == 0,
	          "nursery: joined while a cursor of its arena is open");
}

const struct cc__capture_calls cc__capture_calls = {call_in_frame, call_in_piece, call_in_memory};
