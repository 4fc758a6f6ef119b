/* chan.c - how long does an element take from one task to another? */
#include "chan.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

CCChan *bench_chan(long capacity)
{
	CCChan *c;

	bench_check(capacity >= 0, "no such capacity");
	c = cc_chan_new(sizeof(long), (size_t)capacity);
	bench_check(c != NULL, "no memory for a channel");
	return c;
}

void bench_chan_free(CCChan *c)
{
	bench_check(cc_chan_free(c) == 0, "a channel is still in use");
}

long bench_rendezvous(void)
{
	return bench_arg("cap", 0);
}

const char *bench_rendezvous_name(const char *name)
{
	static char with_capacity[80];

	if (bench_arg("cap", -1) < 0)
		return name;
	snprintf(with_capacity, sizeof with_capacity, "%s_cap%ld", name, bench_rendezvous());
	return with_capacity;
}

/* ---- one task that sends and receives: nobody waits ---- */

static cc_time local(long n)
{
	CCChan *c = bench_chan(16);
	long sum = 0;
	cc_time ns = -cc_now();

	for (long i = 0; i < n; i++) {
		bench_send(c, i);
		sum += bench_recv_one(c);
	}
	ns += cc_now();
	bench_check(sum == bench_sum(n), "the sum is wrong");
	bench_chan_free(c);
	return ns;
}

static void chan_local(const char *name) /* covers: CHN-13/b */
{
	long n;
	cc_time ns = bench_calibrate(100000, local, &n);

	bench_report(name, n, ns, "\"op\":\"send_and_receive\",\"cap\":16");
}

/* ---- there and back ---- */

struct pair {
	CCChan *there, *back;
};

static int answers_one_more(void *arg)
{
	const struct pair *p = arg;

	for (long v; bench_recv(p->there, &v);)
		bench_send(p->back, v + 1);
	return 0;
}

static cc_time round_trips(long n)
{
	struct pair p = {bench_chan(bench_rendezvous()), bench_chan(bench_rendezvous())};
	CCTask other;
	cc_time ns;
	long v = 0;

	bench_spawn(&other, answers_one_more, &p);
	ns = -cc_now();
	for (long i = 0; i < n; i++) {
		bench_send(p.there, v);
		v = bench_recv_one(p.back);
	}
	ns += cc_now();
	bench_check(v == n, "answers are missing");
	cc_chan_close(p.there);
	bench_join(other);
	bench_chan_free(p.there);
	bench_chan_free(p.back);
	return ns;
}

static void pingpong_unbuf(const char *name)
{
	long n;
	cc_time ns = bench_calibrate(5000, round_trips, &n);

	bench_report(bench_rendezvous_name(name), n, ns, "\"op\":\"round_trip\"");
}

/* ---- there and back, where each receive has a deadline that is never met ---- */

static bool recv_in_time(CCChan *c, long *v)
{
	const int err = cc_chan_timed_recv(c, v, sizeof *v, CC_SEC);

	if (err != 0)
		bench_check(cc_chan_closed(c), "a receive took a second");
	return err == 0;
}

static int answers_in_time(void *arg)
{
	const struct pair *p = arg;

	for (long v; recv_in_time(p->there, &v);)
		bench_send(p->back, v);
	return 0;
}

/* A round trip is two receives. */
static cc_time timed_receives(long n)
{
	struct pair p = {bench_chan(0), bench_chan(0)};
	long got = 0, sum = 0;
	CCTask other;
	cc_time ns;

	bench_spawn(&other, answers_in_time, &p);
	ns = -cc_now();
	for (long i = 0; i < n / 2; i++) {
		bench_send(p.there, i);
		recv_in_time(p.back, &got);
		sum += got;
	}
	ns += cc_now();
	bench_check(sum == bench_sum(n / 2), "the sum is wrong");
	cc_chan_close(p.there);
	bench_join(other);
	bench_chan_free(p.there);
	bench_chan_free(p.back);
	return ns;
}

static void select_timeout(const char *name)
{
	long n;
	cc_time ns = bench_calibrate(5000, timed_receives, &n);

	bench_report(name, n, ns, "\"op\":\"receive_with_timeout\"");
}

/* ---- some senders, some receivers, one channel ---- */

static struct {
	CCChan *chan;
	long producers, consumers, capacity;
	long each;	/* elements of a producer */
	atomic_long received, sum;
} m;

static int produces(void *arg)
{
	CCChan *c = arg;

	for (long i = 0; i < m.each; i++)
		bench_send(c, i);
	return 0;
}

static int consumes(void *arg)
{
	CCChan *c = arg;
	long n = 0, sum = 0;

	for (long v; bench_recv(c, &v); n++)
		sum += v;
	/* Relaxed, both: read after the join. */
	atomic_fetch_add_explicit(&m.received, n, memory_order_relaxed);
	atomic_fetch_add_explicit(&m.sum, sum, memory_order_relaxed);
	return 0;
}

