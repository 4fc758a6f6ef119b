/* chan_behaviours.h - what holds for every kind of channel, by name.  Included by programs
 * that differ in what the environment says about channels. */
#ifndef TEST_CHAN_BEHAVIOURS_H
#define TEST_CHAN_BEHAVIOURS_H

#include "chans.h"
#include "jitter.h"

/* ---- moving ---- */

BEHAVIOUR(elements_arrive_in_order)	/* covers: CHN-08/u, CHN-27/u, SCH-55/u */
{
	CCChan *c = chan_of(s);
	struct actor sender;
	int v = 0;

	start_send(&sender, s, c, 1, 50, CC_FOREVER);
	for (int i = 1; i <= 50; i++) {
		CHECK_EQ(recv_number(c, &v, CC_FOREVER), 0);
		CHECK_EQ(v, i);
	}
	CHECK_EQ(finish(&sender), 0);
	free_chan(c);
}

BEHAVIOUR(capacity_is_exact)	/* covers: RES-20/u, CHN-09/u, CHN-15/u */
{
	CCChan *c = chan_of(s);

	CHECK_EQ(cc_chan_cap(c), s->capacity);
	CHECK_EQ(cc_chan_len(c), 0);
	CHECK_EQ(fill(c, 1), s->capacity);
	/* Through every place, and a lap further. */
	for (size_t i = 1; i <= 3 * s->capacity; i++) {
		int v = 0;

		CHECK_EQ(cc_chan_len(c), s->capacity);
		CHECK_EQ(recv_number(c, &v, CC_NOW), 0);
		CHECK_EQ(v, i);
		CHECK_EQ(cc_chan_len(c), s->capacity - 1);
		CHECK_EQ(send_number(c, (int)(s->capacity + i), CC_NOW), 0);
		CHECK_EQ(send_number(c, 99, CC_NOW), EAGAIN);
	}
	free_chan(c);
}

BEHAVIOUR(a_receiver_waits_for_a_sender)	/* covers: CHN-08/u, CHN-25/u, CHN-26/u, SCH-53/u */
{
	CCChan *c = chan_of(s);
	struct actor receiver;

	start_recv(&receiver, s, c, 1, CC_FOREVER);
	until_waiting(c, CC__RECV, 1);
	CHECK_EQ(send_number(c, 7, CC_FOREVER), 0);
	CHECK_EQ(finish(&receiver), 0);
	CHECK_EQ(receiver.sum, 7);
	free_chan(c);
}

BEHAVIOUR(a_sender_waits_for_room)	/* covers: CHN-08/u, CHN-21/u, CHN-25/u */
{
	CCChan *c = chan_of(s);
	struct actor sender;
	const int full = fill(c, 1);
	int v = 0;

	start_send(&sender, s, c, full + 1, 1, CC_FOREVER);
	until_waiting(c, CC__SEND, 1);
	for (int i = 1; i <= full + 1; i++) {
		CHECK_EQ(recv_number(c, &v, CC_FOREVER), 0);
		CHECK_EQ(v, i);
	}
	CHECK_EQ(finish(&sender), 0);
	free_chan(c);
}

BEHAVIOUR(one_element_wakes_one_receiver)	/* covers: CHN-29/s, CHN-17/u */
{
	enum { MANY = 5 };
	CCChan *c = chan_of(s);
	struct actor receiver[MANY];
	long sum = 0;

	for (int i = 0; i < MANY; i++)
		start_recv(&receiver[i], s, c, 1, CC_FOREVER);
	until_waiting(c, CC__RECV, MANY);
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(send_number(c, 1 << i, CC_FOREVER), 0);
		TEST_UNTIL(waiting(c, CC__RECV) == MANY - 1 - i);
	}
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(finish(&receiver[i]), 0);
		sum += receiver[i].sum;
	}
	CHECK_EQ(sum, (1 << MANY) - 1);
	free_chan(c);
}

/* ---- deadlines ---- */

BEHAVIOUR(a_call_that_may_not_wait_returns)	/* covers: RES-46/u */
{
	CCChan *c = chan_of(s);
	int v = -1;

	CHECK_EQ(recv_number(c, &v, CC_NOW), EAGAIN);
	CHECK_EQ(recv_number(c, &v, cc_now() - 1), ETIMEDOUT);
	CHECK_EQ(recv_number(c, &v, cc_after(CC_MSEC)), ETIMEDOUT);
	fill(c, 1);
	CHECK_EQ(send_number(c, 9, CC_NOW), EAGAIN);
	CHECK_EQ(send_number(c, 9, cc_now() - 1), ETIMEDOUT);
	CHECK_EQ(send_number(c, 9, cc_after(CC_MSEC)), ETIMEDOUT);
	CHECK_EQ(v, -1);
	CHECK_EQ(cc_chan_len(c), s->capacity);
	/* What can be done at once is done, whatever the deadline. */
	if (s->capacity > 0) {
		CHECK_EQ(recv_number(c, &v, cc_now() - 1), 0);
		CHECK_EQ(send_number(c, 9, cc_now() - 1), 0);
	}
	CHECK_EQ(cc_chan_close(c), 0);
	free_chan(c);
}

