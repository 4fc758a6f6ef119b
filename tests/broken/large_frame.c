/* large_frame.c - a fiber calls a function whose frame is larger than the fiber's stack.
 *
 * exit: SIGSEGV
 * says: stack.*overflow|overflow.*stack
 * says: 'solve' */
#include "broken.h"

static volatile int last = 400 * 1024 - 1;

static __attribute__((noinline)) int large(void)
{
	volatile char table[400 * 1024];

	for (int i = last; i >= 0; i -= 4096)
		table[i] = 1;
	return table[last];
}

static cc_task_fn(solve)
{
	return large();
}

static int broken(void)
{
	int err;

	cc_nursery_scope(n, &err)
		cc_spawn(n, solve);
	return err;
}
