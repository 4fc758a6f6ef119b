/* The first of several events: <ccc/select.h>, <ccc/token.h>. */
#include <assert.h>

#include <ccc/ccc.h>

/* A request, or the word to stop. */
static void receive_or_stop(void)
{
	CCChan *requests = cc_chan_new(sizeof(int), 1);
	CCToken *stop = cc_token_new();
	int request = 5;
	CCCase cases[] = {
		cc_case_recv(requests, &request, sizeof request),
		cc_case_token(stop),
	};
	size_t which;

	assert(cc_chan_send(requests, &request, sizeof request) == 0);
	assert(cc_select(cases, 2, CC_FOREVER, &which) == 0 && which == 0);
	assert(cc_token_set(stop) == 0);
	assert(cc_select(cases, 2, CC_FOREVER, &which) == 0 && which == 1);
	assert(cc_token_free(stop) == 0);
	assert(cc_chan_free(requests) == 0);
}

/* What is urgent comes first. */
static void prefer_the_first(void)
{
	CCChan *urgent = cc_chan_new(sizeof(int), 1), *other = cc_chan_new(sizeof(int), 1);
	int n = 1;
	CCCase cases[] = {cc_case_recv(urgent, &n, sizeof n), cc_case_recv(other, &n, sizeof n)};
	size_t which;

	assert(cc_chan_send(other, &n, sizeof n) == 0);
	assert(cc_chan_send(urgent, &n, sizeof n) == 0);
	assert(cc_select_in_order(cases, 2, CC_FOREVER, &which) == 0 && which == 0);
	assert(cc_select_in_order(cases, 2, CC_FOREVER, &which) == 0 && which == 1);
	assert(cc_chan_free(urgent) == 0 && cc_chan_free(other) == 0);
}

/* A send, if there is room before a point in time. */
static void send_or_give_up(void)
{
	CCChan *full = cc_chan_new(sizeof(int), 0);
	int n = 1;
	CCCase cases[] = {cc_case_send(full, &n, sizeof n), cc_case_timeout(cc_after(CC_MSEC))};
	size_t which;

	assert(cc_select(cases, 2, CC_FOREVER, &which) == 0 && which == 1);
	assert(cc_chan_free(full) == 0);
}

/* A case that is switched off, and one that is taken if no other can be. */
static void do_not_wait(void)
{
	CCChan *empty = cc_chan_new(sizeof(int), 1);
	int n;
	CCCase cases[] = {cc_case_never(), cc_case_recv(empty, &n, sizeof n), cc_case_default()};
	size_t which;

	assert(cc_select(cases, 3, CC_FOREVER, &which) == 0 && which == 2);
	assert(cc_chan_free(empty) == 0);
}

static int answer(void *arg)
{
	(void)arg;
	return 42;
}

/* The end of a task is an event, too. */
static void wait_for_a_task(void)
{
	int result = 0;
	size_t which;
	CCTask task;

	assert(cc_task_spawn(NULL, &task, NULL, answer, NULL) == 0);
	CCCase cases[] = {cc_case_task(task, &result), cc_case_timeout(CC_FOREVER)};
	assert(cc_select(cases, 2, CC_FOREVER, &which) == 0);
	assert(which == 0 && result == 42);	/* the task is joined */
}

/* With the two ends of a channel. */
static void select_on_ends(void)
{
	CCChan *chan = cc_chan_new(sizeof(int), 1);
	CCChanTx tx = cc_chan_tx(chan);
	CCChanRx rx = cc_chan_rx(chan);
	int in = 5, out = 0;
	CCCase cases[] = {cc_case_rx(rx, &out, sizeof out), cc_case_tx(tx, &in, sizeof in)};
	size_t which;

	assert(cc_select(cases, 2, CC_FOREVER, &which) == 0 && which == 1);	/* empty: send */
	assert(cc_select(cases, 2, CC_FOREVER, &which) == 0 && which == 0);	/* full: receive */
	assert(out == 5);
	assert(cc_chan_free(chan) == 0);
}

static int set_it(void *arg)
{
	return cc_token_set(arg);
}

/* Any number of fibers and threads wait for one token. */
static void wait_for_a_token(void)
{
	CCToken *loaded = cc_token_new();
	int err = 0;

	assert(!cc_token_is_set(loaded));
	cc_nursery_scope(n, &err) {
		cc_nursery_spawn(n, NULL, set_it, loaded);
		assert(cc_token_wait(loaded, CC_FOREVER) == 0);
	}
	assert(err == 0 && cc_token_is_set(loaded));
	assert(cc_token_free(loaded) == 0);
}

int main(void)
{
	receive_or_stop();
	prefer_the_first();
	send_or_give_up();
	do_not_wait();
	wait_for_a_task();
	select_on_ends();
	wait_for_a_token();
	return 0;
}
