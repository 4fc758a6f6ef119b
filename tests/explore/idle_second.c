/* idle_second.c - the second keeper (I10 in sched/idle.h): a worker that runs what a timer has
 * brought leaves the next timer to a sleeper that checks by itself.  No timer is lost, and none
 * is later than promised.
 *
 * There are no queues.  A worker that finds an expired timer, or the one piece of work, runs it
 * and does not come back.  Where no wait runs out early, time stands still until all threads sleep,
 * so a timer is late only if every sleeper relies on another one.
 *
 * sources: sched/idle.c */
#define SHIM_NO_WAITS
#define SHIM_POLLER
#include "shim_wait.h"
#include "sched/idle.h"
#include "io/poll.h"

enum { TIMERS = 2 };
#define LATE (2 * CC_MSEC)

static struct cc__idle idle;
static CC__ATOMIC(cc_time) timer[TIMERS] = {{CC_FOREVER}, {CC_FOREVER}};
static cc__a32 work;		/* queued */
static cc__a32 served;		/* timers and work */
static uint32_t due;
static bool in_time;		/* .init's: no wait runs out before all threads sleep */

void cc__poll_ring(struct cc__bell *b)
{
	(void)b;
	mc_fail("no worker sleeps in the poller");
}

static bool expire(void)
{
	for (int n = 0; n < TIMERS; n++) {
		cc_time at = cc__load(&timer[n], CC__RELAXED);

		if (at > cc__now() || !cc__cas(&timer[n], &at, CC_FOREVER, CC__RELAXED, CC__RELAXED))
			continue;
		MC_ASSERT(!in_time || cc__now() <= at + LATE);
		return true;
	}
	return false;
}

static bool take_work(void)
{
	uint32_t one = 1;

	return cc__load(&work, CC__RELAXED) != 0 &&
	       cc__cas(&work, &one, 0, CC__ACQUIRE, CC__RELAXED);
}

static bool left(void *arg)
{
	(void)arg;
	return cc__load(&work, CC__RELAXED) != 0;
}

static bool stay(void *arg)
{
	(void)arg;
	return false;
}

static cc_time earliest(void *arg)
{
	cc_time first = CC_FOREVER;

	(void)arg;
	for (int n = 0; n < TIMERS; n++)
		first = cc__earlier(first, cc__load(&timer[n], CC__RELAXED));
	return first;
}

static const struct cc__idle_ops ops = {.left = left, .stay = stay, .deadline = earliest};

/* Until it has found something, which it runs and does not come back from. */
static void find_and_hog(void)
{
	const unsigned me = (unsigned)mc_self();

	for (;;) {
		const uint64_t snapshot = cc__idle_generations(&idle);

		if (take_work() || expire())
			break;
		cc__idle_sleep(&idle, me, snapshot, &ops, NULL, CC_FOREVER, CC_FOREVER);
	}
	cc__add(&served, 1, CC__RELAXED);
	cc__idle_found(&idle, &ops, NULL);
}

/* The first timer is set, timers have been without a keeper, and all workers search. */
static void workers(uint32_t count)
{
	cc__init(&idle.count, count);
	cc__init(&idle.searching, count);
	cc__init(&idle.unkept, 1);
	idle.late = LATE;
	cc__init(&timer[0], cc__now() + CC_SEC);
	due = count;
}

static void two_workers_one_timer(void)
{
	workers(2);
}

static void two_workers_two_timers(void)
{
	workers(2);
	cc__init(&timer[1], cc__now() + 2 * CC_SEC);
}

static void three_workers_two_timers(void)
{
	workers(3);
	cc__init(&timer[1], cc__now() + 2 * CC_SEC);
}

static void all_served(void)
{
	MC_ASSERT(cc__peek(&served) == due);
	MC_ASSERT(cc__peek(&idle.sleepers) == 0 && cc__peek(&idle.searching) == 0);
	MC_ASSERT(cc__peek(&idle.keeper) == 0 && cc__peek(&idle.second) == 0);
}

#define SECOND_SCENARIO(name, ...) \
	SCENARIO(name, .spurious = MC_NONE, .final = all_served, __VA_ARGS__)

/* One is the keeper, and runs what the first timer brings. */
SECOND_SCENARIO(idle_second_keeper_takes_the_next_timer, .init = two_workers_two_timers,
                .body = {find_and_hog, find_and_hog}, .bound = 2)	/* covers: RES-72/m */

static void two_timers_in_time(void)
{
	two_workers_two_timers();
	in_time = true;
}
SECOND_SCENARIO(idle_second_keeper_is_not_late, .init = two_timers_in_time, .timeouts = MC_NONE,
                .body = {find_and_hog, find_and_hog})	/* covers: RES-72/m */

/* The next timer is set while the keeper leaves, and is an earlier one or a later one. */
static void set_timer_at(cc_time at)
{
	cc__store(&timer[1], at, CC__RELAXED);
	cc__idle_timer(&idle, at);
}

static void set_later_timer(void)
{
	set_timer_at(3 * CC_SEC);
}

static void set_earlier_timer(void)
{
	set_timer_at(CC_SEC + CC_MSEC);
}
SECOND_SCENARIO(idle_second_keeper_takes_a_timer_that_is_set, .init = two_workers_one_timer,
                .body = {find_and_hog, find_and_hog, set_later_timer}, .bound = 1, .weak = 1)
SECOND_SCENARIO(idle_second_keeper_is_woken_for_an_earlier_timer, .init = two_workers_one_timer,
                .body = {find_and_hog, find_and_hog, set_earlier_timer}, .bound = 1, .weak = 1)

static void one_timer_in_time(void)
{
	two_workers_one_timer();
	in_time = true;
}
SECOND_SCENARIO(idle_second_keeper_is_not_late_for_a_timer_that_is_set, .init = one_timer_in_time,
                .timeouts = MC_NONE, .body = {find_and_hog, find_and_hog, set_later_timer},
                .bound = 2, .weak = 1)

/* A push calls one of three away: the keeper, the second keeper, or the third worker. */
static void push(void)
{
	cc__store(&work, 1, CC__RELEASE);
	cc__idle_pushed_outside(&idle, CC__ANY);
}
SECOND_SCENARIO(idle_second_keeper_is_called_away, .init = three_workers_two_timers,
                .body = {find_and_hog, find_and_hog, find_and_hog, push}, .bound = 1,
                .weak = MC_NONE)

/* It is not relied on where its promise is for a later timer than the one that is left: as if its
 * `until` were what it was in an earlier sleep. */
static void second_with_an_old_promise(void)
{
	two_workers_two_timers();
	cc__init(&idle.searching, 1);
	cc__init(&idle.sleepers, 1);
	cc__init(&idle.nap[1].asleep, CC__ASLEEP);
	cc__init(&idle.second, 2);
	due = 2;
}

static void sleep_for_ever(void)
{
	while (cc__load(&idle.nap[1].asleep, CC__RELAXED) != CC__AWAKE)
		cc__futex_wait(&idle.nap[1].asleep, CC__ASLEEP, CC_FOREVER);
	find_and_hog();
}
SCENARIO(idle_second_keeper_with_an_old_promise, .init = second_with_an_old_promise,
         .body = {find_and_hog, sleep_for_ever}, .spurious = MC_NONE, .expect = "deadlock")
