/* checks_sleep.c - the explorer's own table of known answers: spinning, futexes,
 * time, and work that is left.  See checks.c. */
#include <errno.h>

#include "engine.h"

static cc__a32 x, flag;
static int data, result[2];

static void show_result(void)
{
	mc_outcome("%d", result[0]);
}

static void store_x(void)
{
	cc__store(&x, 5, CC__RELAXED);
}

static void write_then_flag_release(void)
{
	data = 1;
	cc__store(&flag, 1, CC__RELEASE);
}

/* ---- sleeping and spinning ---- */

static void spin_for_flag(void)
{
	while (cc__load(&flag, CC__ACQUIRE) == 0)
		cc__relax();
	MC_ASSERT(data == 1);
}

static void spin_for_ever(void)
{
	while (cc__load(&flag, CC__ACQUIRE) == 0)
		cc__relax();
}
SCENARIO(spin_ends, .body = {spin_for_flag, write_then_flag_release})
SCENARIO(spin_ends_any_staleness, .body = {spin_for_flag, write_then_flag_release}, .weak = MC_ALL)
SCENARIO(livelock_spin, .body = {spin_for_ever, store_x}, .expect = "livelock")

/* Patience has an end, also when nobody else is left to do anything. */
static void spin_for_a_while(void)
{
	for (int turn = 0; turn < 200 && cc__load(&flag, CC__ACQUIRE) == 0; turn++)
		cc__relax();
}
SCENARIO(spin_has_an_end, .body = {spin_for_a_while, spin_for_a_while, store_x})

static void toggle_for_ever(void)
{
	while (cc__xchg(&x, (uint32_t)mc_self(), CC__RELAXED) != 9)
		cc__relax();
}
SCENARIO(livelock_by_steps, .body = {toggle_for_ever, toggle_for_ever}, .bound = 1,
         .expect = "livelock")

static void sleep_checked(void)
{
	while (cc__load(&flag, CC__ACQUIRE) == 0)
		cc__futex_wait(&flag, 0, CC_FOREVER);
	MC_ASSERT(data == 1);
}

static void wake_flag(void)
{
	data = 1;
	cc__store(&flag, 1, CC__RELEASE);
	cc__futex_wake(&flag, 1);
}
SCENARIO(futex_sleep, .body = {sleep_checked, wake_flag})

/* The word that is compared is not the one that changes. */
static void sleep_on_another_word(void)
{
	while (cc__load(&flag, CC__ACQUIRE) == 0)
		cc__futex_wait(&x, 0, CC_FOREVER);
}

static void wake_another_word(void)
{
	cc__store(&flag, 1, CC__RELEASE);
	cc__futex_wake(&x, 1);
}
SCENARIO(deadlock_futex_without_value, .body = {sleep_on_another_word, wake_another_word},
         .expect = "deadlock")
SCENARIO(daemon_may_sleep, .body = {sleep_checked}, .daemon = 1)

/* Sees the flag in order, but nothing says that data is there: the kernel
 * gives no order. */
static void sleep_relaxed(void)
{
	while (cc__load(&flag, CC__RELAXED) == 0)
		cc__futex_wait(&flag, 0, CC_FOREVER);
	result[0] = data;
}
SCENARIO(race_futex_gives_no_order, .body = {sleep_relaxed, wake_flag}, .expect = "race")

static void sleep_once(void)
{
	cc__futex_wait(&flag, 0, CC_FOREVER);
	result[0] = (int)cc__load(&flag, CC__RELAXED);
}

SCENARIO(futex_returns_for_no_reason, .body = {sleep_once, wake_flag}, .final = show_result,
         .outcomes = "0 1")
SCENARIO(futex_only_when_woken, .body = {sleep_once, wake_flag}, .final = show_result,
         .spurious = MC_NONE, .weak = MC_NONE, .outcomes = "1")

static void sleep_timed(void)
{
	cc_time start = cc__now();

	result[0] = cc__futex_wait(&flag, 0, start + CC_SEC) == ETIMEDOUT;
	MC_ASSERT(!result[0] || cc__now() >= start + CC_SEC);
}
SCENARIO(futex_times_out_or_not, .body = {sleep_timed, wake_flag}, .final = show_result,
         .outcomes = "0 1")
SCENARIO(futex_times_out_alone, .body = {sleep_timed}, .final = show_result, .outcomes = "1")

static void sleep_timed_long(void)
{
	cc_time start = cc__now();

	result[1] = cc__futex_wait(&flag, 0, start + 2 * CC_SEC) == ETIMEDOUT;
	MC_ASSERT(!result[1] || cc__now() >= start + 2 * CC_SEC);
}
SCENARIO(time_goes_on_to_the_first_deadline, .body = {sleep_timed, sleep_timed_long})

/* One wake, two sleepers: one stays, whichever it is. */
static void sleep_plainly(void)
{
	cc__futex_wait(&x, 0, CC_FOREVER);
	result[0] = mc_self();
}

static void wake_one_when_both_sleep(void)
{
	cc__futex_wake(&x, 1);
}
SCENARIO(futex_wakes_either, .body = {sleep_plainly, sleep_plainly, wake_one_when_both_sleep},
         .daemon = 3, .spurious = MC_NONE, .final = show_result, .outcomes = "0 1")

/* ---- work conservation ---- */

static cc__a32 items, generation;

static bool nothing_left(void)
{
	return cc__peek(&items) == 0;
}

static bool take_item(void)
{
	uint32_t n = cc__load(&items, CC__ACQUIRE);

	while (n > 0)
		if (cc__cas_weak(&items, &n, n - 1, CC__ACQ_REL, CC__ACQUIRE))
			return true;
	return false;
}

static void serve(bool snapshot_first)
{
	for (;;) {
		uint32_t seen = snapshot_first ? cc__load(&generation, CC__SEQ_CST) : 0;

		if (take_item())
			return;
		if (!snapshot_first)
			seen = cc__load(&generation, CC__SEQ_CST);
		cc__futex_wait(&generation, seen, CC_FOREVER);
	}
}

static void serve_snapshot_first(void)
{
	serve(true);
}

static void serve_snapshot_late(void)
{
	serve(false);
}

static void push_item(void)
{
	cc__add(&items, 1, CC__SEQ_CST);
	cc__add(&generation, 1, CC__SEQ_CST);
	cc__futex_wake(&generation, 1);
}
SCENARIO(conservation_snapshot_before_probe, .body = {serve_snapshot_first, push_item}, .daemon = 1,
         .spurious = MC_NONE, .conserve = nothing_left)
SCENARIO(conservation_snapshot_after_probe, .body = {serve_snapshot_late, push_item}, .daemon = 1,
         .spurious = MC_NONE, .conserve = nothing_left, .expect = "conservation")
