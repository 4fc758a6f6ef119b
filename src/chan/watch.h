/* watch.h - what the debug switches show of a channel: CC_CHAN_DEBUG its life,
 * CC_CHAN_DEBUG_VERBOSE every operation, CC_CHANNEL_TIMING how long these took.
 *
 * ThreadSanitizer is told of channels in the same way (os/tools.h).
 *
 * A channel that is made while one of them is on is watched to its end, and has no fast
 * path; others know nothing of this.  The switches are read once: all are watched, or none.
 *
 * Who has done something to a channel notes it afterwards, when its partner may have freed
 * the channel: so the head is given back by the last of those who use it, else what is
 * noted would go to the next channel in its place (C4). */
#ifndef CC__CHAN_WATCH_H
#define CC__CHAN_WATCH_H

#include "chan/chan.h"
#include "chan/settings.h"

void cc__chan_made(CCChan *c);
void cc__chan_closes(const CCChan *c, int send_error, int recv_error);
void cc__chan_freed(CCChan *c);

/* Around each call: in between the head stays what it is. */
void cc__chan_enter(CCChan *c);
void cc__chan_leave(CCChan *c);

/* An operation that began then has ended with that result. */
void cc__chan_done(CCChan *c, enum cc__way way, cc_time began, int result);

/* An operation is about to begin: what its caller has done happens before what the partner does
 * after its own operation has succeeded, or failed because the channel is closed.  Between a
 * begin and its end nothing that is done to the channel's memory is noted. */
void cc__chan_order_begin(CCChan *c, enum cc__way way);
void cc__chan_order_end(CCChan *c, enum cc__way way, int result);

#endif
