/* parked_with_mutex.c - a fiber sleeps with a mutex locked that another one wants.
 *
 * env: CC_DEBUG_HOLD=100
 * exit: killed
 * says: hold: task [0-9]+ holder has been parked in a sleep for [0-9]+ ms and holds the mutex at 0x
 * says: locked at 0x.*; task [0-9]+ waits for it */
#include "broken.h"

static CCMutex mutex;
static CCSemaphore locked;

static cc_task_fn(holder)
{
	must(cc_mutex_lock(&mutex));
	must(cc_semaphore_post(&locked, 1));
	must(cc_sleep_ms(3600 * 1000));
	return cc_mutex_unlock(&mutex);
}

static cc_task_fn(waiter)
{
	must(cc_semaphore_wait(&locked));
	must(cc_mutex_lock(&mutex));
	return cc_mutex_unlock(&mutex);
}

static int broken(void)
{
	int err;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, holder);
		cc_spawn(n, waiter);
	}
	return err;
}
