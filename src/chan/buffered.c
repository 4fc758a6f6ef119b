/* buffered.c - the channel with a ring.
 *
 * No element is handed to a waiter.  An element goes into the ring, and a waiter is told to try
 * again.  A caller that has to wait raises the mark under the lock before it checks the ring for the
 * last time (R3 in ring.h), and is listed in the same critical section.
 *
 * B1  An element, or a slot that becomes free, signals one waiter.  While that waiter is on its way
 *     and others are listed, WAITING is lowered and further elements signal no waiter, because the
 *     first one will check what is left.  This holds only if all waiters of the channel run in
 *     one domain (cc__domain_note).  Otherwise a waiter that could run, such as a thread, would
 *     sleep until a fiber runs whose workers are all busy.
 * B2  Therefore a waiter that was signalled while others are listed checks what is left, whatever
 *     came of its own attempt: it raises the mark again, and if there is more it passes the signal
 *     on.
 * B3  What a signal was for need not be at the head of the ring: slot 0 is reserved, slot 1 is
 *     published, and the waiter that was woken for it finds slot 0 unfinished.  B2 covers slot 1,
 *     and the end of the stream, which is for all waiters. */
#include "chan/buffered.h"

#include "wait/thread.h"

/* ---- wakes ---- */

/* The position in which waiters of that way raise their mark. */
static cc__a64 *mark_of(CCChan *c, enum cc__way waits)
{
	return waits == CC__RECV ? &cc__ring_of(c)->tail : &cc__ring_of(c)->head;
}

/* Under the lock (B1). */
static struct cc__wake signal_one(CCChan *c, enum cc__way way)
{
	const struct cc__wake wake = cc__chan_signal(c, way);

	if (c->wait[way].head != NULL && c->domain != CC__DOMAIN_MIXED)
		cc__ring_lower(mark_of(c, way));
	return wake;
}

int cc__buffered_wake(CCChan *c, enum cc__way way)
{
	const enum cc__way others = way == CC__SEND ? CC__RECV : CC__SEND;
	struct cc__wake wake;

	cc__lock(&c->lock, CC__RANK_WAITQ);
	wake = signal_one(c, others);
	if (wake.who == NULL)
		cc__ring_lower(mark_of(c, others));
	cc__unlock(&c->lock);
	cc__wake(wake);
	return 0;
}

static enum cc__ring_answer look(CCChan *c, enum cc__way way)
{
	return way == CC__RECV ? cc__ring_recv_look(cc__ring_of(c))
	                       : cc__ring_send_look(cc__ring_of(c));
}

/* If there is more, and another waiter for it, signals that waiter (B2). */
static void pass_on(CCChan *c, enum cc__way way)
{
	struct cc__wake wake = {0};

	cc__lock(&c->lock, CC__RANK_WAITQ);
	if (c->wait[way].head != NULL && look(c, way) != CC__RING_NOT_NOW)
		wake = signal_one(c, way);
	cc__unlock(&c->lock);
	cc__wake(wake);
}

/* ---- through the ring ---- */

/* Up to `count` elements of `items`; a waiter for what they leave is signalled. */
static inline enum cc__ring_answer move(CCChan *c, enum cc__way way, void *items, size_t count,
                                        size_t *moved)
{
	struct cc__ring *r = cc__ring_of(c);
	const enum cc__ring_answer a = way == CC__SEND
	                                   ? cc__ring_send(r, items, c->size, count, moved)
	                                   : cc__ring_recv(r, items, c->size, count, moved);

	if (*moved > 0 && cc__ring_others_wait(way == CC__SEND ? &r->tail : &r->head))
		cc__buffered_wake(c, way);
	return a;
}

static inline int outcome_of(enum cc__ring_answer a)
{
	return a == CC__RING_OK ? 0 : a == CC__RING_ENDED ? CC__CLOSED : CC__NOT_NOW;
}

