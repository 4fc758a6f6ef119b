/* ring.c - the rarer half: beginning, end, and the look before a sleep. */
#include "chan/ring.h"

void cc__ring_init(struct cc__ring *r, void *slots, size_t size, size_t capacity)
{
	r->shape = (struct cc__ring_shape){
	    .slots = slots,
	    .stride = cc__ring_stride(size),
	    .lap = (uint64_t)1 << CC__RING_SHIFT,
	    .last = (uint64_t)(capacity - 1) << CC__RING_SHIFT,
	};
	while (r->shape.lap <= r->shape.last)
		r->shape.lap <<= 1;
	/* Relaxed: whoever is given the channel sees them; who still looks for WAITING
	 * of the channel before, in the same memory, may see either.
	 * mutant: swap cc__store survives: in any order. */
	cc__store(&r->tail, 0, CC__RELAXED);
	cc__store(&r->head, 0, CC__RELAXED);
}

static uint64_t index_of(const struct cc__ring_shape *s, uint64_t at)
{
	return cc__ring_offset(s, at) >> CC__RING_SHIFT;
}

size_t cc__ring_length(const struct cc__ring *r)
{
	const struct cc__ring_shape *s = &r->shape;
	/* Relaxed, both: a look at something that moves.  Head first, so that tail is not
	 * behind it. */
	const uint64_t head = cc__ring_at(cc__load(&r->head, CC__RELAXED));
	const uint64_t tail = cc__ring_at(cc__load(&r->tail, CC__RELAXED));
	const uint64_t laps = (cc__ring_lap(s, tail) - cc__ring_lap(s, head)) / s->lap;
	const uint64_t capacity = (s->last >> CC__RING_SHIFT) + 1;
	const uint64_t n = laps * capacity + index_of(s, tail) - index_of(s, head);

	/* mutant: < -> <= survives: where they are equal both answers are. */
	return tail < head ? 0 : n < capacity ? (size_t)n : (size_t)capacity;
}

bool cc__ring_close(struct cc__ring *r)
{
	/* Release: the closer's error, to whoever sees the mark with acquire. */
	return !(cc__or(&r->tail, CC__RING_CLOSED, CC__RELEASE) & CC__RING_CLOSED);
}

bool cc__ring_closed(const struct cc__ring *r)
{
	/* Acquire: as above. */
	return (cc__load(&r->tail, CC__ACQUIRE) & CC__RING_CLOSED) != 0;
}

/* Raise WAITING; the position then, or later. */
static uint64_t raise_mark(cc__a64 *position)
{
	/* Relaxed, here and below: of those who change it, all but the exchanges hold the
	 * lock, and these carry nothing but the position.  Under the lock nobody lowers the
	 * mark: if it is there, what we do not see reserved will see it. */
	uint64_t word = cc__load(position, CC__RELAXED);

	if (!(word & CC__RING_WAITING))
		/* (3): an exchange of tail comes before and is seen here, or after and sees
		 * the mark. */
		word = cc__or(position, CC__RING_WAITING, CC__RELAXED);
	return word;
}

static bool one_usable(const struct cc__ring *r, uint64_t at, uint64_t mark)
{
	uint64_t end;
	bool late;

	return cc__ring_usable(&r->shape, at, 1, mark, &end, &late) > 0 || late;
}

/* The slot at that position has the stamp that an operation there waits for, or a later one: then the
 * position is old. */
static bool is_stamped(const struct cc__ring *r, uint64_t at, uint64_t mark)
{
	/* Acquire: as in cc__ring_usable. */
	return cc__load(cc__ring_stamp(&r->shape, at), CC__ACQUIRE) >=
	       (cc__ring_lap(&r->shape, at) | mark);
}

static void read_positions(const struct cc__ring *r, uint64_t *head, uint64_t *tail, uint64_t *sum)
{
	/* Acquire, both: pair with the releases in cc__ring_send and cc__ring_recv (R4). */
	*head = cc__ring_at(cc__load(&r->head, CC__ACQUIRE));
	*tail = cc__load(&r->tail, CC__ACQUIRE) & ~(uint64_t)CC__RING_WAITING;
	*sum += *head + *tail + (1 << CC__RING_SHIFT);
}

bool cc__ring_recv_peek(const struct cc__ring *r, uint64_t *sum)
{
	uint64_t head, tail;

	read_positions(r, &head, &tail, sum);
	return is_stamped(r, head, CC__RING_FULL) || tail == (head | CC__RING_CLOSED);
}

bool cc__ring_send_peek(const struct cc__ring *r, uint64_t *sum)
{
	uint64_t head, tail;

	read_positions(r, &head, &tail, sum);
	return (tail & CC__RING_CLOSED) || is_stamped(r, tail, 0);
}

/* The slot of head, as a receiver finds it; *on_its_way: reserved and not published. */
static enum cc__ring_answer look_at_head(const struct cc__ring *r, uint64_t tail, bool *on_its_way)
{
	/* An old head is not tail's, and is met again after the fence.  Acquire: what the thread did
	 * before that took the last element, from cc__ring_recv (R4): a select that finds the ring
	 * empty checks its other cases after this. */
	const uint64_t head = cc__ring_at(cc__load(&r->head, CC__ACQUIRE));
	const bool usable = one_usable(r, head, CC__RING_FULL);

	*on_its_way = !usable && head != cc__ring_at(tail);
	if (usable)
		return CC__RING_OK;
	return !*on_its_way && (tail & CC__RING_CLOSED) ? CC__RING_ENDED : CC__RING_NOT_NOW;
}

enum cc__ring_answer cc__ring_recv_look(struct cc__ring *r)
{
	bool on_its_way;
	enum cc__ring_answer a = look_at_head(r, raise_mark(&r->tail), &on_its_way);

	if (!on_its_way)
		return a;
	cc__fence_heavy();	/* pairs with (2) in cc__ring_others_wait */
	return look_at_head(r, cc__load(&r->tail, CC__RELAXED), &on_its_way); /* Relaxed: as above */
}

enum cc__ring_answer cc__ring_send_look(struct cc__ring *r)
{
	const uint64_t head = cc__ring_at(raise_mark(&r->head));
	/* An old tail is not a lap ahead, and is met again after the fence; CLOSED is set under our
	 * lock.  Acquire, twice: as in look_at_head, from cc__ring_send. */
	uint64_t tail = cc__load(&r->tail, CC__ACQUIRE);

	if (tail & CC__RING_CLOSED)
		return CC__RING_ENDED;
	if (one_usable(r, cc__ring_at(tail), 0))
		return CC__RING_OK;
	if (cc__ring_at(tail) == head + r->shape.lap)
		return CC__RING_NOT_NOW;
	/* Taken and not free yet. */
	cc__fence_heavy();	/* pairs with (2) in cc__ring_others_wait */
	tail = cc__load(&r->tail, CC__ACQUIRE);
	return one_usable(r, cc__ring_at(tail), 0) ? CC__RING_OK : CC__RING_NOT_NOW;
}
