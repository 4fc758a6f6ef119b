/* chan_verbose_test.c - what CC_CHAN_DEBUG_VERBOSE adds: which task waits for what, which task or
 * thread wakes it and why, and which case of a select won.
 *
 * mutate: src/chan */
#include "chan_lines.h"

#include "workers.h"

/* The names of the specification, and their values. */
/* covers: SCH-54/a */
_Static_assert(CC_CHAN_NOTIFY_NONE == 0 && CC_CHAN_NOTIFY_DATA == 1 && CC_CHAN_NOTIFY_CANCEL == 2 &&
                   CC_CHAN_NOTIFY_CLOSE == 3 && CC_CHAN_NOTIFY_SIGNAL == 4,
               "SCH-54");

/* ---- children ---- */

static CCRuntime *start(const void *workers)
{
	clear_variables();
	setenv("CC_CHAN_DEBUG_VERBOSE", "1", 1);
	return workers_new(*(const unsigned *)workers, USUAL);
}

static void until_parked(CCTask t)
{
	TEST_UNTIL(state_of(t) == CC__PARKED);
}

static void end(CCRuntime *rt, CCChan *c)
{
	MUST(cc_chan_free(c) == 0 && cc_runtime_free(rt) == 0);
}

/* One task waits, and another one comes for it. */
static void meet_on(CCRuntime *rt, CCChan *c, cc_task_main *waits, cc_task_main *comes)
{
	const CCTask waiter = spawn(rt, waits, c);
	CCTask waker;

	until_parked(waiter);
	waker = spawn(rt, comes, c);
	MUST(join(waiter) == 0 && join(waker) == 0);
	tell_id("waiter", waiter.id);
	tell_id("waker", waker.id);
}

static void hand_over(void *workers)
{
	CCRuntime *rt = start(workers);
	CCChan *c = chan_named("meet", 0);

	meet_on(rt, c, recv_one, send_one);
	end(rt, c);
}

static void fill_ring(void *workers)
{
	CCRuntime *rt = start(workers);
	CCChan *c = chan_named("meet", 8);

	meet_on(rt, c, recv_one, send_one);
	end(rt, c);
}

static void make_room(void *workers)
{
	CCRuntime *rt = start(workers);
	CCChan *c = chan_named("meet", 1);

	MUST(send_one(c) == 0);
	meet_on(rt, c, send_one, recv_one);
	end(rt, c);
}

static void close_it(void *workers)
{
	CCRuntime *rt = start(workers);
	CCChan *c = chan_named("meet", 0);
	const CCTask waiter = spawn(rt, recv_one, c);

	until_parked(waiter);
	MUST(cc_chan_close_error(c, ENOSPC) == 0);
	MUST(join(waiter) == ENOSPC);
	tell_id("waiter", waiter.id);
	end(rt, c);
}

static int recv_a_while(void *c)
{
	int v;

	return cc_chan_timed_recv(c, &v, sizeof v, CC_MSEC);
}

static void be_late(void *workers)
{
	CCRuntime *rt = start(workers);
	CCChan *c = chan_named("meet", 0);
	const CCTask waiter = spawn(rt, recv_a_while, c);

	MUST(join(waiter) == ETIMEDOUT);
	tell_id("waiter", waiter.id);
	end(rt, c);
}

static void be_cancelled(void *workers)
{
	CCRuntime *rt = start(workers);
	const CCNurseryOptions o = {.runtime = rt};
	CCChan *c = chan_named("meet", 8);
	CCTask waiter;
	int err = 0;

	cc_nursery_scope_with(n, &err, &o) {
		MUST(cc_nursery_spawn_task(n, &waiter, NULL, recv_one, c) == 0);
		until_parked(waiter);
		MUST(cc_nursery_cancel(n, 0) == 0);
	}
	MUST(err == ECANCELED);
	tell_id("waiter", waiter.id);
	end(rt, c);
}

/* Of a channel that only the receiver itself could have closed. */
static int recv_in_vain(void *c)
{
	int err = -1, v;

	cc_nursery_scope(n, &err) {
		MUST(cc_nursery_autoclose(n, c) == 0);
		MUST(cc_chan_recv(c, &v, sizeof v) == EDEADLK);
	}
	return err;
}

static void wait_in_vain(void *workers)
{
	CCRuntime *rt = start(workers);
	CCChan *c = chan_named("meet", 0);
	const CCTask waiter = spawn(rt, recv_in_vain, c);

	MUST(join(waiter) == 0);
	tell_id("waiter", waiter.id);
	end(rt, c);
}

/* ---- one operation ---- */

struct scenario {
	void (*child)(void *workers);
	const char *verb, *reason, *result;
};

