/* seeded_runq.c - the real run queue with one of its orders taken away: what the
 * bias stands on.  Each must be found; runq.c exhausts the same without a hole.
 *
 * The queue itself is included, with a door that leaves out or weakens what .init
 * names. */
#include <string.h>

#include "engine.h"

/* In that function the operation on that expression is relaxed; .init's. */
static struct {
	const char *function, *text;
	bool no_fence;	/* there is no heavy fence at all */
	bool fails_at_fence;
} hole;

static int order_at(const char *function, const char *text, int order)
{
	return hole.function != NULL && strcmp(function, hole.function) == 0 &&
	               strcmp(text, hole.text) == 0
	           ? CC__RELAXED
	           : order;
}

#undef cc__load
#define cc__load(a, order) \
	__extension__({ \
		MC_SITE(#a); \
		(__typeof__((a)->raw))mc_load(&(a)->raw, sizeof(a)->raw, \
		                              order_at(__func__, #a, order), &mc_site_); \
	})
#undef cc__store
#define cc__store(a, value, order) \
	__extension__({ \
		MC_SITE(#a); \
		__typeof__((a)->raw) mc_v_ = (value); \
		mc_store(&(a)->raw, sizeof mc_v_, (uint64_t)mc_v_, order_at(__func__, #a, order), \
		         &mc_site_); \
	})
#undef cc__cas
#define cc__cas(a, expected, value, order, on_failure) \
	MC_CAS(a, expected, value, false, order_at(__func__, #a, order), \
	       order_at(__func__, #a, on_failure))
#undef cc__fence_heavy
#define cc__fence_heavy() \
	__extension__({ \
		MC_SITE("fence_heavy"); \
		if (hole.fails_at_fence) \
			mc_fail("a fence"); \
		if (!hole.no_fence) \
			mc_fence_heavy(&mc_site_); \
	})
#include "sched/runq.c"
#include "shim_runq.h"

static struct cc__runq q;
static struct cc__loot loot[MC_THREADS];	/* each thief's own */

void *cc__pages_map(size_t size)
{
	(void)size;
	mc_fail("no ring grows");
}

void cc__pages_populate(void *p, size_t size)
{
	(void)p, (void)size;
}

void cc__pages_unmap(void *p, size_t size)
{
	(void)p, (void)size;
	mc_fail("no ring has grown");
}

static void start(void)
{
	cc__runq_init(&q);
	for (int i = 0; i < 2; i++)
		MC_ASSERT(cc__runq_push(&q, fill(i), CC__READY));
}

static void without_fence(void)
{
	start();
	hole.no_fence = true;
}

static void weak_at(const char *function, const char *text)
{
	start();
	hole.function = function;
	hole.text = text;
}

static void leave_relaxed(void)
{
	weak_at("cc__runq_leave", "&q->busy");
}

static void look_for_busy_relaxed(void)
{
	weak_at("seize", "&q->busy");
}

static void end_of_seizure_relaxed(void)
{
	weak_at("take_half", "&q->want");
}

static void look_for_thief_relaxed(void)
{
	weak_at("cc__runq_come", "&q->want");
}

static void gift_relaxed(void)
{
	weak_at("cc__runq_meet_thief", "&q->want");
}

static void open_relaxed(void)
{
	weak_at("cc__runq_open", "&q->want");
}

static void open_seized_relaxed(void)
{
	weak_at("seize_open", "&q->want");
}

/* (The other side is an exchange of the pointer: that one is runq.c's.) */
static void offer_relaxed(void)
{
	weak_at("cc__runq_offer", "&q->offer");
	for (struct cc__fiber *f; (f = cc__runq_pop(&q)) != NULL;)
		take(f);
}

static void offer_one(void)
{
	MC_ASSERT(cc__runq_offer(&q, fill(2)));
}

static void pop_twice(void)
{
	for (int i = 0; i < 2; i++) {
		struct cc__fiber *f = cc__runq_pop(&q);

		if (f != NULL)
			take(f);
	}
}

static void push_then_open(void)
{
	MC_ASSERT(cc__runq_push(&q, fill(2), CC__FRESH));
	cc__runq_open(&q);
}

static void thief(void)
{
	struct cc__loot *mine = &loot[mc_self()];

	if (cc__runq_steal(&q, CC__TAKE_ANY, (unsigned)mc_pick(2), mine))
		take_loot(mine);
}

#define HOLE(name, start) \
	SCENARIO(name, .init = start, .body = {pop_twice, thief}, .expect = "race|assert|crash")

HOLE(runq_seized_without_a_fence, without_fence)
HOLE(runq_left_relaxed, leave_relaxed)
HOLE(runq_busy_seen_relaxed, look_for_busy_relaxed)
HOLE(runq_seizure_ended_relaxed, end_of_seizure_relaxed)
HOLE(runq_thief_seen_relaxed, look_for_thief_relaxed)
HOLE(runq_given_relaxed, gift_relaxed)
SCENARIO(runq_opened_relaxed, .init = open_relaxed, .body = {push_then_open, thief},
         .expect = "race|assert|crash")
SCENARIO(runq_open_seized_relaxed, .init = open_seized_relaxed,
         .body = {push_then_open, thief}, .expect = "race|assert|crash")
SCENARIO(runq_offered_relaxed, .init = offer_relaxed, .body = {offer_one, thief},
         .expect = "race|assert|crash")

/* Not a hole: an open queue is seized without a fence, a closed one with it. */
static void opened(void)
{
	start();
	cc__runq_open(&q);
	hole.fails_at_fence = true;
}

static void closed(void)
{
	opened();
	cc__runq_enter(&q);
	cc__runq_leave(&q);
}
SCENARIO(runq_open_needs_no_fence, .init = opened, .body = {thief})
SCENARIO(runq_closed_needs_a_fence, .init = closed, .body = {thief}, .expect = "a fence")
