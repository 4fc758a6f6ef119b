/* select.h - wait for the first of several: to send, to receive, for the end of a task,
 * for a token, for a point in time.
 *
 *	CCCase cases[] = {
 *		cc_case_recv(requests, &request, sizeof request),
 *		cc_case_token(stop),
 *	};
 *	size_t which;
 *	int err = cc_select(cases, 2, CC_FOREVER, &which);
 *
 * Exactly one case takes place, or none.  A channel may appear in any number of
 * cases, in both directions: a select never meets itself. */
#ifndef CCC_SELECT_H
#define CCC_SELECT_H

#include <ccc/chan.h>
#include <ccc/token.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CCCaseKind {
	CC_CASE_NEVER,	/* a case that is switched off */
	CC_CASE_RECV,
	CC_CASE_SEND,
	CC_CASE_TASK,		/* a task has ended: joins it */
	CC_CASE_TOKEN,		/* a token is set */
	CC_CASE_TIMEOUT,	/* a time has come */
	CC_CASE_DEFAULT,	/* at one moment no other case could take place */
} CCCaseKind;

/* Filled by the functions below; a select changes nothing in it. */
typedef struct CCCase {
	CCCaseKind kind;
	union {
		CCChan *chan;
		CCToken *token;
		CCTask task;
		cc_time at;
	} on;
	union {
		const void *from;	/* SEND: the element */
		void *into;		/* RECV: where to */
		int *result;		/* TASK: where its result goes; NULL: nowhere */
	} item;
	size_t size;	/* of the element */
} CCCase;

#define CC_SELECT_MAX 65535 /* cases */

/* Wait until one of the cases can take place, at most until `deadline`, and let it.  Among
 * several that can, each has its turn; cc_select_in_order takes the first in the
 * array.  *index (may be NULL) is its place.
 *
 * Returns what that case's own call would have returned: 0, or EPIPE or the closer's error
 * of a closed channel (the case that met it is the chosen one).  If none was chosen,
 * *index is `count`: ETIMEDOUT; EAGAIN for CC_NOW; ECANCELED; ENOMEM, ENOTSUP as there;
 * EINVAL: no cases though count is not 0, more than CC_SELECT_MAX, nothing to wait for and
 * CC_FOREVER, or a case that makes no sense (a size that is not the channel's, NULL, a
 * task that is not there or the caller) was met before one that could take place.
 *
 * The answer "none" is never put together from several moments: if the call returns EAGAIN, or
 * chooses the default or a timeout that has passed, there was a moment during the call at
 * which no channel had anything for its cases, no token was set and no task had ended.  So
 * if other threads see to it that one case can take place at every moment, a select that
 * does not wait finds one.  (As for cc_chan_try_recv, an element that another call is
 * about to put into the channel is not there yet, nor is the one behind it.)
 *
 * A send case without room is not chosen, with mode DROP_NEW as with BLOCK.  Whatever was
 * not chosen is as before: the element is the caller's, the task's handle good.  Any
 * thread; may park; a cancel point. */
CC_API CC_MUST_CHECK int cc_select(const CCCase *cases, size_t count, cc_time deadline,
                                   size_t *index);
CC_API CC_MUST_CHECK int cc_select_in_order(const CCCase *cases, size_t count, cc_time deadline,
                                            size_t *index);

/* A channel of NULL is refused; a case that is not wanted this time is CC_CASE_NEVER. */

static inline CCCase cc_case_never(void)
{
	CCCase c;

	c.kind = CC_CASE_NEVER;
	c.on.chan = 0;
	c.item.into = 0;
	c.size = 0;
	return c;
}

static inline CCCase cc_case_recv(CCChan *chan, void *item, size_t size)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_RECV;
	c.on.chan = chan;
	c.item.into = item;
	c.size = size;
	return c;
}

static inline CCCase cc_case_send(CCChan *chan, const void *item, size_t size)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_SEND;
	c.on.chan = chan;
	c.item.from = item;
	c.size = size;
	return c;
}

/* The same for who has one end only: the other one does not compile. */
static inline CCCase cc_case_rx(CCChanRx rx, void *item, size_t size)
{
	return cc_case_recv(rx.chan, item, size);
}

static inline CCCase cc_case_tx(CCChanTx tx, const void *item, size_t size)
{
	return cc_case_send(tx.chan, item, size);
}

/* Consumes the handle, as cc_task_join does. */
static inline CCCase cc_case_task(CCTask task, int *result)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_TASK;
	c.on.task = task;
	c.item.result = result;
	return c;
}

static inline CCCase cc_case_token(CCToken *token)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_TOKEN;
	c.on.token = token;
	return c;
}

/* At that point of cc_now(), or at once if it has passed, if no other case can take
 * place.  Of two at the same time the first in the array; before a deadline that is the same. */
static inline CCCase cc_case_timeout(cc_time at)
{
	CCCase c = cc_case_never();

	c.kind = CC_CASE_TIMEOUT;
	c.on.at = at;
	return c;
}

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
