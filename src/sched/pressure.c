/* pressure.c - samples of the pressure, and their line in the log. */
#include "sched/pressure.h"

#include <inttypes.h>
#include <stdio.h>

#include "sched/worker.h"

int64_t cc__sched_pressure(const struct cc__sched *s)
{
	/* Acquire: the workers, from make_worker. */
	const unsigned n = cc__load(&s->workers, CC__ACQUIRE);
	/* Relaxed, all: rough.  What was taken is read first, so that what comes in
	 * meanwhile makes it more, not less. */
	uint64_t taken = cc__load(&s->sysmon.moved, CC__RELAXED), queued = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct cc__worker *w = s->worker[i];

		taken += cc__load(&w->picks, CC__RELAXED) + cc__load(&w->moved, CC__RELAXED);
	}
	for (unsigned i = 0; i < n; i++) {
		const struct cc__worker *w = s->worker[i];

		/* A pick that found no stack is queued again, among the starved. */
		queued += cc__load(&w->nap->generation, CC__RELAXED) - w->born +
		          cc__load(&w->counters.starved, CC__RELAXED);
	}
	queued += cc__load(&s->idle->outside, CC__RELAXED) - s->born;
	return (int64_t)(queued - taken);
}

/* Length of the streak of negative samples that this sample continues or ends. */
static uint64_t neg_streak(struct cc__pressure *p, int64_t pressure)
{
	/* Relaxed: only the sampler writes it. */
	const uint64_t before = cc__load(&p->neg_streak, CC__RELAXED);

	if (pressure >= 0)
		return 0;
	if (before == 0)
		p->below_since = cc__now();
	return before + 1;
}

static cc__a64 *samples_of(struct cc__pressure *p, int64_t pressure)
{
	if (pressure > 0)
		return &p->positive_samples;
	return pressure < 0 ? &p->negative_samples : &p->zero_samples;
}

void cc__pressure_sample(struct cc__sched *s, enum cc__pressure_block why)
{
	struct cc__pressure *p = &s->pressure;
	const int64_t now = cc__sched_pressure(s);
	const uint64_t streak = neg_streak(p, now);

	CC__ASSERT(streak < CC__DRIFT_SAMPLES || cc__now() - p->below_since < CC__DRIFT_TIME,
	           "pressure: below zero for long");
	/* Relaxed, all: only the sampler writes them, and readers want a rough figure. */
	cc__store(&p->neg_streak, streak, CC__RELAXED);
	cc__store(&p->current, now, CC__RELAXED);
	cc__count(&p->block[why]);
	cc__count(samples_of(p, now));
	if (streak > cc__load(&p->neg_streak_max, CC__RELAXED))
		cc__store(&p->neg_streak_max, streak, CC__RELAXED);
}

void cc__pressure_promoted(struct cc__sched *s)
{
	cc__count(&s->pressure.promoted_workers);
}

static uint64_t value(const cc__a64 *counter)
{
	return cc__load(counter, CC__RELAXED);	/* Relaxed: for people */
}

void cc__pressure_describe(const struct cc__pressure *p, char *line, size_t size)
{
	snprintf(line, size,
	         "libccc: pressure: positive_samples %" PRIu64 ", negative_samples %" PRIu64
	         ", zero_samples %" PRIu64 ", current_pressure %" PRId64 ", gate_passes %" PRIu64
	         ", promoted_workers %" PRIu64 ", neg_streak_max %" PRIu64
	         ", blocked by: no_work %" PRIu64 ", nonpositive %" PRIu64
	         ", idle_capacity %" PRIu64 ", not_stuck %" PRIu64 ", at_limit %" PRIu64,
	         value(&p->positive_samples), value(&p->negative_samples), value(&p->zero_samples),
	         cc__load(&p->current, CC__RELAXED),	/* Relaxed: as above */
	         value(&p->block[CC__BLOCK_NONE]), value(&p->promoted_workers),
	         value(&p->neg_streak_max), value(&p->block[CC__BLOCK_NO_WORK]),
	         value(&p->block[CC__BLOCK_NONPOSITIVE]), value(&p->block[CC__BLOCK_IDLE_CAPACITY]),
	         value(&p->block[CC__BLOCK_NOT_STUCK]), value(&p->block[CC__BLOCK_AT_LIMIT]));
}
