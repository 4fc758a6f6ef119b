/* leaked_nursery.c - a task ends and leaves a nursery open.
 *
 * exit: SIGABRT
 * says: task: [0-9]+ 'leak', spawned at leaked_nursery.c:26 ended with a nursery open; join it before */
#include "broken.h"

static cc_task_fn(child)
{
	return 0;
}

static cc_task_fn(leak)
{
	CCNursery n;

	must(cc_nursery_init(&n, NULL));
	cc_spawn(&n, child);
	return 0;
}

static int broken(void)
{
	int err;

	cc_nursery_scope(around, &err)
		cc_spawn(around, leak);
	return err;
}
