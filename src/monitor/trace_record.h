/* trace_record.h - what the recorder makes of the library's events (os/trace.h). */
#ifndef CC__MONITOR_TRACE_RECORD_H
#define CC__MONITOR_TRACE_RECORD_H

#include "os/trace.h"

/* Writes into the ring of the calling thread what the event says about a task, a thread or a
 * worker, and passes the probes of trace_probes.h.  Most kinds of event say nothing. */
cc__record_fn cc__trace_record;

/* The kinds of event that it wants besides moves (cc__watch_record). */
#define CC__TRACE_WANTED \
	(1u << CC__EV_FOR | 1u << CC__EV_JOIN | 1u << CC__EV_FLAG | 1u << CC__EV_LATER | \
	 1u << CC__EV_PLACE | 1u << CC__EV_STEAL | 1u << CC__EV_SLEEP | 1u << CC__EV_AWAKE)

#endif
