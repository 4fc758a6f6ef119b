/* A function that is no task.
 * expect-gcc: 'plain_task' undeclared
 * expect-clang: use of undeclared identifier 'plain_task' */
#include <ccc/ccc.h>

static cc_task_fn(count_to, int n;)
{
	return self->n;
}

static cc_task_fn(hello)
{
	return 0;
}

int plain(void *arg);

void misuse(CCNursery *n);

void misuse(CCNursery *n)
{
#ifdef RIGHT
	cc_nursery_spawn(n, NULL, plain, NULL);
	cc_spawn(n, hello);
	cc_spawn(n, count_to, .n = 1);
#else
	cc_spawn(n, plain, .n = 1);
	cc_spawn(n, hello);
	cc_spawn(n, count_to, .n = 1);
#endif
}
