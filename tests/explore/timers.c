/* timers.c - a worker's timers, which anybody may run: each fires or is removed,
 * and never both; who has removed his may free it at once (T1, T2).
 *
 * sources: base/lock.c time/timer.c */
#include <limits.h>

#include "engine.h"
#include "time/timer.h"

enum { TIMERS = 3 };

static struct cc__timers wheel;
static struct cc__timer *node[TIMERS];	/* each its owner's */
static bool removed[TIMERS];		/* likewise */
static cc__a32 fired[TIMERS];
static const cc_time due[TIMERS] = {2 * CC__TIMER_UNIT, CC__TIMER_UNIT, 3 * CC__TIMER_UNIT};

void cc__say_all(const char *first, ...)
{
	(void)first;
}

/* The time of the run that each thread is in. */
static cc_time now_of[MC_THREADS];
static cc_time due_of[TIMERS];	/* constant once it is added */

static void fire(void *object, uint64_t value)
{
	MC_ASSERT(object == &fired[value]);
	MC_ASSERT(due_of[value] <= now_of[mc_self()]);	/* not too early */
	cc__add(&fired[value], 1, CC__RELAXED);
}

static void add_at(int i, cc_time deadline, cc_time recent)
{
	due_of[i] = deadline;
	node[i] = mc_alloc(sizeof *node[i]);
	*node[i] = (struct cc__timer){
	    .deadline = deadline, .object = &fired[i], .value = (uint64_t)i};
	cc__timers_add(&wheel, node[i], recent);
}

static void add(int i)
{
	add_at(i, due[i], 0);
}

static void take_back(int i)
{
	removed[i] = cc__timers_remove(&wheel, node[i]);
	mc_free(node[i]);
}

static void empty(void)
{
	cc__timers_init(&wheel);
}

static void with_one(void)
{
	empty();
	add(0);
}

static void with_two(void)
{
	with_one();
	add(1);
}

static void with_three(void)
{
	with_two();
	add(2);
}

static void add_and_take_back_0(void)
{
	add(0);
	take_back(0);
}

static void add_and_take_back_1(void)
{
	add(1);
	take_back(1);
}

static void take_back_0(void)
{
	take_back(0);
}

static void take_back_1(void)
{
	take_back(1);
}

static void run_at(cc_time now)
{
	now_of[mc_self()] = now;
	cc__timers_run(&wheel, now, UINT_MAX, fire);
}

static void run(void)
{
	run_at(2 * CC__TIMER_UNIT);
}

static void run_twice(void)
{
	run();
	run();
}

/* Fired or removed, of the first n. */
static void either(int n)
{
	for (int i = 0; i < n; i++)
		MC_ASSERT(cc__peek(&fired[i]) + removed[i] == 1);
}

static void one_ended(void)
{
	either(1);
	MC_ASSERT(wheel.levels == 0 && wheel.reached.first == NULL);
	mc_outcome(removed[0] ? "removed" : "fired");
}

static void two_ended(void)
{
	either(2);
	MC_ASSERT(wheel.levels == 0 && wheel.reached.first == NULL);
}

/* The third is not due. */
static void third_left(void)
{
	either(2);
	MC_ASSERT(cc__timers_earliest(&wheel) <= due[2]);
	take_back(2);
	MC_ASSERT(removed[2] && cc__peek(&fired[2]) == 0);
}

SCENARIO(timers_run_against_removal, .init = with_one, .body = {take_back_0, run},
         .final = one_ended, .outcomes = "removed fired", .leaks = true)
SCENARIO(timers_run_against_addition, .init = empty, .body = {add_and_take_back_0, run_twice},
         .final = one_ended, .outcomes = "removed fired", .leaks = true)
SCENARIO(timers_two_who_run, .init = with_two, .body = {run, run, take_back_0, take_back_1},
         .final = two_ended, .leaks = true, .weak = 1) /* covers: SCH-69/m */
SCENARIO(timers_two_owners, .init = empty,
         .body = {add_and_take_back_0, add_and_take_back_1, run_twice}, .final = two_ended,
         .leaks = true)
SCENARIO(timers_what_is_not_due_stays, .init = with_three, .body = {take_back_0, take_back_1, run},
         .final = third_left, .leaks = true)

/* ---- far away ----
 * Timers on three levels of the wheel, which move to lower ones as time goes on.  The second is
 * taken back meanwhile, by its owner. */
