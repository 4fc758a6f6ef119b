/* ring.h - the buffer of a channel: many senders, many receivers, no lock.
 *
 * tail and head are positions, index and lap in one word, with marks below:
 *
 *      63             bits+2 bits+1      2    1        0
 *     | lap                 | index      | WAITING | CLOSED |
 *
 * and every slot has a stamp: the lap that may write it, or with FULL the lap whose
 * element it holds.  So a ring has exactly as many slots as its capacity says,
 * one included.
 *
 *      to send at position p                  to receive at position p
 *      stamp is p's lap          (free)       stamp is p's lap, FULL
 *      tail: p -> p + 1          (reserved)   head: p -> p + 1
 *      copy; stamp FULL  (1)     (published)  copy; stamp the next lap  (1)
 *
 * R1  A slot is reserved while the channel is open: CLOSED is in the word that the
 *     exchange changes.  After it no reservation succeeds.
 * R2  The stream has ended when tail has CLOSED and head is the same position.  While
 *     they differ something is there, or reserved and on its way.
 * R3  WAITING is in the word that the other side changes: in tail for receivers
 *     that wait, in head for senders.  It is raised and lowered under the channel's
 *     lock; who lists himself raises it, then looks (cc__ring_..._look):
 *
 *      who moves tail (or head)               who is about to sleep, with the lock
 *      exchange tail                          raise WAITING in tail  (3)
 *      stamp  (1), light fence                look at the slot of head
 *      WAITING in tail?  (2)                  reserved, not published: heavy fence,
 *      wake one under the lock                  and look again
 *
 *     An exchange after (3) finds WAITING.  One before it has reserved what the look at
 *     (3) sees: nothing is on its way, or its owner comes to (2) after the heavy fence,
 *     or has published before it.  So the hot side has one locked instruction.
 * R4  Positions only grow, and a thread that reads one with acquire (cc__ring_..._peek) sees every
 *     operation that happened before the ones that moved it.  So if a reader finds the positions
 *     of several rings unchanged in a second pass, all of them had these values at one moment,
 *     the end of the first pass. */
#ifndef CC__CHAN_RING_H
#define CC__CHAN_RING_H

#include <string.h>

#include "os/assert.h"
#include "os/atomic.h"
#include "base/lock.h"
#include "base/point.h"

enum { CC__RING_CLOSED = 1, CC__RING_WAITING = 2, CC__RING_FULL = 1, CC__RING_SHIFT = 2 };
#define CC__RING_MARKS ((uint64_t)(CC__RING_CLOSED | CC__RING_WAITING))

/* Copied by every operation, into registers. */
struct cc__ring_shape {
	char *slots;	/* each a stamp and an element */
	size_t stride;	/* bytes of a slot */
	uint64_t lap;	/* one lap, as a difference of positions */
	uint64_t capacity;
};

struct cc__ring {
	struct cc__ring_shape shape;	/* constant */
	char apart_1[64];
	cc__a64 tail;	/* senders move it; CLOSED, and WAITING of receivers */
	char apart_2[64];
	cc__a64 head;	/* receivers move it; WAITING of senders */
	char apart_3[64];
};

/* What became of an attempt, or would. */
enum cc__ring_answer {
	CC__RING_OK,
	CC__RING_NOT_NOW,	/* no room; nothing there */
	CC__RING_ENDED,		/* closed, and for a receive R2 */
};

static inline size_t cc__ring_stride(size_t size)
{
	return sizeof(cc__a64) + ((size + 7) & ~(size_t)7);
}

/* `slots` is zero: capacity times stride bytes. */
void cc__ring_init(struct cc__ring *r, void *slots, size_t size, size_t capacity);

/* About so many elements. */
size_t cc__ring_length(const struct cc__ring *r);

/* True to the one who closes it. */
bool cc__ring_close(struct cc__ring *r);
bool cc__ring_closed(const struct cc__ring *r);

/* Under the channel's lock: raise WAITING for that side, and then say what an attempt
 * would find: NOT_NOW means that whoever changes it will see WAITING (R3). */
enum cc__ring_answer cc__ring_recv_look(struct cc__ring *r);
enum cc__ring_answer cc__ring_send_look(struct cc__ring *r);

/* Without the lock and without a mark: whether a receive or a send would find something to do, or
 * the end.  Adds to *sum a number that is never 0 and that grows whenever the ring changes (R4). */
bool cc__ring_recv_peek(const struct cc__ring *r, uint64_t *sum);
bool cc__ring_send_peek(const struct cc__ring *r, uint64_t *sum);

/* Under the lock, when nobody is listed. */
static inline void cc__ring_lower(cc__a64 *position)
{
	/* Relaxed: under the lock; an exchange that still sees it only costs a lock. */
	cc__and(position, ~(uint64_t)CC__RING_WAITING, CC__RELAXED);
}

/* ---- the hot path ---- */

/* The sizes that most have without a call, the most frequent first. */
static inline void cc__ring_copy(void *to, const void *from, size_t size)
{
	if (size == 8)
		memcpy(to, from, 8);
	else if (size == 4)
		memcpy(to, from, 4);
	else if (size == 16)
		memcpy(to, from, 16);
	else if (size != 0)
		memcpy(to, from, size);
}

static inline uint64_t cc__ring_at(uint64_t word)
{
	return word & ~CC__RING_MARKS;
}

static inline uint64_t cc__ring_lap(const struct cc__ring_shape *s, uint64_t at)
{
	return at & ~(s->lap - 1);
}

static inline uint64_t cc__ring_next(const struct cc__ring_shape *s, uint64_t at)
{
	const uint64_t index = (at & (s->lap - 1)) >> CC__RING_SHIFT;

	return index + 1 < s->capacity ? at + (1 << CC__RING_SHIFT) : cc__ring_lap(s, at) + s->lap;
}

