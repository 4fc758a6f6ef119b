/* chan.h - channels: values that pass from one task or thread to another.
 *
 *	CCChan *numbers = cc_chan_new(sizeof(int), 16);
 *
 *	cc_chan_send(numbers, &i, sizeof i);		in one task
 *	cc_chan_close(numbers);
 *
 *	while (cc_chan_recv(numbers, &v, sizeof v) == 0)	in another
 *		...
 *	cc_chan_free(numbers);				when no task uses it any more
 *
 * A channel holds up to `capacity` elements of one size, by value.  A channel of capacity 0 is a
 * rendezvous: a send waits for a receive and hands its element over.  Any number of fibers and OS
 * threads, of any runtimes, may send and receive.  The elements of one sender arrive in the order
 * in which it sent them.
 *
 * A call that fails has moved nothing: after ETIMEDOUT, EAGAIN, ECANCELED or the error of a closed
 * channel the element still belongs to the caller (exceptions: CC_CHAN_KIND_OWNED and
 * CC_CHAN_KIND_ORDERED).  An operation that need not wait succeeds even if its deadline has passed
 * or the caller is cancelled.
 *
 * In a child of fork (runtime.h) every call that returns an error returns ENOTSUP, every call that
 * creates something returns NULL, and cc_chan_len returns 0.
 *
 * select.h waits for the first of several operations; token.h is a flag that wakes all waiters. */
#ifndef CCC_CHAN_H
#define CCC_CHAN_H

#include <ccc/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A channel.  The fields are private. */
typedef struct CCChan CCChan;

/* What a send does when the channel is full. */
typedef enum CCChanMode {
	CC_CHAN_MODE_BLOCK,	/* it waits */
	CC_CHAN_MODE_DROP_NEW,	/* it returns EAGAIN, whatever its deadline; at capacity 0 it does
				 * so when no receiver waits */
	CC_CHAN_MODE_DROP_OLD,	/* it discards the oldest element; not for capacity 0 */
} CCChanMode;

/* Why a wait on a channel ended.  No call returns these values: CC_CHAN_DEBUG_VERBOSE=1 logs them
 * by name (docs/configuration.md). */
typedef enum CCChanNotify {
	CC_CHAN_NOTIFY_NONE = 0,	/* no other task or thread ended it: the deadline passed, or
					 * the waiter was cancelled */
	CC_CHAN_NOTIFY_DATA = 1,	/* the waker has moved the element */
	CC_CHAN_NOTIFY_CANCEL = 2,	/* the wait could never have ended (EDEADLK) */
	CC_CHAN_NOTIFY_CLOSE = 3,	/* the channel was closed */
	CC_CHAN_NOTIFY_SIGNAL = 4,	/* the channel has changed, so the waiter tries again */
} CCChanNotify;

/* The kinds of channels. */
typedef enum CCChanKind {
	/* A rendezvous at capacity 0, otherwise a buffer.  From capacity 8 on it takes no lock
	 * while no caller has to wait.  Not fair: a new caller may overtake a waiter.  A woken
	 * waiter wakes the next one, so if all waiters are migratable fibers of one runtime, the
	 * others sleep until it has run. */
	CC_CHAN_KIND_PLAIN,
	/* Fair: every operation takes the channel's lock, and waiters are served in the order of
	 * their arrival.  Any capacity. */
	CC_CHAN_KIND_SYNC,
	/* A pool of at most `capacity` (1 or more) items that the channel creates itself.
	 *
	 * A receive takes an item out of the pool.  If none is there it creates one (`create`);
	 * if all items are out, it waits.  A send returns an item to the pool, after `reset`.  It
	 * never waits, and returns EINVAL if no item is out.  A closed pool creates no items; a
	 * send to it destroys the item and returns EPIPE.  Mode BLOCK only. */
	CC_CHAN_KIND_OWNED,
	/* Tasks, received in the order in which they were sent, whichever ends first.
	 *
	 * An element is a CCTask, or a structure whose first member is a CCTask.  The rest of the
	 * structure is a payload that travels with the handle, such as a pointer to the result.
	 * The receiver joins each task, in a call with a deadline of its own.  See cc_chan_spawn.
	 * Not with mode DROP_OLD.
	 *
	 * A send that finds the channel closed joins the task before it returns the error of the
	 * close (EPIPE), even after the deadline of the call.  The handle is consumed then, and
	 * the payload still belongs to the caller.  After any other error the handle belongs to
	 * the caller, too.
	 *
	 * If the caller is cancelled while the send joins the task, or the deadline of a nursery
	 * around the caller passes, the send returns ECANCELED or ETIMEDOUT.  Two kinds of tasks
	 * are joined in any case, because they are cancelled together with the caller: a child of
	 * the caller's innermost nursery, and, outside of any nursery, a task of the caller's
	 * runtime.
	 *
	 * Further errors of such a send: EDEADLK if the caller sends its own handle to a closed
	 * channel, ENOMEM if there is no memory for the first wait of a thread. */
	CC_CHAN_KIND_ORDERED,
	/* Every subscription receives every element (broadcast.h).  Capacity 1 or more. */
	CC_CHAN_KIND_BROADCAST,
	/* Holds the latest value for its subscriptions (broadcast.h).  Capacity 1, mode BLOCK. */
	CC_CHAN_KIND_WATCH,
} CCChanKind;

