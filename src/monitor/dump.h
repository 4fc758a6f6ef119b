/* dump.h - who waits for what, in words.
 *
 * DUMP-1  Nothing is allocated, and no lock is held while a line is written.
 * DUMP-2  Fibers that have the same name, state and wait are one line with their number.  There is room
 *         for so many different ones; those after that are counted. */
#ifndef CC__MONITOR_DUMP_H
#define CC__MONITOR_DUMP_H

#include <ccc/debug.h>

/* How many fibers and threads wait. */
struct cc__dumped {
	unsigned fibers, threads;
	unsigned kinds;		/* 1 << CCWaitKind, of all of them */
};

/* 0 or an error number.  With a negative `fd` they are only counted. */
int cc__dump(int fd, CCDumpFormat format, struct cc__dumped *all);

#endif