static inline cc__a64 *cc__ring_stamp(const struct cc__ring_shape *s, uint64_t at)
{
	const uint64_t index = (at & (s->lap - 1)) >> CC__RING_SHIFT;

	return (cc__a64 *)(void *)(s->slots + index * s->stride);
}

static inline void *cc__ring_element(cc__a64 *stamp)
{
	return stamp + 1;
}

/* How many of the `count` slots from `at` on have the stamp that an operation wants:
 * `mark` is 0 for a send, FULL for a receive.  If none has: *late if the position is old. */
static inline size_t cc__ring_usable(const struct cc__ring_shape *s, uint64_t at, size_t count,
                                     uint64_t mark, uint64_t *end, bool *late)
{
	size_t n = 0;

	*late = false;
	for (; n < count; n++) {
		/* Acquire: the element, or that its place is free, from (1). */
		const uint64_t stamp = cc__load(cc__ring_stamp(s, at), CC__ACQUIRE);
		const uint64_t wanted = cc__ring_lap(s, at) | mark;

		if (stamp != wanted) {
			/* mutant: > -> >= survives: they differ. */
			*late = stamp > wanted;
			break;
		}
		at = cc__ring_next(s, at);
	}
	*end = at;
	return n;
}

/* Up to `count` elements of `size` bytes at `from` into the ring; *sent says how many, at least
 * one if OK.  (The size is constant; who knows it from its caller copies without a question.) */
static inline enum cc__ring_answer cc__ring_send(struct cc__ring *r, const void *from, size_t size,
                                                 size_t count, size_t *sent)
{
	const struct cc__ring_shape s = r->shape;
	uint64_t at, end,
	    tail = cc__load(&r->tail, CC__RELAXED); /* Relaxed: the exchange decides */
	size_t n;
	bool late;

	*sent = 0;
	for (;;) {
		if (tail & CC__RING_CLOSED)
			return CC__RING_ENDED;
		at = cc__ring_at(tail);
		n = cc__ring_usable(&s, at, count, 0, &end, &late);
		CC_POINT("ring.before_exchange", r);
		/* Release: all that the caller did before, to the acquire in cc__ring_..._peek (R4).
		 * The slots' stamps carry what is moved. */
		if (n > 0 && cc__cas_weak(&r->tail, &tail, end | (tail & CC__RING_MARKS),
		                          CC__RELEASE, CC__RELAXED))
			break;
		if (n == 0 && !late)
			return CC__RING_NOT_NOW;
		if (n == 0)
			tail = cc__load(&r->tail, CC__RELAXED);	/* Relaxed: as above */
		else
			cc__contended();
	}
	CC_POINT("ring.reserved", r);
	for (*sent = n; n > 0; n--, at = cc__ring_next(&s, at), from = (const char *)from + size) {
		cc__a64 *stamp = cc__ring_stamp(&s, at);
		const uint64_t full = cc__ring_lap(&s, at) | CC__RING_FULL;

		cc__ring_copy(cc__ring_element(stamp), from, size);
		/* Release (1): the element, to the acquire in cc__ring_usable.  After the
		 * last one the channel may be freed (C4 in chan.h). */
		cc__store(stamp, full, CC__RELEASE);
	}
	return CC__RING_OK;
}

/* Up to `count` elements out of it to `to`; NULL: nowhere. */
static inline enum cc__ring_answer cc__ring_recv(struct cc__ring *r, void *to, size_t size,
                                                 size_t count, size_t *received)
{
	const struct cc__ring_shape s = r->shape;
	uint64_t at, end,
	    head = cc__load(&r->head, CC__RELAXED); /* Relaxed: the exchange decides */
	size_t n;
	bool late;

	*received = 0;
	for (;;) {
		at = cc__ring_at(head);
		n = cc__ring_usable(&s, at, count, CC__RING_FULL, &end, &late);
		CC_POINT("ring.before_exchange", r);
		/* Release: to the acquire in cc__ring_..._peek (R4), as in cc__ring_send. */
		if (n > 0 && cc__cas_weak(&r->head, &head, end | (head & CC__RING_MARKS),
		                          CC__RELEASE, CC__RELAXED))
			break;
		if (n > 0) {
			cc__contended();
			continue;
		}
		if (!late) {
			/* Acquire: the closer's error, from cc__ring_close. */
			const uint64_t tail = cc__load(&r->tail, CC__ACQUIRE);

			return tail == (at | CC__RING_CLOSED) ||
			               tail == (at | CC__RING_CLOSED | CC__RING_WAITING)
			           ? CC__RING_ENDED
			           : CC__RING_NOT_NOW;
		}
		head = cc__load(&r->head, CC__RELAXED);	/* Relaxed: as above */
	}
	for (*received = n; n > 0; n--, at = cc__ring_next(&s, at)) {
		cc__a64 *stamp = cc__ring_stamp(&s, at);
		const uint64_t free = cc__ring_lap(&s, at) + s.lap;

		if (to != NULL) {
			cc__ring_copy(to, cc__ring_element(stamp), size);
			to = (char *)to + size;
		}
		/* Release (1): that its place is free, to the acquire in cc__ring_usable. */
		cc__store(stamp, free, CC__RELEASE);
	}
	return CC__RING_OK;
}

/* After an operation on `position`: somebody of the other side may sleep (R3). */
static inline bool cc__ring_others_wait(const cc__a64 *position)
{
	/* (2), after (1); pairs with (3) and the heavy fence in cc__ring_..._look.
	 * mutant: delete cc__fence_light survives: only a compiler needs to be told. */
	cc__fence_light();
	return (cc__load(position, CC__RELAXED) & CC__RING_WAITING) != 0;
}

#endif
