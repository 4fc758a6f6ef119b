/* buffered.h - a channel with a ring: the part of it that send and receive run first. */
#ifndef CC__CHAN_BUFFERED_H
#define CC__CHAN_BUFFERED_H

#include "chan/chan.h"
#include "chan/ring.h"

struct cc__buffered_chan {
	CCChan chan;	/* first */
	struct cc__ring ring;
};

static inline struct cc__ring *cc__ring_of(CCChan *c)
{
	return &((struct cc__buffered_chan *)(void *)c)->ring;
}

/* Somebody on the other side may wait for what `way` has just done, once or more often. */
void cc__buffered_wake(CCChan *c, enum cc__way way);

/* One element, of the channel's size, without a lock.  False: it cannot be done like that. */
static inline bool cc__buffered_send(CCChan *c, const void *item, size_t size)
{
	struct cc__ring *r = cc__ring_of(c);
	size_t n;

	if (cc__ring_send(r, item, size, 1, &n) != CC__RING_OK)
		return false;
	if (__builtin_expect(cc__ring_others_wait(&r->tail), 0))
		cc__buffered_wake(c, CC__SEND);
	return true;
}

static inline bool cc__buffered_recv(CCChan *c, void *item, size_t size)
{
	struct cc__ring *r = cc__ring_of(c);
	size_t n;

	if (cc__ring_recv(r, item, size, 1, &n) != CC__RING_OK)
		return false;
	if (__builtin_expect(cc__ring_others_wait(&r->head), 0))
		cc__buffered_wake(c, CC__RECV);
	return true;
}

#endif
