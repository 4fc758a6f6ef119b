/* A task that has captures is spawned without any.
 * expect-gcc: 'struct count_to_captures' has no member named 'cc_takes_no_captures'
 * expect-clang: field designator 'cc_takes_no_captures' does not refer to any field in type 'struct count_to_captures' */
#include <ccc/ccc.h>

static cc_task_fn(count_to, int n;)
{
	return self->n;
}

static cc_task_fn(hello)
{
	return 0;
}

void misuse(CCNursery *n);

void misuse(CCNursery *n)
{
#ifdef RIGHT
	cc_spawn(n, count_to, .n = 3);
	cc_spawn(n, hello);
#else
	cc_spawn(n, count_to);
	cc_spawn(n, hello);
#endif
}
