/* idle_test.c - sched/idle.h: generations, counts, who is woken, the keeper.
 *
 * The sleepers are threads that stand for workers; nobody sleeps against a clock
 * but where a time is what is tested. */
#include "test.h"

#include <pthread.h>

#include "sched/idle.h"

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

/* ---- generations ---- */

TEST(every_push_moves_what_a_snapshot_sees)	/* covers: WKG-01/t */
{
	uint64_t before;

	begin();
	before = cc__idle_generations(idle);
	for (unsigned i = 0; i < SLEEPERS; i++)
		CHECK(!cc__idle_pushed(idle, &idle->nap[i]));	/* nobody sleeps */
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
	cc__idle_pushed(idle, &idle->nap[1]);
	CHECK_EQ(cc__idle_generations(idle) - before, 1);
	CHECK_EQ(sleep_as(0, before, CC_FOREVER, CC_FOREVER), CC__NOT_SLEPT);
	end();
}

TEST(stale_snapshot_does_not_sleep)	/* covers: WKG-08/t */
{
	uint64_t before;

	begin();
	before = cc__idle_generations(idle);
	cc__idle_pushed(idle, &idle->nap[3]);
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
	begin();
	for (unsigned i = 0; i < SLEEPERS; i++)
		put_to_sleep(i, CC_FOREVER);
	CHECK_EQ(sleepers(), SLEEPERS);
	for (unsigned k = 0; k < SLEEPERS; k++) {
		const unsigned i = (k + 2) % SLEEPERS;

		if (k % 2)
			cc__idle_pushed_outside(idle, (int)i);
		else
			CHECK(cc__idle_wake(idle, i));
		CHECK_EQ(until_back(i), CC__WOKEN);
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
	cc__idle_search(idle);
	CHECK(cc__idle_pushed(idle, &idle->nap[3]));
	cc__idle_call(idle, 1);
	cc__idle_pushed_outside(idle, CC__ANY);
	CHECK_EQ(sleepers(), 2);	/* left to the searcher */
	cc__idle_give_up(idle);
	CHECK(cc__idle_pushed(idle, &idle->nap[3]));
	cc__idle_call(idle, 1);
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
	CHECK(cc__idle_pushed(idle, &idle->nap[3]));
	cc__idle_call(idle, patience - 1);
	CHECK(!is_back(0));
	cc__idle_call(idle, patience);
	CHECK_EQ(until_back(0), CC__WOKEN);
	cc__idle_wake_was(idle, false);
	CHECK(cc__load(&idle->patience, CC__RELAXED) > patience);
	cc__idle_wake_was(idle, true);
	CHECK_EQ(cc__load(&idle->patience, CC__RELAXED), patience);
	for (int i = 0; i < 100; i++)
		cc__idle_wake_was(idle, true);
	CHECK(cc__load(&idle->patience, CC__RELAXED) > 0);
	end();
}
