/* stream.c - tasks in lines, rings, pools and trees of channels: does what they send
 * each other cost little, and does work that could run in parallel do so? */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "chan.h"
#include "sky.h"

/* One task of a line: what it receives from, what it sends to. */
struct stage {
	CCChan *in, *out;
	long value;	/* the case's own */
};

/* ---- a producer, many workers, a collector ---- */

static long pool_size;

static int pool_producer(void *arg)
{
	const struct stage *s = arg;

	for (long i = 0; i < s->value; i++)
		bench_send(s->out, i);
	cc_chan_close(s->out);
	return 0;
}

static int pool_worker(void *arg)
{
	const struct stage *s = arg;

	for (long v; bench_recv(s->in, &v);)
		bench_send(s->out, v + 1);
	return 0;
}

static cc_time through_pool(long n)
{
	CCTask producer, *worker = bench_array(pool_size, sizeof *worker);
	struct stage work = {bench_chan(128), bench_chan(128), 0}, feed = {NULL, work.in, n};
	long sum = 0;
	cc_time ns = -cc_now();

	for (long i = 0; i < pool_size; i++)
		bench_spawn(&worker[i], pool_worker, &work);
	bench_spawn(&producer, pool_producer, &feed);
	for (long i = 0; i < n; i++)
		sum += bench_recv_one(work.out);
	for (long i = 0; i < pool_size; i++)
		bench_join(worker[i]);
	ns += cc_now();
	bench_check(sum == bench_sum(n) + n, "the sum is wrong");
	bench_join(producer);
	bench_chan_free(work.in);
	bench_chan_free(work.out);
	free(worker);
	return ns;
}

static void pool_case(const char *name)
{
	long n;
	cc_time ns;

	bench_check(sscanf(name, "pool_%ld", &pool_size) == 1 && pool_size > 0, "no such pool");
	ns = bench_calibrate(10000, through_pool, &n);
	bench_report(name, n, ns, "\"tasks\":%ld,\"cap\":128", pool_size);
}

/* ---- a token that goes round ---- */

static int passes_on(void *arg)
{
	const struct stage *s = arg;

	for (long v; bench_recv(s->in, &v);)
		bench_send(s->out, v);
	cc_chan_close(s->out);
	return 0;
}

/* As many rounds as the token says; then the ring is closed, from its first channel on. */
static int counts_down(void *arg)
{
	struct stage *s = arg;

	while ((s->value = bench_recv_one(s->in)) > 0)
		bench_send(s->out, s->value - 1);
	return 0;
}

/* stage[i] sends to stage[i + 1], and the last, which counts, to the first. */
static void ring_case(const char *name)
{
	long size, rounds;
	struct stage *stage;
	CCTask *task;
	cc_time ns;

	bench_check(sscanf(name, "ring_%ld", &size) == 1 && size > 1, "no such ring");
	rounds = bench_arg("n", 1000000) / size;
	bench_check(rounds > 0, "not a single round");
	stage = bench_array(size, sizeof *stage);
	task = bench_array(size, sizeof *task);
	for (long i = 0; i < size; i++)
		stage[i].in = bench_chan(bench_rendezvous());
	for (long i = 0; i < size; i++) {
		stage[i].out = stage[(i + 1) % size].in;
		bench_spawn(&task[i], i + 1 < size ? passes_on : counts_down, &stage[i]);
	}
	ns = -cc_now();
	bench_send(stage[0].in, rounds - 1);
	bench_join(task[size - 1]);
	ns += cc_now();
	bench_check(stage[size - 1].value == 0, "the token is lost");
	cc_chan_close(stage[0].in);
	for (long i = 0; i < size - 1; i++)
		bench_join(task[i]);
	for (long i = 0; i < size; i++)
		bench_chan_free(stage[i].in);
	free(stage);
	free(task);
	bench_report(bench_rendezvous_name(name), rounds * size, ns, "\"tasks\":%ld", size);
}

/* ---- the sieve: a filter for every prime ---- */

static int numbers(void *arg)
{
	const struct stage *s = arg;

	for (long i = 2; bench_send(s->out, i); i++)
		continue;
	return 0;
}

static int filters(void *arg)
{
	const struct stage *s = arg;

	for (long v; bench_recv(s->in, &v);)
		if (v % s->value != 0 && !bench_send(s->out, v))
			break;
	cc_chan_close(s->out);
	return 0;
}

/* stage[i] filters by the i-th prime, stage[0] makes numbers; the channel after the
 * last.  Ends when `primes` filters are there. */
