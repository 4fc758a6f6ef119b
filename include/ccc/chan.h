/* chan.h - channels: values that pass from one task or thread to another.
 *
 *	CCChan *numbers = cc_chan_new(sizeof(int), 16);
 *
 *	cc_chan_send(numbers, &i, sizeof i);		in one task
 *	cc_chan_close(numbers);
 *
 *	while (cc_chan_recv(numbers, &v, sizeof v) == 0)	in another
 *		...
 *	cc_chan_free(numbers);				when nobody uses it any more
 *
 * A channel holds up to `capacity` elements of one size, by value.  Capacity 0 is
 * a rendezvous: a send and a receive meet.  Any number of fibers and OS threads, of
 * any runtimes, may send and receive; what one of them sends arrives in its order.
 *
 * A call that fails has moved nothing: after ETIMEDOUT, EAGAIN, ECANCELED or the
 * error of a closed channel the element is still the caller's (but see the
 * kinds OWNED and ORDERED).  What can be done at once is done, whatever the deadline
 * and however cancelled the caller is.
 *
 * In a child of fork (runtime.h) all calls that return an error return ENOTSUP, and what
 * would make something returns NULL; cc_chan_len is 0.
 *
 * select.h waits for the first of several; token.h is a flag that wakes everybody. */
#ifndef CCC_CHAN_H
#define CCC_CHAN_H

#include <ccc/task.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CCChan CCChan;

/* What a send does when there is no room. */
typedef enum CCChanMode {
	CC_CHAN_MODE_BLOCK,	/* it waits */
	CC_CHAN_MODE_DROP_NEW,	/* EAGAIN, whatever the deadline; at capacity 0, when no
				 * receiver waits */
	CC_CHAN_MODE_DROP_OLD,	/* the oldest element gives way; not at capacity 0 */
} CCChanMode;

/* Why a wait on a channel ended.  No call returns one of these: they are the names by which
 * CC_CHAN_DEBUG_VERBOSE=1 logs a wake (docs/configuration.md). */
typedef enum CCChanNotify {
	CC_CHAN_NOTIFY_NONE = 0,	/* no other task or thread ended it: its deadline passed, or
					 * the waiter was cancelled */
	CC_CHAN_NOTIFY_DATA = 1,	/* the waker has moved the element */
	CC_CHAN_NOTIFY_CANCEL = 2,	/* the wait could never have ended (EDEADLK) */
	CC_CHAN_NOTIFY_CLOSE = 3,	/* the channel was closed */
	CC_CHAN_NOTIFY_SIGNAL = 4,	/* the channel has changed, so the waiter tries again */
} CCChanNotify;

typedef enum CCChanKind {
	/* A rendezvous at capacity 0, else buffered; from 8 elements on without a lock while
	 * nobody has to wait.  With these, who comes may overtake who waits, and who was
	 * woken sees to the others: where all are fibers of one runtime that may move, they
	 * wait until he runs. */
	CC_CHAN_KIND_PLAIN,
	/* Every operation under the channel's lock, and whoever waits is served in the
	 * order of arrival: nobody overtakes.  Any capacity. */
	CC_CHAN_KIND_SYNC,
	/* A pool of at most `capacity` (1 or more) items that the channel makes itself.  A
	 * receive takes an item out: one that is there, else a new one (create); with
	 * all of them out it waits.  A send gives one back (reset first), and never waits;
	 * EINVAL: none is out.  A closed pool makes no items and destroys what comes
	 * back, EPIPE then.  Mode BLOCK. */
	CC_CHAN_KIND_OWNED,
	/* Tasks in the order in which they were sent, whichever ends first.  An element is a
	 * CCTask, or a structure whose first member is one: the rest is a payload that travels
	 * with the handle, such as where the task's result will be.  The receiver joins each
	 * task, in a call with a deadline of its own.  See cc_chan_spawn.  Not mode DROP_OLD.
	 *
	 * A send that finds the channel closed joins the task before it returns the error of the
	 * close (EPIPE), also after the deadline of the call: the handle is consumed then, the
	 * payload is still the caller's.  After any other error the handle is the caller's too.
	 * If the caller is cancelled, or the deadline of a nursery around it passes, while the
	 * send joins the task, it returns ECANCELED or ETIMEDOUT; but a child of the caller's
	 * innermost nursery is cancelled with the caller and is joined in any case, and so is,
	 * outside of any nursery, a task of the caller's runtime.  EDEADLK: the caller sends its
	 * own handle to a closed channel.  ENOMEM: a thread's first wait. */
	CC_CHAN_KIND_ORDERED,
} CCChanKind;

