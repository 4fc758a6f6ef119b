/* smoke_park.c - the contract's smoke: private words of one process, and of two. */
#include "check.h"
#include "park.h"

static cc__a32 word;
static cc__a32 woken;		/* so many waits have ended with WOKEN */

static void set(cc__a32 *a, uint32_t value)
{
	cc__store(a, value, CC__RELAXED);	/* Relaxed: the calls order */
}

static void wait_for_ever(uint64_t argument)
{
	(void)argument;
	if (park(&word, 0, FOREVER) == CC_PARK_WOKEN)
		cc__add(&woken, 1, CC__RELAXED);
}

static void start_waiting(unsigned count)
{
	set(&word, 0);
	set(&woken, 0);
	for (unsigned i = 0; i < count; i++)
		thread_start(wait_for_ever, i);
	UNTIL_PARKED(count);
}

TEST(a_word_that_differs_is_a_mismatch)	/* covers: PRK-89/k */
{
	set(&word, 5);
	CHECK_EQ(park(&word, 4, FOREVER), CC_PARK_VALUE_MISMATCH);
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
	CHECK(sys_look(LOOK_TICKS) - begin >= 5);
}

TEST(a_wake_of_nobody_wakes_nobody)
{
	CHECK_EQ(unpark(&word, 9), 0);
}

TEST(a_wake_of_one_wakes_one)	/* covers: PRK-89/k */
{
	start_waiting(3);
	CHECK_EQ(unpark(&word, 1), 1);
	UNTIL(threads_running() == 2);
	CHECK_EQ(sys_look(LOOK_PARKED), 2);
	CHECK_EQ(unpark(&word, 1), 1);
	CHECK_EQ(unpark(&word, 1), 1);
	threads_join();
	CHECK_EQ(cc__load(&woken, CC__RELAXED), 3);
}

TEST(a_wake_of_many_wakes_as_many)	/* covers: PRK-89/k */
{
	start_waiting(20);
	CHECK_EQ(unpark(&word, 18), 18);
	UNTIL(threads_running() == 2);
	CHECK_EQ(unpark(&word, 100), 2);
	threads_join();
	CHECK_EQ(cc__load(&woken, CC__RELAXED), 20);
}
