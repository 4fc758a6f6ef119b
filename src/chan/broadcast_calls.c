/* broadcast_calls.c - the calls of broadcast.h: make, subscribe, ask. */
#include <ccc/broadcast.h>

#include <errno.h>

#include "chan/broadcast.h"
#include "os/fork.h"

static CCChan *new_of(size_t size, size_t capacity, CCChanKind kind, uintptr_t place)
{
	const CCChanOptions o = {.kind = kind};
	CCChan *c = NULL;

	return cc__chan_create(&c, size, capacity, &o, place) == 0 ? c : NULL;
}

CCChan *cc_broadcast_new(size_t size, size_t capacity)
{
	return new_of(size, capacity, CC_CHAN_KIND_BROADCAST, CC__PLACE_HERE());
}

CCChan *cc_watch_new(size_t size)
{
	return new_of(size, 1, CC_CHAN_KIND_WATCH, CC__PLACE_HERE());
}

/* Of a channel that was freed: reports it. */
static bool is_of(const CCChan *c, const struct cc__chan_kind *kind)
{
	if (c == NULL)
		return false;
	c->kind->closed(c);
	return c->kind == kind;
}

static void attach(struct cc__broadcast_chan *b, struct cc__subscription *s)
{
	cc__log_lock(b);
	s->chan.source = &b->chan;
	s->next = b->latest ? b->head : b->tail;
	s->end = CC__LOG_NO_END;
	s->lost = 0;
	b->subscriptions++;
	b->receivers++;
	cc__log_unlock(b);
}

int cc_chan_subscribe(CCChan *c, CCChanRx *out)
{
	CCChanOptions o = {.kind = CC_CHAN_KIND_PLAIN};
	CCChan *s;

	if (cc__forked())
		return ENOTSUP;
	if (out == NULL || !is_of(c, &cc__broadcast))
		return EINVAL;
	o.kind = c->options.kind;
	o.name = c->name;
	if ((s = cc__chan_make(&cc__subscribed, c->size, c->capacity, &o, CC__PLACE_HERE())) == NULL)
		return ENOMEM;
	attach(cc__broadcast_of(c), cc__subscription_of(s));
	out->chan = s;
	return 0;
}

uint64_t cc_chan_lost(CCChanRx rx)
{
	struct cc__broadcast_chan *b;
	struct cc__subscription *s;
	uint64_t lost;

	if (cc__forked() || !is_of(rx.chan, &cc__subscribed))
		return 0;
	s = cc__subscription_of(rx.chan);
	b = cc__broadcast_of(rx.chan->source);
	cc__log_lock(b);
	cc__log_note_lost(b, s);
	lost = s->lost;
	s->lost = 0;
	cc__log_unlock(b);
	return lost;
}

int cc_watch_get(CCChan *c, void *item, size_t size)
{
	struct cc__broadcast_chan *b;
	bool some;

	if (cc__forked())
		return ENOTSUP;
	if (is_of(c, &cc__subscribed))
		c = c->source;
	if (!is_of(c, &cc__broadcast) || !cc__broadcast_of(c)->latest || size != c->size ||
	    (item == NULL && size > 0))
		return EINVAL;
	b = cc__broadcast_of(c);
	cc__log_lock(b);
	some = b->tail > 0;
	if (some)
		cc__ring_copy(item, cc__log_slot(b, b->tail - 1) + CC__LOG_SLOT_HEAD, size);
	cc__log_unlock(b);
	return some ? 0 : EAGAIN;
}