/* All zero is what cc_chan_new makes. */
typedef struct CCChanOptions {
	CCChanKind kind;
	CCChanMode mode;
	const char *name;	/* for logs; copied, 15 characters; NULL: none */
	/* What was accepted and will not be delivered (DROP_OLD, cc_chan_free) goes here,
	 * once; NULL: nowhere.  Called without locks by whoever caused it, with an element
	 * aligned as by malloc.  With DROP_OLD for elements of up to CC_CHAN_DROP_MAX
	 * bytes.  Not with OWNED. */
	void (*drop)(void *context, void *item);
	/* OWNED, called without locks.  create fills *item and returns 0; an error goes to
	 * the receiver that it was made for, and nothing is counted.  Needed. */
	int (*create)(void *context, void *item);
	void (*reset)(void *context, void *item);	/* before it goes back; may be NULL */
	void (*destroy)(void *context, void *item);	/* at the end of each; may be NULL */
	void *context;					/* for all four */
	/* Whose allocator the memory comes from; it must be there until the channel is
	 * freed.  NULL: calloc.  No matter for who may use the channel. */
	CCRuntime *runtime;
} CCChanOptions;

#define CC_CHAN_SIZE_MAX ((size_t)1 << 24)     /* bytes of an element */
#define CC_CHAN_CAPACITY_MAX ((size_t)1 << 31) /* elements */
#define CC_CHAN_DROP_MAX 4096

/* ---- life ---- */

/* A channel for elements of `size` bytes (0: bare tokens); NULL: no memory, size or
 * capacity out of range, or in a child of fork.  Any thread; never parks. */
CC_API CC_MUST_CHECK CCChan *cc_chan_new(size_t size, size_t capacity);

/* The same with options (NULL: none).  EINVAL: no `out`, size or capacity out of range,
 * a name too long, or kind, mode, callbacks and capacity that do not go together;
 * ENOMEM; ENOTSUP.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_chan_create(CCChan **out, size_t size, size_t capacity,
                                        const CCChanOptions *options);

/* Free it, closed or not, when no call is in progress and none will come.  Elements that
 * were not received go to `drop`; items of a pool are destroyed; tasks of an ORDERED
 * channel without `drop` are joined, or detached if the caller is cancelled and they are not
 * cancelled with it, as CC_CHAN_KIND_ORDERED says (a payload that owns something wants a
 * `drop`).  EBUSY, and
 * nothing is freed or dropped: somebody waits for it, a send is half done, or items of the
 * pool are out or on their way back.  0 for NULL; ENOTSUP.  Any thread; may park if
 * ORDERED.
 *
 * A call on a channel that was freed, a second free included, stops the program with a message
 * that names the channel, as long as no new channel has its memory.  After that the call
 * reaches the new channel, which the library cannot tell.  Nor can it tell if the call was
 * in progress during the free. */
CC_API int cc_chan_free(CCChan *chan);

/* No more sends.  What was accepted will be received; then receivers get EPIPE.  Those
 * who wait to send get EPIPE at once.  Closing again changes nothing: 0.  EINVAL: NULL;
 * ENOTSUP.  Any thread; never parks. */
CC_API int cc_chan_close(CCChan *chan);

/* The same, but receivers get `error` instead of EPIPE in the end (0 means EPIPE). */
CC_API int cc_chan_close_error(CCChan *chan, int error);

/* The same by the receiving side: senders get `error` (0 means EPIPE).  What was
 * accepted can still be received; then receivers get EPIPE. */
