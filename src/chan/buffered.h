/* buffered.h - a channel with a ring: what cc_chan_send and cc_chan_recv use of it. */
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

/* A waiter on the other side may wait for what `way` has just done, once or more often.  Returns 0,
 * which is what the operation returns. */
int cc__buffered_wake(CCChan *c, enum cc__way way);

/* Goes on where the first try of a send or a receive ended, with `found`: waits if it must.  The
 * outcome, as the caller is told.  May park. */
int cc__buffered_send_on(CCChan *c, void *item, enum cc__ring_answer found);
int cc__buffered_recv_on(CCChan *c, void *item, enum cc__ring_answer found);

/* The first try, for the sizes that most elements have; the most frequent is tested first. */
static inline enum cc__ring_answer cc__buffered_send_first(CCChan *c, const void *item, size_t size)
{
	struct cc__ring *r = cc__ring_of(c);

	if (__builtin_expect(size == 8, 1))
		return cc__ring_send_first(r, item, 8);
	if (size == 4)
		return cc__ring_send_first(r, item, 4);
	return size == 16 ? cc__ring_send_first(r, item, 16) : CC__RING_NO_ANSWER;
}

static inline enum cc__ring_answer cc__buffered_recv_first(CCChan *c, void *item, size_t size)
{
	struct cc__ring *r = cc__ring_of(c);

	if (__builtin_expect(size == 8, 1))
		return cc__ring_recv_first(r, item, 8);
	if (size == 4)
		return cc__ring_recv_first(r, item, 4);
	return size == 16 ? cc__ring_recv_first(r, item, 16) : CC__RING_NO_ANSWER;
}

#endif
