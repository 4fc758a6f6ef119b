/* locked.h - a channel whose every operation is made under its lock.
 *
 * Capacity 0 is the rendezvous.  K1 and K2 make the channel first come, first served at any
 * capacity: a caller never takes what an earlier caller waits for.
 *
 * K1  A receiver is listed only while there is nothing to receive: no element and no listed
 *     sender.  A sender is listed only while there is no room and no listed receiver.  (A waiter
 *     that has lost a select and is still listed does not count.)
 * K2  So a caller serves the first waiter of the other side in the same critical section: a send
 *     copies into the receiver's buffer; a receive takes the oldest element and moves the element
 *     of the first waiting sender into its place.
 * K3  Once the channel is closed, no waiter is served and no caller is listed. */
#ifndef CC__CHAN_LOCKED_H
#define CC__CHAN_LOCKED_H

#include "chan/chan.h"
#include "chan/ring.h"

/* ---- the elements, under the lock ---- */

static inline void *cc__locked_at(const CCChan *c, size_t n)
{
	const size_t i = c->first + n;

	return (char *)c->slots + (i < c->capacity ? i : i - c->capacity) * c->size;
}

static inline void cc__locked_put(CCChan *c, const void *item)
{
	cc__ring_copy(cc__locked_at(c, c->count++), item, c->size);
}

/* The oldest, taken out; NULL: none. */
static inline void *cc__locked_take(CCChan *c)
{
	void *item;

	if (c->count == 0)
		return NULL;
	item = cc__locked_at(c, 0);
	c->count--;
	c->first = c->first + 1 < c->capacity ? c->first + 1 : 0;
	return item;
}

/* ---- one element, under the lock: settle ---- */

static inline bool cc__locked_is_closed(CCChan *c)
{
	return cc__load(&c->closed, CC__RELAXED) != 0;	/* Relaxed: the lock */
}

static inline int cc__locked_send(CCChan *c, void *element, struct cc__wake *wake)
{
	struct cc__waiter *receiver;

	if (cc__locked_is_closed(c))
		return CC__CLOSED;
	if ((receiver = cc__waitq_claim(&c->wait[CC__RECV])) != NULL) {
		cc__ring_copy(receiver->io, element, c->size);
		*wake = cc__waitq_tell(receiver, CC__REASON_DATA, 0);
		return 0;
	}
	if (c->count == c->capacity)
		return CC__NOT_NOW;
	cc__locked_put(c, element);
	return 0;
}

static inline int cc__locked_recv(CCChan *c, void *into, struct cc__wake *wake)
{
	const bool closed = cc__locked_is_closed(c);
	const void *item = cc__locked_take(c);
	struct cc__waiter *sender;

	if (item != NULL)
		cc__ring_copy(into, item, c->size);
	else if (closed)
		return CC__CLOSED;
	if (!closed && (sender = cc__waitq_claim(&c->wait[CC__SEND])) != NULL) {
		if (item == NULL)
			cc__ring_copy(into, sender->io, c->size);
		else
			cc__locked_put(c, sender->io);
		*wake = cc__waitq_tell(sender, CC__REASON_DATA, 0);
		return 0;
	}
	return item != NULL ? 0 : CC__NOT_NOW;
}

/* Under the lock: what settles to NOT_NOW, but for a waiter that has lost a select (K1). */
static inline bool cc__locked_must_wait(CCChan *c, enum cc__way way)
{
	return c->wait[way == CC__SEND ? CC__RECV : CC__SEND].head == NULL &&
	       c->count == (way == CC__SEND ? c->capacity : 0) && !cc__locked_is_closed(c);
}

static inline int cc__locked_settle(CCChan *c, enum cc__way way, void *item, struct cc__wake *wake)
{
	return way == CC__SEND ? cc__locked_send(c, item, wake) : cc__locked_recv(c, item, wake);
}

/* ---- for the kinds that stand on this one ---- */

extern struct cc__slab cc__locked_heads;
size_t cc__locked_send_some(CCChan *c, void *items, size_t count);
size_t cc__locked_recv_some(CCChan *c, void *items, size_t count);
size_t cc__locked_slot(size_t size);
void cc__locked_init(CCChan *c);
void cc__locked_close(CCChan *c);
bool cc__locked_closed(const CCChan *c);
size_t cc__locked_length(const CCChan *c);

#define CC__LOCKED_COMMON \
	.heads = &cc__locked_heads, .slot = cc__locked_slot, .init = cc__locked_init, \
	.close = cc__locked_close, .closed = cc__locked_closed, .length = cc__locked_length, \
	.told = CC__CLOSED

#endif
