/* broadcast.c - channels whose elements go to every subscription.
 *
 * A broadcast channel keeps its elements in a log, and each subscription has a position in it.  An
 * element is written once and copied by each receiver.  Unless the log may lose elements, each slot
 * counts the subscriptions that have not received its element, and the slot is free when the count
 * is 0.
 *
 * BROADCAST-1  The log has a lock of its own.  It is the innermost one: an attempt takes it alone, and
 *          settle takes it under the lock of its channel.  So a select may hold the locks of a
 *          channel and of its subscriptions in any order.
 * BROADCAST-2  A caller that has to wait checks the log once more and marks its channel in the same
 *          critical section of the log's lock, and is listed before it drops the lock of its
 *          channel.  A caller that changes the log takes the marks of the channels that may go on
 *          in the critical section of the change; after it, it signals the waiters of each.  So
 *          either the waiter sees the change or the other caller sees the mark and finds the
 *          waiter listed.
 * BROADCAST-3  The signalling caller wakes as many waiters as the channel has elements (or free slots),
 *          and marks the channel again if waiters are left.  A waiter is told to try again
 *          (SIGNAL), so a waiter that is woken too often waits again, at the head of its list.
 * BROADCAST-4  The caller that took the mark of a subscription may find that it has been freed.  Its
 *          memory is type-stable (C4 in chan.h): at worst the waiters of another one are woken for
 *          nothing.  A subscription with a listed waiter is not freed, so its source exists. */
#include "chan/broadcast.h"

#include <errno.h>

/* ---- signals, without a lock (BROADCAST-3) ---- */

/* Under c's lock, with waiters left: marks c again.  Returns how many could go on. */
static size_t mark_again(CCChan *c, enum cc__way way)
{
	struct cc__broadcast_chan *b = cc__log_of(c, way);
	size_t n;

	cc__log_lock(b);
	cc__log_mark(b, c, way);
	n = cc__log_ready(b, c, way);
	cc__log_unlock(b);
	return n;
}

/* Wakes as many waiters of c as can go on, at most a batch full.  True: there are more. */
static bool signal_batch(CCChan *c, enum cc__way way)
{
	struct cc__batch batch;
	size_t signalled = 0;
	bool more;

	cc__batch_init(&batch);
	cc__lock(&c->lock, CC__RANK_WAITQ);
	do {
		cc__batch_add(&batch, cc__chan_signal(c, way));
		signalled++;
		more = c->wait[way].head != NULL && mark_again(c, way) > signalled;
	} while (more && !cc__batch_full(&batch));
	cc__unlock(&c->lock);
	cc__batch_flush(&batch);
	return more;
}

static void cc__broadcast_signal(CCChan *c, enum cc__way way)
{
	while (signal_batch(c, way))
		continue;
}

/* Up to a batch of the subscriptions on the list, unmarked. */
static unsigned take_marked(struct cc__broadcast_chan *b, struct cc__link **list, CCChan **some)
{
	unsigned n = 0;

	cc__log_lock(b);
	while (*list != NULL && n < CC__BATCH_MAX) {
		some[n++] = (CCChan *)(void *)((char *)*list -
		                               offsetof(struct cc__subscription, waiting));
		cc__log_unmark(*list);
	}
	cc__log_unlock(b);
	return n;
}

/* The waiters of the subscriptions on the list, which is the caller's (BROADCAST-2). */
static void signal_receivers(struct cc__broadcast_chan *b, struct cc__link **list)
{
	CCChan *some[CC__BATCH_MAX];

	for (unsigned n = *list != NULL ? CC__BATCH_MAX : 0; n == CC__BATCH_MAX;) {
		n = take_marked(b, list, some);
		for (unsigned i = 0; i < n; i++)
			cc__broadcast_signal(some[i], CC__RECV);
	}
}

/* ---- send ---- */

/* Up to `count` elements.  Returns the outcome of the last one. */
static int send_count(CCChan *c, const char *items, size_t count, size_t *sent)
{
	struct cc__broadcast_chan *b = cc__broadcast_of(c);
	struct cc__link *list = NULL;
	int outcome = 0;

	*sent = 0;
	cc__log_lock(b);
	while (*sent < count && (outcome = cc__log_append(b, items + *sent * c->size)) == 0)
		++*sent;
	if (*sent > 0) {
		b->changes++;
		cc__log_take_marks(b, &list);
	}
	cc__log_unlock(b);
	signal_receivers(b, &list);
	return outcome;
}

static int broadcast_attempt(CCChan *c, void *item, int why)
{
	size_t n;

	(void)why;
	return send_count(c, item, 1, &n);
}

static size_t broadcast_some(CCChan *c, void *items, size_t count)
{
	size_t n;

	send_count(c, items, count, &n);
	return n;
}

/* ---- receive ---- */

