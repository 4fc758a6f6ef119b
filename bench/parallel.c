/* parallel.c - fork and join: what a fork costs beside a call, and loops over a range.
 *
 * The forks and the plain calls of a case are timed in turns, and the field `ratio` is the forks' time
 * through the calls': that is steadier than either. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "fib.h"

enum { ROUNDS = 11 };

/* Nanoseconds of the fastest round of each. */
struct pair {
	cc_time plain, forked;
};

static void keep_faster(cc_time *best, cc_time ns)
{
	if (*best == 0 || ns < *best)
		*best = ns;
}

static struct pair in_turns(void (*plain)(void), void (*forked)(void))
{
	struct pair p = {0};

	for (int i = 0; i < ROUNDS; i++) {
		cc_time ns = -cc_now();

		plain();
		keep_faster(&p.plain, ns + cc_now());
		ns = -cc_now();
		forked();
		keep_faster(&p.forked, ns + cc_now());
	}
	return p;
}

static void report_pair(const char *name, long ops, struct pair p)
{
	bench_report(name, ops, p.forked, "\"plain_ns_per_op\":%.3f,\"ratio\":%.3f,\"rss_mb\":%.1f",
	             (double)p.plain / (double)ops, (double)p.forked / (double)p.plain,
	             (double)bench_status_bytes("VmHWM") / 1e6);
}

/* ---- fib: a fork for each call of the plain function that calls itself twice ---- */

static long fib_n, fib_cut, fib_result;

static cc_par_fn(fork_fib, long n; long *out;)
{
	long a = 0, b = 0;

	if (self->n < 2) {
		*self->out = self->n;
		return 0;
	}
	cc_try(cc_par2((fork_fib, .n = self->n - 1, .out = &a),
	               (fork_fib, .n = self->n - 2, .out = &b)));
	*self->out = a + b;
	return 0;
}

/* The same function without the fork. */
static __attribute__((noinline)) int call_fib(struct fork_fib_captures *self)
{
	long a = 0, b = 0;

	if (self->n < 2) {
		*self->out = self->n;
		return 0;
	}
	cc_try(call_fib(&(struct fork_fib_captures){.n = self->n - 1, .out = &a}));
	cc_try(call_fib(&(struct fork_fib_captures){.n = self->n - 2, .out = &b}));
	*self->out = a + b;
	return 0;
}

/* Below the cutoff plain calls. */
static cc_par_fn(fork_fib_cut, long n; long *out;)
{
	long a = 0, b = 0;

	if (is_leaf(self->n, fib_cut)) {
		*self->out = fib(self->n);
		return 0;
	}
	cc_try(cc_par2((fork_fib_cut, .n = self->n - 1, .out = &a),
	               (fork_fib_cut, .n = self->n - 2, .out = &b)));
	*self->out = a + b;
	return 0;
}

static cc_par_fn(nothing_to_do)
{
	return 0;
}

static void check_fib(int err, long out)
{
	bench_check(err == 0 && out == fib_result, "the sum is wrong");
}

static void run_plain_fib(void)
{
	check_fib(0, fib(fib_n));
}

static void run_call_fib(void)
{
	long out = 0;
	const int err = call_fib(&(struct fork_fib_captures){.n = fib_n, .out = &out});

	check_fib(err, out);
}

static void run_fork_fib(void)
{
	long out = 0;
	const int err = cc_par2((fork_fib, .n = fib_n, .out = &out), (nothing_to_do));

	check_fib(err, out);
}

static void run_fork_fib_cut(void)
{
	long out = 0;
	const int err = cc_par2((fork_fib_cut, .n = fib_n, .out = &out), (nothing_to_do));

	check_fib(err, out);
}

/* against=0: the function that returns its value, and not a function of the same shape. */
static void par_fib(const char *name)
{
	bench_check(sscanf(name, "par_fib_%ld_cut%ld", &fib_n, &fib_cut) == 2, "no such fib");
	fib_result = fib(fib_n);
	report_pair(name, fib_tasks(fib_n, fib_cut) / 2,
	            in_turns(bench_arg("against", 1) && fib_cut == 0 ? run_call_fib : run_plain_fib,
	                     fib_cut == 0 ? run_fork_fib : run_fork_fib_cut));
}

/* One of them alone, for a count of instructions: n=0 returns its value, n=1 has the same shape, n=2
 * forks. */
static void par_fib_only(const char *name)
{
	void (*const which[])(void) = {run_plain_fib, run_call_fib, run_fork_fib};
	const long n = bench_arg("n", 2);
	cc_time ns;

	bench_check(sscanf(name, "par_fib_only_%ld", &fib_n) == 1 && n >= 0 && n < 3,
	            "no such fib");
	fib_result = fib(fib_n);
	ns = -cc_now();
	which[n]();
	bench_report(name, fib_tasks(fib_n, 0) / 2, ns + cc_now(), "\"op\":\"fork\"");
}

