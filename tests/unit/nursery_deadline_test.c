/* nursery_deadline_test.c - deadlines of nurseries and shields, with a fiber as the owner and
 * with a thread.
 * mutate: src/chan */
#include "nurseries.h"

enum { FAR = 3600 };

static CCNurseryOptions until(CCRuntime *rt, cc_time deadline)
{
	return (CCNurseryOptions){.runtime = rt, .deadline = deadline};
}

static int receive_late(void *arg)
{
	struct quiet *q = arg;
	int v;

	return cc_chan_recv_until(q->chan, &v, sizeof v, cc_after(FAR * CC_SEC));
}

/* ---- its own ---- */

static int own_deadline(void *rt)
{
	const CCNurseryOptions o = until(rt, cc_after(CC_MSEC));
	struct quiet q = quiet_new();
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		cc_nursery_spawn(n, NULL, receive, &q);
		CHECK_EQ(receive_late(&q), ETIMEDOUT);
		CHECK_EQ(cc_cancel_reason(), ETIMEDOUT);
		CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), ECANCELED);
	}
	CHECK(err == ETIMEDOUT || cc__load(&q.waiting, CC__RELAXED) == 0);
	/* Outside there is time again. */
	CHECK_EQ(cc_sleep_until(cc_after(CC_USEC)), 0);
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(deadline_ends_what_waits_inside)	/* covers: RES-40/u */
{
	for_fiber_and_thread(own_deadline);
}

static int own_deadline_at_a_descriptor(void *rt)
{
	const CCNurseryOptions o = until(rt, cc_after(CC_MSEC));
	int fd[2], err = -1;

	CHECK_EQ(pipe(fd), 0);
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_wait_fd(fd[0], CC_FD_READ, CC_FOREVER), ETIMEDOUT);
		/* What is ready is ready. */
		CHECK_EQ(cc_wait_fd(fd[1], CC_FD_WRITE, CC_FOREVER), 0);
	}
	CHECK_EQ(err, 0);
	close(fd[0]);
	close(fd[1]);
	return 0;
}

TEST(deadline_ends_a_wait_for_a_descriptor)	/* covers: RES-40/u */
{
	for_fiber_and_thread(own_deadline_at_a_descriptor);
}

static int canceled_at_a_descriptor(void *rt)
{
	const CCNurseryOptions o = in(rt);
	int fd[2], err = -1;

	CHECK_EQ(pipe(fd), 0);
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		CHECK_EQ(cc_wait_fd(fd[0], CC_FD_READ, CC_FOREVER), ECANCELED);
		CHECK_EQ(cc_wait_fd(fd[1], CC_FD_WRITE, CC_FOREVER), 0);
	}
	CHECK_EQ(err, 0);
	close(fd[0]);
	close(fd[1]);
	return 0;
}

TEST(what_is_ready_is_ready_though_cancelled)
{
	for_fiber_and_thread(canceled_at_a_descriptor);
}

/* The select's own time has not come, so that is not what took place. */
static int own_timeout_is_later(void *rt)
{
	const CCNurseryOptions o = until(rt, cc_after(CC_MSEC));
	struct quiet q = quiet_new();
	size_t chosen = 77;
	int err = -1, v;

	cc_nursery_scope_with(n, &err, &o) {
		const CCCase cases[] = {cc_case_recv(q.chan, &v, sizeof v),
		                        cc_case_timeout(cc_after(FAR * CC_SEC))};

		CHECK_EQ(cc_select(cases, 2, CC_FOREVER, &chosen), ETIMEDOUT);
		CHECK_EQ(chosen, 2);
	}
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return err == ETIMEDOUT ? 0 : err;
}

TEST(deadline_of_a_nursery_is_no_case_of_a_select)
{
	for_fiber_and_thread(own_timeout_is_later);
}

static int sleep_past(void *arg)
{
	while (cc_now() < *(cc_time *)arg + CC_MSEC)
		cc_yield();
	return 0;
}

