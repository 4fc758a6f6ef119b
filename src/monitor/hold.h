/* hold.h - CCConfig.hold: who is parked while he holds a lock.
 *
 * H1  Each mutex that is locked, and each lock that somebody writes under, has a record.  Its
 *     holder makes it when he has got the lock; whoever unlocks takes it away before he
 *     does.  So of a record that is there the lock is not free.
 * H2  A record names a fiber or a thread, not a worker: who moves takes nothing along.  It is
 *     found by its holder, and by its lock if another one unlocks.
 * H3  The lock itself is never looked at: its memory may be gone, if its holder has
 *     forgotten it.  Who waits for it is asked by its address (park/engine.h).
 * H4  A thread of its own looks at the records.  Those whom it looks for may all be waiting for
 *     each other. */
#ifndef CC__MONITOR_HOLD_H
#define CC__MONITOR_HOLD_H

#include "os/trace.h"

/* Report parkers that hold a lock and have been parked for that long, or for less if that was
 * asked for before.  cc__debug_see must be called too.  0, or why there is no thread for it. */
int cc__debug_hold(cc_time span);

/* An event, on the thread that makes it; locks may be held. */
void cc__hold_see(enum cc__event kind, const void *who, uint64_t a, uint64_t b);

/* Threads that look: 0 or 1.  It wakes nobody. */
unsigned cc__hold_threads(void);

/* For tests: how often all have been looked at, and how many lines were written. */
uint64_t cc__hold_looks(void);
uint64_t cc__hold_lines(void);

#endif
