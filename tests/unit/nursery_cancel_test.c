/* nursery_cancel_test.c - what users expect of cancellation, row by row, with a fiber as the
 * nursery's owner and with a thread. */
#include "nurseries.h"

/* ---- the body is inside, too ---- */

static int body_woken(void *rt)
{
	const CCNurseryOptions o = in(rt);
	CCChan *c = cc_chan_new(sizeof(int), 4);
	int err = -1, v, got = 0;

	cc_nursery_scope_with(n, &err, &o) {
		/* It fails before it closes the channel. */
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail, (void *)EPROTO), 0);
		got = cc_chan_recv(c, &v, sizeof v);
		CHECK_EQ(cc_cancel_reason(), EPROTO);
	}
	CHECK_EQ(got, ECANCELED);
	CHECK_EQ(err, EPROTO);
	CHECK_EQ(cc_cancel_reason(), 0);
	/* Outside it is as before. */
	CHECK_EQ(cc_sleep_until(cc_now() + CC_MSEC), 0);
	CHECK_EQ(cc_chan_free(c), 0);
	return 0;
}

TEST(failed_producer_does_not_leave_the_body_waiting)	/* covers: RES-54/u */
{
	for_fiber_and_thread(body_woken);
}

/* ---- cancel reaches a blocked call, whatever it is ---- */

static int sleep_long(void *arg)
{
	struct quiet *q = arg;
	int err;

	cc__add(&q->waiting, 1, CC__RELEASE);
	if ((err = cc_sleep_until(cc_now() + 3600 * CC_SEC)) == ECANCELED)
		cc__add(&q->cancelled, 1, CC__RELAXED);
	return err;
}

static int send_one(void *arg)
{
	struct quiet *q = arg;
	int v = 7, err;

	cc__add(&q->waiting, 1, CC__RELEASE);
	if ((err = cc_chan_send_until(q->chan, &v, sizeof v, cc_now() + 3600 * CC_SEC)) == ECANCELED)
		cc__add(&q->cancelled, 1, CC__RELAXED);
	return err;
}

static int select_two(void *arg)
{
	struct quiet *q = arg;
	CCChan *other = cc_chan_new(sizeof(int), 0);
	int v = 0;
	const CCCase c[] = {cc_case_recv(q->chan, &v, sizeof v),
	                    cc_case_send(other, &v, sizeof v)};
	int err;

	cc__add(&q->waiting, 1, CC__RELEASE);
	if ((err = cc_select(c, 2, CC_FOREVER, NULL)) == ECANCELED)
		cc__add(&q->cancelled, 1, CC__RELAXED);
	CHECK_EQ(cc_chan_free(other), 0);
	return err;
}

static int join_other(void *arg)
{
	struct quiet *q = arg;
	struct gate g = {0};
	CCTask t = spawn(NULL, wait_at, &g);
	int err, result = 0;

	cc__add(&q->waiting, 1, CC__RELEASE);
	if ((err = cc_task_join(t, CC_FOREVER, &result)) == ECANCELED)
		cc__add(&q->cancelled, 1, CC__RELAXED);
	cc__store(&g.open, 1, CC__RELEASE);
	/* Only who would wait is told; the end of that task is still to be had. */
	while ((err = cc_task_join(t, CC_FOREVER, &result)) == ECANCELED)
		cc_yield();
	CHECK_EQ(err, 0);
	CHECK_EQ(result, 17);
	return ECANCELED;
}

static int wait_token(void *arg)
{
	struct quiet *q = arg;
	CCToken *t = cc_token_new();
	int err;

	cc__add(&q->waiting, 1, CC__RELEASE);
	if ((err = cc_token_wait(t, CC_FOREVER)) == ECANCELED)
		cc__add(&q->cancelled, 1, CC__RELAXED);
	CHECK_EQ(cc_token_free(t), 0);
	return err;
}

static int wait_readable(void *arg)
{
	struct quiet *q = arg;
	int fd[2], err;

	CHECK_EQ(pipe(fd), 0);
	cc__add(&q->waiting, 1, CC__RELEASE);
	if ((err = cc_wait_fd(fd[0], CC_FD_READ, CC_FOREVER)) == ECANCELED)
		cc__add(&q->cancelled, 1, CC__RELAXED);
	close(fd[0]);
	close(fd[1]);
	return err;
}

