/* seeded_chan.c - channels with one step taken away or done the tempting way: each must
 * be found.  chan_*.c exhausts the same without a hole.
 *
 * Ring and buffered channel are included, with a door that leaves out what .init names;
 * the other holes are written out here, on the same ring and wait queues.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c chan/chan.c chan/locked.c */
#include <string.h>

#include "engine.h"
#include "chan/buffered.h"

static struct {
	bool no_heavy_fence;	/* reserved and unpublished, and he sleeps at once */
	bool nothing_passed_on;	/* who was signalled does not look what is left */
	bool no_look;		/* who lists himself does not look again */
} hole;

#undef cc__fence_heavy
#define cc__fence_heavy() \
	__extension__({ \
		MC_SITE("fence_heavy"); \
		if (!hole.no_heavy_fence) \
			mc_fence_heavy(&mc_site_); \
	})
#include "chan/ring.c"

/* The mark is raised after the look. */
static enum cc__ring_answer look_too_early(struct cc__ring *r)
{
	bool on_its_way;
	const enum cc__ring_answer a = look_at_head(r, cc__load(&r->tail, CC__ACQUIRE),
	                                            &on_its_way);

	raise_mark(&r->tail);
	return a;
}

#define cc__ring_recv_look(r) (hole.no_look ? look_too_early(r) : cc__ring_recv_look(r))
/* Who holds the channel's lock. */
static const char *holder = "";
#undef cc__lock
#define cc__lock(l, rank) (cc__lock_take(l), CC__LOCK_PUSHED(l, rank), (void)(holder = __func__))
#define cc__chan_signal(c, way) \
	(hole.nothing_passed_on && strcmp(holder, "pass_on") == 0 ? (struct cc__wake){0} \
	                                                          : cc__chan_signal(c, way))
#include "chan/buffered.c"
#undef cc__ring_recv_look
#undef cc__chan_signal
#undef cc__lock
#define cc__lock(l, rank) (cc__lock_take(l), CC__LOCK_PUSHED(l, rank))

#include "shim_wait.h"
#include "shim_chan.h"

/* ---- the handshake ---- */

static void no_heavy_fence(void)
{
	buffer_2();
	hole.no_heavy_fence = true;
}

static void no_look(void)
{
	buffer_1();
	hole.no_look = true;
}
SCENARIO(seeded_sleeps_beside_a_reserved_slot, .init = no_heavy_fence, .spurious = MC_NONE,
         .body = {send_one, recv_one}, .expect = "deadlock")
SCENARIO(seeded_look_before_the_mark, .init = no_look, .spurious = MC_NONE,
         .body = {send_one, recv_one}, .expect = "deadlock")

/* ---- RES-51: reserved is not published ---- */

static void nothing_passed_on(void)
{
	buffer_2();
	hole.nothing_passed_on = true;
}
SCENARIO(seeded_signal_is_not_passed_on, .init = nothing_passed_on, .spurious = MC_NONE,
         .body = {send_one, send_one, recv_one, recv_one}, .expect = "deadlock")
SCENARIO(seeded_end_is_not_passed_on, .init = nothing_passed_on, .spurious = MC_NONE, .bound = 1,
         .body = {send_one, recv_all, recv_all, close_chan}, .expect = "deadlock")

/* ---- RES-50: a buffered channel that hands over ----
 * The receiver lists himself and then looks into the ring once more; a sender that finds
 * the ring full copies into his buffer. */
static void recv_listed_then_ring(void)
{
	struct cc__waiter *w = waiter_new();
	int v = -1;
	size_t n;

	begin_body();
	w->io = &v;
	w->lock = &chan->lock;
	cc__lock(&chan->lock, CC__RANK_WAITQ);
	cc__waitq_append(&chan->wait[CC__RECV], w);
	cc__unlock(&chan->lock);
	if (cc__ring_recv(cc__ring_of(chan), &v, sizeof(int), 1, &n) == CC__RING_OK)
		cc__waitq_ops.unpublish(&chan->wait[CC__RECV], w);
	else
		while (cc__waitq_publish(NULL, w))
			cc__relax();
	did[mc_self()].got[did[mc_self()].recvs++] = v;
	mc_free(w);
}

static void send_or_hand_over(void)
{
	const int v = 10 * (mc_self() + 1);
	struct cc__waiter *w;
	size_t n;

	if (cc__ring_send(cc__ring_of(chan), &v, sizeof(int), 1, &n) != CC__RING_OK) {
		cc__lock(&chan->lock, CC__RANK_WAITQ);
		if ((w = cc__waitq_claim(&chan->wait[CC__RECV])) != NULL)
			*(int *)w->io = v;
		cc__unlock(&chan->lock);
		if (w == NULL)
			return;
	}
	did[mc_self()].sent[did[mc_self()].sends++] = v;
}

static void nothing_lost(void)
{
	MC_ASSERT(total(false) == total(true) + (int)chan->kind->length(chan));
}
SCENARIO(seeded_buffer_hands_over, .init = buffer_1, .spurious = MC_NONE,
         .body = {recv_listed_then_ring, send_or_hand_over, send_or_hand_over},
         .final = nothing_lost, .daemon = 1, .expect = "race|total")

