/* buffered.c - the channel with a ring.
 *
 * Nobody is handed anything: an element goes into the ring, and whoever sleeps is
 * told to look.  A sleeper lists himself before he looks for the last time (R3 in ring.h).
 *
 * B1  An element, or a place that becomes free, signals one who waits for it.  As long as
 *     that one is on his way and others are listed, WAITING is lowered, and further
 *     ones signal nobody: he will look.  But not where one who waits could run while
 *     the one on his way cannot: a thread, or a fiber that must stay, or of elsewhere.
 * B2  So who was signalled while others wait looks what is left, whatever came of his
 *     attempt: he raises the mark again, and if there is more he passes the signal on.
 * B3  What a signal was for may not be at the head of the ring: slot 0 is reserved, slot 1
 *     is published, and who was woken for it finds slot 0 unfinished.  B2 sees to slot 1,
 *     and to the end of the stream, which is for all. */
#include "chan/buffered.h"

#include "wait/thread.h"

/* ---- wakes ---- */

/* No place is odd: some who wait here can run where others cannot. */
enum { ODD_PLACE = 1 };

/* Under the lock: the caller will wait. */
static void note_place(CCChan *c)
{
	struct cc__parker *self = cc__self();
	const uintptr_t place = self != NULL ? cc__place(self) : 0;

	if (c->place == 0 && place != 0)
		c->place = place;	/* the first */
	else if (c->place != place || place == 0)
		c->place = ODD_PLACE;
}

/* Where those who wait that way raise their mark. */
static cc__a64 *mark_of(CCChan *c, enum cc__way waits)
{
	return waits == CC__RECV ? &cc__ring_of(c)->tail : &cc__ring_of(c)->head;
}

/* Under the lock (B1). */
static struct cc__wake signal_one(CCChan *c, enum cc__way way)
{
	const struct cc__wake wake = cc__chan_signal(c, way);

	if (c->wait[way].head != NULL && c->place != ODD_PLACE)
		cc__ring_lower(mark_of(c, way));
	return wake;
}

void cc__buffered_wake(CCChan *c, enum cc__way way)
{
	const enum cc__way others = way == CC__SEND ? CC__RECV : CC__SEND;
	struct cc__wake wake;

	cc__lock(&c->lock, CC__RANK_WAITQ);
	wake = signal_one(c, others);
	if (wake.who == NULL)
		cc__ring_lower(mark_of(c, others));
	cc__unlock(&c->lock);
	cc__wake(wake);
}

static enum cc__ring_answer look(CCChan *c, enum cc__way way)
{
	return way == CC__RECV ? cc__ring_recv_look(cc__ring_of(c))
	                       : cc__ring_send_look(cc__ring_of(c));
}

/* Is there more, and somebody else who waits for it (B2)? */
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

/* Up to `count` elements of `items`, and whoever waits for what they leave is told. */
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

static inline bool attempt(CCChan *c, enum cc__way way, struct cc__waiter *w)
{
	const bool signalled = w->result == CC__SIGNALLED;
	size_t n;
	const enum cc__ring_answer a = move(c, way, w->io, 1, &n);

	if (signalled)
		pass_on(c, way);	/* B2 */
	if (a != CC__RING_NOT_NOW)
		w->result = a == CC__RING_OK ? 0 : CC__CLOSED;
	else if (signalled)
		w->result = CC__LAST;
	return a != CC__RING_NOT_NOW;
}

static inline enum cc__settled settle(CCChan *c, enum cc__way way)
{
	if (look(c, way) != CC__RING_NOT_NOW)
		return CC__SETTLED_RETRY;
	note_place(c);
	return CC__SETTLED_WAIT;
}

static bool send_attempt(CCChan *c, struct cc__waiter *w)
{
	return attempt(c, CC__SEND, w);
}

static bool recv_attempt(CCChan *c, struct cc__waiter *w)
{
	return attempt(c, CC__RECV, w);
}

static enum cc__settled send_settle(CCChan *c, struct cc__waiter *w, struct cc__wake *wake)
{
	(void)w, (void)wake;
	return settle(c, CC__SEND);
}

static enum cc__settled recv_settle(CCChan *c, struct cc__waiter *w, struct cc__wake *wake)
{
	(void)w, (void)wake;
	return settle(c, CC__RECV);
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
static bool send_dropping(CCChan *c, struct cc__waiter *w)
{
	while (!send_attempt(c, w))
		drop_one(c);
	return true;
}

/* ---- the channel ---- */

static struct cc__slab heads = CC__SLAB_INIT(struct cc__buffered_chan, chan.link);

static void init(CCChan *c)
{
	cc__ring_init(cc__ring_of(c), c->slots, c->size, c->capacity);
	c->place = 0;
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
		.attempt = recv_attempt, .settle = recv_settle, .peek = recv_peek, \
		.some = recv_some \
	}
#define COMMON \
	.heads = &heads, .slot = cc__ring_stride, .init = init, .close = close_ring, \
	.closed = closed, .length = length, .told = CC__AGAIN, .busy = busy, \
	.empty = empty

const struct cc__chan_kind cc__buffered = {
    .way = {[CC__SEND] = {.attempt = send_attempt,
                          .settle = send_settle,
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
