/* Channels: <ccc/chan.h>. */
#include <assert.h>
#include <stdlib.h>

#include <ccc/ccc.h>

static void send_and_receive(void)
{
	CCChan *numbers = cc_chan_new(sizeof(int), 2);
	int in = 5, out = 0;

	assert(cc_chan_send(numbers, &in, sizeof in) == 0);
	assert(cc_chan_recv(numbers, &out, sizeof out) == 0);
	assert(out == 5);
	assert(cc_chan_close(numbers) == 0);
	assert(cc_chan_recv(numbers, &out, sizeof out) == EPIPE);	/* closed and empty */
	assert(cc_chan_free(numbers) == 0);
}

static void wait_until_a_deadline(void)
{
	CCChan *numbers = cc_chan_new(sizeof(int), 1);
	int n = 1;

	assert(cc_chan_send_until(numbers, &n, sizeof n, cc_after(CC_SEC)) == 0);
	assert(cc_chan_send_until(numbers, &n, sizeof n, cc_after(CC_MSEC)) == ETIMEDOUT);
	assert(cc_chan_recv_until(numbers, &n, sizeof n, cc_after(CC_SEC)) == 0);
	assert(cc_chan_recv_until(numbers, &n, sizeof n, cc_after(CC_MSEC)) == ETIMEDOUT);
	assert(cc_chan_free(numbers) == 0);
}

static void wait_for_a_span(void)
{
	CCChan *numbers = cc_chan_new(sizeof(int), 1);
	int n = 1;

	assert(cc_chan_timed_send(numbers, &n, sizeof n, CC_SEC) == 0);
	assert(cc_chan_timed_recv(numbers, &n, sizeof n, CC_SEC) == 0);
	assert(cc_chan_timed_recv(numbers, &n, sizeof n, CC_MSEC) == ETIMEDOUT);
	assert(cc_chan_free(numbers) == 0);
}

static void do_not_wait(void)
{
	CCChan *numbers = cc_chan_new(sizeof(int), 1);
	int n = 1;

	assert(cc_chan_try_send(numbers, &n, sizeof n) == 0);
	assert(cc_chan_try_send(numbers, &n, sizeof n) == EAGAIN);	/* full */
	assert(cc_chan_try_recv(numbers, &n, sizeof n) == 0);
	assert(cc_chan_try_recv(numbers, &n, sizeof n) == EAGAIN);	/* empty */
	assert(cc_chan_free(numbers) == 0);
}

static void send_many(void)
{
	CCChan *numbers = cc_chan_new(sizeof(int), 8);
	const int in[5] = {1, 2, 3, 4, 5};
	int out[8];
	size_t moved;

	assert(cc_chan_send_many(numbers, in, sizeof in[0], 5, CC_FOREVER, &moved) == 0);
	assert(moved == 5);
	assert(cc_chan_recv_many(numbers, out, sizeof out[0], 8, CC_FOREVER, &moved) == 0);
	assert(moved == 5 && out[4] == 5);
	assert(cc_chan_free(numbers) == 0);
}

/* Counts what was dropped because the reader is too slow. */
static void count_dropped(void *context, void *item)
{
	(void)item;
	++*(int *)context;
}

/* The newest measurement counts: a full channel drops the oldest. */
static void drop_the_oldest(void)
{
	int dropped = 0, n;
	const CCChanOptions options = {.mode = CC_CHAN_MODE_DROP_OLD, .name = "newest",
	                               .drop = count_dropped, .context = &dropped};
	CCChan *newest;

	assert(cc_chan_create(&newest, sizeof(int), 1, &options) == 0);
	for (n = 1; n <= 3; n++)
		assert(cc_chan_send(newest, &n, sizeof n) == 0);
	assert(cc_chan_recv(newest, &n, sizeof n) == 0);
	assert(n == 3 && dropped == 2);
	assert(cc_chan_free(newest) == 0);
}

/* The receiver learns why there is no more. */
static void close_with_an_error(void)
{
	CCChan *lines = cc_chan_new(sizeof(int), 1);
	int n = 1;

	assert(cc_chan_send(lines, &n, sizeof n) == 0);
	assert(cc_chan_close_error(lines, EIO) == 0);
	assert(cc_chan_closed(lines));
	assert(cc_chan_recv(lines, &n, sizeof n) == 0);		/* what was sent is received */
	assert(cc_chan_recv(lines, &n, sizeof n) == EIO);
	assert(cc_chan_free(lines) == 0);
}

/* The sender learns why the receiver has left. */
static void close_the_receiving_end(void)
{
	CCChan *lines = cc_chan_new(sizeof(int), 1);
	int n = 1;

	assert(cc_chan_close_recv(lines, ENOSPC) == 0);
	assert(cc_chan_send(lines, &n, sizeof n) == ENOSPC);
	assert(cc_chan_free(lines) == 0);
}

