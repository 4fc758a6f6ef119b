/* locked.c - the channel whose operations are all made under its lock: rendezvous, few slots, sync;
 * and what the owned and the ordered kind share with it. */
#include "chan/locked.h"

#include <errno.h>

struct cc__slab cc__locked_heads = CC__SLAB_INIT(CCChan, link);

/* ---- several ---- */

/* As many as can be moved without waiting, in few holds of the lock. */
static size_t some(CCChan *c, enum cc__way way, char *items, size_t count)
{
	struct cc__batch batch;
	bool more = true;
	size_t n = 0;

	for (cc__batch_init(&batch); more && n < count;) {
		cc__lock(&c->lock, CC__RANK_WAITQ);
		while (more && n < count && !cc__batch_full(&batch)) {
			struct cc__wake wake = {0};

			more = cc__locked_settle(c, way, items + n * c->size, &wake) == 0;
			cc__batch_add(&batch, wake);
			n += more;
		}
		cc__unlock(&c->lock);
		cc__batch_flush(&batch);
	}
	return n;
}

size_t cc__locked_send_some(CCChan *c, void *items, size_t count)
{
	return some(c, CC__SEND, items, count);
}

size_t cc__locked_recv_some(CCChan *c, void *items, size_t count)
{
	return some(c, CC__RECV, items, count);
}

/* ---- drop the oldest ---- */

/* Without the lock, whole: never waits. */
static __attribute__((noinline)) int send_dropping(CCChan *c, void *element, int why)
{
	struct cc__scratch old;
	struct cc__wake wake = {0};
	const void *item = NULL;
	int outcome;

	(void)why;
	cc__lock(&c->lock, CC__RANK_WAITQ);
	if ((outcome = cc__locked_send(c, element, &wake)) == CC__NOT_NOW) {
		item = cc__locked_take(c);
		if (c->options.drop != NULL)
			cc__ring_copy(old.bytes, item, c->size);
		cc__locked_put(c, element);
		outcome = 0;
	}
	cc__unlock(&c->lock);
	cc__wake(wake);
	if (item != NULL)
		cc__chan_drop(c, old.bytes);
	return outcome;
}

/* ---- the channel ---- */

size_t cc__locked_slot(size_t size)
{
	return size;
}

void cc__locked_init(CCChan *c)
{
	c->first = c->count = c->made = c->out = 0;
	cc__init(&c->closed, 0);
}

void cc__locked_close(CCChan *c)
{
	cc__store(&c->closed, 1, CC__RELAXED);	/* Relaxed: the lock */
}

bool cc__locked_closed(const CCChan *c)
{
	/* Relaxed: a look.  Who is told that it is closed has it from the lock, or from
	 * the closer. */
	return cc__load(&c->closed, CC__RELAXED) != 0;
}

size_t cc__locked_length(const CCChan *c)
{
	struct cc__lock *lock = (struct cc__lock *)(uintptr_t)&c->lock;
	size_t n;

	cc__lock(lock, CC__RANK_WAITQ);
	n = c->count;
	cc__unlock(lock);
	return n;
}

static void empty(CCChan *c)
{
	void *item;

	while ((item = cc__locked_take(c)) != NULL)
		cc__chan_drop(c, item);
}

const struct cc__chan_kind cc__locked = {
    .way = {[CC__SEND] = {.settle = cc__locked_send, .some = cc__locked_send_some},
            [CC__RECV] = {.settle = cc__locked_recv, .some = cc__locked_recv_some}},
    .empty = empty,
    CC__LOCKED_COMMON,
};

const struct cc__chan_kind cc__locked_drop_old = {
    .way = {[CC__SEND] = {.attempt = send_dropping, .settle = cc__locked_send},
            [CC__RECV] = {.settle = cc__locked_recv, .some = cc__locked_recv_some}},
    .empty = empty,
    CC__LOCKED_COMMON,
};
