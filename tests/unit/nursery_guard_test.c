/* nursery_guard_test.c - an owner who waits for a close that only he can bring about is told.
 * mutate: src/chan */
#include "nurseries.h"

enum { SENT = 40 };

static const size_t capacities[] = {0, 1, 3, 16, 64};
enum { CAPACITIES = sizeof capacities / sizeof *capacities };

static CCChan *chan_of(int i)
{
	CCChan *c = cc_chan_new(sizeof(int), capacities[i]);

	CHECK(c != NULL);
	return c;
}

static int send_some(void *chan)
{
	for (int i = 0; i < SENT; i++)
		CHECK_EQ(cc_chan_send(chan, &i, sizeof i), 0);
	return 0;
}

static int receive_all(CCChan *c, int *count)
{
	int v, err;

	for (*count = 0; (err = cc_chan_recv(c, &v, sizeof v)) == 0; (*count)++)
		continue;
	return err;
}

/* ---- what is in vain ---- */

static int forgot_to_seal(void *rt)
{
	const CCNurseryOptions o = in(rt);

	for (int i = 0; i < CAPACITIES; i++) {
		CCChan *c = chan_of(i);
		int err = -1, got;

		cc_nursery_scope_with(n, &err, &o) {
			CHECK_EQ(cc_nursery_autoclose(n, c), 0);
			CHECK_EQ(receive_all(c, &got), EDEADLK);	/* nobody yet */
			CHECK_EQ(got, 0);
			for (int k = 0; k < 3; k++)
				CHECK_EQ(cc_nursery_spawn(n, NULL, send_some, c), 0);
			CHECK_EQ(receive_all(c, &got), EDEADLK);
			CHECK_EQ(got, 3 * SENT);	/* all came first */
			CHECK_EQ(cc_chan_closed(c), 0);
			/* He goes on as if nothing had been. */
			CHECK_EQ(cc_nursery_spawn(n, NULL, send_some, c), 0);
			CHECK_EQ(receive_all(c, &got), EDEADLK);
			CHECK_EQ(got, SENT);
			CHECK_EQ(cc_nursery_spawn(n, NULL, send_some, c), 0);
			CHECK_EQ(cc_nursery_seal(n), 0);
			CHECK_EQ(receive_all(c, &got), EPIPE);
			CHECK_EQ(got, SENT);
		}
		CHECK_EQ(err, 0);
		CHECK_EQ(cc_chan_free(c), 0);
	}
	return 0;
}

TEST(owner_who_forgot_to_seal_is_told)	/* covers: CHN-39/u, RES-66/u */
{
	for_fiber_and_thread(forgot_to_seal);
}

struct late {
	CCChan *chan;
	struct gate gate;
};

static int send_at_the_gate(void *arg)
{
	struct late *l = arg;

	wait_at(&l->gate);
	return send_some(l->chan);
}

static int open_gate(void *arg)
{
	struct late *l = arg;

	cc__store(&l->gate.open, 1, CC__RELEASE);
	return 0;
}

/* Others than children could send as well, while they are there. */
static int daemon_sends(void *rt)
{
	const CCNurseryOptions o = in(rt);

	for (int i = 0; i < CAPACITIES; i++) {
		struct late l = {.chan = chan_of(i)};
		int err = -1, got;

		cc_nursery_scope_with(n, &err, &o) {
			CHECK_EQ(cc_nursery_autoclose(n, l.chan), 0);
			CHECK_EQ(cc_nursery_spawn_daemon(n, NULL, send_at_the_gate, &l), 0);
			CHECK_EQ(cc_nursery_spawn(n, NULL, open_gate, &l), 0);
			CHECK_EQ(receive_all(l.chan, &got), EDEADLK);
			CHECK_EQ(got, SENT);
		}
		CHECK_EQ(err, 0);
		CHECK_EQ(cc_chan_free(l.chan), 0);
	}
	return 0;
}

TEST(last_daemon_ends_the_hope_too)
{
	for_fiber_and_thread(daemon_sends);
}

/* ---- what is not ---- */

