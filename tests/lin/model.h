/* model.h - a channel as one actor would see it: what may happen next.
 *
 * M1  A send is accepted if the channel is open and has room, and refused with the
 *     closer's error if it is closed.
 * M2  A receive gets the oldest element, closed or not; if there is none and the channel
 *     is closed, the closer's error.
 * M3  EAGAIN and ETIMEDOUT change nothing, and are right when the operation could neither
 *     be done nor refused.
 * M4  At capacity 0 a send and a receive that overlap are one operation (LIN_MEET).
 *     Whether somebody waits there nobody else can see, so M3 asks only that
 *     the channel be open.
 * M5  A ring (`ring`) fills and empties its places one after another, and what one
 *     sender or receiver has begun and not ended holds up those behind it: a receive may
 *     find nothing while the send of the oldest element still runs, a send no
 *     room while the receive that takes its place's last element still runs. */
#ifndef TEST_LIN_MODEL_H
#define TEST_LIN_MODEL_H

#include "lin/history.h"

enum { LIN_CAPACITY_MAX = 16, LIN_NOBODY = 0xffff };

struct lin_channel {
	unsigned capacity;	/* up to LIN_CAPACITY_MAX */
	bool ring;		/* M5 */
};

/* Numbers in it are places in the history. */
struct lin_state {
	uint16_t sent[LIN_CAPACITY_MAX];	/* the last sends, oldest first */
	uint16_t closer;			/* LIN_NOBODY: open */
	uint8_t sends;				/* in sent, up to the capacity */
	uint8_t length;				/* of those, not received */
};

/* A history and how to read it. */
struct lin_view {
	struct lin_channel is;
	const struct lin_op *op;
	const uint16_t *taker;	/* of each accepted send: who took its element; LIN_NOBODY */
};

static inline void lin_start(struct lin_state *s)
{
	memset(s, 0, sizeof *s);
	s->closer = LIN_NOBODY;
}

static inline bool lin_overlap(const struct lin_op *a, const struct lin_op *b)
{
	return a->begin <= b->end && b->begin <= a->end;
}

static inline bool lin_closed(const struct lin_state *s)
{
	return s->closer != LIN_NOBODY;
}

static inline unsigned lin_head(const struct lin_state *s)
{
	return s->sent[s->sends - s->length];
}

static inline bool lin_is_late(int result)
{
	return result == EAGAIN || result == ETIMEDOUT;
}

static inline bool lin_no_room(const struct lin_view *v, const struct lin_state *s,
                               const struct lin_op *op)
{
	unsigned taker;

	if (s->length == v->is.capacity)
		return true;
	if (!v->is.ring || s->sends < v->is.capacity)
		return false;
	taker = v->taker[s->sent[0]];	/* M5: the next send comes to its place */
	return taker != LIN_NOBODY && lin_overlap(&v->op[taker], op);
}

static inline bool lin_nothing(const struct lin_view *v, const struct lin_state *s,
                               const struct lin_op *op)
{
	if (s->length == 0)
		return !lin_closed(s);
	return v->is.ring && lin_overlap(&v->op[lin_head(s)], op);	/* M5 */
}

/* a came before b, for sure. */
static inline bool lin_precedes(const struct lin_op *a, const struct lin_op *b)
{
	return a->end < b->begin || (a->actor == b->actor && a->place < b->place);
}

/* M2, seen early: the element of send i was taken before one that is in there now. */
static inline bool lin_overtakes(const struct lin_view *v, const struct lin_state *s, unsigned i)
{
	const unsigned mine = v->taker[i];

	for (unsigned n = s->sends - s->length; n < s->sends && mine != LIN_NOBODY; n++) {
		const unsigned other = v->taker[s->sent[n]];

		if (other != LIN_NOBODY && lin_precedes(&v->op[mine], &v->op[other]))
			return true;
	}
	return false;
}

static inline void lin_push(const struct lin_view *v, struct lin_state *s, unsigned i)
{
	if (s->sends == v->is.capacity) {
		memmove(s->sent, s->sent + 1, sizeof *s->sent * (LIN_CAPACITY_MAX - 1));
		s->sends--;
	}
	s->sent[s->sends++] = (uint16_t)i;
	s->length++;
}

static inline bool lin_send(const struct lin_view *v, struct lin_state *s, unsigned i)
{
	const struct lin_op *op = &v->op[i];

	if (lin_closed(s))
		return op->result == v->op[s->closer].send_error;
	if (lin_is_late(op->result))
		return v->is.capacity == 0 || lin_no_room(v, s, op);
	if (op->result != 0 || s->length == v->is.capacity || lin_overtakes(v, s, i))
		return false;
	lin_push(v, s, i);
	return true;
}

static inline bool lin_recv(const struct lin_view *v, struct lin_state *s, unsigned i)
{
	const struct lin_op *op = &v->op[i];

	if (lin_is_late(op->result))
		return lin_nothing(v, s, op);
	if (op->result != 0)
		return lin_closed(s) && s->length == 0 && op->result == v->op[s->closer].recv_error;
	if (s->length == 0 || v->op[lin_head(s)].value != op->value)
		return false;
	s->length--;
	return true;
}

/* Operation i is next.  False: it cannot be, and *s is as before. */
static inline bool lin_step(const struct lin_view *v, struct lin_state *s, unsigned i)
{
	switch (v->op[i].what) {
	case LIN_SEND:
		return lin_send(v, s, i);
	case LIN_RECV:
	case LIN_DROP:
		return lin_recv(v, s, i);
	case LIN_CLOSE:
		if (!lin_closed(s))
			s->closer = (uint16_t)i;
		return true;
	case LIN_LOOK:
		return (v->op[i].result != 0) == lin_closed(s);
	case LIN_MEET:
		return !lin_closed(s);
	}
	return false;
}

#endif