/* A task waited, and another task woke it. */
static void check_meeting(const struct scenario *s, unsigned workers)
{
	const char *text = printed(s->child, &workers);
	const char *op = strcmp(s->verb, "send") == 0 ? "send" : "receive";
	const unsigned waiter = id_of(text, "waiter"), waker = id_of(text, "waker");
	int at = -1;

	CHECK(waiter != 0 && waker != 0);
	check_next(text, &at, "0x* meet: task %u waits to %s", waiter, s->verb);
	check_next(text, &at, "0x* meet: task %u wakes task %u: %s", waker, waiter, s->reason);
	check_next(text, &at, "0x* meet: task %u has waited to %s: %s", waiter, s->verb, s->reason);
	check_next(text, &at, "0x* meet: %s by task %u: done", op, waiter);
	CHECK_EQ(lines(text, "* wakes *"), 1);
	CHECK_EQ(lines(text, "* waits *"), 1);
}

TEST(waker_and_reason_are_told)	/* covers: CHN-49/u, CHN-54/u */
{
	static const struct scenario all[] = {
	    {.child = hand_over, .verb = "receive", .reason = "CC_CHAN_NOTIFY_DATA"},
	    {.child = fill_ring, .verb = "receive", .reason = "CC_CHAN_NOTIFY_SIGNAL"},
	    {.child = make_room, .verb = "send", .reason = "CC_CHAN_NOTIFY_DATA"},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (unsigned workers = 1; workers <= 2; workers++)
			check_meeting(&all[i], workers);
}

TEST(close_is_told_as_the_reason)	/* covers: CHN-49/u, CHN-54/u */
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		const char *text = printed(close_it, &workers);
		const unsigned waiter = id_of(text, "waiter");
		int at = -1;

		check_next(text, &at, "0x* meet: task %u waits to receive", waiter);
		check_next(text, &at,
		           "0x* meet: closed with 0 for senders, 28 for receivers, by *");
		check_next(text, &at, "0x* meet: thread 0x* wakes task %u: CC_CHAN_NOTIFY_CLOSE",
		           waiter);
		check_next(text, &at,
		           "0x* meet: task %u has waited to receive: CC_CHAN_NOTIFY_CLOSE", waiter);
		check_next(text, &at, "0x* meet: receive by task %u: error 28", waiter);
	}
}

/* Nothing but the waiter itself ended its wait. */
TEST(waits_that_end_without_a_waker_say_why)	/* covers: CHN-49/u, CHN-54/u */
{
	static const struct scenario all[] = {
	    {be_late, ", with a deadline", "CC_CHAN_NOTIFY_NONE, timed out", "ETIMEDOUT"},
	    {be_cancelled, "", "CC_CHAN_NOTIFY_NONE, cancelled", "ECANCELED"},
	    {wait_in_vain, "", "CC_CHAN_NOTIFY_CANCEL", "EDEADLK"},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (unsigned workers = 1; workers <= 2; workers++) {
			const char *text = printed(all[i].child, &workers);
			const unsigned waiter = id_of(text, "waiter");
			int at = -1;

			check_next(text, &at, "0x* meet: task %u waits to receive%s", waiter,
			           all[i].verb);
			if (all[i].child == wait_in_vain)
				check_next(
				    text, &at,
				    "0x* meet: task %u ends its own wait: CC_CHAN_NOTIFY_CANCEL",
				    waiter);
			check_next(text, &at, "0x* meet: task %u has waited to receive: %s", waiter,
			           all[i].reason);
			check_next(text, &at, "0x* meet: receive by task %u: %s", waiter,
			           all[i].result);
			CHECK_EQ(lines(text, "* wakes *"), 0);
		}
}

/* ---- select ---- */

static CCChan *one, *two;
static CCToken *token;

static int select_of_four(void *unused)
{
	int v = 0;
	const CCCase cases[] = {cc_case_timeout(cc_after(3600 * CC_SEC)),
	                        cc_case_recv(one, &v, sizeof v), cc_case_send(two, &v, sizeof v),
	                        cc_case_token(token)};
	size_t i;

	(void)unused;
	MUST(cc_select(cases, 4, CC_FOREVER, &i) == 0);
	return (int)i;
}

static CCRuntime *start_select(const void *workers)
{
	CCRuntime *rt = start(workers);

	one = chan_named("one", 8);
	two = chan_named("two", 0);
	MUST((token = cc_token_new()) != NULL);
	return rt;
}

static void end_select(CCRuntime *rt)
{
	MUST(cc_token_free(token) == 0 && cc_chan_free(one) == 0);
	end(rt, two);
}

/* Its send is taken by the second task. */
static void select_and_meet(void *workers)
{
	CCRuntime *rt = start_select(workers);
	const CCTask waiter = spawn(rt, select_of_four, NULL);
	CCTask waker;

	until_parked(waiter);
	waker = spawn(rt, recv_one, two);
	MUST(join(waiter) == 2 && join(waker) == 0);
	tell_id("waiter", waiter.id);
	tell_id("waker", waker.id);
	end_select(rt);
}

/* A token is none of a channel's wakes. */
static void select_and_set(void *workers)
{
	CCRuntime *rt = start_select(workers);
	const CCTask waiter = spawn(rt, select_of_four, NULL);

	until_parked(waiter);
	MUST(cc_token_set(token) == 0);
	MUST(join(waiter) == 3);
	tell_id("waiter", waiter.id);
	end_select(rt);
}

static void check_waits(const char *text, unsigned waiter, int *at)
{
	int each[3] = {*at, *at, *at};

	check_next(text, &each[0], "select of 4 by task %u: case 1, receive from 0x* one, waits",
	           waiter);
	check_next(text, &each[1], "select of 4 by task %u: case 2, send to 0x* two, waits",
	           waiter);
	check_next(text, &each[2], "select of 4 by task %u: case 3, token, waits", waiter);
	CHECK_EQ(lines(text, "* waits"), 3);
	for (int i = 0; i < 3; i++)
		*at = each[i] > *at ? each[i] : *at;
}

TEST(select_tells_its_cases_the_winner_and_the_losers)	/* covers: CHN-49/u, CHN-54/u */
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		const char *text = printed(select_and_meet, &workers);
		const unsigned waiter = id_of(text, "waiter");
		int at = -1;

		check_waits(text, waiter, &at);
		check_next(text, &at, "0x* two: task %u wakes task %u: CC_CHAN_NOTIFY_DATA",
		           id_of(text, "waker"), waiter);
		check_next(text, &at, "select of 4 by task %u: case 2, send to 0x* two, won: done",
		           waiter);
		check_next(text, &at, "select of 4 by task %u: case 0, timeout, lost", waiter);
		check_next(text, &at, "select of 4 by task %u: case 1, receive from 0x* one, lost",
		           waiter);
		check_next(text, &at, "select of 4 by task %u: case 3, token, lost", waiter);
		CHECK_EQ(lines(text, "* won: *"), 1);
		CHECK_EQ(lines(text, "* lost"), 3);
	}
}

