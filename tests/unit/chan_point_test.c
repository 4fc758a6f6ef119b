/* chan_point_test.c - races of channels, held open at their labelled places. */
#include "chans.h"
#include "points.h"

static const struct setting threads = {.sender = THREAD, .receiver = THREAD};

/* Between its attempt and the lock the channel is closed: it does not wait. */
TEST(closed_before_it_is_listed)	/* covers: LIF-48/f, CHN-43/f, LIF-43/u */
{
	NEED_POINTS();
	for (size_t capacity = 0; capacity <= 8; capacity += 8)
		for (int sends = 0; sends < 2; sends++) {
			CCChan *c = cc_chan_new(sizeof(int), capacity);
			struct point *p;
			struct actor a;

			if (sends)
				fill(c, 0);
			p = point_hold("chan.before_lock", c);
			if (sends)
				start_send(&a, &threads, c, 1, 1, CC_FOREVER);
			else
				start_recv(&a, &threads, c, 1, CC_FOREVER);
			point_until_held(p);
			CHECK_EQ(cc_chan_close(c), 0);
			point_release(p);
			CHECK_EQ(finish(&a), EPIPE);
			free_chan(c);
		}
}

/* The partner has been matched, and its waker stands before the wake, when something else
 * wakes it: it has the element, and is gone when the waker goes on. */
TEST(a_match_is_seen_through)	/* covers: SCH-59/f, CHN-52/f, RES-19/f */
{
	NEED_POINTS();
	for (int sends = 0; sends < 2; sends++) {
		CCChan *c = cc_chan_new(sizeof(int), 0);
		struct actor waits, matches;
		struct point *p;

		if (sends)
			start_send(&waits, &threads, c, 6, 1, CC_FOREVER);
		else
			start_recv(&waits, &threads, c, 1, CC_FOREVER);
		until_waiting(c, sends ? CC__SEND : CC__RECV, 1);
		until_parked(&waits.s);
		p = point_hold("wake.before_flush", NULL);
		if (sends)
			start_recv(&matches, &threads, c, 1, CC_FOREVER);
		else
			start_send(&matches, &threads, c, 6, 1, CC_FOREVER);
		point_until_held(p);
		cc__unpark(cc__load(&waits.s.who, CC__ACQUIRE));
		CHECK_EQ(finish(&waits), 0);
		CHECK_EQ(sends ? 6 : waits.sum, 6);
		point_release(p);
		CHECK_EQ(finish(&matches), 0);
		CHECK_EQ(sends ? matches.sum : 6, 6);
		free_chan(c);
	}
}

/* ---- reserved and not published ---- */

/* A sender stands between reserving a slot and publishing it; the channel is closed.  The
 * receiver does not see the end, and sleeps until the element is there. */
TEST(the_end_waits_for_what_was_reserved)	/* covers: CHN-46/f, SCH-57/f, RES-51/f, CHN-04/s */
{
	CCChan *c = cc_chan_new(sizeof(int), 8);
	struct actor sender, receiver[2];
	struct point *p;
	int v;

	NEED_POINTS();
	p = point_hold("ring.reserved", NULL);
	start_send(&sender, &threads, c, 5, 1, CC_FOREVER);
	point_until_held(p);
	CHECK_EQ(cc_chan_try_recv(c, &v, sizeof v), EAGAIN);
	CHECK_EQ(cc_chan_close(c), 0);
	CHECK_EQ(cc_chan_try_recv(c, &v, sizeof v), EAGAIN);
	for (int i = 0; i < 2; i++)
		start_recv(&receiver[i], &threads, c, 2, CC_FOREVER);
	until_waiting(c, CC__RECV, 2);
	point_release(p);
	CHECK_EQ(finish(&sender), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(finish(&receiver[i]), EPIPE);
	CHECK_EQ(receiver[0].sum + receiver[1].sum, 5);
	free_chan(c);
}

/* The second slot is published before the first: who is woken for it finds the first
 * unfinished and sleeps again.  Both are received in the end. */
TEST(nobody_sleeps_beside_a_published_slot)	/* covers: RES-51/f, CHN-53/f */
{
	CCChan *c = cc_chan_new(sizeof(int), 8);
	struct actor slow, receiver[2];
	struct point *p;

	NEED_POINTS();
	for (int i = 0; i < 2; i++)
		start_recv(&receiver[i], &threads, c, 1, CC_FOREVER);
	until_waiting(c, CC__RECV, 2);
	p = point_hold("ring.reserved", NULL);
	start_send(&slow, &threads, c, 5, 1, CC_FOREVER);
	point_until_held(p);
	CHECK_EQ(send_number(c, 70, CC_FOREVER), 0);
	until_waiting(c, CC__RECV, 2);	/* back again */
	point_release(p);
	CHECK_EQ(finish(&slow), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(finish(&receiver[i]), 0);
	CHECK_EQ(receiver[0].sum + receiver[1].sum, 75);
	free_chan(c);
}