/* Up to `count` elements.  Returns the outcome of the last one. */
static int recv_count(CCChan *c, char *items, size_t count, size_t *received)
{
	struct cc__broadcast_chan *b = cc__broadcast_of(c->source);
	int outcome = 0;
	bool sender = false;

	*received = 0;
	cc__log_lock(b);
	while (*received < count &&
	       (outcome = cc__log_take(b, cc__subscription_of(c), items + *received * c->size)) == 0)
		++*received;
	if (*received > 0) {
		b->changes++;
		cc__log_drop_received(b);
		sender = cc__log_take_senders_mark(b);
	}
	cc__log_unlock(b);
	if (sender)
		cc__broadcast_signal(&b->chan, CC__SEND);
	return outcome;
}

static int subscribed_attempt(CCChan *c, void *item, int why)
{
	size_t n;

	(void)why;
	return recv_count(c, item, 1, &n);
}

static size_t subscribed_some(CCChan *c, void *items, size_t count)
{
	size_t n;

	recv_count(c, items, count, &n);
	return n;
}

/* The error of the channel, unless the subscription was closed itself. */
static int subscribed_finish(CCChan *c, void *item, int result)
{
	(void)item;
	/* Relaxed: the outcome CLOSED came from the log's lock, or from the closer's wake. */
	if (result != CC__CLOSED || cc__load(&c->closed, CC__RELAXED) != 0)
		return result;
	return c->source->error[CC__RECV];
}

/* ---- to wait ---- */

/* Under c's lock.  Returns RETRY, or NOT_NOW: c is marked, and the caller may list itself. */
static int settle_on_log(CCChan *c, enum cc__way way)
{
	struct cc__broadcast_chan *b = cc__log_of(c, way);
	bool now;

	cc__log_lock(b);
	now = cc__log_ready(b, c, way) > 0;
	if (!now)
		cc__log_mark(b, c, way);
	cc__log_unlock(b);
	return now ? CC__RETRY : CC__NOT_NOW;
}

static int broadcast_settle(CCChan *c, void *item, struct cc__wake *wake)
{
	(void)item, (void)wake;
	return settle_on_log(c, CC__SEND);
}

static int subscribed_settle(CCChan *c, void *item, struct cc__wake *wake)
{
	(void)item, (void)wake;
	return settle_on_log(c, CC__RECV);
}

/* An attempt has found nothing.  Returns the outcome. */
static int wait_for_log(CCChan *c, enum cc__way way, void *item, cc_time deadline)
{
	int why = 0, outcome;

	do {
		CC_POINT("chan.before_lock", c);
		cc__lock(&c->lock, CC__RANK_WAITQ);
		if (settle_on_log(c, way) == CC__NOT_NOW) {
			why = cc__chan_wait(c, way, item, NULL, cc__chan_signalled(why), deadline);
			if (!cc__chan_again(why))
				return why;
		} else {
			cc__unlock(&c->lock);
		}
		outcome = c->kind->way[way].attempt(c, item, why);
	} while (outcome == CC__NOT_NOW);
	return outcome;
}

static int broadcast_wait(CCChan *c, void *item, cc_time deadline)
{
	return wait_for_log(c, CC__SEND, item, deadline);
}

static int subscribed_wait(CCChan *c, void *item, cc_time deadline)
{
	return wait_for_log(c, CC__RECV, item, deadline);
}

static bool peek_at_log(CCChan *c, enum cc__way way, uint64_t *sum)
{
	struct cc__broadcast_chan *b = cc__log_of(c, way);
	bool now;

	cc__log_lock(b);
	*sum += b->changes + 1;
	now = cc__log_ready(b, c, way) > 0;
	cc__log_unlock(b);
	return now;
}

static bool broadcast_peek(CCChan *c, uint64_t *sum)
{
	return peek_at_log(c, CC__SEND, sum);
}

static bool subscribed_peek(CCChan *c, uint64_t *sum)
{
	return peek_at_log(c, CC__RECV, sum);
}

/* ---- the directions that there are not ---- */

static int refuse_way(CCChan *c, void *item, int why)
{
	(void)c, (void)item, (void)why;
	return EINVAL;
}

static bool refuse_way_peek(CCChan *c, uint64_t *sum)
{
	(void)c;
	*sum += 1;
	return true;
}

static int refuse_way_settle(CCChan *c, void *item, struct cc__wake *wake)
{
	(void)c, (void)item, (void)wake;
	return CC__RETRY;	/* the attempt refuses it */
}

/* ---- close ---- */

static void close_log(CCChan *c)
{
	struct cc__broadcast_chan *b = cc__broadcast_of(c);

	cc__log_lock(b);
	cc__store(&c->closed, 1, CC__RELAXED);	/* Relaxed: the log's lock */
	b->changes++;
	cc__log_unlock(b);
}

/* The receivers of all subscriptions. */
static void tell_receivers(CCChan *c)
{
	struct cc__broadcast_chan *b = cc__broadcast_of(c);
	struct cc__link *list;

	cc__log_lock(b);
	cc__log_take_marks(b, &list);
	cc__log_unlock(b);
	signal_receivers(b, &list);
}