/* Who leaves has given nothing and taken nothing. */
BEHAVIOUR(who_times_out_leaves_nothing_behind)	/* covers: CHN-44/u, CHN-25/u, RES-19/u */
{
	CCChan *c = chan_of(s);
	struct actor a;
	int v = 0;

	start_recv(&a, s, c, 1, 2 * CC_MSEC);
	CHECK_EQ(finish(&a), ETIMEDOUT);
	fill(c, 1);
	start_send(&a, s, c, 99, 1, 2 * CC_MSEC);
	CHECK_EQ(finish(&a), ETIMEDOUT);
	CHECK_EQ(cc_chan_close(c), 0);
	for (size_t i = 0; i < s->capacity; i++) {
		CHECK_EQ(recv_number(c, &v, CC_NOW), 0);
		CHECK_EQ(v, i + 1);
	}
	CHECK_EQ(recv_number(c, &v, CC_NOW), EPIPE);
	free_chan(c);
}

/* ---- close ---- */

BEHAVIOUR(close_delivers_what_was_accepted)	/* covers: LIF-43/u, LIF-44/u, CHN-05/u, CHN-06/u */
{
	CCChan *c = chan_of(s);
	const int full = fill(c, 1);
	int v = 0;

	CHECK_EQ(cc_chan_closed(c), 0);
	CHECK_EQ(cc_chan_close(c), 0);
	CHECK_EQ(cc_chan_closed(c), 1);
	CHECK_EQ(send_number(c, 99, CC_FOREVER), EPIPE);
	for (int i = 1; i <= full; i++) {
		CHECK_EQ(recv_number(c, &v, CC_FOREVER), 0);
		CHECK_EQ(v, i);
	}
	CHECK_EQ(recv_number(c, &v, CC_FOREVER), EPIPE);
	CHECK_EQ(recv_number(c, &v, CC_NOW), EPIPE);
	CHECK_EQ(cc_chan_close_error(c, ENOSPC), 0);	/* the first one stays */
	CHECK_EQ(recv_number(c, &v, CC_FOREVER), EPIPE);
	CHECK_EQ(cc_chan_closed(c), 1);
	free_chan(c);
}

BEHAVIOUR(close_passes_its_error_on)	/* covers: CHN-06/u, CHN-56/u */
{
	CCChan *c = chan_of(s);
	int v = 0;

	CHECK_EQ(cc_chan_close_error(c, ENOSPC), 0);
	CHECK_EQ(recv_number(c, &v, CC_FOREVER), ENOSPC);
	CHECK_EQ(send_number(c, 1, CC_FOREVER), EPIPE);
	CHECK_EQ(cc_chan_close(c), 0);
	CHECK_EQ(recv_number(c, &v, CC_FOREVER), ENOSPC);
	free_chan(c);
}

BEHAVIOUR(receivers_close_too)	/* covers: CHN-06/u */
{
	CCChan *c = chan_of(s);
	const int full = fill(c, 1);
	struct actor sender;
	int v = 0;

	start_send(&sender, s, c, 50, 1, CC_FOREVER);
	until_waiting(c, CC__SEND, 1);
	CHECK_EQ(cc_chan_close_recv(c, ECONNRESET), 0);
	CHECK_EQ(finish(&sender), ECONNRESET);
	CHECK_EQ(send_number(c, 1, CC_FOREVER), ECONNRESET);
	for (int i = 1; i <= full; i++)
		CHECK_EQ(recv_number(c, &v, CC_FOREVER), 0);
	CHECK_EQ(recv_number(c, &v, CC_FOREVER), EPIPE);
	free_chan(c);
}

BEHAVIOUR(close_wakes_every_receiver) /* covers: CHN-28/s, CHN-31/u, LIF-46/s, LIF-49/s, CHN-32/s */
{
	enum { MANY = 20 };	/* more than one batch of wakes */
	CCChan *c = chan_of(s);
	struct actor receiver[MANY];

	for (int i = 0; i < MANY; i++)
		start_recv(&receiver[i], s, c, 1, CC_FOREVER);
	until_waiting(c, CC__RECV, MANY);
	CHECK_EQ(cc_chan_close_error(c, ENOSPC), 0);
	CHECK_EQ(cc_chan_close(c), 0);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(finish(&receiver[i]), ENOSPC);
	free_chan(c);
}