/* ---- a tree without a cut-off, and 100 ns of work in each leaf ---- */

static long tree_depth, leaf_turns;

static cc_par_fn(fork_tree, long depth;)
{
	if (self->depth == 0) {
		bench_compute(leaf_turns);
		return 0;
	}
	return cc_par2((fork_tree, .depth = self->depth - 1),
	               (fork_tree, .depth = self->depth - 1));
}

static __attribute__((noinline)) int call_tree(struct fork_tree_captures *self)
{
	if (self->depth == 0) {
		bench_compute(leaf_turns);
		return 0;
	}
	cc_try(call_tree(&(struct fork_tree_captures){self->depth - 1}));
	return call_tree(&(struct fork_tree_captures){self->depth - 1});
}

static void run_call_tree(void)
{
	bench_check(call_tree(&(struct fork_tree_captures){tree_depth}) == 0, "it failed");
}

static void run_fork_tree(void)
{
	bench_check(cc_par2((fork_tree, .depth = tree_depth - 1),
	                    (fork_tree, .depth = tree_depth - 1)) == 0,
	            "it failed");
}

static void par_tree(const char *name)
{
	struct pair p = {0};

	bench_check(sscanf(name, "par_tree_%ld", &tree_depth) == 1, "no such tree");
	leaf_turns = bench_turns(bench_arg("leaf", 100));
	for (int i = 0; i < 2; i++) {
		cc_time ns = -cc_now();

		run_call_tree();
		keep_faster(&p.plain, ns + cc_now());
		ns = -cc_now();
		run_fork_tree();
		keep_faster(&p.forked, ns + cc_now());
	}
	report_pair(name, 1L << tree_depth, p);
}

/* ---- one fork after another, from a fiber that is in no branch ---- */

static cc_time fork_seq(long n)
{
	cc_time ns = -cc_now();

	for (long i = 0; i < n; i++)
		bench_check(cc_par2((nothing_to_do), (nothing_to_do)) == 0, "it failed");
	return ns + cc_now();
}

static void par_fork_join_seq(const char *name)
{
	long ops;
	const cc_time ns = bench_calibrate(1000, fork_seq, &ops);

	bench_report(name, ops, ns, "\"op\":\"fork\"");
}

/* ---- a loop over cheap elements ---- */

enum { ELEMENTS = 10000000 };
static unsigned *element;

static cc_range_fn(step_all, unsigned *v;)
{
	for (size_t i = from; i < to; i++)
		self->v[i] = self->v[i] * 1664525 + 1013904223;
	return 0;
}

static void run_loop(void)
{
	bench_check(step_all(&(struct step_all_captures){element}, 0, ELEMENTS) == 0, "it failed");
}

static void run_par_for(void)
{
	bench_check(
	    cc_par_for(0, ELEMENTS, (size_t)bench_arg("grain", 0), step_all, .v = element) == 0,
	    "it failed");
}

static void par_for_10m(const char *name)
{
	element = bench_array(ELEMENTS, sizeof *element);
	report_pair(name, ELEMENTS, in_turns(run_loop, run_par_for));
}

static cc_fold_fn(sum_all, uint64_t, const unsigned *v;)
{
	for (size_t i = from; i < to; i++)
		*into += self->v[i] & 15;
	return 0;
}

static cc_join_fn(sum_all)
{
	*into += *other;
	return 0;
}

static uint64_t right_sum;

static void run_sum(void)
{
	right_sum = 0;
	bench_check(sum_all(&(struct sum_all_captures){element}, 0, ELEMENTS, &right_sum) == 0,
	            "it failed");
}

static void run_par_reduce(void)
{
	uint64_t sum = 0;

	bench_check(cc_par_reduce(0, ELEMENTS, 0, &sum, sum_all, .v = element) == 0 &&
	                sum == right_sum,
	            "the sum is wrong");
}

static void par_reduce_10m(const char *name)
{
	element = bench_array(ELEMENTS, sizeof *element);
	run_loop();
	report_pair(name, ELEMENTS, in_turns(run_sum, run_par_reduce));
}

const struct bench_case bench_parallel_cases[] = {
    {"par_fib_only_*", par_fib_only, BENCH_LONG},
    {"par_fib_*", par_fib, 0},
    {"par_tree_*", par_tree, BENCH_LONG},
    {"par_fork_join_seq", par_fork_join_seq, 0},
    {"par_for_10m", par_for_10m, 0},
    {"par_reduce_10m", par_reduce_10m, 0},
    {NULL, NULL, 0},
};
