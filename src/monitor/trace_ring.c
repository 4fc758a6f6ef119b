/* trace_ring.c - writing and copying a ring.
 *
 *	the writer (push, event n)              a copy
 *	count = n             (push n - 1)      end = count
 *	release fence  (1)                      reads the cells
 *	writes the cell of n, which             acquire fence  (2)
 *	  was that of n - size                  now = count
 *	count = n + 1, release  (3)
 *
 * A copy that reads a word of event n in the cell of n - size is ordered by (1) and (2) after
 * the store that made the count n, so it finds now >= n and leaves n - size out. */
#include "monitor/trace_ring.h"

void cc__trace_ring_push(struct cc__trace_ring *r, struct cc__trace_event e)
{
	const uint64_t n = cc__load(&r->count, CC__RELAXED);	/* Relaxed: our own */
	struct cc__trace_cell *c = &r->cell[n & (r->size - 1)];

	if (e.word[0] < r->last)
		e.word[0] = r->last;	/* TRACE-RING-4 */
	r->last = e.word[0];
	cc__fence(CC__RELEASE);	/* (1), to the acquire fence (2) */
	for (unsigned i = 0; i < CC__TRACE_WORDS; i++)
		cc__store(&c->word[i], e.word[i], CC__RELAXED);	/* Relaxed: (1) and (3) order */
	/* Release (3): the event, to the acquire in copy. */
	cc__store(&r->count, n + 1, CC__RELEASE);
}

/* The first event that is still there, though another one may just be written. */
static uint64_t first_kept(uint64_t count, uint64_t size)
{
	return count + 1 > size ? count + 1 - size : 0;
}

uint64_t cc__trace_ring_copy(const struct cc__trace_ring *r, struct cc__trace_event *out,
                             uint64_t *lost)
{
	/* Acquire: the events, from the release (3). */
	const uint64_t end = cc__load(&r->count, CC__ACQUIRE), begin = first_kept(end, r->size);
	uint64_t first;

	for (uint64_t n = begin; n < end; n++)
		for (unsigned i = 0; i < CC__TRACE_WORDS; i++)
			/* Relaxed: the fence (2) finds out what has been overwritten. */
			out[n - begin].word[i] = cc__load(&r->cell[n & (r->size - 1)].word[i],
			                                  CC__RELAXED);
	cc__fence(CC__ACQUIRE); /* (2), to the release fence (1) */
	first = first_kept(cc__load(&r->count, CC__RELAXED), r->size);	/* Relaxed: (2) orders */
	if (first < begin)
		first = begin;
	if (first > end)
		first = end;
	for (uint64_t n = first; n < end && first > begin; n++)
		out[n - first] = out[n - begin];
	*lost = first;
	return end - first;
}
