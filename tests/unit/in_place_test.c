/* in_place_test.c - a joiner that runs the task it waits for on its own stack, and children
 * that run on the stack of the one before: all behave as if they were apart. */
#include "environment.h"
#include "test.h"

#include <errno.h>
#include <fenv.h>
#include <string.h>

#include "sched/worker.h"
#include "tasks.h"

static CCRuntime *one_worker(void)
{
	CCConfig c;
	CCRuntime *rt;

	CHECK_EQ(cc_config_init(&c), 0);
	only_workers(&c, 1);
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

/* Run main(arg) as a task of a runtime with one worker. */
static int run_alone(cc_task_main *main, void *arg)
{
	CCRuntime *rt = one_worker();
	const int result = join(spawn(rt, main, arg));

	CHECK_EQ(cc_runtime_free(rt), 0);
	return result;
}

static size_t distance(const char *a, const char *b)
{
	return a > b ? (size_t)(a - b) : (size_t)(b - a);
}

struct child {
	uint64_t id;
	char *at;		/* on its stack */
	int rounding;
};

static int look_around(void *arg)
{
	struct child *c = arg;
	char here;

	c->at = &here;
	c->id = cc_fiber_id();
	c->rounding = fegetround();
	fesetround(FE_DOWNWARD);
	return 17;
}

static int join_one(void *arg)
{
	struct child c = {0};
	const uint64_t id = cc_fiber_id();
	CCTask t;
	char here;

	(void)arg;
	fesetround(FE_UPWARD);
	t = spawn(NULL, look_around, &c);
	CHECK_EQ(join(t), 17);
	CHECK_EQ(c.id, t.id);
	CHECK_EQ(cc_fiber_id(), id);
	CHECK_EQ(c.rounding, FE_TONEAREST);
	CHECK_EQ(fegetround(), FE_UPWARD);
	CHECK(distance(c.at, &here) < 16384);	/* or nothing was tested here */
	CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), EINVAL);
	return 0;
}

TEST(task_in_place_has_an_id_and_control_words_of_its_own)
{
	CHECK_EQ(run_alone(join_one, NULL), 0);
}

static int sleep_and_yield(void *arg)
{
	const uint64_t id = cc_fiber_id();

	for (int i = 0; i < 10; i++) {
		cc_yield();
		CHECK_EQ(cc_sleep_until(cc_now() + 100 * CC_USEC), 0);
		CHECK_EQ(cc_fiber_id(), id);
	}
	return *(int *)arg;
}

static int join_sleepers(void *arg)
{
	int number[4] = {1, 2, 3, 4};
	CCTask t[4];
	const uint64_t id = cc_fiber_id();

	(void)arg;
	for (int i = 0; i < 4; i++)
		t[i] = spawn(NULL, sleep_and_yield, &number[i]);
	for (int i = 0; i < 4; i++)	/* the oldest first: from below the newer ones */
		CHECK_EQ(join(t[i]), i + 1);
	CHECK_EQ(cc_fiber_id(), id);
	return 0;
}

TEST(task_in_place_may_wait)
{
	CHECK_EQ(run_alone(join_sleepers, NULL), 0);
}

TEST(task_in_place_may_move_to_another_worker_and_takes_its_joiner_along)
{
	CCTask t[8];

	for (int i = 0; i < 8; i++)
		t[i] = spawn(NULL, join_sleepers, NULL);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(join(t[i]), 0);
	CHECK_EQ(cc_shutdown(), 0);
}

static int nest(void *arg)
{
	const int depth = *(int *)arg - 1;
	int below = depth;
	char room[200];

	memset(room, depth & 127, sizeof room);
	if (depth > 0 && join(spawn(NULL, nest, &below)) != depth)
		return -1;
	return room[depth % 200] == (depth & 127) ? depth + 1 : -1;
}

TEST(tasks_in_place_leave_half_of_a_stack)
{
	int depth = 20000 / (int)test_slowness();

	CHECK_EQ(run_alone(nest, &depth), depth);
}

struct family {
	struct cc__waitq q;
	CCTask parent, other;
	int result;
};

static int join_other(void *arg)
{
	struct family *f = arg;

	return cc_task_join(f->other, CC_FOREVER, &f->result);
}

static int two_joiners(void *arg)
{
	struct family f = {.result = -1};
	int number = 5, result;

	(void)arg;
	f.other = spawn(NULL, sleep_and_yield, &number);
	f.parent = spawn(NULL, join_other, &f);
	CHECK_EQ(cc_task_join(f.other, CC_FOREVER, &result), 0);	/* in place: the other waits */
	CHECK_EQ(result, 5);
	result = join(f.parent);
	CHECK(result == 0 ? f.result == 5 : result == EINVAL);	/* it may have come too late */
	return 0;
}

TEST(others_may_join_a_task_in_place)
{
	for (int i = 0; i < 20; i++)
		CHECK_EQ(run_alone(two_joiners, NULL), 0);
}

