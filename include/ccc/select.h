/* select.h - wait for the first of several events: a send, a receive, the end of a task, a token,
 * a descriptor, a signal, a point in time.
 *
 *	CCCase cases[] = {
 *		cc_case_recv(requests, &request, sizeof request),
 *		cc_case_token(stop),
 *	};
 *	size_t which;
 *	int err = cc_select(cases, 2, CC_FOREVER, &which);
 *
 * Exactly one case takes place, or none.  A channel may appear in any number of cases, in both
 * directions: a select never exchanges an element with itself. */
#ifndef CCC_SELECT_H
#define CCC_SELECT_H

#include <ccc/chan.h>
#include <ccc/fd.h>
#include <ccc/token.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of cases. */
typedef enum CCCaseKind {
	CC_CASE_NEVER,		/* a case that is switched off */
	CC_CASE_RECV,
	CC_CASE_SEND,
	CC_CASE_TASK,		/* a task has ended; the case joins it */
	CC_CASE_TOKEN,		/* a token is set */
	CC_CASE_TIMEOUT,	/* a point in time has come */
	CC_CASE_DEFAULT,	/* there was a moment at which no other case could take place */
	CC_CASE_FD,		/* a descriptor can be read or written */
	CC_CASE_SIGNAL,		/* a signal is pending; the case takes it */
} CCCaseKind;

/* One case.  The cc_case_... functions fill it in; a select does not change it. */
typedef struct CCCase {
	CCCaseKind kind;
	union {
		CCChan *chan;
		CCToken *token;
		CCTask task;
		cc_time at;
		int fd;		/* FD, SIGNAL */
	} on;
	union {
		const void *from;	/* SEND: the element */
		void *into;		/* RECV: receives the element */
		int *result;		/* TASK: receives the task's result; SIGNAL: the signal's
					 * number; NULL: not wanted */
		unsigned *ready;	/* FD: receives which events hold; NULL: not wanted */
	} item;
	size_t size;	/* of the element in bytes; FD: the events */
} CCCase;

#define CC_SELECT_MAX 65535 /* largest number of cases in one select */

/* Waits until one of the cases can take place, at most until `deadline`, and carries it out.  If
 * several can, they take turns.  If `index` is not NULL, *index receives the index of the chosen
 * case, or `count` if none was chosen.
 *
 * If a case was chosen, the result is what the case's own call would return: 0, or the error of a
 * closed channel (the case of that channel is the chosen one).
 *
 * Returns the result of the chosen case, or, if no case was chosen,
 *   ETIMEDOUT   the deadline passed (EAGAIN if it was CC_NOW), or the deadline of a nursery
 *               around the caller passed
 *   ECANCELED   the call would have to wait, and a nursery around the caller was cancelled or the
 *               calling fiber's runtime is ending
 *   EINVAL      `cases` is NULL and `count` is not 0; `count` is above CC_SELECT_MAX; there is
 *               nothing to wait for and the deadline is CC_FOREVER; or an invalid case came before
 *               one that could take place (wrong element size, NULL, no such task, the caller's
 *               own task, unknown events)
 *   ENOMEM      no memory for the first wait of a thread
 *   ENOTSUP     in a child of fork (runtime.h)
 * Cases that were not chosen have changed nothing: the element still belongs to the caller, and
 * the handle of the task stays valid.
 *
 * "None" holds at one moment.  If the call returns EAGAIN, or chooses the default case or a
 * timeout that has passed, there was one moment during the call at which no channel was ready for
 * its cases, no token was set and no task had ended.  So if other threads ensure that at every
 * moment at least one case can take place, a select that does not wait finds one.  An element that
 * another call is still copying into the channel is not there yet, nor are the elements behind it
 * (see cc_chan_try_recv).
 *
 * Descriptors and signals are not part of that moment: the system is asked for each by itself, and
 * another caller may use up what was ready.
 *
 * A send case of a full channel is not chosen, with mode DROP_NEW as with BLOCK.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_select(const CCCase *cases, size_t count, cc_time deadline,
                                   size_t *index);

/* Waits as cc_select does, except that among several cases that can take place it chooses the
 * first one in the array.
 *
 * Returns as cc_select does.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_select_in_order(const CCCase *cases, size_t count, cc_time deadline,
                                            size_t *index);

/* ---- cases ----
 *
 * A case with a NULL channel is an error: use cc_case_never for a case that is switched off. */

