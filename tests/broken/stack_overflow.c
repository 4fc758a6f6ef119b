/* stack_overflow.c - a fiber recurses without end.
 *
 * exit: SIGSEGV
 * says: stack.*overflow|overflow.*stack
 * says: 'recurse' */
#include "broken.h"

static volatile int deep = 1;

static int go_down(int n)
{
	volatile char page[1024];

	page[0] = (char)n;
	return deep ? go_down(n + 1) + page[0] : 0;
}

static cc_task_fn(recurse)
{
	return go_down(0);
}

static int broken(void)
{
	int err;

	cc_nursery_scope(n, &err)
		cc_spawn(n, recurse);
	return err;
}
