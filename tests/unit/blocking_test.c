/* blocking_test.c - cc_blocking and the pool behind it.
 *
 * link-wrap: pthread_create pthread_join */
#include "sleepers.h"
#include "tasks.h"
#include "test.h"

#include <ccc/ccc.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/blocking.h"
#include "sched/sched.h"

/* ---- threads started and joined; or they do not start ---- */

static cc__a32 no_threads;	/* not 0: pthread_create fails */
static cc__a32 refused, started, joined;

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*main)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*main)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*main)(void *), void *arg)
{
	if (cc__load(&no_threads, CC__ACQUIRE) != 0) {
		cc__add(&refused, 1, CC__RELAXED);
		return EAGAIN;
	}
	cc__add(&started, 1, CC__RELAXED);
	return __real_pthread_create(t, a, main, arg);
}

int __real_pthread_join(pthread_t t, void **result);
int __wrap_pthread_join(pthread_t t, void **result);
int __wrap_pthread_join(pthread_t t, void **result)
{
	cc__add(&joined, 1, CC__RELAXED);
	return __real_pthread_join(t, result);
}

/* Threads that were started and not joined. */
static unsigned unjoined(void)
{
	return cc__load(&started, CC__RELAXED) - cc__load(&joined, CC__RELAXED);
}

/* ---- helpers ---- */

#define HOUR (3600 * CC_SEC)
#define PAUSE (20 * CC_MSEC)

enum { MANY = 200, MANY_IDLE = 2 * CC__BATCH_MAX + 8 };

/* One call to a pool of the test's own, made by a fiber. */
struct call {
	struct cc__blocking *pool;
	int (*fn)(void *arg);
	void *arg;
};

static int call_main(void *arg)
{
	struct call *c = arg;
	int result = -1;

	CHECK_EQ(cc__blocking_run(c->pool, c->fn, c->arg, &result), 0);
	return result;
}

static CCTask call(CCRuntime *rt, struct call *c)
{
	return spawn(rt, call_main, c);
}

struct numbers {
	unsigned live, waiting, looking, started;
};

static struct numbers look_at(struct cc__blocking *p)
{
	struct numbers n;

	cc__lock(&p->idle.lock, CC__RANK_WAITQ);
	n = (struct numbers){.live = p->live,
	                     .waiting = cc__load(&p->waiting, CC__RELAXED),
	                     .looking = p->looking,
	                     .started = p->started};
	cc__unlock(&p->idle.lock);
	return n;
}

/* How many threads of this process bear a name that begins so. */
static unsigned threads_named(const char *begin)
{
	DIR *d = opendir("/proc/self/task");
	unsigned n = 0;

	if (d == NULL)
		return 0;
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		char path[300], name[32] = "";
		FILE *f;

		snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
		if ((f = fopen(path, "r")) == NULL)
			continue;
		if (fgets(name, sizeof name, f) != NULL)
			n += strncmp(name, begin, strlen(begin)) == 0;
		fclose(f);
	}
	closedir(d);
	return n;
}

/* Who is joined may be seen for a moment longer. */
static void no_thread_is_left(void)
{
	TEST_UNTIL(threads_named("cc-block-") == 0);
}

/* A runtime, and a pool of the test's own beside it. */
struct place {
	CCRuntime *rt;
	struct cc__blocking pool;
};

static void place_begin(struct place *p, unsigned most, cc_time idle_time)
{
	p->rt = test_runtime();
	cc__blocking_init(&p->pool, most, idle_time, CC__BLOCKING_WATCH);
}

static void place_end(struct place *p)
{
	CHECK_EQ(cc_runtime_free(p->rt), 0);
	cc__blocking_fini(&p->pool);
	no_thread_is_left();
}

static int give(void *arg)
{
	return *(int *)arg;
}

/* Blocks its thread until the gate opens. */
static int block_at(void *arg)
{
	struct gate *g = arg;

	cc__add(&g->arrived, 1, CC__RELEASE);
	TEST_UNTIL((usleep(100), cc__load(&g->open, CC__ACQUIRE) != 0));
	return 0;
}

static void gate_open(struct gate *g)
{
	cc__store(&g->open, 1, CC__RELEASE);
}

static void until_arrived(struct gate *g, unsigned n)
{
	TEST_UNTIL(cc__load(&g->arrived, CC__ACQUIRE) == n);
}

/* ---- the call ---- */

