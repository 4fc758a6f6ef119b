/* ring.h - the buffer of a channel: many senders, many receivers, no lock.
 *
 * tail and head are positions: lap and index in one word, with two marks in the lowest bits:
 *
 *      63             bits+2 bits+1      2    1        0
 *     | lap                 | index      | WAITING | CLOSED |
 *
 * Every slot has a stamp: the lap that may write it, or with FULL the lap whose element it holds.
 * So a ring needs no spare slot: it has exactly as many slots as its capacity, even if that is 1.
 *
 *      to send at position p                  to receive at position p
 *      stamp is p's lap          (free)       stamp is p's lap, FULL
 *      tail: p -> p + 1          (reserved)   head: p -> p + 1
 *      copy; stamp FULL  (1)     (published)  copy; stamp the next lap  (1)
 *
 * R1  A slot is reserved only while the channel is open, because CLOSED is in the word that the
 *     compare-and-swap changes.  Once CLOSED is set no reservation succeeds.
 * R2  The stream has ended when tail has CLOSED and head is the same position.  While they differ,
 *     an element is in the ring, or is reserved and not yet published.
 * R3  WAITING is in the word that the other side changes: in tail for receivers that wait, in head
 *     for senders.  It is raised and lowered under the channel's lock.  A caller that is about to
 *     wait raises it, then checks the ring (cc__ring_..._look):
 *
 *      operation that moves tail (or head)    caller that is about to wait, with the lock
 *      compare-and-swap tail                  raise WAITING in tail  (3)
 *      stamp  (1), light fence                check the slot of head
 *      WAITING in tail?  (2)                  reserved, not published: heavy fence,
 *      wake one under the lock                  and check again
 *
 *     A compare-and-swap after (3) finds WAITING.  One before (3) has reserved a slot, and the
 *     check after (3) sees the reservation.  Then its owner reads the mark at (2) after the heavy
 *     fence, or has published before it.  So the hot side has one locked instruction, and its read
 *     at (2) cannot be left out.
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

struct cc__ring_shape {
	char *slots;	/* each a stamp and an element */
	size_t stride;	/* bytes of a slot */
	uint64_t lap;	/* one lap, as a difference of positions; a power of two */
	uint64_t last;	/* the last slot, as a difference from the beginning of its lap */
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
	CC__RING_CONTENDED,	/* the first try met another thread: cc__ring_send or _recv decides */
	CC__RING_NO_ANSWER,	/* there was no first try */
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

/* How far a position is from the beginning of its lap.  Marks do not count. */
static inline uint64_t cc__ring_offset(const struct cc__ring_shape *s, uint64_t word)
{
	return word & (s->lap - (1 << CC__RING_SHIFT));
}

/* The position after that one.  Marks stay. */
static inline uint64_t cc__ring_next(const struct cc__ring_shape *s, uint64_t word)
{
	const uint64_t offset = cc__ring_offset(s, word);

	return word + (offset == s->last ? s->lap - offset : 1 << CC__RING_SHIFT);
}

static inline cc__a64 *cc__ring_stamp(const struct cc__ring_shape *s, uint64_t word)
{
	const uint64_t index = cc__ring_offset(s, word) >> CC__RING_SHIFT;

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

/* ---- the first try: one element, of a size that is constant where this is inlined ----
 *
 * The slot is found without a multiplication and without the stride, nothing is called, and whatever
 * is rare is left to the caller: CONTENDED means that another thread moved the position first, and
 * that cc__ring_send or cc__ring_recv decides.  The orders are as in these. */

/* The slot of a position, and the position after it. */
struct cc__ring_spot {
	cc__a64 *stamp;
	uint64_t lap, next;
};

static inline __attribute__((always_inline)) struct cc__ring_spot
cc__ring_spot(const struct cc__ring_shape *s, uint64_t word, size_t size)
{
	const uint64_t offset = cc__ring_offset(s, word);
	/* Strides and offsets are multiples of 4, so the index is not needed by itself. */
	char *slot = s->slots + offset * (cc__ring_stride(size) >> CC__RING_SHIFT);

	return (struct cc__ring_spot){
	    .stamp = (cc__a64 *)(void *)slot,
	    .lap = cc__ring_lap(s, word),
	    .next = cc__ring_next(s, word),
	};
}

static inline __attribute__((always_inline)) enum cc__ring_answer
cc__ring_send_sized(struct cc__ring *r, const void *from, size_t size)
{
	uint64_t tail = cc__load(&r->tail, CC__RELAXED);	/* Relaxed: the exchange decides */
	const struct cc__ring_spot at = cc__ring_spot(&r->shape, tail, size);
	uint64_t stamp;

	if (__builtin_expect(tail & CC__RING_CLOSED, 0))
		return CC__RING_ENDED;
	stamp = cc__load(at.stamp, CC__ACQUIRE);	/* Acquire: as in cc__ring_usable */
	CC_POINT("ring.before_exchange", r);
	if (__builtin_expect(stamp != at.lap, 0))
		return stamp > at.lap ? CC__RING_CONTENDED : CC__RING_NOT_NOW;
	/* Release: as in cc__ring_send. */
	if (!cc__cas_weak(&r->tail, &tail, at.next, CC__RELEASE, CC__RELAXED))
		return CC__RING_CONTENDED;
	CC_POINT("ring.reserved", r);
	memcpy(cc__ring_element(at.stamp), from, size);
	/* Release (1): as in cc__ring_send. */
	cc__store(at.stamp, at.lap | CC__RING_FULL, CC__RELEASE);
	return CC__RING_OK;
}

/* NOT_NOW may also be the end of the stream. */
static inline __attribute__((always_inline)) enum cc__ring_answer
cc__ring_recv_sized(struct cc__ring *r, void *to, size_t size)
{
	uint64_t head = cc__load(&r->head, CC__RELAXED);	/* Relaxed: the exchange decides */
	const struct cc__ring_spot at = cc__ring_spot(&r->shape, head, size);
	const uint64_t full = at.lap | CC__RING_FULL, free = at.lap + r->shape.lap;
	const uint64_t stamp = cc__load(at.stamp, CC__ACQUIRE);	/* Acquire: as in cc__ring_usable */

	CC_POINT("ring.before_exchange", r);
	if (__builtin_expect(stamp != full, 0))
		return stamp > full ? CC__RING_CONTENDED : CC__RING_NOT_NOW;
	/* Release: as in cc__ring_recv. */
	if (!cc__cas_weak(&r->head, &head, at.next, CC__RELEASE, CC__RELAXED))
		return CC__RING_CONTENDED;
	memcpy(to, cc__ring_element(at.stamp), size);
	cc__store(at.stamp, free, CC__RELEASE);	/* Release (1): as in cc__ring_recv */
	return CC__RING_OK;
}

/* The first try, for the sizes that most elements have; the most frequent is tested first. */
static inline enum cc__ring_answer cc__ring_send_first(struct cc__ring *r, const void *item, size_t size)
{
	if (__builtin_expect(size == 8, 1))
		return cc__ring_send_sized(r, item, 8);
	if (size == 4)
		return cc__ring_send_sized(r, item, 4);
	return size == 16 ? cc__ring_send_sized(r, item, 16) : CC__RING_NO_ANSWER;
}

static inline enum cc__ring_answer cc__ring_recv_first(struct cc__ring *r, void *item, size_t size)
{
	if (__builtin_expect(size == 8, 1))
		return cc__ring_recv_sized(r, item, 8);
	if (size == 4)
		return cc__ring_recv_sized(r, item, 4);
	return size == 16 ? cc__ring_recv_sized(r, item, 16) : CC__RING_NO_ANSWER;
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
