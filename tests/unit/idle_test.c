/* idle_test.c - sched/idle.h: generations, counts, who is woken, the keeper.
 *
 * The sleepers are threads that stand for workers; nobody sleeps against a clock
 * but where a time is what is tested. */
#include "test.h"

#include <pthread.h>

#include "sched/idle.h"
#include "io/poll.h"

enum { SLEEPERS = 4 };

/* ---- what the workers know ---- */

static cc__a32 work_left, must_stay;
static cc__a32 looked;	/* sleepers that have compared the generations */
static CC__ATOMIC(cc_time) timer = {CC_FOREVER};

static bool left(void *arg)
{
	(void)arg;
	return cc__load(&work_left, CC__RELAXED) != 0;
}

static bool stay(void *arg)
{
	(void)arg;
	cc__add(&looked, 1, CC__RELEASE);
	return cc__load(&must_stay, CC__RELAXED) != 0;
}

static cc_time deadline(void *arg)
{
	(void)arg;
	return cc__load(&timer, CC__ACQUIRE);
}

static const struct cc__idle_ops ops = {.left = left, .stay = stay, .deadline = deadline};

/* ---- an idle object, and sleepers ---- */

static struct cc__idle *idle;

static struct sleeper {
	unsigned number;
	cc_time watch;
	enum cc__awake how;
	pthread_t thread;
} sleeper[SLEEPERS];

static void begin(void)
{
	cc__fence_heavy_start();
	idle = cc__idle_new();
	CHECK_EQ(cc__load(&idle->count, CC__RELAXED), 0);
	cc__store(&idle->count, SLEEPERS, CC__RELEASE);
	cc__store(&work_left, 0, CC__RELAXED);
	cc__store(&must_stay, 0, CC__RELAXED);
	cc__store(&timer, CC_FOREVER, CC__RELAXED);
}

static uint32_t sleepers(void)
{
	return cc__load(&idle->sleepers, CC__ACQUIRE);
}

static uint32_t searching(void)
{
	return cc__load(&idle->searching, CC__ACQUIRE);
}

static void end(void)
{
	CHECK_EQ(sleepers(), 0);
	CHECK_EQ(searching(), 0);
	CHECK_EQ(cc__load(&idle->keeper, CC__ACQUIRE), 0);
	for (unsigned i = 0; i < SLEEPERS; i++)
		CHECK_EQ(cc__load(&idle->nap[i].asleep, CC__ACQUIRE), 0);
	cc__idle_free(idle);
}

static enum cc__awake sleep_as(unsigned number, uint64_t snapshot, cc_time watch, cc_time most)
{
	enum cc__awake how;

	cc__idle_search(idle);
	how = cc__idle_sleep(idle, number, snapshot, &ops, NULL, watch, most);
	cc__idle_give_up(idle);
	return how;
}

static void *sleep_main(void *arg)
{
	struct sleeper *s = arg;

	s->how = sleep_as(s->number, cc__idle_generations(idle), s->watch, CC_FOREVER);
	return NULL;
}

/* Announced when it returns, and past all that would keep it awake. */
static void put_to_sleep(unsigned number, cc_time watch)
{
	struct sleeper *s = &sleeper[number];
	const uint32_t before = cc__load(&looked, CC__ACQUIRE);

	*s = (struct sleeper){.number = number, .watch = watch};
	CHECK_EQ(pthread_create(&s->thread, NULL, sleep_main, s), 0);
	TEST_UNTIL(cc__load(&looked, CC__ACQUIRE) != before);
}

static bool is_back(unsigned number)
{
	return cc__load(&idle->nap[number].asleep, CC__ACQUIRE) == 0;
}

static enum cc__awake until_back(unsigned number)
{
	pthread_join(sleeper[number].thread, NULL);
	return sleeper[number].how;
}

static uint32_t keeper(void)
{
	return cc__load(&idle->keeper, CC__ACQUIRE);
}

/* ---- sleepers without a thread: what they have announced ---- */

