/* shim_broadcast.h - one broadcast channel with up to two subscriptions in static memory, and calls
 * of them by model threads.  Included after shim_chan.h. */
#ifndef MC_SHIM_BROADCAST_H
#define MC_SHIM_BROADCAST_H

#include <ccc/broadcast.h>

#include "chan/broadcast.h"

enum { SUBSCRIPTIONS = 2, LOG_MAX = 2 };
static struct cc__broadcast_chan news;
static struct cc__subscription subscribed[SUBSCRIPTIONS];
static unsigned subscriptions_made;
static uint64_t log_slots[LOG_MAX * 2];
static CCChanRx rx[SUBSCRIPTIONS];

CCChan *cc__chan_make(const struct cc__chan_kind *kind, size_t size, size_t capacity,
                      const CCChanOptions *o, uintptr_t place)
{
	CCChan *c = &subscribed[subscriptions_made++ % SUBSCRIPTIONS].chan;

	(void)o, (void)place;
	c->kind = kind;
	c->size = (uint32_t)size;
	c->capacity = capacity;
	cc__init(&c->by_ring, SIZE_MAX);
	kind->init(c);
	return c;
}

int cc__chan_create(CCChan **out, size_t size, size_t capacity, const CCChanOptions *options,
                    uintptr_t place)
{
	(void)out, (void)size, (void)capacity, (void)options, (void)place;
	mc_fail("the scenario makes the channel");
}

static inline void make_news(size_t capacity, CCChanMode mode, unsigned count)
{
	CCChan *c = &news.chan;

	c->kind = &cc__broadcast;
	c->size = sizeof(int);
	c->capacity = capacity;
	c->slots = log_slots;
	cc__init(&c->by_ring, SIZE_MAX);
	c->mode = mode;
	c->kind->init(c);
	for (unsigned i = 0; i < count; i++)
		MC_ASSERT(cc_chan_subscribe(c, &rx[i]) == 0);
	chan = c;
}

/* One that is free, as cc_chan_free does it. */
static inline void unsubscribe(CCChanRx r)
{
	r.chan->kind->empty(r.chan);
}

static void send_news(void)
{
	begin_body();
	send_to(&news.chan, CC_FOREVER);
}

static void send_two_news(void)
{
	send_news();
	send_to(&news.chan, CC_FOREVER);
}

static void send_news_a_second(void)
{
	begin_body();
	send_to(&news.chan, cc__now() + CC_SEC);
}

static void hear_first(void)
{
	begin_body();
	recv_from(rx[0].chan, CC_FOREVER);
}

static void hear_second(void)
{
	begin_body();
	recv_from(rx[1].chan, CC_FOREVER);
}

static void hear_first_a_second(void)
{
	begin_body();
	recv_from(rx[0].chan, cc__now() + CC_SEC);
}

static void hear_two_of_first(void)
{
	hear_first();
	recv_from(rx[0].chan, CC_FOREVER);
}

static void hear_all_of_first(void)
{
	begin_body();
	while (recv_from(rx[0].chan, CC_FOREVER) == 0)
		continue;
}

static void hear_all_of_second(void)
{
	begin_body();
	while (recv_from(rx[1].chan, CC_FOREVER) == 0)
		continue;
}

static void close_news(void)
{
	MC_ASSERT(cc_chan_close(&news.chan) == 0);
}

/* In .final: every thread is awake, and no waiter is listed. */
static inline void news_at_rest(void)
{
	for (int way = 0; way < 2; way++) {
		MC_ASSERT(news.chan.wait[way].head == NULL);
		for (int i = 0; i < SUBSCRIPTIONS; i++)
			MC_ASSERT(subscribed[i].chan.wait[way].head == NULL);
	}
	check_threads_at_rest();
}

#endif
