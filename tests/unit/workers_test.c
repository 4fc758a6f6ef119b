/* workers_test.c - how long anybody waits for its turn, that all workers have
 * work, and what the counters say when there is none. */
#include "test.h"

#include <pthread.h>
#include <sys/prctl.h>

#include "points.h"
#include "waitables.h"
#include "workers.h"

/* ---- turns ---- */

struct turns {
	cc__a32 count;		/* of the pair that keeps its worker busy */
	cc__a32 present, hold, held, stop;
	uint32_t from;		/* the count when there was something in the global queue */
	cc__a32 ran;
	uint32_t most;		/* turns that one of those waited; the worker's */
	bool slow;		/* constant; a turn takes a while */
};

static uint32_t turns(struct turns *t)
{
	return cc__load(&t->count, CC__RELAXED);
}

/* Two of these re-queue each other, and stop for nobody but `hold`. */
static int take_turns(void *arg)
{
	struct turns *t = arg;

	cc__add(&t->present, 1, CC__RELEASE);
	while (cc__load(&t->stop, CC__ACQUIRE) == 0) {
		const cc_time end = cc_now() + CC_USEC;

		while (t->slow && cc_now() < end)
			continue;
		cc__add(&t->count, 1, CC__RELAXED);
		if (cc__load(&t->hold, CC__ACQUIRE) != 0) {
			t->from = turns(t);
			cc__store(&t->held, 1, CC__RELEASE);
			TEST_UNTIL(cc__load(&t->hold, CC__ACQUIRE) == 0);
		}
		cc_yield();
	}
	return 0;
}

static int have_a_turn(void *arg)
{
	struct turns *t = arg;
	const uint32_t waited = turns(t) - t->from;

	if (waited > t->most)
		t->most = waited;
	cc__add(&t->ran, 1, CC__RELEASE);
	return 0;
}

/* Its time has come whenever somebody looks. */
static int tick(void *arg)
{
	struct turns *t = arg;

	cc__add(&t->present, 1, CC__RELEASE);
	while (cc__load(&t->stop, CC__ACQUIRE) == 0)
		CHECK_EQ(cc_sleep_until(cc_now() + 2 * CC_USEC), 0);
	return 0;
}

/* n tasks into the global queue while the pair stands still. */
static uint32_t turns_waited(unsigned n, unsigned ticking)
{
	struct turns t = {.slow = ticking > 0};
	CCRuntime *rt = workers_new(1, CC_FOREVER);
	CCTask pair[2] = {spawn(rt, take_turns, &t), spawn(rt, take_turns, &t)};

	for (unsigned i = 0; i < ticking; i++)
		CHECK_EQ(cc_task_spawn(rt, NULL, NULL, tick, &t), 0);
	TEST_UNTIL(cc__load(&t.present, CC__ACQUIRE) == 2 + ticking && turns(&t) > 1000);
	cc__store(&t.hold, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(&t.held, CC__ACQUIRE) != 0);
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(cc_task_spawn(rt, NULL, NULL, have_a_turn, &t), 0);
	CHECK_EQ(cc__global_length(&sched_of(rt)->global), n);
	cc__store(&t.hold, 0, CC__RELEASE);
	TEST_UNTIL(cc__load(&t.ran, CC__ACQUIRE) == n);
	cc__store(&t.stop, 1, CC__RELEASE);
	join(pair[0]);
	join(pair[1]);
	CHECK_EQ(cc_runtime_free(rt), 0);
	return t.most;
}

/* D4: the nth unstarted one after n times CC__FAIR_RUN picks. */
TEST(local_work_does_not_starve_the_global_queue)	/* covers: SCH-24/s */
{
	CHECK(turns_waited(1, 0) <= CC__FAIR_RUN);
	CHECK(turns_waited(2, 0) <= 2 * CC__FAIR_RUN);
	CHECK(turns_waited(20, 0) <= 20 * CC__FAIR_RUN);
}

TEST(timers_starve_no_unstarted_task)	/* covers: SCH-24/s */
{
	CHECK(turns_waited(1, 1) <= CC__FAIR_RUN);
	CHECK(turns_waited(20, 1) <= 20 * CC__FAIR_RUN);
	CHECK(turns_waited(2, 200) <= 2 * CC__FAIR_RUN);
}

enum { CROWD = 50, GAPS = 200 };

static struct {
	cc__a32 present, left;
	uint64_t most;		/* picks between two turns of one; the worker's */
} crowd;

static uint64_t picks_here(void)
{
	return cc__load(&cc__worker_here()->picks, CC__RELAXED);
}

/* Spawns and sleeps now and then, so that all kinds of queues are in use. */
static int measure_gaps(void *arg)
{
	struct sem *none = arg;

	cc__add(&crowd.present, 1, CC__RELAXED);
	while (cc__load(&crowd.present, CC__RELAXED) < CROWD)
		cc_yield();
	for (int i = 0; i < GAPS && cc__load(&crowd.left, CC__RELAXED) == 0; i++) {
		const uint64_t before = picks_here();

		cc_yield();
		if (picks_here() - before > crowd.most)
			crowd.most = picks_here() - before;
		if (i % 10 == 0)
			CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, nothing, NULL), 0);
		if (i % 32 == 0)
			CHECK_EQ(sem_wait(none, cc_now() + 20 * CC_USEC), ETIMEDOUT);
	}
	cc__add(&crowd.left, 1, CC__RELAXED);
	return 0;
}

