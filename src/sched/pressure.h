/* pressure.h - what the monitor measured: how much is queued beyond what is being
 * run, and why it added a worker or did not.
 *
 * Written by whoever samples, one thread at a time; read by anyone. */
#ifndef CC__SCHED_PRESSURE_H
#define CC__SCHED_PRESSURE_H

#include "os/atomic.h"

struct cc__sched;

/* Why a sample did not lead to another worker. */
enum cc__pressure_block {
	CC__BLOCK_NONE,			/* it passes the gate */
	CC__BLOCK_NO_WORK,		/* nothing is queued */
	CC__BLOCK_NONPOSITIVE,		/* about as much is taken as queued */
	CC__BLOCK_IDLE_CAPACITY,	/* somebody sleeps or searches */
	CC__BLOCK_NOT_STUCK,		/* all make progress */
	CC__BLOCK_AT_LIMIT,		/* every place for a worker is taken */
	CC__BLOCKS,
};

struct cc__pressure {
	cc__a64 positive_samples, negative_samples;	/* above 0; below 0 */
	cc__a64 zero_samples;				/* neither: what is queued is being run */
	CC__ATOMIC(int64_t) current;			/* the last sample */
	cc__a64 block[CC__BLOCKS];			/* by reason; BLOCK_NONE: gate passes */
	cc__a64 promoted_workers;
	cc__a64 neg_streak, neg_streak_max;	/* samples below 0 in a row; the most so far */
	cc_time below_since;			/* first sample of neg_streak; the sampler's */
};

/* Who pushes counts afterwards, so for as long as the system holds him up there, pressure
 * may be below 0.  So many samples over so long are no accident: somebody was picked and never
 * counted as queued, or counted as picked twice.  A debug build stops. */
enum { CC__DRIFT_SAMPLES = 100 };
#define CC__DRIFT_TIME (10 * CC_SEC)

/* Queued and not taken: what became ready less what was picked.  Rough, and
 * for a moment negative when counters are read at different ones. */
int64_t cc__sched_pressure(const struct cc__sched *s);

/* Take a sample; `why` is what became of it. */
void cc__pressure_sample(struct cc__sched *s, enum cc__pressure_block why);
/* A worker was added after a sample that passed. */
void cc__pressure_promoted(struct cc__sched *s);

/* One line, without its end. */
void cc__pressure_describe(const struct cc__pressure *p, char *line, size_t size);

#endif
