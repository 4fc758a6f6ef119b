/* spawn.c - how long does a task live, at the least; do many share the work? */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "fib.h"

/* ---- one after the other ---- */

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static cc_time spawn_joins(long n)
{
	cc_time begin = cc_now();

	for (long i = 0; i < n; i++) {
		CCTask task;

		bench_spawn(&task, nothing, NULL);
		bench_join(task);
	}
	return cc_now() - begin;
}

static void spawn_join_seq(const char *name)
{
	long n;
	cc_time ns = bench_calibrate(5000, spawn_joins, &n);

	bench_report(name, n, ns, "\"op\":\"spawn_and_join\"");
}

/* ---- many at once ---- */

static atomic_long ran;

static int count(void *arg)
{
	(void)arg;
	/* Relaxed: read after the join. */
	atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
	return 0;
}

/* Spawns n tasks whose handles nobody wants, and waits for the last of them. */
static cc_time crowd(long n)
{
	cc_time ns = -cc_now();

	ran = 0;
	for (long i = 0; i < n; i++)
		bench_check(cc_task_spawn(NULL, NULL, NULL, count, NULL) == 0, "a spawn failed");
	while (atomic_load_explicit(&ran, memory_order_relaxed) < n)
		cc_sleep_until(cc_now() + 20 * CC_USEC);
	return ns + cc_now();
}

/* Spawns n tasks and joins each; their handles are set-up. */
static cc_time batch(long n, cc_task_main *main)
{
	CCTask *task = bench_array(n, sizeof *task);
	cc_time ns = -cc_now();

	for (long i = 0; i < n; i++)
		bench_spawn(&task[i], main, NULL);
	for (long i = 0; i < n; i++)
		bench_join(task[i]);
	ns += cc_now();
	free(task);
	return ns;
}

static void spawn_batch(const char *name, long n)
{
	cc_time ns;

	n = bench_arg("n", n);
	ns = crowd(n);
	bench_check(ran == n, "tasks are missing");
	bench_report(name, n, ns, "\"op\":\"spawn\"");
}

static void spawn_batch_100k(const char *name)
{
	spawn_batch(name, 100000);
}

static void spawn_batch_1m(const char *name)
{
	spawn_batch(name, 1000000);
}

/* ---- fork and join (fib.h) ---- */

static int fib_node(void *arg)
{
	struct node *me = arg;
	struct node left = {me->n - 1, me->cutoff, 0}, right = {me->n - 2, me->cutoff, 0};
	CCTask task[2];

	if (is_leaf(me->n, me->cutoff)) {
		me->result = fib(me->n);
		return 0;
	}
	bench_spawn(&task[0], fib_node, &left);
	bench_spawn(&task[1], fib_node, &right);
	bench_join(task[0]);
	bench_join(task[1]);
	me->result = left.result + right.result;
	return 0;
}

static void fib_case(const char *name)
{
	struct node root = {0};
	cc_time ns;

	bench_check(sscanf(name, "fib_%ld_cut%ld", &root.n, &root.cutoff) == 2, "no such fib");
	ns = -cc_now();
	fib_node(&root);
	ns += cc_now();
	bench_check(root.result == fib(root.n), "the sum is wrong");
	bench_report(name, fib_tasks(root.n, root.cutoff), ns,
	             "\"fib\":%ld,\"cutoff\":%ld,\"op\":\"spawned_task\"", root.n, root.cutoff);
}

/* ---- tasks that compute: the speed-up over one CPU is the figure ---- */

static long turns;	/* a task */

static int compute(void *arg)
{
	(void)arg;
	bench_compute(turns);
	return 0;
}

static void work_case(const char *name)	/* covers: SCH-25/b */
{
	long ns, n;
	cc_time took;

	bench_check(sscanf(name, "work_%ldns", &ns) == 1 && ns > 0, "no such work");
	n = bench_arg("n", 200000000 / ns);
	turns = bench_turns(ns);
	took = batch(n, compute);
	bench_report(name, n, took, "\"work_ns\":%ld,\"speedup\":%.2f", ns,
	             (double)ns * (double)n / (double)took);
}

const struct bench_case bench_spawn_cases[] = {
    {"spawn_join_seq", spawn_join_seq, 0},
    {"spawn_batch_100k", spawn_batch_100k, 0},
    {"spawn_batch_1m", spawn_batch_1m, 0},
    {"fib_25_cut0", fib_case, 0},
    {"fib_32_cut10", fib_case, 0},
    {"fib_40_cut25", fib_case, 0},
    {"fib_*_cut*", fib_case, 0},
    {"work_1000ns", work_case, 0},
    {"work_10000ns", work_case, 0},
    {"work_*ns", work_case, 0},
    {NULL, NULL, 0},
};
