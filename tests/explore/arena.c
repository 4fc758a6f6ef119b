/* arena.c - one arena, several users: whatever is handed out is written all over, so that
 * memory that two have is a race; at the end the figures say that nothing is lost.
 *
 * sources: base/lock.c wait/thread.c arena/arena.c arena/arena_piece.c arena/arena_mark.c
 * arena/arena_life.c */
#include <errno.h>
#include <string.h>

#include "arena/arena.h"
#include "shim_wait.h"

/* ---- the allocator, which may refuse once ---- */

static cc__a32 refusals;	/* that are left */

static void *model_alloc(void *context, size_t size)
{
	(void)context;
	if (cc__load(&refusals, CC__RELAXED) != 0 && cc__sub(&refusals, 1, CC__RELAXED) != 0)
		return NULL;
	return mc_alloc_zero(size);
}

static void model_free(void *context, void *p, size_t size)
{
	(void)context, (void)size;
	mc_free(p);
}

const CCAllocator cc__default_allocator = {.alloc = model_alloc, .free = model_free};

const CCAllocator *cc__allocator_of(const CCRuntime *runtime)
{
	(void)runtime;
	return &cc__default_allocator;
}

/* ---- the arena ---- */

static CCArena *arena;
static size_t asked[MC_THREADS];

static void make(size_t block)
{
	const CCArenaOptions o = {.block = block};

	MC_ASSERT(cc_arena_create(&arena, &o) == 0);
}

/* A block of 4,032 bytes, stretches of 240. */
static void make_empty(void)
{
	make(4096);
}

/* 192 bytes are left, or less: one stretch. */
static void make_nearly_full(void)
{
	void *p;

	make(4096);
	for (int i = 0; i < 4; i++, asked[7] += 960)
		MC_ASSERT(cc_arena_alloc_aligned(arena, 960, 32, &p) == 0);
}

static size_t unused(void)
{
	CCArenaStats s;

	MC_ASSERT(cc_arena_stats(arena, &s) == 0);
	return s.unused;
}

static void make_full(void)
{
	make_nearly_full();
	for (void *p; unused() > 0; asked[7] += 16)
		MC_ASSERT(cc_arena_get(arena, 16, &p) == 0);
}

static void *write_all(void *p, size_t size)
{
	if (p != NULL) {
		memset(p, mc_self() + 1, size);
		asked[mc_self()] += size;
	}
	return p;
}

static bool is_mine(const void *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((const char *)p)[i] != mc_self() + 1)
			return false;
	return true;
}

static void nothing_is_lost(void)
{
	CCArenaStats s;
	size_t all = 0;

	for (int i = 0; i < MC_THREADS; i++)
		all += asked[i];
	MC_ASSERT(cc_arena_stats(arena, &s) == 0);
	MC_ASSERT(s.asked == all && s.held == s.given + s.unused + s.waste);
	MC_ASSERT(cc_arena_free(arena) == 0);
}

/* ---- stretches of threads, and the next block ---- */

static void allocate_two(void)
{
	char *p, *q;

	be_thread();
	p = write_all(cc_arena_alloc(arena, 16), 16);
	q = write_all(cc_arena_alloc(arena, 40), 40);
	MC_ASSERT(p != NULL && q != NULL && is_mine(p, 16) && is_mine(q, 40));
}

static void allocate_direct(void)
{
	void *p;

	MC_ASSERT(cc_arena_alloc_aligned(arena, 100, 64, &p) == 0);
	write_all(p, 100);
	MC_ASSERT(is_mine(p, 100));
}

static void look(void)
{
	CCArenaStats s;

	MC_ASSERT(cc_arena_stats(arena, &s) == 0 && s.asked <= s.held);
}

SCENARIO(arena_two_refill, .init = make_empty, .body = {allocate_two, allocate_two},
         .final = nothing_is_lost, .leaks = true)
SCENARIO(arena_two_refill_and_one_goes_direct, .init = make_empty,
         .body = {allocate_two, allocate_two, allocate_direct}, .final = nothing_is_lost,
         .leaks = true)
SCENARIO(arena_one_grows_it, .init = make_nearly_full, .body = {allocate_two, allocate_two},
         .final = nothing_is_lost, .leaks = true)
SCENARIO(arena_two_grow_it, .init = make_full, .body = {allocate_two, allocate_direct},
         .final = nothing_is_lost, .leaks = true)
SCENARIO(arena_is_looked_at_while_it_grows, .init = make_nearly_full,
         .body = {allocate_two, allocate_two, look}, .weak = 1, .final = nothing_is_lost,
         .leaks = true)

