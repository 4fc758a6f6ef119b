/* blocking_pool_exhausted.c - every thread for blocking calls waits for a call that finds no thread.
 *
 * exit: killed
 * says: stall: all [0-9]+ threads for blocking calls are busy, and 1 calls? ha[sv]e? waited
 * says: raise CCConfig.blocking_max, or do not let one call of cc_blocking wait for another */
#include "broken.h"

#include <semaphore.h>

enum { ALL = 64 };	/* CCConfig.blocking_max */

static sem_t started, released;

static int wait_for_release(void *unused)
{
	(void)unused;
	sem_post(&started);
	return sem_wait(&released);
}

static int release(void *unused)
{
	(void)unused;
	for (int i = 0; i < ALL; i++)
		sem_post(&released);
	return 0;
}

static cc_task_fn(call, int (*function)(void *);)
{
	return cc_blocking(self->function, NULL, NULL);
}

static int broken(void)
{
	int err;

	sem_init(&started, 0, 0);
	sem_init(&released, 0, 0);
	cc_nursery_scope(n, &err) {
		for (int i = 0; i < ALL; i++)
			cc_spawn(n, call, .function = wait_for_release);
		for (int i = 0; i < ALL; i++)
			while (sem_trywait(&started) != 0)
				must(cc_sleep_ms(1));
		cc_spawn(n, call, .function = release);
	}
	return err;
}