BEHAVIOUR(close_gives_senders_their_elements_back)	/* covers: RES-11/u, CHN-31/u, LIF-40/s */
{
	enum { MANY = 20 };
	CCChan *c = chan_of(s);
	const int full = fill(c, 1);
	struct actor sender[MANY];
	int v = 0;

	for (int i = 0; i < MANY; i++)
		start_send(&sender[i], s, c, 100 + i, 1, CC_FOREVER);
	until_waiting(c, CC__SEND, MANY);
	CHECK_EQ(cc_chan_close(c), 0);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(finish(&sender[i]), EPIPE);
	for (int i = 1; i <= full; i++) {
		CHECK_EQ(recv_number(c, &v, CC_FOREVER), 0);
		CHECK_EQ(v, i);
	}
	CHECK_EQ(recv_number(c, &v, CC_FOREVER), EPIPE);
	free_chan(c);
}

static inline int act_close(void *arg)
{
	struct actor *a = arg;

	return cc_chan_close_error(a->chan, a->first);
}

BEHAVIOUR(one_of_several_closers_wins)	/* covers: LIF-45/u */
{
	enum { MANY = 4 };
	CCChan *c = chan_of(s);
	struct actor closer[MANY];
	int v = 0, first;

	for (int i = 0; i < MANY; i++) {
		closer[i] = (struct actor){.chan = c, .first = 200 + i};
		sleeper_start(&closer[i].s, s->rt, i & 1 ? s->sender : s->receiver, act_close,
		              &closer[i]);
	}
	first = recv_number(c, &v, CC_FOREVER);
	CHECK(first >= 200 && first < 200 + MANY);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(finish(&closer[i]), 0);
	CHECK_EQ(recv_number(c, &v, CC_FOREVER), first);
	free_chan(c);
}

/* ---- bad calls ---- */

BEHAVIOUR(what_makes_no_sense_is_refused)	/* covers: CHN-51/u */
{
	CCChan *c = chan_of(s);
	union element e[2] = {{.task = {0}}};
	size_t n = 7;

	for (size_t size = 0; size < sizeof e; size++)
		if (size != c->size) {
			CHECK_EQ(cc_chan_send(c, e, size), EINVAL);
			CHECK_EQ(cc_chan_recv(c, e, size), EINVAL);
		}
	CHECK_EQ(cc_chan_send(c, NULL, c->size), EINVAL);
	CHECK_EQ(cc_chan_recv(c, NULL, c->size), EINVAL);
	CHECK_EQ(cc_chan_send(NULL, e, c->size), EINVAL);
	CHECK_EQ(cc_chan_recv_until(NULL, e, c->size, CC_NOW), EINVAL);
	CHECK_EQ(cc_chan_close(NULL), EINVAL);
	CHECK_EQ(cc_chan_send_many(NULL, e, c->size, 1, CC_NOW, &n), EINVAL);
	CHECK_EQ(n, 0);
	CHECK_EQ(cc_chan_recv_many(c, e, c->size, 1, CC_NOW, NULL), EINVAL);
	CHECK_EQ(cc_chan_recv_many(c, e, c->size + 1, 1, CC_NOW, &n), EINVAL);
	CHECK_EQ(cc_chan_len(c), 0);
	free_chan(c);
}

BEHAVIOUR(a_channel_that_somebody_waits_for_is_not_freed)
{
	CCChan *c = chan_of(s);
	struct actor receiver;

	start_recv(&receiver, s, c, 1, CC_FOREVER);
	until_waiting(c, CC__RECV, 1);
	CHECK_EQ(cc_chan_free(c), EBUSY);
	CHECK_EQ(send_number(c, 3, CC_FOREVER), 0);
	CHECK_EQ(finish(&receiver), 0);
	free_chan(c);
}

/* ---- crowds ---- */

enum { CROWD = 4 };

/* Everything that was accepted is received, once, and in the order of its sender. */
static inline int act_recv_checked(void *arg)
{
	struct actor *a = arg;
	int last[CROWD] = {0}, v = 0;

	while ((a->error = recv_number(a->chan, &v, CC_FOREVER)) == 0) {
		const int from = v / 1000000;

		CHECK(from >= 0 && from < CROWD && v % 1000000 > last[from]);
		last[from] = v % 1000000;
		a->sum += v;
		a->done++;
	}
	return a->error;
}

