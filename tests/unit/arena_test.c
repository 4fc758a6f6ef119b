/* arena_test.c - ccc/arena.h with one caller: allocating, growing, a buffer, cursors,
 * going back, the figures, and what is refused.
 *
 * ctest-label: valgrind */
#include "arenas.h"

#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/memory.h"

enum { ROOM = (64 << 10) - 64 };	/* of a default block */

/* ---- allocating ---- */

TEST(arena_allocations_are_aligned_and_apart)
{
	enum { MANY = 3000 };
	static struct filled f[MANY];
	CCArena *a = cc_arena_new();
	uint64_t random = test_seed();
	size_t asked = 0;

	REQUIRE(a != NULL);
	for (unsigned i = 0; i < MANY; i++) {
		/* Mostly small; now and then one that has a block of its own. */
		const size_t size = test_random(&random) % (i % 100 == 0 ? 100000 : 300);

		f[i] = fill(cc_arena_alloc(a, size), size, i);
		REQUIRE((uintptr_t)f[i].p % CC_ARENA_ALIGN == 0);
		asked += size;
	}
	check_all(f, MANY);
	CHECK_EQ(stats_of(a).asked, asked);
	CHECK_EQ(cc_arena_free(a), 0);
}

TEST(arena_zero_sizes_have_addresses_of_their_own)
{
	CCArena *a = cc_arena_new();
	CCArenaCursor c;
	char *p[4];
	void *got;

	REQUIRE(a != NULL);
	p[0] = cc_arena_alloc(a, 0);
	p[1] = cc_arena_alloc(a, 0);
	CHECK_EQ(cc_arena_get(a, 0, &got), 0);
	p[2] = got;
	c = cc_arena_cursor(a);
	p[3] = cc_arena_take(&c, 0);
	cc_arena_done(c);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < i; k++)
			CHECK(p[i] != NULL && p[i] != p[k]);
	CHECK_EQ(stats_of(a).asked, 0);
	CHECK_EQ(stats_of(a).given, 64);
	CHECK_EQ(cc_arena_put(a, got, 0), 0);
	CHECK_EQ(cc_arena_free(a), 0);
}

TEST(arena_refuses_what_no_memory_could_hold)
{
	static const size_t sizes[] = {
		SIZE_MAX,
		SIZE_MAX - 14,
		SIZE_MAX - 15,
		SIZE_MAX - 16,
		SIZE_MAX / 2,
		SIZE_MAX / 2 + 1,
		SIZE_MAX / 4 + 1,
		(size_t)1 << 60,
#if !defined(CC__ASAN) && !defined(CC__TSAN)
		(size_t)1 << 47,	/* malloc says no; theirs would abort */
#endif
	};
	CCArena *a = cc_arena_new();
	CCArenaStats before;

	REQUIRE(a != NULL && cc_arena_alloc(a, 1) != NULL);
	before = stats_of(a);
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		CCArenaCursor c = cc_arena_cursor(a);
		void *p = a;

		CHECK(cc_arena_alloc(a, sizes[i]) == NULL);
		CHECK_EQ(cc_arena_alloc_aligned(a, sizes[i], CC_ARENA_ALIGN_MAX, &p), ENOMEM);
		CHECK(p == NULL);
		CHECK_EQ(cc_arena_get(a, sizes[i], &p), ENOMEM);
		CHECK(cc_arena_take(&c, sizes[i]) == NULL);
		CHECK(cc_arena_take(&c, 8) != NULL);	/* the cursor is as good as before */
		cc_arena_done(c);
	}
	CHECK_EQ(stats_of(a).blocks, before.blocks);
	CHECK_EQ(stats_of(a).asked, before.asked + 8 * (sizeof sizes / sizeof *sizes));
	CHECK_EQ(cc_arena_free(a), 0);
}

