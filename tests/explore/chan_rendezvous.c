/* chan_rendezvous.c - the locked channel, at capacity 0 and 1, with threads: hand-over,
 * deadlines and close against it.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c chan/ring.c chan/buffered.c chan/chan.c
 *          chan/locked.c */
#include "shim_wait.h"
#include "shim_chan.h"

static void all_moved(void)
{
	check_at_rest();
	MC_ASSERT(chan->kind->length(chan) == 0);
}

/* ---- send and receive ---- */

/* covers: CHN-01/m, CHN-22/m, CHN-23/m, CHN-27/m, CHN-30/m, RES-07/m, LIF-38/m */
SCENARIO(rendezvous_one_to_one, .init = rendezvous, .body = {send_two, recv_two},
         .final = all_moved)
SCENARIO(rendezvous_two_to_one, .init = rendezvous, .body = {send_one, send_one, recv_two},
         .final = all_moved, .spurious = MC_NONE)
SCENARIO(rendezvous_one_to_two, .init = rendezvous, .body = {send_two, recv_one, recv_one},
         .final = all_moved, .spurious = MC_NONE)
SCENARIO(rendezvous_two_to_two, .init = rendezvous, .weak = 1,
         .body = {send_one, send_one, recv_one, recv_one}, .final = all_moved, .spurious = MC_NONE)
SCENARIO(locked_two_to_two, .init = locked_1, .body = {send_one, send_one, recv_one, recv_one},
         .final = all_moved, .spurious = MC_NONE) /* covers: CHN-41/m */

/* Strict order of arrival: the second of one sender is not received before its first,
 * whoever else sends. */
SCENARIO(locked_keeps_order, .init = locked_1, .body = {send_two, send_one, recv_two},
         .final = check_conservation, .daemon = 3, .spurious = MC_NONE)

/* Who waits is served in the order of arrival: the second comes when the first is PARKING, which
 * it is in the hold of the lock that lists it. */
static void until_parks(int thread)
{
	struct cc__parker *p = thread_parker(thread);

	mc_wait_while(&p->word, 0);
	mc_wait_while(&p->word, CC__THREAD_BIT | CC__OWNED);
}

static void send_second(void)
{
	until_parks(0);
	send_one();
}

static void recv_of_two(void)
{
	until_parks(1);
	recv_two();
	MC_ASSERT(did[2].got[0] == 10 && did[2].got[1] == 20);
}

static void recv_second(void)
{
	until_parks(0);
	recv_one();
}

static void send_to_two(void)
{
	until_parks(1);
	send_two();
}

static void first_got_first(void)
{
	all_moved();
	MC_ASSERT(did[0].got[0] == 30 && did[1].got[0] == 31);
}
SCENARIO(rendezvous_senders_in_order, .init = rendezvous, .spurious = MC_NONE,
         .body = {send_one, send_second, recv_of_two}, .final = all_moved)
SCENARIO(rendezvous_receivers_in_order, .init = rendezvous, .spurious = MC_NONE,
         .body = {recv_one, recv_second, send_to_two}, .final = first_got_first)
/* covers: RES-48/m */

/* ---- close ---- */

/* A send that succeeded was received. */
static void nothing_after_the_end(void)
{
	check_at_rest();
	MC_ASSERT(chan->kind->length(chan) == 0 && did[1].refused == EPIPE);
	MC_ASSERT(did[0].sends + (did[0].refused == EPIPE) >= 1);
	mc_outcome("%d", total(true));
}
SCENARIO(rendezvous_close, .init = rendezvous, .body = {send_one, recv_all, close_chan},
         .final = nothing_after_the_end, .outcomes = "0 1")
SCENARIO(locked_close, .init = locked_1, .body = {send_two, recv_all, close_chan},
         .final = nothing_after_the_end, .outcomes = "0 1 2", .spurious = MC_NONE)
/* covers: RES-11/m, CHN-33/m, CHN-43/m, LIF-42/m, LIF-46/m */

/* ---- a deadline against a hand-over ---- */

/* Both got it, or neither. */
static void both_or_neither(void)
{
	check_at_rest();
	MC_ASSERT(did[0].sends == did[1].recvs);
	MC_ASSERT(did[0].sends == 1 || did[0].refused == ETIMEDOUT);
	MC_ASSERT(did[1].recvs == 1 || did[1].refused == ETIMEDOUT);
	mc_outcome("%d", did[0].sends);
}
SCENARIO(rendezvous_both_deadlines, .init = rendezvous, .body = {send_a_second, recv_a_second},
         .final = both_or_neither, .outcomes = "0 1")
/* covers: CHN-44/m, RES-19/m, SCH-59/m */

static void one_of_two_senders(void)
{
	check_at_rest();
	MC_ASSERT(did[1].sends == 1 && did[2].recvs == did[0].sends + 1);
	mc_outcome("%d", did[0].sends);
}

/* Until the second sender's has come. */
static void recv_that_of_the_second(void)
{
	begin_body();
	do
		recv_from(chan, CC_FOREVER);
	while (did[2].got[did[2].recvs - 1] != 20);
}
SCENARIO(rendezvous_one_sender_leaves, .init = rendezvous,
         .body = {send_a_second, send_one, recv_that_of_the_second}, .final = one_of_two_senders,
         .spurious = MC_NONE, .outcomes = "0 1") /* covers: CHN-44/m */

/* ---- a look from outside ---- */

static void look(void)
{
	MC_ASSERT(cc_chan_len(chan) <= 1);
	cc__lock(&chan->lock, CC__RANK_WAITQ);
	MC_ASSERT(!chan->telling);	/* as a free would: nobody waited */
	cc__unlock(&chan->lock);
	mc_outcome("%d", cc_chan_closed(chan));
}
SCENARIO(locked_look, .init = locked_1, .body = {send_one_and_close, look}, .final = check_at_rest,
         .outcomes = "0 1")

/* ---- drop the oldest, under the lock ---- */

static void drop_old(void)
{
	make(&cc__locked_drop_old, 1);
}

static void newest_stays(void)
{
	MC_ASSERT(did[0].sends == 1 && did[1].sends == 1 && did[2].recvs == 1);
	MC_ASSERT(chan->kind->length(chan) <= 1);
	check_threads_at_rest();
}
SCENARIO(locked_drop_old, .init = drop_old, .body = {send_one, send_one, recv_one},
         .final = newest_stays, .spurious = MC_NONE) /* covers: CHN-21/m */