CC_API int cc_chan_close_recv(CCChan *chan, int error);

/* ---- send and receive ----
 *
 * `size` is that of an element.  EINVAL: another size, NULL.  EPIPE or the closer's
 * error: closed, and for a receive nothing is left.  ETIMEDOUT; EAGAIN for CC_NOW.
 * ECANCELED: the calling fiber is cancelled and would have to wait.  ENOMEM: no memory
 * for a thread's first wait.  ENOTSUP: in a child of fork (runtime.h).
 * Any thread; may park; a cancel point. */

CC_API CC_MUST_CHECK int cc_chan_send_until(CCChan *chan, const void *item, size_t size,
                                            cc_time deadline);
CC_API CC_MUST_CHECK int cc_chan_recv_until(CCChan *chan, void *item, size_t size,
                                            cc_time deadline);

/* However long it takes. */
CC_API CC_MUST_CHECK int cc_chan_send(CCChan *chan, const void *item, size_t size);
CC_API CC_MUST_CHECK int cc_chan_recv(CCChan *chan, void *item, size_t size);

/* At once or not at all: EAGAIN, also where somebody else who came first has yet to finish
 * his copy.  Never parks. */
static inline CC_MUST_CHECK int cc_chan_try_send(CCChan *chan, const void *item, size_t size)
{
	return cc_chan_send_until(chan, item, size, CC_NOW);
}

static inline CC_MUST_CHECK int cc_chan_try_recv(CCChan *chan, void *item, size_t size)
{
	return cc_chan_recv_until(chan, item, size, CC_NOW);
}

/* Within a span of time from now. */
static inline CC_MUST_CHECK int cc_chan_timed_send(CCChan *chan, const void *item, size_t size,
                                                   cc_time span)
{
	return cc_chan_send_until(chan, item, size, cc_after(span));
}

static inline CC_MUST_CHECK int cc_chan_timed_recv(CCChan *chan, void *item, size_t size,
                                                   cc_time span)
{
	return cc_chan_recv_until(chan, item, size, cc_after(span));
}

/* An array of `count` elements of `size` bytes each.  The send waits until all have been
 * sent, the receive until there is one and then takes what there is.  *moved (may not
 * be NULL) tells how many were.  0 if any, or if count is 0; the errors above only if
 * none.  Elements of one call stay in order; those of other senders may come in between.
 * EINVAL also: OWNED and ORDERED. */
CC_API CC_MUST_CHECK int cc_chan_send_many(CCChan *chan, const void *items, size_t size,
                                           size_t count, cc_time deadline, size_t *moved);
CC_API CC_MUST_CHECK int cc_chan_recv_many(CCChan *chan, void *items, size_t size, size_t count,
                                           cc_time deadline, size_t *moved);

/* Runs main(arg) as a task and sends its handle through an ORDERED channel of CCTask.
 *
 * The task is a child of the innermost nursery around the caller: it is cancelled with that
 * nursery, which waits for its end, and its error follows the nursery's policy.  Outside of any
 * nursery it is a task as by cc_task_spawn.  Either way the receiver joins the handle, which stays
 * good after the end of the nursery.
 *
 * If the task cannot be spawned, returns the error of cc_nursery_spawn or cc_task_spawn.  If the
 * handle cannot be sent, whatever the reason, the task is joined before the error is returned, also
 * after the deadline of the call.  A cancellation of the caller does not end that wait, but it
 * reaches the task: it cancels the child, and the end of the caller's runtime cancels a task outside
 * of any nursery.
 *
 * Returns 0, or
 *   EINVAL      `chan` is NULL, not ORDERED, or has elements of another size; the options or main
 *               are wrong; inside of a nursery: the options have a start
 *   ENOTSUP     in a child of fork
 *   and the errors of the spawn and of cc_chan_send_until
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_chan_spawn(CCChan *chan, const CCTaskOptions *options,
                                       cc_task_main *main, void *arg, cc_time deadline);

/* The same for elements with a payload: `item` points to an element of `size` bytes, whose first
 * member, a CCTask, is written by the call.  After an error that handle is all zero, and the
 * payload is the caller's again.
 *
 *      struct block {
 *              CCTask task;
 *              char *data;
 *              size_t length;
 *      } b = {.data = data, .length = length};
 *
 *      err = cc_chan_spawn_item(blocks, &b, sizeof b, NULL, compress, data, CC_FOREVER);
 */
