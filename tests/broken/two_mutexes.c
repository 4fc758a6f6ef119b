/* two_mutexes.c - two fibers lock two mutexes in opposite order.
 *
 * exit: SIGABRT
 * says: fiber [0-9]+ 'left_first' waits for mutex 0x
 * says: fiber [0-9]+ 'right_first' waits for mutex 0x
 * says: 'right_first' .*spawned at two_mutexes.c:39
 * says: lock several mutexes in the same order everywhere */
#include "broken.h"

static CCMutex left, right;
static CCBarrier both = {.parties = 2};

static int lock(CCMutex *first, CCMutex *second)
{
	must(cc_mutex_lock(first));
	must(cc_barrier_wait(&both, NULL));
	must(cc_mutex_lock(second));
	must(cc_mutex_unlock(second));
	return cc_mutex_unlock(first);
}

static cc_task_fn(left_first)
{
	return lock(&left, &right);
}

static cc_task_fn(right_first)
{
	return lock(&right, &left);
}

static int broken(void)
{
	int err;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, left_first);

		cc_spawn(n, right_first);
	}
	return err;
}
