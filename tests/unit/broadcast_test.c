/* broadcast_test.c - what is special about broadcast and watch channels: several subscriptions,
 * those that are slow, late or gone, the latest value.
 * mutate: src/chan/broadcast.c */
#include <ccc/broadcast.h>

#include "chans.h"

#include <string.h>

static CCChan *broadcast_of_mode(size_t capacity, CCChanMode mode)
{
	const CCChanOptions o = {.kind = CC_CHAN_KIND_BROADCAST, .mode = mode, .name = "news"};
	CCChan *c = NULL;

	CHECK_EQ(cc_chan_create(&c, sizeof(int), capacity, &o), 0);
	return c;
}

static CCChanRx subscribe(CCChan *c)
{
	CCChanRx rx = {NULL};

	CHECK_EQ(cc_chan_subscribe(c, &rx), 0);
	return rx;
}

static void free_all(CCChan *c, const CCChanRx *rx, size_t count)
{
	for (size_t i = 0; i < count; i++)
		CHECK_EQ(cc_chan_unsubscribe(rx[i]), 0);
	CHECK_EQ(cc_chan_free(c), 0);
}

/* The next number, without waiting; the error as a negative one. */
static int next_of(CCChanRx rx)
{
	int v = 0;
	const int err = recv_number(rx.chan, &v, CC_NOW);

	return err == 0 ? v : -err;
}

static void send_numbers(CCChan *c, int first, int last)
{
	for (int i = first; i <= last; i++)
		CHECK_EQ(send_number(c, i, CC_NOW), 0);
}

/* ---- every subscription ---- */

TEST(every_subscription_receives_every_element)
{
	CCChan *c = cc_broadcast_new(sizeof(int), 8);
	CCChanRx rx[3];

	for (int i = 0; i < 3; i++)
		rx[i] = subscribe(c);
	send_numbers(c, 1, 8);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(cc_chan_len(rx[i].chan), 8);
		for (int n = 1; n <= 8; n++)
			CHECK_EQ(next_of(rx[i]), n);
		CHECK_EQ(next_of(rx[i]), -EAGAIN);
		CHECK_EQ(cc_chan_lost(rx[i]), 0);
	}
	CHECK_EQ(cc_chan_len(c), 0);
	free_all(c, rx, 3);
}

TEST(a_subscription_begins_with_the_next_element)
{
	CCChan *c = cc_broadcast_new(sizeof(int), 4);
	CCChanRx rx[2];

	CHECK_EQ(send_number(c, 1, CC_NOW), 0);	/* for no subscription */
	CHECK_EQ(cc_chan_len(c), 0);
	rx[0] = subscribe(c);
	send_numbers(c, 2, 3);
	rx[1] = subscribe(c);
	send_numbers(c, 4, 4);
	for (int n = 2; n <= 4; n++)
		CHECK_EQ(next_of(rx[0]), n);
	CHECK_EQ(next_of(rx[1]), 4);
	CHECK_EQ(next_of(rx[1]), -EAGAIN);
	free_all(c, rx, 2);
}

/* Sizes that are copied in different ways, through every slot and a lap further. */
TEST(elements_of_any_size_arrive_whole)
{
	static const size_t sizes[] = {0, 1, 4, 8, 12, 16, 100, 5000};
	static char in[5000], out[5000];

	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		CCChan *c = cc_broadcast_new(sizes[s], 3);
		CCChanRx rx = subscribe(c);

		for (int n = 1; n < 10; n++) {
			memset(in, n, sizes[s]);
			memset(out, 0, sizeof out);
			CHECK_EQ(cc_chan_try_send(c, in, sizes[s]), 0);
			CHECK_EQ(cc_rx_try_recv(rx, out, sizes[s]), 0);
			CHECK_EQ(memcmp(in, out, sizes[s]), 0);
			CHECK(sizes[s] == sizeof out || out[sizes[s]] == 0);
		}
		free_all(c, &rx, 1);
	}
}