static void announce(unsigned number, enum cc__asleep how)
{
	cc__store(&idle->nap[number].asleep, how, CC__RELEASE);
	cc__add(&idle->sleepers, 1, CC__RELEASE);
}

/* Whether that one was woken; then it sleeps again. */
static bool was_woken(unsigned number)
{
	if (!is_back(number))
		return false;
	CHECK_EQ(searching(), 1);
	cc__idle_give_up(idle);
	announce(number, CC__ASLEEP);
	return true;
}

static void be_keeper(uint32_t word)
{
	cc__store(&idle->keeper, word, CC__RELEASE);
}

static void forget_all(void)
{
	be_keeper(0);
	cc__store(&idle->sleepers, 0, CC__RELEASE);
	for (unsigned i = 0; i <= SLEEPERS; i++)
		cc__store(&idle->nap[i].asleep, CC__AWAKE, CC__RELEASE);
}

/* ---- generations ---- */

TEST(every_push_moves_what_a_snapshot_sees)	/* covers: WKG-01/t */
{
	uint64_t before;

	begin();
	before = cc__idle_generations(idle);
	for (unsigned i = 0; i < SLEEPERS; i++)
		CHECK(!cc__idle_pushed(idle, &idle->nap[i], 1));	/* nobody sleeps */
	CHECK_EQ(cc__idle_generations(idle) - before, SLEEPERS);
	cc__idle_pushed_outside(idle, CC__ANY);
	cc__idle_pushed_outside(idle, 2);
	CHECK_EQ(cc__idle_generations(idle) - before, SLEEPERS + 2);
	end();
}

TEST(generation_may_wrap)
{
	uint64_t before;

	begin();
	cc__store(&idle->nap[1].generation, UINT64_MAX, CC__RELAXED);
	before = cc__idle_generations(idle);
	cc__idle_pushed(idle, &idle->nap[1], 1);
	CHECK_EQ(cc__idle_generations(idle) - before, 1);
	CHECK_EQ(sleep_as(0, before, CC_FOREVER, CC_FOREVER), CC__NOT_SLEPT);
	end();
}

TEST(stale_snapshot_does_not_sleep)	/* covers: WKG-08/t */
{
	uint64_t before;

	begin();
	before = cc__idle_generations(idle);
	cc__idle_pushed(idle, &idle->nap[3], 1);
	CHECK_EQ(sleep_as(0, before, CC_FOREVER, CC_FOREVER), CC__NOT_SLEPT);
	before = cc__idle_generations(idle);
	cc__idle_pushed_outside(idle, 0);
	CHECK_EQ(sleep_as(0, before, CC_FOREVER, CC_FOREVER), CC__NOT_SLEPT);
	cc__store(&must_stay, 1, CC__RELAXED);
	before = cc__idle_generations(idle);
	CHECK_EQ(sleep_as(0, before, CC_FOREVER, CC_FOREVER), CC__NOT_SLEPT);
	end();
}

TEST(sleep_ends_at_its_time)	/* covers: WKG-08/t */
{
	const cc_time start = cc_now();

	begin();
	CHECK_EQ(sleep_as(0, cc__idle_generations(idle), CC_FOREVER, CC_MSEC), CC__TIMED_OUT);
	CHECK(cc_now() >= start + CC_MSEC);
	CHECK_EQ(sleep_as(0, cc__idle_generations(idle), CC_MSEC, CC_FOREVER), CC__TIMED_OUT);
	CHECK(cc_now() >= start + 2 * CC_MSEC);
	cc__store(&timer, cc_now() + CC_MSEC, CC__RELAXED);
	CHECK_EQ(sleep_as(0, cc__idle_generations(idle), CC_FOREVER, CC_FOREVER), CC__TIMED_OUT);
	CHECK(cc_now() >= start + 3 * CC_MSEC);
	end();
}

/* ---- who is woken ---- */

