/* trace_merge.c - copies of the rings, merged by a heap of their first events. */
#include "monitor/trace_merge.h"

#include <errno.h>

#include "monitor/trace_rings.h"
#include "os/pages.h"

/* ---- the heap ---- */

static bool is_before(const struct cc__trace_merge *m, unsigned a, unsigned b)
{
	const uint64_t ta = m->source[a].next->word[0], tb = m->source[b].next->word[0];

	return ta < tb || (ta == tb && a < b);
}

static void sift_down(struct cc__trace_merge *m, unsigned i)
{
	for (;;) {
		unsigned least = i, child = 2 * i + 1;

		for (unsigned c = child; c < child + 2 && c < m->heaped; c++)
			if (is_before(m, m->heap[c], m->heap[least]))
				least = c;
		if (least == i)
			return;
		child = m->heap[i];
		m->heap[i] = m->heap[least];
		m->heap[least] = child;
		i = least;
	}
}

bool cc__trace_merge_next(struct cc__trace_merge *m, struct cc__trace_event *e, unsigned *source)
{
	struct cc__trace_source *s;

	if (m->heaped == 0)
		return false;
	*source = m->heap[0];
	s = &m->source[*source];
	*e = *s->next++;
	if (s->next == s->end)
		m->heap[0] = m->heap[--m->heaped];
	sift_down(m, 0);
	return true;
}

/* ---- the copies ---- */

static void copy_ring(struct cc__trace_merge *m, unsigned i, uint64_t most)
{
	struct cc__trace_source *s = &m->source[i];
	const uint64_t n = cc__trace_ring_copy(s->ring, s->next, &s->lost);

	s->end = s->next + n;
	if (n > most)
		s->next = s->end - most;
	m->lost += s->lost;
	m->events += (uint64_t)(s->end - s->next);
	if (s->next == s->end)
		return;
	m->heap[m->heaped++] = i;
	if (m->begin == 0 || s->next->word[0] < m->begin)
		m->begin = s->next->word[0];
	if (s->end[-1].word[0] > m->end)
		m->end = s->end[-1].word[0];
	if (s->lost > 0 && s->next->word[0] > m->complete)
		m->complete = s->next->word[0];
}

static void make_heap(struct cc__trace_merge *m)
{
	for (unsigned i = m->heaped; i-- > 0;)
		sift_down(m, i);
}

int cc__trace_merge_init(struct cc__trace_merge *m, uint64_t most)
{
	struct cc__trace_ring *first = cc__trace_rings();
	struct cc__trace_event *events;
	uint64_t room = 0;

	*m = (struct cc__trace_merge){.sources = first != NULL ? first->number : 0};
	for (const struct cc__trace_ring *r = first; r != NULL; r = r->next) {
		room += r->size;
		/* A ring's number is drawn before it is listed. */
		m->sources = r->number > m->sources ? r->number : m->sources;
	}
	m->memory_size = m->sources * (sizeof *m->source + sizeof *m->heap) + 64 +
	                 (size_t)room * sizeof *events;
	if ((m->memory = cc__pages_map(m->memory_size)) == NULL)
		return ENOMEM;
	events = m->memory;
	m->source = (struct cc__trace_source *)(void *)(events + room);
	m->heap = (unsigned *)(void *)(m->source + m->sources);
	for (const struct cc__trace_ring *r = first; r != NULL; r = r->next) {
		m->source[r->number - 1] = (struct cc__trace_source){
		    .ring = r, .first = events, .next = events};
		events += r->size;
		copy_ring(m, r->number - 1, most);
	}
	make_heap(m);
	return 0;
}

void cc__trace_merge_trim(struct cc__trace_merge *m)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < m->heaped; i++) {
		struct cc__trace_source *s = &m->source[m->heap[i]];

		while (s->next < s->end && s->next->word[0] < m->complete) {
			s->next++;
			m->lost++;
			m->events--;
		}
		if (s->next < s->end)
			m->heap[kept++] = m->heap[i];
	}
	m->heaped = kept;
	make_heap(m);
	if (m->begin < m->complete)
		m->begin = m->complete;
}

void cc__trace_merge_fini(struct cc__trace_merge *m)
{
	cc__pages_unmap(m->memory, m->memory_size);
}
