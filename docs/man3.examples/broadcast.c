/* One source, many receivers: <ccc/broadcast.h>. */
#include <assert.h>

#include <ccc/ccc.h>

/* Each subscription receives all that is sent while it exists. */
static void tell_all(void)
{
	CCChan *news = cc_broadcast_new(sizeof(int), 16);
	CCChanRx one, two;
	int n = 5, v;

	assert(cc_chan_subscribe(news, &one) == 0);
	assert(cc_chan_subscribe(news, &two) == 0);
	assert(cc_chan_send(news, &n, sizeof n) == 0);
	assert(cc_rx_recv(one, &v, sizeof v) == 0 && v == 5);
	assert(cc_rx_recv(two, &v, sizeof v) == 0 && v == 5);
	assert(cc_chan_unsubscribe(one) == 0);
	assert(cc_chan_unsubscribe(two) == 0);
	assert(cc_chan_free(news) == 0);
}

/* A receiver that is too slow learns how much it has lost. */
static void lose_the_oldest(void)
{
	const CCChanOptions newest = {.kind = CC_CHAN_KIND_BROADCAST, .mode = CC_CHAN_MODE_DROP_OLD};
	CCChan *news;
	CCChanRx mine;
	int v;

	assert(cc_chan_create(&news, sizeof(int), 2, &newest) == 0);
	assert(cc_chan_subscribe(news, &mine) == 0);
	for (int n = 1; n <= 5; n++)
		assert(cc_chan_send(news, &n, sizeof n) == 0);
	assert(cc_rx_recv(mine, &v, sizeof v) == 0 && v == 4);
	assert(cc_chan_lost(mine) == 3);
	assert(cc_chan_unsubscribe(mine) == 0 && cc_chan_free(news) == 0);
}

/* The latest value counts, as of a setting. */
static void watch_a_value(void)
{
	CCChan *level = cc_watch_new(sizeof(int));
	int n, v;

	assert(cc_watch_get(level, &v, sizeof v) == EAGAIN);	/* there is none yet */
	for (n = 1; n <= 3; n++)
		assert(cc_chan_send(level, &n, sizeof n) == 0);
	assert(cc_watch_get(level, &v, sizeof v) == 0 && v == 3);
	assert(cc_chan_free(level) == 0);
}

cc_chan_type(Numbers, int);

/* The same with types. */
static void subscribe_typed(void)
{
	Numbers news = cc_chan_make_broadcast(Numbers, 4), level = cc_chan_make_watch(Numbers);
	NumbersRx mine, latest;
	int v;

	assert(cc_subscribe(news, &mine) == 0 && cc_subscribe(level, &latest) == 0);
	assert(cc_send(news, 7) == 0 && cc_send(level, 1) == 0 && cc_send(level, 2) == 0);
	assert(cc_recv(mine, &v) == 0 && v == 7);
	assert(cc_recv(latest, &v) == 0 && v == 2);
	assert(cc_unsubscribe(mine) == 0 && cc_unsubscribe(latest) == 0);
	assert(cc_free(news) == 0 && cc_free(level) == 0);
}

int main(void)
{
	tell_all();
	lose_the_oldest();
	watch_a_value();
	subscribe_typed();
	return 0;
}