TEST(each_worker_is_woken_by_its_own_word)	/* covers: RES-52/u, WKG-20/u */
{
	uint64_t wakes[SLEEPERS];

	begin();
	for (unsigned i = 0; i < SLEEPERS; i++) {
		wakes[i] = cc__load(&idle->nap[i].wakes, CC__RELAXED);
		put_to_sleep(i, CC_FOREVER);
	}
	CHECK_EQ(sleepers(), SLEEPERS);
	for (unsigned k = 0; k < SLEEPERS; k++) {
		const unsigned i = (k + 2) % SLEEPERS;

		if (k % 2)
			cc__idle_pushed_outside(idle, (int)i);
		else
			CHECK(cc__idle_wake(idle, i));
		CHECK_EQ(until_back(i), CC__WOKEN);
		CHECK_EQ(cc__load(&idle->nap[i].wakes, CC__RELAXED) - wakes[i], 1);
		CHECK(!cc__idle_wake(idle, i));
		CHECK_EQ(sleepers(), SLEEPERS - 1 - k);
	}
	end();
}

TEST(push_wakes_one_unless_somebody_searches)	/* covers: RES-58/u */
{
	begin();
	put_to_sleep(0, CC_FOREVER);
	put_to_sleep(1, CC_FOREVER);
	CHECK_EQ(keeper(), 1);
	CHECK(!cc__idle_hungry(idle));
	cc__idle_search(idle);
	CHECK(cc__idle_hungry(idle));
	CHECK(cc__idle_pushed(idle, &idle->nap[3], 1));
	cc__idle_call(idle);
	cc__idle_pushed_outside(idle, CC__ANY);
	CHECK_EQ(sleepers(), 2);	/* left to the searcher */
	cc__idle_give_up(idle);
	CHECK(cc__idle_pushed(idle, &idle->nap[3], 1));
	cc__idle_call(idle);
	CHECK_EQ(until_back(1), CC__WOKEN);	/* not the keeper */
	CHECK_EQ(sleepers(), 1);
	cc__idle_pushed_outside(idle, CC__ANY);
	CHECK_EQ(until_back(0), CC__WOKEN);
	end();
}

TEST(last_searcher_that_found_something_wakes_one_for_the_rest)	/* covers: RES-58/u */
{
	begin();
	put_to_sleep(0, CC_FOREVER);
	put_to_sleep(1, CC_FOREVER);
	cc__store(&work_left, 1, CC__RELAXED);
	cc__idle_search(idle);
	cc__idle_search(idle);
	cc__idle_found(idle, &ops, NULL);
	CHECK_EQ(sleepers(), 2);	/* another one still searches */
	cc__idle_found(idle, &ops, NULL);
	CHECK_EQ(until_back(1), CC__WOKEN);
	cc__store(&work_left, 0, CC__RELAXED);
	cc__idle_search(idle);
	cc__idle_found(idle, &ops, NULL);
	CHECK_EQ(sleepers(), 1);	/* nothing is left */
	cc__idle_wake_all(idle);
	CHECK_EQ(until_back(0), CC__WOKEN);
	end();
}

TEST(wake_all_wakes_all)	/* covers: WKG-08/t */
{
	begin();
	for (unsigned i = 0; i < SLEEPERS; i++)
		put_to_sleep(i, CC_FOREVER);
	cc__idle_wake_all(idle);
	for (unsigned i = 0; i < SLEEPERS; i++)
		CHECK_EQ(until_back(i), CC__WOKEN);
	end();
}

TEST(keeper_and_poller_are_woken_last)
{
	begin();
	announce(0, CC__POLLING);
	announce(1, CC__ASLEEP);
	announce(2, CC__ASLEEP);
	be_keeper(2);
	cc__idle_wake_one(idle);
	CHECK(was_woken(2));
	be_keeper(3 | CC__WATCHING);
	cc__idle_wake_one(idle);
	CHECK(was_woken(1));
	cc__store(&idle->nap[1].asleep, CC__AWAKE, CC__RELEASE);
	cc__store(&idle->nap[0].asleep, CC__ASLEEP, CC__RELEASE);
	be_keeper(1);
	cc__idle_wake_one(idle);
	CHECK(was_woken(2));
	cc__store(&idle->nap[2].asleep, CC__AWAKE, CC__RELEASE);
	cc__idle_wake_one(idle);	/* there is nobody else */
	CHECK(was_woken(0));
	forget_all();
	end();
}