static int call_give(void *arg)
{
	int result = 0;

	CHECK_EQ(cc_blocking(give, arg, &result), 0);
	CHECK_EQ(cc_blocking(give, arg, NULL), 0);
	return result;
}

TEST(blocking_hands_the_result_back)
{
	CCRuntime *rt = test_runtime();
	int seven = 7;

	CHECK_EQ(join(spawn(rt, call_give, &seven)), 7);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

struct seen {
	uint64_t fiber;
	pthread_t thread;
	char name[16];
};

static int see(void *arg)
{
	struct seen *s = arg;

	s->fiber = cc_fiber_id();
	s->thread = pthread_self();
	pthread_getname_np(s->thread, s->name, sizeof s->name);
	return 0;
}

/* ---- calls in a row ---- */

enum { IN_A_ROW = 100 };

/* How many of the calls run on another thread than the one before. */
static int count_changes(void *arg)
{
	struct cc__blocking *p = arg;
	struct seen first, next;
	int changes = 0;

	CHECK_EQ(cc__blocking_run(p, see, &first, NULL), 0);
	for (int i = 0; i < IN_A_ROW; i++) {
		CHECK_EQ(cc__blocking_run(p, see, &next, NULL), 0);
		changes += !pthread_equal(first.thread, next.thread);
		first = next;
	}
	return changes;
}

/* The fiber may be quicker than the thread that has just run its call: the next one is left to
 * that thread, though another one is idle. */
static void check_in_a_row(unsigned watch)
{
	struct gate g = {0};
	struct place p;
	struct call c = {&p.pool, block_at, &g};
	CCTask t[2];

	place_begin(&p, 2, CC_FOREVER);
	p.pool.watch = watch;
	for (unsigned i = 0; i < 2; i++)
		t[i] = call(p.rt, &c);
	until_arrived(&g, 2);
	gate_open(&g);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(join(t[i]), 0);
	TEST_UNTIL(look_at(&p.pool).looking == 0);
	CHECK_EQ(look_at(&p.pool).live, 2);
	CHECK_EQ(join(spawn(p.rt, count_changes, &p.pool)), 0);
	place_end(&p);
}

TEST(blocking_calls_in_a_row_run_on_one_thread)
{
	check_in_a_row(CC__BLOCKING_WATCH);
	check_in_a_row(0);
}

static int call_see(void *arg)
{
	const uint64_t me = cc_fiber_id();

	CHECK_EQ(cc_blocking(see, arg, NULL), 0);
	CHECK_EQ(cc_fiber_id(), me);
	CHECK(!pthread_equal(((struct seen *)arg)->thread, pthread_self()));
	return 0;
}

TEST(blocking_runs_on_a_thread_of_the_pool)
{
	CCRuntime *rt = test_runtime();
	struct seen s = {.fiber = 1};

	join(spawn(rt, call_see, &s));
	CHECK_EQ(s.fiber, 0);
	CHECK_STR(s.name, "cc-block-1");
	CHECK_EQ(cc_runtime_free(rt), 0);
	no_thread_is_left();
}

TEST(blocking_in_a_thread_runs_right_there)
{
	struct seen s = {.fiber = 1};
	int seven = 7, result = 0;

	CHECK_EQ(cc_blocking(see, &s, NULL), 0);
	CHECK(s.fiber == 0 && pthread_equal(s.thread, pthread_self()));
	CHECK_EQ(cc_blocking(give, &seven, &result), 0);
	CHECK_EQ(result, 7);
}

static int call_nothing(void *arg)
{
	int result = 5;

	(void)arg;
	CHECK_EQ(cc_blocking(NULL, NULL, &result), EINVAL);
	return result;
}

TEST(blocking_without_a_function_is_refused)
{
	CCRuntime *rt = test_runtime();

	CHECK_EQ(call_nothing(NULL), 5);
	CHECK_EQ(join(spawn(rt, call_nothing, NULL)), 5);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int beat_until_blocked(void *arg)
{
	struct gate *g = arg;

	while (cc__load(&g->arrived, CC__ACQUIRE) == 0)
		cc_yield();
	for (int i = 0; i < 1000; i++)
		cc_yield();
	gate_open(g);	/* the job ends only because we run */
	return 0;
}

static int call_block(void *arg)
{
	int result = -1;

	CHECK_EQ(cc_blocking(block_at, arg, &result), 0);
	return result;
}

TEST(blocking_leaves_the_worker_to_others)
{
	CCRuntime *rt = test_runtime();
	struct gate g = {0};
	CCTask blocked = spawn(rt, call_block, &g);

	join(spawn(rt, beat_until_blocked, &g));
	CHECK_EQ(join(blocked), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- what a job may do ---- */

static int spawn_and_join(void *arg)
{
	CCRuntime *rt = arg;
	int seven = 7;

	return join(spawn(rt, give, &seven));
}

static int call_spawn(void *arg)
{
	int result = 0;

	CHECK_EQ(cc_blocking(spawn_and_join, arg, &result), 0);
	return result;
}

TEST(blocking_job_spawns_and_joins)
{
	CCRuntime *rt = test_runtime();

	CHECK_EQ(join(spawn(rt, call_spawn, rt)), 7);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int call_inside(void *arg)
{
	struct seen s;
	int result = 0;

	CHECK_EQ(cc_blocking(see, &s, NULL), 0);
	CHECK(pthread_equal(s.thread, pthread_self()));
	CHECK_EQ(cc_blocking(give, arg, &result), 0);
	return result;
}

static int call_nested(void *arg)
{
	int result = 0;

	CHECK_EQ(cc_blocking(call_inside, arg, &result), 0);
	return result;
}

TEST(blocking_inside_a_job_runs_right_there)
{
	CCRuntime *rt = test_runtime();
	int seven = 7;

	CHECK_EQ(join(spawn(rt, call_nested, &seven)), 7);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(blocking_is_not_ended_by_a_wake_for_no_reason)
{
	struct place p;
	struct gate g = {0};
	struct call c = {&p.pool, block_at, &g};
	struct sleeper s;

	place_begin(&p, 1, HOUR);
	for (int kind = 0; kind < KINDS; kind++) {
		g = (struct gate){0};
		sleeper_start(&s, p.rt, (enum kind)kind, call_main, &c);
		until_arrived(&g, 1);
		for (int i = 0; i < 100; i++) {
			cc__unpark(until_parked(&s));
			sched_yield();
		}
		until_parked(&s);
		gate_open(&g);
		CHECK_EQ(sleeper_join(&s), 0);
	}
	place_end(&p);
}

/* ---- how many threads ---- */

/* Eight are inside, all at once, and the others wait; then they come one by one. */
TEST(blocking_is_bounded)
{
	struct place p;
	struct gate g = {0};
	struct call c = {&p.pool, block_at, &g};
	CCTask task[MANY];

	place_begin(&p, 8, HOUR);
	for (int i = 0; i < MANY; i++)
		task[i] = call(p.rt, &c);
	until_arrived(&g, 8);
	TEST_UNTIL(look_at(&p.pool).waiting == MANY - 8);
	CHECK_EQ(cc__load(&g.arrived, CC__ACQUIRE), 8);
	CHECK_EQ(look_at(&p.pool).live, 8);
	gate_open(&g);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(join(task[i]), 0);
	CHECK_EQ(cc__load(&g.arrived, CC__ACQUIRE), MANY);
	CHECK_EQ(look_at(&p.pool).started, 8);
	place_end(&p);
}

struct line {
	int next;	/* the one thread's */
	int place[10];
};

struct ordered {
	struct line *line;
	int me;
};

static int take_place(void *arg)
{
	struct ordered *o = arg;

	o->line->place[o->line->next++] = o->me;
	return 0;
}

TEST(blocking_jobs_wait_in_their_order)
{
	struct place p;
	struct gate g = {0};
	struct call first = {&p.pool, block_at, &g}, c[10];
	struct line line = {0};
	struct ordered o[10];
	CCTask held, task[10];

	place_begin(&p, 1, HOUR);
	held = call(p.rt, &first);
	until_arrived(&g, 1);
	for (int i = 0; i < 10; i++) {
		o[i] = (struct ordered){&line, i};
		c[i] = (struct call){&p.pool, take_place, &o[i]};
		task[i] = call(p.rt, &c[i]);
		TEST_UNTIL(look_at(&p.pool).waiting == (unsigned)i + 1);
	}
	gate_open(&g);
	join(held);
	for (int i = 0; i < 10; i++) {
		join(task[i]);
		CHECK_EQ(line.place[i], i);
	}
	CHECK_EQ(look_at(&p.pool).started, 1);
	place_end(&p);
}

static int call_many_times(void *arg)
{
	struct call *c = arg;
	int sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += call_main(c);
	return sum;
}

static int call_cancelled(void *arg)
{
	const struct call *c = arg;

	CHECK_EQ(cc__blocking_run(c->pool, c->fn, c->arg, NULL), ECANCELED);
	return 0;
}

/* A job of a nursery that is cancelled while the job waits. */
static void withdraw_one(struct place *p, struct call *c)
{
	const CCNurseryOptions o = {.runtime = p->rt};
	const unsigned before = look_at(&p->pool).waiting;
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, call_cancelled, c), 0);
		TEST_UNTIL(look_at(&p->pool).waiting == before + 1);
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
	}
	CHECK_EQ(look_at(&p->pool).waiting, before);
}

static bool has_idle_thread(struct cc__blocking *p)
{
	bool idle;

	cc__lock(&p->idle.lock, CC__RANK_WAITQ);
	idle = p->idle.head != NULL;
	cc__unlock(&p->idle.lock);
	return idle;
}

/* Jobs before and behind one that is withdrawn.  False: some did not run; what they use stays. */
static bool run_around_withdrawn(unsigned before, unsigned behind)
{
	static struct gate g, count;
	static struct place p;
	static struct call held = {&p.pool, block_at, &g}, c = {&p.pool, block_at, &count};
	CCTask t[MANY];

	g = (struct gate){0};
	count = (struct gate){.open = {1}};
	place_begin(&p, 1, HOUR);
	t[0] = call(p.rt, &held);
	until_arrived(&g, 1);
	for (unsigned i = 1; i <= before + behind; i++) {
		if (i == before + 1)
			withdraw_one(&p, &c);
		t[i] = call(p.rt, &c);
		TEST_UNTIL(look_at(&p.pool).waiting == i);
	}
	if (behind == 0)
		withdraw_one(&p, &c);
	gate_open(&g);
	/* The only thread is idle once it has found no job. */
	TEST_UNTIL(has_idle_thread(&p.pool));
	if (!CHECK_EQ(cc__load(&count.arrived, CC__ACQUIRE), before + behind))
		return false;
	for (unsigned i = 0; i <= before + behind; i++)
		CHECK_EQ(join(t[i]), 0);
	place_end(&p);
	return true;
}

TEST(blocking_jobs_around_one_that_was_withdrawn_are_run)
{
	for (unsigned before = 0; before < 3; before++)
		for (unsigned behind = 0; behind < 3; behind++)
			REQUIRE(run_around_withdrawn(before, behind));
}

TEST(blocking_one_after_another_needs_one_thread)
{
	struct place p;
	int one = 1;
	struct call c = {&p.pool, give, &one};

	place_begin(&p, 8, HOUR);
	CHECK_EQ(join(spawn(p.rt, call_many_times, &c)), 1000);
	CHECK_EQ(look_at(&p.pool).started, 1);
	place_end(&p);
}

/* N threads that block at the gate at once, and are idle again. */
static void grow_to(CCRuntime *rt, struct cc__blocking *pool, unsigned n)
{
	struct gate g = {0};
	struct call c = {pool, block_at, &g};
	CCTask task[MANY_IDLE];

	for (unsigned i = 0; i < n; i++)
		task[i] = call(rt, &c);
	until_arrived(&g, n);
	CHECK_EQ(look_at(pool).live, n);
	gate_open(&g);
	for (unsigned i = 0; i < n; i++)
		join(task[i]);
}

TEST(blocking_idle_threads_end)
{
	CCRuntime *rt = test_runtime_of(1);
	const unsigned before = unjoined();
	struct cc__blocking pool;

	cc__blocking_init(&pool, 8, PAUSE, CC__BLOCKING_WATCH);
	for (int round = 0; round < 3; round++) {
		grow_to(rt, &pool, 4);
		TEST_UNTIL(look_at(&pool).live == 0);
		no_thread_is_left();
		CHECK_EQ(look_at(&pool).started, 4u * ((unsigned)round + 1));
		CHECK(unjoined() <= before + 2);	/* the last; one ended as it started */
	}
	cc__blocking_fini(&pool);
	CHECK_EQ(unjoined(), before);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* One job at a time keeps one of many threads from its end, and only that one. */
TEST(blocking_newest_idle_thread_is_used)
{
	struct place p;
	int one = 1;
	struct call c = {&p.pool, give, &one};

	place_begin(&p, 8, 10 * PAUSE);
	grow_to(p.rt, &p.pool, 4);
	while (look_at(&p.pool).live > 1) {
		join(call(p.rt, &c));
		usleep(PAUSE / CC_USEC / 4);
	}
	CHECK(look_at(&p.pool).started <= 5);	/* 4, unless we were held up */
	place_end(&p);
}

/* Threads end and jobs come at the same moments. */
TEST(blocking_jobs_meet_threads_that_end)
{
	struct place p;
	int one = 1;
	struct call c = {&p.pool, give, &one};

	place_begin(&p, 4, 20 * CC_USEC);
	for (int round = 0; round < 20 && test_has_time(); round++) {
		CCTask task[4];

		for (int i = 0; i < 4; i++)
			task[i] = spawn(p.rt, call_many_times, &c);
		for (int i = 0; i < 4; i++)
			CHECK_EQ(join(task[i]), 1000);
		CHECK(look_at(&p.pool).live <= 4);
	}
	TEST_UNTIL(look_at(&p.pool).live == 0);
	place_end(&p);
}

/* ---- the end ---- */

TEST(blocking_runtime_ends_right_after_its_jobs)
{
	int seven = 7;

	for (int i = 0; i < 100; i++) {
		CCRuntime *rt = test_runtime();

		for (int k = 0; k < 4; k++)
			CHECK_EQ(cc_task_spawn(rt, NULL, NULL, call_give, &seven), 0);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
	no_thread_is_left();
}

TEST(blocking_many_idle_threads_end_with_the_pool)
{
	struct place p;

	place_begin(&p, 64, HOUR);
	for (int i = 0; i < 3; i++)
		grow_to(p.rt, &p.pool, MANY_IDLE);
	place_end(&p);
}

/* ---- without threads ---- */

static int call_here(void *arg)
{
	struct call *c = arg;
	struct seen s;

	CHECK_EQ(cc__blocking_run(c->pool, see, &s, NULL), 0);
	CHECK(s.fiber == cc_fiber_id() && pthread_equal(s.thread, pthread_self()));
	/* Otherwise the next job would be left to a thread that never comes. */
	if (!CHECK_EQ(look_at(c->pool).looking, 0) || !CHECK_EQ(look_at(c->pool).waiting, 0))
		return -1;
	return call_main(c);
}

TEST(blocking_without_any_thread_runs_right_there)
{
	struct place p;
	int seven = 7, result;
	struct call c = {&p.pool, give, &seven};

	place_begin(&p, 8, HOUR);
	cc__store(&refused, 0, CC__RELAXED);
	cc__store(&no_threads, 1, CC__RELEASE);
	result = join(spawn(p.rt, call_here, &c));
	cc__store(&no_threads, 0, CC__RELEASE);
	REQUIRE_EQ(result, 7);
	CHECK_EQ(cc__load(&refused, CC__RELAXED), 2);
	CHECK_EQ(look_at(&p.pool).live, 0);
	CHECK_EQ(join(call(p.rt, &c)), 7);
	CHECK_EQ(look_at(&p.pool).live, 1);
	place_end(&p);
}

TEST(blocking_waits_for_the_threads_there_are)
{
	struct place p;
	struct gate g = {0};
	struct seen s = {.fiber = 1};
	struct call held = {&p.pool, block_at, &g}, c = {&p.pool, see, &s};
	CCTask first, second;

	place_begin(&p, 8, HOUR);
	first = call(p.rt, &held);
	until_arrived(&g, 1);
	cc__store(&no_threads, 1, CC__RELEASE);
	second = call(p.rt, &c);
	TEST_UNTIL(look_at(&p.pool).waiting == 1 && look_at(&p.pool).live == 1);
	gate_open(&g);
	join(first);
	join(second);
	cc__store(&no_threads, 0, CC__RELEASE);
	CHECK_EQ(s.fiber, 0);
	CHECK_STR(s.name, "cc-block-1");
	place_end(&p);
}

TEST(blocking_with_a_bound_of_none_runs_right_there)
{
	struct place p;
	int seven = 7;
	struct call c = {&p.pool, give, &seven};

	place_begin(&p, 0, HOUR);
	CHECK_EQ(join(spawn(p.rt, call_here, &c)), 7);
	place_end(&p);
}
