/* should_yield_test.c - a loop that computes learns when it should let others run, and who it is. */
#include "nurseries.h"

/* ---- who am I ---- */

static int tell_self(void *arg)
{
	*(CCTask *)arg = cc_self();
	CHECK_EQ(cc_self().id, cc_fiber_id());
	cc_yield();
	CHECK_EQ(cc_self().id, cc_fiber_id());
	CHECK_EQ(cc_task_join(cc_self(), CC_FOREVER, NULL), EDEADLK);
	return 0;
}

TEST(self_is_the_handle_that_spawn_gave)
{
	CCRuntime *rt = test_runtime();
	CCTask self = {0}, task = spawn(rt, tell_self, &self);

	CHECK_EQ(join(task), 0);
	CHECK(self.frame == task.frame && self.id == task.id);
	CHECK(cc_self().frame == NULL && cc_self().id == 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- should it yield ---- */

static CCRuntime *one_worker(int sysmon)
{
	CCRuntime *rt = NULL;
	CCConfig c = config();

	only_workers(&c, 1);
	c.sysmon = sysmon;
	c.scale_interval = CC_MSEC;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

/* It computes, alone, until somebody is there. */
static int compute_until_it_should(void *arg)
{
	cc__a32 *ran = arg;

	/* Whoever it should let run does then, unless the monitor has him in hand, on the
	 * way to the global queue. */
	do {
		while (cc_should_yield() == 0)
			CHECK_EQ(cc__load(ran, CC__RELAXED), 0);
		cc_yield();
	} while (cc__load(ran, CC__RELAXED) == 0);
	return 0;
}

static int spawn_beside(void *arg)
{
	CHECK_EQ(cc_task_spawn(cc_runtime_current(), NULL, NULL, count, arg), 0);
	return compute_until_it_should(arg);
}

TEST(should_yield_when_others_have_waited_for_a_slice)
{
	for (int sysmon = 0; sysmon < 2; sysmon++) {
		CCRuntime *rt = one_worker(sysmon);
		cc__a32 ran = {0};

		CHECK_EQ(join(spawn(rt, spawn_beside, &ran)), 0);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

/* For many slices. */
static int compute_alone(void *arg)
{
	const cc_time until = cc_now() + 20 * CC_MSEC;

	(void)arg;
	while (cc_now() < until)
		CHECK_EQ(cc_should_yield(), 0);
	return 0;
}

TEST(should_not_yield_to_nobody)
{
	for (int sysmon = 0; sysmon < 2; sysmon++) {
		CCRuntime *rt = one_worker(sysmon);

		CHECK_EQ(join(spawn(rt, compute_alone, NULL)), 0);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

static int until_told(void *arg)
{
	struct gate *g = arg;

	cc__store(&g->arrived, 1, CC__RELEASE);
	while (cc_should_yield() == 0 || cc_cancel_reason() == 0)
		cc_yield();
	return cc_cancel_reason();
}

static int cancelled(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct gate g = {0};
	int err = -1;

	CHECK_EQ(cc_should_yield(), 0);
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, until_told, &g), 0);
		while (cc__load(&g.arrived, CC__ACQUIRE) == 0)
			cc_yield();
		CHECK_EQ(cc_nursery_cancel(n, EIO), 0);
		CHECK_EQ(cc_should_yield(), 1);
	}
	CHECK_EQ(err, EIO);
	return 0;
}

TEST(should_yield_when_it_is_cancelled)
{
	for_fiber_and_thread(cancelled);
}
