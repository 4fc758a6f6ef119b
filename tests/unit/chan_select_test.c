/* chan_select_test.c - the first of several: channels of every kind, tasks, tokens, time.
 * mutate: src/chan */
#include "chans.h"
#include "tasks.h"

static CCChan *int_chan(CCChanKind kind, size_t capacity)
{
	const CCChanOptions o = {.kind = kind};
	CCChan *c = NULL;

	CHECK_EQ(cc_chan_create(&c, sizeof(int), capacity, &o), 0);
	return c;
}

/* Kinds that carry numbers. */
static const struct {
	CCChanKind kind;
	size_t capacity;
} numbers[] = {
    {CC_CHAN_KIND_PLAIN, 0}, {CC_CHAN_KIND_PLAIN, 1}, {CC_CHAN_KIND_PLAIN, 8},
    {CC_CHAN_KIND_SYNC, 0},  {CC_CHAN_KIND_SYNC, 2},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* ---- without waiting ---- */

TEST(a_case_that_is_possible_is_chosen)	/* covers: CHN-34/u */
{
	for (int k = 0; k < NUMBERS; k++) {
		CCChan *a = int_chan(numbers[k].kind, numbers[k].capacity);
		CCChan *b = int_chan(numbers[k].kind, numbers[k].capacity);
		int v = -1, w = 5;
		size_t i = 9;
		CCCase cases[] = {cc_case_recv(a, &v, sizeof v), cc_case_send(b, &w, sizeof w)};

		CHECK_EQ(cc_select(cases, 2, CC_NOW, &i), numbers[k].capacity > 0 ? 0 : EAGAIN);
		CHECK_EQ(i, numbers[k].capacity > 0 ? 1 : 2);
		CHECK_EQ(cc_chan_len(b), numbers[k].capacity > 0);
		CHECK_EQ(cc_chan_close_error(a, ENOSPC), 0);
		cases[1].kind = CC_CASE_NEVER;
		CHECK_EQ(cc_select(cases, 2, CC_FOREVER, &i), ENOSPC);
		CHECK_EQ(i, 0);
		CHECK_EQ(v, -1);
		CHECK_EQ(cc_chan_close_recv(b, ECONNRESET), 0);
		cases[0].kind = CC_CASE_NEVER;
		cases[1].kind = CC_CASE_SEND;
		CHECK_EQ(cc_select(cases, 2, CC_FOREVER, &i), ECONNRESET);
		CHECK_EQ(i, 1);
		free_chan(a);
		free_chan(b);
	}
}

TEST(nothing_possible_and_no_time)	/* covers: RES-46/u */
{
	CCChan *c = int_chan(CC_CHAN_KIND_PLAIN, 1);
	int v;
	size_t i = 9;
	CCCase cases[] = {cc_case_recv(c, &v, sizeof v), cc_case_default(),
	                  cc_case_timeout(CC_FOREVER)};

	CHECK_EQ(cc_select(cases, 1, CC_NOW, &i), EAGAIN);
	CHECK_EQ(i, 1);
	CHECK_EQ(cc_select(cases, 1, cc_now() - 1, &i), ETIMEDOUT);
	CHECK_EQ(i, 1);
	cases[1] = cc_case_recv(NULL, &v, sizeof v);	/* not asked for */
	CHECK_EQ(cc_select(cases, 1, cc_after(CC_MSEC), &i), ETIMEDOUT);
	CHECK_EQ(i, 1);
	cases[1] = cc_case_default();
	CHECK_EQ(cc_select(cases, 2, CC_FOREVER, &i), 0);	/* default */
	CHECK_EQ(i, 1);
	cases[1] = cc_case_timeout(cc_after(CC_MSEC));
	CHECK_EQ(cc_select(cases, 3, CC_FOREVER, &i), 0);
	CHECK_EQ(i, 1);
	CHECK(cc_now() >= cases[1].on.at);
	CHECK_EQ(cc_select(cases + 1, 1, CC_FOREVER, &i), 0);
	CHECK_EQ(i, 0);
	CHECK_EQ(cc_select(cases + 2, 1, CC_FOREVER, &i), EINVAL);
	CHECK_EQ(i, 1);
	CHECK_EQ(cc_select(NULL, 0, cc_after(CC_MSEC), &i), ETIMEDOUT);
	CHECK_EQ(i, 0);
	CHECK_EQ(cc_select(NULL, 0, CC_NOW, NULL), EAGAIN);
	free_chan(c);
}

TEST(a_time_that_is_the_deadline_is_chosen)	/* covers: RES-46/u */
{
	CCChan *c = int_chan(CC_CHAN_KIND_PLAIN, 1);
	int v = 0;
	size_t i = 9;
	CCCase cases[] = {cc_case_recv(c, &v, sizeof v), cc_case_timeout(cc_after(2 * CC_MSEC))};

	CHECK_EQ(cc_select(cases, 2, cases[1].on.at, &i), 0);
	CHECK_EQ(i, 1);
	free_chan(c);
}

TEST(as_many_cases_as_there_may_be)
{
	CCCase *cases = calloc(CC_SELECT_MAX, sizeof *cases);
	size_t i = 9;

	REQUIRE(cases != NULL && cases->kind == CC_CASE_NEVER);
	CHECK_EQ(cc_select(cases, CC_SELECT_MAX, CC_NOW, &i), EAGAIN);
	CHECK_EQ(i, CC_SELECT_MAX);
	free(cases);
}

/* It can take place at once, as a channel that is ready can: before a default, whatever the
 * deadline. */
TEST(a_time_that_has_passed_is_chosen)	/* covers: RES-46/u */
{
	const cc_time passed[] = {cc_now() - CC_SEC, cc_now(), 1, CC_NOW, -1};
	const cc_time deadlines[] = {CC_FOREVER, cc_now() - 2 * CC_SEC, CC_NOW, -2};
	CCChan *c = int_chan(CC_CHAN_KIND_PLAIN, 1);

	for (int k = 0; k < 5 * 4 * 2; k++) {
		int v = 0;
		size_t i = 9;
		CCCase cases[] = {cc_case_recv(c, &v, sizeof v), cc_case_timeout(cc_after(CC_SEC)),
		                  cc_case_timeout(passed[k / 8]),
		                  k & 4 ? cc_case_default() : cc_case_never(),
		                  cc_case_timeout(-3)};	/* not asked for */

		CHECK_EQ(cc_select(cases, 4, deadlines[k & 3], &i), 0);
		CHECK_EQ(i, 2);
		CHECK_EQ(cc_select(cases + 2, 1, deadlines[k & 3], &i), 0);
		CHECK_EQ(i, 0);
		/* Of the same time, the first. */
		cases[3] = cases[2];
		CHECK_EQ(cc_select(cases + 2, 2, deadlines[k & 3], &i), 0);
		CHECK_EQ(i, 0);
		/* Not before what is there. */
		CHECK_EQ(cc_chan_send(c, &(int){6}, sizeof(int)), 0);
		CHECK_EQ(cc_select(cases, 4, deadlines[k & 3], &i), 0);
		CHECK_EQ(i, 0);
		CHECK_EQ(v, 6);
	}
	free_chan(c);
}

TEST(cases_that_make_no_sense_are_refused)	/* covers: CHN-51/u */
{
	CCChan *c = int_chan(CC_CHAN_KIND_PLAIN, 1);
	int v;
	size_t i = 9;
	CCCase wrong[] = {
	    cc_case_recv(NULL, &v, sizeof v),
	    cc_case_recv(c, NULL, sizeof v),
	    cc_case_recv(c, &v, 1),
	    cc_case_send(NULL, &v, sizeof v),
	    cc_case_send(c, NULL, sizeof v),
	    cc_case_send(c, &v, 8),
	    cc_case_token(NULL),
	    cc_case_task((CCTask){0}, NULL),
	    cc_case_never(),
	};

	wrong[8].kind = (CCCaseKind)77;
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
		CCCase cases[] = {wrong[k], cc_case_timeout(cc_after(CC_SEC))};

		CHECK_EQ(cc_select(cases, 2, CC_FOREVER, &i), EINVAL);
		CHECK_EQ(i, 2);
	}
	CHECK_EQ(cc_select(NULL, 1, CC_NOW, &i), EINVAL);
	CHECK_EQ(i, 1);
	CHECK_EQ(cc_select(wrong, CC_SELECT_MAX + 1, CC_NOW, &i), EINVAL);
	CHECK_EQ(i, CC_SELECT_MAX + 1);
	CHECK_EQ(cc_select(NULL, 0, CC_FOREVER, &i), EINVAL);
	CHECK_EQ(cc_select(&(CCCase){.kind = CC_CASE_NEVER}, 1, CC_FOREVER, &i), EINVAL);
	CHECK_EQ(cc_chan_len(c), 0);
	free_chan(c);
}