/* Options.  A zeroed struct is the default, which is what cc_chan_new uses. */
typedef struct CCChanOptions {
	CCChanKind kind;
	CCChanMode mode;
	const char *name;	/* for logs; copied, at most 15 characters; NULL: no name */
	/* Receives, once, each element that was sent and will not be received because of
	 * DROP_OLD or cc_chan_free.  NULL: such elements are discarded.  The thread or fiber that
	 * causes the drop makes the call without holding locks; `item` is aligned as by malloc.
	 * With DROP_OLD the element size may be at most CC_CHAN_DROP_MAX.  Not with OWNED. */
	void (*drop)(void *context, void *item);
	/* The next three are for OWNED and are called without locks held.  `create` is required:
	 * it fills *item and returns 0, or returns an error that the receive then returns; no
	 * item is counted in that case. */
	int (*create)(void *context, void *item);
	void (*reset)(void *context, void *item);	/* before an item returns; may be NULL */
	void (*destroy)(void *context, void *item);	/* when an item ends; may be NULL */
	void *context;					/* passed to all four functions */
	/* Runtime whose allocator provides the channel's memory; it must live until the channel
	 * is freed.  NULL: calloc.  Does not restrict which tasks and threads may use the
	 * channel. */
	CCRuntime *runtime;
} CCChanOptions;

#define CC_CHAN_SIZE_MAX ((size_t)1 << 24)     /* largest element size in bytes */
#define CC_CHAN_CAPACITY_MAX ((size_t)1 << 31) /* largest capacity in elements */
/* Largest element size in bytes of an OWNED channel, and with DROP_OLD and `drop`. */
#define CC_CHAN_DROP_MAX 4096

/* ---- life ---- */

/* Creates a channel for elements of `size` bytes.  With size 0 the elements carry no data.
 *
 * Returns NULL if there is no memory, `size` or `capacity` is out of range, or in a child of fork.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK CCChan *cc_chan_new(size_t size, size_t capacity);

/* Creates a channel as cc_chan_create does, for cc_chan_make.  `place` is CC_PLACE of its type, which
 * is the channel's name unless the options have one.
 *
 * Returns NULL where cc_chan_create returns an error.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK CCChan *cc_chan_at(size_t size, size_t capacity, const CCChanOptions *options,
                                        const char *place);

/* Creates a channel with options and stores it in *out.  `options` may be NULL.
 *
 * Returns 0, or
 *   EINVAL      `out` is NULL, `size` or `capacity` is out of range, the name is too long, or
 *               kind, mode, functions and capacity do not fit together
 *   ENOMEM      no memory
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_chan_create(CCChan **out, size_t size, size_t capacity,
                                        const CCChanOptions *options);

/* Frees a channel, closed or not.  No call on it may be in progress or follow.  NULL is allowed.
 *
 * Elements that were not received go to `drop`.  Items of a pool are destroyed.  Tasks of an
 * ORDERED channel without `drop` are joined; if the caller is cancelled and they are not cancelled
 * with it (see CC_CHAN_KIND_ORDERED), they are detached.  A payload that owns something therefore
 * needs a `drop`.
 *
 * A call on a channel that was freed, including a second free, aborts the program with a message
 * that names the channel, as long as no new channel uses the memory.  After that the call reaches
 * the new channel.  The library cannot detect that, nor a call that was in progress during the
 * free.
 *
 * Returns 0, or
 *   EBUSY       a caller waits on the channel, a send is half done, or items of the pool are out
 *               or on their way back
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error nothing was freed or dropped.
 *
 * Any thread.  May park if the channel is ORDERED. */
