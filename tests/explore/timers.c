/* timers.c - a worker's timers, which anybody may run: each fires or is removed,
 * and never both; who has removed his may free it at once (T1, T2).
 *
 * sources: base/lock.c sched/timer.c */
#include <limits.h>

#include "engine.h"
#include "sched/timer.h"

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

static void fire(void *object, uint64_t value)
{
	MC_ASSERT(object == &fired[value]);
	cc__add(&fired[value], 1, CC__RELAXED);
}

static void add(int i)
{
	node[i] = mc_alloc(sizeof *node[i]);
	*node[i] = (struct cc__timer){
	    .deadline = due[i], .object = &fired[i], .value = (uint64_t)i};
	cc__timers_add(&wheel, node[i], 0);
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

static void run(void)
{
	cc__timers_run(&wheel, 2 * CC__TIMER_UNIT, UINT_MAX, fire);
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
