/* chan_broadcast.c - broadcast channels: every subscription receives every element, a sender waits
 * for the slowest, a close and the end of a subscription reach every waiter.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c chan/ring.c chan/buffered.c chan/chan.c
 *          chan/locked.c chan/broadcast.c chan/broadcast_calls.c */
#include "shim_wait.h"
#include "shim_chan.h"
#include "shim_broadcast.h"

static void one_subscription(void)
{
	make_news(1, CC_CHAN_MODE_BLOCK, 1);
}

static void one_subscription_room_for_two(void)
{
	make_news(2, CC_CHAN_MODE_BLOCK, 1);
}

static void two_subscriptions(void)
{
	make_news(1, CC_CHAN_MODE_BLOCK, 2);
}

static void two_subscriptions_that_lose(void)
{
	make_news(1, CC_CHAN_MODE_DROP_OLD, 2);
}

/* Both threads that receive have all that thread 0 sent, in its order. */
static void heard_by_both(void)
{
	news_at_rest();
	MC_ASSERT(news.tail - news.head == 0);
	for (int t = 1; t <= 2; t++) {
		MC_ASSERT(did[t].recvs == did[0].sends);
		for (int i = 0; i < did[0].sends; i++)
			MC_ASSERT(did[t].got[i] == did[0].sent[i]);
	}
}

static void heard_once(void)
{
	news_at_rest();
	MC_ASSERT(total(true) == total(false));
	for (int t = 0; t < MC_THREADS; t++)
		for (int i = 0; i < did[t].sends; i++)
			MC_ASSERT(count_of(did[t].sent[i], true) == 1);
}

/* ---- send and receive ---- */

SCENARIO(broadcast_to_two, .init = two_subscriptions, .body = {send_news, hear_first, hear_second},
         .final = heard_by_both, .spurious = MC_NONE)
SCENARIO(broadcast_slowest_blocks, .init = one_subscription,
         .body = {send_two_news, hear_two_of_first}, .final = heard_once, .spurious = MC_NONE)
SCENARIO(broadcast_shared_by_two, .init = one_subscription_room_for_two,
         .body = {send_two_news, hear_first, hear_first}, .final = heard_once,
         .spurious = MC_NONE)
SCENARIO(broadcast_two_senders_shared_by_two, .init = one_subscription_room_for_two,
         .body = {send_news, send_news, hear_first, hear_first}, .final = heard_once,
         .spurious = MC_NONE, .bound = 1, .weak = 1)
SCENARIO(broadcast_two_senders_wait, .init = one_subscription,
         .body = {send_news, send_news, hear_two_of_first}, .final = heard_once,
         .spurious = MC_NONE)

/* ---- close ---- */

static void all_ended(void)
{
	news_at_rest();
	MC_ASSERT(did[1].refused == EPIPE && did[2].refused == EPIPE);
	mc_outcome("%d", did[0].sends);
}

static void both_ended(void)
{
	all_ended();
	MC_ASSERT(did[1].recvs == did[0].sends && did[2].recvs == did[0].sends);
}

static void shared_ended(void)
{
	all_ended();
	MC_ASSERT(did[1].recvs + did[2].recvs == did[0].sends);
}

static void send_and_close(void)
{
	send_news();
	close_news();
}
SCENARIO(broadcast_close, .init = two_subscriptions,
         .body = {send_and_close, hear_all_of_first, hear_all_of_second}, .final = both_ended,
         .spurious = MC_NONE, .outcomes = "1")
SCENARIO(broadcast_close_beside_a_send, .init = one_subscription,
         .body = {send_news, hear_all_of_first, hear_all_of_first, close_news},
         .final = shared_ended, .spurious = MC_NONE, .outcomes = "0 1", .bound = 1)

/* As cc_chan_free, which waits for a close that is on its way (C4). */
static bool is_told(void)
{
	bool told;

	cc__lock(&news.chan.lock, CC__RANK_WAITQ);
	told = !news.chan.telling;
	MC_ASSERT(!news.chan.kind->busy(&news.chan));
	cc__unlock(&news.chan.lock);
	return told;
}

