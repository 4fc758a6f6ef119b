/* frame_test.c - faults around the guards of stacks, in code that is compiled as users of the
 * library are: with -fstack-clash-protection, where the compiler knows it.  Each overflow dies at
 * the guard and is named after the fiber that ran; a stray pointer is nobody's overflow.
 *
 * link-wrap: mmap */
#include "big_frames.h"

#include <alloca.h>

/* ---- large frames ---- */

TEST(large_frame_stops_at_its_own_guard)	/* covers: SCH-04/d */
{
#ifndef TEST_STACK_CLASH
	SKIP("this compiler does not know -fstack-clash-protection");
#else
	for (enum target target = 0; target < TARGETS; target++) {
		REQUIRE(dies_of_large_frame(target));
		CHECK(strstr(death.text,
		             " 'big' overflowed its 256 KB stack; give it a larger one: "
		             "stack_size in CCTaskOptions, ") != NULL);
		CHECK(strstr(death.text, " or CC_STACK_SIZE in the environment\n") != NULL);
		CHECK(strstr(death.text, "victim") == NULL);
		CHECK(victims_are_intact());
	}
#endif
}

/* ---- stray pointers ---- */

static void host_handler(int sig)
{
	(void)sig;
	_exit(42);
}

static int touch(void *address)
{
	*(volatile char *)address = 1;
	return 0;
}

static void stray_child(void *by_fiber)
{
	struct sigaction a = {.sa_handler = host_handler};
	static struct gate gate;
	CCRuntime *rt;
	CCTask t;

	sigaction(SIGSEGV, &a, NULL);
	rt = runtime_on_those_stacks();
	if (cc_task_spawn(rt, NULL, NULL, wait_at, &gate) != 0)
		_exit(3);
	TEST_UNTIL(cc__load(&gate.arrived, CC__ACQUIRE) == 1);
	/* (The first stack's guard, which is that fiber's.) */
	if (!*(bool *)by_fiber)
		touch(stacks + GUARD / 2);
	else if (cc_task_spawn(rt, &t, NULL, touch, stacks + GUARD / 2) == 0)
		cc_ignore(cc_task_join(t, CC_FOREVER, NULL));
	_exit(5);
}

TEST(stray_pointer_into_a_guard_is_the_host_s_fault_and_no_overflow)
{
	for (int by_fiber = 0; by_fiber < 2; by_fiber++) {
		bool arg = by_fiber;

		reserve_stacks();
		REQUIRE_EQ(test_dies(stray_child, &arg, &death), 0);
		CHECK(WIFEXITED(death.status));
		CHECK_EQ(WEXITSTATUS(death.status), 42);
		CHECK_STR(death.text, "");
	}
}

/* ---- an overflow inside of the switch ---- */

static int keep_yielding(void *arg)
{
	(void)arg;
	for (;;)
		cc_yield();
	return 0;
}

static int yield_with_little_left(void *arg)
{
	const size_t left = *(size_t *)arg;
	char here, *low = my_guard() + GUARD + left;
	volatile char *room = alloca((size_t)(&here - low));

	room[0] = 1;
	cc_yield();
	_exit(room[0] == 1 ? 5 : 4);
}

static void yield_child(void *left)
{
	static const CCTaskOptions parser = {.name = "parser"}, other = {.name = "other"};
	CCRuntime *rt = runtime_on_those_stacks();
	CCTask t;

	if (cc_task_spawn(rt, NULL, &other, keep_yielding, NULL) != 0 ||
	    cc_task_spawn(rt, &t, &parser, yield_with_little_left, left) != 0)
		_exit(3);
	cc_ignore(cc_task_join(t, CC_FOREVER, NULL));
	_exit(6);
}

/* While its registers are being saved the next fiber is the running one already. */
TEST(overflow_of_a_fiber_that_switches_away_is_its_own)
{
	int survived = 0;

#if defined(CC__TSAN) || !defined(__OPTIMIZE__)
	SKIP("without optimization, or with TSan, the code between the choice of the next fiber "
	     "and the switch calls functions");
#endif
	for (size_t left = 0; left < 4096 && survived < 3; left += 32) {
		reserve_stacks();
		REQUIRE_EQ(test_dies(yield_child, &left, &death), 0);
		if (WIFEXITED(death.status)) {
			CHECK_EQ(WEXITSTATUS(death.status), 5);
			survived++;
			continue;
		}
		CHECK(strstr(death.text, " 'parser' overflowed its 256 KB stack; ") != NULL);
		CHECK(strstr(death.text, "other") == NULL);
	}
	CHECK_EQ(survived, 3);
}
