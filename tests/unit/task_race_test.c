/* task_race_test.c - spawn, join and detach from many OS threads at once: every
 * task runs once, every result arrives.
 * ctest-label: race */
#include "test.h"

#include <ccc/ccc.h>

#include <errno.h>
#include <pthread.h>

#include "os/atomic.h"

enum { THREADS = 8 };

static CCRuntime *runtime(void)
{
	CCRuntime *rt = NULL;

	CHECK_EQ(cc_runtime_new(&rt, NULL), 0);
	return rt;
}

static void run_threads(unsigned n, void *(*main)(void *), void *arg, size_t size)
{
	pthread_t t[THREADS];

	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, main, (char *)arg + i * size), 0);
	for (unsigned i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

/* ---- storm ---- */

enum { WINDOW = 64 };

struct storm {
	CCRuntime *rt;
	unsigned count;
	uint64_t seed;
	uint64_t sent, received;	/* sums */
	cc__a64 *ran;			/* sum over all tasks, by themselves */
};

struct drop {
	cc__a64 *ran;
	unsigned value;
};

static int fall(void *arg)
{
	struct drop *d = arg;

	if (d->value % 3 == 0)
		cc_yield();
	cc__add(d->ran, d->value, CC__RELAXED);
	return (int)d->value;
}

static void *storm(void *arg)
{
	struct storm *s = arg;
	struct drop drops[WINDOW];
	CCTask t[WINDOW];

	for (unsigned i = 0; i < s->count + WINDOW; i++) {
		int result;

		if (i >= WINDOW) {
			CHECK_EQ(cc_task_join(t[i % WINDOW], CC_FOREVER, &result), 0);
			s->received += (unsigned)result;
		}
		if (i < s->count) {
			struct drop *d = &drops[i % WINDOW];

			*d = (struct drop){s->ran, (unsigned)(test_random(&s->seed) % 1000000)};
			CHECK_EQ(cc_task_spawn(s->rt, &t[i % WINDOW], NULL, fall, d), 0);
			s->sent += d->value;
		}
	}
	return NULL;
}

TEST(storm_of_spawns_from_eight_threads_loses_nothing)
{
	struct storm s[THREADS];
	cc__a64 ran = {0};
	CCRuntime *rt = runtime();
	uint64_t sent = 0;

	for (unsigned i = 0; i < THREADS; i++)
		s[i] = (struct storm){rt, test_rounds(20000), test_seed() + i, .ran = &ran};
	run_threads(THREADS, storm, s, sizeof *s);
	for (unsigned i = 0; i < THREADS; i++) {
		CHECK_EQ(s[i].sent, s[i].received);
		sent += s[i].sent;
	}
	CHECK_EQ(cc__load(&ran, CC__RELAXED), sent);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- detach against the end ---- */

struct crowd {
	CCRuntime *rt;
	unsigned count;
	cc__a64 *ran;
	uint64_t seed;
};

static int add_one(void *arg)
{
	cc__add((cc__a64 *)arg, 1, CC__RELAXED);
	return 0;
}

static void *spawn_and_detach(void *arg)
{
	struct crowd *c = arg;

	for (unsigned i = 0; i < c->count; i++) {
		CCTask t;

		CHECK_EQ(cc_task_spawn(c->rt, &t, NULL, add_one, c->ran), 0);
		CHECK_EQ(cc_task_detach(t), 0);
	}
	return NULL;
}

static int count_fiber(const CCFiberInfo *info, void *arg)
{
	(void)info;
	++*(unsigned *)arg;
	return 0;
}

TEST(detach_against_the_end_leaves_nothing_behind)
{
	struct crowd c[4];
	cc__a64 ran = {0};
	CCRuntime *rt = runtime();
	unsigned left = 0;

	for (unsigned i = 0; i < 4; i++)
		c[i] = (struct crowd){rt, test_rounds(20000), &ran, 0};
	run_threads(4, spawn_and_detach, c, sizeof *c);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 4 * c[0].count);
	cc_fiber_each(count_fiber, &left);
	CHECK_EQ(left, 0);
}

/* ---- join against the end ---- */

struct duel {
	CCRuntime *rt;
	unsigned rounds;
	pthread_barrier_t *barrier;
	CCTask *task;	/* written by the first between barriers */
	cc__a32 *wins;
	bool first;
};

static int forty_two(void *arg)
{
	(void)arg;
	return 42;
}

static void *duel(void *arg)
{
	struct duel *d = arg;

	for (unsigned i = 0; i < d->rounds; i++) {
		int result = -1, err;

		if (d->first)
			CHECK_EQ(cc_task_spawn(d->rt, d->task, NULL, forty_two, NULL), 0);
		pthread_barrier_wait(d->barrier);
		err = cc_task_join(*d->task, CC_FOREVER, &result);
		CHECK(err == 0 || err == EINVAL);
		CHECK_EQ(result, err == 0 ? 42 : -1);
		cc__add(d->wins, err == 0, CC__RELAXED);
		pthread_barrier_wait(d->barrier);
		if (d->first)
			CHECK(cc__xchg(d->wins, 0, CC__RELAXED) >= 1);
	}
	return NULL;
}

TEST(join_by_two_against_the_end_gives_the_result_to_one_at_least)
{
	CCRuntime *rt = runtime();
	pthread_barrier_t barrier;
	cc__a32 wins = {0};
	CCTask task;
	struct duel d[2];

	pthread_barrier_init(&barrier, NULL, 2);
	for (unsigned i = 0; i < 2; i++)
		d[i] = (struct duel){rt, test_rounds(5000), &barrier, &task, &wins, i == 0};
	run_threads(2, duel, d, sizeof *d);
	pthread_barrier_destroy(&barrier);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int spin_a_little(void *arg)
{
	for (unsigned n = *(unsigned *)arg; n > 0; n--)
		cc__relax();
	return 42;
}

static void *join_on_the_stroke(void *arg)
{
	struct crowd *c = arg;

	for (unsigned i = 0; i < c->count && test_has_time(); i++) {
		unsigned spin = (unsigned)(test_random(&c->seed) % 2000);
		cc_time deadline = cc_now() + (cc_time)(test_random(&c->seed) % 100) * CC_USEC;
		int result = -1, err;
		CCTask t;

		CHECK_EQ(cc_task_spawn(c->rt, &t, NULL, spin_a_little, &spin), 0);
		while ((err = cc_task_join(t, deadline, &result)) == ETIMEDOUT) {
			CHECK_EQ(result, -1);
			deadline = cc_now() + (cc_time)(test_random(&c->seed) % 20) * CC_USEC;
		}
		CHECK_EQ(err, 0);
		CHECK_EQ(result, 42);
		CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), EINVAL);
	}
	return NULL;
}

