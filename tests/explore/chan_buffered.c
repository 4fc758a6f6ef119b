/* chan_buffered.c - the channel with a ring, whole: send, receive and close by threads.
 * Nothing is lost, nothing comes twice, nobody sleeps beside what he waits for.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c chan/ring.c chan/buffered.c chan/chan.c chan/locked.c */
#include "shim_wait.h"
#include "shim_chan.h"

static void all_moved(void)
{
	check_at_rest();
	MC_ASSERT(chan->kind->length(chan) == 0);
}

/* ---- send and receive ---- */

/* covers: CHN-01/m, CHN-14/m, CHN-24/m, CHN-42/m, SCH-56/m, RES-50/m, RES-26/m */
SCENARIO(buffered_1_one_to_one, .init = buffer_1, .body = {send_two, recv_two}, .final = all_moved,
         .spurious = MC_NONE)
SCENARIO(buffered_1_two_to_one, .init = buffer_1, .body = {send_one, send_one, recv_two},
         .final = all_moved, .spurious = MC_NONE)
SCENARIO(buffered_1_one_to_two, .init = buffer_1, .body = {send_two, recv_one, recv_one},
         .final = all_moved, .spurious = MC_NONE, .weak = 1)
SCENARIO(buffered_2_one_to_two, .init = buffer_2, .body = {send_two, recv_one, recv_one},
         .final = all_moved, .spurious = MC_NONE)
SCENARIO(buffered_2_two_to_two, .init = buffer_2, .body = {send_one, send_one, recv_one, recv_one},
         .final = all_moved, .spurious = MC_NONE, .bound = 1)
/* covers: RES-51/m, RES-04/m, CHN-29/m, CHN-53/m */

/* One is signalled, and sees to the others. */
static void send_three(void)
{
	send_two();
	send_to(chan, CC_FOREVER);
}

static void recv_three(void)
{
	recv_two();
	recv_from(chan, CC_FOREVER);
}
SCENARIO(buffered_2_one_to_three, .init = buffer_2,
         .body = {send_three, recv_one, recv_one, recv_one}, .final = all_moved,
         .spurious = MC_NONE, .bound = 1, .weak = 1)
SCENARIO(buffered_2_three_to_one, .init = buffer_2,
         .body = {send_one, send_one, send_one, recv_three}, .final = all_moved,
         .spurious = MC_NONE, .bound = 1, .weak = 1)
/* covers: CHN-29/m, CHN-53/m */

/* Each element signals one, for nobody knows who will run. */
static void buffer_2_apart(void)
{
	buffer_2();
	shim_apart = true;
}
SCENARIO(buffered_2_one_to_two_apart, .init = buffer_2_apart,
         .body = {send_two, recv_one, recv_one}, .final = all_moved, .spurious = MC_NONE)
/* covers: CHN-29/m */

/* ---- close ---- */

/* What was accepted before the close is received before the end. */
static void ended(void)
{
	check_at_rest();
	MC_ASSERT(did[1].refused == EPIPE && chan->kind->length(chan) == 0);
	MC_ASSERT(did[0].refused == 0 || did[0].refused == EPIPE);
	mc_outcome("%d", total(true));
}

static void ended_twice(void)
{
	ended();
	MC_ASSERT(did[2].refused == EPIPE);
}
/* covers: CHN-04/m, CHN-11/m, CHN-33/m, CHN-46/m, SCH-57/m, LIF-41/m, LIF-42/m, RES-10/m, RES-51/m */
SCENARIO(buffered_1_close, .init = buffer_1, .body = {send_one, recv_all, close_chan},
         .final = ended, .spurious = MC_NONE, .outcomes = "0 1")
SCENARIO(buffered_1_close_two_sends, .init = buffer_1, .body = {send_two, recv_all, close_chan},
         .final = ended, .spurious = MC_NONE, .outcomes = "0 1 2")
SCENARIO(buffered_2_close_by_sender, .init = buffer_2,
         .body = {send_two_and_close, recv_all, recv_all}, .final = ended_twice,
         .spurious = MC_NONE, .outcomes = "2", .bound = 1)

/* A slot is reserved, not published, when the close comes and receivers sleep: all of
 * them see the end. */
SCENARIO(buffered_2_close_wakes_all, .init = buffer_2,
         .body = {send_one, recv_all, recv_all, close_chan}, .final = ended_twice,
         .spurious = MC_NONE, .outcomes = "0 1", .bound = 1) /* covers: RES-51/m, LIF-46/m */

/* Senders that wait get EPIPE and keep their element. */
static void fill(void)
{
	buffer_1();
	did[7].sent[0] = 80;
	did[7].sends = 1;
	cc_chan_send(chan, &did[7].sent[0], sizeof(int));
}

static void refused_or_sent(void)
{
	check_at_rest();
	MC_ASSERT(did[0].sends == 1 || did[0].refused == EPIPE);
	mc_outcome("%d", did[0].sends);
}
SCENARIO(buffered_full_close, .init = fill, .body = {send_one, close_chan, recv_one},
         .final = refused_or_sent, .spurious = MC_NONE, .outcomes = "0 1")
/* covers: RES-11/m, CHN-33/m */

/* ---- a deadline passes ---- */

