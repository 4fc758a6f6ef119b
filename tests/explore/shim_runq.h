/* shim_runq.h - what sched/runq.c needs around it in a scenario, and fibers of
 * which each must be taken once.  A fiber's payload is a plain variable: whoever
 * takes it is ordered after whoever pushed it, or that is a race.
 * Included by one file of a program. */
#ifndef MC_SHIM_RUNQ_H
#define MC_SHIM_RUNQ_H

#include "engine.h"
#include "sched/runq.h"

enum { SHIM_FIBERS = 6 };
static struct cc__fiber fiber[SHIM_FIBERS];
static uintptr_t pushed_by_now[SHIM_FIBERS];	/* plain; its owner's, as the queue says */
static cc__a32 times_taken[SHIM_FIBERS];

/* Before the push of fiber i. */
static inline struct cc__fiber *fill(int i)
{
	fiber[i].payload.arg = &fiber[i];
	pushed_by_now[i] = 1;
	return &fiber[i];
}

/* It is the caller's: seen whole, and for the first time. */
static inline void take(struct cc__fiber *f)
{
	const int i = (int)(f - fiber);

	MC_ASSERT(f->payload.arg == f && pushed_by_now[i] == 1);
	f->payload.arg = NULL;
	pushed_by_now[i] = 2;
	MC_ASSERT(cc__add(&times_taken[i], 1, CC__RELAXED) == 0);
}

static inline void take_loot(const struct cc__loot *loot)
{
	for (uint32_t i = 0; i < loot->count; i++)
		take(loot->fiber[i]);
}

/* Bodies of the scenarios of a queue that push(i) pushes fiber i to. */
#define SHIM_PUSHERS(push) \
	static void push_0(void) \
	{ \
		push(0); \
	} \
	static void push_1(void) \
	{ \
		push(1); \
	} \
	static void push_0_and_1(void) \
	{ \
		push(0); \
		push(1); \
	}

/* In .final: the first n of them have been taken once each. */
static inline void all_taken(int n)
{
	for (int i = 0; i < n; i++)
		MC_ASSERT(cc__peek(&times_taken[i]) == 1);
}

void cc__thread_yield(void)
{
	cc__relax();
}

#endif