static int detach_it(void *arg)
{
	struct family *f = arg;

	return cc_task_detach(f->other);
}

static int detached_while_in_place(void *arg)
{
	struct family f = {.result = -1};
	int number = 5, result;
	CCTask t;

	(void)arg;
	f.other = spawn(NULL, sleep_and_yield, &number);
	t = spawn(NULL, detach_it, &f);
	result = cc_task_join(f.other, CC_FOREVER, &f.result);
	CHECK(result == 0 ? f.result == 5 : result == EINVAL);
	result = join(t);
	CHECK(result == 0 || result == EINVAL);
	return 0;
}

TEST(task_in_place_may_be_detached)
{
	for (int i = 0; i < 20; i++)
		CHECK_EQ(run_alone(detached_while_in_place, NULL), 0);
}

static int join_as_pinned(void *arg)
{
	struct child c = {0};
	CCTask pinned;
	char here;

	(void)arg;
	CHECK_EQ(join(spawn(NULL, look_around, &c)), 17);
	CHECK(distance(c.at, &here) > 16384);	/* this one stays: it is not moved along */
	CHECK_EQ(cc_task_spawn(NULL, &pinned, &(CCTaskOptions){.migration = CC_MIGRATE_PINNED},
	                       look_around, &c), 0);
	CHECK_EQ(join(pinned), 17);
	return 0;
}

TEST(who_stays_with_a_worker_gives_no_place)
{
	CCRuntime *rt = one_worker();
	CCTask t;

	CHECK_EQ(cc_task_spawn(rt, &t, &(CCTaskOptions){.migration = CC_MIGRATE_PINNED},
	                       join_as_pinned, NULL), 0);
	CHECK_EQ(join(t), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- one child after another ---- */

enum { CROWD = 200 };

struct crowd {
	CCLocal key;
	struct child child[CROWD];
	cc__a32 begun, forgotten;
};

static struct crowd *crowd;

static void forget(void *value)
{
	(void)value;
	cc__add(&crowd->forgotten, 1, CC__RELAXED);
}

static int be_one_of_many(void *arg)
{
	struct child *c = arg;

	CHECK(cc_local_get(crowd->key) == NULL);
	CHECK_EQ(cc_local_set(crowd->key, c), 0);
	CHECK_EQ(look_around(c), 17);
	if (cc__add(&crowd->begun, 1, CC__RELAXED) % 16 == 7) {
		cc_yield();	/* others begin, on a stack of their own, and end */
		CHECK_EQ(cc_sleep_until(cc_now() + CC_USEC), 0);
	}
	CHECK_EQ(cc_fiber_id(), c->id);
	CHECK(cc_local_get(crowd->key) == c);
	CHECK_EQ(fegetround(), FE_DOWNWARD);
	return 0;
}

/* From outside of the runtime, so that none runs on its joiner's stack. */
TEST(children_that_follow_each_other_on_a_stack_are_themselves)
{
	struct crowd here = {0};
	CCRuntime *rt = one_worker();
	const CCNurseryOptions o = {.runtime = rt};
	int err = -1, close = 0;

	crowd = &here;
	CHECK_EQ(cc_local_new(&here.key, forget), 0);
	cc_nursery_scope_with(n, &err, &o)
		for (int i = 0; i < CROWD; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, be_one_of_many, &here.child[i]), 0);
	CHECK_EQ(err, 0);
	CHECK_EQ(cc__load(&here.forgotten, CC__RELAXED), CROWD);
	for (int i = 0; i < CROWD; i++) {
		CHECK_EQ(here.child[i].rounding, FE_TONEAREST);
		for (int j = 0; j < i; j++)
			CHECK(here.child[i].id != here.child[j].id);
		close += i > 0 && distance(here.child[i].at, here.child[i - 1].at) < 16384;
	}
	CHECK(close > 0);	/* or nothing was tested here */
	CHECK_EQ(cc_local_delete(here.key), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* One that fails in the middle is noted, and the count is right whoever counts. */
static int fail_at_times(void *arg)
{
	const uint32_t i = cc__add((cc__a32 *)arg, 1, CC__RELAXED);

	if (i % 10 == 3)
		cc_yield();
	return i == 50 ? EIO : 0;
}

TEST(child_that_fails_among_those_that_follow_each_other_is_heard)
{
	CCRuntime *rt = one_worker();
	const CCNurseryOptions o = {.runtime = rt, .policy = CC_NURSERY_SUPERVISE};

	for (int round = 0; round < 20; round++) {
		cc__a32 ran = {0};
		int err = -1;

		cc_nursery_scope_with(n, &err, &o)
			for (int i = 0; i < CROWD; i++)
				CHECK_EQ(cc_nursery_spawn(n, NULL, fail_at_times, &ran), 0);
		CHECK_EQ(err, EIO);
		CHECK_EQ(cc__load(&ran, CC__RELAXED), CROWD);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}
