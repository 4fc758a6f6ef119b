/* cancelled_test.c - cc_yield tells a caller that it is cancelled, and a task that ended because
 * it was cancelled is visible as such: in cc_fiber_each, in statistics and in the event log. */
#include <sys/wait.h>
#include <unistd.h>

#include "nurseries.h"
#include "os/fork.h"
#include "environment.h"

/* ---- what a yield returns ---- */

struct loop {
	struct gate gate;
	cc__a32 ended;
};

/* Computes until it is told. */
static int yield_until_told(void *arg)
{
	struct loop *l = arg;
	int err;

	cc__add(&l->gate.arrived, 1, CC__RELEASE);
	while ((err = cc_yield()) == 0)
		continue;
	CHECK_EQ(err, ECANCELED);
	CHECK_EQ(cc_yield(), ECANCELED);	/* each time */
	cc__add(&l->ended, 1, CC__RELAXED);
	return err;
}

enum { LOOPS = 3 };	/* more than one, so that they take turns */

static int cancel_loops(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct loop l = {.ended = {0}};
	int err = 0;

	cc_nursery_scope_with(n, &err, &o) {
		for (int i = 0; i < LOOPS; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, yield_until_told, &l), 0);
		while (cc__load(&l.gate.arrived, CC__ACQUIRE) < LOOPS)
			CHECK_EQ(cc_yield(), 0);
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		CHECK_EQ(cc_yield(), ECANCELED);	/* its owner as well */
	}
	CHECK_EQ(err, ECANCELED);
	CHECK_EQ(cc__load(&l.ended, CC__RELAXED), LOOPS);
	CHECK_EQ(cc_yield(), 0);
	return 0;
}

TEST(yield_tells_of_a_cancelled_nursery)	/* covers: RES-74/u, LIF-09/u */
{
	for_fiber_and_thread(cancel_loops);
}

static int let_a_deadline_pass(void *rt)
{
	CCNurseryOptions o = in(rt);
	struct loop l = {.ended = {0}};
	int err = 0;

	o.deadline = cc_after(5 * CC_MSEC);
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(yield_until_told(&l), ECANCELED);
		CHECK_EQ(cc_cancel_reason(), ETIMEDOUT);
	}
	CHECK_EQ(cc_yield(), 0);
	return 0;
}

TEST(yield_tells_of_a_deadline)
{
	for_fiber_and_thread(let_a_deadline_pass);
}

/* What surrounds a cancelled nursery, and what is shielded inside of it, is not cancelled. */
static int around_and_shielded(void *rt)
{
	const CCNurseryOptions o = in(rt), shielded = {.runtime = rt, .shield = 1};
	int outer = -1, middle = -1, inner = -1;

	cc_nursery_scope_with(a, &outer, &o) {
		cc_nursery_scope_with(b, &middle, &o) {
			CHECK_EQ(cc_nursery_cancel(b, 0), 0);
			cc_nursery_scope_with(c, &inner, &shielded)
				CHECK_EQ(cc_yield(), 0);
			CHECK_EQ(cc_yield(), ECANCELED);
		}
		CHECK_EQ(cc_yield(), 0);
	}
	CHECK_EQ(outer, 0);
	CHECK_EQ(inner, 0);
	return 0;
}

TEST(yield_tells_nothing_outside_of_what_was_cancelled)
{
	for_fiber_and_thread(around_and_shielded);
}

/* Outside of any nursery the end of the runtime is what cancels. */
TEST(yield_tells_of_the_runtimes_end)	/* covers: RES-74/u */
{
	CCConfig c = config();
	struct loop l = {.ended = {0}};
	CCRuntime *rt;

	c.shutdown_timeout = CC_MSEC;
	rt = runtime_with(&c);
	for (int i = 0; i < LOOPS; i++)
		CHECK_EQ(cc_task_detach(spawn(rt, yield_until_told, &l)), 0);
	TEST_UNTIL(cc__load(&l.gate.arrived, CC__ACQUIRE) == LOOPS);
	free_until_done(rt);
	CHECK_EQ(cc__load(&l.ended, CC__RELAXED), LOOPS);
	CHECK(cc__fork_ordinary());
}

/* ---- what it costs ---- */

