/* A capture that the task does not have.
 * expect-gcc: 'struct count_to_captures' has no member named 'm'
 * expect-clang: field designator 'm' does not refer to any field in type 'struct count_to_captures' */
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
	cc_spawn(n, count_to, .m = 3);
	cc_spawn(n, hello);
#endif
}
