/* seeded_broadcast.c - broadcast channels with one step taken away or done the tempting way: each
 * must be found.  chan_broadcast.c exhausts the same without a hole.
 *
 * The source is included; the holes are written out here, on its own functions.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c chan/ring.c chan/buffered.c chan/chan.c
 *          chan/locked.c chan/broadcast_calls.c */
#include "engine.h"
#include "chan/broadcast.c"

#include "shim_wait.h"
#include "shim_chan.h"
#include "shim_broadcast.h"

static void one_subscription(void)
{
	make_news(1, CC_CHAN_MODE_BLOCK, 1);
}

static void room_for_two(void)
{
	make_news(2, CC_CHAN_MODE_BLOCK, 1);
}

static void two_subscriptions(void)
{
	make_news(1, CC_CHAN_MODE_BLOCK, 2);
}

/* ---- BROADCAST-2: check, mark and listing ---- */

/* Waits without a mark. */
static void hear_unmarked(void)
{
	CCChan *c = rx[0].chan;
	int v = -1;
	bool now;

	begin_body();
	cc__lock(&c->lock, CC__RANK_WAITQ);
	cc__log_lock(&news);
	now = cc__log_ready(&news, c, CC__RECV) > 0;
	cc__log_unlock(&news);
	if (now)
		cc__unlock(&c->lock);
	else
		cc__chan_wait(c, CC__RECV, &v, NULL, false, CC_FOREVER);
}

/* Marks the channel, drops its lock, and lists itself in another critical section. */
static void hear_listed_late(void)
{
	CCChan *c = rx[0].chan;
	int v = -1, outcome;

	begin_body();
	cc__lock(&c->lock, CC__RANK_WAITQ);
	outcome = settle_on_log(c, CC__RECV);
	cc__unlock(&c->lock);
	if (outcome != CC__NOT_NOW)
		return;
	cc__lock(&c->lock, CC__RANK_WAITQ);
	cc__chan_wait(c, CC__RECV, &v, NULL, false, CC_FOREVER);
}

/* Takes the marks before the element is in the log. */
static void send_marks_first(void)
{
	const int v = 7;
	struct cc__link *list;

	begin_body();
	cc__log_lock(&news);
	cc__log_take_marks(&news, &list);
	cc__log_unlock(&news);
	cc__log_lock(&news);
	cc__log_append(&news, &v);
	cc__log_unlock(&news);
	signal_receivers(&news, &list);
}
SCENARIO(seeded_broadcast_waits_unmarked, .init = one_subscription, .spurious = MC_NONE,
         .body = {hear_unmarked, send_news}, .expect = "deadlock")
SCENARIO(seeded_broadcast_lists_late, .init = one_subscription, .spurious = MC_NONE,
         .body = {hear_listed_late, send_news}, .expect = "deadlock")
SCENARIO(seeded_broadcast_marks_first, .init = one_subscription, .spurious = MC_NONE,
         .body = {hear_first, send_marks_first}, .expect = "deadlock")

/* ---- BROADCAST-3: as many waiters as there are elements ---- */

/* One waiter of each subscription, and no mark for those that are left. */
static void signal_one_of_each(void)
{
	struct cc__link *list;
	struct cc__wake wake;
	CCChan *some[CC__BATCH_MAX];
	unsigned n;

	cc__log_lock(&news);
	cc__log_take_marks(&news, &list);
	cc__log_unlock(&news);
	n = take_marked(&news, &list, some);
	for (unsigned i = 0; i < n; i++) {
		cc__lock(&some[i]->lock, CC__RANK_WAITQ);
		wake = cc__chan_signal(some[i], CC__RECV);
		cc__unlock(&some[i]->lock);
		cc__wake(wake);
	}
}

static void send_one_each(void)
{
	const int v = 7;

	cc__log_lock(&news);
	cc__log_append(&news, &v);
	cc__log_unlock(&news);
	signal_one_of_each();
}

static void send_two_one_each(void)
{
	begin_body();
	send_one_each();
	send_one_each();
}

static void close_one_each(void)
{
	begin_body();
	news.chan.error[CC__RECV] = EPIPE;
	close_log(&news.chan);
	signal_one_of_each();
}
SCENARIO(seeded_broadcast_forgets_a_waiter, .init = room_for_two, .spurious = MC_NONE,
         .body = {hear_first, hear_first, send_two_one_each}, .expect = "deadlock")
SCENARIO(seeded_broadcast_close_tells_one, .init = one_subscription, .spurious = MC_NONE,
         .body = {hear_all_of_first, hear_all_of_first, close_one_each}, .expect = "deadlock")

/* ---- the slowest leaves ---- */

/* The slots that it held are free, and no sender is told. */
static void leave_silently(void)
{
	struct cc__subscription *s = &subscribed[1];

	cc__log_lock(&news);
	while (cc__log_pending(&news, s) > 0)
		cc__log_pass(&news, s->next++);
	cc__log_drop_received(&news);
	news.receivers--;
	cc__log_unlock(&news);
}

SCENARIO(seeded_broadcast_leaves_silently, .init = two_subscriptions, .spurious = MC_NONE,
         .body = {send_two_news, hear_two_of_first, leave_silently}, .expect = "deadlock")