/* It starts no task: others are woken instead, whatever their roles. */
TEST(reserve_is_woken_last_of_all)	/* covers: RES-44/u */
{
	begin();
	cc__store(&idle->reserve, 1, CC__RELEASE);
	announce(0, CC__ASLEEP);
	announce(1, CC__ASLEEP);
	announce(2, CC__POLLING);
	cc__idle_wake_one(idle);
	CHECK(was_woken(1));
	be_keeper(2);
	cc__idle_wake_one(idle);
	CHECK(was_woken(1));
	cc__store(&idle->nap[1].asleep, CC__AWAKE, CC__RELEASE);
	cc__store(&idle->nap[2].asleep, CC__AWAKE, CC__RELEASE);
	cc__idle_wake_one(idle);	/* there is nobody else */
	CHECK(was_woken(0));
	forget_all();
	end();
	begin();
	CHECK_EQ(cc__load(&idle->reserve, CC__ACQUIRE), 0);
	end();
}

TEST(who_is_not_in_the_count_is_left_alone)
{
	uint64_t before;

	begin();
	before = cc__idle_generations(idle);
	cc__store(&idle->nap[SLEEPERS].generation, 17, CC__RELAXED);
	CHECK_EQ(cc__idle_generations(idle), before);
	cc__store(&idle->nap[SLEEPERS].generation, 0, CC__RELAXED);
	announce(SLEEPERS, CC__ASLEEP);
	cc__idle_wake_one(idle);
	cc__idle_wake_all(idle);
	CHECK(!is_back(SLEEPERS));
	CHECK_EQ(searching(), 0);
	forget_all();
	end();
}

/* What is pushed to a worker that runs: a watch sees whether it comes by. */
TEST(push_to_a_target_that_runs_is_left_to_a_watch)
{
	uint64_t calls;

	begin();
	calls = cc__load(&idle->outside_calls, CC__RELAXED);
	cc__idle_pushed_outside(idle, 0);
	CHECK_EQ(cc__load(&idle->outside_calls, CC__RELAXED), calls);	/* nobody sleeps */
	announce(1, CC__ASLEEP);
	cc__idle_pushed_outside(idle, 0);
	CHECK(was_woken(1));
	CHECK_EQ(cc__load(&idle->outside_calls, CC__RELAXED), calls + 1);
	be_keeper(2 | CC__WATCHING);
	cc__idle_pushed_outside(idle, 0);
	CHECK(!was_woken(1));
	cc__idle_pushed_outside(idle, 1);
	CHECK(was_woken(1));
	cc__idle_pushed_outside(idle, CC__ANY);
	CHECK(was_woken(1));
	be_keeper(0);
	cc__idle_search(idle);
	cc__idle_pushed_outside(idle, 0);
	CHECK(!is_back(1));	/* left to the searcher */
	cc__idle_give_up(idle);
	forget_all();
	end();
}

/* ---- descriptors ---- */

TEST(somebody_is_woken_for_descriptors_unless_one_will_look_by_itself)
{
	begin();
	cc__idle_poll(idle);
	CHECK_EQ(searching(), 0);	/* nobody sleeps */
	announce(1, CC__ASLEEP);
	cc__idle_poll(idle);
	CHECK(was_woken(1));
	be_keeper(2 | CC__WATCHING);
	cc__idle_poll(idle);
	CHECK(!was_woken(1));
	be_keeper(2);
	cc__idle_search(idle);
	cc__idle_poll(idle);
	CHECK(!is_back(1));
	cc__idle_give_up(idle);
	/* Somebody was woken, has found something, and its waker has not counted it yet. */
	cc__idle_give_up(idle);
	cc__idle_poll(idle);
	CHECK(is_back(1));
	CHECK_EQ(searching(), 0);
	forget_all();
	end();
}