static void look_at_a_channel(void)
{
	CCChan *chan = cc_chan_new(sizeof(int), 3);
	int n = 1;

	assert(cc_chan_send(chan, &n, sizeof n) == 0);
	assert(cc_chan_len(chan) == 1);
	assert(cc_chan_cap(chan) == 3);
	assert(!cc_chan_closed(chan));
	assert(cc_chan_free(chan) == 0);
}

/* Squares a number in a task of its own. */
static int square(void *arg)
{
	return *(int *)arg * *(int *)arg;
}

/* Results arrive in the order of the sends, whichever task ends first. */
static void receive_tasks_in_order(void)
{
	const CCChanOptions options = {.kind = CC_CHAN_KIND_ORDERED};
	int numbers[3] = {2, 3, 4}, result;
	CCChan *tasks;
	CCTask task;

	assert(cc_chan_create(&tasks, sizeof(CCTask), 3, &options) == 0);
	for (int i = 0; i < 3; i++)
		assert(cc_chan_spawn(tasks, NULL, square, &numbers[i], CC_FOREVER) == 0);
	for (int i = 0; i < 3; i++) {
		assert(cc_chan_recv(tasks, &task, sizeof task) == 0);
		assert(cc_task_join(task, CC_FOREVER, &result) == 0);
		assert(result == numbers[i] * numbers[i]);
	}
	assert(cc_chan_free(tasks) == 0);
}

struct line {
	CCTask task;	/* first: the handle */
	int number;	/* travels with it */
};

/* A payload goes with each handle. */
static void receive_tasks_with_a_payload(void)
{
	const CCChanOptions options = {.kind = CC_CHAN_KIND_ORDERED};
	struct line line = {.number = 12};
	int value = 5, result;
	CCChan *lines;

	assert(cc_chan_create(&lines, sizeof line, 2, &options) == 0);
	assert(cc_chan_spawn_item(lines, &line, sizeof line, NULL, square, &value, CC_FOREVER) == 0);
	line.number = 13;	/* the second task gets a copy of the value */
	assert(cc_chan_spawn_copy(lines, &line, sizeof line, NULL, square, &value, sizeof value,
	                          CC_FOREVER) == 0);
	for (int i = 12; i <= 13; i++) {
		assert(cc_chan_recv(lines, &line, sizeof line) == 0);
		assert(cc_task_join(line.task, CC_FOREVER, &result) == 0);
		assert(line.number == i && result == 25);
	}
	assert(cc_chan_free(lines) == 0);
}

/* This code can send to the channel and cannot receive from it. */
static int produce(CCChanTx out)
{
	const int some[2] = {2, 3};
	int n = 1;
	size_t moved;

	assert(cc_tx_send(out, &n, sizeof n) == 0);
	assert(cc_tx_send_many(out, some, sizeof n, 2, CC_FOREVER, &moved) == 0 && moved == 2);
	n = 4;
	assert(cc_tx_send_until(out, &n, sizeof n, cc_after(CC_SEC)) == 0);
	assert(cc_tx_try_send(out, &n, sizeof n) == EAGAIN);	/* full: 4 elements */
	return cc_tx_close(out, 0);
}

/* This code can receive from the channel and cannot send to it. */
static int consume(CCChanRx in)
{
	int n, rest[4];
	size_t moved;

	assert(cc_rx_recv(in, &n, sizeof n) == 0 && n == 1);
	assert(cc_rx_recv_until(in, &n, sizeof n, cc_after(CC_SEC)) == 0 && n == 2);
	assert(cc_rx_try_recv(in, &n, sizeof n) == 0 && n == 3);
	assert(cc_rx_recv_many(in, rest, sizeof n, 4, CC_FOREVER, &moved) == 0);
	assert(moved == 1 && rest[0] == 4);
	return cc_rx_close(in, 0);
}

static void pass_one_end_only(void)
{
	CCChan *chan = cc_chan_new(sizeof(int), 4);

	assert(produce(cc_chan_tx(chan)) == 0);
	assert(consume(cc_chan_rx(chan)) == 0);
	assert(cc_chan_free(chan) == 0);
}

int main(void)
{
	send_and_receive();
	wait_until_a_deadline();
	wait_for_a_span();
	do_not_wait();
	send_many();
	drop_the_oldest();
	close_with_an_error();
	close_the_receiving_end();
	look_at_a_channel();
	receive_tasks_in_order();
	receive_tasks_with_a_payload();
	pass_one_end_only();
	return 0;
}
