/* arena_piece_test.c - ccc/arena.h: pieces that are given back one by one, so that an arena
 * that is never reset does not grow.
 *
 * ctest-label: valgrind */
#include "arenas.h"

#include <signal.h>
#include <sys/wait.h>

#include "os/memory.h"

static void *get(CCArena *a, size_t size)
{
	void *p = NULL;

	CHECK_EQ(cc_arena_get(a, size, &p), 0);
	return p;
}

TEST(arena_piece_that_was_put_is_used_again)
{
	CCArena *a = cc_arena_new();
	void *p, *q;

	REQUIRE(a != NULL);
	p = get(a, 100);
	q = get(a, 100);
	CHECK(p != q);
	CHECK_EQ(cc_arena_put(a, p, 100), 0);
	CHECK_EQ(stats_of(a).asked, 100);
	CHECK(get(a, 200) != p);	/* too much for it */
	CHECK(get(a, 40) != p);		/* far too little */
	CHECK(get(a, 97) == p);
	CHECK_EQ(stats_of(a).asked, 100 + 200 + 40 + 97);
	CHECK_EQ(cc_arena_free(a), 0);
}

/* Every size up to the largest class: a quarter too much at most, and the piece serves
 * whatever is rounded up to the same. */
TEST(arena_pieces_waste_a_quarter_at_most)
{
	static _Alignas(16) unsigned char memory[(1 << 18) + 4096];
	/* In a buffer nothing has memory of its own. */
	CCArena *a = arena_with((CCArenaOptions){.buffer = memory, .buffer_size = sizeof memory});

	for (size_t size = 1; size <= 1 << 18; size += 1 + size / 97) {
		unsigned char *p = get(a, size);
		const size_t given = stats_of(a).given, least = (size + 15) / 16 * 16;

		CHECK_EQ(stats_of(a).asked, size);
		CHECK(given >= least && given <= least + least / 4);
		memset(p, 0x77, size);
		CHECK_EQ(cc_arena_put(a, p, size), 0);
		CHECK_EQ(stats_of(a).given, 0);
		CHECK_EQ(stats_of(a).asked, 0);
		CHECK(get(a, given) == p);	/* the largest that it serves */
		CHECK_EQ(cc_arena_put(a, p, given), 0);
		CHECK(get(a, size) == p);
		CHECK_EQ(cc_arena_reset(a), 0);
	}
	CHECK_EQ(cc_arena_free(a), 0);
}

/* A server that never ends: as many at a time as it will ever have. */
TEST(arena_that_is_never_reset_does_not_grow)
{
	enum { LIVE = 200 };
	static struct filled f[LIVE];
	CCArena *a = cc_arena_new();
	uint64_t random = test_seed();
	size_t held = 0;

	REQUIRE(a != NULL);
	memset(f, 0, sizeof f);
	for (unsigned i = 0; i < 50000; i++) {
		struct filled *one = &f[test_random(&random) % LIVE];
		const size_t size = 65 + test_random(&random) % 400;

		if (one->p != NULL) {
			REQUIRE(is_intact(one));
			REQUIRE_EQ(cc_arena_put(a, one->p, one->size), 0);
		}
		*one = fill(get(a, size), size, i);
		if (i == 25000)
			held = stats_of(a).held;
	}
	check_all(f, LIVE);
	/* As it was half way, but for a block at a time when more of one size are there. */
	CHECK(stats_of(a).held <= held + 2 * (64 << 10));
	CHECK(held < LIVE * 1000 * 10);
	CHECK_EQ(cc_arena_free(a), 0);
}

