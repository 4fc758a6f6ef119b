/* nursery_error_test.c - two children of one nursery fail, with different errors and in a known
 * order: the first error is the nursery's.
 *
 * There is one worker, so a child that has let another one go on has come to its end, and its
 * error is noted, before the other one runs. */
#include "nurseries.h"
#include "tasks.h"
#include "test.h"

#include <errno.h>

enum { CHILDREN = 3 };

/* The child that waits for `turn` fails with `error`; then it is the next one's turn. */
struct row {
	cc__a32 turn;
	struct failing {
		struct row *row;
		uint32_t turn;
		int error;
	} child[CHILDREN];
};

static int fail_in_turn(void *arg)
{
	struct failing *f = arg;

	while (cc__load(&f->row->turn, CC__ACQUIRE) != f->turn)
		cc_yield();
	cc__store(&f->row->turn, f->turn + 1, CC__RELEASE);
	return f->error;
}

static const int errors[CHILDREN] = {EIO, ENOSPC, EPIPE};	/* of the first to fail, ... */

/* The ith child that is spawned fails as number order[i]. */
static int first_of(CCRuntime *rt, CCNurseryPolicy policy, const uint32_t *order)
{
	const CCNurseryOptions o = {.runtime = rt, .policy = policy};
	struct row row = {.turn = {0}};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o)
		for (int i = 0; i < CHILDREN; i++) {
			row.child[i] = (struct failing){&row, order[i], errors[order[i]]};
			CHECK_EQ(cc_nursery_spawn(n, NULL, fail_in_turn, &row.child[i]), 0);
		}
	return err;
}

static const uint32_t orders[][CHILDREN] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                            {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static int first_in_any_order(void *arg)
{
	const CCNurseryPolicy policy = *(CCNurseryPolicy *)arg;

	for (unsigned i = 0; i < sizeof orders / sizeof *orders; i++)
		if (!CHECK_EQ(first_of(NULL, policy, orders[i]), EIO))
			printf("      the first to fail was child %u\n", orders[i][0] == 0   ? 0u
			                                                 : orders[i][1] == 0 ? 1u
			                                                                     : 2u);
	return 0;
}

static void first_error_is_returned(CCNurseryPolicy policy)
{
	CCRuntime *rt = test_runtime_of(1);

	CHECK_EQ(join(spawn(rt, first_in_any_order, &policy)), 0);
	for (unsigned i = 0; i < sizeof orders / sizeof *orders; i++)
		CHECK_EQ(first_of(rt, policy, orders[i]), EIO);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(supervise_returns_the_first_error)
{
	first_error_is_returned(CC_NURSERY_SUPERVISE);
}

TEST(first_success_returns_the_first_error_if_all_fail)
{
	first_error_is_returned(CC_NURSERY_FIRST_SUCCESS);
}

/* ---- fail fast ---- */

/* It is cancelled by the failure of another child, sees why, and fails in its own way. */
static int fail_when_cancelled(void *arg)
{
	struct quiet *q = arg;

	CHECK_EQ(receive(q), ECANCELED);
	CHECK_EQ(cc_cancel_reason(), EIO);
	return ENOSPC;
}

static int failures_after_the_first(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct quiet q = quiet_new();
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		for (int i = 0; i < 3; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, fail_when_cancelled, &q), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail_when_three_wait, &q), 0);
	}
	CHECK_EQ(err, EIO);
	CHECK_EQ(cc__load(&q.ended, CC__ACQUIRE), 3);
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(fail_fast_returns_the_first_error)	/* covers: RES-36/u */
{
	for_fiber_and_thread(failures_after_the_first);
}

/* ---- a reason and a child's error ---- */

static int fail_at(void *arg)
{
	wait_at(arg);
	return EIO;
}

TEST(reason_that_comes_before_an_error_is_returned)
{
	CCRuntime *rt = test_runtime_of(1);
	const CCNurseryOptions o = {.runtime = rt, .policy = CC_NURSERY_SUPERVISE};
	struct gate g = {0};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail_at, &g), 0);
		TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 1);
		CHECK_EQ(cc_nursery_cancel(n, ENOSPC), 0);
		CHECK_EQ(cc_nursery_cancel(n, EPIPE), 0);
		cc__store(&g.open, 1, CC__RELEASE);
	}
	CHECK_EQ(err, ENOSPC);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(reason_that_comes_after_an_error_is_not_returned)
{
	CCRuntime *rt = test_runtime_of(1);
	const CCNurseryOptions o = {.runtime = rt, .policy = CC_NURSERY_SUPERVISE};
	struct row row = {.turn = {0}};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		row.child[0] = (struct failing){&row, 0, EIO};
		row.child[1] = (struct failing){&row, 1, 0};	/* after the end of the first */
		for (int i = 0; i < 2; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, fail_in_turn, &row.child[i]), 0);
		TEST_UNTIL(cc__load(&row.turn, CC__ACQUIRE) == 2);
		CHECK_EQ(cc_nursery_cancel(n, ENOSPC), 0);
	}
	CHECK_EQ(err, EIO);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
