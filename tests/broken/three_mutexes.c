/* three_mutexes.c - three fibers hold a mutex each and want that of the next one.
 *
 * exit: SIGABRT
 * says: fiber [0-9]+ 'philosopher' waits for mutex 0x.*spawned at three_mutexes.c:27
 * says: 3 fibers and 1 thread|4 fibers and 1 thread
 * says: lock several mutexes in the same order everywhere */
#include "broken.h"

static CCMutex fork_of[3];
static CCBarrier all = {.parties = 3};

static cc_task_fn(philosopher, int seat;)
{
	must(cc_mutex_lock(&fork_of[self->seat]));
	must(cc_barrier_wait(&all, NULL));
	must(cc_mutex_lock(&fork_of[(self->seat + 1) % 3]));
	must(cc_mutex_unlock(&fork_of[(self->seat + 1) % 3]));
	return cc_mutex_unlock(&fork_of[self->seat]);
}

static int broken(void)
{
	int err;

	cc_nursery_scope(n, &err)
		for (int i = 0; i < 3; i++)
			cc_spawn(n, philosopher, .seat = i);
	return err;
}