static int join_on_the_stroke_in_fiber(void *arg)
{
	join_on_the_stroke(arg);
	return 0;
}

TEST(join_whose_deadline_meets_the_end_gives_the_result_once)
{
	CCRuntime *rt = runtime(), *other = runtime();
	struct crowd c[3];
	CCTask t;

	for (unsigned i = 0; i < 3; i++)
		c[i] = (struct crowd){rt, test_rounds(5000), NULL, test_seed() + i};
	/* One joiner a fiber of another runtime, two of them threads. */
	CHECK_EQ(cc_task_spawn(other, &t, NULL, join_on_the_stroke_in_fiber, &c[2]), 0);
	run_threads(2, join_on_the_stroke, c, sizeof *c);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_runtime_free(other), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* More joiners than one batch of wakes, some of them with a deadline that
 * passes while the task ends: who is told that time is up finds the handle
 * good or the result gone to others, and nobody a wrong result. */

enum { MANY = 40 };

struct flock {
	CCTask task;
	cc_time deadline;
	int err, result;
};

static int flock_join(void *arg)
{
	struct flock *f = arg;

	f->err = cc_task_join(f->task, f->deadline, &f->result);
	return 0;
}

struct end_at {
	cc_time when;
};

static int end_at(void *arg)
{
	struct end_at *e = arg;

	/* In place of a sleep: the worker must not be busy with a timer. */
	while (cc_now() < e->when)
		cc_yield();
	return 42;
}

TEST(join_by_many_whose_deadlines_meet_the_end)
{
	CCRuntime *rt = runtime(), *joiners = runtime();

	for (unsigned round = 0; round < test_rounds(300); round++) {
		struct end_at e = {cc_now() + 300 * CC_USEC};
		struct flock f[MANY];
		CCTask task, t[MANY];
		unsigned told = 0;

		CHECK_EQ(cc_task_spawn(rt, &task, NULL, end_at, &e), 0);
		for (int i = 0; i < MANY; i++) {
			f[i] = (struct flock){task, e.when + i * CC_USEC, -1, -1};
			CHECK_EQ(cc_task_spawn(joiners, &t[i], NULL, flock_join, &f[i]), 0);
		}
		for (int i = 0; i < MANY; i++)
			CHECK_EQ(cc_task_join(t[i], CC_FOREVER, NULL), 0);
		for (int i = 0; i < MANY; i++) {
			CHECK(f[i].err == 0 || f[i].err == ETIMEDOUT || f[i].err == EINVAL);
			CHECK_EQ(f[i].result, f[i].err == 0 ? 42 : -1);
			told += f[i].err == 0;
		}
		if (told == 0) {
			int result = -1;

			CHECK_EQ(cc_task_join(task, CC_FOREVER, &result), 0);
			CHECK_EQ(result, 42);
		}
		CHECK_EQ(cc_task_join(task, CC_FOREVER, NULL), EINVAL);
	}
	CHECK_EQ(cc_runtime_free(joiners), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- stale handles ---- */

struct lookout {
	CC__ATOMIC(void *) frame;
	cc__a64 id;
	cc__a32 stop;
	unsigned tries, hits;
};

static void *try_stale_handles(void *arg)
{
	struct lookout *l = arg;

	while (cc__load(&l->stop, CC__ACQUIRE) == 0) {
		CCTask t = {cc__load(&l->frame, CC__ACQUIRE), cc__load(&l->id, CC__RELAXED)};

		/* Frame and id may be of two tasks, or of one long gone. */
		l->hits += cc_task_join(t, CC_NOW, NULL) != EINVAL;
		l->tries++;
	}
	return NULL;
}

static int churn(void *arg)
{
	struct lookout *l = arg;

	for (unsigned i = 0; i < test_rounds(100000); i++) {
		CCTask t;
		int result;

		CHECK_EQ(cc_task_spawn(NULL, &t, NULL, forty_two, NULL), 0);
		CHECK_EQ(cc_task_join(t, CC_FOREVER, &result), 0);
		CHECK_EQ(result, 42);
		cc__store(&l->frame, t.frame, CC__RELAXED);
		cc__store(&l->id, t.id, CC__RELEASE);
	}
	return 0;
}

TEST(stale_handles_never_reach_the_task_that_has_the_frame)
{
	struct lookout l = {.tries = 0};
	CCRuntime *rt = runtime();
	pthread_t t;
	CCTask task;

	REQUIRE_EQ(pthread_create(&t, NULL, try_stale_handles, &l), 0);
	CHECK_EQ(cc_task_spawn(rt, &task, NULL, churn, &l), 0);
	CHECK_EQ(cc_task_join(task, CC_FOREVER, NULL), 0);
	cc__store(&l.stop, 1, CC__RELEASE);
	pthread_join(t, NULL);
	CHECK_EQ(l.hits, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- two runtimes ---- */

struct mutual {
	CCRuntime *other;
	int depth;
};

static int back_and_forth(void *arg)
{
	struct mutual *m = arg;
	struct mutual next = {cc_runtime_current(), m->depth - 1};
	CCTask t;
	int result = -1;

	if (m->depth == 0)
		return 0;
	CHECK_EQ(cc_task_spawn(m->other, &t, NULL, back_and_forth, &next), 0);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, &result), 0);
	return result + 1;
}

TEST(joins_between_two_runtimes_wake_both_ways)
{
	CCRuntime *a = runtime(), *b = runtime();
	struct mutual m = {b, (int)test_rounds(3000)};
	int result;
	CCTask t;

	CHECK_EQ(cc_task_spawn(a, &t, NULL, back_and_forth, &m), 0);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, &result), 0);
	CHECK_EQ(result, m.depth);
	CHECK_EQ(cc_runtime_free(a), 0);
	CHECK_EQ(cc_runtime_free(b), 0);
}