CC_API int cc_chan_free(CCChan *chan);

/* Closes a channel for sending.  Elements that were sent can still be received; after the last
 * one receives return EPIPE.  Sends return EPIPE, including those that wait.  Closing a closed
 * channel changes nothing and returns 0.
 *
 * Returns 0, or
 *   EINVAL      `chan` is NULL
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  Never parks. */
CC_API int cc_chan_close(CCChan *chan);

/* Closes a channel as cc_chan_close does, except that receives return `error` instead of EPIPE
 * after the last element.  0 means EPIPE.
 *
 * Returns as cc_chan_close does.
 *
 * Any thread.  Never parks. */
CC_API int cc_chan_close_error(CCChan *chan, int error);

/* Closes a channel from the receiving side: sends return `error`; 0 means EPIPE.  Elements that
 * were sent can still be received; after the last one receives return EPIPE.
 *
 * Returns as cc_chan_close does.
 *
 * Any thread.  Never parks. */
CC_API int cc_chan_close_recv(CCChan *chan, int error);

/* ---- send and receive ---- */

/* Sends one element of `size` bytes from `item`, waiting until `deadline` if the channel is full
 * or, at capacity 0, no receiver waits.
 *
 * Returns 0, or
 *   EPIPE       the channel is closed (or the error given to cc_chan_close_recv)
 *   ETIMEDOUT   the deadline passed (EAGAIN if it was CC_NOW), or the deadline of a nursery
 *               around the caller passed
 *   ECANCELED   the call would have to wait, and a nursery around the caller was cancelled or the
 *               calling fiber's runtime is ending
 *   EAGAIN      the mode is DROP_NEW and the channel is full
 *   EINVAL      `size` is not the channel's element size, or a pointer is NULL
 *   ENOMEM      no memory for the first wait of a thread
 *   ENOTSUP     in a child of fork (runtime.h)
 * After any error nothing was sent and the element belongs to the caller.  OWNED and ORDERED
 * channels differ, see CCChanKind.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_chan_send_until(CCChan *chan, const void *item, size_t size,
                                            cc_time deadline);

/* Receives one element into `item`, waiting until `deadline` if the channel is empty.
 *
 * Returns 0, or
 *   EPIPE       the channel is closed and drained (or the error given to cc_chan_close_error)
 *   ETIMEDOUT   the deadline passed (EAGAIN if it was CC_NOW), or the deadline of a nursery
 *               around the caller passed
 *   ECANCELED   the call would have to wait, and a nursery around the caller was cancelled or the
 *               calling fiber's runtime is ending
 *   EDEADLK     the owner of a nursery waits for a channel that only sealing the nursery would
 *               close (cc_nursery_autoclose)
 *   EINVAL      `size` is not the channel's element size, or a pointer is NULL
 *   ENOMEM      no memory for the first wait of a thread
 *   ENOTSUP     in a child of fork (runtime.h)
 *   (other)     the error of `create` of an OWNED channel
 * After any error nothing was received.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_chan_recv_until(CCChan *chan, void *item, size_t size,
                                            cc_time deadline);

/* Sends one element: cc_chan_send_until without a deadline.
 *
 * Returns as cc_chan_send_until does.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_chan_send(CCChan *chan, const void *item, size_t size);

/* Receives one element: cc_chan_recv_until without a deadline.
 *
 * Returns as cc_chan_recv_until does.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_chan_recv(CCChan *chan, void *item, size_t size);

/* Sends one element if that is possible without waiting: cc_chan_send_until with CC_NOW.
 *
 * Returns as cc_chan_send_until does; EAGAIN also if an earlier call has not finished copying its
 * element.
 *
 * Any thread.  Never parks, except that a send to a closed ORDERED channel joins the task. */
static inline CC_MUST_CHECK int cc_chan_try_send(CCChan *chan, const void *item, size_t size)
{
	return cc_chan_send_until(chan, item, size, CC_NOW);
}

/* Receives one element if that is possible without waiting: cc_chan_recv_until with CC_NOW.
 *
 * Returns as cc_chan_recv_until does; EAGAIN also if an earlier call has not finished copying its
 * element.
 *
 * Any thread.  Never parks. */
static inline CC_MUST_CHECK int cc_chan_try_recv(CCChan *chan, void *item, size_t size)
{
	return cc_chan_recv_until(chan, item, size, CC_NOW);
}

