/* frame_plain_test.c - a frame that is larger than its stack and the guard, in code compiled
 * without -fstack-clash-protection: what is still promised, and what is not.
 *
 * link-wrap: mmap
 * compile-last: -fno-stack-clash-protection */
#include "big_frames.h"

/* Without optimization a function keeps its variables at the low end of its frame, below the
 * array, and touches those first. */
#ifdef __OPTIMIZE__
#define ONE_TOUCH()
#else
#define ONE_TOUCH() SKIP("the function touches the low end of its frame too (-O0)")
#endif

static void check_skipped(enum target target, const char *where)
{
	REQUIRE(dies_of_large_frame(target));
	CHECK(strstr(death.text, " 'big' overflowed its 256 KB stack with a frame that skipped "
	                         "the guard: its stack pointer is ") != NULL);
	CHECK(strstr(death.text, where) != NULL);
	CHECK(strstr(death.text, "compile with -fstack-clash-protection") != NULL);
	CHECK(strstr(death.text, "stack_size in CCTaskOptions") != NULL);
	CHECK(strstr(death.text, "victim") == NULL);
}

/* The frame has 1,536 KB and the stack 256, so the stack pointer is some 1,280 KB below. */
TEST(frame_that_skips_its_guard_into_another_is_named)	/* covers: SCH-04/d */
{
	check_skipped(OTHER_GUARD, " is 12");
}

TEST(frame_that_skips_all_stacks_is_named)	/* covers: SCH-04/d */
{
	check_skipped(BELOW_ALL, " is 12");
}

TEST(frame_that_touches_its_own_guard_is_named)	/* covers: SCH-04/d */
{
	ONE_TOUCH();
	REQUIRE(dies_of_large_frame(OWN_GUARD));
	CHECK(strstr(death.text, " 'big' overflowed its 256 KB stack; give ") != NULL);
	CHECK(victims_are_intact());
}

/* No promise, and the reason for the flag: nothing faults, and no one hears of it. */
TEST(frame_that_skips_its_guard_into_another_stack_overwrites_it)
{
	ONE_TOUCH();
	CHECK(!dies_of_large_frame(OTHER_STACK));
	CHECK(!victims_are_intact());
}