TEST(arena_aligns_up_to_a_page_and_refuses_more)
{
	static const size_t wrong[] = {0, 3, 24, 4095, 8192, SIZE_MAX / 2 + 1, SIZE_MAX};
	CCArena *a = cc_arena_new();
	struct filled f[13 * 4];
	unsigned n = 0;
	void *p;

	REQUIRE(a != NULL);
	for (size_t align = 1; align <= CC_ARENA_ALIGN_MAX; align *= 2)
		/* The last one has a block of its own. */
		for (size_t size = 1; size < 40000; size = size * 34 + 1) {
			CHECK_EQ(cc_arena_alloc_aligned(a, size, align, &p), 0);
			CHECK_EQ((uintptr_t)p % align, 0);
			CHECK_EQ((uintptr_t)p % CC_ARENA_ALIGN, 0);
			f[n] = fill(p, size, n);
			n++;
		}
	check_all(f, n);
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK_EQ(cc_arena_alloc_aligned(a, 16, wrong[i], &p), EINVAL);
	CHECK_EQ(cc_arena_alloc_aligned(a, 16, 16, NULL), EINVAL);
	CHECK_EQ(cc_arena_alloc_aligned(NULL, 16, 16, &p), EINVAL);
	stats_of(a);
	CHECK_EQ(cc_arena_free(a), 0);
}

TEST(arena_options_that_make_no_sense_are_refused)
{
	static char buffer[64];
	static const CCArenaOptions wrong[] = {
	    {.block = CC_ARENA_BLOCK_MIN - 1},
	    {.block = CC_ARENA_BLOCK_MAX + 1},
	    {.buffer_size = 64},
	    {.buffer = buffer},
	    {.buffer = buffer, .buffer_size = 15},
	    {.buffer = buffer + 1, .buffer_size = 30}, /* 15 are left of it */
	    {.buffer = buffer, .buffer_size = 64, .block = 4096},
	};
	CCArena *a = NULL;

	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK_EQ(cc_arena_create(&a, &wrong[i]), EINVAL);
	CHECK_EQ(cc_arena_create(NULL, NULL), EINVAL);
	CHECK(a == NULL);
	CHECK_EQ(cc_arena_free(NULL), 0);
	CHECK_EQ(cc_arena_reset(NULL), EINVAL);
	CHECK_EQ(cc_arena_trim(NULL), EINVAL);
	CHECK_EQ(cc_arena_stats(NULL, &(CCArenaStats){0}), EINVAL);
	CHECK_EQ(cc_arena_mark(NULL, &(CCArenaMark){0}), EINVAL);
	CHECK_EQ(cc_arena_restore(NULL, (CCArenaMark){.id = 1}), EINVAL);
}

/* ---- a buffer ---- */

TEST(arena_in_a_buffer_gives_exactly_what_is_there)
{
	static unsigned char memory[1024 + 32];

	for (size_t offset = 0; offset <= 16; offset += 5) {
		const size_t size = 1000, room = (size - (16 - offset % 16) % 16) / 16 * 16;
		CCArena *a = arena_with((CCArenaOptions){
		    .buffer = memory + 16 - (uintptr_t)memory % 16 + offset, .buffer_size = size});
		size_t n = 0;

		while (cc_arena_alloc(a, 16) != NULL)
			n++;
		CHECK_EQ(n, room / 16);
		CHECK_EQ(stats_of(a).unused, 0);
		CHECK_EQ(stats_of(a).waste, 0);
		CHECK_EQ(cc_arena_reset(a), 0);
		/* In one piece, and not a byte more. */
		CHECK(cc_arena_alloc(a, room + 1) == NULL);
		CHECK(cc_arena_alloc(a, room) != NULL);
		CHECK(cc_arena_alloc(a, 1) == NULL);
		CHECK_EQ(cc_arena_free(a), 0);
	}
}

