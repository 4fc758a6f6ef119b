/* One source, many readers: a channel for each reader, and a token for a single event. */
#include <assert.h>

#include <ccc/ccc.h>

enum { READERS = 3 };
cc_chan_type(Messages, int);

struct hub {
	Messages reader[READERS];
	CCToken *ready;
};

/* A reader that is too slow loses the oldest messages, and holds up no other. */
static int open_hub(struct hub *hub)
{
	const CCChanOptions newest = {.mode = CC_CHAN_MODE_DROP_OLD};

	hub->ready = cc_token_new();
	for (int i = 0; i < READERS; i++)
		cc_try(cc_chan_create(&hub->reader[i].chan, sizeof(int), 16, &newest));
	return hub->ready != NULL ? 0 : ENOMEM;
}

static int publish(struct hub *hub, int message)
{
	for (int i = 0; i < READERS; i++)
		cc_try(cc_send(hub->reader[i], message));	/* never waits */
	return 0;
}

static cc_task_fn(read_all, struct hub *hub; int reader; int *sum;)
{
	cc_try(cc_token_wait(self->hub->ready, CC_FOREVER));	/* all readers at once */
	for (int v; cc_recv(self->hub->reader[self->reader], &v) == 0;)
		*self->sum += v;
	return 0;
}

int main(void)
{
	int sums[READERS] = {0}, err = 0;
	struct hub hub;

	assert(open_hub(&hub) == 0);
	cc_nursery_scope(n, &err) {
		for (int i = 0; i < READERS; i++)
			cc_spawn(n, read_all, .hub = &hub, .reader = i, .sum = &sums[i]);
		for (int i = 1; i <= 10; i++)
			assert(publish(&hub, i) == 0);
		for (int i = 0; i < READERS; i++)
			cc_close(hub.reader[i]);
		cc_token_set(hub.ready);
	}
	assert(err == 0);
	for (int i = 0; i < READERS; i++) {
		assert(sums[i] == 55);
		cc_free(hub.reader[i]);
	}
	cc_token_free(hub.ready);
	return 0;
}
