/* Step 1: a task. */
#include <stdio.h>

#include <ccc/ccc.h>

static cc_task_fn(hello)
{
	puts("hello from a task");
	return 0;
}

int main(void)
{
	int err = 0;

	cc_nursery_scope(n, &err)
		cc_spawn(n, hello);
	puts("the task has ended");
	return err;
}
