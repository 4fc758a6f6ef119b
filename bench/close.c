/* close.c - many tasks that wait on one channel: what do they cost, how soon does one
 * of them run, and how soon do all of them? */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "chan.h"

static int by_time(const void *a, const void *b)
{
	const cc_time x = *(const cc_time *)a, y = *(const cc_time *)b;

	return (x > y) - (x < y);
}

static atomic_long begun;

/* Until n tasks have begun, and then long enough for all of them to wait.  (To look at
 * a million fibers would keep the worker for so long that it gets help.) */
static void until_parked(long n)
{
	while (begun < n)
		cc_sleep_until(cc_now() + CC_MSEC);
	cc_sleep_until(cc_now() + 20 * CC_MSEC);
	begun = 0;
}

/* ---- a message to one of many, and its answer ---- */

static CCChan *messages, *answers;

static int herd_member(void *arg)
{
	(void)arg;
	begun++;
	for (long sent; bench_recv(messages, &sent);)
		bench_send(answers, (long)cc_now() - sent);
	return 0;
}

static void herd_case(const char *name)
{
	const long n = bench_arg("n", 400000);
	cc_time *late = bench_array(n, sizeof *late), ns;
	CCTask *task;
	long size;

	bench_check(sscanf(name, "herd_%ld", &size) == 1 && size > 0 && n > 0, "no such herd");
	task = bench_array(size, sizeof *task);
	messages = bench_chan(0);
	answers = bench_chan(0);
	for (long i = 0; i < size; i++)
		bench_spawn(&task[i], herd_member, NULL);
	until_parked(size);
	ns = -cc_now();
	for (long i = 0; i < n; i++) {
		bench_send(messages, (long)cc_now());
		late[i] = bench_recv_one(answers);
	}
	ns += cc_now();
	cc_chan_close(messages);
	for (long i = 0; i < size; i++)
		bench_join(task[i]);
	bench_chan_free(messages);
	bench_chan_free(answers);
	qsort(late, (size_t)n, sizeof *late, by_time);
	bench_check(late[0] >= 0, "received before it was sent");
	bench_report(name, n, ns,
	             "\"lat_p50_ns\":%lld,\"lat_p99_ns\":%lld,\"lat_max_ns\":%lld,\"parked\":%ld",
	             (long long)late[(n - 1) / 2], (long long)late[(n - 1) / 100 * 99],
	             (long long)late[n - 1], size);
	free(late);
	free(task);
}

/* ---- close: one call, and they all run ---- */

static atomic_long left;

/* The last one tells. */
static int until_closed(void *arg)
{
	long v;

	begun++;
	bench_check(cc_chan_recv(arg, &v, sizeof v) == EPIPE, "received from an empty channel");
	/* Acq_rel: the check above, in all of them, to whoever is told. */
	if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) == 1)
		bench_send(answers, 1);
	return 0;
}

struct wake {
	cc_time create, call, all;	/* until all are parked; the close itself; until all ran */
	long bytes;			/* of them, parked */
};

/* Resident pages and the page tables that map them. */
static long memory(void)
{
	return bench_status_bytes("VmRSS") + bench_status_bytes("VmPTE");
}

static struct wake close_on(long n)
{
	CCChan *c = bench_chan(0);
	struct wake w = {-cc_now(), 0, 0, -memory()};
	cc_time begin;

	left = n;
	for (long i = 0; i < n; i++)
		bench_spawn(NULL, until_closed, c);
	until_parked(n);
	w.create += cc_now();
	w.bytes += memory();
	begin = cc_now();
	cc_chan_close(c);
	w.call = cc_now() - begin;
	bench_recv_one(answers);
	w.all = cc_now() - begin;
	bench_chan_free(c);
	return w;
}

static void mem(const char *name, long n)
{
	struct wake w;

	n = bench_arg("n", n);
	answers = bench_chan(1);
	w = close_on(n);
	bench_chan_free(answers);
	bench_report(name, n, w.all,
	             "\"bytes_per_task\":%.1f,\"create_s\":%.6f,\"wake_all_s\":%.6f,"
	             "\"op\":\"wake_by_close\"",
	             (double)w.bytes / (double)n, (double)w.create / 1e9, (double)w.all / 1e9);
}

static void mem_100k(const char *name)
{
	mem(name, 100000);
}

static void mem_1m(const char *name)
{
	mem(name, 1000000);
}

/* The median of five, of the time until all ran. */
static void close_100k(const char *name)
{
	enum { ROUNDS = 5 };
	const long n = bench_arg("n", 100000);
	cc_time call[ROUNDS], all[ROUNDS];

	answers = bench_chan(1);
	for (int i = 0; i < ROUNDS; i++) {
		const struct wake w = close_on(n);

		call[i] = w.call;
		all[i] = w.all;
	}
	bench_chan_free(answers);
	qsort(call, ROUNDS, sizeof *call, by_time);
	qsort(all, ROUNDS, sizeof *all, by_time);
	bench_report(name, n, all[ROUNDS / 2],
	             "\"op\":\"wake_by_close\",\"close_ns_per_op\":%.2f,\"worst_ns_per_op\":%.2f",
	             (double)call[ROUNDS / 2] / (double)n, (double)all[ROUNDS - 1] / (double)n);
}

const struct bench_case bench_close_cases[] = {
    {"herd_1000", herd_case, 0}, {"herd_[1-9]*", herd_case, 0}, {"close_100k", close_100k, 0},
    {"mem_100k", mem_100k, 0},   {"mem_1m", mem_1m, 0},         {NULL, NULL, 0},
};