TEST(each_of_several_has_its_turn)
{
	CCChan *c[3];
	CCCase cases[3];
	int v, chosen[3] = {0}, in_order[3] = {0};
	size_t i;

	for (int k = 0; k < 3; k++) {
		c[k] = int_chan(CC_CHAN_KIND_PLAIN, 300);
		for (v = 0; v < 300; v++)
			CHECK_EQ(cc_chan_send(c[k], &v, sizeof v), 0);
		cases[k] = cc_case_recv(c[k], &v, sizeof v);
	}
	for (int n = 0; n < 300; n++) {
		CHECK_EQ(cc_select(cases, 3, CC_FOREVER, &i), 0);
		chosen[i]++;
		CHECK_EQ(cc_select_in_order(cases, 3, CC_FOREVER, &i), 0);
		in_order[i]++;
	}
	for (int k = 0; k < 3; k++)
		CHECK(chosen[k] >= 50);
	CHECK(in_order[0] >= 190 && in_order[2] == 0);
	for (int k = 0; k < 3; k++)
		CHECK_EQ(cc_chan_free(c[k]), 0);
}

/* Also where every round of a loop makes other selects as well. */
TEST(each_has_its_turn_however_many_selects_there_are)
{
	enum { ROUNDS = 300 };
	CCToken *token = cc_token_new();
	CCCase others[2] = {cc_case_token(token), cc_case_default()};

	for (int more = 0; more < 12; more++) {
		CCChan *c[3];
		CCCase cases[3];
		int v = 0, chosen[3] = {0};
		size_t i;

		for (int k = 0; k < 3; k++) {
			c[k] = int_chan(CC_CHAN_KIND_PLAIN, ROUNDS);
			fill(c[k], 0);
			cases[k] = cc_case_recv(c[k], &v, sizeof v);
		}
		for (int n = 0; n < ROUNDS; n++) {
			CHECK_EQ(cc_select(cases, 3, CC_FOREVER, &i), 0);
			chosen[i]++;
			for (int m = 0; m < more; m++)
				CHECK_EQ(cc_select(others, 2, CC_FOREVER, &i), 0);
		}
		for (int k = 0; k < 3; k++) {
			CHECK(chosen[k] >= ROUNDS / 6);
			CHECK_EQ(cc_chan_free(c[k]), 0);
		}
	}
	CHECK_EQ(cc_token_free(token), 0);
}

