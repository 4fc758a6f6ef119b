/* A capture gets a value of another type.
 * expect-gcc: incompatible types when initializing type 'int' using type 'struct point'
 * expect-clang: initializing 'int' with an expression of incompatible type 'struct point' */
#include <ccc/ccc.h>

struct point {
	int x, y;
};

static cc_task_fn(count_to, int n;)
{
	return self->n;
}

static cc_task_fn(hello)
{
	return 0;
}

void misuse(CCNursery *n, struct point p);

void misuse(CCNursery *n, struct point p)
{
#ifdef RIGHT
	cc_spawn(n, count_to, .n = p.x);
	cc_spawn(n, hello);
#else
	cc_spawn(n, count_to, .n = p);
	cc_spawn(n, hello);
#endif
}
