/* join_scope_test.c - a join inside a nursery ends when the nursery is cancelled or late, whether
 * the joined task has begun or not: the joiner is never below a task that goes on. */
#include "test.h"

#include <errno.h>

#include "workers.h"

/* Longer than any test; a joiner that is below the task gets its result instead of an error. */
#define TOO_LONG (20 * CC_SEC)

struct situation {
	CCRuntime *rt;
	CCChan *never;
	CCTask task;
	int joined, result;	/* what the join said */
	cc__a32 begun;		/* the task has */
	bool has_locals;
};

/* The task that is joined.  It is outside of any nursery, so only the end of its runtime cancels
 * it. */
static int wait_for_nothing(void *arg)
{
	struct situation *s = arg;
	int v;

	cc__store(&s->begun, 1, CC__RELEASE);
	return cc_chan_recv_until(s->never, &v, sizeof v, cc_after(TOO_LONG));
}

static void free_value(void *value)
{
	(void)value;
}

/* Joins a task that has not begun: with one worker nothing runs in between. */
static int join_unstarted(struct situation *s)
{
	CCLocal key = 0;

	if (s->has_locals) {
		CHECK_EQ(cc_local_new(&key, free_value), 0);
		CHECK_EQ(cc_local_set(key, s), 0);
	}
	s->task = spawn(s->rt, wait_for_nothing, s);
	s->joined = cc_task_join(s->task, CC_FOREVER, &s->result);
	if (s->has_locals) {
		CHECK_EQ(cc_local_set(key, NULL), 0);
		CHECK_EQ(cc_local_delete(key), 0);
	}
	return s->joined;
}

static int ask(void *arg)
{
	return join_unstarted(arg);
}

/* The same test with 1, 2 and 8 workers; what `body` returns is 0. */
static void with_workers(cc_task_main *body, bool has_locals, int joined)
{
	static const unsigned workers[] = {1, 2, 8};

	for (unsigned i = 0; i < sizeof workers / sizeof *workers; i++) {
		struct situation s = {.rt = workers_new(workers[i], USUAL),
		                      .never = cc_chan_new(sizeof(int), 0),
		                      .has_locals = has_locals};

		CHECK_EQ(join(spawn(s.rt, body, &s)), 0);
		if (!CHECK_EQ(s.joined, joined))
			printf("\twith %u workers\n", workers[i]);
		CHECK_EQ(cc_chan_close(s.never), 0);
		if (s.joined != 0)
			CHECK_EQ(join(s.task), EPIPE);
		CHECK_EQ(cc_chan_free(s.never), 0);
		CHECK_EQ(cc_runtime_free(s.rt), 0);
	}
}

/* ---- a sibling fails ---- */

static int sleep_and_fail(void *arg)
{
	(void)arg;
	return cc_sleep_ms(1) == 0 ? EIO : 0;
}

static int beside_one_that_fails(void *arg)
{
	struct situation *s = arg;
	int err = -1;

	cc_nursery_scope(n, &err) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, ask, s), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, sleep_and_fail, NULL), 0);
	}
	CHECK_EQ(err, EIO);
	return 0;
}

TEST(failing_sibling_ends_the_join_of_an_unstarted_task)	/* covers: RES-68/u, RES-36/u */
{
	with_workers(beside_one_that_fails, false, ECANCELED);
}

TEST(failing_sibling_ends_the_join_by_a_fiber_with_locals)	/* covers: RES-68/u */
{
	with_workers(beside_one_that_fails, true, ECANCELED);
}

/* ---- a nursery's deadline ---- */

static int until_late(void *arg)
{
	struct situation *s = arg;
	const CCNurseryOptions o = {.deadline = cc_after(5 * CC_MSEC)};

	cc_nursery_scope_with(n, NULL, &o)
		join_unstarted(s);
	CHECK(cc_now() >= o.deadline);
	return 0;
}

TEST(deadline_of_a_nursery_ends_the_join_of_an_unstarted_task)	/* covers: RES-68/u, RES-40/u */
{
	with_workers(until_late, false, ETIMEDOUT);
}

/* ---- the outer one of two ---- */

static int inside_of_another(void *arg)
{
	cc_nursery_scope(inner, NULL)
		join_unstarted(arg);
	return 0;
}