/* ---- waiting ---- */

struct selector {
	CCCase cases[4];
	size_t count, index;
	cc_time span;
	int v[4];
	struct sleeper s;
};

static int act_select(void *arg)
{
	struct selector *a = arg;

	return cc_select(a->cases, a->count, a->span == CC_FOREVER ? CC_FOREVER : cc_after(a->span),
	                 &a->index);
}

TEST(the_first_that_becomes_possible_is_chosen)	/* covers: CHN-34/u, CHN-36/u, SCH-58/s */
{
	CCRuntime *rt = chan_runtime();

	for (int run = 0; run < NUMBERS * 8; run++) {
		const int k = run / 8, which = run & 1;
		const bool sends = run & 2;
		CCChan *c[2];
		struct selector a = {.count = 2, .span = CC_FOREVER, .v = {-1, -1}};
		int v = 0, filled = 0;

		for (int i = 0; i < 2; i++) {
			c[i] = int_chan(numbers[k].kind, numbers[k].capacity);
			filled = sends ? fill(c[i], 0) : 0;
			a.cases[i] = sends ? cc_case_send(c[i], &a.v[i], sizeof(int))
			                   : cc_case_recv(c[i], &a.v[i], sizeof(int));
		}
		sleeper_start(&a.s, rt, run & 4 ? THREAD : FIBER, act_select, &a);
		until_waiting(c[0], sends ? CC__SEND : CC__RECV, 1);
		until_waiting(c[1], sends ? CC__SEND : CC__RECV, 1);
		if (sends)
			for (int n = 0; n <= filled; n++)
				CHECK_EQ(cc_chan_recv(c[which], &v, sizeof v), 0);
		else
			CHECK_EQ(cc_chan_send(c[which], &(int){17}, sizeof(int)), 0);
		CHECK_EQ(sleeper_join(&a.s), 0);
		CHECK_EQ(a.index, which);
		CHECK_EQ(sends ? v : a.v[which], sends ? -1 : 17);
		CHECK_EQ(a.v[!which], -1);
		for (int i = 0; i < 2; i++) {
			CHECK_EQ(waiting(c[i], CC__SEND) + waiting(c[i], CC__RECV), 0);
			CHECK_EQ(cc_chan_free(c[i]), 0);
		}
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(close_ends_a_select)	/* covers: CHN-36/u */
{
	CCRuntime *rt = chan_runtime();

	for (int run = 0; run < NUMBERS * 2; run++) {
		CCChan *a = int_chan(numbers[run / 2].kind, numbers[run / 2].capacity);
		CCChan *b = int_chan(numbers[run / 2].kind, numbers[run / 2].capacity);
		struct selector s = {.count = 2, .span = CC_FOREVER};

		s.cases[0] = cc_case_recv(a, &s.v[0], sizeof(int));
		s.cases[1] = cc_case_recv(b, &s.v[1], sizeof(int));
		sleeper_start(&s.s, rt, run & 1 ? THREAD : FIBER, act_select, &s);
		until_waiting(a, CC__RECV, 1);
		until_waiting(b, CC__RECV, 1);
		CHECK_EQ(cc_chan_close_error(b, ETIMEDOUT), 0);	/* no deadline's */
		CHECK_EQ(sleeper_join(&s.s), ETIMEDOUT);
		CHECK_EQ(s.index, 1);
		free_chan(a);
		free_chan(b);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(duplicates_and_both_directions_of_one_channel)	/* covers: RES-53/u */
{
	CCRuntime *rt = chan_runtime();

	for (int run = 0; run < NUMBERS * 2; run++) {
		const bool buffered = numbers[run / 2].capacity > 0;
		CCChan *c = int_chan(numbers[run / 2].kind, numbers[run / 2].capacity);
		struct selector s = {.count = 4, .span = CC_FOREVER, .v = {-1, -1, 33, 33}};
		int v = 0;

		fill(c, 0);
		while (cc_chan_try_recv(c, &v, sizeof v) == 0)
			continue;
		s.cases[0] = cc_case_recv(c, &s.v[0], sizeof(int));
		s.cases[1] = cc_case_recv(c, &s.v[1], sizeof(int));
		s.cases[2] = buffered ? cc_case_never() : cc_case_send(c, &s.v[2], sizeof(int));
		s.cases[3] = buffered ? cc_case_never() : cc_case_send(c, &s.v[3], sizeof(int));
		sleeper_start(&s.s, rt, run & 1 ? THREAD : FIBER, act_select, &s);
		until_waiting(c, CC__RECV, 2);
		if (buffered || run & 1) {
			CHECK_EQ(cc_chan_send(c, &(int){8}, sizeof(int)), 0);
			CHECK_EQ(sleeper_join(&s.s), 0);
			CHECK(s.index < 2 && s.v[s.index] == 8 && s.v[!s.index] == -1);
		} else {
			until_waiting(c, CC__SEND, 2);
			CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0);
			CHECK_EQ(v, 33);
			CHECK_EQ(sleeper_join(&s.s), 0);
			CHECK(s.index >= 2);
		}
		free_chan(c);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- tasks ---- */

TEST(the_end_of_a_task_is_a_case)
{
	CCRuntime *rt = chan_runtime();

	for (int run = 0; run < 4; run++) {
		CCChan *c = int_chan(CC_CHAN_KIND_PLAIN, (size_t)(run & 1) * 8);
		struct gate g = {{0}, {0}};
		CCTask t = spawn(rt, wait_at, &g);
		struct selector s = {.count = 2, .span = CC_FOREVER};
		int result = -1;

		s.cases[0] = cc_case_recv(c, &s.v[0], sizeof(int));
		s.cases[1] = cc_case_task(t, &result);
		sleeper_start(&s.s, rt, run & 2 ? THREAD : FIBER, act_select, &s);
		until_waiting(c, CC__RECV, 1);
		cc__store(&g.open, 1, CC__RELEASE);
		CHECK_EQ(sleeper_join(&s.s), 0);
		CHECK_EQ(s.index, 1);
		CHECK_EQ(result, 17);
		CHECK_EQ(cc_task_join(t, CC_NOW, NULL), EINVAL);	/* consumed */
		CHECK_EQ(cc_select(s.cases, 2, cc_after(CC_SEC), &s.index), EINVAL);
		free_chan(c);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(a_task_that_was_not_chosen_can_be_joined)
{
	CCRuntime *rt = chan_runtime();

	for (int run = 0; run < 200; run++) {
		CCChan *c = int_chan(CC_CHAN_KIND_PLAIN, 0);
		struct gate g = {{0}, {0}};
		CCTask t = spawn(rt, wait_at, &g);
		struct selector s = {.count = 2, .span = CC_FOREVER};

		s.cases[0] = cc_case_recv(c, &s.v[0], sizeof(int));
		s.cases[1] = cc_case_task(t, NULL);
		sleeper_start(&s.s, rt, run & 1 ? THREAD : FIBER, act_select, &s);
		until_waiting(c, CC__RECV, 1);
		/* The element comes, and the task ends while the select withdraws. */
		CHECK_EQ(cc_chan_send(c, &(int){8}, sizeof(int)), 0);
		cc__store(&g.open, 1, CC__RELEASE);
		CHECK_EQ(sleeper_join(&s.s), 0);
		CHECK_EQ(s.index, 0);
		CHECK_EQ(join(t), 17);
		free_chan(c);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(an_ended_task_is_chosen_at_once)
{
	CCRuntime *rt = chan_runtime();
	struct gate g = {{1}, {0}};
	CCTask t = spawn(rt, wait_at, &g);
	int result = 0;
	size_t i = 9;
	CCCase c;

	while (cc_task_join(t, CC_NOW, &result) == EAGAIN)
		sched_yield();
	t = spawn(rt, wait_at, &g);
	c = cc_case_task(t, &result);
	result = 0;
	CHECK_EQ(cc_select(&c, 1, CC_FOREVER, &i), 0);
	CHECK_EQ(i, 0);
	CHECK_EQ(result, 17);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- tokens ---- */

TEST(a_token_wakes_everybody)
{
	enum { MANY = 100 };
	static struct selector s[MANY];
	CCRuntime *rt = chan_runtime();
	CCToken *t = cc_token_new();
	CCChan *c = int_chan(CC_CHAN_KIND_PLAIN, 0);

	CHECK_EQ(cc_token_is_set(t), 0);
	CHECK_EQ(cc_token_wait(t, CC_NOW), EAGAIN);
	CHECK_EQ(cc_token_wait(t, cc_after(CC_MSEC)), ETIMEDOUT);
	for (int i = 0; i < MANY; i++) {
		s[i] = (struct selector){.count = 2, .span = CC_FOREVER};
		s[i].cases[0] = cc_case_recv(c, &s[i].v[0], sizeof(int));
		s[i].cases[1] = cc_case_token(t);
		sleeper_start(&s[i].s, rt, i % 10 == 0 ? THREAD : FIBER, act_select, &s[i]);
	}
	until_waiting(c, CC__RECV, MANY);
	CHECK_EQ(cc_token_set(t), 0);
	CHECK_EQ(cc_token_set(t), 0);
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(sleeper_join(&s[i].s), 0);
		CHECK_EQ(s[i].index, 1);
	}
	CHECK_EQ(cc_token_is_set(t), 1);
	CHECK_EQ(cc_token_wait(t, CC_NOW), 0);
	CHECK_EQ(cc_token_wait(t, CC_FOREVER), 0);
	CHECK_EQ(cc_select(s[0].cases, 2, CC_FOREVER, &s[0].index), 0);
	free_chan(c);
	CHECK_EQ(cc_token_free(t), 0);
	CHECK_EQ(cc_token_free(NULL), 0);
	CHECK_EQ(cc_token_set(NULL), EINVAL);
	CHECK_EQ(cc_token_wait(NULL, CC_NOW), EINVAL);
	CHECK_EQ(cc_token_is_set(NULL), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int wait_token(void *arg)
{
	return cc_token_wait(arg, CC_FOREVER);
}

static int wait_and_free(void *arg)
{
	const int err = cc_token_wait(arg, CC_FOREVER);

	return err != 0 ? err : cc_token_free(arg);
}

TEST(who_has_waited_for_a_token_may_free_it)	/* covers: CHN-52/z */
{
	CCRuntime *rt = chan_runtime();

	for (int i = 0; i < 1000; i++) {
		CCToken *t = cc_token_new();
		struct sleeper s;

		sleeper_start(&s, rt, i % 16 == 0 ? THREAD : FIBER, wait_and_free, t);
		if (i % 2 == 0)
			until_parked(&s);
		CHECK_EQ(cc_token_set(t), 0);
		CHECK_EQ(sleeper_join(&s), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(a_token_that_somebody_waits_for_is_not_freed)
{
	CCRuntime *rt = chan_runtime();
	CCToken *t = cc_token_new();
	struct sleeper s;

	sleeper_start(&s, rt, FIBER, wait_token, t);
	until_parked(&s);
	CHECK_EQ(cc_token_free(t), EBUSY);
	CHECK_EQ(cc_token_set(t), 0);
	CHECK_EQ(sleeper_join(&s), 0);
	CHECK_EQ(cc_token_free(t), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- crowds ---- */

struct crowd {
	CCChan *c[3];
	CCToken *stop;
	struct sleeper s;
	long sent, received, sum;
	int first;
};

/* Sends to whichever takes it. */
static int send_anywhere(void *arg)
{
	struct crowd *a = arg;
	CCCase cases[3];

	for (int n = 0; n < 300; n++) {
		const int v = a->first + n;
		size_t i;

		for (int k = 0; k < 3; k++)
			cases[k] = cc_case_send(a->c[k], &v, sizeof v);
		if (!CHECK_EQ(cc_select(cases, 3, CC_FOREVER, &i), 0))
			return 1;
		a->sent++;
		a->sum += v;
	}
	return 0;
}

/* Receives from any, in a hurry, until the token is set and nothing comes. */
static int recv_anywhere(void *arg)
{
	struct crowd *a = arg;

	for (;;) {
		CCCase cases[4];
		int v = -1, err;
		size_t i;

		for (int k = 0; k < 3; k++)
			cases[k] = cc_case_recv(a->c[k], &v, sizeof v);
		cases[3] = cc_case_token(a->stop);
		err = cc_select_in_order(cases, 4, cc_after(50 * CC_USEC), &i);
		if (err == ETIMEDOUT)
			continue;
		if (!CHECK_EQ(err, 0) || i == 3)
			return err;
		a->received++;
		a->sum += v;
	}
}

/* covers: SCH-58/s, CHN-36/s, CHN-03/z, CHN-07/z, CHN-18/z, CHN-41/z, CHN-19/z, RES-05/s */
TEST(a_crowd_of_selects_loses_nothing)
{
	enum { SENDERS = 4, RECEIVERS = 4 };
	CCRuntime *rt = chan_runtime();

	for (int k = 0; k < NUMBERS; k++) {
		struct crowd a[SENDERS + RECEIVERS] = {{.first = 0}};
		long sent = 0, received = 0, balance = 0;
		CCToken *stop = cc_token_new();
		CCChan *c[3];

		for (int i = 0; i < 3; i++)
			c[i] = int_chan(numbers[k].kind, numbers[k].capacity);
		for (int i = 0; i < SENDERS + RECEIVERS; i++) {
			a[i].stop = stop;
			a[i].first = 1000 * i;
			/* Each names them in an order of his own. */
			for (int j = 0; j < 3; j++)
				a[i].c[j] = c[(i + j) % 3];
			sleeper_start(&a[i].s, rt, i & 1 ? THREAD : FIBER,
			              i < SENDERS ? send_anywhere : recv_anywhere, &a[i]);
		}
		for (int i = 0; i < SENDERS; i++) {
			CHECK_EQ(sleeper_join(&a[i].s), 0);
			sent += a[i].sent;
			balance += a[i].sum;
		}
		for (int i = 0; i < 3; i++)
			TEST_UNTIL(cc_chan_len(c[i]) == 0);
		CHECK_EQ(cc_token_set(stop), 0);
		for (int i = SENDERS; i < SENDERS + RECEIVERS; i++) {
			CHECK_EQ(sleeper_join(&a[i].s), 0);
			received += a[i].received;
			balance -= a[i].sum;
		}
		CHECK_EQ(sent, 300 * SENDERS);
		CHECK_EQ(received, sent);
		CHECK_EQ(balance, 0);
		for (int i = 0; i < 3; i++)
			free_chan(c[i]);
		CHECK_EQ(cc_token_free(stop), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(hundreds_of_cases_are_possible)
{
	enum { MANY = 300 };
	static CCCase cases[MANY];
	static CCChan *c[MANY];
	CCRuntime *rt = chan_runtime();
	struct actor sender;
	int v = 0;
	size_t i = 0;

	for (int k = 0; k < MANY; k++) {
		c[k] = int_chan(CC_CHAN_KIND_PLAIN, 0);
		cases[k] = cc_case_recv(c[k], &v, sizeof v);
	}
	CHECK_EQ(cc_select(cases, MANY, cc_after(CC_MSEC), &i), ETIMEDOUT);
	start_send(&sender, &(struct setting){.sender = FIBER, .rt = rt}, c[271], 5, 1, CC_FOREVER);
	CHECK_EQ(cc_select(cases, MANY, CC_FOREVER, &i), 0);
	CHECK_EQ(i, 271);
	CHECK_EQ(v, 5);
	CHECK_EQ(finish(&sender), 0);
	for (int k = 0; k < MANY; k++)
		free_chan(c[k]);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
