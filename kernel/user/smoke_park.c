/* smoke_park.c - the contract's smoke: private words of one process, and of two. */
#include "check.h"
#include "ring.h"

static cc__a32 word;
static cc__a32 woken;		/* so many waits have ended with WOKEN */

static void set(cc__a32 *a, uint32_t value)
{
	cc__store(a, value, CC__RELAXED);	/* Relaxed, all here: the calls order */
}

static uint32_t get(const cc__a32 *a)
{
	return cc__load(a, CC__RELAXED);
}

static void wait_on(uint64_t address)
{
	if (park((const cc__a32 *)(uintptr_t)address, 0, CC_CAP_NEVER) == CC_PARK_WOKEN)
		cc__add(&woken, 1, CC__RELAXED);
}

static void start_waiting(unsigned count)
{
	set(&word, 0);
	set(&woken, 0);
	for (unsigned i = 0; i < count; i++)
		thread_start(wait_on, (uintptr_t)&word);
	UNTIL_PARKED(count);
}

/* ---- one wait ---- */

TEST(a_word_that_differs_is_a_mismatch)	/* covers: PRK-89/k */
{
	set(&word, 5);
	CHECK_EQ(park(&word, 4, CC_CAP_NEVER), CC_PARK_VALUE_MISMATCH);
}

TEST(a_timeout_of_zero_does_not_block)	/* covers: PRK-89/k */
{
	const int64_t naps = sys_look(LOOK_NAPS);

	set(&word, 5);
	CHECK_EQ(park(&word, 5, 0), CC_PARK_TIMED_OUT);
	CHECK_EQ(sys_look(LOOK_NAPS), naps);
}

TEST(a_finite_timeout_ends_the_wait_and_not_before)
{
	const int64_t begin = sys_look(LOOK_TICKS);

	set(&word, 5);
	CHECK_EQ(park(&word, 5, 5 * CC_MSEC), CC_PARK_TIMED_OUT);
	CHECK(sys_look(LOOK_TICKS) - begin > 5);	/* with 5 whole ones among them */
	CHECK_EQ(sys_look(LOOK_PROMISED), 0);
}

/* ---- wakes ---- */

TEST(a_wake_of_nobody_wakes_nobody)
{
	CHECK_EQ(unpark(&word, 9), 0);
}

TEST(a_wake_of_one_wakes_one)	/* covers: PRK-89/k */
{
	start_waiting(3);
	CHECK_EQ(sys_look(LOOK_PROMISED), 3);
	CHECK_EQ(unpark(&word, 1), 1);
	UNTIL(threads_running() == 2);
	CHECK_EQ(sys_look(LOOK_WAITS), 2);
	CHECK_EQ(unpark(&word, 1), 1);
	CHECK_EQ(unpark(&word, 1), 1);
	threads_join();
	CHECK_EQ(get(&woken), 3);
	CHECK_EQ(sys_look(LOOK_PROMISED), 0);
}

TEST(a_wake_of_many_wakes_as_many)	/* covers: PRK-89/k */
{
	start_waiting(20);
	CHECK_EQ(unpark(&word, 18), 18);
	UNTIL(threads_running() == 2);
	CHECK_EQ(unpark(&word, 100), 2);
	threads_join();
	CHECK_EQ(get(&woken), 20);
}

/* The one who wakes is a thread like the others, with the same ring. */
static void wake_all(uint64_t count)
{
	CHECK_EQ(unpark(&word, 100), count);
}

TEST(a_sibling_wakes_while_others_are_parked)
{
	start_waiting(10);
	thread_start(wake_all, 10);
	threads_join();
	CHECK_EQ(get(&woken), 10);
}

/* ---- words that are not there ---- */

static int32_t park_in_mapping(unsigned rights)
{
	int32_t result;

	CHECK_EQ(sys_call(CALL_MAP, HERE, 1, rights, 0), 0);
	result = park((const cc__a32 *)HERE, 0, 0);
	CHECK_EQ(sys_call(CALL_UNMAP, HERE, 0, 0, 0), 0);
	return result;
}

TEST(a_word_that_cannot_be_read_is_refused_without_a_fault)	/* covers: PRK-19/k */
{
	CHECK_EQ(park((const cc__a32 *)HERE, 0, CC_CAP_NEVER), CC_CAP_E_FAULT);
	CHECK_EQ(park_in_mapping(0), CC_CAP_E_FAULT);
	CHECK_EQ(park_in_mapping(MAP_WRITE), CC_CAP_E_FAULT);
	CHECK_EQ(park_in_mapping(MAP_READ), CC_PARK_TIMED_OUT);
	CHECK_EQ(park((const cc__a32 *)0xffffffff80100000, 0, 0), CC_CAP_E_ADDRESS);
	CHECK_EQ(park((const cc__a32 *)((uintptr_t)&word + 2), 0, 0), CC_CAP_E_ADDRESS);
}

static cc__a32 interrupted;

static void wait_to_be_interrupted(uint64_t address)
{
	if (park((const cc__a32 *)(uintptr_t)address, 0, CC_CAP_NEVER) == CC_PARK_INTERRUPTED)
		cc__add(&interrupted, 1, CC__RELAXED);
}

TEST(an_unmap_ends_the_waits_before_the_addresses_are_used_again)	/* covers: PRK-22/k */
{
	const cc__a32 *here = (const cc__a32 *)HERE;

	set(&interrupted, 0);
	CHECK_EQ(sys_call(CALL_MAP, HERE, 1, MAP_READ | MAP_WRITE, 0), 0);
	for (unsigned i = 0; i < 3; i++)
		thread_start(wait_to_be_interrupted, HERE);
	UNTIL_PARKED(3);
	CHECK_EQ(sys_call(CALL_UNMAP, HERE, 0, 0, 0), 0);
	CHECK_EQ(sys_look(LOOK_LISTED), 0);
	CHECK_EQ(sys_call(CALL_MAP, HERE, 1, MAP_READ | MAP_WRITE, 0), 0);
	CHECK_EQ(unpark(here, 100), 0);
	threads_join();
	CHECK_EQ(get(&interrupted), 3);
	CHECK_EQ(sys_call(CALL_UNMAP, HERE, 0, 0, 0), 0);
}

/* ---- two processes ---- */

static int wait_and_exit(uint64_t count)
{
	for (unsigned i = 0; i < count; i++)
		thread_start(wait_on, (uintptr_t)&word);
	UNTIL_PARKED(count);
	return 7;		/* and nobody wakes them */
}

TEST(an_exit_ends_the_waits_of_all_threads)	/* covers: PRK-65/k PRK-89/k */
{
	start_waiting(1);
	CHECK_EQ(process_wait(process_start(wait_and_exit, 8, 0)), 7);
	CHECK_EQ(sys_look(LOOK_ALL_WAITS), 1);
	CHECK_EQ(unpark(&word, 100), 1);
}

static int fault_while_others_wait(uint64_t count)
{
	for (unsigned i = 0; i < count; i++)
		thread_start(wait_on, (uintptr_t)&word);
	UNTIL_PARKED(count);
	__builtin_trap();
}

TEST(a_fault_ends_the_waits_of_all_threads)	/* covers: PRK-65/k */
{
	CHECK_EQ(process_wait(process_start(fault_while_others_wait, 8, 0)), STATUS_FAULT + 6);
	CHECK_EQ(sys_look(LOOK_ALL_WAITS), 0);
}
