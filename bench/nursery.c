/* nursery.c - what does a nursery add to a task; how soon is a tree of waiting ones gone; does an
 * old one grow?  nursery_X is X with its tasks in nurseries. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "chan.h"
#include "fib.h"
#include "sky.h"

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static void spawn(CCNursery *n, cc_task_main *main, void *arg)
{
	bench_check(cc_nursery_spawn(n, NULL, main, arg) == 0, "a spawn failed");
}

/* ---- a nursery for one child, one after the other: compare spawn_join_seq ---- */

static cc_time join_seq(long rounds)
{
	cc_time begin = cc_now();

	for (long i = 0; i < rounds; i++)
		cc_nursery_scope(n, NULL)
			spawn(n, nothing, NULL);
	return cc_now() - begin;
}

static void nursery_spawn_join_seq(const char *name)
{
	long n;
	cc_time ns = bench_calibrate(5000, join_seq, &n);

	bench_report(name, n, ns, "\"op\":\"nursery_of_one\"");
}

/* ---- the same with captures of `size` bytes: what does the copy add? ---- */

static cc_time copy_seq(long rounds)
{
	const size_t size = (size_t)bench_arg("size", 24);
	char captures[1024] = {0};
	cc_time begin = cc_now();

	bench_check(size <= sizeof captures, "size is too large");
	for (long i = 0; i < rounds; i++)
		cc_nursery_scope(n, NULL)
			bench_check(cc_nursery_spawn_copy(n, NULL, nothing, captures, size) == 0,
			            "a spawn failed");
	return cc_now() - begin;
}

static void nursery_copy_seq(const char *name)
{
	long n;
	cc_time ns = bench_calibrate(5000, copy_seq, &n);

	bench_report(name, n, ns, "\"op\":\"nursery_of_one\"");
}

/* ---- many children of one: compare spawn_batch ---- */

static atomic_long ran;

static int count(void *arg)
{
	(void)arg;
	/* Relaxed: read after the join. */
	atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
	return 0;
}

static void nursery_spawn_batch(const char *name, long n)
{
	cc_time ns;
	int err = -1;

	n = bench_arg("n", n);
	ns = -cc_now();

	ran = 0;
	cc_nursery_scope(crowd, &err)
		for (long i = 0; i < n; i++)
			spawn(crowd, count, NULL);
	ns += cc_now();
	bench_check(ran == n && err == 0, "children are missing");
	bench_report(name, n, ns, "\"op\":\"spawn\"");
}

static void nursery_spawn_batch_100k(const char *name)
{
	nursery_spawn_batch(name, 100000);
}

static void nursery_spawn_batch_1m(const char *name)
{
	nursery_spawn_batch(name, 1000000);
}

/* ---- fork and join: compare fib ---- */

static int fib_node(void *arg)
{
	struct node *me = arg;
	struct node left = {me->n - 1, me->cutoff, 0}, right = {me->n - 2, me->cutoff, 0};

	if (is_leaf(me->n, me->cutoff)) {
		me->result = fib(me->n);
		return 0;
	}
	cc_nursery_scope(n, NULL) {
		spawn(n, fib_node, &left);
		spawn(n, fib_node, &right);
	}
	me->result = left.result + right.result;
	return 0;
}

static void nursery_fib(const char *name)
{
	struct node root = {0};
	cc_time ns;

	bench_check(sscanf(name, "nursery_fib_%ld_cut%ld", &root.n, &root.cutoff) == 2,
	            "no such fib");
	ns = -cc_now();
	fib_node(&root);
	ns += cc_now();
	bench_check(root.result == fib(root.n), "the sum is wrong");
	bench_report(name, fib_tasks(root.n, root.cutoff), ns, "\"op\":\"spawned_task\"");
}

/* ---- a tree, ten wide, that sums through channels: compare skynet ---- */

static int sky(void *arg)
{
	const struct sky me = *(struct sky *)arg;
	struct sky child[SKY_CHILDREN];
	CCChan *down;
	long sum = 0;

	if (sky_leaf(&me))
		return 0;
	down = bench_chan(bench_rendezvous());
	cc_nursery_scope(n, NULL) {
		for (int i = 0; i < SKY_CHILDREN; i++) {
			child[i] = sky_child(&me, down, i);
			spawn(n, sky, &child[i]);
		}
		sum = sky_sum(down);
	}
	bench_chan_free(down);
	bench_send(me.up, sum);
	return 0;
}

static void nursery_skynet(const char *name, long leaves)
{
	struct sky root = sky_root(leaves);
	long sum = 0;
	cc_time ns = -cc_now();

	cc_nursery_scope(n, NULL) {
		spawn(n, sky, &root);
		sum = bench_recv_one(root.up);
	}
	ns += cc_now();
	sky_report(name, &root, sum, ns);
}

static void nursery_skynet_100k(const char *name)
{
	nursery_skynet(name, 100000);
}

static void nursery_skynet_1m(const char *name)
{
	nursery_skynet(name, 1000000);
}

/* ---- the same tree without channels ---- */

struct branch {
	long first, size, sum;
};

static int grow(void *arg)
{
	struct branch *me = arg, child[10];

	if (me->size == 1) {
		me->sum = me->first;
		return 0;
	}
	cc_nursery_scope(n, NULL)
		for (long i = 0; i < 10; i++) {
			const long size = me->size / 10;

			child[i] = (struct branch){me->first + i * size, size, 0};
			spawn(n, grow, &child[i]);
		}
	for (long i = 0; i < 10; i++)
		me->sum += child[i].sum;
	return 0;
}