/* ---- RES-53: a select that publishes channel by channel ---- */

static struct {
	struct cc__group group;
	struct cc__case cases[2];
	int value[2];
} selecting[MC_THREADS];

/* Settle or list each case in a hold of its own.  The outcome of the case that took
 * place while others were listed is believed. */
static void select_one_by_one(enum cc__way way, CCChan *first, CCChan *second)
{
	CCChan *const c[2] = {first, second};
	const int me = mc_self();
	struct cc__wake wake = {0};
	uint32_t won = 2, other;
	int result = 0;

	begin_body();
	for (int i = 0; i < 2; i++) {
		selecting[me].value[i] = way == CC__SEND ? 10 * (me + 1) + i : -1;
		selecting[me].cases[i] = (struct cc__case){.w.io = &selecting[me].value[i],
		                                           .w.lock = &c[i]->lock,
		                                           .object = &c[i]->wait[way],
		                                           .ops = &cc__waitq_ops};
	}
	cc__group_begin(&selecting[me].group, selecting[me].cases, 2);
	for (uint32_t i = 0; i < 2 && won == 2; i++) {
		struct cc__waiter *w = &selecting[me].cases[i].w;

		cc__lock(&c[i]->lock, CC__RANK_WAITQ);
		if (c[i]->kind->way[way].settle(c[i], w->io, &wake) != CC__NOT_NOW)
			won = i;
		else
			cc__waitq_append(&c[i]->wait[way], w);
		cc__unlock(&c[i]->lock);
		cc__wake(wake);
	}
	if (won < 2)
		cc__group_give_up(&selecting[me].group, selecting[me].cases, 2, &other);
	else
		result = cc__group_sleep(&selecting[me].group, selecting[me].cases, 2, CC_FOREVER,
		                         &won);
	MC_ASSERT(result == 0 && won < 2);
	if (way == CC__SEND)
		did[me].sent[did[me].sends++] = selecting[me].value[won];
	else
		did[me].got[did[me].recvs++] = selecting[me].value[won];
}

static void send_one_by_one(void)
{
	select_one_by_one(CC__SEND, chan, chan2);
}

static void recv_one_by_one(void)
{
	select_one_by_one(CC__RECV, chan2, chan);
}

static void recv_second(void)
{
	begin_body();
	recv_from(chan2, CC_FOREVER);
}
SCENARIO(seeded_select_sends_twice, .init = rendezvous, .spurious = MC_NONE,
         .body = {send_one_by_one, recv_one, recv_second}, .final = check_conservation, .daemon = 6,
         .expect = "count_of")
SCENARIO(seeded_selects_miss_each_other, .init = rendezvous, .spurious = MC_NONE,
         .body = {send_one_by_one, recv_one_by_one}, .final = check_conservation,
         .expect = "count_of|deadlock|total")

/* ---- RES-69: a select that does not wait and tries channel by channel ---- */

static void put_into(CCChan *c)
{
	const int v = 1;

	MC_ASSERT(cc_chan_send_until(c, &v, sizeof v, CC_NOW) == 0);
}

static void ring_second_has_one(void)
{
	buffer_2();
	put_into(chan2);
}

static void locked_second_has_one(void)
{
	locked_1();
	put_into(chan2);
}

static void try_one_by_one(void)
{
	begin_body();
	MC_ASSERT(recv_from(chan, CC_NOW) == 0 || recv_from(chan2, CC_NOW) == 0);
}

/* The element is in one of the two all the time. */
static void move_to_first(void)
{
	begin_body();
	put_into(chan);
	recv_from(chan2, CC_NOW);
}

/* A sender is at one of the two all the time: the one at the second is served when there is
 * one at the first. */
static bool sender_waits(CCChan *c)
{
	bool listed;

	cc__lock(&c->lock, CC__RANK_WAITQ);
	listed = c->wait[CC__SEND].head != NULL;
	cc__unlock(&c->lock);
	return listed;
}

static void send_second(void)
{
	begin_body();
	send_to(chan2, CC_FOREVER);
}

static void serve_second(void)
{
	begin_body();
	if (sender_waits(chan2) && sender_waits(chan))
		recv_from(chan2, CC_NOW);
}

static void try_one_by_one_if_second_waits(void)
{
	begin_body();
	if (sender_waits(chan2))
		try_one_by_one();
}
SCENARIO(seeded_select_tries_rings_one_by_one, .init = ring_second_has_one, .spurious = MC_NONE,
         .body = {try_one_by_one, move_to_first}, .expect = "assert")
SCENARIO(seeded_select_tries_locked_one_by_one, .init = locked_second_has_one,
         .spurious = MC_NONE, .body = {try_one_by_one, move_to_first}, .expect = "assert")
SCENARIO(seeded_select_tries_rendezvous_one_by_one, .init = rendezvous, .spurious = MC_NONE,
         .bound = 1, .daemon = 6, .expect = "assert",
         .body = {try_one_by_one_if_second_waits, send_one, send_second, serve_second})