TEST(arena_in_a_buffer_touches_nothing_else)
{
	static unsigned char memory[4096];
	unsigned char *const from = memory + 100, *const to = memory + 4000;
	CCArena *a;
	void *p;

	memset(memory, 0xaa, sizeof memory);
	a = arena_with((CCArenaOptions){.buffer = from, .buffer_size = (size_t)(to - from)});
	while ((p = cc_arena_alloc(a, 40)) != NULL) {
		CHECK((unsigned char *)p >= from && (unsigned char *)p + 40 <= to);
		memset(p, 0x55, 40);
	}
	CHECK_EQ(stats_of(a).blocks, 1);
	CHECK_EQ(cc_arena_trim(a), 0);
	CHECK_EQ(cc_arena_reset(a), 0);
	CHECK_EQ(cc_arena_free(a), 0);
	for (unsigned i = 0; i < 100; i++)
		CHECK_EQ(memory[i], 0xaa);
	for (unsigned i = 4000; i < 4096; i++)
		CHECK_EQ(memory[i], 0xaa);
	memset(memory, 0, sizeof memory);	/* it is the caller's again */
}

/* Sizes that do not divide the stretches: a cursor alone gets all of it, too. */
TEST(arena_in_a_buffer_gives_one_cursor_all_of_it)
{
	static _Alignas(16) unsigned char memory[32 << 10];
	CCArena *a = arena_with((CCArenaOptions){.buffer = memory, .buffer_size = sizeof memory});
	CCArenaCursor c = cc_arena_cursor(a);
	size_t n = 0;

	while (cc_arena_take(&c, 48) != NULL)
		n++;
	CHECK_EQ(n, sizeof memory / 48);
	cc_arena_done(c);
	CHECK_EQ(stats_of(a).asked, n * 48);
	CHECK(cc_arena_alloc(a, sizeof memory - n * 48) != NULL);
	CHECK(cc_arena_alloc(a, 1) == NULL);
	CHECK_EQ(cc_arena_free(a), 0);
}

TEST(arena_in_a_buffer_uses_what_a_cursor_has_left)
{
	static _Alignas(16) unsigned char memory[32 << 10];
	CCArena *a = arena_with((CCArenaOptions){.buffer = memory, .buffer_size = sizeof memory});
	CCArenaCursor c = cc_arena_cursor(a);
	size_t n = 1;

	CHECK(cc_arena_take(&c, 16) != NULL);
	while (cc_arena_alloc(a, 16) != NULL)	/* behind the stretch */
		n++;
	cc_arena_done(c);
	while (cc_arena_alloc(a, 16) != NULL)
		n++;
	/* But for an end that is too short to be worth it. */
	CHECK(n * 16 <= sizeof memory && n * 16 + 256 > sizeof memory);
	CHECK_EQ(stats_of(a).asked, n * 16);
	CHECK_EQ(cc_arena_free(a), 0);
}

/* ---- growth ---- */

