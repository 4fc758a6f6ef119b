/* freed.c - the kind of a channel that has been freed: every call on it is reported.
 *
 * The head is type-stable (C4 in chan.h), so this is known until a new channel takes its place. */
#include "base/freed.h"

#include "chan/chan.h"

static int send_attempt(CCChan *c, void *item, int why)
{
	(void)item, (void)why;
	cc__freed("channel", c, c->name, "a send");
}

static int recv_attempt(CCChan *c, void *item, int why)
{
	(void)item, (void)why;
	cc__freed("channel", c, c->name, "a receive");
}

static int settle(CCChan *c, void *item, struct cc__wake *wake)
{
	(void)item, (void)wake;
	cc__freed("channel", c, c->name, "a send or a receive");
}

static size_t send_some(CCChan *c, void *items, size_t count)
{
	(void)items, (void)count;
	cc__freed("channel", c, c->name, "cc_chan_send_many");
}

static size_t recv_some(CCChan *c, void *items, size_t count)
{
	(void)items, (void)count;
	cc__freed("channel", c, c->name, "cc_chan_recv_many");
}

static bool closed(const CCChan *c)
{
	cc__freed("channel", c, c->name, "cc_chan_close or cc_chan_closed");
}

static size_t length(const CCChan *c)
{
	cc__freed("channel", c, c->name, "cc_chan_len");
}

static bool busy(CCChan *c)
{
	cc__freed("channel", c, c->name, "a second cc_chan_free");
}

static const struct cc__chan_kind freed_kind = {
    .way = {[CC__SEND] = {.attempt = send_attempt, .settle = settle, .some = send_some},
            [CC__RECV] = {.attempt = recv_attempt, .settle = settle, .some = recv_some}},
    .closed = closed,
    .length = length,
    .busy = busy,
};

void cc__chan_give_back(CCChan *c)
{
	struct cc__slab *heads = c->kind->heads;

	cc__lock(&c->lock, CC__RANK_WAITQ);
	c->alive = false;
	c->kind = &freed_kind;
	/* Relaxed, both: a use after the free, which is reported or not. */
	cc__store(&c->by_ring, SIZE_MAX, CC__RELAXED);
	cc__store(&c->by_lock, false, CC__RELAXED);
	c->capacity = 0;
	cc__unlock(&c->lock);
	cc__slab_put(heads, c);
}
