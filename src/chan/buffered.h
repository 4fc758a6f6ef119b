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

#endif
