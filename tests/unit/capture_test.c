/* capture_test.c - what a child takes along: copied when it is spawned, its own until it ends,
 * and given back then. */
#include "nurseries.h"

#include <string.h>

#include "scope/nursery.h"

/* ---- the copy is the child's ---- */

enum { MOST = 1000 };

static cc__a32 wrong, ran;

/* Bytes that follow from the first two, which are their number. */
static unsigned char byte(size_t size, size_t i)
{
	return (unsigned char)(size * 7 + i * 13 + 1);
}

static void fill(unsigned char *bytes, size_t size)
{
	for (size_t i = 2; i < size; i++)
		bytes[i] = byte(size, i);
	memcpy(bytes, &(uint16_t){(uint16_t)size}, 2);
}

/* It writes to all of it: the copies of others are apart. */
static int check_bytes(void *captures)
{
	unsigned char *bytes = captures;
	uint16_t size;

	memcpy(&size, bytes, sizeof size);
	if ((uintptr_t)captures % CC_CAPTURES_ALIGN != 0)
		cc__add(&wrong, 1, CC__RELAXED);
	for (size_t i = 2; i < size; i++) {
		if (bytes[i] != byte(size, i))
			cc__add(&wrong, 1, CC__RELAXED);
		if (i % 16 == 0)
			cc_yield();
		bytes[i] = 0xee;
	}
	cc__add(&ran, 1, CC__RELAXED);
	return 0;
}

static int every_size(void *rt)
{
	const CCNurseryOptions o = in(rt);
	unsigned char bytes[MOST];
	int err = -1;

	cc__store(&ran, 0, CC__RELAXED);
	cc_nursery_scope_with(n, &err, &o)
		for (size_t size = 2; size <= MOST; size++) {
			fill(bytes, size);
			CHECK_EQ(cc_nursery_spawn_copy(n, NULL, check_bytes, bytes, size), 0);
			if (size % 5 == 0)
				CHECK_EQ(
				    cc_nursery_spawn_daemon_copy(n, NULL, check_bytes, bytes, size),
				    0);
			memset(bytes, 0, sizeof bytes);
		}
	CHECK_EQ(cc__load(&ran, CC__RELAXED), MOST - 1 + MOST / 5);
	CHECK_EQ(cc__load(&wrong, CC__RELAXED), 0);
	return err;
}

TEST(captures_are_copied_at_spawn)
{
	for_fiber_and_thread(every_size);
}

static int leave(void *captures)
{
	(void)captures;
	return 0;
}

static int no_captures(void *rt)
{
	const CCNurseryOptions o = {.runtime = rt, .policy = CC_NURSERY_SUPERVISE};
	CCNursery n;

	CHECK_EQ(cc_nursery_init(&n, &o), 0);
	CHECK_EQ(cc_nursery_spawn_copy(&n, NULL, leave, "", 0), 0);
	CHECK_EQ(cc_nursery_spawn_copy(&n, NULL, leave, NULL, 8), EINVAL);
	CHECK_EQ(cc_nursery_spawn_copy(&n, NULL, NULL, "", 1), EINVAL);
	CHECK_EQ(cc_nursery_spawn_copy(&n, NULL, leave, "", SIZE_MAX), ENOMEM);
	CHECK_EQ(cc_nursery_spawn_copy(NULL, NULL, leave, "", 1), EINVAL);
	CHECK_EQ(cc_nursery_join(&n), EINVAL);	/* the first of the three */
	CHECK_EQ(cc_nursery_spawn_copy(&n, NULL, leave, "", 1), EINVAL);
	CHECK(cc_nursery_arena(&n) == NULL);
	return 0;
}

TEST(captures_that_make_no_sense_are_refused)
{
	for_fiber_and_thread(no_captures);
}

/* ---- and given back ---- */

static CCArenaStats stats_of(CCNursery *n)
{
	CCArenaStats s;

	CHECK_EQ(cc_arena_stats(cc_nursery_arena(n), &s), 0);
	return s;
}

static void spawn_sized(CCNursery *n, size_t size)
{
	unsigned char bytes[MOST];

	fill(bytes, size);
	CHECK_EQ(cc_nursery_spawn_copy(n, NULL, check_bytes, bytes, size), 0);
}

/* So many, a hundred at a time. */
static void many(CCNursery *n, size_t size, int count)
{
	for (int i = 0; i < count; i += 100) {
		const uint32_t before = cc__load(&ran, CC__RELAXED);

		for (int k = 0; k < 100; k++)
			spawn_sized(n, size);
		while (cc__load(&ran, CC__RELAXED) < before + 100)
			cc_sleep_until(cc_now() + 50 * CC_USEC);
	}
}