/* Elements that are sent from now on are not for this one. */
static void close_subscription(CCChan *c)
{
	struct cc__subscription *s = cc__subscription_of(c);
	struct cc__broadcast_chan *b = cc__broadcast_of(c->source);

	cc__log_lock(b);
	cc__store(&c->closed, 1, CC__RELAXED);	/* Relaxed: the log's lock */
	s->end = b->tail;
	b->receivers--;
	b->changes++;
	cc__log_unlock(b);
}

static bool is_closed_or_source(const CCChan *c)
{
	/* Relaxed: a look; see cc__locked_closed. */
	return cc__load(&c->closed, CC__RELAXED) != 0 ||
	       (c->source != NULL && cc__load(&c->source->closed, CC__RELAXED) != 0);
}

/* ---- life ---- */

static struct cc__slab broadcasts = CC__SLAB_INIT(struct cc__broadcast_chan, chan.link);
static struct cc__slab subscriptions = CC__SLAB_INIT(struct cc__subscription, chan.link);

static size_t no_slot(size_t size)
{
	(void)size;
	return 0;
}

static void init_broadcast(CCChan *c)
{
	struct cc__broadcast_chan *b = cc__broadcast_of(c);

	cc__init(&c->closed, 0);
	b->latest = c->options.kind == CC_CHAN_KIND_WATCH;
	b->loses = b->latest || c->mode == CC_CHAN_MODE_DROP_OLD;
	b->sender_waits = false;
	b->subscriptions = b->receivers = 0;
	b->head = b->tail = b->changes = 0;
	b->waiting = NULL;
}

static void init_subscription(CCChan *c)
{
	cc__init(&c->closed, 0);
}

/* What it has not received it never will. */
static void detach(CCChan *c)
{
	struct cc__subscription *s = cc__subscription_of(c);
	struct cc__broadcast_chan *b = cc__broadcast_of(c->source);
	bool sender;

	cc__log_lock(b);
	for (size_t n = cc__log_pending(b, s); n > 0; n--)
		cc__log_pass(b, s->next++);
	cc__log_drop_received(b);
	cc__log_unmark(&s->waiting);
	b->subscriptions--;
	b->receivers -= s->end == CC__LOG_NO_END;
	b->changes++;
	sender = cc__log_take_senders_mark(b);
	c->source = NULL;
	cc__log_unlock(b);
	if (sender)
		cc__broadcast_signal(&b->chan, CC__SEND);
}

/* It has subscriptions. */
static bool has_subscriptions(CCChan *c)
{
	struct cc__broadcast_chan *b = cc__broadcast_of(c);
	bool some;

	cc__log_lock(b);
	some = b->subscriptions > 0;
	cc__log_unlock(b);
	return some;
}

static void keep_nothing(CCChan *c)
{
	(void)c;
}

static size_t length_of_log(const CCChan *c)
{
	struct cc__broadcast_chan *b = cc__broadcast_of((CCChan *)(uintptr_t)c);
	size_t n;

	cc__log_lock(b);
	n = (size_t)(b->tail - b->head);
	cc__log_unlock(b);
	return n;
}

static size_t length_of_subscription(const CCChan *chan)
{
	CCChan *c = (CCChan *)(uintptr_t)chan;
	struct cc__broadcast_chan *b = cc__broadcast_of(c->source);
	size_t n;

	cc__log_lock(b);
	n = cc__log_pending(b, cc__subscription_of(c));
	cc__log_unlock(b);
	return n;
}

#define REFUSED {.attempt = refuse_way, .settle = refuse_way_settle, .peek = refuse_way_peek}

const struct cc__chan_kind cc__broadcast = {
    .way = {[CC__SEND] = {.attempt = broadcast_attempt,
                          .settle = broadcast_settle,
                          .wait = broadcast_wait,
                          .peek = broadcast_peek,
                          .some = broadcast_some},
            [CC__RECV] = REFUSED},
    .heads = &broadcasts,
    .slot = cc__log_slot_size,
    .init = init_broadcast,
    .close = close_log,
    .close_others = tell_receivers,
    .closed = is_closed_or_source,
    .length = length_of_log,
    .told = CC__AGAIN,
    .busy = has_subscriptions,
    .empty = keep_nothing,
};

const struct cc__chan_kind cc__subscribed = {
    .way = {[CC__SEND] = REFUSED,
            [CC__RECV] = {.attempt = subscribed_attempt,
                          .settle = subscribed_settle,
                          .wait = subscribed_wait,
                          .peek = subscribed_peek,
                          .some = subscribed_some,
                          .finish = subscribed_finish}},
    .heads = &subscriptions,
    .slot = no_slot,
    .init = init_subscription,
    .close = close_subscription,
    .closed = is_closed_or_source,
    .length = length_of_subscription,
    .told = CC__AGAIN,
    .empty = detach,
};