/* Sends one element, waiting for at most `span` nanoseconds.
 *
 * Returns as cc_chan_send_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_chan_timed_send(CCChan *chan, const void *item, size_t size,
                                                   cc_time span)
{
	return cc_chan_send_until(chan, item, size, cc_after(span));
}

/* Receives one element, waiting for at most `span` nanoseconds.
 *
 * Returns as cc_chan_recv_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_chan_timed_recv(CCChan *chan, void *item, size_t size,
                                                   cc_time span)
{
	return cc_chan_recv_until(chan, item, size, cc_after(span));
}

/* Sends an array of `count` elements of `size` bytes each, waiting until all have been sent or
 * `deadline` passes.  *moved receives the number of elements that were sent.  The elements of one
 * call stay in order; elements of other senders may come between them.
 *
 * Returns 0 if at least one element was sent or `count` is 0, or
 *   EINVAL      `moved` is NULL, or the channel is OWNED or ORDERED
 *   (other)     the errors of cc_chan_send_until
 * After an error no element was sent.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_chan_send_many(CCChan *chan, const void *items, size_t size,
                                           size_t count, cc_time deadline, size_t *moved);

/* Receives up to `count` elements of `size` bytes each: waits until there is one or `deadline`
 * passes, then takes those that are there.  *moved receives the number of elements that were
 * received.
 *
 * Returns 0 if at least one element was received or `count` is 0, or
 *   EINVAL      `moved` is NULL, or the channel is OWNED or ORDERED
 *   (other)     the errors of cc_chan_recv_until
 * After an error no element was received.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_chan_recv_many(CCChan *chan, void *items, size_t size, size_t count,
                                           cc_time deadline, size_t *moved);

/* Starts `main(arg)` as a task and sends its handle through an ORDERED channel of CCTask.
 *
 * The task is a child of the innermost nursery around the caller: it is cancelled with that
 * nursery, the nursery waits for its end, and its error follows the nursery's policy.  Outside of
 * any nursery it is a task as by cc_task_spawn.  Either way the receiver joins the handle, which
 * stays valid after the end of the nursery.
 *
 * If the handle cannot be sent, for whatever reason, the call joins the task before it returns the
 * error, even after its deadline.  A cancellation of the caller does not end that wait, but it
 * reaches the task: it cancels the child, and the end of the caller's runtime cancels a task
 * outside of any nursery.
 *
 * Returns 0, or
 *   EINVAL      `chan` is NULL, not ORDERED, or has elements of another size; `main` is NULL; the
 *               options are invalid, or have a start time inside of a nursery
 *   ENOTSUP     in a child of fork (runtime.h)
 *   (other)     the errors of cc_nursery_spawn or cc_task_spawn, and of cc_chan_send_until
 * After an error no task runs.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_chan_spawn(CCChan *chan, const CCTaskOptions *options,
                                       cc_task_main *main, void *arg, cc_time deadline);

/* Starts `main(arg)` as a task and sends its handle with a payload, as cc_chan_spawn does.  `item`
 * points to an element of `size` bytes, whose first member is a CCTask that the call fills in.
 *
 *      struct block {
 *              CCTask task;
 *              char *data;
 *              size_t length;
 *      } b = {.data = data, .length = length};
 *
 *      err = cc_chan_spawn_item(blocks, &b, sizeof b, NULL, compress, data, CC_FOREVER);
 *
 * Returns as cc_chan_spawn does.  After an error no task runs, the handle in `item` is zeroed, and
 * the payload belongs to the caller.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_chan_spawn_item(CCChan *chan, void *item, size_t size,
                                            const CCTaskOptions *options, cc_task_main *main,
                                            void *arg, cc_time deadline);

/* Starts a task with a copy of the `captures_size` bytes at `captures`, and sends its handle with a
 * payload, as cc_chan_spawn_item does.  `main` receives the address of the copy, which is aligned
 * to CC_CAPTURES_ALIGN (nursery.h) and lives until the task ends.
 *
 * Returns as cc_chan_spawn does; EINVAL also if `captures` is NULL.  After an error no task runs,
 * the handle in `item` is zeroed, and the payload belongs to the caller.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_chan_spawn_copy(CCChan *chan, void *item, size_t size,
                                            const CCTaskOptions *options, cc_task_main *main,
                                            const void *captures, size_t captures_size,
                                            cc_time deadline);

/* ---- inspection ---- */

