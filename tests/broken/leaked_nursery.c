/* leaked_nursery.c - a task ends and leaves a nursery open.
 *
 * exit: SIGABRT
 * says: ended inside a nursery|a scope was left|nursery */
#include "broken.h"

static cc_task_fn(child)
{
	return 0;
}

static int leak(void *unused)
{
	CCNursery n;

	(void)unused;
	must(cc_nursery_init(&n, NULL));
	cc_spawn(&n, child);
	return 0;
}

static int broken(void)
{
	CCTask t;

	must(cc_task_spawn(NULL, &t, NULL, leak, NULL));
	return cc_task_join(t, CC_FOREVER, NULL);
}
