/* watch.h - what the debug switches show of channels, on standard error.
 *
 *	CC_CHAN_DEBUG		a line for each operation: made, send, receive, select, closed,
 *				freed
 *	CC_CHAN_DEBUG_VERBOSE	also a line for each wait, for each wake, and for each case of a
 *				select that lost
 *	CC_CHANNEL_TIMING	count, mean and longest time of each kind of operation, when
 *				the channel is freed or the process exits
 *
 * The lines of operations and waits come from the calls below.  Those of wakes come from the event
 * log (os/trace.h), which sees every decision about a wait.  ThreadSanitizer is told of
 * operations in the same way (os/tools.h).
 *
 * A channel that is made while a switch is on is watched to its end and has no fast path;
 * other channels know nothing of this.  The switches are read once, so either all channels
 * are watched or none.
 *
 * WATCH-1  An operation is noted after it has taken place, when its partner may already have freed
 *          the channel.  So a record counts the channel's users, and the last one to leave gives
 *          the head back (C4 in chan.h).  Without that, the next channel in the same memory
 *          would be charged.
 * WATCH-2  A line is one write of at most 512 bytes, so lines of several threads do not mix.
 *          Some are written with locks of channels held, so printing takes no lock. */
#ifndef CC__CHAN_WATCH_H
#define CC__CHAN_WATCH_H

#include <ccc/select.h>

#include "os/trace.h"
#include "chan/chan.h"
#include "chan/settings.h"

/* False: there is no memory for the record. */
bool cc__chan_made(CCChan *c);
void cc__chan_closes(const CCChan *c, int send_error, int recv_error);
void cc__chan_freed(CCChan *c);

/* Around each call: in between the head stays what it is. */
void cc__chan_enter(CCChan *c);
void cc__chan_leave(CCChan *c);

/* The caller's operation that began at `began` has ended with that result.  is_try: it was not to
 * wait. */
void cc__chan_done(CCChan *c, enum cc__way way, bool is_try, cc_time began, int result);

/* The caller's select has ended with that result: the case `chosen`, or none if that is `count`.
 * watch: the flags of its channels. */
void cc__select_done(const CCCase *cases, uint32_t count, uint32_t chosen, unsigned watch,
                     cc_time began, int result);

/* With CC__CHAN_VERBOSE: the caller is about to wait; it no longer waits, and w says why.  The first
 * is called with the channel's lock held. */
void cc__chan_parks(const CCChan *c, enum cc__way way, cc_time deadline);
void cc__chan_waited(const CCChan *c, enum cc__way way, const struct cc__waiter *w, int result);
/* The caller's select is about to wait for that case.  Locks of channels are held. */
void cc__select_waits(const CCCase *cases, uint32_t count, uint32_t i);

/* An event about `who`, on the thread that makes it; locks may be held. */
void cc__chan_see(enum cc__event kind, const void *who, uint64_t b);

/* An operation is about to begin: what its caller has done happens before what the partner does
 * after its own operation has succeeded, or failed because the channel is closed.  Between a
 * begin and its end nothing that is done to the channel's memory is noted. */
void cc__chan_order_begin(CCChan *c, enum cc__way way);
void cc__chan_order_end(CCChan *c, enum cc__way way, int result);

#endif
