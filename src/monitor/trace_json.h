/* trace_json.h - the lines of a trace in the format that chrome://tracing and Perfetto read.
 *
 * TRACE-JSON-1  Track (CC__TRACE_THREADS, n) is that of ring n, track (CC__TRACE_TASKS, id) that of
 *               a task.  A slice is written at its end, so on each track the ends do not decrease.
 * TRACE-JSON-2  A flow is written as a whole, its beginning and its end. */
#ifndef CC__MONITOR_TRACE_JSON_H
#define CC__MONITOR_TRACE_JSON_H

#include <stdbool.h>

#include "monitor/trace_text.h"

enum { CC__TRACE_THREADS = 1, CC__TRACE_TASKS = 2 };

struct cc__trace_track {
	unsigned process;	/* one of these */
	uint64_t thread;
};

struct cc__trace_json {
	struct cc__trace_text text;
	uint64_t begin;		/* what times count from */
	uint64_t lines, flows;	/* written so far */
};

/* From `since` to `until`; its arguments follow, then cc__json_end. */
void cc__json_slice(struct cc__trace_json *j, struct cc__trace_track track, const char *name,
                    const char *category, uint64_t since, uint64_t until);
void cc__json_instant(struct cc__trace_json *j, struct cc__trace_track track, const char *name,
                      uint64_t time);
/* The name of a track: the words, then the number. */
void cc__json_track(struct cc__trace_json *j, struct cc__trace_track track, const char *words,
                    size_t size, uint64_t number);
void cc__json_process(struct cc__trace_json *j, unsigned process, const char *name);

/* An argument of the line that was begun. */
void cc__json_number(struct cc__trace_json *j, const char *key, uint64_t value);
void cc__json_address(struct cc__trace_json *j, const char *key, uint64_t value);
void cc__json_string(struct cc__trace_json *j, const char *key, const char *value);
void cc__json_end(struct cc__trace_json *j);

void cc__json_flow(struct cc__trace_json *j, struct cc__trace_track from, uint64_t from_time,
                   struct cc__trace_track to, uint64_t to_time);

#endif
