/* locked.c - everything under the lock: rendezvous, sync, and what stands on them. */
#include "chan/locked.h"

#include <errno.h>

#include "chan/ring.h"

struct cc__slab cc__locked_heads = CC__SLAB_INIT(CCChan, link);

/* ---- the elements, under the lock ---- */

static void *slot_at(CCChan *c, size_t n)
{
	size_t i = c->first + n;

	return (char *)c->slots + (i < c->capacity ? i : i - c->capacity) * c->size;
}

static void put(CCChan *c, const void *item)
{
	cc__ring_copy(slot_at(c, c->count++), item, c->size);
}

void *cc__locked_take(CCChan *c)
{
	void *item;

	if (c->count == 0)
		return NULL;
	item = slot_at(c, 0);
	c->count--;
	c->first = c->first + 1 < c->capacity ? c->first + 1 : 0;
	return item;
}

/* ---- one element ---- */

static enum cc__settled done(struct cc__waiter *w, int result)
{
	w->result = result;
	return CC__SETTLED_DONE;
}

/* Give it to the first receiver that waits.  False: none does. */
static bool hand_over(CCChan *c, const void *item, struct cc__batch *b)
{
	struct cc__waiter *receiver = cc__waitq_claim(&c->wait[CC__RECV]);

	if (receiver == NULL)
		return false;
	cc__ring_copy(receiver->io, item, c->size);
	cc__waitq_tell(receiver, b, CC__REASON_DATA, 0);
	return true;
}

enum cc__settled cc__locked_send(CCChan *c, struct cc__waiter *w, struct cc__batch *b)
{
	if (cc__locked_is_closed(c))
		return done(w, CC__CLOSED);
	if (hand_over(c, w->io, b))
		return done(w, 0);
	if (c->count == c->capacity)
		return CC__SETTLED_WAIT;
	put(c, w->io);
	return done(w, 0);
}

enum cc__settled cc__locked_recv(CCChan *c, struct cc__waiter *w, struct cc__batch *b)
{
	struct cc__waiter *sender;
	const void *item = cc__locked_take(c);

	if (item != NULL)
		cc__ring_copy(w->io, item, c->size);
	else if (cc__locked_is_closed(c))
		return done(w, CC__CLOSED);
	if (!cc__locked_is_closed(c) && (sender = cc__waitq_claim(&c->wait[CC__SEND])) != NULL) {
		if (item == NULL)
			cc__ring_copy(w->io, sender->io, c->size);
		else
			put(c, sender->io);
		cc__waitq_tell(sender, b, CC__REASON_DATA, 0);
		return done(w, 0);
	}
	return item != NULL ? done(w, 0) : CC__SETTLED_WAIT;
}

/* ---- several ---- */

/* As many as can be moved without waiting, in few holds of the lock. */
static size_t some(CCChan *c, enum cc__way way, char *items, size_t count)
{
	enum cc__settled (*const settle)(CCChan *, struct cc__waiter *, struct cc__batch *) =
	    way == CC__SEND ? cc__locked_send : cc__locked_recv;
	struct cc__waiter w = {0};
	struct cc__batch batch;
	bool more = true;
	size_t n = 0;

	for (batch.count = 0; more && n < count;) {
		cc__lock(&c->lock, CC__RANK_WAITQ);
		while (more && n < count && !cc__batch_full(&batch)) {
			w.io = items + n * c->size;
			more = settle(c, &w, &batch) == CC__SETTLED_DONE && w.result == 0;
			n += more;
		}
		cc__unlock(&c->lock);
		cc__batch_flush(&batch);
	}
	return n;
}

size_t cc__locked_send_some(CCChan *c, void *items, size_t count)
{
	return some(c, CC__SEND, items, count);
}

size_t cc__locked_recv_some(CCChan *c, void *items, size_t count)
{
	return some(c, CC__RECV, items, count);
}

/* ---- drop the oldest ---- */

/* Without the lock, whole: never waits. */
static __attribute__((noinline)) bool send_dropping(CCChan *c, struct cc__waiter *w)
{
	struct cc__scratch old;
	struct cc__batch batch;
	const void *item = NULL;

	batch.count = 0;
	cc__lock(&c->lock, CC__RANK_WAITQ);
	if (cc__locked_send(c, w, &batch) == CC__SETTLED_WAIT) {
		item = cc__locked_take(c);
		if (c->options.drop != NULL)
			cc__ring_copy(old.bytes, item, c->size);
		put(c, w->io);
		w->result = 0;
	}
	cc__unlock(&c->lock);
	cc__batch_flush(&batch);
	if (item != NULL)
		cc__chan_drop(c, old.bytes);
	return true;
}

/* ---- the channel ---- */

size_t cc__locked_slot(size_t size)
{
	return size;
}

void cc__locked_init(CCChan *c)
{
	c->first = c->count = c->made = c->out = 0;
	cc__store(&c->closed, 0, CC__RELAXED);	/* Relaxed: whoever is given the channel sees it */
}

bool cc__locked_close(CCChan *c)
{
	/* Release: the closer's error, to cc__locked_closed.  Inside it is the lock that
	 * orders. */
	return cc__xchg(&c->closed, 1, CC__RELEASE) == 0;
}

bool cc__locked_closed(const CCChan *c)
{
	/* Acquire: as above. */
	return cc__load(&c->closed, CC__ACQUIRE) != 0;
}

size_t cc__locked_length(const CCChan *c)
{
	struct cc__lock *lock = (struct cc__lock *)(uintptr_t)&c->lock;
	size_t n;

	cc__lock(lock, CC__RANK_WAITQ);
	n = c->count;
	cc__unlock(lock);
	return n;
}

static int empty(CCChan *c)
{
	void *item;

	while ((item = cc__locked_take(c)) != NULL)
		cc__chan_drop(c, item);
	return 0;
}

const struct cc__chan_kind cc__locked = {
    .way = {[CC__SEND] = {.settle = cc__locked_send, .some = cc__locked_send_some},
            [CC__RECV] = {.settle = cc__locked_recv, .some = cc__locked_recv_some}},
    .empty = empty,
    CC__LOCKED_COMMON,
};

const struct cc__chan_kind cc__locked_drop_old = {
    .way = {[CC__SEND] = {.attempt = send_dropping, .settle = cc__locked_send},
            [CC__RECV] = {.settle = cc__locked_recv, .some = cc__locked_recv_some}},
    .empty = empty,
    CC__LOCKED_COMMON,
};