/* On a busy machine the time may be over before there is a child: then a longer one. */
static int success_stays(void *rt)
{
	int err = -1, spawned = ECANCELED;

	for (cc_time span = CC_MSEC; spawned == ECANCELED; span *= 2) {
		cc_time at = cc_after(span);
		const CCNurseryOptions o = until(rt, at);

		cc_nursery_scope_with(n, &err, &o)
			spawned = cc_nursery_spawn(n, NULL, sleep_past, &at);
	}
	CHECK_EQ(spawned, 0);
	return err;
}

TEST(deadline_that_cut_nobody_is_no_error)
{
	for_fiber_and_thread(success_stays);
}

static int passed(void *rt)
{
	const CCNurseryOptions o = until(rt, 1);
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), ECANCELED);
		CHECK_EQ(cc_sleep_until(cc_after(FAR * CC_SEC)), ETIMEDOUT);
	}
	CHECK_EQ(err, ETIMEDOUT);
	return 0;
}

TEST(deadline_that_has_passed)
{
	for_fiber_and_thread(passed);
}

/* What was set is taken back: nothing is left of it. */
static int in_time(void *rt)
{
	const CCNurseryOptions o = until(rt, cc_after(FAR * CC_SEC));

	for (int i = 0; i < 1000; i++) {
		int err = -1;

		cc_nursery_scope_with(n, &err, &o)
			CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), 0);
		CHECK_EQ(err, 0);
	}
	return 0;
}

TEST(deadline_that_was_met_is_forgotten)
{
	for_fiber_and_thread(in_time);
}

/* ---- moved ---- */

static int count_or_wait(void *arg)
{
	struct quiet *q = arg;

	cc__add(&q->waiting, 1, CC__RELAXED);
	if (cc_sleep_until(cc_after(5 * CC_USEC)) != 0)
		return ETIMEDOUT;
	cc__add(&q->ended, 1, CC__RELAXED);
	return 0;
}

static int set_later(void *rt)
{
	const CCNurseryOptions o = until(rt, 0);
	struct quiet q = quiet_new();

	cc_nursery_scope_with(n, NULL, &o) {
		CHECK_EQ(cc_nursery_deadline(n, cc_after(CC_MSEC)), 0);
		CHECK_EQ(receive_late(&q), ETIMEDOUT);
		CHECK_EQ(cc_cancel_reason(), ETIMEDOUT);
		CHECK_EQ(cc_nursery_deadline(n, cc_after(FAR * CC_SEC)), ECANCELED);
		CHECK_EQ(cc_cancel_reason(), ETIMEDOUT);
	}
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(deadline_set_while_open)
{
	for_fiber_and_thread(set_later);
}

static int moved_nearer(void *rt)
{
	const CCNurseryOptions o = until(rt, cc_after(FAR * CC_SEC));
	struct quiet q = quiet_new();

	cc_nursery_scope_with(n, NULL, &o) {
		CHECK_EQ(cc_nursery_deadline(n, cc_after(CC_MSEC)), 0);
		CHECK_EQ(receive_late(&q), ETIMEDOUT);
	}
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(deadline_moved_nearer)
{
	for_fiber_and_thread(moved_nearer);
}

/* A wait that outlasts the former deadline ends by its own.  On a machine that stops the owner
 * for so long that the former deadline passes first, the call says so. */
static int moved_away(void *rt, cc_time to)
{
	const cc_time former = cc_after(50 * CC_MSEC);
	const CCNurseryOptions o = until(rt, former);
	int err = -1, moved = -1;

	cc_nursery_scope_with(n, &err, &o)
		if ((moved = cc_nursery_deadline(n, to)) == 0) {
			CHECK_EQ(cc_sleep_until(former + 10 * CC_MSEC), 0);
			CHECK_EQ(cc_cancel_reason(), 0);
			CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), 0);
		}
	CHECK_EQ(err, 0);
	CHECK(moved == 0 || (moved == ECANCELED && cc_now() >= former));
	return 0;
}

static int moved_farther(void *rt)
{
	return moved_away(rt, cc_after(FAR * CC_SEC));
}

static int removed(void *rt)
{
	return moved_away(rt, CC_FOREVER);
}

