/* child_ignores_cancellation.c - a child repeats a wait that ends with ECANCELED, so it never ends.
 *
 * exit: killed
 * says: stall: fiber [0-9]+ 'stubborn' \(spawned at child_ignores_cancellation.c:2[0-9]\)
 * says: it has been cancelled; end the task when a call returns ECANCELED */
#include "broken.h"

static cc_task_fn(stubborn)
{
	for (;;)
		cc_ignore(cc_sleep_ms(1));
	return 0;
}

static int broken(void)
{
	int err;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, stubborn);
		must(cc_nursery_cancel(n, 0));
	}
	return err;
}
