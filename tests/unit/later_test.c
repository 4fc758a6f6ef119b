/* later_test.c - tasks that begin at a time: in time, recalled, hastened by the end of
 * their runtime. */
#include "points.h"
#include "workers.h"

#include <errno.h>
#include <pthread.h>


static CCRuntime *start(unsigned workers, cc_time shutdown_timeout)
{
	CCConfig c = config();
	CCRuntime *rt = NULL;

	only_workers(&c, workers);
	c.shutdown_timeout = shutdown_timeout;
	c.idle_wait = CC_FOREVER;
	c.stack_idle = 3600 * CC_SEC;	/* a worker's sleep has no end of its own */
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

static CCTask spawn_at(CCRuntime *rt, cc_time when, cc_task_main *main, void *arg)
{
	const CCTaskOptions o = {.name = "later", .start = when};
	CCTask t = {0};

	CHECK_EQ(cc_task_spawn(rt, &t, &o, main, arg), 0);
	return t;
}

static cc_time in_an_hour(void)
{
	return cc_now() + 3600 * CC_SEC;
}

static CCStats stats(CCRuntime *rt)
{
	CCStats s;

	CHECK_EQ(cc_stats(rt, &s), 0);
	return s;
}

/* ---- in time ---- */

static int note_time(void *arg)
{
	*(cc_time *)arg = cc_now();
	return 5;
}

/* The result of a task that is due soon.  A task that no worker wakes for fails the test by name,
 * long before the watchdog. */
static int join_soon(CCTask t)
{
	int result = -12345;

	CHECK_EQ(cc_task_join(t, cc_after(5 * CC_SEC), &result), 0);
	return result;
}

/* All workers sleep, and the keeper, which has the timers, for a minute at least. */
static bool all_sleep_long(CCRuntime *rt, unsigned workers)
{
	const struct cc__idle *idle = sched_of(rt)->idle;
	const uint32_t keeper = cc__load(&idle->keeper, CC__ACQUIRE) & ~CC__WATCHING;

	return asleep(rt) == workers && keeper != 0 &&
	       cc__load(&idle->nap[keeper - 1].until, CC__ACQUIRE) > cc_now() + 60 * CC_SEC;
}

/* The thread that spawns is no worker: only the wake of the keeper makes a worker see the timer. */
TEST(later_task_of_a_thread_wakes_the_keeper_that_sleeps_for_longer)	/* covers: SCH-68/u */
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		CCRuntime *rt = start(workers, CC_MSEC);
		CCTask far = spawn_at(rt, in_an_hour(), nothing, NULL), soon;
		cc_time begin, began = 0;

		TEST_UNTIL(all_sleep_long(rt, workers));
		begin = cc_now() + 5 * CC_MSEC;
		soon = spawn_at(rt, begin, note_time, &began);
		CHECK_EQ(join_soon(soon), 5);
		CHECK(began >= begin);
		CHECK_EQ(cc_task_recall(far), 0);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

TEST(later_task_begins_at_its_time_and_not_before)	/* covers: SCH-68/u */
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		CCRuntime *rt = start(workers, 10 * CC_SEC);
		cc_time begin = cc_now() + 5 * CC_MSEC, began = 0, early = -1;
		CCTask t = spawn_at(rt, begin, note_time, &began);
		CCTask past = spawn_at(rt, cc_now() - CC_SEC, note_time, &early);

		CHECK_EQ(join_soon(past), 5);
		CHECK_EQ(join_soon(t), 5);
		CHECK(began >= begin);
		CHECK(early > 0);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

static int spawn_and_join(void *arg)
{
	cc_time began = 0, begin = cc_now() + CC_MSEC;
	CCTask t = spawn_at(NULL, begin, note_time, &began);
	int result = 0;

	(void)arg;
	CHECK_EQ(cc_task_join(t, CC_NOW, NULL), EAGAIN);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, &result), 0);
	CHECK(began >= begin);
	return result;
}