static cc_task_main *const blocked[] = {receive,    sleep_long, send_one,     select_two,
                                        join_other, wait_token, wait_readable};
enum { BLOCKED = sizeof blocked / sizeof *blocked };

static int each_blocked_call(void *rt)
{
	const CCNurseryOptions o = in(rt);

	for (int i = 0; i < BLOCKED; i++) {
		struct quiet q = quiet_new();
		int err = -1;

		cc_nursery_scope_with(n, &err, &o) {
			CHECK_EQ(cc_nursery_spawn(n, NULL, blocked[i], &q), 0);
			while (cc__load(&q.waiting, CC__ACQUIRE) == 0)
				cc_yield();
			CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		}
		if (!CHECK_EQ(err, ECANCELED) || !CHECK_EQ(cc__load(&q.cancelled, CC__RELAXED), 1))
			printf("\tcall %d\n", i);
		CHECK_EQ(cc_chan_free(q.chan), 0);
	}
	return 0;
}

TEST(cancel_reaches_every_blocked_call)	/* covers: RES-36/u */
{
	for_fiber_and_thread(each_blocked_call);
}

/* What the owner itself waits for, by somebody inside. */
static int cancel_own(void *arg)
{
	CHECK_EQ(cc_nursery_cancel(arg, EBADMSG), 0);
	return 0;
}

static int owner_blocked(void *rt)
{
	const CCNurseryOptions o = in(rt);

	for (int i = 0; i < BLOCKED; i++) {
		struct quiet q = quiet_new();
		int err = -1;

		cc_nursery_scope_with(n, &err, &o) {
			CHECK_EQ(cc_nursery_spawn(n, NULL, cancel_own, n), 0);
			CHECK_EQ(blocked[i](&q), ECANCELED);
		}
		CHECK_EQ(err, EBADMSG);
		CHECK_EQ(cc_chan_free(q.chan), 0);
	}
	return 0;
}

TEST(cancel_reaches_what_the_owner_waits_for)	/* covers: RES-54/u */
{
	for_fiber_and_thread(owner_blocked);
}

/* ---- a value that is there wins; success stays success ---- */

static int value_wins(void *rt)
{
	const CCNurseryOptions o = in(rt);
	CCChan *c = cc_chan_new(sizeof(int), 4);
	int err = -1, v = 5;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		v = 0;
		CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0);
		CHECK_EQ(v, 5);
		CHECK_EQ(cc_chan_recv(c, &v, sizeof v), ECANCELED);
		CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(cc_chan_len(c), 1);
	CHECK_EQ(cc_chan_free(c), 0);
	return 0;
}

TEST(value_that_is_there_wins_over_cancel)
{
	for_fiber_and_thread(value_wins);
}

static int late_cancel(void *rt)
{
	const CCNurseryOptions o = in(rt);
	cc__a32 ran = {0};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, yield_and_count, &ran), 0);
		while (cc__load(&ran, CC__RELAXED) == 0)
			cc_yield();
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
	}
	CHECK_EQ(err, 0);
	/* Spawned before, begun after: it runs, and need not wait. */
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, yield_and_count, &ran), 0);
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 2);
	return 0;
}

TEST(join_never_invents_a_cancellation)
{
	for_fiber_and_thread(late_cancel);
}

/* ---- what is inside is cancelled, too ---- */

static int open_inside(void *arg)
{
	int err = -1;

	cc_nursery_scope(n, &err) {
		cc_nursery_spawn(n, NULL, receive, arg);
		receive(arg);
	}
	return err;
}

static int inherited(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct quiet q = quiet_new();
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, open_inside, &q), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail_when_three_wait, &q), 0);
		receive(&q);
		CHECK_EQ(cc_cancel_reason(), EIO);
		/* What is opened only now is cancelled from the start. */
		cc_nursery_scope_with(m, NULL, &o)
			CHECK_EQ(cc_nursery_spawn(m, NULL, nothing, NULL), ECANCELED);
	}
	CHECK_EQ(err, EIO);
	CHECK_EQ(cc__load(&q.cancelled, CC__RELAXED), 3);
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(cancel_reaches_what_is_inside)	/* covers: RES-54/u */
{
	for_fiber_and_thread(inherited);
}

