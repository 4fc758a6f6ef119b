/* trace_event.h - what the four words of a recorded event mean.
 *
 *	word 0    the time, nanoseconds of the monotonic clock
 *	word 1    kind: 8 bits, flags: 8 bits, subject: 48 bits
 *	word 2, 3 what the kind says: a and b
 *
 * The subject is the id of a task, or with CC__TRACE_THREAD the address of the record of a thread
 * that waits outside of any task.  An event that begins or ends a task's run is written by the
 * worker that runs it; a spawn and a wake by the thread that makes them. */
#ifndef CC__MONITOR_TRACE_EVENT_H
#define CC__MONITOR_TRACE_EVENT_H

#include "monitor/trace_ring.h"

enum cc__trace_kind {
	CC__TRACE_NOTHING,
	CC__TRACE_SPAWN,	/* the task may run; a: the task that spawned it, 0: none */
	CC__TRACE_NAME,		/* a, b: the characters of its name */
	CC__TRACE_LATER,	/* the task was spawned to begin at time b; a: as for SPAWN */
	CC__TRACE_RUN,		/* the worker runs the task from here on */
	CC__TRACE_YIELD,	/* the task has left the worker, but may run */
	CC__TRACE_PARK,		/* it sleeps; a: enum cc__for, b: which */
	CC__TRACE_EARLY,	/* it has left the worker, but a wake came before it slept */
	CC__TRACE_WAKE,		/* it may run again; a: the task that wakes it, 0: none */
	CC__TRACE_END,		/* it has ended */
	CC__TRACE_BELOW,	/* it waits while the task a runs in its place, on its stack */
	CC__TRACE_ABOVE,	/* the task in its place has ended, and it runs again */
	CC__TRACE_SLEEP,	/* the worker has nothing to do and sleeps */
	CC__TRACE_AWAKE,	/* the worker no longer sleeps */
	CC__TRACE_STEAL,	/* the worker has taken b tasks from worker a */
	CC__TRACE_KINDS,
};

enum cc__trace_flag {
	CC__TRACE_THREAD = 1,	/* the subject is a thread */
	CC__TRACE_TIMER = 2,	/* WAKE, SPAWN: its time has come */
	CC__TRACE_SELF = 4,	/* WAKE of a thread: by itself, at its deadline */
	CC__TRACE_BEFORE = 8,	/* WAKE: it was about to park.  If it has gone on since without
				 * parking and has ended, the subject is another task */
};

#define CC__TRACE_SUBJECT (((uint64_t)1 << 48) - 1)

static inline enum cc__trace_kind cc__trace_kind_of(const struct cc__trace_event *e)
{
	return (enum cc__trace_kind)(e->word[1] >> 56);
}

static inline unsigned cc__trace_flags_of(const struct cc__trace_event *e)
{
	return (unsigned)(e->word[1] >> 48) & 0xff;
}

static inline uint64_t cc__trace_subject_of(const struct cc__trace_event *e)
{
	return e->word[1] & CC__TRACE_SUBJECT;
}

static inline uint64_t cc__trace_head(enum cc__trace_kind kind, unsigned flags, uint64_t subject)
{
	return (uint64_t)kind << 56 | (uint64_t)flags << 48 | (subject & CC__TRACE_SUBJECT);
}

/* What the wait of a PARK was for, in a word or two. */
const char *cc__trace_reason(uint64_t what);

#endif
