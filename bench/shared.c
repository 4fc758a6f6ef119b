/* shared.c - what does a park word between two processes cost, against the bare futex?
 *
 * A ball goes to another process and comes back.  Rounds with bare futexes, with threads
 * that wait in a shared park space, and with a fiber on this side take turns, and medians
 * are compared: only within a run do they mean something.  The two sides stay where they
 * are, on one CPU or on two; else it is the scheduler's mood that is measured.  A fiber's
 * wait goes by way of one more thread, which asks the kernel for it.  That hop is measured
 * apart, by waits whose time is over: the thread is asked, and answers without the kernel. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { SIZE = 4096, BATCHES = 11, FUTEX_WAIT_SHARED = 0, FUTEX_WAKE_SHARED = 1 };
enum kind { BARE, THREAD, FIBER, KINDS };

/* ---- places ---- */

static cpu_set_t anywhere;

/* The n-th CPU that we may use, or the last; -1: anywhere. */
static void stay(int n)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	for (size_t cpu = 0; n >= 0 && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &anywhere)) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			n--;
		}
	sched_setaffinity(0, sizeof one, CPU_COUNT(&one) > 0 ? &one : &anywhere);
}

/* What a process has of the object. */
static CCMemory *memory;
static CCParkSpace *space;
static _Atomic uint32_t *turn; /* whose it is: 0 ours, 1 the other process's */

static void open_object(void)
{
	void *at;

	bench_check(cc_memory_map(memory, &at) == 0, "no mapping");
	bench_check(cc_memory_park_space(memory, &space) == 0, "no space");
	turn = at;
}

/* ---- one side of it ---- */

static void bare_wait(uint32_t while_it_is)
{
	syscall(SYS_futex, turn, FUTEX_WAIT_SHARED, while_it_is, NULL, NULL, 0);
}

static void bare_wake(void)
{
	syscall(SYS_futex, turn, FUTEX_WAKE_SHARED, 1, NULL, NULL, 0);
}

static void park_wait(uint32_t while_it_is)
{
	bench_check(cc_park_wait(space, (const uint32_t *)(const void *)turn, while_it_is,
	                         CC_FOREVER, NULL) == 0,
	            "no wait");
}

static void park_wake(void)
{
	bench_check(cc_park_wake(space, (const uint32_t *)(const void *)turn, 1, NULL) == 0,
	            "no wake");
}

static void catch_ball(enum kind kind, uint32_t me)
{
	while (*turn != me)
		if (kind == BARE)
			bare_wait(!me);
		else
			park_wait(!me);
}

static void throw_ball(enum kind kind, uint32_t me)
{
	*turn = !me;
	if (kind == BARE)
		bare_wake();
	else
		park_wake();
}

/* ---- the other process ---- */

struct round {
	enum kind kind;
	int cpu; /* where the other side stays */
	long n;
};

static int control;

static void other_side(int socket)
{
	struct round r;
	int err;

	while ((err = cc_memory_receive(&memory, socket, SIZE)) == EAGAIN)
		bench_check(cc_wait_fd(socket, CC_FD_READ, CC_FOREVER) == 0, "no wait");
	bench_check(err == 0, "no object came");
	open_object();
	while (read(socket, &r, sizeof r) == sizeof r) {
		stay(r.cpu);
		for (long i = 0; i < r.n; i++) {
			catch_ball(r.kind, 1);
			throw_ball(r.kind, 1);
		}
	}
}

/* Before there is any runtime: its own process is like any other then. */
static pid_t start_other(void)
{
	int end[2];
	pid_t pid;

	bench_check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, end) == 0, "no sockets");
	if ((pid = fork()) == 0) {
		close(end[0]);
		other_side(end[1]);
		_exit(0);
	}
	bench_check(pid > 0, "no process");
	close(end[1]);
	control = end[0];
	return pid;
}

/* ---- this side ---- */

struct rounds {
	struct round r;
	cc_time ns;
};

static int rounds(void *arg)
{
	struct rounds *a = arg;

	bench_check(write(control, &a->r, sizeof a->r) == sizeof a->r, "the other is gone");
	a->ns = -cc_now();
	for (long i = 0; i < a->r.n; i++) {
		throw_ball(a->r.kind, 0);
		catch_ball(a->r.kind, 0);
	}
	a->ns += cc_now();
	return 0;
}

/* This side on the first CPU, the other on that one; a fiber is wherever it is. */
static double ns_of(enum kind kind, int cpu, long n)
{
	struct rounds a = {{kind, kind == FIBER ? -1 : cpu, n}, 0};
	CCTask task;

	if (kind == FIBER) {
		bench_spawn(&task, rounds, &a);
		bench_join(task);
	} else {
		stay(0);
		rounds(&a);
		stay(-1);
	}
	return (double)a.ns / (double)n;
}

static int hops(void *arg)
{
	struct rounds *a = arg;
	CCParkStatus status;

	a->ns = -cc_now();
	for (long i = 0; i < a->r.n; i++)
		bench_check(cc_park_wait(space, (const uint32_t *)(const void *)turn, 0, 1,
		                         &status) == 0 && status == CC_PARK_TIMED_OUT,
		            "no hop");
	a->ns += cc_now();
	return 0;
}

static double hop_ns(long n)
{
	struct rounds a = {.r.n = n};
	CCTask task;

	bench_spawn(&task, hops, &a);
	bench_join(task);
	return (double)a.ns / (double)n;
}

static int smaller(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, BATCHES, sizeof *v, smaller);
	return v[BATCHES / 2];
}

/* Medians of each kind, in turns. */
static void measure(int cpu, long n, double out[KINDS])
{
	double ns[KINDS][BATCHES];

	for (int b = 0; b < BATCHES; b++)
		for (enum kind k = BARE; k < KINDS; k++)
			ns[k][b] = ns_of(k, cpu, n);
	for (enum kind k = BARE; k < KINDS; k++)
		out[k] = median(ns[k]);
}

static void park_shared(const char *name)
{
	const long n = bench_arg("n", 1000);
	double one[KINDS], two[KINDS], hop;
	pid_t pid;

	bench_check(cc_memory_new(&memory, SIZE) == 0, "no object");
	if (cc_memory_park_space(memory, &space) == ENOTSUP) {
		bench_none(name);
		return;
	}
	bench_check(sched_getaffinity(0, sizeof anywhere, &anywhere) == 0, "no CPU");
	pid = start_other();
	bench_check(cc_memory_send(memory, control) == 0, "not sent");
	open_object();
	bench_start();
	measure(0, n, one);
	measure(1, n, two);
	hop = hop_ns(n);
	close(control);
	bench_check(waitpid(pid, NULL, 0) == pid, "the other does not end");
	bench_stop();
	bench_report(name, n, (cc_time)(one[THREAD] * (double)n),
	             "\"op\":\"round_trip\",\"bare_ns\":%.0f,\"over_bare\":%.3f,"
	             "\"two_cpus_ns\":%.0f,\"two_cpus_bare_ns\":%.0f,\"two_cpus_over_bare\":%.3f,"
	             "\"fiber_ns\":%.0f,\"hop_ns\":%.0f",
	             one[BARE], one[THREAD] / one[BARE], two[THREAD], two[BARE],
	             two[THREAD] / two[BARE], two[FIBER], hop);
}

const struct bench_case bench_shared_cases[] = {
    {"park_shared", park_shared, BENCH_THREAD},
    {NULL, NULL, 0},
};
