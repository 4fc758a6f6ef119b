/* stops.c - a worker stops searching and runs what it has found, or ends a watch, while another
 * pushes and leaves the wake to it (I3, I9 in idle.h).  The light fence of a push is none here,
 * so what counts is the full fence of pushes that rely on a searcher, and the heavy fence after
 * a watch.
 *
 * sources: base/lock.c sched/idle.c sched/runq.c base/slab.c */
#include "shim_sleep.h"

/* ---- a searcher ---- */

SCENARIO(stops_push_beside_a_searcher_that_finds, .init = other_searches,
         .body = {push, search, find}, .spurious = MC_NONE, .weak = 1)
SCENARIO(stops_push_from_outside_beside_a_searcher, .init = other_searches,
         .body = {push_from_outside, search, find}, .spurious = MC_NONE, .weak = 1)

/* ---- a keeper ---- */

/* Worker 0 was the keeper, until a time that comes before the timer; worker 1 sleeps. */
static void keeper_is_awake(void)
{
	other_searches();
	cc__init(&idle->keeper, 1);
	cc__init(&idle->nap[0].until, 1);
	cc__init(&idle->sleepers, 1);
	cc__init(&idle->nap[1].asleep, CC__ASLEEP);
}

static void leave_role_and_find(void)
{
	uint32_t keeper = 1;

	cc__cas(&idle->keeper, &keeper, 0, CC__RELAXED, CC__RELAXED);	/* as cc__idle_sleep */
	cc__idle_found(idle, &ops, NULL);
}

static void other_is_woken(void)
{
	MC_ASSERT(cc__peek(&idle->nap[1].asleep) == CC__AWAKE);
}
SCENARIO(stops_timer_beside_a_keeper_that_finds, .init = keeper_is_awake,
         .body = {set_timer, leave_role_and_find}, .final = other_is_woken)

/* ---- a watch ---- */

static void push_of_the_third(void)
{
	cc__store(&queued, 1, CC__RELAXED);
	if (cc__idle_pushed(idle, &idle->nap[2], 1) && !cc__idle_watched(idle, 1))
		cc__idle_call(idle);
}

static void third_beside_a_watch(void)
{
	other_watched();
	cc__init(&idle->count, 3);
	cc__init(&idle->patience, 4);
}
SCENARIO(stops_push_beside_a_watch_that_ends, .init = third_beside_a_watch,
         .body = {push_of_the_third, end_watch_and_find}, .final = sleeper_is_woken)
SCENARIO(stops_push_to_a_target_beside_a_watch_that_ends, .init = other_watched,
         .body = {push_to_the_other, end_watch_and_find}, .final = sleeper_is_woken)

/* The worker that was on watch stops first: the one that stops last pays for it. */
static void third_and_two_searchers(void)
{
	third_beside_a_watch();
	cc__init(&idle->searching, 2);
}
SCENARIO(stops_push_beside_a_watch_and_a_searcher, .init = third_and_two_searchers,
         .body = {push_of_the_third, end_watch_and_find, find}, .final = sleeper_is_woken,
         .weak = 1)

/* The same with a real watch, which a wake for nothing ends. */
static void watch_and_find(void)
{
	cc__idle_search(idle);
	cc__idle_sleep(idle, 1, cc__idle_generations(idle), &ops, NULL, CC_SEC, CC_FOREVER);
	cc__idle_found(idle, &ops, NULL);
}

static void wake_the_watch(void)
{
	cc__idle_wake(idle, 1);
}

static void third_beside_a_sleeper(void)
{
	two_workers();
	cc__init(&idle->count, 3);
	cc__init(&idle->patience, 4);
	cc__init(&idle->sleepers, 1);
	cc__init(&idle->nap[0].asleep, CC__ASLEEP);
}
SCENARIO(stops_push_beside_a_watch_that_is_woken, .init = third_beside_a_sleeper,
         .body = {push_of_the_third, watch_and_find, wake_the_watch}, .final = sleeper_is_woken,
         .timeouts = 1, .weak = 1)