static inline int attempt(CCChan *c, enum cc__way way, void *item, int why)
{
	size_t n;
	const enum cc__ring_answer a = move(c, way, item, 1, &n);

	if (why == CC__SIGNALLED)
		pass_on(c, way);	/* B2 */
	return outcome_of(a);
}

static int send_attempt(CCChan *c, void *item, int why)
{
	return attempt(c, CC__SEND, item, why);
}

static int recv_attempt(CCChan *c, void *item, int why)
{
	return attempt(c, CC__RECV, item, why);
}

static int send_settle(CCChan *c, void *item, struct cc__wake *wake)
{
	(void)item, (void)wake;
	return look(c, CC__SEND) == CC__RING_NOT_NOW ? CC__NOT_NOW : CC__RETRY;
}

static int recv_settle(CCChan *c, void *item, struct cc__wake *wake)
{
	(void)item, (void)wake;
	return look(c, CC__RECV) == CC__RING_NOT_NOW ? CC__NOT_NOW : CC__RETRY;
}

/* ---- with a wait ---- */

/* An attempt has found nothing.  Returns the outcome. */
static inline int wait_on_ring(CCChan *c, enum cc__way way, void *item, cc_time deadline)
{
	int why = 0, outcome;

	for (;;) {
		CC_POINT("chan.before_lock", c);
		cc__lock(&c->lock, CC__RANK_WAITQ);
		if (look(c, way) == CC__RING_NOT_NOW) {
			why = cc__chan_wait(c, way, item, &c->domain, cc__chan_signalled(why),
			                    deadline);
			if (!cc__chan_again(why))
				return why;
		} else {
			cc__unlock(&c->lock);
		}
		if ((outcome = attempt(c, way, item, why)) != CC__NOT_NOW)
			return outcome;
		if (why == CC__SIGNALLED)
			why = CC__LAST;	/* attempt has passed the signal on */
	}
}

static __attribute__((noinline)) int send_wait(CCChan *c, void *item, cc_time deadline)
{
	return wait_on_ring(c, CC__SEND, item, deadline);
}

static __attribute__((noinline)) int recv_wait(CCChan *c, void *item, cc_time deadline)
{
	return wait_on_ring(c, CC__RECV, item, deadline);
}

int cc__buffered_send_on(CCChan *c, void *item, enum cc__ring_answer found)
{
	int outcome = outcome_of(found);

	if (c->mode != CC_CHAN_MODE_BLOCK)
		return cc__chan_do(c, CC__SEND, item, CC_FOREVER);
	if (found == CC__RING_CONTENDED)
		cc__contended();
	if (found >= CC__RING_CONTENDED)
		outcome = send_attempt(c, item, 0);
	if (outcome == CC__NOT_NOW)
		outcome = send_wait(c, item, CC_FOREVER);
	return outcome == 0 ? 0 : cc__chan_finish(c, CC__SEND, item, outcome);
}

int cc__buffered_recv_on(CCChan *c, void *item, enum cc__ring_answer found)
{
	int outcome = CC__NOT_NOW;

	if (found == CC__RING_CONTENDED)
		cc__contended();
	if (found >= CC__RING_CONTENDED)
		outcome = recv_attempt(c, item, 0);
	if (outcome == CC__NOT_NOW)
		outcome = recv_wait(c, item, CC_FOREVER);
	return outcome == 0 ? 0 : cc__chan_finish(c, CC__RECV, item, outcome);
}

static bool send_peek(CCChan *c, uint64_t *sum)
{
	return cc__ring_send_peek(cc__ring_of(c), sum);
}

static bool recv_peek(CCChan *c, uint64_t *sum)
{
	return cc__ring_recv_peek(cc__ring_of(c), sum);
}

static size_t send_some(CCChan *c, void *items, size_t count)
{
	size_t n;

	move(c, CC__SEND, items, count, &n);
	return n;
}

static size_t recv_some(CCChan *c, void *items, size_t count)
{
	size_t n;

	move(c, CC__RECV, items, count, &n);
	return n;
}

