/* broadcast.c - what does it cost to tell everybody: one element for many receivers, the latest
 * value. */
#include <ccc/broadcast.h>

#include <stdio.h>
#include <stdlib.h>

#include "chan.h"

static struct {
	CCChan *chan;
	long receivers, capacity, each;
	CCChanRx *rx;
} b;

static int hears(void *arg)
{
	const CCChanRx *rx = arg;
	long n = 0, sum = 0;

	for (long v; bench_recv(rx->chan, &v); n++)
		sum += v;
	bench_check(n == b.each && sum == bench_sum(b.each), "a receiver missed elements");
	return 0;
}

static cc_time one_to_all(long n)
{
	CCTask *task = bench_array(b.receivers, sizeof *task);
	cc_time ns;

	b.rx = bench_array(b.receivers, sizeof *b.rx);
	b.chan = cc_broadcast_new(sizeof(long), (size_t)b.capacity);
	bench_check(b.chan != NULL, "no broadcast channel");
	b.each = n;
	for (long i = 0; i < b.receivers; i++)
		bench_check(cc_chan_subscribe(b.chan, &b.rx[i]) == 0, "no subscription");
	ns = -cc_now();
	for (long i = 0; i < b.receivers; i++)
		bench_spawn(&task[i], hears, &b.rx[i]);
	for (long i = 0; i < n; i++)
		bench_send(b.chan, i);
	cc_chan_close(b.chan);
	for (long i = 0; i < b.receivers; i++)
		bench_join(task[i]);
	ns += cc_now();
	for (long i = 0; i < b.receivers; i++)
		bench_check(cc_chan_unsubscribe(b.rx[i]) == 0, "a subscription is in use");
	bench_chan_free(b.chan);
	free(b.rx);
	free(task);
	return ns;
}

/* An operation is one element sent and received by all. */
static void broadcast_case(const char *name)
{
	long n;
	cc_time ns;

	b.capacity = 64;
	bench_check(sscanf(name, "broadcast_%ld_cap%ld", &b.receivers, &b.capacity) >= 1 &&
	                b.receivers > 0 && b.capacity > 0,
	            "no such broadcast");
	ns = bench_calibrate(5000, one_to_all, &n);
	bench_report(name, n, ns, "\"receivers\":%ld,\"cap\":%ld", b.receivers, b.capacity);
}

/* A value is set, and one reader gets it: nothing waits. */
static cc_time set_and_get(long n)
{
	CCChan *c = cc_watch_new(sizeof(long));
	long sum = 0, v = 0;
	cc_time ns = -cc_now();

	bench_check(c != NULL, "no watch channel");
	for (long i = 0; i < n; i++) {
		bench_send(c, i);
		bench_check(cc_watch_get(c, &v, sizeof v) == 0, "no value");
		sum += v;
	}
	ns += cc_now();
	bench_check(sum == bench_sum(n), "the sum is wrong");
	bench_chan_free(c);
	return ns;
}

static void watch_case(const char *name)
{
	long n;
	const cc_time ns = bench_calibrate(100000, set_and_get, &n);

	bench_report(name, n, ns, "\"op\":\"send_and_get\"");
}

const struct bench_case bench_broadcast_cases[] = {
    {"broadcast_1_cap64", broadcast_case, 0},
    {"broadcast_10_cap64", broadcast_case, 0},
    {"broadcast_100_cap1", broadcast_case, 0},
    {"broadcast_*_cap*", broadcast_case, 0},
    {"watch_local", watch_case, 0},
    {NULL, NULL, 0},
};
