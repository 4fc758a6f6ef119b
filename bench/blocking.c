/* blocking.c - does a heart go on beating while others hold the workers?
 *
 * The case itself is the heart: it sleeps again and again and counts how often
 * it woke within a second. */
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#if defined(__has_include)
#if __has_include(<ccc/blocking.h>)
#include <ccc/blocking.h>
#define HAVE_BLOCKING 1
#endif
#endif

enum { LOADS_MAX = 256 };

static atomic_bool stop;
static atomic_long calls;
static atomic_ullong sink;

/* A call that blocks the thread and that nothing can take the place of. */
static int block_20ms(void *arg)
{
	const struct timespec t = {0, 20 * CC_MSEC};

	(void)arg;
	syscall(SYS_nanosleep, &t, NULL);
	return 0;
}

static int blocks_inline(void *arg)
{
	while (!stop) {
		block_20ms(arg);
		calls++;
		cc_yield();
	}
	return 0;
}

#ifdef HAVE_BLOCKING
static int blocks(void *arg)
{
	while (!stop) {
		bench_check(cc_blocking(block_20ms, arg, NULL) == 0, "cc_blocking failed");
		calls++;
		cc_yield();
	}
	return 0;
}
#endif

static int burns(void *arg)
{
	const cc_time end = cc_now() + CC_SEC;
	uint64_t x = 1;

	(void)arg;
	while (cc_now() < end)
		for (int i = 0; i < 100000; i++)
			x = x * 0x5851f42d4c957f2d + 1;
	sink += x;
	return 0;
}

static long heartbeats(cc_time begin, cc_time period)
{
	long beats = 0;

	while (cc_now() - begin < CC_SEC) {
		cc_sleep_until(cc_now() + period);
		beats += cc_now() - begin < CC_SEC;
	}
	return beats;
}

static void beats_case(const char *name, long loads, cc_task_main *load, cc_time period)
{
	CCTask task[LOADS_MAX];
	cc_time ns = -cc_now();
	long beats, made;

	bench_check(loads <= LOADS_MAX, "too many workers");
	for (long i = 0; i < loads; i++)
		bench_spawn(&task[i], load, NULL);
	beats = heartbeats(-ns, period);
	ns += cc_now();
	made = calls;
	stop = true;
	for (long i = 0; i < loads; i++)
		bench_join(task[i]);
	bench_report(name, beats, ns, "\"heartbeats\":%ld,\"ideal\":%ld,\"blocking_calls\":%ld",
	             beats, (long)(CC_SEC / period), made);
}

static void syscall_block(const char *name)
{
#ifdef HAVE_BLOCKING
	beats_case(name, 16, blocks, CC_MSEC);
#else
	bench_none(name);
#endif
}

static void syscall_block_inline(const char *name)
{
	beats_case(name, 16, blocks_inline, CC_MSEC);
}

static void hogs(const char *name)
{
	beats_case(name, 2 * bench_workers(), burns, 10 * CC_MSEC);
}

const struct bench_case bench_blocking_cases[] = {
    {"syscall_block", syscall_block, 0},
    {"syscall_block_inline", syscall_block_inline, 0},
    {"hogs", hogs, 0},
    {NULL, NULL, 0},
};