/* Returns the number of elements in the channel at this moment; other callers may change it at
 * any time.  0 for NULL.
 *
 * Any thread.  Never parks. */
CC_API size_t cc_chan_len(const CCChan *chan);

/* Returns the capacity of the channel; 0 for NULL.
 *
 * Any thread.  Never parks. */
CC_API size_t cc_chan_cap(const CCChan *chan);
/* Returns 1 if the channel is closed, even if elements are left to receive; else 0.
 *
 * Any thread.  Never parks. */
CC_API int cc_chan_closed(const CCChan *chan);

/* ---- one end only ---- */

/* The sending end of a channel, to be passed by value.  Code that has only this cannot receive. */
typedef struct CCChanTx {
	CCChan *chan;
} CCChanTx;

/* The receiving end of a channel, to be passed by value.  Code that has only this cannot send. */
typedef struct CCChanRx {
	CCChan *chan;
} CCChanRx;

/* Returns the sending end of `chan`.
 *
 * Any thread.  Never parks. */
static inline CCChanTx cc_chan_tx(CCChan *chan)
{
	CCChanTx tx;

	tx.chan = chan;
	return tx;
}

/* Returns the receiving end of `chan`.
 *
 * Any thread.  Never parks. */
static inline CCChanRx cc_chan_rx(CCChan *chan)
{
	CCChanRx rx;

	rx.chan = chan;
	return rx;
}

/* Sends one element as cc_chan_send does.
 *
 * Returns as cc_chan_send_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_tx_send(CCChanTx tx, const void *item, size_t size)
{
	return cc_chan_send(tx.chan, item, size);
}

/* Sends one element as cc_chan_send_until does.
 *
 * Returns as cc_chan_send_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_tx_send_until(CCChanTx tx, const void *item, size_t size,
                                                 cc_time deadline)
{
	return cc_chan_send_until(tx.chan, item, size, deadline);
}

/* Sends one element without waiting, as cc_chan_try_send does.
 *
 * Returns as cc_chan_try_send does.
 *
 * Any thread.  Never parks. */
static inline CC_MUST_CHECK int cc_tx_try_send(CCChanTx tx, const void *item, size_t size)
{
	return cc_chan_try_send(tx.chan, item, size);
}

/* Sends an array of elements as cc_chan_send_many does.
 *
 * Returns as cc_chan_send_many does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_tx_send_many(CCChanTx tx, const void *items, size_t size,
                                                size_t count, cc_time deadline, size_t *moved)
{
	return cc_chan_send_many(tx.chan, items, size, count, deadline, moved);
}

/* Closes the channel as cc_chan_close_error does.
 *
 * Returns as cc_chan_close does.
 *
 * Any thread.  Never parks. */
static inline int cc_tx_close(CCChanTx tx, int error)
{
	return cc_chan_close_error(tx.chan, error);
}

/* Receives one element as cc_chan_recv does.
 *
 * Returns as cc_chan_recv_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_rx_recv(CCChanRx rx, void *item, size_t size)
{
	return cc_chan_recv(rx.chan, item, size);
}

/* Receives one element as cc_chan_recv_until does.
 *
 * Returns as cc_chan_recv_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_rx_recv_until(CCChanRx rx, void *item, size_t size,
                                                 cc_time deadline)
{
	return cc_chan_recv_until(rx.chan, item, size, deadline);
}

/* Receives one element without waiting, as cc_chan_try_recv does.
 *
 * Returns as cc_chan_try_recv does.
 *
 * Any thread.  Never parks. */
static inline CC_MUST_CHECK int cc_rx_try_recv(CCChanRx rx, void *item, size_t size)
{
	return cc_chan_try_recv(rx.chan, item, size);
}

/* Receives several elements as cc_chan_recv_many does.
 *
 * Returns as cc_chan_recv_many does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_rx_recv_many(CCChanRx rx, void *items, size_t size, size_t count,
                                                cc_time deadline, size_t *moved)
{
	return cc_chan_recv_many(rx.chan, items, size, count, deadline, moved);
}

/* Closes the channel as cc_chan_close_recv does.
 *
 * Returns as cc_chan_close does.
 *
 * Any thread.  Never parks. */
static inline int cc_rx_close(CCChanRx rx, int error)
{
	return cc_chan_close_recv(rx.chan, error);
}

#ifdef __cplusplus
}
#endif
#endif
