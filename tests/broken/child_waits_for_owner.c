/* child_waits_for_owner.c - a child joins the task that owns its nursery.
 *
 * exit: SIGABRT
 * says: 'child' waits for the end of task [0-9]+
 * says: ^  fiber [0-9]+ waits for .*\n    fiber [0-9]+ 'child' .*spawned at child_waits_for_owner.c:24; in nursery 0x
 * says: a joined task must not wait for the fiber that joins it */
#include "broken.h"

static CCTask owner;
static CCSemaphore known;

static cc_task_fn(child)
{
	return cc_task_join(owner, CC_FOREVER, NULL);
}

static int own_a_nursery(void *unused)
{
	int err;

	(void)unused;
	must(cc_semaphore_wait(&known));
	cc_nursery_scope(n, &err)
		cc_spawn(n, child);
	return err;
}

static int broken(void)
{
	must(cc_task_spawn(NULL, &owner, NULL, own_a_nursery, NULL));
	must(cc_semaphore_post(&known, 1));
	return cc_task_join(owner, CC_FOREVER, NULL);
}
