/* counters.h - what a worker counts, for statistics (stats.h).
 *
 * K1  Each counter has one writer, so counting costs no locked instruction, and
 *     none is written on the way of a yield, a park or a wake between fibers of one
 *     worker.  Who reads adds up all workers' and gets a figure that was true at no
 *     one moment: for people and heuristics. */
#ifndef CC__SCHED_COUNTERS_H
#define CC__SCHED_COUNTERS_H

#include "os/atomic.h"

struct cc__counters {
	/* Searching. */
	cc__a64 searches;		/* nothing was at hand */
	cc__a64 looks;			/* everywhere */
	cc__a64 polls;			/* of descriptors, awake; while it runs fibers, too */
	cc__a64 spin_hits;		/* found while looking around */
	cc__a64 no_wait;		/* found after the snapshot, before an announcement */
	cc__a64 post_announce_hits;	/* of both, those right after `stale` */
	cc__a64 steal_tries, steal_hits;
	cc__a64 stolen;			/* fibers */
	cc__a64 from_inboxes;		/* fibers, its own inboxes' and others' */

	/* Sleeping.  Each announcement is counted before it, and its end by what ended it. */
	cc__a64 sleeps;	/* announcements */
	cc__a64 stale;			/* a generation had moved, or the runtime had ended */
	cc__a64 woken;
	cc__a64 timed_out;
	cc__a64 polled;			/* descriptors became ready */
	cc__a64 ends_generation;	/* of the last three: a generation had moved by then ... */
	cc__a64 ends_ready;		/* ... it had not, and the worker had something to run */
	cc__a64 vain;			/* woken for nothing */
	cc__a64 calls;			/* its pushes that saw somebody asleep */

	/* Tasks. */
	cc__a64 cancelled;		/* of those that ended: they returned ECANCELED */

	/* Stacks. */
	cc__a64 stacks_taken, stacks_given;
	cc__a64 starved;		/* picks of tasks that found no stack */
};

static inline void cc__count_by(cc__a64 *counter, uint64_t n)
{
	/* Relaxed: ours alone to write.  Release: what was counted, to cc__sched_at_rest;
	 * others take it as a hint. */
	cc__store(counter, cc__load(counter, CC__RELAXED) + n, CC__RELEASE);
}

static inline void cc__count(cc__a64 *counter)
{
	cc__count_by(counter, 1);
}

#endif