TEST(deadline_moved_farther_or_removed)
{
	for_fiber_and_thread(moved_farther);
	for_fiber_and_thread(removed);
}

static int at_once(void *rt)
{
	for (int i = 0; i < 2; i++) {
		const CCNurseryOptions o = until(rt, cc_after(FAR * CC_SEC));
		int err = -1;

		cc_nursery_scope_with(n, &err, &o) {
			CHECK_EQ(cc_nursery_deadline(n, i == 0 ? CC_NOW : 1), 0);
			CHECK_EQ(cc_cancel_reason(), ETIMEDOUT);
			CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), ECANCELED);
		}
		CHECK_EQ(err, ETIMEDOUT);
	}
	return 0;
}

TEST(deadline_moved_into_the_past_cancels_at_once)
{
	for_fiber_and_thread(at_once);
}

static int not_the_owner(void *arg)
{
	return cc_nursery_deadline(arg, CC_FOREVER) == EPERM ? 0 : EINVAL;
}

static int refused(void *rt)
{
	const CCNurseryOptions o = until(rt, cc_after(FAR * CC_SEC));
	CCNursery joined = {0};
	int err = -1;

	CHECK_EQ(cc_nursery_deadline(NULL, CC_FOREVER), EINVAL);
	CHECK_EQ(cc_nursery_deadline(&joined, CC_FOREVER), EINVAL);
	cc_nursery_scope_with(n, &err, &o)
		CHECK_EQ(cc_nursery_spawn(n, NULL, not_the_owner, n), 0);
	CHECK_EQ(err, 0);
	cc_nursery_scope_with(n, NULL, &o) {
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		CHECK_EQ(cc_nursery_deadline(n, CC_FOREVER), ECANCELED);
	}
	return 0;
}

TEST(deadline_is_moved_by_the_owner_of_an_open_nursery)
{
	for_fiber_and_thread(refused);
}

/* Against the former one: the nursery is cancelled if and only if a call said so. */
static int moved_just_in_time(void *rt)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < 2000 / test_slowness() && test_has_time(); i++) {
		const CCNurseryOptions o =
		    until(rt, cc_now() + (cc_time)(test_random(&seed) % 40) * CC_USEC);
		struct quiet q = {0};
		int err = -1, moved = -1;

		cc_nursery_scope_with(n, &err, &o)
			if ((moved = cc_nursery_deadline(n, cc_after(FAR * CC_SEC))) == 0)
				cc_nursery_spawn(n, NULL, count_or_wait, &q);
		CHECK_EQ(err, 0);
		CHECK_EQ(cc__load(&q.ended, CC__RELAXED), moved == 0);
	}
	return 0;
}

TEST(deadline_moved_against_the_former)
{
	for_fiber_and_thread(moved_just_in_time);
}

/* ---- the nearest ---- */

