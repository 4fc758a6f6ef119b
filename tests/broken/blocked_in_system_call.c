/* blocked_in_system_call.c - a fiber reads from a pipe with read(2), and keeps its worker.
 *
 * exit: killed
 * says: stall: fiber [0-9]+ 'reader' \(spawned at blocked_in_system_call.c:2[0-9]\)
 * says: it is blocked in a system call; make such calls by cc_blocking */
#include "broken.h"

#include <unistd.h>

static int ends[2];

static cc_task_fn(reader)
{
	char byte;

	return read(ends[0], &byte, 1) == 1 ? 0 : EIO;
}

static int broken(void)
{
	int err;

	must(pipe(ends) == 0 ? 0 : errno);
	cc_nursery_scope(n, &err)
		cc_spawn(n, reader);
	return err;
}
