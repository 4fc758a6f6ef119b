/* symmetric.c - run queue and sleep on a system that has no fence for others: light and
 * heavy are full fences, each in its place.  What runq.c and idle.c show with the other
 * kind holds as well; here are the shortest of each pair.
 *
 * defines: MC_SYMMETRIC=1
 * sources: base/lock.c sched/idle.c sched/runq.c base/slab.c */
#include "shim_sleep.h"

static struct cc__runq q;
static struct cc__loot loot;	/* the thief's */

/* ---- the run queue ---- */

static void with_one(void)
{
	cc__runq_init(&q);
	MC_ASSERT(cc__runq_push(&q, fill(0), CC__READY));
}

static void pop(void)
{
	struct cc__fiber *f = cc__runq_pop(&q);

	if (f != NULL)
		take(f);
}

static void seize(void)
{
	if (cc__runq_steal(&q, CC__TAKE_ANY, 0, &loot))
		take_loot(&loot);
}

static void one_once(void)
{
	pop();
	all_taken(1);
}
SCENARIO(symmetric_owner_and_thief, .init = with_one, .body = {pop, seize}, .final = one_once)

/* ---- sleep ---- */

SCENARIO(symmetric_push_and_sleeper, .init = two_workers, .body = {push, search},
         .spurious = MC_NONE)
SCENARIO(symmetric_push_from_outside, .init = two_workers, .body = {push_from_outside, search},
         .spurious = MC_NONE)
SCENARIO(symmetric_push_to_a_target, .init = two_workers, .body = {push_to_the_other, search},
         .spurious = MC_NONE)
SCENARIO(symmetric_timer_and_sleeper, .init = two_workers, .body = {set_timer, search},
         .spurious = MC_NONE)

SCENARIO(symmetric_push_beside_a_searcher_that_finds, .init = other_searches,
         .body = {push, search, find}, .spurious = MC_NONE, .weak = 1)
SCENARIO(symmetric_push_beside_a_searcher_that_ends, .init = other_searches,
         .body = {push, search, give_up}, .spurious = MC_NONE, .weak = 1)

/* It was the keeper, and another one relies on it that falls asleep. */
static void other_keeps(void)
{
	other_searches();
	cc__init(&idle->keeper, 1);
	cc__init(&timer, cc__now() + CC_SEC);
}

static void end_sleep_and_give_up(void)
{
	uint32_t keeper = 1;

	cc__cas(&idle->keeper, &keeper, 0, CC__RELAXED, CC__RELAXED);	/* as cc__idle_sleep */
	give_up();
}
SCENARIO(symmetric_keeper_ends, .init = other_keeps, .body = {end_sleep_and_give_up, search},
         .spurious = MC_NONE)

SCENARIO(symmetric_push_to_a_target_that_has_watched, .init = other_watched,
         .body = {push_to_the_other, end_watch_and_find}, .final = sleeper_is_woken)

/* Two find something; the one who was on watch leaves the rest to the other. */
static void two_search_and_one_watched(void)
{
	other_watched();
	cc__init(&idle->searching, 2);
	cc__init(&queued, 1);
}
SCENARIO(symmetric_last_searcher_looks_for_the_rest, .init = two_search_and_one_watched,
         .body = {find, end_watch_and_find}, .final = sleeper_is_woken)

/* ---- the end ---- */

static cc__a32 over, tasks = {1}, monitor;
static bool saw_none, saw_asleep, saw_monitor;

static bool is_over(void *arg)
{
	(void)arg;
	return cc__load(&over, CC__SEQ_CST) != 0;
}

static const struct cc__idle_ops until_over = {
    .left = any_left, .stay = is_over, .deadline = deadline};

static void end_all(void)
{
	cc__store(&over, 1, CC__SEQ_CST);
	cc__idle_wake_all(idle);
}

static void search_until_over(void)
{
	cc__idle_search(idle);
	while (!is_over(NULL))
		cc__idle_sleep(idle, 1, cc__idle_generations(idle), &until_over, NULL, CC_FOREVER,
		               CC_FOREVER);
	cc__idle_give_up(idle);
}
SCENARIO(symmetric_end_reaches_a_sleeper, .init = two_workers, .body = {end_all, search_until_over},
         .spurious = MC_NONE)

/* The first wait for a descriptor; who falls asleep looks there last of all. */
static void begin_to_wait(void)
{
	cc__store(&over, 1, CC__SEQ_CST);
	cc__idle_poll(idle);
}
SCENARIO(symmetric_wait_for_a_descriptor, .init = two_workers,
         .body = {begin_to_wait, search_until_over}, .spurious = MC_NONE)

/* Who waits for the last task looks, or is told (cc__idle_one_less). */
static void one_sleeps(void)
{
	two_workers();
	cc__init(&idle->sleepers, 1);
	cc__init(&idle->nap[1].asleep, CC__ASLEEP);
}

static void wait_for_the_end(void)
{
	cc__idle_ending(idle);
	saw_none = cc__load(&tasks, CC__SEQ_CST) == 0;
}

static void take_back_the_last(void)
{
	cc__sub(&tasks, 1, CC__SEQ_CST);
	cc__idle_one_less(idle);
}

static void seen_or_told(void)
{
	MC_ASSERT(saw_none || cc__peek(&idle->nap[1].asleep) == CC__AWAKE);
}
SCENARIO(symmetric_last_task_is_taken_back, .init = one_sleeps,
         .body = {wait_for_the_end, take_back_the_last}, .final = seen_or_told)

/* Who stops sleeping is seen by the monitor, or sees that it sleeps (M6 in sysmon.h). */
static void monitor_sleeps(void)
{
	cc__store(&monitor, 1, CC__SEQ_CST);
	saw_asleep = cc__load(&idle->nap[1].asleep, CC__SEQ_CST) != CC__AWAKE;
}

static void doze(void)
{
	const uint64_t stale = cc__idle_generations(idle) - 1;

	cc__idle_search(idle);
	cc__idle_sleep(idle, 1, stale, &ops, NULL, CC_FOREVER, CC_FOREVER);
	saw_monitor = cc__load(&monitor, CC__SEQ_CST) != 0;	/* as cc__sysmon_poke */
	cc__idle_give_up(idle);
}

static void monitor_is_told(void)
{
	MC_ASSERT(!saw_asleep || saw_monitor);
}
SCENARIO(symmetric_monitor_and_sleeper, .init = two_workers, .body = {monitor_sleeps, doze},
         .final = monitor_is_told)

/* One sleeps, another one is about to, and is woken at once: the first still counts. */
static void one_sleeps_one_searches(void)
{
	one_sleeps();
	cc__init(&idle->nap[1].asleep, CC__AWAKE);
	cc__init(&idle->nap[0].asleep, CC__ASLEEP);
}

static void wake_the_other(void)
{
	cc__idle_wake(idle, 1);
	MC_ASSERT(cc__load(&idle->sleepers, CC__SEQ_CST) >= 1 &&
	          cc__load(&idle->sleepers, CC__SEQ_CST) <= 2);
}
SCENARIO(symmetric_count_of_sleepers_is_never_low, .init = one_sleeps_one_searches,
         .body = {wake_the_other, doze})