/* Nobody goes without because of it. */
static void trim(void)
{
	MC_ASSERT(cc_arena_trim(arena) == 0);
}

SCENARIO(arena_is_trimmed_while_it_grows, .init = make_full,
         .body = {allocate_direct, allocate_direct, trim}, .final = nothing_is_lost,
         .leaks = true)

/* ---- one place for two threads ---- */

static struct cc__thread apart[CC__ARENA_SLOTS + 1];

static void allocate_as_neighbour(void)
{
	cc__tls_set(&apart[mc_self() * CC__ARENA_SLOTS], NULL);
	write_all(cc_arena_alloc(arena, 16), 16);
	MC_ASSERT(is_mine(write_all(cc_arena_alloc(arena, 32), 32), 32));
}

SCENARIO(arena_one_slot_has_one_owner, .init = make_empty,
         .body = {allocate_as_neighbour, allocate_as_neighbour}, .final = nothing_is_lost,
         .leaks = true)

/* ---- no memory ---- */

static int went_without;

static void make_full_and_refuse(void)
{
	make_full();
	cc__init(&refusals, 1);
}

static void allocate_or_not(void)
{
	be_thread();
	if (write_all(cc_arena_alloc(arena, 16), 16) == NULL)
		went_without |= 1 << mc_self();
}

/* Who is refused may still find what the other one got. */
static void one_has_memory(void)
{
	MC_ASSERT(went_without != 3);
	nothing_is_lost();
}

SCENARIO(arena_one_is_refused, .init = make_full_and_refuse,
         .body = {allocate_or_not, allocate_or_not}, .final = one_has_memory, .leaks = true)

/* ---- a buffer ---- */

static _Alignas(16) char buffer[32];

static void make_two_places(void)
{
	const CCArenaOptions o = {.buffer = buffer, .buffer_size = sizeof buffer};

	MC_ASSERT(cc_arena_create(&arena, &o) == 0);
}

static void exactly_two(void)
{
	MC_ASSERT(asked[0] + asked[1] + asked[2] == 32);
	nothing_is_lost();
}

SCENARIO(arena_buffer_has_two_places_for_three, .init = make_two_places,
         .body = {allocate_or_not, allocate_or_not, allocate_or_not}, .final = exactly_two,
         .leaks = true)

/* ---- cursors ---- */

static void use_cursor(void)
{
	CCArenaCursor c = cc_arena_cursor(arena);
	char *p = write_all(cc_arena_take(&c, 16), 16), *q = write_all(cc_arena_take(&c, 16), 16);

	cc_arena_done(c);
	MC_ASSERT(p != NULL && q != NULL && is_mine(p, 16) && is_mine(q, 16));
}

static void use_cursor_twice(void)
{
	use_cursor();
	use_cursor();
}

/* Blocks with stretches whose ends are worth to be listed. */
static void make_wide(void)
{
	make(16 << 10);
}

SCENARIO(arena_cursors_give_their_ends_back, .init = make_wide,
         .body = {use_cursor_twice, use_cursor}, .final = nothing_is_lost, .leaks = true)
SCENARIO(arena_cursor_and_thread, .init = make_wide, .body = {use_cursor_twice, allocate_two},
         .final = nothing_is_lost, .leaks = true)
SCENARIO(arena_three_cursors, .init = make_wide, .body = {use_cursor, use_cursor, use_cursor},
         .weak = 1, .final = nothing_is_lost, .leaks = true)

/* ---- pieces ---- */

static void get_and_put(void)
{
	void *p;

	MC_ASSERT(cc_arena_get(arena, 100, &p) == 0);
	memset(p, mc_self() + 1, 100);
	MC_ASSERT(is_mine(p, 100));
	MC_ASSERT(cc_arena_put(arena, p, 100) == 0);
}

static void get_and_put_twice(void)
{
	get_and_put();
	get_and_put();
}

static void get_and_put_large(void)
{
	void *p;

	MC_ASSERT(cc_arena_get(arena, 2000, &p) == 0);
	memset(p, mc_self() + 1, 2000);
	MC_ASSERT(cc_arena_put(arena, p, 2000) == 0);
}

SCENARIO(arena_pieces_come_and_go, .init = make_empty, .body = {get_and_put_twice, get_and_put},
         .final = nothing_is_lost, .leaks = true)
SCENARIO(arena_large_pieces_come_and_go, .init = make_empty,
         .body = {get_and_put_large, get_and_put_large, get_and_put}, .final = nothing_is_lost,
         .leaks = true)
