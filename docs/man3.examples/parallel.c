/* Fork and join, parallel loops: <ccc/parallel.h>. */
#include <assert.h>
#include <string.h>

#include <ccc/ccc.h>

/* Two branches in each call: the recursion is parallel as far as there are idle workers. */
static cc_par_fn(fib, int n; long *result;)
{
	long a, b;

	if (self->n < 2) {
		*self->result = self->n;
		return 0;
	}
	cc_try(cc_par2((fib, .n = self->n - 1, .result = &a), (fib, .n = self->n - 2, .result = &b)));
	*self->result = a + b;
	return 0;
}

static void fork_and_join(void)
{
	long a = 0, b = 0, c = 0;

	assert(cc_par2((fib, .n = 15, .result = &a), (fib, .n = 16, .result = &b)) == 0);
	assert(a == 610 && b == 987);
	assert(cc_par((fib, .n = 3, .result = &a), (fib, .n = 4, .result = &b),
	              (fib, .n = 5, .result = &c)) == 0);
	assert(a == 2 && b == 3 && c == 5);
}

/* Branches that call each other are declared first. */
cc_par_decl(is_even, int n; int *result;);
cc_par_decl(is_odd, int n; int *result;);

static void call_each_other(void)
{
	int even = 0, odd = 1;

	assert(cc_par2((is_even, .n = 8, .result = &even), (is_odd, .n = 8, .result = &odd)) == 0);
	assert(even == 1 && odd == 0);
}

cc_par_def(is_even)
{
	struct is_odd_captures before = {.n = self->n - 1, .result = self->result};

	if (self->n > 0)
		return cc_par_call(is_odd_par, &before);
	*self->result = 1;
	return 0;
}

cc_par_def(is_odd)
{
	struct is_even_captures before = {.n = self->n - 1, .result = self->result};

	if (self->n > 0)
		return cc_par_call(is_even_par, &before);
	*self->result = 0;
	return 0;
}

/* As many branches as are known at run time. */
static int mark(void *captures, CCPar *par)
{
	(void)par;
	*(int *)captures = 1;
	return 0;
}

static void run_an_array_of_branches(void)
{
	int done[3] = {0, 0, 0};
	CCParBranch branches[3];

	for (int i = 0; i < 3; i++)
		branches[i] = (CCParBranch){mark, &done[i]};
	assert(cc_par_all(branches, 3) == 0);
	assert(done[0] && done[1] && done[2]);
}

static cc_range_fn(scale, double *v; double by;)
{
	for (size_t i = from; i < to; i++)
		self->v[i] *= self->by;
	return 0;
}

static void loop_in_parallel(void)
{
	static double v[10000];

	v[9999] = 3;
	assert(cc_par_for(0, 10000, 1000, scale, .v = v, .by = 2) == 0);
	assert(v[9999] == 6);
}

static cc_fold_fn(sum, double, const double *v;)
{
	for (size_t i = from; i < to; i++)
		*into += self->v[i];
	return 0;
}

static cc_join_fn(sum)
{
	*into += *other;
	return 0;
}

static void sum_in_parallel(void)
{
	static double v[10000];
	double total = 0;	/* the identity of the sum */

	for (int i = 0; i < 10000; i++)
		v[i] = i;
	assert(cc_par_reduce(0, 10000, 1000, &total, sum, .v = v) == 0);
	assert(total == 49995000);
}

/* The functions behind the macros, for C++ and other languages. */
static int zero(void *captures, size_t from, size_t to)
{
	memset((char *)captures + from, 0, to - from);
	return 0;
}

static int count_zeros(void *captures, size_t from, size_t to, void *into)
{
	for (size_t i = from; i < to; i++)
		*(long *)into += ((char *)captures)[i] == 0;
	return 0;
}

static int add_counts(void *captures, void *into, const void *other)
{
	(void)captures;
	*(long *)into += *(const long *)other;
	return 0;
}

static void loop_with_functions(void)
{
	static char bytes[5000] = {1, 1, 1};
	long zeros = 0;

	assert(cc_par_range(0, sizeof bytes, 500, zero, bytes) == 0);
	assert(cc_par_fold(0, sizeof bytes, 500, count_zeros, add_counts, bytes, &zeros,
	                   sizeof zeros) == 0);
	assert(zeros == 5000);
}

int main(void)
{
	fork_and_join();
	call_each_other();
	run_an_array_of_branches();
	loop_in_parallel();
	sum_in_parallel();
	loop_with_functions();
	return 0;
}
