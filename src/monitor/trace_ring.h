/* trace_ring.h - a ring of events that one thread writes and that any thread may copy meanwhile.
 *
 * TRACE-RING-1  Only the thread that has taken a ring writes its events.  It never waits, takes no
 *               lock and overwrites the oldest event when the ring is full.
 * TRACE-RING-2  A copy holds whole events, in the order in which they were written, and none is
 *               missing between the first and the last.  It leaves out an event that may have been
 *               overwritten while it was copied.
 * TRACE-RING-3  Rings are never freed.  The ring of a thread that has ended keeps its events until
 *               a thread of the same kind takes it and writes on.
 * TRACE-RING-4  The times of a ring's events do not decrease.
 *
 * A copy takes no lock and no memory, so that a signal handler may make one. */
#ifndef CC__MONITOR_TRACE_RING_H
#define CC__MONITOR_TRACE_RING_H

#include "os/atomic.h"

enum { CC__TRACE_WORDS = 4 };

/* What a copy holds of one event; trace_event.h says what the words mean. */
struct cc__trace_event {
	uint64_t word[CC__TRACE_WORDS];	/* the first is its time */
};

struct cc__trace_cell {
	cc__a64 word[CC__TRACE_WORDS];	/* the ring's thread writes them, a copy reads them */
};

struct cc__trace_ring {
	struct cc__trace_ring *next;	/* of all rings; constant once it is listed */
	struct cc__trace_cell *cell;	/* constant; `size` of them */
	uint64_t size;			/* constant; a power of two */
	unsigned number;		/* constant; 1-based */
	unsigned worker;		/* constant; the number of the worker, 0: another thread */
	const void *home;		/* constant; the scheduler of the worker, or NULL */
	cc__a32 taken;			/* 1: a thread writes it */
	cc__a32 thread;			/* what the system calls the thread that has taken it */
	cc__a64 count;			/* events ever; written by the ring's thread */

	/* The rest is for the ring's thread alone. */
	uint64_t last;				/* the time of its last event */
	void *waits_for;			/* trace_record.c: whose next wait is for ... */
	uint64_t wait_kind, wait_object;	/* ... this, an enum cc__for, and which one */
	void *parking;                   /* trace_record.c: who is between running and parked ... */
	uint64_t parking_id;			/* ... its id ... */
	uint64_t parking_kind, parking_object;	/* ... and what it waits for */
};

/* Writes an event; a time before that of the last event becomes that. */
void cc__trace_ring_push(struct cc__trace_ring *r, struct cc__trace_event e);

/* Copies what is there, oldest first, to `out`, which has room for r->size events.  Returns how
 * many that are; *lost is how many older ones there were. */
uint64_t cc__trace_ring_copy(const struct cc__trace_ring *r, struct cc__trace_event *out,
                             uint64_t *lost);

#endif
