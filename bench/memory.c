/* memory.c - what does a task cost in memory? */
#include <stdatomic.h>
#include <stdbool.h>

#include "bench.h"

static atomic_long begun, ran, go_on;
static long before, during, mappings;

/* Resident pages and the page tables that map them. */
static long memory(void)
{
	return bench_status_bytes("VmRSS") + bench_status_bytes("VmPTE");
}

static int stays(void *arg)
{
	(void)arg;
	begun++;
	while (!go_on)
		cc_yield();
	ran++;
	return 0;
}

/* With `started` the memory is taken when all have begun, else when all have been
 * spawned by a fiber that does not yield: on one worker none has begun then. */
static void mem_case(const char *name, long n, bool started)
{
	cc_time begin = cc_now();

	n = bench_arg("n", n);
	before = memory();
	for (long i = 0; i < n; i++)
		bench_spawn(NULL, stays, NULL);
	while (started && begun < n)
		cc_yield();
	during = memory();
	mappings = bench_mappings();
	go_on = 1;
	while (ran < n)
		cc_yield();
	bench_report(name, n, cc_now() - begin,
	             "\"op\":\"task\",\"bytes_per_task\":%.1f,\"mappings\":%ld",
	             (double)(during - before) / (double)n, mappings);
}

static void mem_unstarted(const char *name) /* covers: LIF-06/b */
{
	mem_case(name, 1000000, false);
}

static void mem_started(const char *name) /* covers: SCH-03/b */
{
	mem_case(name, 100000, true);
}

static void mem_guards(const char *name)
{
	mem_case(name, 200000, true);
}

const struct bench_case bench_memory_cases[] = {
    {"mem_unstarted", mem_unstarted, 0},
    {"mem_started", mem_started, 0},
    {"mem_guards", mem_guards, 0},
    {NULL, NULL, 0},
};