/* Returns a case that never takes place.
 *
 * Any thread.  Never parks. */
static inline CCCase cc_case_never(void)
{
	CCCase c;

	c.kind = CC_CASE_NEVER;
	c.on.chan = 0;
	c.item.into = 0;
	c.size = 0;
	return c;
}

/* Returns a case that receives an element of `size` bytes into `item`, as cc_chan_recv does.
 *
 * Any thread.  Never parks. */
static inline CCCase cc_case_recv(CCChan *chan, void *item, size_t size)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_RECV;
	c.on.chan = chan;
	c.item.into = item;
	c.size = size;
	return c;
}

/* Returns a case that sends the element of `size` bytes at `item`, as cc_chan_send does.
 *
 * Any thread.  Never parks. */
static inline CCCase cc_case_send(CCChan *chan, const void *item, size_t size)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_SEND;
	c.on.chan = chan;
	c.item.from = item;
	c.size = size;
	return c;
}

/* Returns a case that receives through a receiving end.  A sending end does not compile.
 *
 * Any thread.  Never parks. */
static inline CCCase cc_case_rx(CCChanRx rx, void *item, size_t size)
{
	return cc_case_recv(rx.chan, item, size);
}

/* Returns a case that sends through a sending end.  A receiving end does not compile.
 *
 * Any thread.  Never parks. */
static inline CCCase cc_case_tx(CCChanTx tx, const void *item, size_t size)
{
	return cc_case_send(tx.chan, item, size);
}

/* Returns a case that takes place when `task` has ended.  If it is chosen, it consumes the handle
 * as cc_task_join does, and *result receives the task's result unless `result` is NULL.
 *
 * Any thread.  Never parks. */
static inline CCCase cc_case_task(CCTask task, int *result)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_TASK;
	c.on.task = task;
	c.item.result = result;
	return c;
}

/* Returns a case that takes place when `token` is set.
 *
 * Any thread.  Never parks. */
static inline CCCase cc_case_token(CCToken *token)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_TOKEN;
	c.on.token = token;
	return c;
}

/* Returns a case that takes place when one of `events` (CC_FD_READ, CC_FD_WRITE) holds for the
 * descriptor `fd`, as for cc_fd_ready.  If it is chosen, *ready receives the events that hold,
 * unless `ready` is NULL.  Nothing is read or written: set O_NONBLOCK, because another caller may be
 * quicker.  The case's result is that of cc_fd_ready: 0, or an error such as EBADF.  cc_fd_close
 * ends the case with EBADF, in fibers and in threads.
 *
 * Any thread.  Never parks. */
static inline CCCase cc_case_fd(int fd, unsigned events, unsigned *ready)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_FD;
	c.on.fd = fd;
	c.item.ready = ready;
	c.size = events;
	return c;
}

/* Returns a case that takes place when a signal of the set of `signals` is pending, a descriptor of
 * cc_signal_open.  If it is chosen, it takes the signal, as cc_signal_wait does, and *which receives
 * the signal's number unless `which` is NULL.
 *
 * Any thread.  Never parks. */
static inline CCCase cc_case_signal(int signals, int *which)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_SIGNAL;
	c.on.fd = signals;
	c.item.result = which;
	c.size = CC_FD_READ;
	return c;
}

/* Returns a case that takes place at the time `at` of cc_now(), or immediately if that has passed,
 * provided that no other case can take place.  Of two timeouts with the same time the first in the
 * array is chosen.  A timeout comes before an equal deadline of the call.
 *
 * Any thread.  Never parks. */
static inline CCCase cc_case_timeout(cc_time at)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_TIMEOUT;
	c.on.at = at;
	return c;
}

/* Returns a case that takes place if no other case can take place at once.  A select with it never
 * waits.
 *
 * Any thread.  Never parks. */
static inline CCCase cc_case_default(void)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_DEFAULT;
	return c;
}

#ifdef __cplusplus
}
#endif
#endif
