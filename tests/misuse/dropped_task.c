/* A task that may not have been spawned; but a child is its nursery's business.
 * flags: -Werror=unused-result
 * expect-gcc: [-Werror=unused-result]
 * expect-clang: [-Werror,-Wunused-result] */
#include <ccc/ccc.h>

static cc_task_fn(work, int x;)
{
	return self->x;
}

int misuse(CCTask *task);

int misuse(CCTask *task)
{
#ifdef RIGHT
	int err = 0;

	(void)task;
	cc_nursery_scope(n, &err)
		cc_spawn(n, work, .x = 1);
	return err;
#else
	cc_task_spawn(NULL, task, NULL, work_task, NULL);
	return 0;
#endif
}