static int inside_of_two(void *arg)
{
	int err = -1;

	cc_nursery_scope(n, &err) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, inside_of_another, arg), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, sleep_and_fail, NULL), 0);
	}
	CHECK_EQ(err, EIO);
	return 0;
}

TEST(cancelled_outer_nursery_ends_a_join_in_an_inner_one)	/* covers: RES-68/u, RES-54/u */
{
	with_workers(inside_of_two, false, ECANCELED);
}

/* A child that its nursery's owner runs in place: it joins, and lies on a joiner itself. */
static int fail_when_begun(void *arg)
{
	const struct situation *s = arg;

	while (cc__load(&s->begun, CC__ACQUIRE) == 0)
		cc_yield();
	return EIO;
}

static int two_deep(void *arg)
{
	int outer_err = -1, err = -1;

	cc_nursery_scope(outer, &outer_err) {
		CHECK_EQ(cc_nursery_spawn(outer, NULL, fail_when_begun, arg), 0);
		cc_nursery_scope(n, &err)
			CHECK_EQ(cc_nursery_spawn(n, NULL, ask, arg), 0);
	}
	CHECK_EQ(err, ECANCELED);
	CHECK_EQ(outer_err, EIO);
	return 0;
}

TEST(cancel_ends_a_join_by_a_child_that_runs_in_place)	/* covers: RES-68/u, RES-36/u */
{
	with_workers(two_deep, false, ECANCELED);
}

/* ---- the end of the runtime ---- */

static int join_in_nursery(void *arg)
{
	cc_nursery_scope(n, NULL)
		join_unstarted(arg);
	return 0;
}

/* Below the task or not, the joiner comes to its end, because the task is cancelled with it.  It
 * has an error of its own, or the task's. */
static void at_the_end(cc_task_main *body)
{
	static const unsigned workers[] = {1, 2, 8};

	for (unsigned i = 0; i < sizeof workers / sizeof *workers; i++) {
		struct situation s = {.never = cc_chan_new(sizeof(int), 0), .joined = -1};
		CCConfig c;
		CCTask t;

		CHECK_EQ(cc_config_init(&c), 0);
		only_workers(&c, workers[i]);
		c.shutdown_timeout = CC_MSEC;
		s.rt = runtime_with(&c);
		t = spawn(s.rt, body, &s);
		TEST_UNTIL(cc__load(&s.begun, CC__ACQUIRE) != 0);
		free_until_done(s.rt);
		CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), 0);
		if (!CHECK_EQ(s.joined == 0 ? s.result : s.joined, ECANCELED))
			printf("\twith %u workers\n", workers[i]);
		CHECK_EQ(cc_chan_free(s.never), 0);
	}
}

TEST(end_of_the_runtime_ends_a_join_inside_a_nursery)	/* covers: RES-68/u */
{
	at_the_end(join_in_nursery);
}

TEST(end_of_the_runtime_ends_a_join_in_place_through_its_task)	/* covers: RES-68/u */
{
	at_the_end(ask);
}

/* ---- where the task runs ---- */

static int note_place(void *arg)
{
	*(char **)arg = __builtin_frame_address(0);
	return 0;
}

static bool runs_here(CCRuntime *rt)
{
	char *at = NULL, *here = __builtin_frame_address(0);

	CHECK_EQ(join(spawn(rt, note_place, &at)), 0);
	return (at > here ? at - here : here - at) < 16384;
}

static int look_outside_and_inside(void *arg)
{
	CCLocal key;

	CHECK(runs_here(arg));
	CHECK_EQ(cc_local_new(&key, free_value), 0);
	CHECK_EQ(cc_local_set(key, arg), 0);
	CHECK(runs_here(arg));	/* with locals, too */
	cc_nursery_scope(n, NULL)
		CHECK(!runs_here(arg));
	CHECK(runs_here(arg));
	CHECK_EQ(cc_local_set(key, NULL), 0);
	CHECK_EQ(cc_local_delete(key), 0);
	return 0;
}

TEST(task_runs_in_place_only_for_a_joiner_outside_of_nurseries)	/* covers: RES-68/u */
{
	CCRuntime *rt = workers_new(1, USUAL);

	CHECK_EQ(join(spawn(rt, look_outside_and_inside, rt)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
