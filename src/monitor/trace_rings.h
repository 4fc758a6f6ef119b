/* trace_rings.h - the rings of the process: one for each thread that makes events.
 *
 * TRACE-RINGS-1  A thread finds its ring by itself and without a lock.  It takes one at its first
 *                event and gives it back when it ends.
 * TRACE-RINGS-2  A ring is made for a worker or for another thread, and stays that: a worker that
 *                is started again, or a new thread, writes on where the one before it ended.
 *                So there are as many rings as there were threads at once. */
#ifndef CC__MONITOR_TRACE_RINGS_H
#define CC__MONITOR_TRACE_RINGS_H

#include "monitor/trace_ring.h"

/* Events of a ring: the default, and what may be asked for. */
enum { CC__TRACE_EVENTS = 1 << 15, CC__TRACE_EVENTS_LEAST = 64, CC__TRACE_EVENTS_MOST = 1 << 24 };

/* Rings that are made from now on hold that many events, rounded up to a power of two. */
void cc__trace_rings_size(uint64_t events);

/* The calling thread's ring; NULL: no memory, and the event is counted as lost.  `worker` and
 * `home` are what it is for; the first call decides. */
struct cc__trace_ring *cc__trace_ring_here(unsigned worker, const void *home);

/* All of them, newest first. */
struct cc__trace_ring *cc__trace_rings(void);

/* Events for which there was no memory. */
uint64_t cc__trace_rings_dropped(void);

#endif