TEST(arena_large_pieces_go_back_to_the_allocator)
{
	struct counted c;
	CCRuntime *rt = counted_runtime(&c);
	CCArena *a = arena_with((CCArenaOptions){.runtime = rt});
	const uint64_t blocks = cc__load(&c.blocks, CC__RELAXED);
	struct filled f[5];

	for (unsigned i = 0; i < 5; i++)
		f[i] = fill(get(a, 50000 + i), 50000 + i, i);
	CHECK_EQ(cc__load(&c.blocks, CC__RELAXED), blocks + 5);
	CHECK_EQ(stats_of(a).blocks, 5);
	/* In the midst, first and last of their list. */
	for (unsigned i = 2; i != 7; i++) {
		const unsigned k = i == 2 ? 2 : i == 3 ? 4 : i == 4 ? 0 : i == 5 ? 3 : 1;

		CHECK(is_intact(&f[k]));
		CHECK_EQ(cc_arena_put(a, f[k].p, f[k].size), 0);
		CHECK_EQ(cc__load(&c.blocks, CC__RELAXED), blocks + 6 - i);
	}
	CHECK_EQ(stats_of(a).held, 0);
	CHECK(get(a, 50000) != NULL);
	CHECK_EQ(cc_arena_reset(a), 0);
	CHECK_EQ(cc__load(&c.blocks, CC__RELAXED), blocks);
	CHECK_EQ(cc_arena_free(a), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* What is put while a mark is open may lie on either side of it. */
TEST(arena_pieces_put_under_a_mark_stay_unused)
{
	CCArena *a = cc_arena_new();
	void *before, *listed, *after;
	CCArenaMark m;
	size_t asked;

	REQUIRE(a != NULL);
	before = get(a, 100);
	listed = get(a, 100);
	CHECK_EQ(cc_arena_put(a, listed, 100), 0);
	asked = stats_of(a).asked;
	CHECK_EQ(cc_arena_mark(a, &m), 0);
	after = get(a, 100);
	CHECK(after != listed);	/* restore would not have given it back */
	CHECK_EQ(cc_arena_put(a, after, 100), 0);
	CHECK_EQ(cc_arena_put(a, before, 100), 0);
	after = get(a, 50000);	/* memory of its own is no matter of marks */
	CHECK_EQ(cc_arena_put(a, after, 50000), 0);
	CHECK_EQ(cc_arena_restore(a, m), 0);
	CHECK_EQ(stats_of(a).asked, asked);
	CHECK(get(a, 100) == listed);
	CHECK(get(a, 100) != before);
	CHECK_EQ(cc_arena_reset(a), 0);
	CHECK_EQ(stats_of(a).given, 0);
	CHECK_EQ(cc_arena_free(a), 0);
}

TEST(arena_large_allocation_before_a_mark_may_go_before_it_is_restored)
{
	CCArena *a = cc_arena_new();
	struct filled old;
	void *gone;
	CCArenaMark m;

	REQUIRE(a != NULL);
	old = fill(get(a, 30000), 30000, 1);
	gone = get(a, 30000);
	CHECK_EQ(cc_arena_mark(a, &m), 0);
	CHECK(get(a, 30000) != NULL);
	CHECK_EQ(cc_arena_put(a, gone, 30000), 0);
	CHECK_EQ(cc_arena_restore(a, m), 0);
	CHECK(is_intact(&old));
	CHECK_EQ(stats_of(a).asked, 30000);
	CHECK_EQ(cc_arena_free(a), 0);
}

/* Of each size, so that the link and what else stands there has room in all of them. */
TEST(arena_refuses_a_piece_that_was_put_already)
{
	CCArena *a;

	if (CC__MEMORY_WATCHED)
		SKIP("the tool that watches would not let it look");
	REQUIRE((a = cc_arena_new()) != NULL);
	for (size_t size = 1; size < 10000; size += 1 + size / 7) {
		void *p = get(a, size);

		for (int round = 0; round < 3; round++) {
			CHECK_EQ(cc_arena_put(a, p, size), 0);
			CHECK_EQ(cc_arena_put(a, p, size), EINVAL);
			CHECK(get(a, size) == p);	/* unwritten, and yet a piece */
		}
	}
	CHECK_EQ(cc_arena_free(a), 0);
}

TEST(arena_refuses_what_is_no_piece)
{
	CCArena *a = cc_arena_new();
	char *p, *large;

	REQUIRE(a != NULL);
	p = get(a, 100);
	large = get(a, 50000);
	CHECK_EQ(cc_arena_put(a, NULL, 100), EINVAL);
	CHECK_EQ(cc_arena_put(a, p + 1, 100), EINVAL);
	CHECK_EQ(cc_arena_put(a, p, SIZE_MAX), EINVAL);
	CHECK_EQ(cc_arena_put(a, large + 16 * 100, 50000), EINVAL);
	CHECK_EQ(cc_arena_put(NULL, p, 100), EINVAL);
	CHECK_EQ(cc_arena_get(NULL, 100, &(void *){NULL}), EINVAL);
	CHECK_EQ(cc_arena_get(a, 100, NULL), EINVAL);
	CHECK_EQ(stats_of(a).asked, 50100);
	CHECK_EQ(cc_arena_free(a), 0);
}

#ifdef CC__DEBUG

static void put_a_strangers(void *arg)
{
	static _Alignas(16) char foreign[128];

	cc_arena_put(arg, foreign, 100);
}

#endif

TEST(arena_debug_builds_name_a_piece_of_somebody_else)
{
#ifndef CC__DEBUG
	SKIP("wants internal checks");
#else
	static struct test_death death;
	CCArena *a = cc_arena_new();

	REQUIRE(a != NULL && get(a, 100) != NULL);
	REQUIRE_EQ(test_dies(put_a_strangers, a, &death), 0);
	CHECK(WIFSIGNALED(death.status) && WTERMSIG(death.status) == SIGABRT);
	CHECK(strstr(death.text, "arena: what is put back is not from it") != NULL);
	CHECK_EQ(cc_arena_free(a), 0);
#endif
}
