/* history.h - what was done to a channel, and when: the input of check.h.
 *
 * Everybody who uses a channel has a log of his own.  An operation is noted with the
 * time before and the time after it; nothing else is shared, so recording puts no
 * order between operations of different actors, as a lock or a counter would.
 *
 *	op.begin = lin_begin();
 *	op.result = cc_chan_try_send(c, &op.value, sizeof op.value);
 *	op.end = lin_end();
 *	lin_add(log, &op);
 *
 * H1  An operation took effect between its begin and its end.  The clock is the same on
 *     all processors, and the fences keep what the operation does between the two
 *     stamps: a store that waits in a store buffer is out before `end` is read, a load
 *     is not made before `begin` was read.
 * H2  Values are sent once.
 * H3  A history is whole: whoever used the channel has returned, and what was left
 *     in it was received at the end, or is noted as dropped. */
#ifndef TEST_LIN_HISTORY_H
#define TEST_LIN_HISTORY_H

#include <ccc/ccc.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "os/atomic.h"
#include "test.h"

enum lin_what {
	LIN_SEND,
	LIN_RECV,
	LIN_DROP,	/* a send in mode DROP_OLD took it out */
	LIN_CLOSE,
	LIN_LOOK,	/* is it closed: the answer is the result */
	LIN_MEET,	/* check.h's: a send and a receive of a rendezvous, as one */
};

/* Of a select: the case that it took; if it took none, each case as an operation that
 * could not be done.  Of a batch: its elements, each behind the one before. */
struct lin_op {
	enum lin_what what;
	unsigned chan;			/* which one, of several in a log */
	unsigned actor;			/* whose it is; for people */
	uint32_t value;			/* SEND, RECV, DROP: the element */
	int result;			/* 0 or an error number */
	bool behind;			/* not before the operation noted before it: one batch */
	unsigned place;			/* lin_add's: in its log */
	int send_error, recv_error;	/* CLOSE: what others get from then on */
	cc_time begin, end;
};

/* One actor's until it has ended. */
struct lin_log {
	struct lin_op *op;
	unsigned count, room;
};

static inline cc_time lin_begin(void)
{
	const cc_time now = cc_now();

	cc__fence(CC__SEQ_CST);	/* H1 */
	return now;
}

static inline cc_time lin_end(void)
{
	cc__fence(CC__SEQ_CST);	/* H1 */
	return cc_now();
}

static inline void lin_add(struct lin_log *l, const struct lin_op *op)
{
	if (l->count == l->room) {
		l->room = l->room > 0 ? 2 * l->room : 64;
		l->op = realloc(l->op, l->room * sizeof *l->op);
		if (!CHECK(l->op != NULL))
			abort();
	}
	l->op[l->count] = *op;
	l->op[l->count].place = l->count;
	l->count++;
}

static inline void lin_free(struct lin_log *l)
{
	free(l->op);
	memset(l, 0, sizeof *l);
}

/* What `from` has of one channel, behind what is in `to`. */
static inline void lin_append(struct lin_log *to, const struct lin_log *from, unsigned chan)
{
	for (unsigned i = 0; i < from->count; i++)
		if (from->op[i].chan == chan)
			lin_add(to, &from->op[i]);	/* places keep their order */
}

#endif
