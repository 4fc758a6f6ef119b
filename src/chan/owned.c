/* owned.c - a pool of items that the channel makes itself.
 *
 * O1  `made` counts the items that exist, including those that are being made; `out` counts the
 *     items that receivers have.  The others are in the channel, or being returned.
 * O2  Callbacks are called without the lock, on a copy of the item. */
#include <errno.h>

#include "chan/locked.h"
#include "chan/ring.h"

static int recv_settle(CCChan *c, void *item, struct cc__wake *wake)
{
	int outcome = cc__locked_recv(c, item, wake);

	if (outcome == CC__NOT_NOW && c->made < c->capacity) {
		c->made++;
		outcome = CC__CREATE;
	}
	c->out += outcome == 0 || outcome == CC__CREATE;
	return outcome;
}

/* It could not be made: whoever waits may try. */
static void unmake(CCChan *c)
{
	struct cc__wake wake;

	cc__lock(&c->lock, CC__RANK_WAITQ);
	c->made--;
	c->out--;
	wake = cc__chan_signal(c, CC__RECV);
	cc__unlock(&c->lock);
	cc__wake(wake);
}

static int finish_recv(CCChan *c, void *item, int result)
{
	if (result != CC__CREATE)
		return result;
	if ((result = c->options.create(c->options.context, item)) != 0)
		unmake(c);
	return result;
}

static void destroy(CCChan *c, void *item)
{
	if (c->options.destroy != NULL)
		c->options.destroy(c->options.context, item);
}

/* One that is out is on its way back.  False: none is. */
static bool begin_return(CCChan *c)
{
	bool was_out;

	cc__lock(&c->lock, CC__RANK_WAITQ);
	if ((was_out = c->out > 0))
		c->out--;
	cc__unlock(&c->lock);
	return was_out;
}

/* Into the channel, or to who waits for it.  False: it is closed. */
static bool end_return(CCChan *c, void *item)
{
	struct cc__wake wake = {0};
	bool closed;

	cc__lock(&c->lock, CC__RANK_WAITQ);
	closed = cc__locked_send(c, item, &wake) == CC__CLOSED;
	if (closed)
		c->made--;
	c->out += wake.who != NULL;	/* handed over */
	cc__unlock(&c->lock);
	cc__wake(wake);
	return !closed;
}

static __attribute__((noinline)) int send_attempt(CCChan *c, void *item, int why)
{
	struct cc__scratch copy;

	(void)why;
	if (!begin_return(c))
		return EINVAL;
	cc__ring_copy(copy.bytes, item, c->size);
	if (c->options.reset != NULL)
		c->options.reset(c->options.context, copy.bytes);
	if (end_return(c, copy.bytes))
		return 0;
	destroy(c, copy.bytes);
	return CC__CLOSED;
}

/* Not all are in it (O1). */
static bool busy(CCChan *c)
{
	return c->made != c->count;
}

static void empty(CCChan *c)
{
	void *item;

	while ((item = cc__locked_take(c)) != NULL)
		destroy(c, item);
}

const struct cc__chan_kind cc__owned = {
    .way = {[CC__SEND] = {.attempt = send_attempt, .settle = cc__locked_send},
            [CC__RECV] = {.settle = recv_settle, .finish = finish_recv}},
    .busy = busy,
    .empty = empty,
    CC__LOCKED_COMMON,
};