static CCChan *grow_sieve(struct stage *stage, CCTask *task, long primes)
{
	CCChan *last = bench_chan(bench_rendezvous());

	stage[0] = (struct stage){NULL, last, 1};
	bench_spawn(&task[0], numbers, &stage[0]);
	for (long i = 1; i <= primes; i++) {
		const long prime = bench_recv_one(last);

		stage[i] = (struct stage){last, bench_chan(bench_rendezvous()), prime};
		bench_spawn(&task[i], filters, &stage[i]);
		last = stage[i].out;
	}
	return last;
}

static bool is_nth_prime(long p, long n)
{
	for (long i = 2; i <= p && n >= 0; i++) {
		long d = 2;

		while (d * d <= i && i % d != 0)
			d++;
		n -= d * d > i;
	}
	return n == 0;
}

static void sieve_2000(const char *name)
{
	const long primes = bench_arg("n", 2000);
	struct stage *stage = bench_array(primes + 1, sizeof *stage);
	CCTask *task = bench_array(primes + 1, sizeof *task);
	cc_time ns = -cc_now();
	CCChan *last = grow_sieve(stage, task, primes);

	ns += cc_now();
	bench_check(is_nth_prime(stage[primes].value, primes), "no prime, or not this one");
	cc_chan_close(stage[0].out);
	for (long v; bench_recv(last, &v);)
		continue;
	for (long i = 0; i <= primes; i++)
		bench_join(task[i]);
	for (long i = 0; i <= primes; i++)
		bench_chan_free(stage[i].out);
	bench_report(bench_rendezvous_name(name), primes, ns, "\"op\":\"prime\",\"last\":%ld",
	             stage[primes].value);
	free(stage);
	free(task);
}

/* ---- a tree that sums ---- */

static int sky(void *arg)
{
	const struct sky me = *(struct sky *)arg;
	struct sky child[SKY_CHILDREN];
	CCChan *down;
	long sum;

	if (sky_leaf(&me))
		return 0;
	down = bench_chan(bench_rendezvous());
	for (int i = 0; i < SKY_CHILDREN; i++) {
		child[i] = sky_child(&me, down, i);
		bench_spawn(NULL, sky, &child[i]);
	}
	sum = sky_sum(down);
	bench_chan_free(down);
	bench_send(me.up, sum);
	return 0;
}

static void skynet(const char *name, long leaves)
{
	struct sky root = sky_root(leaves);
	long sum;
	cc_time ns = -cc_now();

	bench_spawn(NULL, sky, &root);
	sum = bench_recv_one(root.up);
	ns += cc_now();
	sky_report(name, &root, sum, ns);
}

static void skynet_100k(const char *name)
{
	skynet(name, 100000);
}

static void skynet_1m(const char *name)
{
	skynet(name, 1000000);
}

/* ---- two stages that compute: the speed-up over one CPU is the figure ---- */

static long turns, elements;

static int computes_then_sends(void *arg)
{
	for (long i = 0; i < elements; i++) {
		bench_compute(turns);
		bench_send(arg, i + 1);
	}
	return 0;
}

static int receives_then_computes(void *arg)
{
	for (long i = 0; i < elements; i++) {
		if (bench_recv_one(arg) != i + 1)
			bench_check(0, "an element is not the next");
		bench_compute(turns);
	}
	return 0;
}

static void pipe_case(const char *name)
{
	long ns, capacity;
	CCTask producer, consumer;
	CCChan *c;
	cc_time took;

	bench_check(sscanf(name, "pipe_%ldns_cap%ld", &ns, &capacity) == 2 && ns > 0,
	            "no such pipe");
	elements = bench_arg("n", 200000000 / ns);
	turns = bench_turns(ns);
	c = bench_chan(capacity);
	took = -cc_now();
	bench_spawn(&consumer, receives_then_computes, c);
	bench_spawn(&producer, computes_then_sends, c);
	bench_join(producer);
	bench_join(consumer);
	took += cc_now();
	bench_chan_free(c);
	bench_report(name, elements, took, "\"work_ns\":%ld,\"cap\":%ld,\"speedup\":%.2f", ns,
	             capacity, 2 * (double)ns * (double)elements / (double)took);
}

const struct bench_case bench_stream_cases[] = {
    {"pool_100", pool_case, 0},
    {"pool_[1-9]*", pool_case, 0},
    {"ring_1000", ring_case, 0},
    {"ring_[1-9]*", ring_case, 0},
    {"sieve_2000", sieve_2000, 0},
    {"skynet_100k", skynet_100k, 0},
    {"skynet_1m", skynet_1m, 0},
    {"pipe_1000ns_cap16", pipe_case, 0},
    {"pipe_5000ns_cap1", pipe_case, 0},
    {"pipe_20000ns_cap0", pipe_case, 0},
    {"pipe_20000ns_cap64", pipe_case, 0},
    {"pipe_*ns_cap*", pipe_case, 0},
    {NULL, NULL, 0},
};
