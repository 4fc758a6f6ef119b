/* noise.c - a busy machine on demand: a library for LD_PRELOAD that now and then holds a
 * thread up around its calls of the system, at events and race points too (noise_point,
 * which test_main.c calls there).  tools/noise builds it and runs the tests with it.
 *
 * N1  Time passes, and nothing else changes: errno and every result stay.
 * N2  Pauses are drawn from one sequence, NOISE_SEED's.  Which thread meets which is the
 *     machine's choice: a seed makes a failure likely, not certain.
 * N3  One call in NOISE_ODDS (40) is held up, by some turns of others or by up to NOISE_MS
 *     (20) milliseconds, mostly far less.  A thread spends half a second that way at most,
 *     and then a third of its time: a test that makes a million calls ends all the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SEC INT64_C(1000000000)
#define FIRST (SEC / 2)	/* what a thread may spend before any time has passed */

static uint64_t seed = 1, odds = 40, longest = 20 * SEC / 1000;
static uint64_t drawn;		/* atomic: numbers taken from the sequence */
static _Thread_local int64_t met;	/* when we met this thread first; 0: not yet */
static _Thread_local int64_t spent;	/* by it, in pauses */

/* The function that we stand in front of. */
#define NEXT(name) \
	static __typeof__(&name) next; \
	if (__atomic_load_n(&next, __ATOMIC_RELAXED) == NULL) \
		__atomic_store_n(&next, (__typeof__(&name))dlsym(RTLD_NEXT, #name), __ATOMIC_RELAXED)

/* Held up before it and, its result known, after it. */
#define AROUND(type, name, parameters, arguments) \
	type name parameters \
	{ \
		NEXT(name); \
		pause_here(); \
		type result = next arguments; \
		pause_here(); \
		return result; \
	}

static long raw(long number, long a, long b, long c, long d, long e, long f)
{
	typedef long call(long, long, long, long, long, long, long);
	static call *next;

	if (__atomic_load_n(&next, __ATOMIC_RELAXED) == NULL)
		__atomic_store_n(&next, (call *)dlsym(RTLD_NEXT, "syscall"), __ATOMIC_RELAXED);
	return next(number, a, b, c, d, e, f);
}

static int64_t now(void)
{
	struct timespec t;

	raw(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t, 0, 0, 0, 0);
	return t.tv_sec * SEC + t.tv_nsec;
}

/* The next number of the sequence (splitmix64). */
static uint64_t draw(void)
{
	const uint64_t n = __atomic_add_fetch(&drawn, 1, __ATOMIC_RELAXED);
	uint64_t z = (seed << 32) + n * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Half of them below an eighth of the longest. */
static void sleep_a_while(uint64_t x)
{
	const int64_t ns = (int64_t)((x >> 8) % (longest >> (x & 7)) + 1);
	const struct timespec t = {ns / SEC, ns % SEC};

	raw(SYS_nanosleep, (long)&t, 0, 0, 0, 0, 0);
}

static void give_way(uint64_t turns)
{
	while (turns-- > 0)
		raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

/* What it costs is measured: on a busy machine more than was asked for. */
static void hold_up(uint64_t x)
{
	const int64_t begin = now();

	if (met == 0)
		met = begin;
	if (spent > FIRST + (begin - met) / 3)
		return;
	if (x & 1)
		sleep_a_while(draw());
	else
		give_way(x >> 61);
	spent += now() - begin;
}

static void pause_one_in(uint64_t n)
{
	const int err = errno;
	const uint64_t x = draw();

	if (x % n == 0)
		hold_up(x / n);
	errno = err;
}

static void pause_here(void)
{
	pause_one_in(odds);
}

__attribute__((visibility("default"))) void noise_point(void);
void noise_point(void)
{
	pause_here();
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL && strtoull(text, NULL, 10) > 0 ? strtoull(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void start(void)
{
	seed = number("NOISE_SEED", seed);
	odds = number("NOISE_ODDS", odds);
	longest = number("NOISE_MS", 20) * SEC / 1000;
}

/* ---- the calls ---- */

long syscall(long n, ...)
{
	long a[6], result;
	va_list list;

	va_start(list, n);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	pause_here();
	result = raw(n, a[0], a[1], a[2], a[3], a[4], a[5]);
	pause_here();
	return result;
}

/* Mostly by who waits for the others, in a loop: it should see what they do. */
int sched_yield(void)
{
	pause_one_in(64 * odds);
	return (int)raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

AROUND(int, clock_gettime, (clockid_t clock, struct timespec *t), (clock, t))
AROUND(int, nanosleep, (const struct timespec *t, struct timespec *left), (t, left))
AROUND(int, pthread_create,
       (pthread_t *t, const pthread_attr_t *a, void *(*main)(void *), void *arg), (t, a, main, arg))
AROUND(int, pthread_join, (pthread_t t, void **value), (t, value))
/* (The first thing that a worker's thread does.) */
AROUND(int, pthread_setname_np, (pthread_t t, const char *name), (t, name))
AROUND(int, pthread_mutex_lock, (pthread_mutex_t *m), (m))
AROUND(int, pthread_mutex_unlock, (pthread_mutex_t *m), (m))
AROUND(int, poll, (struct pollfd *p, nfds_t n, int ms), (p, n, ms))
AROUND(int, ppoll,
       (struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask), (p, n, t, mask))
AROUND(int, epoll_wait, (int fd, struct epoll_event *e, int most, int ms), (fd, e, most, ms))
AROUND(int, epoll_ctl, (int fd, int how, int of, struct epoll_event *e), (fd, how, of, e))
AROUND(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
AROUND(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))