static int outer_is_nearer(void *rt)
{
	const CCNurseryOptions near = until(rt, cc_after(CC_MSEC));
	const CCNurseryOptions far = until(rt, cc_after(FAR * CC_SEC));
	struct quiet q = quiet_new();
	int outer = -1, inner = -1;

	cc_nursery_scope_with(a, &outer, &near)
		cc_nursery_scope_with(b, &inner, &far) {
			cc_nursery_spawn(b, NULL, receive, &q);
			CHECK_EQ(receive_late(&q), ETIMEDOUT);
		}
	CHECK(inner == ETIMEDOUT || cc__load(&q.waiting, CC__RELAXED) == 0);
	CHECK_EQ(outer, 0);
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

static int inner_is_nearer(void *rt)
{
	const CCNurseryOptions near = until(rt, cc_after(CC_MSEC));
	const CCNurseryOptions far = until(rt, cc_after(FAR * CC_SEC));
	struct quiet q = quiet_new();

	cc_nursery_scope_with(a, NULL, &far) {
		cc_nursery_scope_with(b, NULL, &near)
			CHECK_EQ(receive_late(&q), ETIMEDOUT);
		CHECK_EQ(cc_cancel_reason(), 0);
		CHECK_EQ(cc_sleep_until(cc_after(CC_USEC)), 0);
	}
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

static int call_is_nearer(void *rt)
{
	const CCNurseryOptions far = until(rt, cc_after(FAR * CC_SEC));
	struct quiet q = quiet_new();
	int v;

	cc_nursery_scope_with(n, NULL, &far) {
		CHECK_EQ(cc_chan_recv_until(q.chan, &v, sizeof v, cc_after(CC_USEC)), ETIMEDOUT);
		CHECK_EQ(cc_cancel_reason(), 0);
	}
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(nearest_deadline_counts)	/* covers: RES-40/u */
{
	for_fiber_and_thread(outer_is_nearer);
	for_fiber_and_thread(inner_is_nearer);
	for_fiber_and_thread(call_is_nearer);
}

/* ---- shields ---- */

static int clean_up(void *rt)
{
	const CCNurseryOptions o = in(rt);
	cc__a32 ran = {0};
	int err = -1, inner = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		CHECK_EQ(cc_sleep_until(cc_after(FAR * CC_SEC)), ECANCELED);
		cc_shield_scope(CC_FOREVER) {
			CHECK_EQ(cc_cancel_reason(), 0);
			CHECK_EQ(cc_sleep_until(cc_after(CC_MSEC)), 0);
			cc_nursery_scope_with(m, &inner, &o)
				CHECK_EQ(cc_nursery_spawn(m, NULL, yield_and_count, &ran), 0);
		}
		CHECK_EQ(cc_sleep_until(cc_after(FAR * CC_SEC)), ECANCELED);
	}
	CHECK_EQ(inner, 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 1);
	return err;
}

TEST(shield_lets_clean_up_wait)	/* covers: RES-40/u */
{
	for_fiber_and_thread(clean_up);
}

static int shield_ends(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct quiet q = quiet_new();
	int err = -1;

	cc_nursery_scope_with(n, &err, &o)
		cc_shield_scope(cc_after(CC_MSEC)) {
			CHECK_EQ(receive_late(&q), ECANCELED);
			CHECK_EQ(cc_cancel_reason(), ETIMEDOUT);
		}
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return err;
}

TEST(shield_has_a_deadline_of_its_own)
{
	for_fiber_and_thread(shield_ends);
}

struct shielded {
	struct quiet q;
	CCNursery *n;
};

static int receive_shielded(void *arg)
{
	struct shielded *s = arg;
	int v = 0, err = -1;

	cc_shield_scope(CC_FOREVER) {
		cc__add(&s->q.waiting, 1, CC__RELEASE);
		err = cc_chan_recv(s->q.chan, &v, sizeof v);
	}
	CHECK_EQ(v, 7);
	return err;
}

static int cancel_outside(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct shielded s = {.q = quiet_new()};
	int err = -1, v = 7, sent = EAGAIN;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, receive_shielded, &s), 0);
		while (cc__load(&s.q.waiting, CC__ACQUIRE) == 0)
			cc_yield();
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		while ((sent = cc_chan_try_send(s.q.chan, &v, sizeof v)) == EAGAIN)
			cc_yield();
		CHECK_EQ(sent, 0);
	}
	CHECK_EQ(cc_chan_free(s.q.chan), 0);
	return err;
}

TEST(shield_holds_while_cancel_comes)
{
	for_fiber_and_thread(cancel_outside);
}

/* ---- a deadline against the end ---- */

static int just_in_time(void *rt)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < 2000 / test_slowness() && test_has_time(); i++) {
		const CCNurseryOptions o =
		    until(rt, cc_now() + (cc_time)(test_random(&seed) % 40) * CC_USEC);
		struct quiet q = {0};
		int err = -1;

		cc_nursery_scope_with(n, &err, &o)
			for (int k = 0; k < 3; k++)
				cc_nursery_spawn(n, NULL, count_or_wait, &q);
		CHECK_EQ(err, cc__load(&q.ended, CC__RELAXED) == 3 ? 0 : ETIMEDOUT);
	}
	return 0;
}

TEST(deadline_against_the_end)
{
	for_fiber_and_thread(just_in_time);
}
