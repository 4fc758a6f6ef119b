/* trace_merge.h - the events of all rings, in the order of their times.
 *
 * The rings are copied at the beginning, so writers go on meanwhile.  All memory is mapped pages:
 * a signal handler may do this. */
#ifndef CC__MONITOR_TRACE_MERGE_H
#define CC__MONITOR_TRACE_MERGE_H

#include <stdbool.h>

#include "monitor/trace_event.h"

/* One ring's copy. */
struct cc__trace_source {
	const struct cc__trace_ring *ring;
	struct cc__trace_event *first, *next, *end;	/* all; what has not been taken */
	uint64_t lost;
};

struct cc__trace_merge {
	struct cc__trace_source *source;	/* in the order of the rings' numbers */
	unsigned sources;
	unsigned *heap;	/* sources that have events left, the earliest first */
	unsigned heaped;
	uint64_t events, lost;	/* of all rings */
	uint64_t begin, end;	/* the times of the first and of the last event */
	uint64_t complete;	/* from this time on no event is missing */
	void *memory;
	size_t memory_size;
};

/* 0 or ENOMEM.  At most `most` events of each ring: the last. */
int cc__trace_merge_init(struct cc__trace_merge *m, uint64_t most);
void cc__trace_merge_fini(struct cc__trace_merge *m);

/* Leaves out what lies before m->complete: there, what one ring says has no sequel in another. */
void cc__trace_merge_trim(struct cc__trace_merge *m);

/* The next event, and the index of its source; false: there is none. */
bool cc__trace_merge_next(struct cc__trace_merge *m, struct cc__trace_event *e, unsigned *source);

#endif
