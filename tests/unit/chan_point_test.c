/* chan_point_test.c - races of channels, held open at their labelled places.
 * mutate: src/chan */
#include "chans.h"
#include "points.h"

#include "chan/buffered.h"

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
TEST(a_match_is_seen_through)	/* covers: SCH-59/f, RES-19/f */
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

/* The same with a select, whose nodes lie in its frame: when its waker goes on, something else
 * is there. */
struct chooser {
	CCChan *chan[2];
	int value;
	cc__a32 chosen, go;
	struct sleeper s;
};

static __attribute__((noinline)) int choose(struct chooser *c)
{
	const CCCase cases[] = {cc_case_recv(c->chan[0], &c->value, sizeof c->value),
	                        cc_case_recv(c->chan[1], &c->value, sizeof c->value)};

	return cc_select(cases, 2, CC_FOREVER, NULL);
}

static __attribute__((noinline)) void overwrite_frames(void)
{
	volatile unsigned char room[16384];

	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0xa5;
}

static int choose_and_stay(void *arg)
{
	struct chooser *c = arg;
	const int err = choose(c);

	overwrite_frames();
	cc__store(&c->chosen, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(&c->go, CC__ACQUIRE) == 1);
	return err;
}

TEST(a_match_of_a_select_is_seen_through)	/* covers: CHN-52/f */
{
	struct chooser c = {.chan = {cc_chan_new(sizeof(int), 0), cc_chan_new(sizeof(int), 0)}};
	struct actor matches;
	struct point *p;

	NEED_POINTS();
	sleeper_start(&c.s, NULL, THREAD, choose_and_stay, &c);
	until_waiting(c.chan[1], CC__RECV, 1);
	until_parked(&c.s);
	p = point_hold("wake.before_flush", NULL);
	start_send(&matches, &threads, c.chan[1], 6, 1, CC_FOREVER);
	point_until_held(p);
	cc__unpark(cc__load(&c.s.who, CC__ACQUIRE));
	TEST_UNTIL(cc__load(&c.chosen, CC__ACQUIRE) == 1);
	point_release(p);
	CHECK_EQ(finish(&matches), 0);
	cc__store(&c.go, 1, CC__RELEASE);
	CHECK_EQ(sleeper_join(&c.s), 0);
	CHECK_EQ(c.value, 6);
	free_chan(c.chan[0]);
	free_chan(c.chan[1]);
}

/* ---- two want the same slot ---- */

static void send_before(const void *ring, void *chan)
{
	(void)ring;
	CHECK_EQ(send_number(chan, 1, CC_NOW), 0);
}

static void recv_before(const void *ring, void *chan)
{
	int v = 0;

	(void)ring;
	CHECK_EQ(recv_number(chan, &v, CC_NOW), 0);
	CHECK_EQ(v, 1);
}