static int has_deadline(void *rt)
{
	const CCNurseryOptions late = {.runtime = rt, .deadline = cc_now() + CC_MSEC};
	const CCNurseryOptions o = in(rt);

	for (int i = 0; i < CAPACITIES; i++) {
		CCChan *c = chan_of(i);
		int err = -1, v;

		cc_nursery_scope_with(n, &err, &o) {
			CHECK_EQ(cc_nursery_autoclose(n, c), 0);
			CHECK_EQ(cc_chan_recv_until(c, &v, sizeof v, cc_now() + CC_MSEC), ETIMEDOUT);
			CHECK_EQ(cc_chan_try_recv(c, &v, sizeof v), EAGAIN);
		}
		CHECK_EQ(err, 0);
		CHECK_EQ(cc_chan_free(c), 0);
		/* The nursery's: as long as it may come. */
		c = chan_of(i);
		cc_nursery_scope_with(n, &err, &late) {
			CHECK_EQ(cc_nursery_autoclose(n, c), 0);
			CHECK_EQ(cc_chan_recv(c, &v, sizeof v), ETIMEDOUT);
		}
		CHECK_EQ(cc_chan_free(c), 0);
	}
	return 0;
}

TEST(wait_with_a_deadline_is_none_for_ever)
{
	for_fiber_and_thread(has_deadline);
}

static int inner_sends(void *rt)
{
	const CCNurseryOptions o = in(rt);

	for (int i = 0; i < CAPACITIES; i++) {
		CCChan *c = chan_of(i);
		int err = -1, v;

		cc_nursery_scope_with(n, &err, &o) {
			CHECK_EQ(cc_nursery_autoclose(n, c), 0);
			cc_nursery_scope_with(m, &err, &o) {
				CHECK_EQ(cc_nursery_spawn(m, NULL, send_some, c), 0);
				for (int k = 0; k < SENT; k++)
					CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0);
			}
			CHECK_EQ(cc_chan_recv(c, &v, sizeof v), EDEADLK);
		}
		CHECK_EQ(err, 0);
		CHECK_EQ(cc_chan_free(c), 0);
	}
	return 0;
}

TEST(children_of_an_inner_nursery_may_send)
{
	for_fiber_and_thread(inner_sends);
}

static int cancelled(void *rt)
{
	const CCNurseryOptions o = in(rt);

	for (int i = 0; i < CAPACITIES; i++) {
		struct quiet q = quiet_new();
		CCChan *c = chan_of(i);
		int err = -1, v;

		cc_nursery_scope_with(n, &err, &o) {
			CHECK_EQ(cc_nursery_autoclose(n, c), 0);
			for (int k = 0; k < 3; k++)
				CHECK_EQ(cc_nursery_spawn(n, NULL, receive, &q), 0);
			CHECK_EQ(cc_nursery_spawn(n, NULL, fail_when_three_wait, &q), 0);
			CHECK_EQ(cc_chan_recv(c, &v, sizeof v), ECANCELED);
		}
		CHECK_EQ(err, EIO);
		CHECK_EQ(cc_chan_free(c), 0);
		CHECK_EQ(cc_chan_free(q.chan), 0);
	}
	return 0;
}

TEST(cancel_ends_a_wait_that_is_watched)
{
	for_fiber_and_thread(cancelled);
}

/* The last to end is the one who failed. */
static int last_fails(void *rt)
{
	const CCNurseryOptions o = in(rt);

	for (int i = 0; i < 100; i++) {
		CCChan *c = chan_of(i % CAPACITIES);
		int err = -1, v;

		cc_nursery_scope_with(n, &err, &o) {
			CHECK_EQ(cc_nursery_autoclose(n, c), 0);
			CHECK_EQ(cc_nursery_spawn(n, NULL, fail, (void *)EIO), 0);
			CHECK_EQ(cc_chan_recv(c, &v, sizeof v), ECANCELED);
		}
		CHECK_EQ(err, EIO);
		CHECK_EQ(cc_chan_free(c), 0);
	}
	return 0;
}

TEST(failure_of_the_last_child_is_what_ends_the_wait)
{
	for_fiber_and_thread(last_fails);
}