static void spawn_all(CCTask *task, long n, cc_task_main *main)
{
	for (long i = 0; i < n; i++)
		bench_spawn(&task[i], main, m.chan);
}

static void join_all(const CCTask *task, long n)
{
	for (long i = 0; i < n; i++)
		bench_join(task[i]);
}

static cc_time many_to_many(long n)
{
	CCTask *producer = bench_array(m.producers, sizeof *producer);
	CCTask *consumer = bench_array(m.consumers, sizeof *consumer);
	cc_time ns;

	m.chan = bench_chan(m.capacity);
	m.each = n / m.producers + 1;
	m.received = m.sum = 0;
	ns = -cc_now();
	spawn_all(consumer, m.consumers, consumes);
	spawn_all(producer, m.producers, produces);
	join_all(producer, m.producers);
	cc_chan_close(m.chan);
	join_all(consumer, m.consumers);
	ns += cc_now();
	bench_check(m.received == m.producers * m.each, "elements are missing");
	bench_check(m.sum == m.producers * bench_sum(m.each), "the sum is wrong");
	bench_chan_free(m.chan);
	free(producer);
	free(consumer);
	return ns;
}

static void mpmc_case(const char *name)
{
	long n;
	cc_time ns;

	m.producers = m.consumers = 1;
	m.capacity = 0;
	bench_check(
	    sscanf(name, "spsc_cap%ld", &m.capacity) == 1 ||
		sscanf(name, "mpmc_%ldx%ld_cap%ld", &m.producers, &m.consumers, &m.capacity) >= 2,
	    "no such channel");
	bench_check(m.producers > 0 && m.consumers > 0, "nobody sends or receives");
	ns = bench_calibrate(10000, many_to_many, &n);
	bench_report(name, n, ns, "\"producers\":%ld,\"consumers\":%ld,\"cap\":%ld", m.producers,
	             m.consumers, m.capacity);
}

/* ---- the first of several rendezvous, a producer each ---- */

static long select_width;

/* `total` receives by select; the sum of what came. */
static long select_each(const CCCase *cases, const long *value, long total)
{
	long sum = 0;
	size_t which;

	for (long i = 0; i < total; i++) {
		if (cc_select(cases, (size_t)select_width, CC_FOREVER, &which) != 0)
			bench_check(0, "a select failed");
		sum += value[which];
	}
	return sum;
}

static cc_time selects(long n)
{
	CCCase *cases = bench_array(select_width, sizeof *cases);
	CCTask *task = bench_array(select_width, sizeof *task);
	long *value = bench_array(select_width, sizeof *value);
	long sum;
	cc_time ns;

	m.each = n / select_width + 1;
	for (long i = 0; i < select_width; i++) {
		cases[i] = cc_case_recv(bench_chan(0), &value[i], sizeof *value);
		bench_spawn(&task[i], produces, cases[i].on.chan);
	}
	ns = -cc_now();
	sum = select_each(cases, value, m.each * select_width);
	ns += cc_now();
	bench_check(sum == select_width * bench_sum(m.each), "the sum is wrong");
	join_all(task, select_width);
	for (long i = 0; i < select_width; i++)
		bench_chan_free(cases[i].on.chan);
	free(cases);
	free(task);
	free(value);
	return ns;
}

static void select_case(const char *name)
{
	long n;
	cc_time ns;

	bench_check(sscanf(name, "select_%ld", &select_width) == 1 && select_width > 0,
	            "no such select");
	ns = bench_calibrate(5000, selects, &n);
	bench_report(name, n, ns, "\"channels\":%ld,\"cap\":0", select_width);
}

const struct bench_case bench_chan_cases[] = {
    {"chan_local", chan_local, 0},
    {"pingpong_unbuf", pingpong_unbuf, 0},
    {"select_timeout", select_timeout, 0},
    {"spsc_cap1", mpmc_case, 0},
    {"spsc_cap16", mpmc_case, 0},
    {"spsc_cap1024", mpmc_case, 0},
    {"spsc_cap*", mpmc_case, 0},
    {"mpmc_4x4_cap1", mpmc_case, 0},
    {"mpmc_4x4_cap64", mpmc_case, 0},
    {"mpmc_4x4_cap1024", mpmc_case, 0},
    {"mpmc_64x64_cap1", mpmc_case, 0},
    {"mpmc_64x64_cap64", mpmc_case, 0},
    {"mpmc_64x64_cap1024", mpmc_case, 0},
    {"mpmc_8x8_unbuf", mpmc_case, 0},
    {"mpmc_*x*_cap*", mpmc_case, 0},
    {"mpmc_*x*_unbuf", mpmc_case, 0},
    {"select_2", select_case, 0},
    {"select_8", select_case, 0},
    {"select_32", select_case, 0},
    {"select_[1-9]*", select_case, 0},
    {NULL, NULL, 0},
};
