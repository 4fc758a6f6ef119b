/* crowd_race_test.c - many fibers on several workers that wake each other, from
 * outside too, with all kinds of migration: nobody is left asleep.  Idle workers
 * sleep until they are woken, so a wake that is lost is a test that hangs.
 * ctest-label: race */
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "jitter.h"
#include "waitables.h"
#include "workers.h"

enum { CROWD = 64, WORKERS = 4 };

static unsigned rounds(void)
{
	return test_rounds(80);
}

struct seat {
	struct sem sem;
	struct seat *all;
	uint64_t seed;
	unsigned turns;		/* its owner's */
};

/* ---- rings of wakes: each waits for its own, then wakes another ---- */

static int pass_on(void *arg)
{
	struct seat *s = arg;

	for (unsigned i = 0; i < rounds(); i++) {
		CHECK_EQ(sem_wait(&s->sem, CC_FOREVER), 0);
		s->turns++;
		sem_post(&s->all[(s - s->all + 17) % CROWD].sem);
	}
	return 0;
}

struct ring {
	struct seat seat[CROWD];
	CCTask task[CROWD];
};

static void ring_begin(struct ring *r, CCRuntime *rt, unsigned tokens)
{
	memset(r, 0, sizeof *r);
	for (unsigned i = 0; i < CROWD; i++) {
		r->seat[i].all = r->seat;
		r->task[i] = spawn_as(rt, (CCMigration)(i % 3), pass_on, &r->seat[i]);
	}
	for (unsigned i = 0; i < tokens; i++)
		sem_post(&r->seat[i].sem);
}

static void ring_end(struct ring *r)
{
	for (unsigned i = 0; i < CROWD; i++)
		join(r->task[i]);
	for (unsigned i = 0; i < CROWD; i++)
		CHECK_EQ(r->seat[i].turns, rounds());
}

/* What the wake generation did meanwhile.  All slept when the ring began, so its first push
 * ended a wait; a worker that went to sleep waits at most once, and only a wake or a time of
 * its own ends that. */
static void check_waits(CCRuntime *rt)
{
	CCStats s;

	CHECK_EQ(cc_stats(rt, &s), 0);
	printf("      sleeps %llu, waits %llu, woken %llu, by the generation %llu, "
	       "timed out %llu\n",
	       (unsigned long long)s.sleeps, (unsigned long long)s.waits,
	       (unsigned long long)s.woken, (unsigned long long)s.ends_generation,
	       (unsigned long long)s.timed_out);
	CHECK(s.ends_generation > 0);
	CHECK(s.waits <= s.sleeps);
	CHECK(s.woken <= s.wakes);
}

