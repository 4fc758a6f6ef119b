/* trace_ring.c - one thread writes a ring of events while another thread copies it.
 *
 * monitor/trace_ring.c is included, with a door that leaves out what .init names: the seeded
 * bugs. */
#include <string.h>

#include "engine.h"

/* Left out: the fence of that order, or the order of the store to the count; .init's. */
static int no_fence = -1;
static bool count_relaxed;

static int order_of(const char *text, int order)
{
	return count_relaxed && strcmp(text, "&r->count") == 0 ? CC__RELAXED : order;
}

#undef cc__store
#define cc__store(a, value, order) \
	__extension__({ \
		MC_SITE(#a); \
		__typeof__((a)->raw) mc_v_ = (value); \
		mc_store(&(a)->raw, sizeof mc_v_, (uint64_t)mc_v_, order_of(#a, order), \
		         &mc_site_); \
	})
static inline void real_fence(int order)
{
	cc__fence(order);
}
#undef cc__fence
#define cc__fence(order) (no_fence == (order) ? (void)0 : real_fence(order))
#include "monitor/trace_ring.c"

enum { SIZE = 2, EVENTS = 3 };

static struct cc__trace_cell cells[SIZE];
static struct cc__trace_ring ring = {.cell = cells, .size = SIZE};

static void write_events(void)
{
	for (uint64_t n = 1; n <= EVENTS; n++)
		cc__trace_ring_push(&ring, (struct cc__trace_event){{n, n, n, n}});
}

/* Each event is whole, and the first is the one after those that were lost. */
static uint64_t check_copy(void)
{
	struct cc__trace_event out[SIZE];
	uint64_t lost, n = cc__trace_ring_copy(&ring, out, &lost);

	MC_ASSERT(n < SIZE && lost + n <= EVENTS);
	for (uint64_t i = 0; i < n; i++)
		for (unsigned w = 0; w < CC__TRACE_WORDS; w++)
			MC_ASSERT(out[i].word[w] == lost + i + 1);
	return n;
}

static void copy_once(void)
{
	check_copy();
}

/* At rest everything is there but the event that a writer could be about to overwrite. */
static void all_but_one(void)
{
	MC_ASSERT(check_copy() == SIZE - 1);
}

SCENARIO(trace_ring_copy_has_whole_events, .body = {write_events, copy_once}, .final = all_but_one,
         .weak = 3)

/* ---- seeded ---- */

static void without_release(void)
{
	no_fence = CC__RELEASE;
}

static void without_acquire(void)
{
	no_fence = CC__ACQUIRE;
}

static void with_relaxed_count(void)
{
	count_relaxed = true;
}

SCENARIO(trace_ring_without_release_fence, .body = {write_events, copy_once},
         .init = without_release, .weak = 3, .expect = "assert")
SCENARIO(trace_ring_without_acquire_fence, .body = {write_events, copy_once},
         .init = without_acquire, .weak = 3, .expect = "assert")
SCENARIO(trace_ring_with_relaxed_count, .body = {write_events, copy_once},
         .init = with_relaxed_count, .weak = 3, .expect = "assert")
