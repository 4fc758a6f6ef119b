/* pool.c - what do the workers cost when there is nothing to do, and is anything
 * lost while they come and go? */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"

/* ---- an idle process ---- */

static long switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw;
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* Work wakes every worker, a second is left for them to fall asleep again, then
 * n=10 seconds are watched. */
static void idle_10s(const char *name)
{
	const long seconds = bench_arg("n", 10);
	const long tick_us = 1000000 / sysconf(_SC_CLK_TCK);
	long cpu_us, switched;

	bench_start();
	for (int i = 0; i < 1000; i++)
		bench_spawn(NULL, nothing, NULL);
	sleep(1);
	cpu_us = -bench_cpu_us();
	switched = -switches();
	sleep((unsigned)seconds);
	cpu_us += bench_cpu_us();
	switched += switches();
	bench_report(name, seconds, seconds * CC_SEC,
	             "\"op\":\"second\",\"cpu_us\":%ld,\"ticks\":%.2f,\"switches_per_s\":%.1f",
	             cpu_us, (double)cpu_us / (double)tick_us, (double)switched / (double)seconds);
	bench_stop();
}

/* ---- from sleep to work to sleep ---- */

static CCStats until_asleep(void)
{
	CCStats s;

	do {
		usleep(50);
		s = bench_stats();
	} while (s.workers_sleeping < s.workers || s.tasks_live > 0);
	return s;
}

/* Long enough to be stolen. */
static int takes_a_while(void *arg)
{
	bench_compute(*(const long *)arg);
	return 0;
}

static int has_children(void *arg)
{
	for (long i = bench_arg("children", 8); i > 0; i--)
		bench_spawn(NULL, takes_a_while, arg);
	return 0;
}

/* All workers sleep, a task from outside has children, all sleep again: how often did they
 * look for work, and what did they take?  (tests/bench/idle_path counts the branches.) */
static void idle_path(const char *name)
{
	const long n = bench_arg("n", 2000);
	CCStats before, after = {0};
	long turns = bench_turns(20000);
	cc_time ns;
	long cpu_us;

	bench_start();
	bench_spawn(NULL, nothing, NULL);
	before = until_asleep();
	cpu_us = -bench_cpu_us();
	ns = -cc_now();
	for (long i = 0; i < n; i++) {
		bench_spawn(NULL, has_children, &turns);
		after = until_asleep();
	}
	ns += cc_now();
	cpu_us += bench_cpu_us();
	bench_report(name, n, ns,
	             "\"op\":\"task\",\"cpu_us\":%ld,\"searches\":%ld,\"sleeps\":%ld,"
	             "\"steal_tries\":%ld,\"steal_hits\":%ld,\"wakes_vain\":%ld",
	             cpu_us, (long)(after.searches - before.searches),
	             (long)(after.sleeps - before.sleeps),
	             (long)(after.steal_tries - before.steal_tries),
	             (long)(after.steal_hits - before.steal_hits),
	             (long)(after.wakes_vain - before.wakes_vain));
	bench_stop();
}

/* ---- threads that spawn while workers come and go ---- */

enum { SPAWNERS = 8, AHEAD = 20000 };

/* Two seconds of work, then two in which everything ends and workers retire. */
static const cc_time WORK = 2 * CC_SEC, REST = 2 * CC_SEC;

static atomic_long spawned, finished;
static cc_time churn_end;

static int brief(void *arg)
{
	(void)arg;
	cc_yield();
	finished++;
	return 0;
}

/* Holds its worker for long enough that another is wanted. */
static int holds_worker(void *arg)
{
	(void)arg;
	usleep(50000);
	finished++;
	return 0;
}

static void *spawner(void *arg)
{
	const cc_time begin = cc_now();

	for (long i = 0; cc_now() < churn_end; i++) {
		if ((cc_now() - begin) % (WORK + REST) >= WORK) {
			usleep(1000);
			continue;
		}
		while (spawned - finished > AHEAD)
			usleep(100);
		bench_spawn(NULL, i % 10000 == 0 ? holds_worker : brief, arg);
		spawned++;
	}
	return NULL;
}

/* The most threads that there were until churn_end. */
static long most_threads(void)
{
	long most = 0;

	while (cc_now() < churn_end) {
		long now = bench_threads();

		most = now > most ? now : most;
		usleep(10000);
	}
	return most;
}

/* Waits 20 seconds at most. */
static void until_all_ended(long threads)
{
	const cc_time give_up = cc_now() + 20 * CC_SEC;

	while ((finished != spawned || bench_threads() > threads) && cc_now() < give_up)
		usleep(1000);
}

/* Spawned and finished, threads added and never retired: judged by who reads the
 * line, but for a task that is lost. */
static void churn_60s(const char *name)
{
	const cc_time begin = cc_now();
	pthread_t thread[SPAWNERS];
	long base, most;

	bench_start();
	base = bench_threads();
	churn_end = begin + bench_arg("n", 60) * CC_SEC;
	for (int i = 0; i < SPAWNERS; i++)
		bench_check(pthread_create(&thread[i], NULL, spawner, NULL) == 0, "no thread");
	most = most_threads();
	for (int i = 0; i < SPAWNERS; i++)
		pthread_join(thread[i], NULL);
	until_all_ended(base);
	bench_report(name, spawned, cc_now() - begin,
	             "\"op\":\"task\",\"spawned\":%ld,\"finished\":%ld,\"grown_by\":%ld,"
	             "\"left_over\":%ld",
	             (long)spawned, (long)finished, most - base - SPAWNERS, bench_threads() - base);
	bench_check(finished == spawned, "tasks are lost");
	bench_stop();
}

const struct bench_case bench_pool_cases[] = {
    {"idle_10s", idle_10s, BENCH_THREAD | BENCH_LONG},
    {"idle_path", idle_path, BENCH_THREAD | BENCH_LONG},
    {"churn_60s", churn_60s, BENCH_THREAD | BENCH_LONG},
    {NULL, NULL, 0},
};
