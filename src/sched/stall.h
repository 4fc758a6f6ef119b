/* stall.h - whether a fiber that keeps its worker should be reported.
 *
 * STALL-1  Only time counts in which the fiber could have let go of its worker: at most a few intervals
 *          for each tick, so a process that was stopped and continued has lost nothing, and not the
 *          time in which the worker was ready and the machine had no CPU for it.
 * STALL-2  A fiber that operates on channels makes progress, even if it never parks.  Channels count
 *          nothing until a monitor asks (cc__sysmon_probe), which it does for the second half of the
 *          time that CCConfig.stall allows, and not longer than until the first operation. */
#ifndef CC__SCHED_STALL_H
#define CC__SCHED_STALL_H

#include "sched/worker.h"

/* A tick at which w's fiber has kept it since the tick before, `step` ago.  True, once for each fiber:
 * report it. */
bool cc__stall_due(struct cc__sched *s, struct cc__worker *w, cc_time step);

/* w has let go of that fiber, or the monitor ends. */
void cc__stall_over(struct cc__worker *w);

/* A tick, `step` after the one before: true, once, if calls wait for a thread of the blocking pool and no
 * thread has taken one for the time that CCConfig.stall allows. */
bool cc__stall_pool_due(struct cc__sched *s, cc_time step);
/* That may yet become due: the monitor must not sleep. */
bool cc__stall_pool_pending(const struct cc__sched *s);

/* Whether the worker's thread sleeps in the kernel. */
bool cc__stall_blocked(const struct cc__worker *w);

#endif