/* ---- drop the oldest ---- */

/* Take one out to make room.  None at this moment: its receiver is on the way. */
static __attribute__((noinline)) void drop_one(CCChan *c)
{
	struct cc__scratch old;
	size_t n;

	/* (Those who wait for room are selects.) */
	move(c, CC__RECV, c->options.drop != NULL ? old.bytes : NULL, 1, &n);
	if (n == 0)
		cc__thread_yield();
	else
		cc__chan_drop(c, old.bytes);
}

/* Never waits. */
static int send_dropping(CCChan *c, void *item, int why)
{
	int outcome;

	while ((outcome = send_attempt(c, item, why)) == CC__NOT_NOW)
		drop_one(c);
	return outcome;
}

/* ---- the channel ---- */

static struct cc__slab heads = CC__SLAB_INIT(struct cc__buffered_chan, chan.link);

static void init(CCChan *c)
{
	cc__ring_init(cc__ring_of(c), c->slots, c->size, c->capacity);
	c->domain = 0;
}

static void close_ring(CCChan *c)
{
	cc__ring_close(cc__ring_of(c));
}

static bool closed(const CCChan *c)
{
	return cc__ring_closed(&((const struct cc__buffered_chan *)(const void *)c)->ring);
}

static size_t length(const CCChan *c)
{
	return cc__ring_length(&((const struct cc__buffered_chan *)(const void *)c)->ring);
}

/* In place, but for what may want to be aligned to 16 bytes: that is moved over the stamp
 * before it.  (The slots begin so aligned.) */
static void drop_left(CCChan *c, cc__a64 *stamp)
{
	void *item = cc__ring_element(stamp);
	const uint64_t kept = cc__load(stamp, CC__RELAXED);	/* Relaxed: as below */

	if (c->size % 16 == 0 && (uintptr_t)item % 16 != 0)
		item = memmove(stamp, item, c->size);
	cc__chan_drop(c, item);
	cc__store(stamp, kept, CC__RELAXED);	/* Relaxed: nobody else looks */
}

/* A place is reserved and not published: a send is in progress. */
static bool busy(CCChan *c)
{
	const struct cc__ring *r = cc__ring_of(c);
	const size_t n = cc__ring_length(r);
	/* Relaxed: nobody else moves it. */
	const uint64_t head = cc__ring_at(cc__load(&r->head, CC__RELAXED));
	uint64_t end;
	bool late;

	return cc__ring_usable(&r->shape, head, n, CC__RING_FULL, &end, &late) < n;
}

static void empty(CCChan *c)
{
	struct cc__ring *r = cc__ring_of(c);
	size_t n;

	while (cc__ring_recv_look(r) == CC__RING_OK) {
		/* Relaxed: nobody else moves it. */
		const uint64_t at = cc__ring_at(cc__load(&r->head, CC__RELAXED));

		cc__ring_recv(r, NULL, 0, 1, &n);
		drop_left(c, cc__ring_stamp(&r->shape, at));
	}
}

#define RECV \
	{ \
		.attempt = recv_attempt, .settle = recv_settle, .wait = recv_wait, \
		.peek = recv_peek, .some = recv_some \
	}
#define COMMON \
	.heads = &heads, .slot = cc__ring_stride, .init = init, .close = close_ring, \
	.closed = closed, .length = length, .told = CC__AGAIN, .busy = busy, \
	.empty = empty

const struct cc__chan_kind cc__buffered = {
    .way = {[CC__SEND] = {.attempt = send_attempt,
                          .settle = send_settle,
                          .wait = send_wait,
                          .peek = send_peek,
                          .some = send_some},
            [CC__RECV] = RECV},
    COMMON,
};

const struct cc__chan_kind cc__buffered_drop_old = {
    .way = {[CC__SEND] = {.attempt = send_dropping, .settle = send_settle, .peek = send_peek},
            [CC__RECV] = RECV},
    COMMON,
};
