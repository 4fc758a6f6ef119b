/* ccc_bench.c - the cases of the fiber core: switch, yield, spawn, memory. */
#include <limits.h>
#include <stdlib.h>

#include "bench.h"
#include "os/context.h"

static CCRuntime *rt;

static void start(void)
{
	CCConfig config;

	bench_check(cc_config_init(&config) == 0 && cc_runtime_new(&rt, &config) == 0,
	            "the runtime does not start");
}

static void stop(void)
{
	bench_check(cc_runtime_free(rt) == 0, "the runtime does not stop");
}

static void spawn(CCTask *task, cc_task_main *main, void *arg)
{
	bench_check(cc_task_spawn(rt, task, NULL, main, arg) == 0, "spawn failed");
}

/* Runs main(arg) as a fiber and waits for it. */
static void run(cc_task_main *main, void *arg)
{
	CCTask task;

	spawn(&task, main, arg);
	bench_check(cc_task_join(task, CC_FOREVER, NULL) == 0, "join failed");
}

/* ---- how long is a bare switch? ---- */

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

/* ---- how long is a yield, with few and with many fibers? ---- */

static long yielders, yields_each, yields_seen;

static int yielder(void *arg)
{
	(void)arg;
	for (long i = 0; i < yields_each; i++) {
		yields_seen++;
		cc_yield();
	}
	return 0;
}

static int yield_root(void *arg)
{
	CCTask *task = calloc((size_t)yielders, sizeof *task);

	(void)arg;
	for (long i = 0; i < yielders; i++)
		spawn(&task[i], yielder, NULL);
	for (long i = 0; i < yielders; i++)
		bench_check(cc_task_join(task[i], CC_FOREVER, NULL) == 0, "join failed");
	free(task);
	return 0;
}

static cc_time yields(long n)
{
	cc_time begin = cc_now();

	yields_each = n / yielders + 1;
	yields_seen = 0;
	run(yield_root, NULL);
	bench_check(yields_seen == yields_each * yielders, "yields are missing");
	return cc_now() - begin;
}

static void yield_case(const char *name, long tasks)
{
	long n;
	cc_time ns;

	yielders = tasks;
	start();
	ns = bench_calibrate(20000, yields, &n);
	bench_report(name, n, ns, "\"tasks\":%ld", tasks);
	stop();
}

static void yield_pair(const char *name)
{
	yield_case(name, 2);
}

static void yield_1000(const char *name)
{
	yield_case(name, 1000);
}

/* ---- how long does a task live, at the least? ---- */

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static int spawn_join_root(void *arg)
{
	for (long i = *(long *)arg; i > 0; i--)
		run(nothing, NULL);
	return 0;
}

static cc_time spawn_joins(long n)
{
	cc_time begin = cc_now();

	run(spawn_join_root, &n);
	return cc_now() - begin;
}

static void spawn_join_seq(const char *name)
{
	long n;
	cc_time ns;

	start();
	ns = bench_calibrate(5000, spawn_joins, &n);
	bench_report(name, n, ns, "\"op\":\"spawn_and_join\"");
	stop();
}

static long ran;

static int once(void *arg)
{
	(void)arg;
	ran++;
	return 0;
}

static int batch_root(void *arg)
{
	long n = *(long *)arg;

	for (long i = 0; i < n; i++)
		spawn(NULL, once, NULL);
	while (ran < n)
		cc_yield();
	return 0;
}

static void spawn_batch(const char *name, long n)
{
	cc_time begin;

	n = bench_arg("n", n);
	start();
	begin = cc_now();
	run(batch_root, &n);
	bench_report(name, n, cc_now() - begin, "\"op\":\"spawn\"");
	bench_check(ran == n, "tasks are missing");
	stop();
}

static void spawn_batch_100k(const char *name)
{
	spawn_batch(name, 100000);
}

static void spawn_batch_1m(const char *name)
{
	spawn_batch(name, 1000000);
}

/* ---- what does a task cost in memory? ---- */

/* Resident pages and the page tables that map them. */
static long memory(void)
{
	return bench_status_bytes("VmRSS") + bench_status_bytes("VmPTE");
}

static long before, during, mappings;

/* Spawned from a fiber that does not yield: none of them can have started. */
static int unstarted_root(void *arg)
{
	long n = *(long *)arg;

	before = memory();
	for (long i = 0; i < n; i++)
		spawn(NULL, once, NULL);
	during = memory();
	return 0;
}

static void mem_case(const char *name, long n, cc_task_main *root)
{
	cc_time begin;

	n = bench_arg("n", n);
	start();
	begin = cc_now();
	run(root, &n);
	stop();
	bench_check(ran == n, "tasks are missing");
	bench_report(name, n, cc_now() - begin,
	             "\"op\":\"task\",\"bytes_per_task\":%.1f,\"mappings\":%ld",
	             (double)(during - before) / (double)n, mappings);
}

static void mem_unstarted(const char *name)	/* covers: LIF-06/b */
{
	mem_case(name, 1000000, unstarted_root);
}

static long begun, go_on;

static int stays(void *arg)
{
	(void)arg;
	begun++;
	while (!go_on)
		cc_yield();
	ran++;
	return 0;
}

static int started_root(void *arg)
{
	long n = *(long *)arg;

	before = memory();
	for (long i = 0; i < n; i++)
		spawn(NULL, stays, NULL);
	while (begun < n)
		cc_yield();
	during = memory();
	mappings = bench_mappings();
	go_on = 1;
	return 0;
}

static void mem_started(const char *name)	/* covers: SCH-03/b */
{
	mem_case(name, 100000, started_root);
}

static void mem_guards(const char *name)
{
	mem_case(name, 200000, started_root);
}

const struct bench_case bench_cases[] = {
    {"floor_switch", floor_switch},
    {"yield_pair", yield_pair},
    {"yield_1000", yield_1000},
    {"spawn_join_seq", spawn_join_seq},
    {"spawn_batch_100k", spawn_batch_100k},
    {"spawn_batch_1m", spawn_batch_1m},
    {"mem_unstarted", mem_unstarted},
    {"mem_started", mem_started},
    {"mem_guards", mem_guards},
    {NULL, NULL},
};
