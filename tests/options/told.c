/* told.c - told WORKERS STACK-SIZE QUEUE: 0 if the library was built with these
 * defaults.  The size of the global queue shows when one worker is held and tasks
 * overflow it. */
#include <ccc/ccc.h>

#include <stdio.h>
#include <stdlib.h>

static _Bool held, open;

static int hold_worker(void *arg)
{
	(void)arg;
	__atomic_store_n(&held, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&open, __ATOMIC_ACQUIRE))
		continue;
	return 0;
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* Tasks that found room before the first one did not. */
static unsigned long queue_size(CCConfig *c)
{
	CCRuntime *rt;
	CCStats s = {0};
	unsigned long n = 0;

	c->workers = c->workers_max = 1;
	if (cc_runtime_new(&rt, c) != 0 || cc_task_spawn(rt, NULL, NULL, hold_worker, NULL) != 0)
		return 0;
	while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
		continue;
	while (s.global_overflows == 0 && n < 10000 &&
	       cc_task_spawn(rt, NULL, NULL, nothing, NULL) == 0 && cc_stats(rt, &s) == 0)
		n++;
	__atomic_store_n(&open, 1, __ATOMIC_RELEASE);
	return cc_runtime_free(rt) == 0 ? n - 1 : 0;
}

int main(int argc, char **argv)
{
	CCConfig c;
	unsigned long workers, size, queue;

	if (argc != 4 || cc_config_init(&c) != 0)
		return 2;
	workers = c.workers;
	size = c.stack_size;
	queue = queue_size(&c);
	printf("%lu workers, stacks of %lu, a queue of %lu\n", workers, size, queue);
	return workers == strtoul(argv[1], NULL, 10) && size == strtoul(argv[2], NULL, 10) &&
	               queue == strtoul(argv[3], NULL, 10)
	           ? 0
	           : 1;
}
