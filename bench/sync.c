/* sync.c - how long is a lock, and a sleep on a word? */
#include <stdatomic.h>

#include "bench.h"

/* ---- many tasks, one mutex ---- */

enum { TASKS = 64 };

static CCMutex mutex;
static long counter; /* mutex */

static int locks(void *arg)
{
	for (long i = *(const long *)arg; i > 0; i--) {
		bench_check(cc_mutex_lock(&mutex) == 0, "no lock");
		counter++;
		bench_check(cc_mutex_unlock(&mutex) == 0, "no unlock");
	}
	return 0;
}

static cc_time crowd(long n)
{
	CCTask task[TASKS];
	long each = n / TASKS;
	cc_time ns;

	counter = 0;
	ns = -cc_now();
	for (int i = 0; i < TASKS; i++)
		bench_spawn(&task[i], locks, &each);
	for (int i = 0; i < TASKS; i++)
		bench_join(task[i]);
	ns += cc_now();
	bench_check(counter == each * TASKS, "the count is wrong");
	return ns;
}

static void mutex_64(const char *name)
{
	long n;
	cc_time ns = bench_calibrate(TASKS * 1000, crowd, &n);

	bench_report(name, n, ns, "\"op\":\"lock_unlock\",\"tasks\":%d", TASKS);
}

/* ---- nobody else wants it ---- */

static cc_time alone(long n)
{
	cc_time ns = -cc_now();

	locks(&n);
	return ns + cc_now();
}

static void mutex_local(const char *name)
{
	long n;
	cc_time ns = bench_calibrate(100000, alone, &n);

	bench_report(name, n, ns, "\"op\":\"lock_unlock\"");
}

/* ---- words ---- */

static _Atomic uint32_t word;

static const uint32_t *at(_Atomic uint32_t *w)
{
	return (const uint32_t *)(const void *)w;
}

static cc_time mismatches(long n)
{
	CCParkStatus status = CC_PARK_WOKEN;
	cc_time ns = -cc_now();

	for (long i = 0; i < n; i++)
		cc_ignore(cc_park_wait(cc_park_space(), at(&word), 1, CC_FOREVER, &status));
	ns += cc_now();
	bench_check(status == CC_PARK_VALUE_MISMATCH, "it slept");
	return ns;
}

static void park_mismatch(const char *name)
{
	long n;
	cc_time ns = bench_calibrate(100000, mismatches, &n);

	bench_report(name, n, ns, "\"op\":\"wait\"");
}

static cc_time empty_wakes(long n)
{
	uint32_t woken = 0;
	cc_time ns = -cc_now();

	for (long i = 0; i < n; i++)
		cc_park_wake(cc_park_space(), at(&word), 1, &woken);
	ns += cc_now();
	bench_check(woken == 0, "somebody slept");
	return ns;
}

static void park_empty_wake(const char *name)
{
	long n;
	cc_time ns = bench_calibrate(100000, empty_wakes, &n);

	bench_report(name, n, ns, "\"op\":\"wake\"");
}

/* Two fibers in turn: each sleeps until the other has written its number, once a round. */
static _Atomic uint32_t turn;

static void my_turn(uint32_t me)
{
	while (atomic_load(&turn) != me)
		cc_ignore(cc_park_wait(cc_park_space(), at(&turn), !me, CC_FOREVER, NULL));
	atomic_store(&turn, !me);
	cc_park_wake(cc_park_space(), at(&turn), 1, NULL);
}

static int other_turns(void *arg)
{
	for (long i = *(const long *)arg; i > 0; i--)
		my_turn(1);
	return 0;
}

static cc_time turns(long n)
{
	long each = n / 2;
	CCTask other;
	cc_time ns;

	atomic_store(&turn, 0);
	bench_spawn(&other, other_turns, &each);
	ns = -cc_now();
	for (long i = each; i > 0; i--)
		my_turn(0);
	bench_join(other);
	return ns + cc_now();
}

static void park_pair(const char *name)
{
	long n;
	cc_time ns = bench_calibrate(10000, turns, &n);

	bench_report(name, n, ns, "\"op\":\"wait_and_wake\"");
}

const struct bench_case bench_sync_cases[] = {
    {"mutex_64", mutex_64, 0},
    {"mutex_local", mutex_local, 0},
    {"park_mismatch", park_mismatch, 0},
    {"park_empty_wake", park_empty_wake, 0},
    {"park_pair", park_pair, 0},
    {NULL, NULL, 0},
};