TEST(several_at_once_go_to_every_subscription)
{
	CCChan *c = cc_broadcast_new(sizeof(int), 4);
	CCChanRx rx[2] = {subscribe(c), subscribe(c)};
	const int in[] = {1, 2, 3, 4, 5};
	int out[5];
	size_t n;

	CHECK_EQ(cc_chan_send_many(c, in, sizeof(int), 5, CC_NOW, &n), 0);
	CHECK_EQ(n, 4);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(cc_rx_recv_many(rx[i], out, sizeof(int), 3, CC_NOW, &n), 0);
		CHECK_EQ(n, 3);
		CHECK(out[0] == 1 && out[1] == 2 && out[2] == 3);
		CHECK_EQ(cc_rx_recv_many(rx[i], out, sizeof(int), 5, CC_NOW, &n), 0);
		CHECK_EQ(n, 1);
		CHECK_EQ(out[0], 4);
	}
	free_all(c, rx, 2);
}

/* ---- a subscription that is slow ---- */

TEST(slowest_subscription_blocks_the_sender)
{
	CCRuntime *rt = chan_runtime();

	for (int kind = 0; kind < KINDS; kind++) {
		const struct setting s = {.sender = (enum kind)kind, .rt = rt};
		CCChan *c = cc_broadcast_new(sizeof(int), 2);
		CCChanRx rx[2] = {subscribe(c), subscribe(c)};
		struct actor sender;

		send_numbers(c, 1, 2);
		CHECK_EQ(send_number(c, 3, CC_NOW), EAGAIN);
		CHECK_EQ(send_number(c, 3, cc_after(CC_MSEC)), ETIMEDOUT);
		start_send(&sender, &s, c, 3, 1, CC_FOREVER);
		until_waiting(c, CC__SEND, 1);
		CHECK_EQ(next_of(rx[0]), 1);
		CHECK_EQ(next_of(rx[0]), 2);
		CHECK_EQ(waiting(c, CC__SEND), 1);	/* the other has not received the first */
		CHECK_EQ(next_of(rx[1]), 1);
		CHECK_EQ(finish(&sender), 0);
		CHECK_EQ(next_of(rx[0]), 3);
		CHECK_EQ(next_of(rx[1]), 2);
		CHECK_EQ(next_of(rx[1]), 3);
		free_all(c, rx, 2);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(end_of_the_slowest_subscription_lets_senders_go_on)
{
	enum { MANY = 20 };	/* more than one batch of wakes */
	CCRuntime *rt = chan_runtime();
	const struct setting s = {.sender = FIBER, .rt = rt};
	CCChan *c = cc_broadcast_new(sizeof(int), MANY);
	CCChanRx slow = subscribe(c), quick = subscribe(c);
	struct actor sender[MANY];
	long sum = 0;
	int v = 0;

	send_numbers(c, 1, MANY);
	for (int i = 1; i <= MANY; i++)
		CHECK_EQ(next_of(quick), i);
	for (int i = 0; i < MANY; i++)
		start_send(&sender[i], &s, c, 1 << i, 1, CC_FOREVER);
	until_waiting(c, CC__SEND, MANY);
	CHECK_EQ(cc_chan_unsubscribe(slow), 0);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(finish(&sender[i]), 0);
	while (recv_number(quick.chan, &v, CC_NOW) == 0)
		sum += v;
	CHECK_EQ(sum, (1 << MANY) - 1);
	free_all(c, &quick, 1);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(drop_new_refuses_what_the_slowest_has_no_room_for)
{
	CCChan *c = broadcast_of_mode(2, CC_CHAN_MODE_DROP_NEW);
	CCChanRx rx[2] = {subscribe(c), subscribe(c)};

	send_numbers(c, 1, 2);
	CHECK_EQ(send_number(c, 3, CC_FOREVER), EAGAIN);
	CHECK_EQ(next_of(rx[0]), 1);
	CHECK_EQ(send_number(c, 3, CC_FOREVER), EAGAIN);
	CHECK_EQ(next_of(rx[1]), 1);
	CHECK_EQ(send_number(c, 4, CC_FOREVER), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(next_of(rx[i]), 2);
		CHECK_EQ(next_of(rx[i]), 4);
		CHECK_EQ(cc_chan_lost(rx[i]), 0);
	}
	free_all(c, rx, 2);
}

TEST(drop_old_tells_each_subscription_how_many_it_lost)
{
	CCChan *c = broadcast_of_mode(4, CC_CHAN_MODE_DROP_OLD);
	CCChanRx rx[2] = {subscribe(c), subscribe(c)};

	send_numbers(c, 1, 3);
	CHECK_EQ(next_of(rx[0]), 1);
	send_numbers(c, 4, 10);
	CHECK_EQ(cc_chan_len(rx[0].chan), 4);
	CHECK_EQ(cc_chan_lost(rx[0]), 5);	/* 2 to 6 */
	CHECK_EQ(cc_chan_lost(rx[0]), 0);
	CHECK_EQ(next_of(rx[0]), 7);
	CHECK_EQ(next_of(rx[1]), 7);
	CHECK_EQ(cc_chan_lost(rx[1]), 6);
	send_numbers(c, 11, 12);
	for (int n = 8; n <= 12; n++)
		CHECK_EQ(next_of(rx[0]), n < 9 ? n + 1 : n + 1 <= 12 ? n + 1 : -EAGAIN);
	CHECK_EQ(cc_chan_lost(rx[0]), 1);	/* 8 */
	CHECK_EQ(cc_chan_close(c), 0);
	CHECK_EQ(cc_chan_lost((CCChanRx){c}), 0);
	CHECK_EQ(cc_chan_lost((CCChanRx){NULL}), 0);
	free_all(c, rx, 2);
}

/* ---- the end ---- */

TEST(close_ends_every_subscription_after_its_last_element)
{
	CCChan *c = cc_broadcast_new(sizeof(int), 4);
	CCChanRx rx[2] = {subscribe(c), subscribe(c)};
	CCChanRx late;

	send_numbers(c, 1, 2);
	CHECK_EQ(next_of(rx[0]), 1);
	CHECK_EQ(cc_chan_close_error(c, ENOSPC), 0);
	late = subscribe(c);
	CHECK_EQ(next_of(late), -ENOSPC);
	CHECK_EQ(next_of(rx[0]), 2);
	CHECK_EQ(next_of(rx[0]), -ENOSPC);
	CHECK_EQ(next_of(rx[1]), 1);
	CHECK_EQ(next_of(rx[1]), 2);
	CHECK_EQ(next_of(rx[1]), -ENOSPC);
	CHECK_EQ(send_number(c, 3, CC_FOREVER), EPIPE);
	CHECK_EQ(cc_chan_closed(rx[1].chan), 1);
	CHECK_EQ(cc_chan_unsubscribe(late), 0);
	free_all(c, rx, 2);
}

TEST(receivers_close_the_channel_for_senders)
{
	CCChan *c = cc_broadcast_new(sizeof(int), 4);
	CCChanRx rx = subscribe(c);

	send_numbers(c, 1, 1);
	CHECK_EQ(cc_chan_close_recv(c, ECONNRESET), 0);
	CHECK_EQ(send_number(c, 2, CC_FOREVER), ECONNRESET);
	CHECK_EQ(next_of(rx), 1);
	CHECK_EQ(next_of(rx), -EPIPE);
	free_all(c, &rx, 1);
}

TEST(close_of_a_subscription_ends_that_one_alone)
{
	CCRuntime *rt = chan_runtime();
	const struct setting s = {.receiver = FIBER, .rt = rt};
	CCChan *c = cc_broadcast_new(sizeof(int), 2);
	CCChanRx rx[3] = {subscribe(c), subscribe(c), subscribe(c)};
	struct actor waits;

	start_recv(&waits, &s, rx[2].chan, 1, CC_FOREVER);
	until_waiting(rx[2].chan, CC__RECV, 1);
	CHECK_EQ(cc_chan_close_error(rx[2].chan, ENOSPC), 0);
	CHECK_EQ(finish(&waits), ENOSPC);
	send_numbers(c, 1, 1);
	CHECK_EQ(cc_chan_close(rx[1].chan), 0);
	CHECK_EQ(cc_chan_closed(rx[1].chan), 1);
	CHECK_EQ(cc_chan_closed(rx[0].chan), 0);
	CHECK_EQ(cc_chan_closed(c), 0);
	send_numbers(c, 2, 2);
	CHECK_EQ(next_of(rx[0]), 1);
	CHECK_EQ(next_of(rx[0]), 2);
	CHECK_EQ(send_number(c, 3, CC_NOW), EAGAIN);	/* its first element is still there */
	CHECK_EQ(next_of(rx[1]), 1);
	CHECK_EQ(next_of(rx[1]), -EPIPE);
	CHECK_EQ(send_number(c, 3, CC_NOW), 0);
	CHECK_EQ(send_number(c, 4, CC_NOW), 0);
	CHECK_EQ(next_of(rx[1]), -EPIPE);
	CHECK_EQ(next_of(rx[2]), -ENOSPC);
	CHECK_EQ(next_of(rx[0]), 3);
	free_all(c, rx, 3);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* A closed subscription of a channel that loses elements. */
TEST(closed_subscription_loses_no_more_than_it_had)
{
	CCChan *c = broadcast_of_mode(2, CC_CHAN_MODE_DROP_OLD);
	CCChanRx rx = subscribe(c);

	send_numbers(c, 1, 2);
	CHECK_EQ(cc_chan_close(rx.chan), 0);
	send_numbers(c, 3, 9);
	CHECK_EQ(next_of(rx), -EPIPE);
	CHECK_EQ(cc_chan_lost(rx), 2);
	free_all(c, &rx, 1);
}

TEST(close_wakes_the_receivers_of_every_subscription)
{
	enum { MANY = 40 };	/* more than two batches */
	CCRuntime *rt = chan_runtime();

	for (int kind = 0; kind < KINDS; kind++) {
		const struct setting s = {.receiver = (enum kind)kind, .rt = rt};
		CCChan *c = cc_broadcast_new(sizeof(int), 1);
		struct actor receiver[MANY];
		CCChanRx rx[MANY];

		for (int i = 0; i < MANY; i++) {
			rx[i] = subscribe(c);
			start_recv(&receiver[i], &s, rx[i].chan, 2, CC_FOREVER);
		}
		for (int i = 0; i < MANY; i++)
			until_waiting(rx[i].chan, CC__RECV, 1);
		CHECK_EQ(send_number(c, 5, CC_FOREVER), 0);
		TEST_UNTIL(cc_chan_len(c) == 0);
		CHECK_EQ(cc_chan_close(c), 0);
		for (int i = 0; i < MANY; i++) {
			CHECK_EQ(finish(&receiver[i]), EPIPE);
			CHECK_EQ(receiver[i].sum, 5);
		}
		free_all(c, rx, MANY);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(channel_is_freed_after_its_subscriptions)
{
	CCRuntime *rt = chan_runtime();
	const struct setting s = {.receiver = FIBER, .rt = rt};
	CCChan *c = cc_broadcast_new(sizeof(int), 1);
	CCChanRx rx = subscribe(c);
	struct actor receiver;

	CHECK_EQ(cc_chan_free(c), EBUSY);
	start_recv(&receiver, &s, rx.chan, 1, CC_FOREVER);
	until_waiting(rx.chan, CC__RECV, 1);
	CHECK_EQ(cc_chan_unsubscribe(rx), EBUSY);
	CHECK_EQ(send_number(c, 1, CC_FOREVER), 0);
	CHECK_EQ(finish(&receiver), 0);
	CHECK_EQ(cc_chan_free(c), EBUSY);
	CHECK_EQ(cc_chan_unsubscribe(rx), 0);
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- the wrong end ---- */

TEST(wrong_end_is_refused)
{
	CCChan *c = cc_broadcast_new(sizeof(int), 2), *plain = cc_chan_new(sizeof(int), 2);
	CCChanRx rx = subscribe(c), none = {NULL};
	size_t n = 7, which = 7;
	int v = 1;

	CHECK_EQ(cc_chan_recv(c, &v, sizeof v), EINVAL);
	CHECK_EQ(cc_chan_send(rx.chan, &v, sizeof v), EINVAL);
	CHECK_EQ(cc_chan_recv_many(c, &v, sizeof v, 1, CC_NOW, &n), EINVAL);
	CHECK_EQ(cc_chan_send_many(rx.chan, &v, sizeof v, 1, CC_NOW, &n), EINVAL);
	CHECK_EQ(cc_select((CCCase[]){cc_case_send(rx.chan, &v, sizeof v)}, 1, CC_FOREVER, &which),
	         EINVAL);
	CHECK_EQ(cc_select((CCCase[]){cc_case_recv(c, &v, sizeof v), cc_case_default()}, 2,
	                   CC_FOREVER, &which),
	         EINVAL);
	CHECK_EQ(cc_chan_subscribe(plain, &none), EINVAL);
	CHECK_EQ(cc_chan_subscribe(rx.chan, &none), EINVAL);
	CHECK_EQ(cc_chan_subscribe(NULL, &none), EINVAL);
	CHECK_EQ(cc_chan_subscribe(c, NULL), EINVAL);
	CHECK(none.chan == NULL);
	CHECK_EQ(cc_watch_get(c, &v, sizeof v), EINVAL);
	CHECK_EQ(cc_watch_get(rx.chan, &v, sizeof v), EINVAL);
	CHECK_EQ(cc_watch_get(plain, &v, sizeof v), EINVAL);
	CHECK_EQ(cc_watch_get(NULL, &v, sizeof v), EINVAL);
	CHECK(cc_broadcast_new(4, 0) == NULL);
	CHECK(cc_watch_new(CC_CHAN_SIZE_MAX + 1) == NULL);
	CHECK_EQ(v, 1);
	CHECK_EQ(cc_chan_free(plain), 0);
	free_all(c, &rx, 1);
}

TEST(subscription_has_the_shape_of_its_channel)
{
	CCChan *c = broadcast_of_mode(5, CC_CHAN_MODE_BLOCK);
	CCChanRx rx = subscribe(c);

	CHECK_EQ(cc_chan_cap(rx.chan), 5);
	CHECK_STR(rx.chan->name, "news");
	CHECK_EQ(cc_rx_try_recv(rx, &c, sizeof c), EINVAL);
	free_all(c, &rx, 1);
}

/* ---- the latest value ---- */

TEST(watch_gives_the_latest_value)
{
	CCChan *c = cc_watch_new(sizeof(int));
	CCChanRx early = subscribe(c), late;
	int v = -1;

	CHECK_EQ(cc_watch_get(c, &v, sizeof v), EAGAIN);
	CHECK_EQ(next_of(early), -EAGAIN);
	CHECK_EQ(v, -1);
	send_numbers(c, 1, 1);
	CHECK_EQ(next_of(early), 1);
	CHECK_EQ(next_of(early), -EAGAIN);
	send_numbers(c, 2, 9);
	late = subscribe(c);
	CHECK_EQ(cc_watch_get(c, &v, sizeof v), 0);
	CHECK_EQ(v, 9);
	CHECK_EQ(cc_watch_get(late.chan, &v, sizeof v), 0);
	CHECK_EQ(cc_watch_get(c, &v, 1), EINVAL);
	CHECK_EQ(cc_watch_get(c, NULL, sizeof v), EINVAL);
	CHECK_EQ(next_of(early), 9);
	CHECK_EQ(cc_chan_lost(early), 7);
	CHECK_EQ(next_of(late), 9);
	CHECK_EQ(cc_chan_lost(late), 0);
	CHECK_EQ(next_of(late), -EAGAIN);
	CHECK_EQ(cc_chan_close(c), 0);
	CHECK_EQ(next_of(late), -EPIPE);
	CHECK_EQ(cc_watch_get(c, &v, sizeof v), 0);	/* it is still there */
	free_all(c, (CCChanRx[]){early, late}, 2);
}

/* ---- select ---- */

TEST(select_takes_subscriptions_and_sends)
{
	CCChan *c = cc_broadcast_new(sizeof(int), 1);
	CCChanRx rx[2] = {subscribe(c), subscribe(c)};
	const int one = 1;
	int v = 0;
	size_t which;
	const CCCase recv[] = {cc_case_rx(rx[0], &v, sizeof v), cc_case_rx(rx[1], &v, sizeof v),
	                       cc_case_default()};
	const CCCase send[] = {cc_case_send(c, &one, sizeof one), cc_case_default()};

	CHECK_EQ(cc_select_in_order(recv, 3, CC_FOREVER, &which), 0);
	CHECK_EQ(which, 2);
	CHECK_EQ(cc_select_in_order(send, 2, CC_FOREVER, &which), 0);
	CHECK_EQ(which, 0);
	CHECK_EQ(cc_select_in_order(send, 2, CC_FOREVER, &which), 0);
	CHECK_EQ(which, 1);
	for (size_t i = 0; i < 3; i++) {
		CHECK_EQ(cc_select_in_order(recv, 3, CC_FOREVER, &which), 0);
		CHECK_EQ(which, i);
	}
	CHECK_EQ(v, 1);
	CHECK_EQ(cc_chan_close_error(c, ENOSPC), 0);
	CHECK_EQ(cc_select_in_order(recv, 3, CC_FOREVER, &which), ENOSPC);
	CHECK_EQ(cc_select_in_order(send, 2, CC_FOREVER, &which), EPIPE);
	free_all(c, rx, 2);
}

struct selecting {
	CCChan *chan;
	CCChanRx rx;
	int sent, received, last;
};

/* Sends its numbers and receives all of its subscription, whichever can be done: both cases are of
 * one channel. */
static int select_both(void *arg)
{
	struct selecting *s = arg;

	while (s->sent < 200 || s->received < 600) {
		int v = 0;
		const int next = s->last + s->sent;
		const CCCase cases[] = {
		    cc_case_rx(s->rx, &v, sizeof v),
		    s->sent < 200 ? cc_case_send(s->chan, &next, sizeof next) : cc_case_never()};
		size_t which;
		const int err = cc_select(cases, 2, CC_FOREVER, &which);

		if (err != 0)
			return err;
		s->sent += which == 1;
		s->received += which == 0;
	}
	return 0;
}

TEST(selects_on_both_ends_of_one_channel_meet)
{
	CCRuntime *rt = chan_runtime();

	for (int kind = 0; kind < KINDS; kind++) {
		CCChan *c = cc_broadcast_new(sizeof(int), 3);
		struct selecting s[3] = {{0}};
		struct sleeper sleeper[3];

		for (int i = 0; i < 3; i++)
			s[i] = (struct selecting){.chan = c, .rx = subscribe(c)};
		for (int i = 0; i < 3; i++)
			sleeper_start(&sleeper[i], rt, (enum kind)kind, select_both, &s[i]);
		for (int i = 0; i < 3; i++) {
			CHECK_EQ(sleeper_join(&sleeper[i]), 0);
			CHECK_EQ(cc_chan_unsubscribe(s[i].rx), 0);
		}
		CHECK_EQ(cc_chan_free(c), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- crowds ---- */

enum { SENDERS = 3, RECEIVERS = 4, EACH = 500 };

struct listener {
	CCChanRx rx;
	int got[SENDERS * EACH], count;
	uint64_t lost;
	bool hurry;
};

/* In a hurry, most waits end by their deadline. */
static int listen_to(void *arg)
{
	struct listener *l = arg;
	int err;

	for (;;) {
		const cc_time deadline = l->hurry ? cc_after(20 * CC_USEC) : CC_FOREVER;

		err = cc_rx_recv_until(l->rx, &l->got[l->count], sizeof(int), deadline);
		l->count += err == 0;
		if (err != 0 && err != ETIMEDOUT)
			break;
	}
	l->lost = cc_chan_lost(l->rx);
	return err;
}

static void crowd(enum kind senders, enum kind receivers, CCChanMode mode, bool hurry)
{
	static struct listener listener[RECEIVERS];
	CCRuntime *rt = chan_runtime();
	const struct setting s = {.sender = senders, .rt = rt};
	CCChan *c = broadcast_of_mode(4, mode);
	struct actor sender[SENDERS];
	struct sleeper sleeper[RECEIVERS];

	for (int i = 0; i < RECEIVERS; i++) {
		listener[i] = (struct listener){.rx = subscribe(c), .hurry = hurry};
		sleeper_start(&sleeper[i], rt, receivers, listen_to, &listener[i]);
	}
	for (int i = 0; i < SENDERS; i++)
		start_send(&sender[i], &s, c, i * 1000, EACH, CC_FOREVER);
	for (int i = 0; i < SENDERS; i++)
		CHECK_EQ(finish(&sender[i]), 0);
	CHECK_EQ(cc_chan_close(c), 0);
	for (int i = 0; i < RECEIVERS; i++) {
		CHECK_EQ(sleeper_join(&sleeper[i]), EPIPE);
		CHECK_EQ(listener[i].count + (int)listener[i].lost, SENDERS * EACH);
		if (mode == CC_CHAN_MODE_BLOCK)	/* all, and in one order for all */
			CHECK_EQ(memcmp(listener[i].got, listener[0].got, sizeof listener[0].got), 0);
		CHECK_EQ(cc_chan_unsubscribe(listener[i].rx), 0);
	}
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(a_crowd_receives_everything_in_one_order)
{
	for (int pair = 0; pair < 4; pair++)
		crowd(pair & 1 ? THREAD : FIBER, pair & 2 ? THREAD : FIBER, CC_CHAN_MODE_BLOCK,
		      false);
}

TEST(a_crowd_in_a_hurry_receives_everything_in_one_order)
{
	for (int pair = 0; pair < 4; pair++)
		crowd(pair & 1 ? THREAD : FIBER, pair & 2 ? THREAD : FIBER, CC_CHAN_MODE_BLOCK,
		      true);
}

TEST(a_crowd_counts_what_it_loses)
{
	for (int pair = 0; pair < 4; pair++)
		crowd(pair & 1 ? THREAD : FIBER, pair & 2 ? THREAD : FIBER, CC_CHAN_MODE_DROP_OLD,
		      false);
}

/* Subscriptions that come and go while others receive. */
static int come_and_go(void *arg)
{
	CCChan *c = arg;

	for (int i = 0; i < 200; i++) {
		CCChanRx rx = subscribe(c);
		int v, err = cc_rx_recv(rx, &v, sizeof v);

		if (!CHECK(err == 0 || err == EPIPE))
			return err;
		CHECK_EQ(cc_chan_unsubscribe(rx), 0);
	}
	return 0;
}

static int send_until_closed(void *arg)
{
	int err;

	while ((err = send_number(arg, 1, CC_FOREVER)) == 0)
		cc_ignore(cc_yield());
	return err;
}

TEST(subscriptions_come_and_go)
{
	CCRuntime *rt = chan_runtime();
	CCChan *c = cc_broadcast_new(sizeof(int), 2);
	struct sleeper guest[4], sender;

	sleeper_start(&sender, rt, FIBER, send_until_closed, c);
	for (int i = 0; i < 4; i++)
		sleeper_start(&guest[i], rt, i & 1 ? THREAD : FIBER, come_and_go, c);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(sleeper_join(&guest[i]), 0);
	CHECK_EQ(cc_chan_close(c), 0);
	CHECK_EQ(sleeper_join(&sender), EPIPE);
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- typed ---- */

cc_chan_type(News, int);

TEST(typed_subscriptions_and_matches)
{
	News news = cc_chan_make_broadcast(News, 4), latest = cc_chan_make_watch(News);
	NewsRx mine = {NULL}, now = {NULL};
	int v = 0, sum = 0, err;

	CHECK_EQ(cc_subscribe(news, &mine), 0);
	CHECK_EQ(cc_subscribe(latest, &now), 0);
	CHECK_EQ(cc_send(news, 3), 0);
	CHECK_EQ(cc_close(news), 0);
	for (bool open = true; open;) {
		cc_match(&err) {
		cc_on_recv(mine, &v)
			sum += v;
		cc_on_closed(mine)
			open = false;
		}
		CHECK_EQ(err, 0);
	}
	CHECK_EQ(sum, 3);
	CHECK_EQ(cc_send(latest, 5), 0);
	CHECK_EQ(cc_recv(now, &v), 0);
	CHECK_EQ(v, 5);
	CHECK_EQ(cc_unsubscribe(mine), 0);
	CHECK_EQ(cc_unsubscribe(now), 0);
	CHECK_EQ(cc_free(news), 0);
	CHECK_EQ(cc_free(latest), 0);
}
