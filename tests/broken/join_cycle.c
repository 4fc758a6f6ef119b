/* join_cycle.c - two tasks join each other.
 *
 * exit: SIGABRT
 * says: waits for the end of task [0-9]+.*spawned at (.*join_cycle|0x)
 * says: a joined task must not wait for the fiber that joins it */
#include "broken.h"

static CCTask task[2];
static CCBarrier both = {.parties = 3};

static int join_the_other(void *arg)
{
	must(cc_barrier_wait(&both, NULL));
	return cc_task_join(*(CCTask *)arg, CC_FOREVER, NULL);
}

static int broken(void)
{
	must(cc_task_spawn(NULL, &task[0], NULL, join_the_other, &task[1]));
	must(cc_task_spawn(NULL, &task[1], NULL, join_the_other, &task[0]));
	must(cc_barrier_wait(&both, NULL));
	return cc_task_join(task[0], CC_FOREVER, NULL);
}
