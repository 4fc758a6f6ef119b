/* timers.c - do sleepers wake in time, and how many can there be? */
#include <stdbool.h>
#include <stdlib.h>

#include "bench.h"

struct sleeper {
	cc_time length; /* how long to sleep; 0: until `deadline` */
	cc_time deadline;
	cc_time over; /* by how much it woke too late */
};

static int sleeps(void *arg)
{
	struct sleeper *s = arg;

	if (s->length != 0)
		s->deadline = cc_now() + s->length;
	bench_check(cc_sleep_until(s->deadline) == 0, "a sleep failed");
	s->over = cc_now() - s->deadline;
	return 0;
}

/* The next number of a sequence that is the same in every run. */
static uint32_t random_next(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15;
	return (uint32_t)((*state ^ *state >> 31) * 0xbf58476d1ce4e5b9 >> 32);
}

static int by_over(const void *a, const void *b)
{
	const struct sleeper *x = a, *y = b;

	return (x->over > y->over) - (x->over < y->over);
}

static long over_us(const struct sleeper *sorted, long n, double part)
{
	return (long)(sorted[(long)((double)(n - 1) * part)].over / CC_USEC);
}

/* ---- n tasks that sleep 1 to 100 ms, or begin so much later ---- */

static void spawn_sleeping(CCTask *task, struct sleeper *s)
{
	bench_spawn(task, sleeps, s);
}

/* Until then it has no stack. */
static int begins(void *arg)
{
	struct sleeper *s = arg;

	s->over = cc_now() - s->deadline;
	return 0;
}

static void spawn_later(CCTask *task, struct sleeper *s)
{
	const CCTaskOptions later = {.start = s->deadline = cc_now() + s->length};

	bench_check(cc_task_spawn(NULL, task, &later, begins, s) == 0, "spawn failed");
}

static void timers(const char *name, long n, void (*set)(CCTask *task, struct sleeper *s))
{
	struct sleeper *sleeper;
	uint64_t random = 1;
	CCTask *task;
	long cpu_us;
	cc_time ns;

	n = bench_arg("n", n);
	sleeper = bench_array(n, sizeof *sleeper);
	task = bench_array(n, sizeof *task);
	for (long i = 0; i < n; i++)
		sleeper[i].length = (cc_time)(1 + random_next(&random) % 100) * CC_MSEC;
	cpu_us = -bench_cpu_us();
	ns = -cc_now();
	for (long i = 0; i < n; i++)
		set(&task[i], &sleeper[i]);
	for (long i = 0; i < n; i++)
		bench_join(task[i]);
	ns += cc_now();
	cpu_us += bench_cpu_us();
	qsort(sleeper, (size_t)n, sizeof *sleeper, by_over);
	bench_check(sleeper[0].over >= 0, "a sleeper woke early");
	bench_report(name, n, ns, "\"cpu_us\":%ld,\"over_p50_us\":%ld,\"over_p99_us\":%ld,"
	             "\"over_max_us\":%ld", cpu_us, over_us(sleeper, n, 0.5),
	             over_us(sleeper, n, 0.99), over_us(sleeper, n, 1));
	free(task);
	free(sleeper);
}

static void timers_100k(const char *name)
{
	timers(name, 100000, spawn_sleeping);
}

static void later_100k(const char *name)
{
	timers(name, 100000, spawn_later);
}

static void timers_1k(const char *name)
{
	timers(name, 1000, spawn_sleeping);
}

/* ---- a task that is to begin in a second, and is taken back ---- */

static int never(void *arg)
{
	(void)arg;
	bench_check(false, "a task that was taken back runs");
	return 0;
}

static cc_time set_and_recall(long n)
{
	const cc_time begin = cc_now();
	CCTask task;

	for (long i = 0; i < n; i++) {
		const CCTaskOptions later = {.start = cc_now() + CC_SEC};

		bench_check(cc_task_spawn(NULL, &task, &later, never, NULL) == 0 &&
		                cc_task_recall(task) == 0,
		            "a timer failed");
	}
	return cc_now() - begin;
}

static void timer_cancel(const char *name)
{
	long n;
	const cc_time ns = bench_calibrate(50000, set_and_recall, &n);

	bench_report(name, n, ns, "\"op\":\"spawn_later_and_recall\"");
}

/* ---- many that sleep at the same time ---- */

static int count_parked(const CCFiberInfo *info, void *arg)
{
	*(long *)arg += info->state == CC_FIBER_PARKED;
	return 0;
}

static void spawn_sleepers(CCTask *task, struct sleeper *sleeper, long n, cc_time due)
{
	uint64_t random = 1;

	for (long i = 0; i < n; i++) {
		const cc_time later = random_next(&random) % (100 * CC_MSEC);

		sleeper[i] = (struct sleeper){0, due + later, INT64_MIN};
		bench_spawn(&task[i], sleeps, &sleeper[i]);
	}
}

/* A second before the first is due: how many sleep, and what does the processor
 * do until shortly before that? */
static void watch(cc_time due, long *parked, long *cpu_us)
{
	cc_sleep_until(due - CC_SEC);
	cc_fiber_each(count_parked, parked);
	*cpu_us = -bench_cpu_us();
	cc_sleep_until(due - 100 * CC_MSEC);
	*cpu_us += bench_cpu_us();
}

/* Deadlines within 0.1 s, after=SECONDS from now, in no order.  What became of
 * them is judged by who reads the line; ns_per_op is that of spawning. */
static void sleepers(const char *name, long n, long after)
{
	long parked = 0, woken = 0, early = 0, cpu_us;
	struct sleeper *sleeper;
	CCTask *task;
	cc_time begin, due, spawned;

	n = bench_arg("n", n);
	sleeper = bench_array(n, sizeof *sleeper);
	task = bench_array(n, sizeof *task);
	begin = cc_now();
	due = begin + bench_arg("after", after) * CC_SEC;
	spawn_sleepers(task, sleeper, n, due);
	spawned = cc_now() - begin;
	watch(due, &parked, &cpu_us);
	for (long i = 0; i < n; i++)
		bench_join(task[i]);
	for (long i = 0; i < n; i++) {
		woken += sleeper[i].over != INT64_MIN;
		early += sleeper[i].over < 0;
	}
	qsort(sleeper, (size_t)n, sizeof *sleeper, by_over);
	bench_report(name, n, spawned,
	             "\"op\":\"spawn\",\"parked\":%ld,\"woken\":%ld,\"early\":%ld,\"cpu_us\":%ld,"
	             "\"over_p50_us\":%ld,\"over_p99_us\":%ld,\"over_max_us\":%ld",
	             parked, woken, early, cpu_us, over_us(sleeper, n, 0.5),
	             over_us(sleeper, n, 0.99), over_us(sleeper, n, 1));
	free(task);
	free(sleeper);
}

static void sleepers_10k(const char *name) /* covers: SCH-68/b */
{
	sleepers(name, 10000, 2);
}

static void sleepers_1m(const char *name)
{
	sleepers(name, 1000000, 20);
}

const struct bench_case bench_timer_cases[] = {
    {"timers_100k", timers_100k, 0},   {"timers_1k", timers_1k, 0},
    {"later_100k", later_100k, 0},     {"timer_cancel", timer_cancel, 0},
    {"sleepers_10k", sleepers_10k, 0}, {"sleepers_1m", sleepers_1m, BENCH_LONG},
    {NULL, NULL, 0},
};
