/* fib.h - fork and join, by whatever means: both branches of a node are tasks, below the
 * cutoff plain calls. */
#ifndef BENCH_FIB_H
#define BENCH_FIB_H

#include <stdbool.h>

struct node {
	long n, cutoff, result;
};

static inline long fib(long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static inline bool is_leaf(long n, long cutoff)
{
	return n < 2 || n < cutoff;
}

static inline long fib_tasks(long n, long cutoff)
{
	return is_leaf(n, cutoff) ? 0 : 2 + fib_tasks(n - 1, cutoff) + fib_tasks(n - 2, cutoff);
}

#endif