/* Who leaves with a signal that he cannot use passes it on: nobody sleeps beside an
 * element. */
static void one_left_or_late(void)
{
	check_at_rest();
	MC_ASSERT(did[0].recvs == 1 || did[0].refused == ETIMEDOUT);
	MC_ASSERT(did[1].recvs == 1);
	mc_outcome("%d", did[0].recvs);
}
SCENARIO(buffered_2_deadline, .init = buffer_2, .body = {recv_a_second, recv_one, send_two},
         .final = one_left_or_late, .spurious = MC_NONE, .timeouts = 1, .outcomes = "0 1")
/* covers: CHN-44/m, CHN-53/m */

static void sender_late_or_not(void)
{
	check_at_rest();
	MC_ASSERT(did[0].sends == 1 || did[0].refused == ETIMEDOUT);
	MC_ASSERT(did[1].sends == 1);
	mc_outcome("%d", did[0].sends);
}
SCENARIO(buffered_full_deadline, .init = fill, .body = {send_a_second, send_one, recv_two},
         .final = sender_late_or_not, .spurious = MC_NONE, .timeouts = 1, .outcomes = "0 1",
         .bound = 1)
/* covers: CHN-44/m, CHN-53/m */

/* ---- a wake that decides nothing ---- */

static void unpark_first(void)
{
	cc__unpark(thread_parker(0));
}
SCENARIO(buffered_1_undecided_wake, .init = buffer_1, .body = {recv_one, send_one, unpark_first},
         .final = all_moved, .spurious = MC_NONE)

/* ---- its receiver frees it ----
 * Who has sent looks for sleepers after the element may have been received, and the
 * memory be another channel (C4): who waits there tries again, no more. */
static void recv_and_reuse(void)
{
	begin_body();
	recv_from(chan, CC_FOREVER);
	set_up(chan, &cc__buffered, 1, slots[1]);
	did[mc_self()].next = 5;
	send_to(chan, CC_FOREVER);
	recv_from(chan, CC_FOREVER);
}
SCENARIO(buffered_freed_by_its_receiver, .init = buffer_1, .body = {recv_and_reuse, send_one},
         .final = all_moved, .spurious = MC_NONE)

/* Who sees the end may free it: the closer has touched it for the last time. */
static void recv_all_and_reuse(void)
{
	recv_all();
	set_up(chan, &cc__buffered, 1, slots[1]);
	chan->telling = false;
}

static void end_was_seen(void)
{
	MC_ASSERT(did[0].refused == EPIPE);
	check_threads_at_rest();
}
SCENARIO(buffered_freed_by_who_sees_the_end, .init = buffer_1,
         .body = {recv_all_and_reuse, close_chan}, .final = end_was_seen, .spurious = MC_NONE)

/* ---- drop the oldest ---- */

static int dropped[MOST];
static cc__a32 drops;

static void note_dropped(void *context, void *item)
{
	MC_ASSERT(context == dropped);
	dropped[cc__add(&drops, 1, CC__RELAXED)] = *(const int *)item;
}

static void drop_old(void)
{
	make(&cc__buffered_drop_old, 1);
	chan->options.drop = note_dropped;
	chan->options.context = dropped;
}

/* How often that element was received, dropped or is left in the channel. */
static int ends_of(int value, const int *left, size_t lefts)
{
	int n = count_of(value, true);

	for (uint32_t i = 0; i < cc__peek(&drops); i++)
		n += dropped[i] == value;
	for (size_t i = 0; i < lefts; i++)
		n += left[i] == value;
	return n;
}

/* Every element has exactly one end. */
static void each_ends_once(void)
{
	int left[2] = {-1, -1};
	size_t n = 0;

	while (n < 2 && cc_chan_recv_until(chan, &left[n], sizeof(int), CC_NOW) == 0)
		n++;
	for (int t = 0; t < MC_THREADS; t++)
		for (int i = 0; i < did[t].sends; i++)
			MC_ASSERT(ends_of(did[t].sent[i], left, n) == 1);
	MC_ASSERT(total(false) == total(true) + (int)cc__peek(&drops) + (int)n);
}

static void newest_stays(void)
{
	MC_ASSERT(did[0].sends == 1 && did[1].sends == 1 && total(true) <= 1);
	MC_ASSERT(chan->kind->length(chan) <= 1);
	check_threads_at_rest();
	each_ends_once();
}

/* Two of one sender: what is left is the newer one, if nothing was received. */
static void newest_of_two_stays(void)
{
	check_threads_at_rest();
	MC_ASSERT(did[0].sends == 2);
	MC_ASSERT(cc__peek(&drops) == 0 || dropped[0] == did[0].sent[0]);
	each_ends_once();
}

static void try_recv(void)
{
	begin_body();
	recv_from(chan, CC_NOW);
}
SCENARIO(buffered_drop_old, .init = drop_old, .body = {send_one, send_one, try_recv},
         .final = newest_stays, .spurious = MC_NONE) /* covers: CHN-21/m */
SCENARIO(buffered_drop_old_keeps_the_newer, .init = drop_old, .body = {send_two, try_recv},
         .final = newest_of_two_stays, .spurious = MC_NONE) /* covers: CHN-21/m */
