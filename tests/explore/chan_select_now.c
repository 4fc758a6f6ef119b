/* chan_select_now.c - a select that does not wait, while another thread moves the only element, the
 * only room or the only partner from the channel that is checked later to the one that has been
 * checked: at every moment one case can take place, so "nothing" is wrong.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c chan/ring.c chan/buffered.c chan/chan.c
 *          chan/locked.c chan/select.c chan/token.c */
#include "shim_wait.h"
#include "shim_chan.h"
#include "shim_select.h"

#ifndef NOW /* chan_select_marks.c has names of its own */
#define NOW(name, ...) SCENARIO(now_##name, __VA_ARGS__)
#endif

/* ---- both of one kind ---- */

static void put(CCChan *c)
{
	const int v = 1;

	MC_ASSERT(cc_chan_send_until(c, &v, sizeof v, CC_NOW) == 0);
}

static void take(CCChan *c)
{
	int v = -1;

	MC_ASSERT(cc_chan_recv_until(c, &v, sizeof v, CC_NOW) == 0);
}

static void take_if_there(CCChan *c)
{
	int v = -1, err = cc_chan_recv_until(c, &v, sizeof v, CC_NOW);

	MC_ASSERT(err == 0 || err == EAGAIN);
}

/* An element in the second; the first is empty. */
static void ring_second_has_one(void)
{
	make(&cc__buffered, 2);
	put(chan2);
}

static void locked_second_has_one(void)
{
	make(&cc__locked, 1);
	put(chan2);
}

/* One has a ring, one has none. */
static void make_mixed(bool ring_first)
{
	chan = ring_first ? set_up(&buffered[0].chan, &cc__buffered, 2, slots[0])
	                  : set_up(&locked[0], &cc__locked, 1, slots[0]);
	chan2 = ring_first ? set_up(&locked[1], &cc__locked, 1, slots[1])
	                   : set_up(&buffered[1].chan, &cc__buffered, 2, slots[1]);
}

static void locked_of_mixed_has_one(void)
{
	make_mixed(true);
	put(chan2);
}

static void ring_of_mixed_has_one(void)
{
	make_mixed(false);
	put(chan2);
}

/* Room in the second; the first is full. */
static void ring_second_has_room(void)
{
	make(&cc__buffered, 1);
	put(chan);
}

static void locked_second_has_room(void)
{
	make(&cc__locked, 1);
	put(chan);
}

static void check_recv(CCChan *first, CCChan *second)
{
	int v[2] = {-1, -1};
	size_t i;
	CCCase cases[3] = {cc_case_recv(first, &v[0], sizeof(int)),
	                   cc_case_recv(second, &v[1], sizeof(int)), cc_case_default()};

	begin_body();
	MC_ASSERT(cc_select_in_order(cases, 3, CC_FOREVER, &i) == 0);
	MC_ASSERT(i < 2 && v[i] == 1 && v[1 - i] == -1);
}

static void recv_now(void)
{
	check_recv(chan, chan2);
}

static void recv_now_other_order(void)
{
	check_recv(chan2, chan);
}

static void move_to_first(void)
{
	begin_body();
	put(chan);
	take_if_there(chan2);
}

NOW(ring_recv, .init = ring_second_has_one, .spurious = MC_NONE, .body = {recv_now, move_to_first})
NOW(ring_recv_other_order, .init = ring_second_has_one, .spurious = MC_NONE,
    .body = {recv_now_other_order, move_to_first})
NOW(locked_recv, .init = locked_second_has_one, .spurious = MC_NONE,
    .body = {recv_now, move_to_first})
NOW(locked_recv_other_order, .init = locked_second_has_one, .spurious = MC_NONE,
    .body = {recv_now_other_order, move_to_first})
NOW(ring_and_locked_recv, .init = ring_of_mixed_has_one, .spurious = MC_NONE,
    .body = {recv_now, move_to_first})
NOW(locked_and_ring_recv, .init = locked_of_mixed_has_one, .spurious = MC_NONE,
    .body = {recv_now, move_to_first})
/* covers: RES-69/m */

/* The element moves to and fro. */
static void move_twice(void)
{
	begin_body();
	put(chan);
	take_if_there(chan2);
	if (cc_chan_len(chan) == 0)
		return;	/* the select has it */
	put(chan2);
	take_if_there(chan);
}
NOW(ring_recv_to_and_fro, .init = ring_second_has_one, .spurious = MC_NONE, .bound = 2,
    .body = {recv_now, move_twice}) /* covers: RES-69/m */

/* ---- sends ---- */

static void check_send(CCChan *first, CCChan *second)
{
	const int v = 2;
	size_t i;
	CCCase cases[2] = {cc_case_send(first, &v, sizeof v), cc_case_send(second, &v, sizeof v)};

	begin_body();
	MC_ASSERT(cc_select_in_order(cases, 2, CC_NOW, &i) == 0 && i < 2);
}

static void send_now(void)
{
	check_send(chan, chan2);
}

static void send_now_other_order(void)
{
	check_send(chan2, chan);
}

/* Makes room in the first, and uses that of the second if it is still there. */
static void move_room_to_first(void)
{
	const int v = 1;
	int err;

	begin_body();
	take(chan);
	err = cc_chan_send_until(chan2, &v, sizeof v, CC_NOW);
	MC_ASSERT(err == 0 || err == EAGAIN);
}