static cc__a32 nobody_polls;

static bool is_unattended(void *arg)
{
	(void)arg;
	return cc__load(&nobody_polls, CC__RELAXED) != 0;
}

static struct cc__bell bell = {.rung = {1}};	/* nobody hears it */
static bool wake_it, finds_event;

static struct cc__bell *claim(void *arg)
{
	(void)arg;
	return cc__load(&nobody_polls, CC__RELAXED) != 0 ? &bell : NULL;
}

static void release(void *arg)
{
	(void)arg;
	cc__store(&nobody_polls, 1, CC__RELAXED);
}

static bool await(void *arg, cc_time until)
{
	(void)until;
	if (wake_it)
		CHECK(cc__idle_wake(idle, 0));
	release(arg);
	return finds_event;
}

static const struct cc__idle_poller poller = {is_unattended, claim, release, await};
static const struct cc__idle_ops with_poller = {
    .left = left, .stay = stay, .deadline = deadline, .poller = &poller};

static enum cc__awake sleep_polling(uint64_t snapshot)
{
	enum cc__awake how;

	cc__idle_search(idle);
	how = cc__idle_sleep(idle, 0, snapshot, &with_poller, NULL, CC_FOREVER, CC_MSEC);
	cc__idle_give_up(idle);
	return how;
}

TEST(sleep_in_the_poller_tells_what_ended_it)
{
	uint64_t now;

	begin();
	now = cc__idle_generations(idle);
	CHECK_EQ(sleep_polling(now), CC__TIMED_OUT);	/* on its word */
	cc__store(&nobody_polls, 1, CC__RELAXED);
	CHECK_EQ(sleep_polling(now), CC__TIMED_OUT);
	finds_event = true;
	CHECK_EQ(sleep_polling(now), CC__POLLED);
	wake_it = true;
	finds_event = false;
	CHECK_EQ(sleep_polling(now), CC__WOKEN);
	CHECK_EQ(sleep_polling(now - 1), CC__NOT_SLEPT);
	CHECK_EQ(cc__load(&nobody_polls, CC__RELAXED), 1);	/* it is given back */
	cc__store(&nobody_polls, 0, CC__RELAXED);
	end();
}

static void find(const struct cc__idle_ops *o)
{
	cc__idle_search(idle);
	cc__idle_found(idle, o, NULL);
}

TEST(who_stops_searching_wakes_one_for_what_is_unattended)
{
	begin();
	announce(1, CC__ASLEEP);
	find(&ops);
	find(&with_poller);
	CHECK(!was_woken(1));
	cc__store(&nobody_polls, 1, CC__RELAXED);
	find(&ops);
	CHECK(!was_woken(1));
	find(&with_poller);
	CHECK(was_woken(1));
	cc__store(&nobody_polls, 0, CC__RELAXED);
	cc__store(&timer, cc_now() + 3600 * CC_SEC, CC__RELAXED);
	find(&with_poller);
	CHECK(was_woken(1));
	be_keeper(2);
	find(&with_poller);
	CHECK(!was_woken(1));	/* it is kept */
	be_keeper(2 | CC__WATCHING);
	cc__store(&work_left, 1, CC__RELAXED);
	find(&with_poller);
	CHECK(!was_woken(1));	/* it looks by itself */
	forget_all();
	end();
}

/* ---- the end ---- */

/* The object goes on to the next runtime, as if it were new. */
TEST(one_less_wakes_all_once_somebody_waits_for_the_end)
{
	struct cc__idle *before;

	for (int life = 0; life < 2; life++) {
		begin();
		CHECK(life == 0 || idle == before);
		before = idle;
		announce(1, CC__ASLEEP);
		announce(2, CC__ASLEEP);
		cc__idle_one_less(idle);
		CHECK_EQ(sleepers(), 2);
		cc__idle_ending(idle);
		cc__idle_one_less(idle);
		CHECK_EQ(sleepers(), 0);
		CHECK_EQ(searching(), 2);
		cc__idle_give_up(idle);
		cc__idle_give_up(idle);
		forget_all();
		end();
	}
}