/* D4: CC__FAIR_RUN + 9/8 of those in front of it. */
TEST(started_fiber_waits_for_a_bounded_number_of_others)
{
	CCRuntime *rt = workers_new(1, CC_FOREVER);
	struct sem none = {.count = 0};
	CCTask t[CROWD];

	memset(&crowd, 0, sizeof crowd);
	for (int i = 0; i < CROWD; i++)
		t[i] = spawn(rt, measure_gaps, &none);
	for (int i = 0; i < CROWD; i++)
		join(t[i]);
	CHECK(crowd.most > CROWD / 2);
	CHECK(crowd.most <= CC__FAIR_RUN + CROWD * 9 / 8);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- everybody has work ---- */

enum { WORKERS = 4 };

static struct {
	cc__a32 on[WORKERS];
} fan;

/* Until every worker has had one. */
static int burn(void *arg)
{
	bool all = false;

	cc__add(&fan.on[here() - 1], 1, CC__RELEASE);
	while (!all) {
		all = true;
		for (int i = 0; i < WORKERS; i++)
			all &= cc__load(&fan.on[i], CC__ACQUIRE) != 0;
		sched_yield();
	}
	(void)arg;
	return 0;
}

static int fan_out(void *arg)
{
	CCTask t[4 * WORKERS];

	for (int i = 0; i < 4 * WORKERS; i++)
		t[i] = spawn(arg, burn, NULL);
	for (int i = 0; i < 4 * WORKERS; i++)
		join(t[i]);
	return 0;
}

TEST(fan_out_occupies_all_workers)	/* covers: SCH-25/b */
{
	static const cc_time waits[] = {CC_FOREVER, USUAL};

	for (int k = 0; k < 4; k++) {
		CCRuntime *rt = workers_new(WORKERS, waits[k % 2]);

		memset(&fan, 0, sizeof fan);
		if (k / 2)
			fan_out(rt);	/* from outside */
		else
			CHECK_EQ(join(spawn(rt, fan_out, NULL)), 0);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

/* ---- at rest ---- */

struct totals {
	uint64_t bumps;		/* of all generations */
	uint64_t moved, picks, spawned, finished;
	uint64_t queued;	/* that wait anywhere: the pressure */
};

static struct totals look(CCRuntime *rt)
{
	struct cc__sched *s = sched_of(rt);
	struct totals n = {.bumps = cc__idle_generations(s->idle),
	                   .spawned = cc__load(&s->spawned_outside, CC__ACQUIRE),
	                   .queued = cc__global_length(&s->global)};

	for (unsigned i = 1; i <= cc__load(&s->workers, CC__ACQUIRE); i++) {
		const struct cc__worker *w = worker_of(rt, i);

		n.moved += cc__load(&w->moved, CC__ACQUIRE);
		n.picks += cc__load(&w->picks, CC__ACQUIRE);
		n.spawned += cc__load(&w->spawned, CC__ACQUIRE);
		n.finished += cc__load(&w->finished, CC__ACQUIRE);
		n.queued += cc__runq_length(&w->queue) + cc__inbox_length(&w->inbox) +
		            cc__inbox_length(&w->own);
	}
	return n;
}

static void until_at_rest(CCRuntime *rt)
{
	const struct cc__idle *idle = sched_of(rt)->idle;

	TEST_UNTIL(cc__sched_at_rest(sched_of(rt)) && asleep(rt) == sched_of(rt)->config.workers &&
	           cc__load(&idle->searching, CC__ACQUIRE) == 0);
}

/* A bit of everything that enqueues: spawn, yield, wake, timer, theft, inbox. */
static int stir(void *arg)
{
	struct sem *sem = arg;

	for (int i = 0; i < 50; i++) {
		CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, nothing, NULL), 0);
		cc_yield();
		sem_post(sem);
		CHECK_EQ(sem_wait(sem, CC_FOREVER), 0);
		if (i % 10 == 0)
			cc_sleep_until(cc_now() + 20 * CC_USEC);
	}
	return 0;
}

static void *stir_from_outside(void *arg)
{
	CCTask t[64];
	struct sem sem = {.count = 0};

	for (int i = 0; i < 64; i++)
		t[i] = spawn_as(arg, (CCMigration)(i % 3), stir, &sem);
	for (int i = 0; i < 64; i++)
		join(t[i]);
	return NULL;
}

static void stir_all(CCRuntime *rt)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, stir_from_outside, rt), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	until_at_rest(rt);
}

/* What was enqueued and not merely moved to another queue has been picked, once;
 * a generation has moved for each enqueue of either kind. */