/* The receiver that sees the end frees its subscription and the channel, and uses the memory for
 * others. */
static void hear_all_and_reuse(void)
{
	hear_all_of_first();
	unsubscribe(rx[0]);
	while (!is_told())
		cc__relax();
	subscriptions_made = 0;
	one_subscription();
}

static void ended_and_reused(void)
{
	news_at_rest();
	MC_ASSERT(did[0].refused == EPIPE);
}
SCENARIO(broadcast_freed_by_who_sees_the_end, .init = one_subscription,
         .body = {hear_all_and_reuse, close_news}, .final = ended_and_reused, .spurious = MC_NONE)

/* The sender is told whom to wake, and the subscription is another one by then. */
static void hear_and_reuse(void)
{
	hear_first();
	unsubscribe(rx[0]);
	subscriptions_made = 0;
	one_subscription();
	send_to(&news.chan, CC_FOREVER);
	recv_from(rx[0].chan, CC_FOREVER);
}
SCENARIO(broadcast_freed_by_its_receiver, .init = one_subscription,
         .body = {hear_and_reuse, send_news}, .final = heard_once, .spurious = MC_NONE)

/* ---- the end of a subscription ---- */

static void leave_second(void)
{
	unsubscribe(rx[1]);
}

/* The sender waits for the second one, which leaves. */
static void heard_by_first(void)
{
	news_at_rest();
	MC_ASSERT(did[0].sends == 2 && did[1].recvs == 2 && news.subscriptions == 1);
}
SCENARIO(broadcast_slowest_leaves, .init = two_subscriptions,
         .body = {send_two_news, hear_two_of_first, leave_second}, .final = heard_by_first,
         .spurious = MC_NONE)

static void close_first(void)
{
	MC_ASSERT(cc_chan_close(rx[0].chan) == 0);
}

static void first_ended(void)
{
	news_at_rest();
	MC_ASSERT(did[0].sends == 1 && did[1].refused == EPIPE);
	mc_outcome("%d", did[1].recvs);
}
SCENARIO(broadcast_close_of_a_subscription, .init = one_subscription,
         .body = {send_news, hear_all_of_first, close_first}, .final = first_ended,
         .spurious = MC_NONE, .outcomes = "0 1")

/* ---- a deadline passes ---- */

static void late_or_not(void)
{
	news_at_rest();
	MC_ASSERT(did[0].recvs == 1 || did[0].refused == ETIMEDOUT);
	MC_ASSERT(did[1].recvs == 1);
	mc_outcome("%d", did[0].recvs);
}
SCENARIO(broadcast_receiver_is_late, .init = one_subscription_room_for_two,
         .body = {hear_first_a_second, hear_first, send_two_news}, .final = late_or_not,
         .spurious = MC_NONE, .timeouts = 1, .outcomes = "0 1")

static void sender_late_or_not(void)
{
	news_at_rest();
	MC_ASSERT(did[0].sends == 1 || did[0].refused == ETIMEDOUT);
	MC_ASSERT(did[1].sends == 1 && did[2].recvs >= 1);
	mc_outcome("%d", did[0].sends);
}

static void hear_at_least_one(void)
{
	hear_first();
	recv_from(rx[0].chan, CC_NOW);
}
SCENARIO(broadcast_sender_is_late, .init = one_subscription,
         .body = {send_news_a_second, send_news, hear_at_least_one}, .final = sender_late_or_not,
         .spurious = MC_NONE, .timeouts = 1, .outcomes = "0 1")

/* ---- the slow lose ---- */

/* What a subscription has received, what it has lost and what is left for it are all there is. */
static void nothing_unaccounted(void)
{
	news_at_rest();
	for (int i = 0; i < 2; i++) {
		const int left = (int)cc_chan_len(rx[i].chan);

		MC_ASSERT(did[i + 1].recvs + (int)cc_chan_lost(rx[i]) + left == did[0].sends);
	}
	MC_ASSERT(did[0].sends == 2);
}
SCENARIO(broadcast_that_loses, .init = two_subscriptions_that_lose,
         .body = {send_two_news, hear_first, hear_second}, .final = nothing_unaccounted,
         .spurious = MC_NONE)