TEST(arena_grows_by_blocks_from_the_runtimes_allocator)
{
	struct counted c;
	CCRuntime *rt = counted_runtime(&c);
	const uint64_t blocks = cc__load(&c.blocks, CC__RELAXED);
	const uint64_t bytes = cc__load(&c.bytes, CC__RELAXED);
	CCArena *a = arena_with((CCArenaOptions){.runtime = rt, .block = 4096});

	CHECK_EQ(cc__load(&c.blocks, CC__RELAXED), blocks + 1);
	CHECK_EQ(stats_of(a).held, 0);
	for (unsigned i = 0; i < 1000; i++)
		CHECK(cc_arena_alloc(a, 32) != NULL);
	CHECK_EQ(stats_of(a).blocks, 8);	/* 126 of them in each */
	CHECK_EQ(cc__load(&c.blocks, CC__RELAXED), blocks + 1 + 8);
	CHECK(cc_arena_alloc(a, 5000) != NULL);
	CHECK_EQ(stats_of(a).blocks, 9);
	CHECK_EQ(stats_of(a).asked, 37000);
	CHECK(stats_of(a).given < 37000 + 16);
	CHECK_EQ(cc_arena_free(a), 0);
	CHECK_EQ(cc__load(&c.blocks, CC__RELAXED), blocks);
	CHECK_EQ(cc__load(&c.bytes, CC__RELAXED), bytes);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(arena_reset_keeps_blocks_and_trim_gives_them_back)
{
	struct counted c;
	CCRuntime *rt = counted_runtime(&c);
	CCArena *a = arena_with((CCArenaOptions){.runtime = rt});
	uint64_t calls;
	void *large;

	for (int round = 0; round < 3; round++) {
		calls = cc__load(&c.calls, CC__RELAXED);
		for (unsigned i = 0; i < 10000; i++)
			CHECK(cc_arena_alloc(a, 32) != NULL);
		CHECK_EQ(stats_of(a).asked, 320000);
		if (round > 0)
			CHECK_EQ(cc__load(&c.calls, CC__RELAXED), calls);
		CHECK((large = cc_arena_alloc(a, 100000)) != NULL);
		CHECK_EQ(stats_of(a).blocks, 6);
		CHECK_EQ(cc_arena_reset(a), 0);
		CHECK_EQ(stats_of(a).blocks, 5);
		CHECK_EQ(stats_of(a).unused, 5 * ROOM);
	}
	CHECK_EQ(cc_arena_trim(a), 0);
	CHECK_EQ(stats_of(a).held, 0);
	CHECK(cc_arena_alloc(a, 32) != NULL);
	CHECK_EQ(cc_arena_trim(a), 0);	/* what is in use stays */
	CHECK_EQ(stats_of(a).asked, 32);
	CHECK_EQ(cc_arena_free(a), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- cursors ---- */

TEST(arena_cursor_gives_the_rest_back)
{
	CCArena *a = cc_arena_new();
	CCArenaCursor c, d;
	struct filled f[3];

	REQUIRE(a != NULL);
	c = cc_arena_cursor(a);
	f[0] = fill(cc_arena_take(&c, 20), 20, 1);
	cc_arena_done(c);
	CHECK_EQ(stats_of(a).asked, 20);
	CHECK_EQ(stats_of(a).given, 32);
	CHECK_EQ(stats_of(a).waste, 0);
	c = cc_arena_cursor(a);
	d = cc_arena_cursor(a);
	f[1] = fill(cc_arena_take(&c, 100), 100, 2);
	f[2] = fill(cc_arena_take(&d, 100), 100, 3);
	cc_arena_done(c);	/* in the midst of the block: the next one uses it */
	cc_arena_done(d);
	c = cc_arena_cursor(a);
	for (unsigned i = 0; i < 100; i++)
		CHECK(cc_arena_take(&c, 16) != NULL);
	check_all(f, 3);
	cc_arena_done(c);
	CHECK_EQ(stats_of(a).asked, 1820);
	CHECK_EQ(stats_of(a).waste, 0);
	CHECK_EQ(stats_of(a).blocks, 1);
	CHECK_EQ(cc_arena_free(a), 0);
}

TEST(arena_cursor_takes_any_size)
{
	enum { MANY = 2000 };
	static struct filled f[MANY];
	CCArena *a = cc_arena_new();
	CCArenaCursor c = cc_arena_cursor(a);
	uint64_t random = test_seed();
	size_t asked = 0;

	for (unsigned i = 0; i < MANY; i++) {
		const size_t size = test_random(&random) % (i % 50 == 0 ? 60000 : 500);

		f[i] = fill(cc_arena_take(&c, size), size, i);
		REQUIRE((uintptr_t)f[i].p % CC_ARENA_ALIGN == 0);
		asked += size;
	}
	check_all(f, MANY);
	cc_arena_done(c);
	CHECK_EQ(stats_of(a).asked, asked);
	CHECK_EQ(cc_arena_free(a), 0);
}

TEST(arena_with_a_cursor_neither_goes_back_nor_ends)
{
	CCArena *a = cc_arena_new();
	CCArenaCursor c;
	CCArenaMark m, other;

	REQUIRE(a != NULL);
	CHECK_EQ(cc_arena_mark(a, &m), 0);
	c = cc_arena_cursor(a);
	CHECK_EQ(cc_arena_mark(a, &other), EBUSY);
	CHECK_EQ(cc_arena_restore(a, m), EBUSY);
	CHECK_EQ(cc_arena_keep(a, m), EBUSY);
	CHECK_EQ(cc_arena_reset(a), EBUSY);
	CHECK_EQ(cc_arena_free(a), EBUSY);
	CHECK(cc_arena_take(&c, 16) != NULL);
	cc_arena_done(c);
	CHECK_EQ(cc_arena_restore(a, m), 0);
	CHECK_EQ(cc_arena_free(a), 0);
}

/* ---- marks ---- */

/* Something of every kind. */
static unsigned allocate_some(CCArena *a, struct filled *f, unsigned tag)
{
	CCArenaCursor c = cc_arena_cursor(a);
	unsigned n = 0;
	void *p = NULL;

	for (; n < 40; n++)
		f[n] = fill(cc_arena_alloc(a, 100 * n), 100 * n, tag + n);
	for (; n < 80; n++)
		f[n] = fill(cc_arena_take(&c, 10 * n), 10 * n, tag + n);
	CHECK_EQ(cc_arena_get(a, 3000, &p), 0);
	f[n] = fill(p, 3000, tag + n);
	n++;
	CHECK_EQ(cc_arena_alloc_aligned(a, 700, 1024, &p), 0);
	f[n] = fill(p, 700, tag + n);
	n++;
	f[n] = fill(cc_arena_alloc(a, 70000), 70000, tag + n);
	cc_arena_done(c);
	return n + 1;
}

TEST(arena_restore_undoes_what_came_after_the_mark)
{
	static struct filled f[4][128];
	CCArena *a = cc_arena_new();
	CCArenaMark m[3];
	CCArenaStats before[3];
	unsigned n = 0;

	REQUIRE(a != NULL);
	for (int i = 0; i < 3; i++) {
		n = allocate_some(a, f[i], 50 * (unsigned)i);
		REQUIRE_EQ(cc_arena_mark(a, &m[i]), 0);
		before[i] = stats_of(a);
	}
	allocate_some(a, f[3], 150);
	for (int i = 2; i >= 0; i--) {
		CCArenaStats now;

		CHECK_EQ(cc_arena_restore(a, m[i]), 0);
		now = stats_of(a);
		CHECK_EQ(now.asked, before[i].asked);
		CHECK_EQ(now.given, before[i].given);
		CHECK(now.waste <= before[i].waste);	/* the mark is gone */
		for (int k = 0; k <= i; k++)
			check_all(f[k], n);
		allocate_some(a, f[3], 150);	/* the room is used again */
		for (int k = 0; k <= i; k++)
			check_all(f[k], n);
		CHECK_EQ(cc_arena_restore(a, m[i]), EINVAL);
	}
	CHECK_EQ(cc_arena_free(a), 0);
}

TEST(arena_restore_of_an_outer_mark_ends_the_inner_ones)
{
	CCArena *a = cc_arena_new(), *b = cc_arena_new();
	CCArenaMark outer, inner, later, others;
	char *p;

	REQUIRE(a != NULL && b != NULL);
	CHECK_EQ(cc_arena_mark(a, &outer), 0);
	p = cc_arena_alloc(a, 64);
	CHECK_EQ(cc_arena_mark(a, &inner), 0);
	CHECK(cc_arena_alloc(a, 64) != p);
	CHECK_EQ(cc_arena_restore(a, outer), 0);
	CHECK_EQ(stats_of(a).given, 0);
	CHECK_EQ(cc_arena_restore(a, inner), EINVAL);
	CHECK_EQ(cc_arena_mark(a, &later), 0);	/* ids never repeat */
	CHECK_EQ(cc_arena_restore(a, outer), EINVAL);
	CHECK_EQ(cc_arena_restore(a, inner), EINVAL);
	CHECK_EQ(cc_arena_restore(b, later), EINVAL);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(cc_arena_mark(b, &others), 0);
	CHECK_EQ(others.id, later.id);
	CHECK_EQ(cc_arena_restore(b, later), EINVAL);
	CHECK_EQ(cc_arena_reset(a), 0);
	CHECK_EQ(cc_arena_restore(a, later), EINVAL);
	CHECK_EQ(cc_arena_mark(a, NULL), EINVAL);
	CHECK_EQ(cc_arena_free(a), 0);
	CHECK_EQ(cc_arena_free(b), 0);
}

TEST(arena_keep_ends_a_mark_and_leaves_the_rest)
{
	static struct filled f[128], more[128];
	CCArena *a = cc_arena_new();
	CCArenaMark m, outer;
	unsigned n;

	REQUIRE(a != NULL);
	CHECK_EQ(cc_arena_mark(a, &outer), 0);
	CHECK_EQ(cc_arena_mark(a, &m), 0);
	n = allocate_some(a, f, 9);
	CHECK_EQ(cc_arena_keep(a, m), 0);
	CHECK_EQ(cc_arena_restore(a, m), EINVAL);
	allocate_some(a, more, 100);
	check_all(f, n);
	CHECK_EQ(cc_arena_restore(a, outer), 0);
	CHECK_EQ(stats_of(a).given, 0);
	CHECK_EQ(cc_arena_free(a), 0);
}

TEST(arena_in_a_buffer_goes_back_and_says_when_a_mark_has_no_room)
{
	static _Alignas(16) unsigned char memory[256];
	CCArena *a = arena_with((CCArenaOptions){.buffer = memory, .buffer_size = sizeof memory});
	CCArenaMark m, full;
	char *p;

	CHECK(cc_arena_alloc(a, 64) != NULL);
	CHECK_EQ(cc_arena_mark(a, &m), 0);
	CHECK((p = cc_arena_alloc(a, 100)) != NULL);
	CHECK(cc_arena_alloc(a, 100) == NULL);
	CHECK_EQ(cc_arena_mark(a, &full), ENOMEM);
	CHECK_EQ(cc_arena_restore(a, m), 0);
	CHECK(cc_arena_alloc(a, 192) != NULL);
	CHECK(cc_arena_alloc(a, 1) == NULL);
	CHECK_EQ(cc_arena_free(a), 0);
}

/* ---- what the tools are told ---- */

#ifdef CC__ASAN

static void write_after_reset(void *arg)
{
	CCArena *a = arg;
	char *p = cc_arena_alloc(a, 32);

	cc_arena_reset(a);
	p[3] = 1;
}

static void write_past_the_end(void *arg)
{
	char *p = cc_arena_alloc(arg, 20);

	p[20] = 1;
}

static void write_what_was_put(void *arg)
{
	void *p;

	if (cc_arena_get(arg, 64, &p) == 0 && cc_arena_put(arg, p, 64) == 0)
		((char *)p)[40] = 1;
}

#endif

TEST(arena_tells_the_address_sanitizer_what_is_free)
{
#ifndef CC__ASAN
	SKIP("wants AddressSanitizer");
#else
	static void (*const wrong[])(void *) = {write_after_reset, write_past_the_end,
	                                        write_what_was_put};
	static struct test_death death;
	CCArena *a = cc_arena_new();

	for (int i = 0; i < 3; i++) {
		REQUIRE_EQ(test_dies(wrong[i], a, &death), 0);
		CHECK(death.status != 0 && strstr(death.text, "use-after-poison") != NULL);
	}
	CHECK_EQ(cc_arena_free(a), 0);
#endif
}

/* ---- a child of fork ---- */

static int in_child(CCArena *a)
{
	CCArena *b;
	CCArenaStats s;
	CCArenaMark m;
	void *p;

	return cc_arena_create(&b, NULL) == ENOTSUP && cc_arena_alloc(a, 100000) == NULL &&
	               cc_arena_get(a, 100, &p) == ENOTSUP && cc_arena_stats(a, &s) == ENOTSUP &&
	               cc_arena_mark(a, &m) == ENOTSUP && cc_arena_reset(a) == ENOTSUP &&
	               cc_arena_restore(a, (CCArenaMark){.id = 1}) == ENOTSUP &&
	               cc_arena_trim(a) == ENOTSUP && cc_arena_free(a) == ENOTSUP
	           ? 0
	           : 1;
}

TEST(arena_in_a_child_of_fork_says_so)
{
	struct counted c;
	CCRuntime *rt = counted_runtime(&c);
	CCArena *a = cc_arena_new();
	int status = -1;
	pid_t child;

	REQUIRE(a != NULL);
	if ((child = fork()) == 0)
		_exit(in_child(a));
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	CHECK_EQ(cc_arena_free(a), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
