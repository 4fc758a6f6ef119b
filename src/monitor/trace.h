/* trace.h - the recorder's switch, and what it does when the process ends. */
#ifndef CC__MONITOR_TRACE_H
#define CC__MONITOR_TRACE_H

#include <ccc/trace.h>

/* What the environment says (runtime/config.c). */
struct cc__trace_settings {
	const char *file;	/* CC_TRACE; NULL: it is not set */
	uint64_t events;	/* CC_TRACE_EVENTS; 0: the default */
};

/* A runtime starts.  The first time: makes the recorder known to the event log and, if there is
 * a file, records from here on and writes the file at exit.  Returns 0, or an error if the file
 * cannot be made, which has been told. */
int cc__trace_begin(const struct cc__trace_settings *settings);

/* The last events of each thread, a line each.  Any context. */
void cc__trace_dump_last(int fd);

#endif