static void nursery_tree(const char *name)
{
	struct branch root = {0};
	cc_time ns = -cc_now();

	root.size = bench_arg("n", 1000000);
	grow(&root);
	ns += cc_now();
	bench_check(root.sum == root.size * (root.size - 1) / 2, "the sum is wrong");
	bench_report(name, root.size, ns, "\"op\":\"leaf\"");
}

/* ---- 216 leaves in three levels, waiting: from the cancel to the end of the last ---- */

enum { WIDTH = 6, LEAVES = WIDTH * WIDTH * WIDTH, TIMES = 100 };

static CCChan *empty, *full;
static atomic_long waiting;

static int leaf(void *arg)
{
	const long number = atomic_fetch_add(&waiting, 1);
	int v = 0;

	(void)arg;
	if (number % 3 == 0)
		return cc_chan_recv(empty, &v, sizeof v);
	if (number % 3 == 1)
		return cc_chan_send(full, &v, sizeof v);
	return cc_chan_recv_until(empty, &v, sizeof v, cc_now() + 3600 * CC_SEC);
}

static int branch(void *arg)
{
	const intptr_t level = (intptr_t)arg;
	int err = 0;

	cc_nursery_scope(n, &err)
		for (int i = 0; i < WIDTH; i++)
			spawn(n, level > 1 ? branch : leaf, (void *)(level - 1));
	return err;
}

static cc_time tear_down(void)
{
	cc_time ns = 0;
	int err = 0;

	waiting = 0;
	cc_nursery_scope(n, &err) {
		for (int i = 0; i < WIDTH; i++)
			spawn(n, branch, (void *)2);
		while (atomic_load(&waiting) < LEAVES)
			cc_sleep_until(cc_now() + CC_MSEC);
		cc_sleep_until(cc_now() + CC_MSEC);	/* they are about to */
		ns = -cc_now();
		cc_nursery_cancel(n, 0);
	}
	bench_check(err == ECANCELED, "nobody was cut short");
	return ns + cc_now();
}

static int earlier(const void *a, const void *b)
{
	const cc_time x = *(const cc_time *)a, y = *(const cc_time *)b;

	return x < y ? -1 : x > y;
}

static void nursery_teardown(const char *name)
{
	const int v = 0;
	cc_time ns[TIMES];

	empty = cc_chan_new(sizeof v, 1);
	full = cc_chan_new(sizeof v, 1);
	bench_check(cc_chan_send(full, &v, sizeof v) == 0, "no channel");
	for (int i = 0; i < TIMES; i++)
		ns[i] = tear_down();
	qsort(ns, TIMES, sizeof *ns, earlier);
	cc_chan_free(empty);
	cc_chan_free(full);
	bench_report(name, 1, ns[TIMES / 2], "\"leaves\":%d,\"worst_ns\":%lld,\"op\":\"teardown\"",
	             LEAVES, (long long)ns[TIMES - 1]);
}

/* ---- one that lives through many children ---- */

enum { AT_ONCE = 64 };

static int one_of_many(void *arg)
{
	CCChan *c = arg;
	int v;

	return cc_chan_recv(c, &v, sizeof v);	/* listed in its scope, once in its life */
}

static long live_on(CCNursery *n, CCChan *c, long children)
{
	const int v = 0;
	long i = 0;

	for (; i < children; i += AT_ONCE) {
		for (int k = 0; k < AT_ONCE; k++)
			spawn(n, one_of_many, c);
		for (int k = 0; k < AT_ONCE; k++)
			bench_check(cc_chan_send(c, &v, sizeof v) == 0, "nobody receives");
	}
	return i;
}

static void nursery_old(const char *name)
{
	CCChan *c = cc_chan_new(sizeof(int), 0);
	const long children = bench_arg("n", 1000000);
	long ops = 0, bytes = 0;
	cc_time ns = -cc_now();
	int err = -1;

	bench_check(c != NULL, "no channel");
	cc_nursery_scope(n, &err) {
		live_on(n, c, children / 10);	/* what it needs at all */
		bytes = -bench_status_bytes("VmRSS");
		ops = live_on(n, c, children);
		bytes += bench_status_bytes("VmRSS");
	}
	ns += cc_now();
	bench_check(err == 0, "a child failed");
	cc_chan_free(c);
	bench_report(name, ops, ns, "\"op\":\"child\",\"grown_bytes\":%ld", bytes);
}

const struct bench_case bench_nursery_cases[] = {
    {"nursery_spawn_join_seq", nursery_spawn_join_seq, 0},
    {"nursery_copy_seq", nursery_copy_seq, 0},
    {"nursery_spawn_batch_100k", nursery_spawn_batch_100k, 0},
    {"nursery_spawn_batch_1m", nursery_spawn_batch_1m, 0},
    {"nursery_fib_25_cut0", nursery_fib, 0},
    {"nursery_fib_32_cut10", nursery_fib, 0},
    {"nursery_fib_*_cut*", nursery_fib, 0},
    {"nursery_skynet_100k", nursery_skynet_100k, 0},
    {"nursery_skynet_1m", nursery_skynet_1m, 0},
    {"nursery_tree_1m", nursery_tree, 0},
    {"nursery_old", nursery_old, 0},
    {"nursery_teardown", nursery_teardown, 0},
    {NULL, NULL, 0},
};