/* The last child has counted, and is about to give its piece back. */
static bool gives_back(CCNursery *n)
{
	for (int i = 0; stats_of(n).given != 0 && i < 10000; i++)
		cc_sleep_until(cc_now() + CC_MSEC);
	return stats_of(n).given == 0;
}

static int lives_on(void *rt)
{
	const CCNurseryOptions o = in(rt);
	size_t held;
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		many(n, 300, 1000);
		held = stats_of(n).held;
		many(n, 300, 10000);
		CHECK(gives_back(n));
		/* Those of one hundred overlap with some of the one before, at most. */
		CHECK(stats_of(n).held <= held + 2 * 64 * 1024);
	}
	return err;
}

TEST(a_nursery_that_lives_on_does_not_grow_by_large_captures)	/* covers: RES-67/u */
{
	for_fiber_and_thread(lives_on);
}

/* It stays until it is told to go. */
struct large {
	cc__a32 *begun, *open;
	unsigned char more[300];
};

static int stay(void *captures)
{
	const struct large *l = captures;

	cc__add(l->begun, 1, CC__RELEASE);
	while (cc__load(l->open, CC__ACQUIRE) == 0)
		cc_yield();
	return 0;
}

static int large_ones(void *rt)
{
	const CCNurseryOptions o = in(rt);
	cc__a32 begun = {0}, open = {0};
	const struct large l = {.begun = &begun, .open = &open};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(stats_of(n).given, 0);
		CHECK_EQ(cc_nursery_spawn_copy(n, NULL, stay, &l, sizeof l), 0);
		CHECK_EQ(cc_nursery_spawn_copy(n, NULL, stay, &l, sizeof l), 0);
		while (cc__load(&begun, CC__ACQUIRE) < 2)
			cc_yield();
		CHECK(stats_of(n).given >= 2 * sizeof l);
		cc__store(&open, 1, CC__RELEASE);
		CHECK(gives_back(n));
	}
	return err;
}

TEST(large_captures_lie_in_the_arena_until_their_task_ends)	/* covers: LIF-06/u, RES-67/u */
{
	if (cc__tools_order())
		SKIP("captures are memory of their own under ThreadSanitizer");
	for_fiber_and_thread(large_ones);
}

static int small_ones(void *rt)
{
	const CCNurseryOptions o = in(rt);
	size_t frames;
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		many(n, 64, 1000);
		frames = cc__frames_made();
		many(n, 64, 10000);
		CHECK(cc__frames_made() <= frames + 4096);
		CHECK(!CC__CAPTURES_IN_FRAMES ||
		      cc__load(&cc__nursery_open(n)->arena, CC__RELAXED) == NULL);
	}
	return err;
}

TEST(small_captures_lie_in_pooled_frames)	/* covers: LIF-06/u, RES-67/u */
{
	for_fiber_and_thread(small_ones);
}

static int refused(void *rt)
{
	const CCNurseryOptions o = in(rt);
	unsigned char bytes[MOST];
	size_t frames;
	CCNursery n;

	fill(bytes, MOST);
	CHECK_EQ(cc_nursery_init(&n, &o), 0);
	CHECK_EQ(cc_nursery_cancel(&n, 0), 0);
	CHECK_EQ(cc_nursery_spawn_copy(&n, NULL, check_bytes, bytes, MOST), ECANCELED);
	CHECK_EQ(cc_nursery_spawn_daemon_copy(&n, NULL, check_bytes, bytes, MOST), ECANCELED);
	CHECK_EQ(stats_of(&n).given, 0);
	frames = cc__frames_made();
	for (int i = 0; i < 10000; i++)
		CHECK_EQ(cc_nursery_spawn_copy(&n, NULL, check_bytes, bytes, 64), ECANCELED);
	CHECK(cc__frames_made() <= frames + 256);
	CHECK_EQ(cc_nursery_join(&n), ECANCELED);
	return 0;
}

TEST(captures_of_a_refused_spawn_come_back)
{
	for_fiber_and_thread(refused);
}

static int use_arena(void *rt)
{
	const CCNurseryOptions o = in(rt);
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CCArena *arena = cc_nursery_arena(n);
		char *text = cc_arena_alloc(arena, 100);

		CHECK(arena != NULL && cc_nursery_arena(n) == arena);
		if (CHECK(text != NULL))
			strcpy(text, "there until the join");
		many(n, 300, 100);
		CHECK_STR(text, "there until the join");
	}
	return err;
}

TEST(the_arena_of_a_nursery_is_there_until_the_join)
{
	for_fiber_and_thread(use_arena);
}
