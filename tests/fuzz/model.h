/* model.h - channels and those who wait for them as one actor sees them, for chan_fuzz.c.
 *
 * Everything happens one after another, and after each step all who can go on have gone
 * on: so the outcome of every call is known, and who is woken by it.
 *
 * Who waits is listed in the order of arrival on every channel that one of its cases names;
 * the first that a partner finds is served, and is then on no list. */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include <ccc/ccc.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { CHANS = 4, CAPACITY_MAX = 12, HELPERS = 4, CASES = 3, NONE = -1 };

struct model_chan {
	bool there;
	CCChanKind kind;
	CCChanMode mode;
	size_t capacity;
	uint32_t item[CAPACITY_MAX];	/* oldest first */
	size_t length;
	bool closed;
	int error[2];		/* of sends, of receives */
	unsigned dropped;	/* calls of the drop callback, by now */
	/* OWNED: items that exist, and how many of them are out. */
	unsigned made, out, created, destroyed;
};

struct model_case {
	int chan;
	bool sends;
	uint32_t value;	/* to send */
};

/* Somebody who may wait. */
struct model_helper {
	bool busy, waits;
	struct model_case cases[CASES];
	int count;
	uint64_t since;	/* its place among those who wait */
	/* How it ended. */
	int which, result;
	uint32_t value;	/* received */
};

struct model {
	struct model_chan chan[CHANS];
	struct model_helper helper[HELPERS];
	uint64_t now;
};

/* The first who waits there in that direction; *which is its case.  NULL: nobody. */
static inline struct model_helper *model_waiter(struct model *m, int chan, bool sends, int *which)
{
	struct model_helper *first = NULL;

	for (int i = 0; i < HELPERS; i++) {
		struct model_helper *h = &m->helper[i];

		for (int k = 0; h->waits && k < h->count; k++)
			if (h->cases[k].chan == chan && h->cases[k].sends == sends &&
			    (first == NULL || h->since < first->since)) {
				first = h;
				*which = k;
			}
	}
	return first;
}

static inline void model_serve(struct model_helper *h, int which, int result, uint32_t value)
{
	h->waits = false;
	h->which = which;
	h->result = result;
	h->value = value;
}

static inline uint32_t model_pop(struct model_chan *c)
{
	const uint32_t value = c->item[0];

	memmove(c->item, c->item + 1, --c->length * sizeof *c->item);
	return value;
}

/* ---- one operation; EAGAIN: not now ---- */

static inline int model_send(struct model *m, int chan, uint32_t value)
{
	struct model_chan *c = &m->chan[chan];
	struct model_helper *h;
	int which = 0;

	if (c->kind == CC_CHAN_KIND_OWNED && c->out == 0)
		return EINVAL;
	if (c->kind == CC_CHAN_KIND_OWNED) {
		c->out--;
		c->made -= c->closed;
		c->destroyed += c->closed;
	}
	if (c->closed)
		return c->error[0];
	if ((h = model_waiter(m, chan, false, &which)) != NULL) {
		model_serve(h, which, 0, value);
		c->out += c->kind == CC_CHAN_KIND_OWNED;
		return 0;
	}
	if (c->length == c->capacity && c->mode == CC_CHAN_MODE_DROP_OLD) {
		model_pop(c);
		c->dropped++;
	}
	if (c->length == c->capacity)
		return EAGAIN;
	c->item[c->length++] = value;
	return 0;
}

/* A new item of a pool is numbered from there on. */
enum { MADE = 1 << 20 };

static inline int model_recv(struct model *m, int chan, uint32_t *value)
{
	struct model_chan *c = &m->chan[chan];
	struct model_helper *h = NULL;
	int which = 0;

	if (!c->closed && c->kind != CC_CHAN_KIND_OWNED)
		h = model_waiter(m, chan, true, &which);
	if (c->length > 0) {
		*value = model_pop(c);
		if (h != NULL)
			c->item[c->length++] = h->cases[which].value;
	} else if (h != NULL) {
		*value = h->cases[which].value;
	} else if (c->closed) {
		return c->error[1];
	} else if (c->kind == CC_CHAN_KIND_OWNED && c->made < c->capacity) {
		c->made++;
		*value = MADE + c->created++;
	} else {
		return EAGAIN;
	}
	c->out += c->kind == CC_CHAN_KIND_OWNED;
	if (h != NULL)
		model_serve(h, which, 0, 0);
	return 0;
}

static inline int model_do(struct model *m, const struct model_case *c, uint32_t *value)
{
	return c->sends ? model_send(m, c->chan, c->value) : model_recv(m, c->chan, value);
}

/* ---- the others ---- */

static inline void model_close(struct model *m, int chan, int send_error, int recv_error)
{
	struct model_chan *c = &m->chan[chan];
	struct model_helper *h;
	int which = 0;

	if (c->closed)
		return;
	c->closed = true;
	c->error[0] = send_error;
	c->error[1] = recv_error;
	for (int sends = 1; sends >= 0; sends--)
		while ((h = model_waiter(m, chan, sends != 0, &which)) != NULL)
			model_serve(h, which, c->error[!sends], 0);
}

static inline int model_waiters(struct model *m, int chan)
{
	int n = 0;

	for (int i = 0; i < HELPERS; i++)
		for (int k = 0; m->helper[i].waits && k < m->helper[i].count; k++)
			if (m->helper[i].cases[k].chan == chan) {
				n++;
				break;
			}
	return n;
}

static inline bool model_is_waited_for(struct model *m, int chan)
{
	int which = 0;

	return model_waiter(m, chan, true, &which) != NULL ||
	       model_waiter(m, chan, false, &which) != NULL;
}

/* The first case that is possible, done; or it waits. */
static inline void model_start(struct model *m, struct model_helper *h, bool alone)
{
	h->busy = true;
	h->waits = false;
	h->value = 0;
	for (h->which = 0; h->which < h->count; h->which++) {
		h->result = model_do(m, &h->cases[h->which], &h->value);
		/* A send alone in mode DROP_NEW does not wait. */
		if (h->result != EAGAIN ||
		    (alone && h->cases[0].sends &&
		     m->chan[h->cases[0].chan].mode == CC_CHAN_MODE_DROP_NEW))
			return;
	}
	h->waits = true;
	h->since = m->now++;
}

#endif