/* Nobody ever waits, so nobody is listed anywhere: it is seen all the same. */
static int grow_until_refused(void *arg)
{
	int err = 0, refused = 0;

	cc_nursery_scope(n, &err)
		while ((refused = cc_nursery_spawn(n, NULL, count, arg)) == 0)
			cc_yield();
	CHECK_EQ(refused, ECANCELED);
	CHECK_EQ(err, ECANCELED);
	return 0;
}

static int unlisted(void *rt)
{
	const CCNurseryOptions o = in(rt);
	cc__a32 ran = {0};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, grow_until_refused, &ran), 0);
		while (cc__load(&ran, CC__RELAXED) == 0)
			cc_yield();
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
	}
	CHECK_EQ(err, 0);
	return 0;
}

TEST(cancel_is_seen_where_nobody_waits)
{
	for_fiber_and_thread(unlisted);
}

/* ---- lazy ---- */

static int lazy(void *rt)
{
	const CCNurseryOptions o = {.runtime = rt, .lazy = 1};
	struct quiet q = quiet_new();
	int err = -1, v = 1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, receive, &q), 0);
		while (cc__load(&q.waiting, CC__ACQUIRE) == 0)
			cc_yield();
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		/* Asleep or not, one of the two is told, the other served. */
		while (cc_chan_try_send(q.chan, &v, sizeof v) != 0 &&
		       cc__load(&q.ended, CC__ACQUIRE) == 0)
			cc_yield();
		CHECK_EQ(cc_chan_recv(q.chan, &v, sizeof v), ECANCELED);
	}
	CHECK(err == 0 || err == ECANCELED);
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(lazy_cancel_is_met_at_the_next_wait)
{
	for_fiber_and_thread(lazy);
}

struct asleep {
	struct quiet q;
	CC__ATOMIC(struct cc__parker *) who;
};

static int receive_asleep(void *arg)
{
	struct asleep *a = arg;

	cc__store(&a->who, cc__self(), CC__RELEASE);
	return receive(&a->q);
}

static bool is_parked(const struct asleep *a)
{
	const struct cc__parker *who = cc__load(&a->who, CC__ACQUIRE);

	return who != NULL && cc__word_state(word_of(who)) == CC__PARKED;
}

static int lazy_beside_a_sleeper(void *rt)
{
	const CCNurseryOptions o = {.runtime = rt, .lazy = 1};
	struct asleep a = {.q = quiet_new()};
	int err = -1, v = 1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, receive_asleep, &a), 0);
		while (!is_parked(&a))
			cc_yield();
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		CHECK(is_parked(&a));
		CHECK_EQ(cc_chan_try_send(a.q.chan, &v, sizeof v), 0);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(cc__load(&a.q.cancelled, CC__RELAXED), 0);
	CHECK_EQ(cc_chan_free(a.q.chan), 0);
	return 0;
}

TEST(lazy_cancel_wakes_nobody)	/* covers: RES-36/u */
{
	for_fiber_and_thread(lazy_beside_a_sleeper);
}

/* ---- a runtime that ends ---- */

static int hold_a_nursery(void *arg)
{
	return open_inside(arg);
}

TEST(runtime_that_ends_cancels_its_nurseries)
{
	struct quiet q = quiet_new();
	CCRuntime *rt = NULL;
	CCConfig c = config();
	CCTask t;

	c.shutdown_timeout = CC_MSEC;
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	t = spawn(rt, hold_a_nursery, &q);
	TEST_UNTIL(cc__load(&q.waiting, CC__ACQUIRE) == 2);
	CHECK_EQ(cc_task_detach(t), 0);
	free_until_done(rt);
	CHECK_EQ(cc__load(&q.cancelled, CC__RELAXED), 2);
	CHECK_EQ(cc_chan_free(q.chan), 0);
}
