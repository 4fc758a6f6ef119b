/* destroyed_nursery.c - a nursery is destroyed before it is joined.
 *
 * exit: SIGABRT
 * says: nursery: destroyed while it is open; join it first */
#include "broken.h"

static cc_task_fn(child)
{
	return cc_sleep_ms(3600 * 1000);
}

static int broken(void)
{
	CCNursery n;

	must(cc_nursery_init(&n, NULL));
	cc_spawn(&n, child);
	cc_nursery_fini(&n);
	return 0;
}
