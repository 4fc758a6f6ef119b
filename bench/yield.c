/* yield.c - how long is a switch, bare and as a yield? */
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "os/context.h"

/* ---- a bare switch: the one case that looks inside the library ---- */

static void *stack_pointer[2];

static void bounce(int me, long n)
{
	for (long i = 0; i < n; i++)
		cc__switch_stack(&stack_pointer[me], stack_pointer[!me], NULL, 0);
}

/* Both sides run the same loop, as all fibers run through one call site; the
 * compiler must not make a copy for each. */
static void (*volatile one_bounce)(int me, long n) = bounce;

static void other_side(void *worker, uintptr_t after)
{
	(void)worker, (void)after;
	one_bounce(1, LONG_MAX);
}

static cc_time switches(long n)
{
	static _Alignas(16) char stack[65536];
	cc_time begin;

	stack_pointer[1] = cc__context_frame(stack + sizeof stack, other_side);
	begin = cc_now();
	one_bounce(0, n / 2);
	return cc_now() - begin;
}

static void floor_switch(const char *name)
{
	long n;
	cc_time ns = bench_calibrate(1000000, switches, &n);

	bench_report(name, n, ns, "\"op\":\"switch\"");
}

/* ---- a yield, with few and with many fibers ---- */

static long yielders, yields_each;
static atomic_long yields_seen;

static int yielder(void *arg)
{
	long i;

	(void)arg;
	for (i = 0; i < yields_each; i++)
		cc_yield();
	/* Relaxed: read after the join. */
	atomic_fetch_add_explicit(&yields_seen, i, memory_order_relaxed);
	return 0;
}

static cc_time yields(long n)
{
	CCTask *task = bench_array(yielders, sizeof *task);
	cc_time ns = -cc_now();

	yields_each = n / yielders + 1;
	yields_seen = 0;
	for (long i = 0; i < yielders; i++)
		bench_spawn(&task[i], yielder, NULL);
	for (long i = 0; i < yielders; i++)
		bench_join(task[i]);
	ns += cc_now();
	bench_check(yields_seen == yields_each * yielders, "yields are missing");
	free(task);
	return ns;
}

static void yield_case(const char *name)
{
	long n;
	cc_time ns;

	if (sscanf(name, "yield_%ld", &yielders) != 1)
		yielders = 2;
	bench_check(yielders > 0, "no tasks to yield");
	ns = bench_calibrate(20000, yields, &n);
	bench_report(name, n, ns, "\"tasks\":%ld", yielders);
}

const struct bench_case bench_yield_cases[] = {
    {"floor_switch", floor_switch, BENCH_THREAD},
    {"yield_pair", yield_case, 0},
    {"yield_1000", yield_case, 0},
    {"yield_[1-9]*", yield_case, 0},
    {NULL, NULL, 0},
};