/* ---- the keeper ---- */

TEST(earlier_timer_wakes_the_keeper_and_a_later_one_does_not)
{
	const cc_time soon = cc_now() + 3600 * CC_SEC;

	begin();
	cc__store(&timer, soon, CC__RELEASE);
	put_to_sleep(1, CC_FOREVER);
	put_to_sleep(0, CC_FOREVER);
	CHECK_EQ(keeper(), 2);
	TEST_UNTIL(cc__load(&idle->nap[1].until, CC__ACQUIRE) == soon);
	cc__idle_timer(idle, soon);
	cc__idle_timer(idle, soon + 1);
	CHECK(!is_back(0) && !is_back(1));
	cc__idle_timer(idle, soon - 1);
	CHECK_EQ(until_back(1), CC__WOKEN);
	CHECK_EQ(keeper(), 0);
	cc__idle_timer(idle, soon);	/* nobody keeps it: somebody must */
	CHECK_EQ(until_back(0), CC__WOKEN);
	end();
}

/* With one asleep as the keeper and one beside it, which timers did without a keeper before. */
static void two_keepers(cc_time first)
{
	begin();
	idle->late = 3600 * CC_SEC;
	cc__store(&timer, first, CC__RELEASE);
	cc__store(&idle->unkept, 1, CC__RELEASE);
	put_to_sleep(0, CC_FOREVER);
	put_to_sleep(1, CC_FOREVER);
	TEST_UNTIL(cc__load(&idle->nap[0].until, CC__ACQUIRE) == first);
	TEST_UNTIL(cc__load(&idle->nap[1].until, CC__ACQUIRE) == first);
	CHECK_EQ(keeper(), 1);
	CHECK_EQ(cc__load(&idle->second, CC__ACQUIRE), 2);
	CHECK_EQ(cc__load(&idle->unkept, CC__ACQUIRE), 0);
}

TEST(second_keeper_is_left_alone_until_a_timer_is_too_early_for_it)	/* covers: RES-72/u */
{
	const cc_time first = cc_now() + 3600 * CC_SEC;

	two_keepers(first);
	put_to_sleep(2, CC_FOREVER);
	CHECK_EQ(cc__load(&idle->second, CC__ACQUIRE), 2);	/* one is enough */
	cc__idle_wake(idle, 0);
	until_back(0);
	CHECK_EQ(keeper(), 0);
	cc__idle_timer(idle, first);
	cc__idle_timer(idle, first + 1);
	CHECK(!is_back(1) && !is_back(2));
	CHECK_EQ(cc__load(&idle->unkept, CC__ACQUIRE), 1);
	cc__idle_search(idle);
	cc__idle_found(idle, &ops, NULL);	/* the earliest timer is kept as well */
	CHECK(!is_back(1) && !is_back(2));
	cc__store(&timer, first - 1, CC__RELEASE);
	cc__idle_search(idle);
	cc__idle_found(idle, &ops, NULL);
	TEST_UNTIL(is_back(1) || is_back(2));
	cc__idle_wake_all(idle);
	until_back(1);
	until_back(2);
	CHECK_EQ(cc__load(&idle->second, CC__ACQUIRE), 0);
	end();
}

TEST(second_keeper_looks_soon_after_the_first_timer)	/* covers: RES-72/u */
{
	const cc_time first = cc_now() + 5 * CC_MSEC;
	enum cc__awake how;

	begin();
	idle->late = CC_MSEC;
	put_to_sleep(0, CC_FOREVER);
	cc__store(&timer, first, CC__RELEASE);
	cc__store(&idle->unkept, 1, CC__RELEASE);
	how = sleep_as(1, cc__idle_generations(idle), CC_FOREVER, CC_FOREVER);
	CHECK_EQ(how, CC__TIMED_OUT);
	CHECK(cc_now() >= first + CC_MSEC);
	CHECK_EQ(cc__load(&idle->second, CC__ACQUIRE), 0);
	cc__idle_wake_all(idle);
	until_back(0);
	end();
}

