/* broken.h - main of a program that hangs or breaks, in variants.
 *
 *	PROGRAM [main | fiber] [DEPTH]
 *
 * broken() is called by main, or by a fiber, below DEPTH nurseries.  Each program's head says what the
 * library must say of it (`says:`, an extended regular expression a line) and how it ends (`exit:` a
 * status, `SIGABRT`, `SIGSEGV`, or `killed` for one that goes on after it has been told of). */
#ifndef BROKEN_H
#define BROKEN_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ccc/ccc.h>

static int broken(void);

static inline void must(int err)
{
	if (err != 0) {
		printf("%s\n", strerror(err));
		exit(1);
	}
}

static int below(int depth)
{
	int err = 0;

	if (depth == 0)
		return broken();
	cc_nursery_scope(level, &err)
		err = below(depth - 1);
	return err;
}

static cc_task_fn(in_a_fiber, int depth;)
{
	return below(self->depth);
}

int main(int argc, char **argv)
{
	const int depth = argc > 2 ? atoi(argv[2]) : 0;
	int err = 0;

	if (argc < 2 || strcmp(argv[1], "fiber") != 0)
		return below(depth);
	cc_nursery_scope(outermost, &err)
		cc_spawn(outermost, in_a_fiber, .depth = depth);
	return err;
}

#endif
