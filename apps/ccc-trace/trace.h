/* trace.h - a trace file of libccc, as far as the summary needs it. */
#ifndef CCC_TRACE_TRACE_H
#define CCC_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>

enum { THREADS = 1, TASKS = 2 };	/* the processes of the file */

struct slice {
	double begin, length;	/* microseconds */
	unsigned process;
	double track;
	bool unended;	/* the trace ends before it does */
	char name[24];	/* run, queued, or what was waited for; on a thread also a task */
	char category[12];
	char object[24];
};

struct track {
	unsigned process;
	double number;
	char name[40];
};

struct trace {
	struct slice *slice;
	size_t slices, slice_room;
	struct track *track;
	size_t tracks, track_room;
	double events, lost;
	bool ours;	/* the file says that libccc has written it */
};

/* Reads `text`.  NULL, or what is wrong with it: *line says where. */
const char *trace_read(struct trace *t, const char *text, size_t *line);
void trace_free(struct trace *t);

/* The name of a track, or "?". */
const char *trace_track_name(const struct trace *t, unsigned process, double number);

#endif
