/* sysmon.h - the monitor: one thread a runtime that looks every scale_interval
 * whether a worker is stuck, and sees to it that others do its work.
 *
 * M1  It only helps: without it nothing is lost, some things are late.
 * M2  Stuck is a worker that has run one fiber for scale_interval, without a look
 *     at anything else.  Its timers are run and its inbox is emptied for it, its
 *     queue too if nobody is idle (of unstarted tasks a few at a time), and until it comes by again wakes from outside
 *     do not go there.
 * M3  If work waits then, a sleeping worker is woken; if none sleeps, a temporary
 *     one is added: at most one an interval, up to workers_max in all.  So while the pool
 *     can grow, a new task waits for at most two intervals: its worker is seen to have
 *     stopped at the first look after that, and found stuck an interval later.
 * M4  The reserve is one temporary worker on top of these workers_max, added when all of
 *     them are taken and a started fiber waits.  It never starts a task, nor runs a fiber
 *     that was found stuck, so fibers that only wait and go on still run, whatever the
 *     other workers are stuck in.  It is not one of the workers_max, because with one
 *     worker and a maximum of two no worker would be left for new tasks.  The mark
 *     fades, because the machine may have held up the worker, not the fiber.  Without
 *     temporary workers (workers_max equals workers) there is no reserve.
 * M5  A temporary worker that finds nothing for worker_idle retires by itself: it
 *     closes its inboxes, gives away what is in them, and ends (search.c).  Its
 *     record stays, with its timers, which others run; and is used again.
 * M6  It ticks while any worker is awake, and then for a while.  Then it sleeps:
 *
 *         monitor                          worker that stops sleeping
 *         1 word = ASLEEP                  1 its nap = AWAKE (idle.c)
 *         2 all asleep? wait               2 word == ASLEEP? wake the monitor
 *
 *     Both sides seq_cst: one of them sees the other.
 * SYSMON-7  A fiber that keeps its worker for CCConfig.stall is reported.  Only time counts in which it could
 *     have let go: at most a few intervals for each tick, so a process that was stopped and continued
 *     has lost nothing, and not the time in which the machine had no CPU for its worker.  A fiber that
 *     operates on channels makes progress, even if it never parks.  Channels count nothing until the
 *     monitor asks (cc__sysmon_probe), which it does for the second half of that time, and not longer
 *     than until the first operation. */
#ifndef CC__SCHED_SYSMON_H
#define CC__SCHED_SYSMON_H

#include "os/atomic.h"

struct cc__sched;

enum cc__sysmon_word { CC__SYSMON_TICKS, CC__SYSMON_ASLEEP, CC__SYSMON_ENDS };

struct cc__sysmon {
	cc__a32 word;			/* futex; enum cc__sysmon_word */
	bool there;			/* constant; there is a thread */
	struct cc__os_thread os;	/* constant */

	/* The monitor's own. */
	cc_time grown_at;		/* when it last added a worker */
	cc_time given_at;		/* its own; when it looked at the global queue */
	cc_time ticked_at;		/* the last tick */
	const char *said;		/* the last reason that it logged */
	struct {
		uint64_t taken;		/* calls that its threads had taken, and ... */
		cc_time kept;		/* ... how long that has been so while calls waited */
		bool told;
	} pool;				/* of blocking calls */

	/* Written by the monitor, relaxed; read by anyone.  Each tick is a sample of the
	 * pressure, too (pressure.h). */
	cc__a64 ticks;
	cc__a64 moved;			/* fibers that it took out of inboxes */
};

/* 0 or an error number; with config.sysmon 0 there is none.  The workers run. */
int cc__sysmon_start(struct cc__sched *s);
void cc__sysmon_stop(struct cc__sched *s);

void cc__sysmon_rouse(struct cc__sysmon *m);

/* What a monitor calls before it sleeps, when it is ASLEEP already and all workers are; NULL: nothing.
 * Set before the first one starts. */
extern void (*cc__sysmon_rests)(void);

/* Makes channels count their operations, or no longer; once with true and once with false by each
 * that asks.  NULL: there are no channels.  Set before the first monitor starts. */
extern void (*cc__sysmon_probe)(bool on);

/* By a worker that has just stopped to sleep, or that has retired (M6). */
static inline void cc__sysmon_poke(struct cc__sysmon *m)
{
	/* Seq_cst: after its nap's end, or its own; see the drawing. */
	if (__builtin_expect(cc__load(&m->word, CC__SEQ_CST) == CC__SYSMON_ASLEEP, 0))
		cc__sysmon_rouse(m);
}

#endif