CC_API CC_MUST_CHECK int cc_chan_spawn_item(CCChan *chan, void *item, size_t size,
                                            const CCTaskOptions *options, cc_task_main *main,
                                            void *arg, cc_time deadline);

/* The same with a copy of `captures_size` bytes at `captures`, which is the task's until it ends,
 * aligned to CC_CAPTURES_ALIGN (nursery.h): main gets its address.  EINVAL also: no captures. */
CC_API CC_MUST_CHECK int cc_chan_spawn_copy(CCChan *chan, void *item, size_t size,
                                            const CCTaskOptions *options, cc_task_main *main,
                                            const void *captures, size_t captures_size,
                                            cc_time deadline);

/* ---- a look ---- */

/* Elements in it, now: others go on meanwhile.  Any thread; never parks. */
CC_API size_t cc_chan_len(const CCChan *chan);
CC_API size_t cc_chan_cap(const CCChan *chan);
/* 1 once it is closed, though there may be something left to receive. */
CC_API int cc_chan_closed(const CCChan *chan);

/* ---- one end only ----
 *
 * Handles to pass around by value: what takes one can use that end and no other. */

typedef struct CCChanTx {
	CCChan *chan;
} CCChanTx;

typedef struct CCChanRx {
	CCChan *chan;
} CCChanRx;

static inline CCChanTx cc_chan_tx(CCChan *chan)
{
	CCChanTx tx;

	tx.chan = chan;
	return tx;
}

static inline CCChanRx cc_chan_rx(CCChan *chan)
{
	CCChanRx rx;

	rx.chan = chan;
	return rx;
}

static inline CC_MUST_CHECK int cc_tx_send(CCChanTx tx, const void *item, size_t size)
{
	return cc_chan_send(tx.chan, item, size);
}

static inline CC_MUST_CHECK int cc_tx_send_until(CCChanTx tx, const void *item, size_t size,
                                                 cc_time deadline)
{
	return cc_chan_send_until(tx.chan, item, size, deadline);
}

static inline CC_MUST_CHECK int cc_tx_try_send(CCChanTx tx, const void *item, size_t size)
{
	return cc_chan_try_send(tx.chan, item, size);
}

static inline CC_MUST_CHECK int cc_tx_send_many(CCChanTx tx, const void *items, size_t size,
                                                size_t count, cc_time deadline, size_t *moved)
{
	return cc_chan_send_many(tx.chan, items, size, count, deadline, moved);
}

static inline int cc_tx_close(CCChanTx tx, int error)
{
	return cc_chan_close_error(tx.chan, error);
}

static inline CC_MUST_CHECK int cc_rx_recv(CCChanRx rx, void *item, size_t size)
{
	return cc_chan_recv(rx.chan, item, size);
}

static inline CC_MUST_CHECK int cc_rx_recv_until(CCChanRx rx, void *item, size_t size,
                                                 cc_time deadline)
{
	return cc_chan_recv_until(rx.chan, item, size, deadline);
}

static inline CC_MUST_CHECK int cc_rx_try_recv(CCChanRx rx, void *item, size_t size)
{
	return cc_chan_try_recv(rx.chan, item, size);
}

static inline CC_MUST_CHECK int cc_rx_recv_many(CCChanRx rx, void *items, size_t size, size_t count,
                                                cc_time deadline, size_t *moved)
{
	return cc_chan_recv_many(rx.chan, items, size, count, deadline, moved);
}

static inline int cc_rx_close(CCChanRx rx, int error)
{
	return cc_chan_close_recv(rx.chan, error);
}

#ifdef __cplusplus
}
#endif
#endif