NOW(ring_send, .init = ring_second_has_room, .spurious = MC_NONE,
    .body = {send_now, move_room_to_first})
NOW(ring_send_other_order, .init = ring_second_has_room, .spurious = MC_NONE,
    .body = {send_now_other_order, move_room_to_first})
NOW(locked_send, .init = locked_second_has_room, .spurious = MC_NONE,
    .body = {send_now, move_room_to_first})
/* covers: RES-69/m */

/* ---- both ways ---- */

/* Receive from the first, which is empty, or send to the second, which has room. */
static void recv_or_send_now(void)
{
	const int v = 2;
	int got = -1;
	size_t i;
	CCCase cases[2] = {cc_case_recv(chan, &got, sizeof got), cc_case_send(chan2, &v, sizeof v)};

	begin_body();
	MC_ASSERT(cc_select_in_order(cases, 2, CC_NOW, &i) == 0 && i < 2);
}

static void fill_both(void)
{
	const int v = 1;
	int err;

	begin_body();
	put(chan);
	err = cc_chan_send_until(chan2, &v, sizeof v, CC_NOW);
	MC_ASSERT(err == 0 || err == EAGAIN);
}

/* One channel, both ways: it is empty or has something all the time. */
static void one_channel_now(void)
{
	const int v = 2;
	int got = -1;
	size_t i;
	CCCase cases[2] = {cc_case_recv(chan, &got, sizeof got), cc_case_send(chan, &v, sizeof v)};

	begin_body();
	MC_ASSERT(cc_select_in_order(cases, 2, CC_NOW, &i) == 0 && i < 2);
}

static void fill_one(void)
{
	const int v = 1;
	int err;

	begin_body();
	err = cc_chan_send_until(chan, &v, sizeof v, CC_NOW);
	MC_ASSERT(err == 0 || err == EAGAIN);
}

NOW(ring_both_ways, .init = buffer_1, .spurious = MC_NONE, .body = {recv_or_send_now, fill_both})
NOW(locked_both_ways, .init = locked_1, .spurious = MC_NONE, .body = {recv_or_send_now, fill_both})
NOW(locked_one_channel, .init = locked_1, .spurious = MC_NONE, .body = {one_channel_now, fill_one})
/* covers: RES-69/m */

/* ---- rendezvous ---- */

static bool is_listed(CCChan *c)
{
	bool listed;

	cc__lock(&c->lock, CC__RANK_WAITQ);
	listed = c->wait[CC__SEND].head != NULL;
	cc__unlock(&c->lock);
	return listed;
}

static void send_first(void)
{
	begin_body();
	send_to(chan, CC_FOREVER);
}

static void send_second(void)
{
	begin_body();
	send_to(chan2, CC_FOREVER);
}

/* Once a sender waits at the first, the one at the second is served. */
static void serve_second(void)
{
	begin_body();
	if (is_listed(chan2) && is_listed(chan))
		take_if_there(chan2);
}

static void recv_now_if_second_waits(void)
{
	int v[2] = {-1, -1};
	size_t i;
	CCCase cases[2] = {cc_case_recv(chan, &v[0], sizeof(int)),
	                   cc_case_recv(chan2, &v[1], sizeof(int))};

	begin_body();
	if (!is_listed(chan2))
		return;
	MC_ASSERT(cc_select_in_order(cases, 2, CC_NOW, &i) == 0 && i < 2);
}
NOW(rendezvous_recv, .init = rendezvous, .spurious = MC_NONE, .daemon = 6, .bound = 1,
    .body = {recv_now_if_second_waits, send_first, send_second, serve_second})
/* covers: RES-69/m */

/* ---- a token ---- */

static CCToken *token;

static void ring_and_token(void)
{
	make(&cc__buffered, 2);
	put(chan);
	token = cc_token_new();
}

static void locked_and_token(void)
{
	make(&cc__locked, 1);
	put(chan);
	token = cc_token_new();
}

static void token_or_recv_now(void)
{
	int v = -1;
	size_t i;
	CCCase cases[2] = {cc_case_token(token), cc_case_recv(chan, &v, sizeof v)};

	begin_body();
	MC_ASSERT(cc_select_in_order(cases, 2, CC_NOW, &i) == 0 && i < 2);
}

static void set_and_take(void)
{
	begin_body();
	MC_ASSERT(cc_token_set(token) == 0);
	take_if_there(chan);
}
/* The room of a full channel, instead of an element. */
static void room_and_token(void)
{
	make(&cc__buffered, 1);
	token = cc_token_new();
}

static void token_or_send_now(void)
{
	const int v = 2;
	size_t i;
	CCCase cases[2] = {cc_case_token(token), cc_case_send(chan, &v, sizeof v)};

	begin_body();
	MC_ASSERT(cc_select_in_order(cases, 2, CC_NOW, &i) == 0 && i < 2);
}

static void set_and_fill(void)
{
	begin_body();
	MC_ASSERT(cc_token_set(token) == 0);
	fill_one();
}
NOW(ring_room_or_token, .init = room_and_token, .spurious = MC_NONE,
    .body = {token_or_send_now, set_and_fill})
NOW(ring_or_token, .init = ring_and_token, .spurious = MC_NONE,
    .body = {token_or_recv_now, set_and_take})
NOW(locked_or_token, .init = locked_and_token, .spurious = MC_NONE,
    .body = {token_or_recv_now, set_and_take})
/* covers: RES-69/m */