TEST(select_that_no_channel_wins_tells_what_did)	/* covers: CHN-49/u, CHN-54/u */
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		const char *text = printed(select_and_set, &workers);
		const unsigned waiter = id_of(text, "waiter");
		int at = -1;

		check_waits(text, waiter, &at);
		check_next(text, &at, "select of 4 by task %u: case 3, token, won: done", waiter);
		CHECK_EQ(lines(text, "* lost"), 3);
		CHECK_EQ(lines(text, "* wakes *"), 0);
	}
}

/* Without a case, and with cases that a select need not look at. */
static void select_at_once(void *unused)
{
	const unsigned workers = 1;
	int v = 0;
	CCCase cases[4];

	(void)unused;
	cc_ignore(cc_runtime_free(start_select(&workers)));
	cases[0] = cc_case_recv(one, &v, sizeof v);
	MUST(cc_select(cases, 1, CC_NOW, NULL) == EAGAIN);
	MUST(cc_select(cases, 1, cc_after(CC_MSEC), NULL) == ETIMEDOUT);
	cases[1] = cc_case_timeout(cc_after(CC_MSEC));
	MUST(cc_select(cases, 2, CC_FOREVER, NULL) == 0);
	cases[0] = cc_case_send(one, &v, sizeof v);
	cases[1] = cc_case_recv(NULL, &v, sizeof v);
	cases[2] = (CCCase){.kind = (CCCaseKind)99};
	cases[3] = cc_case_default();
	MUST(cc_select_in_order(cases, 4, CC_FOREVER, NULL) == 0);
}

TEST(select_tells_cases_that_make_no_sense)	/* covers: CHN-49/u, CHN-54/u */
{
	const char *text = printed(select_at_once, NULL);
	int at = -1;

	check_next(text, &at, "select of 1 by thread 0x*: no case: EAGAIN");
	check_next(text, &at, "select of 1 by thread 0x*: no case: ETIMEDOUT");
	check_next(text, &at, "select of 2 by thread 0x*: case 1, timeout, won: done");
	check_next(text, &at, "select of 2 by thread 0x*: case 0, receive from 0x* one, lost");
	check_next(text, &at, "select of 4 by thread 0x*: case 0, send to 0x* one, won: done");
	check_next(text, &at, "select of 4 by thread 0x*: case 1, receive, lost");
	check_next(text, &at, "select of 4 by thread 0x*: case 2, no such kind, lost");
	check_next(text, &at, "select of 4 by thread 0x*: case 3, default, lost");
}