static void check_ring(cc_time idle_wait, unsigned tokens)
{
	CCRuntime *rt = workers_new(WORKERS, idle_wait);
	struct ring r;

	TEST_UNTIL(asleep(rt) == WORKERS);
	ring_begin(&r, rt, tokens);
	ring_end(&r);
	check_waits(rt);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* (WKG-16: a test of contention that reads the statistics.) */
TEST(wakes_round_a_ring_are_not_lost)	/* covers: WKG-16/b, LIF-72/z */
{
	check_ring(CC_FOREVER, 1);
	check_ring(CC_FOREVER, 8);
	check_ring(CC_FOREVER, CROWD);
	check_ring(USUAL, 1);
	check_ring(USUAL, CROWD);
}

/* Stays on its worker until both are there, so each needs a worker of its own. */
static int meet(void *arg)
{
	cc__a32 *here = arg;

	cc__add(here, 1, CC__ACQ_REL);
	TEST_UNTIL(cc__load(here, CC__ACQUIRE) == 2);
	return 0;
}

/* A worker that pushes runs what it pushed, so a lost wake shows only where the pusher is no worker
 * and no worker comes by: the other one has just looked, or is busy. */
TEST(tasks_from_outside_are_not_left_beside_a_sleeper)	/* covers: WKG-07/s, WKG-18/s, RES-34/s */
{
	CCRuntime *rt = workers_new(2, CC_FOREVER);
	unsigned i;

	jitter_at("worker.before_sleep", 2);
	for (i = 0; i < 50 * rounds() && test_has_time(); i++) {
		cc__a32 here = {0};
		CCTask task[2];

		for (int k = 0; k < 2; k++)
			task[k] = spawn_as(rt, CC_MIGRATE_FREE, meet, &here);
		for (int k = 0; k < 2; k++)
			join(task[k]);
	}
	jitter_at(NULL, 1);
	printf("      %u pairs\n", i);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* The test is the monitor: it adds workers all the time, which retire as soon as they find
 * nothing to do, and it helps nobody. */
TEST(wakes_are_not_lost_while_workers_come_and_go)	/* covers: WKG-09/s */
{
	uint64_t seed = test_seed();
	unsigned added = 0, number;
	CCRuntime *rt = NULL;
	CCConfig c = config();
	struct ring r;

	only_workers(&c, 2);
	c.workers_max = 6;
	c.worker_idle = 20 * CC_USEC;
	c.idle_wait = c.stack_idle = CC_FOREVER;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	for (unsigned i = 0; i < 5 * rounds() && test_has_time(); i++) {
		ring_begin(&r, rt, 1 + i % CROWD);
		while (!cc__sched_at_rest(sched_of(rt))) {
			added += cc__sched_grow(sched_of(rt), test_random(&seed) % 2 == 0, &number) == 0;
			sched_yield();
			cc__sched_reap(sched_of(rt));
		}
		ring_end(&r);
	}
	printf("      %u workers came and went\n", added);
	CHECK(added > 4);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- pairs across workers, with deadlines that pass now and then ---- */

static int play(void *arg)
{
	struct seat *s = arg;
	struct seat *other = &s->all[(s - s->all) ^ 1];

	for (unsigned i = 0; i < rounds(); i++) {
		const bool hasty = test_random(&s->seed) % 8 == 0;

		sem_post(&other->sem);
		while (sem_wait(&s->sem, hasty ? cc_now() + CC_USEC : CC_FOREVER) == ETIMEDOUT)
			continue;
		s->turns++;
	}
	return 0;
}

TEST(pairs_with_deadlines_play_to_the_end)	/* covers: RES-17/s */
{
	static const cc_time waits[] = {CC_FOREVER, USUAL};

	for (int k = 0; k < 2; k++) {
		CCRuntime *rt = workers_new(WORKERS, waits[k]);
		struct seat seat[CROWD];
		uint64_t seed = test_seed();
		CCTask t[CROWD];

		memset(seat, 0, sizeof seat);
		for (unsigned i = 0; i < CROWD; i++) {
			seat[i].all = seat;
			seat[i].seed = test_random(&seed);
			t[i] = spawn_as(rt, (CCMigration)(seat[i].seed % 3), play, &seat[i]);
		}
		for (unsigned i = 0; i < CROWD; i++)
			join(t[i]);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

/* ---- from outside: threads post, fibers wait and spawn ---- */

struct office {
	CCRuntime *rt;
	struct sem sem;
	cc__a32 served, spawned;
};

static int count_one(void *arg)
{
	cc__add((cc__a32 *)arg, 1, CC__RELAXED);
	return 0;
}

static int serve(void *arg)
{
	struct office *o = arg;

	for (unsigned i = 0; i < rounds(); i++) {
		CHECK_EQ(sem_wait(&o->sem, CC_FOREVER), 0);
		cc__add(&o->served, 1, CC__RELAXED);
		if (i % 4 == 0)
			CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, count_one, &o->spawned), 0);
	}
	return 0;
}

static void *post_from_outside(void *arg)
{
	struct office *o = arg;

	for (unsigned i = 0; i < rounds() * CROWD / 4; i++) {
		sem_post(&o->sem);
		if (i % 64 == 0)
			sched_yield();
	}
	return NULL;
}

TEST(wakes_from_outside_are_not_lost)	/* covers: SCH-77/s, RES-58/s */
{
	struct office o = {.rt = workers_new(WORKERS, CC_FOREVER)};
	CCTask t[CROWD];
	pthread_t thread[4];

	for (unsigned i = 0; i < CROWD; i++)
		t[i] = spawn_as(o.rt, (CCMigration)(i % 3), serve, &o);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, post_from_outside, &o), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (unsigned i = 0; i < CROWD; i++)
		join(t[i]);
	TEST_UNTIL(cc__sched_at_rest(sched_of(o.rt)));
	CHECK_EQ(cc__load(&o.served, CC__RELAXED), rounds() * CROWD);
	CHECK_EQ(cc__load(&o.spawned, CC__RELAXED), (rounds() + 3) / 4 * CROWD);
	CHECK_EQ(cc_runtime_free(o.rt), 0);
}

/* ---- bursts: all sleep, then all run ---- */

static int spread(void *arg)
{
	struct office *o = arg;

	for (int i = 0; i < CROWD; i++)
		CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, count_one, &o->spawned), 0);
	return 0;
}

TEST(bursts_find_workers_awake_or_wake_them)	/* covers: WKG-07/s, SCH-77/s */
{
	struct office o = {.rt = workers_new(WORKERS, CC_FOREVER)};

	jitter_at("worker.before_sleep", 4);
	for (unsigned i = 1; i <= rounds() + 20; i++) {
		CHECK_EQ(cc_task_spawn(o.rt, NULL, NULL, spread, &o), 0);
		if (i % 4 == 0)
			TEST_UNTIL(asleep(o.rt) == WORKERS);
		else
			TEST_UNTIL(cc__load(&o.spawned, CC__ACQUIRE) >= i * CROWD / 2);
	}
	TEST_UNTIL(cc__load(&o.spawned, CC__ACQUIRE) == (rounds() + 20) * CROWD);
	jitter_at(NULL, 1);
	CHECK_EQ(cc_runtime_free(o.rt), 0);
}

/* ---- the end of it: everybody is told, nobody takes what is not there ---- */

static int take_until_closed(void *arg)
{
	struct office *o = arg;
	int err;

	do {
		err = sem_wait(&o->sem, cc__load(&o->served, CC__RELAXED) % 8 == 0
		                            ? cc_now() + CC_USEC
		                            : CC_FOREVER);
		cc__add(&o->served, err == 0, CC__RELAXED);
	} while (err == 0 || err == ETIMEDOUT);
	CHECK_EQ(sem_wait(&o->sem, CC_FOREVER), EPIPE);	/* closed is closed */
	return err;
}

TEST(close_ends_every_wait)	/* covers: WKG-12/s */
{
	CCRuntime *rt = workers_new(WORKERS, CC_FOREVER);

	for (unsigned round = 0; round < 20; round++) {
		struct office o = {.rt = rt};
		CCTask t[CROWD];

		for (unsigned i = 0; i < CROWD; i++)
			t[i] = spawn_as(rt, (CCMigration)(i % 3), take_until_closed, &o);
		for (unsigned i = 0; i < 10 * round; i++)
			sem_post(&o.sem);
		sem_close(&o.sem);
		for (unsigned i = 0; i < CROWD; i++)
			CHECK_EQ(join(t[i]), EPIPE);
		CHECK_EQ(cc__load(&o.served, CC__RELAXED), 10 * round);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}
