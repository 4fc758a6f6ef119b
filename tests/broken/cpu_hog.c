/* cpu_hog.c - a fiber computes and never lets go of its worker.
 *
 * exit: killed
 * says: stall: fiber [0-9]+ 'crunch' \(spawned at cpu_hog.c:22\) has run on worker [0-9]+ for [0-9.]+ s
 * says: it computes; call cc_yield, or ask cc_should_yield */
#include "broken.h"

static volatile unsigned sum;

static cc_task_fn(crunch)
{
	for (;;)
		sum += 1;
	return 0;
}

static int broken(void)
{
	int err;

	cc_nursery_scope(n, &err)
		cc_spawn(n, crunch);
	return err;
}