TEST(counters_agree_at_rest)	/* covers: WKG-03/t, WKG-08/t, SCH-77/s, LIF-56/u, LIF-57/t,
				 * RES-43/s */
{
	for (unsigned workers = 1; workers <= 4; workers++) {
		CCRuntime *rt = workers_new(workers, workers % 2 ? CC_FOREVER : USUAL);
		struct totals before, after;

		until_at_rest(rt);
		before = look(rt);
		CHECK_EQ(before.spawned, before.finished);
		for (int round = 1; round <= 5; round++) {
			stir_all(rt);
			after = look(rt);
			CHECK_EQ(after.spawned, round * 2 * 64 * 51);
			CHECK_EQ(after.spawned, after.finished);
			CHECK_EQ(after.queued, 0);
			CHECK_EQ(cc__sched_pressure(sched_of(rt)), 0);
			CHECK_EQ(after.bumps - before.bumps - after.moved, after.picks);
		}
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

TEST(pressure_is_what_waits)	/* covers: LIF-56/u */
{
	CCRuntime *rt = workers_new(1, CC_FOREVER);
	struct gate g = {0};
	CCTask held = spawn(rt, hold_worker_at, &g);
	struct totals n;
	CCStats stats;

	until_arrived(&g, 1);
	for (unsigned i = 0; i < 5000; i++) {
		if (i % 500 == 0) {
			CHECK_EQ(look(rt).queued, i);
			CHECK_EQ(cc__sched_pressure(sched_of(rt)), i);
		}
		CHECK_EQ(cc_task_spawn(rt, NULL, NULL, nothing, NULL), 0);
	}
	CHECK_EQ(asleep(rt), 0);	/* one worker, and it is active */
	CHECK_EQ(cc_stats(rt, &stats), 0);
	CHECK_EQ(stats.workers_active, 1);
	CHECK_EQ(stats.pressure, 5000);
	open_gate(&g);
	join(held);
	until_at_rest(rt);
	n = look(rt);
	CHECK_EQ(n.queued, 0);
	CHECK_EQ(cc__sched_pressure(sched_of(rt)), 0);
	CHECK_EQ(n.finished, 5001);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(nobody_is_announced_while_all_run)	/* covers: WKG-08/t */
{
	CCRuntime *rt = workers_new(WORKERS, USUAL);
	struct gate g[WORKERS] = {{.open = {0}}};
	CCTask t[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		t[i] = spawn_as(rt, CC_MIGRATE_PINNED, hold_worker_at, &g[i]);
	for (int i = 0; i < WORKERS; i++)
		until_arrived(&g[i], 1);
	CHECK_EQ(asleep(rt), 0);
	CHECK_EQ(cc__load(&sched_of(rt)->idle->searching, CC__ACQUIRE), 0);
	CHECK_EQ(cc__load(&sched_of(rt)->idle->keeper, CC__ACQUIRE), 0);
	for (int i = 0; i < WORKERS; i++)
		open_gate(&g[i]);
	for (int i = 0; i < WORKERS; i++)
		join(t[i]);
	until_at_rest(rt);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- sleep ---- */

static void see_nothing(const void *worker, void *arg)
{
	struct cc__sched *s = ((const struct cc__worker *)worker)->sched;
	uint64_t n = cc__global_length(&s->global);

	for (unsigned i = 0; i < s->config.workers; i++)
		n += cc__runq_length(&s->worker[i]->queue) +
		     cc__inbox_any(&s->worker[i]->inbox) + cc__inbox_any(&s->worker[i]->own);
	*(uint64_t *)arg += n;
}

/* With one worker and nobody outside, nothing is pushed while it goes to sleep. */
TEST(worker_sleeps_when_there_is_nothing_anywhere)	/* covers: LIF-75/t */
{
	CCRuntime *rt = workers_new(1, CC_FOREVER);
	struct sem sem = {.count = 0};
	uint64_t seen = 0;

	NEED_POINTS();
	until_at_rest(rt);
	for (int i = 0; i < 50; i++) {
		struct point *p = point_call("worker.before_sleep", NULL, see_nothing, &seen);

		CHECK_EQ(join(spawn(rt, stir, &sem)), 0);
		TEST_UNTIL(cc__load(&p->state, CC__ACQUIRE) == POINT_OFF);
		until_at_rest(rt);
	}
	CHECK_EQ(seen, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* How much later than asked the system may end this thread's sleeps, in ns. */
static int slack(void *arg)
{
	(void)arg;
	return prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
}

/* A worker's sleeps end at their deadlines; those of the program's threads as they did. */
TEST(worker_sleeps_to_the_point)
{
	const int mine = slack(NULL);
	CCRuntime *rt = workers_new(2, CC_FOREVER);

	CHECK_EQ(join(spawn_as(rt, CC_MIGRATE_PINNED, slack, NULL)), 1);
	CHECK_EQ(join(spawn_as(rt, CC_MIGRATE_PINNED, slack, NULL)), 1);
	CHECK_EQ(slack(NULL), mine);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