TEST(worker_is_the_second_keeper_only_after_timers_had_none)	/* covers: RES-45/u */
{
	const cc_time first = cc_now() + 3600 * CC_SEC;

	begin();
	idle->late = CC_MSEC;
	cc__store(&timer, first, CC__RELEASE);
	put_to_sleep(0, CC_FOREVER);
	put_to_sleep(1, CC_FOREVER);
	CHECK_EQ(cc__load(&idle->second, CC__ACQUIRE), 0);
	cc__idle_wake(idle, 0);
	until_back(0);
	cc__idle_timer(idle, first);	/* no keeper, and no second one */
	CHECK_EQ(until_back(1), CC__WOKEN);
	put_to_sleep(0, CC_FOREVER);
	put_to_sleep(1, CC_FOREVER);
	CHECK_EQ(cc__load(&idle->second, CC__ACQUIRE), 2);
	cc__idle_wake_all(idle);
	until_back(0);
	until_back(1);
	end();
}

TEST(no_timer_is_left_to_a_second_keeper_with_an_infinite_idle_wait)	/* covers: WKG-18/u */
{
	const cc_time first = cc_now() + 3600 * CC_SEC;

	begin();	/* `late` is 0 */
	cc__store(&timer, first, CC__RELEASE);
	cc__store(&idle->unkept, 1, CC__RELEASE);
	put_to_sleep(0, CC_FOREVER);
	put_to_sleep(1, CC_FOREVER);
	CHECK_EQ(cc__load(&idle->second, CC__ACQUIRE), 0);
	cc__idle_wake(idle, 0);
	until_back(0);
	cc__idle_search(idle);
	cc__idle_found(idle, &ops, NULL);
	CHECK_EQ(until_back(1), CC__WOKEN);
	end();
}

TEST(watch_takes_the_role_from_a_keeper_without_one)
{
	begin();
	put_to_sleep(2, CC_FOREVER);
	CHECK_EQ(keeper(), 3);
	put_to_sleep(1, 3600 * CC_SEC);
	CHECK_EQ(keeper(), 2 | CC__WATCHING);
	put_to_sleep(0, 3600 * CC_SEC);
	CHECK_EQ(keeper(), 2 | CC__WATCHING);	/* one is enough */
	cc__idle_wake(idle, 2);
	CHECK_EQ(until_back(2), CC__WOKEN);
	CHECK_EQ(keeper(), 2 | CC__WATCHING);
	cc__idle_wake_all(idle);
	until_back(0);
	until_back(1);
	end();
}

TEST(watch_lets_short_queues_be)
{
	uint32_t patience;

	begin();
	patience = cc__load(&idle->patience, CC__RELAXED);
	CHECK(patience > 1);
	put_to_sleep(0, 3600 * CC_SEC);
	CHECK(cc__idle_pushed(idle, &idle->nap[3], 1));
	CHECK(cc__idle_watched(idle, patience - 1));
	CHECK(!is_back(0));
	CHECK(!cc__idle_watched(idle, patience));
	cc__idle_call(idle);
	CHECK_EQ(until_back(0), CC__WOKEN);
	cc__idle_wake_was(idle, false);
	CHECK(cc__load(&idle->patience, CC__RELAXED) > patience);
	cc__idle_wake_was(idle, true);
	CHECK_EQ(cc__load(&idle->patience, CC__RELAXED), patience);
	for (int i = 0; i < 100; i++)
		cc__idle_wake_was(idle, true);
	CHECK_EQ(cc__load(&idle->patience, CC__RELAXED), patience);
	for (int i = 0; i < 100; i++)
		cc__idle_wake_was(idle, false);
	CHECK_EQ(cc__load(&idle->patience, CC__RELAXED), 1024);
	end();
}