/* The loser takes the next, and it is counted: the scheduler wants to know. */
TEST(who_loses_a_slot_takes_the_next)
{
	CCChan *c = cc_chan_new(sizeof(int), 8);
	const uint64_t before = cc__contentions();
	int v = 0;

	NEED_POINTS();
	point_call("ring.before_exchange", cc__ring_of(c), send_before, c);
	CHECK_EQ(send_number(c, 2, CC_NOW), 0);
	CHECK_EQ(cc__contentions() - before, 1);
	point_call("ring.before_exchange", cc__ring_of(c), recv_before, c);
	CHECK_EQ(recv_number(c, &v, CC_NOW), 0);
	CHECK_EQ(v, 2);
	CHECK_EQ(cc__contentions() - before, 2);
	free_chan(c);
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

/* ---- too late ---- */

static int act_select(void *arg)
{
	struct actor *a = arg;
	const CCCase one = cc_case_recv(a->chan, &a->last, sizeof a->last);

	return cc_select(&one, 1, CC_FOREVER, NULL);
}

static bool is_first(CCChan *c, struct actor *a)
{
	struct cc__parker *who = sleeper_who(&a->s);
	bool first;

	cc__lock(&c->lock, CC__RANK_WAITQ);
	first = c->wait[CC__RECV].head->who == who;
	cc__unlock(&c->lock);
	return first;
}

static bool never_in_vain(struct cc__guard *g, struct cc__parker *who)
{
	(void)g, (void)who;
	return false;
}

static void overtaken(bool alone, bool by_select, bool guarded)
{
	struct cc__guard guard = {never_in_vain};
	CCChan *c = cc_chan_new(sizeof(int), 8);
	struct actor first = {.chan = c, .count = 1, .span = CC_FOREVER}, second, sender;
	struct point *p;
	int v;

	if (guarded)
		cc__chan_guard(c, &guard);
	sleeper_start(&first.s, NULL, THREAD, by_select ? act_select : act_recv, &first);
	until_waiting(c, CC__RECV, 1);
	if (!alone)
		start_recv(&second, &threads, c, 1, CC_FOREVER);
	until_waiting(c, CC__RECV, alone ? 1 : 2);
	CHECK(is_first(c, &first));
	p = point_hold("wake.before_flush", NULL);
	start_send(&sender, &threads, c, 1, 1, CC_FOREVER);
	point_until_held(p);
	CHECK_EQ(recv_number(c, &v, CC_NOW), 0);
	if (alone)
		start_recv(&second, &threads, c, 1, CC_FOREVER);
	until_waiting(c, CC__RECV, 1);
	point_release(p);
	until_waiting(c, CC__RECV, 2);
	CHECK(is_first(c, &first));
	for (int i = 0; i < 2; i++)
		CHECK_EQ(send_number(c, i, CC_FOREVER), 0);
	CHECK_EQ(finish(&first), 0);
	CHECK_EQ(finish(&second), 0);
	CHECK_EQ(finish(&sender), 0);
	free_chan(c);
}

/* On his way to an element, alone or before another one who waits, when it is taken: he
 * waits again, and before who has come meanwhile. */
TEST(who_comes_too_late_is_the_first_again)
{
	NEED_POINTS();
	for (int run = 0; run < 8; run++)
		overtaken(run & 1, run & 2, run & 4);
}

/* ---- free ---- */

static void count_drop(void *context, void *item)
{
	(void)item;
	++*(int *)context;
}

/* A send is in progress: nothing is freed, and nothing was dropped on the way. */
TEST(what_is_in_use_is_not_freed_by_halves)
{
	int dropped = 0, v = 0;
	const CCChanOptions o = {.drop = count_drop, .context = &dropped};
	CCChan *c = NULL;
	struct actor sender;
	struct point *p;

	NEED_POINTS();
	CHECK_EQ(cc_chan_create(&c, sizeof(int), 8, &o), 0);
	CHECK_EQ(send_number(c, 1, CC_FOREVER), 0);
	p = point_hold("ring.reserved", NULL);
	start_send(&sender, &threads, c, 2, 1, CC_FOREVER);
	point_until_held(p);
	CHECK_EQ(cc_chan_free(c), EBUSY);
	CHECK_EQ(dropped, 0);
	point_release(p);
	CHECK_EQ(finish(&sender), 0);
	CHECK_EQ(recv_number(c, &v, CC_NOW), 0);
	CHECK_EQ(v, 1);
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(dropped, 1);
}

/* ---- close ---- */

struct crowd {
	CCChan *chan, *next;	/* next: made when chan is freed */
	CCToken *leave;
	cc__a32 free_waits, freed;
};

static int recv_or_leave(void *arg)
{
	struct crowd *crowd = arg;
	int v;
	const CCCase cases[] = {cc_case_recv(crowd->chan, &v, sizeof v),
	                        cc_case_token(crowd->leave)};

	return cc_select(cases, 2, CC_FOREVER, NULL);
}

static int close_it(void *arg)
{
	return cc_chan_close(((struct crowd *)arg)->chan);
}

static int free_it(void *arg)
{
	struct crowd *crowd = arg;
	int err = cc_chan_free(crowd->chan);

	crowd->next = cc_chan_new(sizeof(int), cc_chan_cap(crowd->chan));
	cc__store(&crowd->freed, 1, CC__RELEASE);
	return err;
}

static void note_wait(const void *chan, void *crowd)
{
	(void)chan;
	cc__store(&((struct crowd *)crowd)->free_waits, 1, CC__RELEASE);
}

/* More wait than one batch of wakes holds; the others have left when the first ones are
 * told, and one of those frees the channel.  The close has nothing to do with the next. */
static void closed_and_freed(size_t capacity)
{
	enum { FIRST = CC__BATCH_MAX, OTHERS = 3 };
	struct crowd crowd = {.chan = cc_chan_new(sizeof(int), capacity), .leave = cc_token_new()};
	struct sleeper others[OTHERS], closer, freer;
	struct actor first[FIRST];
	struct point *flush, *waits;

	for (int i = 0; i < FIRST; i++)
		start_recv(&first[i], &threads, crowd.chan, 1, CC_FOREVER);
	until_waiting(crowd.chan, CC__RECV, FIRST);
	for (int i = 0; i < OTHERS; i++)
		sleeper_start(&others[i], NULL, THREAD, recv_or_leave, &crowd);
	until_waiting(crowd.chan, CC__RECV, FIRST + OTHERS);
	flush = point_hold("wake.before_flush", NULL);
	sleeper_start(&closer, NULL, THREAD, close_it, &crowd);
	point_until_held(flush);
	for (int i = 0; i < FIRST; i++) {
		until_parked(&first[i].s);
		cc__unpark(cc__load(&first[i].s.who, CC__ACQUIRE));
		CHECK_EQ(finish(&first[i]), EPIPE);
	}
	CHECK_EQ(cc_token_set(crowd.leave), 0);
	for (int i = 0; i < OTHERS; i++)
		CHECK_EQ(sleeper_join(&others[i]), 0);
	waits = point_call("chan.free_waits", crowd.chan, note_wait, &crowd);
	sleeper_start(&freer, NULL, THREAD, free_it, &crowd);
	TEST_UNTIL(cc__load(&crowd.free_waits, CC__ACQUIRE) + cc__load(&crowd.freed, CC__ACQUIRE) > 0);
	point_release(flush);
	CHECK_EQ(sleeper_join(&closer), 0);
	CHECK_EQ(sleeper_join(&freer), 0);
	CHECK(point_passed(waits));
	CHECK_EQ(cc_chan_closed(crowd.next), 0);
	free_chan(crowd.next);
	CHECK_EQ(cc_token_free(crowd.leave), 0);
}

TEST(a_close_does_not_reach_the_next_channel)	/* covers: CHN-52/f, LIF-46/f */
{
	NEED_POINTS();
	for (size_t capacity = 0; capacity <= 8; capacity += 8)
		closed_and_freed(capacity);
}