struct cancelling {
	CCNursery *nursery;
	struct gate gate;
};

static int cancel_twice(void *arg)
{
	struct cancelling *c = arg;

	wait_at(&c->gate);
	CHECK_EQ(cc_nursery_cancel(c->nursery, 0), 0);
	CHECK_EQ(cc_nursery_cancel(c->nursery, EIO), 0);
	return 0;
}

/* While a cancelled scope is open yields take the long way, and not for longer. */
static int count_cancelled(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct cancelling c = {.gate = {{0}, {0}}};
	int outer = 0, inner = 0;

	CHECK(cc__fork_ordinary());
	cc_nursery_scope_with(a, &outer, &o) {
		c.nursery = a;
		cc_nursery_scope_with(b, &inner, &o) {
			for (int i = 0; i < 4; i++)
				CHECK_EQ(cc_nursery_spawn(a, NULL, cancel_twice, &c), 0);
			cc__store(&c.gate.open, 1, CC__RELEASE);
			while (cc_yield() == 0)
				continue;
			CHECK(!cc__fork_ordinary());
		}
		CHECK(!cc__fork_ordinary());
	}
	CHECK(cc__fork_ordinary());
	return 0;
}

TEST(scopes_are_counted_as_cancelled_until_they_close)
{
	for_fiber_and_thread(count_cancelled);
}

static int fork_here(void *rt)
{
	const CCNurseryOptions o = in(rt);
	int err = 0, status = -1;

	cc_nursery_scope_with(n, &err, &o) {
		pid_t child;

		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		if ((child = fork()) == 0)
			_exit(cc_yield());
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
		CHECK_EQ(cc_yield(), ECANCELED);
	}
	return 0;
}

/* There a yield is one of the thread. */
TEST(yield_in_a_forked_child_tells_nothing)
{
	for_fiber_and_thread(fork_here);
}

/* ---- tasks that were cancelled ---- */

struct view {
	uint64_t id;
	CCFiberInfo info;
};

static int look_for(const CCFiberInfo *info, void *arg)
{
	struct view *v = arg;

	if (info->id == v->id)
		v->info = *info;
	return 0;
}

static CCFiberInfo info_of(CCTask t)
{
	struct view v = {.id = t.id};

	CHECK_EQ(cc_fiber_each(look_for, &v), 0);
	return v.info;
}

static int end_with(void *arg)
{
	return (int)(intptr_t)arg;
}

static CCTask child_with_handle(CCNursery *n, cc_task_main *main, void *arg)
{
	CCTask t = {0};

	CHECK_EQ(cc_nursery_spawn_task(n, &t, NULL, main, arg), 0);
	return t;
}

static bool is_done(CCTask t)
{
	return info_of(t).state == CC_FIBER_DONE;
}

TEST(cancelled_is_visible_in_a_task_that_is_done)	/* covers: RES-74/u, LIF-14/u, LIF-77/u */
{
	CCRuntime *rt = test_runtime();
	const CCNurseryOptions o = {.runtime = rt, .policy = CC_NURSERY_SUPERVISE};
	struct quiet q = quiet_new();
	CCTask cancelled, failed, good;
	int err = -1, result = -1;
	CCStats s;

	cc_nursery_scope_with(n, &err, &o) {
		failed = child_with_handle(n, end_with, (void *)(intptr_t)EIO);
		good = child_with_handle(n, end_with, NULL);
		cancelled = child_with_handle(n, receive, &q);
		TEST_UNTIL(cc__load(&q.waiting, CC__ACQUIRE) == 1);
		CHECK_EQ(info_of(cancelled).cancelled, 0);
		TEST_UNTIL(is_done(failed) && is_done(good));
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		TEST_UNTIL(is_done(cancelled) && info_of(cancelled).cancelled);
		CHECK_EQ(info_of(failed).cancelled, 0);
		CHECK_EQ(info_of(good).cancelled, 0);
		CHECK_EQ(cc_stats(rt, &s), 0);
		CHECK_EQ(s.tasks_cancelled, 1);
		CHECK_EQ(cc_task_join(cancelled, CC_NOW, &result), 0);
		CHECK_EQ(result, ECANCELED);
	}
	CHECK_EQ(err, EIO);
	cc_chan_free(q.chan);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