enum { UNITS_1 = 64, UNITS_2 = 64 * 64 };
static const cc_time far[TIMERS] = {(UNITS_1 + 3) * CC__TIMER_UNIT, (UNITS_1 + 9) * CC__TIMER_UNIT,
                                    (UNITS_2 + 2 * UNITS_1 + 5) * CC__TIMER_UNIT};

static void with_far(void)
{
	empty();
	for (int i = 0; i < TIMERS; i++)
		add_at(i, far[i], 0);
}

/* Everything but the second, which another thread may take back, is where it must be: what is due has
 * fired once, and nobody is told to sleep past what is not. */
static void check_after(cc_time now)
{
	for (int i = 0; i < TIMERS; i += 2) {
		MC_ASSERT(cc__load(&fired[i], CC__RELAXED) == (due_of[i] <= now));
		MC_ASSERT(due_of[i] <= now || cc__timers_earliest(&wheel) <= due_of[i]);
	}
}

/* Short steps and long ones: just before each, and at it. */
static void run_far(void)
{
	static const cc_time step[] = {UNITS_1 - 1,
	                               UNITS_1,
	                               UNITS_1 + 2,
	                               UNITS_1 + 3,
	                               UNITS_1 + 8,
	                               UNITS_1 + 9,
	                               UNITS_2,
	                               UNITS_2 + 2 * UNITS_1 + 4,
	                               UNITS_2 + 2 * UNITS_1 + 5};

	for (unsigned i = 0; i < sizeof step / sizeof *step; i++) {
		run_at(step[i] * CC__TIMER_UNIT);
		check_after(step[i] * CC__TIMER_UNIT);
	}
}

/* All in one step. */
static void run_to_the_end(void)
{
	run_at(far[2]);
	check_after(far[2]);
}

static void free_far(void)
{
	either(3);
	MC_ASSERT(wheel.levels == 0 && wheel.reached.first == NULL);
	mc_free(node[0]);
	mc_free(node[2]);
}

SCENARIO(timers_far_away_fire_in_time, .init = with_far, .body = {run_far, take_back_1},
         .final = free_far, .leaks = true) /* covers: SCH-69/m */
SCENARIO(timers_far_away_fire_in_one_step, .init = with_far, .body = {run_to_the_end, take_back_1},
         .final = free_far, .leaks = true)

/* Three of one slot: it is taken apart, and those that stay move down. */
static void with_one_slot(void)
{
	empty();
	for (int i = 0; i < TIMERS; i++)
		add_at(i, (UNITS_1 + i) * CC__TIMER_UNIT, 0);
}

static void run_one_slot(void)
{
	for (int i = -1; i < TIMERS; i++) {
		run_at((UNITS_1 + i) * CC__TIMER_UNIT);
		check_after((UNITS_1 + i) * CC__TIMER_UNIT);
	}
}
SCENARIO(timers_of_one_slot_fire_in_time, .init = with_one_slot,
         .body = {run_one_slot, take_back_1}, .final = free_far, .leaks = true)

/* One that is added to a wheel that has gone on, and is due before the others. */
static cc__a32 went_on;

static void with_two_far(void)
{
	empty();
	add_at(0, far[2], 0);
	add_at(2, far[2], 0);
}

static void run_then_later(void)
{
	run_at(UNITS_1 * CC__TIMER_UNIT);
	check_after(UNITS_1 * CC__TIMER_UNIT);
	cc__store(&went_on, 1, CC__RELEASE);
	run_at(far[2]);
	check_after(far[2]);
}

/* As the wheel is between two changes. */
static bool is_armed(int i, cc_time *earliest)
{
	bool armed;

	cc__lock(&wheel.lock, CC__RANK_TIMER);
	armed = cc__timer_armed(node[i]);
	*earliest = cc__timers_earliest(&wheel);
	cc__unlock(&wheel.lock);
	return armed;
}

static void add_an_earlier_one(void)
{
	cc_time earliest;

	mc_wait_while(&went_on, 0);
	add_at(1, far[1], UNITS_1 * CC__TIMER_UNIT);
	MC_ASSERT(!is_armed(1, &earliest) || earliest <= far[1]);
	run_at(far[1]);
	MC_ASSERT(!is_armed(1, &earliest));
	take_back(1);
}
SCENARIO(timers_an_earlier_one_is_not_overslept, .init = with_two_far,
         .body = {run_then_later, add_an_earlier_one}, .final = free_far, .leaks = true)
