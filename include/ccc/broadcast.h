/* broadcast.h - channels whose receivers all see what is sent, and channels that hold the latest
 * value.
 *
 *	CCChan *news = cc_broadcast_new(sizeof(int), 16);	// or cc_watch_new(sizeof(int))
 *	CCChanRx mine;
 *
 *	cc_chan_subscribe(news, &mine);
 *
 *	cc_chan_send(news, &i, sizeof i);			in one task
 *	cc_chan_close(news);
 *
 *	while (cc_rx_recv(mine, &v, sizeof v) == 0)		in another
 *		...
 *	cc_chan_unsubscribe(mine);
 *
 * A broadcast channel (CC_CHAN_KIND_BROADCAST) delivers each element to all subscriptions that
 * exist when it is sent, in one order for all of them.  A watch channel (CC_CHAN_KIND_WATCH) holds
 * the latest value: a new subscription begins with the value that the channel holds, and a receive
 * returns the latest value that the subscription has not received yet.
 *
 * Both are channels: the calls of chan.h send to them and close them, select.h and typed.h take
 * them.  A subscription is a channel of its own that can only be received from.  Several tasks may
 * share one subscription; each element then goes to one of them.  A receive from the channel
 * itself, and a send to a subscription, return EINVAL.
 *
 * The channel keeps at most `capacity` elements for its slowest subscription.  What happens when
 * that one is further behind is the mode of the channel (CCChanOptions):
 *
 *	CC_CHAN_MODE_BLOCK	the send waits until it has caught up
 *	CC_CHAN_MODE_DROP_NEW	the send returns EAGAIN
 *	CC_CHAN_MODE_DROP_OLD	the send succeeds; the subscription loses its oldest elements, and
 *				cc_chan_lost tells how many
 *
 * A send to a channel without subscriptions succeeds.  No subscription receives that element,
 * except that a watch channel holds it.  `drop` and the other functions of CCChanOptions are not
 * allowed, because an element has no single owner.
 *
 * cc_chan_len is the number of elements that a subscription has still to receive, and of a channel
 * the number that it keeps. */
#ifndef CCC_BROADCAST_H
#define CCC_BROADCAST_H

#include <ccc/chan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a broadcast channel for elements of `size` bytes, with mode BLOCK.  cc_chan_create makes
 * one with options.
 *
 * Returns NULL if there is no memory, `size` or `capacity` is out of range (the least capacity is
 * 1), or in a child of fork.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK CCChan *cc_broadcast_new(size_t size, size_t capacity);

/* Creates a watch channel for values of `size` bytes.  It holds no value until the first send.  A
 * send never waits.
 *
 * Returns NULL if there is no memory, `size` is out of range, or in a child of fork.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK CCChan *cc_watch_new(size_t size);

/* Subscribes to a broadcast or watch channel and stores the subscription in *out.  It receives what
 * is sent from now on, and of a watch channel the value that it holds.
 *
 * The end of the channel (cc_chan_close and its forms) ends all its subscriptions after the last
 * element.  cc_chan_close of out->chan ends that subscription alone: what was sent until then can
 * still be received, and delays a sender until it is received or the subscription is freed.
 *
 * Returns 0, or
 *   EINVAL      a pointer is NULL, or the channel is of another kind
 *   ENOMEM      no memory
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_chan_subscribe(CCChan *chan, CCChanRx *out);

/* Ends a subscription and frees it, as cc_chan_free does.  The channel can be freed when all its
 * subscriptions have ended; until then cc_chan_free returns EBUSY.
 *
 * Returns as cc_chan_free does.
 *
 * Any thread.  Never parks. */
static inline int cc_chan_unsubscribe(CCChanRx rx)
{
	return cc_chan_free(rx.chan);
}

/* Returns the number of elements that a subscription has lost since the last call: they were
 * replaced by newer ones (mode DROP_OLD, or a watch channel) before a receive came for them.  All
 * of them were sent before the element that the next receive returns.  0 for another channel or
 * NULL.
 *
 * Any thread.  Never parks. */
CC_API uint64_t cc_chan_lost(CCChanRx rx);

/* Copies the latest value of a watch channel, or of the channel of a subscription to one, into
 * `item`.  Receives nothing: a subscription still receives that value.  The value remains after the
 * close.
 *
 * Returns 0, or
 *   EAGAIN      no value has been sent
 *   EINVAL      `size` is not the channel's element size, a pointer is NULL, or it is not a watch
 *               channel
 *   ENOTSUP     in a child of fork (runtime.h)
 * On any error `item` is unchanged.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_watch_get(CCChan *watch, void *item, size_t size);

#ifdef __cplusplus
}
#endif
#endif
