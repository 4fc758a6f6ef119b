/* trace.h - a recorder of what tasks and workers do, and its output for a trace viewer.
 *
 * Each thread records its own events in a ring, which it overwrites when it is full.  With
 * CC_TRACE=FILE in the environment recording begins with the first runtime, and the trace is
 * written to FILE when the process exits or crashes (docs/tracing.md).
 *
 *      cc_trace_start(0);
 *      serve_one_request();
 *      cc_trace_stop();
 *      cc_trace_write(fd);             // load it in https://ui.perfetto.dev */
#ifndef CCC_TRACE_H
#define CCC_TRACE_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts to record, in the whole process.
 *
 * `events` is how many events each thread keeps, rounded up to a power of two of at least 64; 0
 * stands for CC_TRACE_EVENTS of the environment, or else 32768.  An event takes 32 bytes.  A
 * thread that has recorded before keeps the ring that it has, with its events.
 *
 * Returns 0, or
 *   EINVAL      `events` is more than 16777216
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_trace_start(size_t events);

/* Stops recording.  The events that were recorded stay.
 *
 * Any thread.  Never parks. */
CC_API void cc_trace_stop(void);

/* Writes the recorded events to `fd`, as a trace that Perfetto and chrome://tracing read.
 *
 * Recording goes on meanwhile; events that are recorded during the call are left out.  The field
 * otherData.lost of the trace says how many earlier events were overwritten.
 *
 * Returns 0, or
 *   ENOMEM      no memory for a copy of the events
 *   (other)     the error of write(2)
 * After an error the descriptor may have received a part of the trace.
 *
 * Any thread.  Never parks.  May be called from a signal handler. */
CC_API CC_MUST_CHECK int cc_trace_write(int fd);

/* Writes the last events of every thread to `fd`, a line each: when, before this call; on which
 * thread; what happened to which task.
 *
 * Any thread.  Never parks.  May be called from a signal handler. */
CC_API void cc_trace_last(int fd);

#ifdef __cplusplus
}
#endif
#endif
