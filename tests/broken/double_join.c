/* double_join.c - the second join of a task returns an error at once.
 *
 * exit: 1
 * says: Invalid argument */
#include "broken.h"

static int nothing(void *unused)
{
	(void)unused;
	return 0;
}

static int broken(void)
{
	CCTask t;

	must(cc_task_spawn(NULL, &t, NULL, nothing, NULL));
	must(cc_task_join(t, CC_FOREVER, NULL));
	must(cc_task_join(t, CC_FOREVER, NULL));
	return 0;
}
