/* One source, many readers: a broadcast channel; and a watch channel for a value that changes. */
#include <assert.h>

#include <ccc/ccc.h>

enum { READERS = 3 };
cc_chan_type(Messages, int);

/* Reads all messages from its subscription until the channel is closed. */
static cc_task_fn(read_all, MessagesRx in; int *sum;)
{
	for (int v; cc_recv(self->in, &v) == 0;)
		*self->sum += v;
	return 0;
}

/* Every reader gets every message; a send waits for the slowest. */
static void tell_all(void)
{
	Messages news = cc_chan_make_broadcast(Messages, 4);
	MessagesRx in[READERS];
	int sums[READERS] = {0}, err = 0;

	for (int i = 0; i < READERS; i++)	/* before the first message is sent */
		assert(cc_subscribe(news, &in[i]) == 0);
	cc_nursery_scope(n, &err) {
		for (int i = 0; i < READERS; i++)
			cc_spawn(n, read_all, .in = in[i], .sum = &sums[i]);
		for (int v = 1; v <= 10; v++)
			assert(cc_send(news, v) == 0);
		cc_close(news);
	}
	assert(err == 0);
	for (int i = 0; i < READERS; i++) {
		assert(sums[i] == 55);
		cc_unsubscribe(in[i]);
	}
	cc_free(news);
}

/* Ends when the value has reached 10; values in between may be skipped. */
static cc_task_fn(wait_for_10, MessagesRx level;)
{
	for (int v = 0; v < 10;)
		cc_try(cc_recv(self->level, &v));
	return 0;
}

/* Only the latest value counts: a send never waits. */
static void tell_the_latest(void)
{
	Messages level = cc_chan_make_watch(Messages);
	MessagesRx mine;
	int err = 0;

	assert(cc_subscribe(level, &mine) == 0);
	cc_nursery_scope(n, &err) {
		cc_spawn(n, wait_for_10, .level = mine);
		for (int v = 1; v <= 10; v++)
			assert(cc_send(level, v) == 0);
	}
	assert(err == 0);
	cc_unsubscribe(mine);
	cc_free(level);
}

int main(void)
{
	tell_all();
	tell_the_latest();
	return 0;
}