TEST(later_task_is_joined_like_any_other)
{
	CCRuntime *rt = start(1, 10 * CC_SEC);

	CHECK_EQ(join(spawn(rt, spawn_and_join, NULL)), 5);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(later_task_without_a_handle_runs)
{
	const CCTaskOptions soon = {.start = cc_now() + CC_MSEC};
	CCRuntime *rt = start(2, 10 * CC_SEC);
	cc_time began = 0;

	CHECK_EQ(cc_task_spawn(rt, NULL, &soon, note_time, &began), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);	/* waits for it */
	CHECK(began >= soon.start);
}

TEST(later_task_may_stay_with_a_worker)
{
	CCRuntime *rt = start(2, 10 * CC_SEC);

	for (int i = 0; i < 8; i++) {
		CCTaskOptions o = {.start = cc_now() + CC_MSEC};
		cc_time began = 0;
		CCTask t;

		o.migration = i % 2 ? CC_MIGRATE_PINNED : CC_MIGRATE_STICKY;
		CHECK_EQ(cc_task_spawn(rt, &t, &o, note_time, &began), 0);
		CHECK_EQ(join_soon(t), 5);
		CHECK(began >= o.start);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int find_it(const CCFiberInfo *info, void *arg)
{
	*(int *)arg += strcmp(info->name, "later") == 0 && info->state == CC_FIBER_QUEUED;
	return 0;
}

TEST(later_task_is_listed)
{
	CCRuntime *rt = start(1, 10 * CC_SEC);
	CCTask t = spawn_at(rt, in_an_hour(), nothing, NULL);
	int found = 0;

	CHECK_EQ(cc_fiber_each(find_it, &found), 0);
	CHECK_EQ(found, 1);
	CHECK_EQ(stats(rt).tasks_live, 1);
	CHECK_EQ(cc_task_recall(t), 0);
	CHECK_EQ(stats(rt).tasks_live, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- never ---- */

static int not_to_run(void *arg)
{
	(void)arg;
	CHECK(false);
	return 0;
}

static int recall_many(void *arg)
{
	enum { MANY = 300 };
	CCTask t[MANY];

	(void)arg;
	for (int i = 0; i < MANY; i++)
		t[i] = spawn_at(NULL, in_an_hour() + i * CC_MSEC, not_to_run, NULL);
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(cc_task_recall(t[(i * 7) % MANY]), 0);
		CHECK_EQ(cc_task_recall(t[(i * 7) % MANY]), EINVAL);
		CHECK_EQ(cc_task_join(t[(i * 7) % MANY], CC_NOW, NULL), EINVAL);
	}
	return 0;
}

/* No timer is left of those that were recalled: their frames are others' by now. */
static bool wheels_are_empty(CCRuntime *rt)
{
	const struct cc__sched *s = (const struct cc__sched *)(const void *)rt;
	uint32_t levels = 0;

	for (unsigned i = 0; i < cc__load(&s->workers, CC__ACQUIRE); i++) {
		struct cc__timers *h = &s->worker[i]->timers;

		cc__lock(&h->lock, CC__RANK_TIMER);
		levels |= h->levels;
		cc__unlock(&h->lock);
	}
	return levels == 0;
}

TEST(recalled_tasks_never_run)
{
	CCRuntime *rt = start(2, 10 * CC_SEC);

	recall_many(NULL);	/* of the default runtime, by a thread */
	CHECK_EQ(join(spawn(rt, recall_many, NULL)), 0);
	CHECK(wheels_are_empty(rt));
	TEST_UNTIL(stats(rt).tasks_live == 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc_shutdown(), 0);
}

static int recall_it(void *arg)
{
	return cc_task_recall(*(CCTask *)arg);
}

TEST(recall_by_a_task_of_another_runtime_is_counted_where_it_was)
{
	CCRuntime *rt = start(1, 10 * CC_SEC), *other = start(1, 10 * CC_SEC);
	CCTask t = spawn_at(rt, in_an_hour(), not_to_run, NULL);

	CHECK_EQ(join(spawn(other, recall_it, &t)), 0);
	CHECK_EQ(stats(rt).tasks_live, 0);
	TEST_UNTIL(stats(other).tasks_live == 0);
	CHECK_EQ(cc_runtime_free(other), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(recall_comes_too_late)
{
	CCRuntime *rt = start(1, 10 * CC_SEC);
	struct gate g = {0};
	CCTask t = spawn(rt, wait_at, &g);

	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 1);
	CHECK_EQ(cc_task_recall(t), EALREADY);
	cc__store(&g.open, 1, CC__RELEASE);
	TEST_UNTIL(stats(rt).tasks_live == 0);
	CHECK_EQ(cc_task_recall(t), EALREADY);	/* it has ended */
	CHECK_EQ(join(t), 17);
	CHECK_EQ(cc_task_recall(t), EINVAL);
	CHECK_EQ(cc_task_recall((CCTask){0}), EINVAL);
	t = spawn_at(rt, cc_now() + CC_MSEC, nothing, NULL);
	CHECK_EQ(cc_task_detach(t), 0);
	CHECK_EQ(cc_task_recall(t), EINVAL);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static void *join_it(void *arg)
{
	CHECK_EQ(join(*(CCTask *)arg), 5);
	return NULL;
}

static bool somebody_waits(const struct cc__fiber *f)
{
	struct cc__fiber *locked = (struct cc__fiber *)(uintptr_t)f;
	bool waits;

	cc__lock(&locked->done.lock, CC__RANK_WAITQ);
	waits = f->done.head != NULL;
	cc__unlock(&locked->done.lock);
	return waits;
}

TEST(recall_of_what_somebody_waits_for_is_refused)
{
	CCRuntime *rt = start(1, 0);
	cc_time began = 0;
	CCTask t = spawn_at(rt, in_an_hour(), note_time, &began);
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, join_it, &t), 0);
	TEST_UNTIL(somebody_waits(t.frame));
	CHECK_EQ(cc_task_recall(t), EBUSY);
	free_until_done(rt);	/* does not wait that long */
	pthread_join(thread, NULL);
	CHECK(began > 0);
}

TEST(start_at_the_end_of_time_is_refused)
{
	const CCTaskOptions o = {.start = CC_FOREVER};
	CCTask t;

	CHECK_EQ(cc_task_spawn(NULL, &t, &o, nothing, NULL), EINVAL);
	CHECK_EQ(cc_shutdown(), 0);
}

/* ---- raced ---- */

struct race {
	CCRuntime *rt;
	CCTask task;
	cc__a32 go, ran;
	cc_time due;
	int recalled;
};

static int count_run(void *arg)
{
	struct race *r = arg;

	cc__add(&r->ran, 1, CC__RELAXED);
	return 0;
}

static int recall_about_then(void *arg)
{
	struct race *r = arg;

	while (cc_now() < r->due)
		cc_yield();
	r->recalled = cc_task_recall(r->task);
	return 0;
}

TEST(recall_against_the_timer_has_one_winner)
{
	CCRuntime *rt = start(2, 10 * CC_SEC);
	uint64_t random = test_seed();
	unsigned won = 0, lost = 0;
	const unsigned rounds = 4000 / test_slowness();

	for (unsigned i = 0; i < rounds; i++) {
		struct race r = {.rt = rt, .due = cc_now() + 30 * CC_USEC};
		CCTask rival;

		r.task = spawn_at(rt, r.due, count_run, &r);
		r.due += (cc_time)(test_random(&random) % 30 * CC_USEC) - 10 * CC_USEC;
		rival = spawn(rt, recall_about_then, &r);
		join(rival);
		if (r.recalled == 0) {
			CHECK_EQ(cc__load(&r.ran, CC__RELAXED), 0);
			won++;
		} else {
			CHECK_EQ(r.recalled, EALREADY);
			CHECK_EQ(join(r.task), 0);
			CHECK_EQ(cc__load(&r.ran, CC__RELAXED), 1);
			lost++;
		}
	}
	CHECK_EQ(won + lost, rounds);
	TEST_UNTIL(stats(rt).tasks_live == 0);	/* a joiner is told before that is counted */
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- the end of the runtime ---- */

TEST(shutdown_waits_for_what_begins_soon)	/* covers: SCH-78/u */
{
	CCRuntime *rt = start(2, 20 * CC_SEC);
	cc_time began = 0, begin = cc_now() + 5 * CC_MSEC;
	CCTask t = spawn_at(rt, begin, note_time, &began);

	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK(began >= begin);
	CHECK_EQ(join(t), 5);
}

static int sleep_on(void *arg)
{
	(void)arg;
	return cc_sleep_until(in_an_hour());
}

TEST(shutdown_begins_at_once_what_would_be_late)	/* covers: SCH-78/u, RES-25/u */
{
	enum { MANY = 40 };

	for (unsigned workers = 1; workers <= 2; workers++) {
		CCRuntime *rt = start(workers, CC_MSEC);
		CCTask t[MANY];

		for (int i = 0; i < MANY; i++)
			t[i] = spawn_at(rt, in_an_hour(), sleep_on, NULL);
		free_until_done(rt);
		for (int i = 0; i < MANY; i++)
			CHECK_EQ(join(t[i]), ECANCELED);
	}
}

/* It has looked at the cancel flag; the walk comes and goes before the task is LATER. */
static void *spawn_late(void *arg)
{
	struct race *r = arg;

	r->task = spawn_at(r->rt, in_an_hour(), count_run, r);
	return NULL;
}

TEST(shutdown_finds_a_task_that_is_being_spawned)
{
	struct race r = {.recalled = 0};
	struct point *p;
	pthread_t thread;

	NEED_POINTS();
	r.rt = start(1, 0);
	p = point_hold("spawn.before_publish", NULL);
	CHECK_EQ(pthread_create(&thread, NULL, spawn_late, &r), 0);
	point_until_held(p);
	CHECK_EQ(cc_runtime_free(r.rt), ETIMEDOUT);
	point_release(p);
	pthread_join(thread, NULL);
	free_until_done(r.rt);
	CHECK_EQ(join(r.task), 0);
	CHECK_EQ(cc__load(&r.ran, CC__RELAXED), 1);
}

/* The last task is taken back while somebody waits for the end. */
static void *free_it(void *arg)
{
	CHECK_EQ(cc_runtime_free(arg), 0);
	return NULL;
}

TEST(recall_of_the_last_task_lets_the_runtime_end)
{
	for (int i = 0; i < 50; i++) {
		CCRuntime *rt = start(2, 60 * CC_SEC);
		struct cc__sched *s = (struct cc__sched *)(void *)rt;
		CCTask t = spawn_at(rt, in_an_hour(), not_to_run, NULL);
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, free_it, rt), 0);
		TEST_UNTIL(cc__load(&s->stopping, CC__ACQUIRE) != CC__RUNNING);
		CHECK_EQ(cc_task_recall(t), 0);
		pthread_join(thread, NULL);
	}
}
