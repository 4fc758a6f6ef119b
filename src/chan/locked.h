/* locked.h - a channel whose every operation is made under its lock.
 *
 * Capacity 0 is the rendezvous.  K1 and K2 make it first come, first served, at any
 * capacity: who arrives never finds something that somebody before him waits for.
 *
 * K1  A receiver is listed only while there is nothing to receive: no element and no
 *     listed sender.  A sender is listed only while there is no room and no listed
 *     receiver.  (One that lost a select and is still listed does not count.)
 * K2  So who arrives serves the first who waits on the other side, in the same hold:
 *     a send copies into the receiver's buffer; a receive takes the oldest element, and
 *     moves the first waiting sender's into its place.
 * K3  Once closed, nobody is served and nobody listed. */
#ifndef CC__CHAN_LOCKED_H
#define CC__CHAN_LOCKED_H

#include "chan/chan.h"

/* Under the lock. */
static inline bool cc__locked_is_closed(CCChan *c)
{
	return cc__load(&c->closed, CC__RELAXED) != 0;	/* Relaxed: the lock */
}

/* For the kinds that stand on this one. */
extern struct cc__slab cc__locked_heads;
enum cc__settled cc__locked_send(CCChan *c, struct cc__waiter *w, struct cc__batch *b);
enum cc__settled cc__locked_recv(CCChan *c, struct cc__waiter *w, struct cc__batch *b);
size_t cc__locked_send_some(CCChan *c, void *items, size_t count);
size_t cc__locked_recv_some(CCChan *c, void *items, size_t count);
size_t cc__locked_slot(size_t size);
void cc__locked_init(CCChan *c);
bool cc__locked_close(CCChan *c);
bool cc__locked_closed(const CCChan *c);
size_t cc__locked_length(const CCChan *c);
/* Nobody else's any more: the oldest element, taken out; NULL: none. */
void *cc__locked_take(CCChan *c);

#define CC__LOCKED_COMMON \
	.heads = &cc__locked_heads, .slot = cc__locked_slot, .init = cc__locked_init, \
	.close = cc__locked_close, .closed = cc__locked_closed, .length = cc__locked_length, \
	.told = CC__CLOSED

#endif
