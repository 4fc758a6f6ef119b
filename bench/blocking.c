/* blocking.c - does a heart go on beating while others hold the workers?  And what does a
 * blocking call cost?
 *
 * The case itself is the heart: it sleeps again and again and counts how often
 * it woke within a second. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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

/* ---- the price of a call, and of two threads that wake each other ---- */

/* (musl-gcc does not find <linux/futex.h>.) */
enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };
enum { SLICES = 31, SLICE = 500, STOPPED = 2 };

static _Atomic uint32_t ball;	/* 0: here, 1: there, STOPPED */

static void futex(int operation, uint32_t value)
{
	syscall(SYS_futex, &ball, operation, value, NULL, NULL, 0);
}

static void pass_to(uint32_t side)
{
	ball = side;
	futex(FUTEX_WAKE_PRIVATE, 1);
}

/* Sleeps at once: no side spins. */
static bool await_ball(uint32_t side)
{
	uint32_t at;

	while ((at = ball) != side && at != STOPPED)
		futex(FUTEX_WAIT_PRIVATE, at);
	return at == side;
}

static void *play(void *arg)
{
	(void)arg;
	while (await_ball(1))
		pass_to(0);
	return NULL;
}

static cc_time round_trips(long n)
{
	cc_time ns = -cc_now();

	for (long i = 0; i < n; i++) {
		pass_to(1);
		await_ball(0);
	}
	return ns + cc_now();
}

static void other_side_begins(pthread_t *thread)
{
	ball = 0;
	bench_check(pthread_create(thread, NULL, play, NULL) == 0, "no thread");
	round_trips(10);
}

static void other_side_ends(pthread_t thread)
{
	pass_to(STOPPED);
	pthread_join(thread, NULL);
}

/* Two threads that hand each other the turn by futex, a round trip. */
static void floor_futex_pingpong(const char *name)
{
	pthread_t thread;
	cc_time ns;
	long ops;

	other_side_begins(&thread);
	ns = bench_calibrate(1000, round_trips, &ops);
	other_side_ends(thread);
	bench_report(name, ops, ns, "\"threads_awake\":1");
}

static int return_17(void *arg)
{
	(void)arg;
	return 17;
}

static cc_time calls_in_a_row(long n)
{
	cc_time ns = -cc_now();
	int result = 0;

	for (long i = 0; i < n; i++)
		bench_check(cc_blocking(return_17, NULL, &result) == 0 && result == 17,
		            "cc_blocking failed");
	return ns + cc_now();
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *v)
{
	qsort(v, SLICES, sizeof *v, by_value);
	return v[SLICES / 2];
}

/* Calls and round trips in turns, so that a busy machine slows both. */
static void blocking_call(const char *name)
{
	double call[SLICES], trip[SLICES], times[SLICES];
	long cpu = 0;
	pthread_t thread;
	cc_time ns = 0;

	other_side_begins(&thread);
	calls_in_a_row(100);
	for (int i = 0; i < SLICES; i++) {
		const long before = bench_cpu_us();
		const cc_time span = calls_in_a_row(SLICE);

		cpu += bench_cpu_us() - before;
		ns += span;
		call[i] = (double)span / SLICE;
		trip[i] = (double)round_trips(SLICE) / SLICE;
		times[i] = call[i] / trip[i];
	}
	other_side_ends(thread);
	bench_report(name, (long)SLICES * SLICE, ns,
	             "\"call_ns\":%.0f,\"futex_round_trip_ns\":%.0f,\"ratio\":%.2f,"
	             "\"cpu_ns_per_call\":%.0f",
	             median_of(call), median_of(trip), median_of(times),
	             (double)cpu * 1e3 / (SLICES * SLICE));
}

/* ---- a file that is in memory, read in pieces ---- */

enum { PIECE = 64 * 1024, PIECES = 256 };

static struct reading {
	int fd;
	off_t at;
	char piece[PIECE];
} reading;

static int read_piece(void *arg)
{
	struct reading *r = arg;

	return (int)pread(r->fd, r->piece, PIECE, r->at);
}

/* Reading and hashing, as `call` makes the call that may block. */
static cc_time hash_file(int (*call)(int (*fn)(void *), void *, int *))
{
	cc_time ns = -cc_now();
	uint64_t hash = 0;
	int n = 0;

	for (reading.at = 0; reading.at < (off_t)PIECE * PIECES; reading.at += PIECE) {
		uint64_t word;

		bench_check(call(read_piece, &reading, &n) == 0 && n == PIECE, "read failed");
		for (size_t i = 0; i < PIECE; i += sizeof word) {
			memcpy(&word, reading.piece + i, sizeof word);
			hash = (hash ^ word) * 0x5851f42d4c957f2d;
		}
	}
	sink += hash;
	return ns + cc_now();
}

static int call_in_place(int (*fn)(void *), void *arg, int *result)
{
	*result = fn(arg);
	return 0;
}

static int new_file(void)
{
	char path[] = "/tmp/ccc-bench-XXXXXX";
	const int fd = mkstemp(path);

	bench_check(fd >= 0 && unlink(path) == 0, "no file in /tmp");
	for (int i = 0; i < PIECES; i++)
		bench_check(write(fd, reading.piece, PIECE) == PIECE, "write failed");
	return fd;
}

/* A file of 16 MB in the page cache: each piece of 64 KB read by cc_blocking, or in the fiber. */
static void blocking_file(const char *name)
{
	double handed[SLICES], here[SLICES], times[SLICES];
	cc_time ns = 0;

	reading.fd = new_file();
	hash_file(call_in_place);
	for (int i = 0; i < SLICES; i++) {
		const cc_time span = hash_file(cc_blocking);

		ns += span;
		handed[i] = (double)span / PIECES;
		here[i] = (double)hash_file(call_in_place) / PIECES;
		times[i] = handed[i] / here[i];
	}
	close(reading.fd);
	bench_report(name, (long)SLICES * PIECES, ns,
	             "\"blocking_ns\":%.0f,\"in_fiber_ns\":%.0f,\"ratio\":%.2f", median_of(handed),
	             median_of(here), median_of(times));
}

const struct bench_case bench_blocking_cases[] = {
    {"blocking_call", blocking_call, 0},
    {"blocking_file", blocking_file, 0},
    {"floor_futex_pingpong", floor_futex_pingpong, BENCH_THREAD},
    {"syscall_block", syscall_block, 0},
    {"syscall_block_inline", syscall_block_inline, 0},
    {"hogs", hogs, 0},
    {NULL, NULL, 0},
};