/* covers: CHN-01/s, CHN-02/s, CHN-04/s, CHN-10/s, CHN-14/s, CHN-28/s, CHN-45/s, LIF-40/s, LIF-44/s, RES-07/s */
BEHAVIOUR(a_crowd_loses_nothing)
{
	enum { EACH = 400 };
	CCChan *c = chan_of(s);
	struct actor sender[CROWD], receiver[CROWD];
	long sum = 0, expected = 0;
	int received = 0;

	for (int i = 0; i < CROWD; i++) {
		start_send(&sender[i], s, c, i * 1000000 + 1, EACH, CC_FOREVER);
		expected += (long)EACH * i * 1000000 + (long)EACH * (EACH + 1) / 2;
		receiver[i] = (struct actor){.chan = c};
		sleeper_start(&receiver[i].s, s->rt, s->receiver, act_recv_checked, &receiver[i]);
	}
	for (int i = 0; i < CROWD; i++)
		CHECK_EQ(finish(&sender[i]), 0);
	CHECK_EQ(cc_chan_close(c), 0);
	for (int i = 0; i < CROWD; i++) {
		CHECK_EQ(finish(&receiver[i]), EPIPE);
		sum += receiver[i].sum;
		received += receiver[i].done;
	}
	CHECK_EQ(received, CROWD * EACH);
	CHECK_EQ(sum, expected);
	free_chan(c);
}

/* Closed in the middle: what a send said 0 for is received, nothing else. */
BEHAVIOUR(a_crowd_meets_the_close)	/* covers: CHN-04/s, LIF-40/s, LIF-44/s, LIF-46/s */
{
	enum { MOST = 5000 };	/* if the close is that late */
	CCChan *c = chan_of(s);
	struct actor sender[CROWD], receiver[CROWD];
	int sent = 0, received = 0;
	cc_time enough;

	jitter_at("ring.reserved", 8);	/* the close meets sends in flight */

	for (int i = 0; i < CROWD; i++) {
		start_send(&sender[i], s, c, i * 1000000 + 1, MOST, CC_FOREVER);
		receiver[i] = (struct actor){.chan = c};
		sleeper_start(&receiver[i].s, s->rt, s->receiver, act_recv_checked, &receiver[i]);
	}
	/* In the middle of it, if the machine lets them run.  On a busy one a yield takes long. */
	enough = cc_after(5 * CC_MSEC);
	for (int i = 0; i < 50 && cc_now() < enough; i++)
		sched_yield();
	CHECK_EQ(cc_chan_close(c), 0);
	CHECK_EQ(send_number(c, 1, CC_FOREVER), EPIPE);
	for (int i = 0; i < CROWD; i++) {
		CHECK_EQ(finish(&sender[i]), sender[i].done == MOST ? 0 : EPIPE);
		CHECK_EQ(finish(&receiver[i]), EPIPE);
		sent += sender[i].done;
		received += receiver[i].done;
	}
	CHECK_EQ(sent, received);
	jitter_at(NULL, 1);
	free_chan(c);
}

/* Deadlines that pass all the time: what was not taken is still the sender's. */
static inline int act_send_patiently(void *arg)
{
	struct actor *a = arg;

	while (a->done < a->count) {
		const int err = send_number(a->chan, a->first + a->done, cc_after(20 * CC_USEC));

		if (err != 0 && err != ETIMEDOUT)
			return a->error = err;
		a->done += err == 0;
	}
	return 0;
}

static inline int act_recv_patiently(void *arg)
{
	struct actor *a = arg;
	int v = 0, err;

	while ((err = recv_number(a->chan, &v, cc_after(20 * CC_USEC))) != EPIPE)
		if (err == 0) {
			a->done++;
			a->sum += v;
		} else if (err != ETIMEDOUT) {
			return a->error = err;
		}
	return 0;
}

BEHAVIOUR(a_crowd_in_a_hurry_loses_nothing)	/* covers: CHN-44/s, CHN-53/s */
{
	enum { EACH = 100 };
	CCChan *c = chan_of(s);
	struct actor sender[CROWD], receiver[CROWD];
	long sum = 0, expected = 0;

	for (int i = 0; i < CROWD; i++) {
		sender[i] = (struct actor){.chan = c, .first = i * 1000 + 1, .count = EACH};
		receiver[i] = (struct actor){.chan = c};
		sleeper_start(&sender[i].s, s->rt, s->sender, act_send_patiently, &sender[i]);
		sleeper_start(&receiver[i].s, s->rt, s->receiver, act_recv_patiently, &receiver[i]);
		expected += (long)EACH * i * 1000 + (long)EACH * (EACH + 1) / 2;
	}
	for (int i = 0; i < CROWD; i++)
		CHECK_EQ(finish(&sender[i]), 0);
	CHECK_EQ(cc_chan_close(c), 0);
	for (int i = 0; i < CROWD; i++) {
		CHECK_EQ(finish(&receiver[i]), 0);
		sum += receiver[i].sum;
	}
	CHECK_EQ(sum, expected);
	free_chan(c);
}

#endif
