/* stats.c - adds up what the workers have counted, and prints it. */
#include "sched/stats.h"

#include <inttypes.h>
#include <stdio.h>

#include "sched/worker.h"

/* ---- adding up ---- */

static uint64_t value(const cc__a64 *counter)
{
	return cc__load(counter, CC__RELAXED);	/* Relaxed: for people, K1 */
}

static void add_life(const struct cc__worker *w, CCStats *out)
{
	/* Relaxed: for people. */
	const uint32_t life = cc__load(&w->life, CC__RELAXED);

	out->workers += life != CC__LIFE_DEAD;
	out->workers_active += life == CC__LIFE_ACTIVE;
	out->workers_searching += life == CC__LIFE_SEARCH;
	out->workers_sleeping += life == CC__LIFE_SLEEP;
}

/* A part before its whole: it is not the larger one then. */
static void add_idle(const struct cc__counters *c, CCStats *out)
{
	out->searches += value(&c->searches);
	out->looks += value(&c->looks);
	out->polls += value(&c->polls);
	out->spin_hits += value(&c->spin_hits);
	out->no_wait += value(&c->no_wait);
	out->post_announce_hits += value(&c->post_announce_hits);
	out->stale += value(&c->stale);
	out->wakes_vain += value(&c->vain);
	out->ends_generation += value(&c->ends_generation);
	out->ends_ready += value(&c->ends_ready);
	out->woken += value(&c->woken);
	out->timed_out += value(&c->timed_out);
	out->polled += value(&c->polled);
	out->sleeps += value(&c->sleeps);
}

static void add_worker(const struct cc__worker *w, CCStats *out)
{
	const struct cc__counters *c = &w->counters;

	add_life(w, out);
	add_idle(c, out);
	/* Finished before spawned, given before taken: no difference is negative. */
	out->tasks_cancelled += value(&c->cancelled);
	out->tasks_finished += value(&w->finished);
	out->switches += value(&w->picks);
	out->wakes += value(&w->nap->wakes);
	out->pushes += value(&w->nap->generation) - w->born;
	out->pushes_unseen -= value(&c->calls);
	out->inbox_pushes += value(&c->from_inboxes) + cc__inbox_length(&w->inbox) +
	                     cc__inbox_length(&w->own);
	out->steal_hits += value(&c->steal_hits);
	out->steal_tries += value(&c->steal_tries);
	out->stolen += value(&c->stolen);
	out->starved += value(&c->starved);
	out->stacks_in_use -= value(&c->stacks_given);
}

static void derive(const struct cc__sched *s, CCStats *out)
{
	out->tasks_live = out->tasks_spawned - out->tasks_finished;
	out->pushes += value(&s->idle->outside) - s->born;
	out->pushes_unseen += out->pushes - value(&s->idle->outside_calls) + s->calls_born;
	out->waits = out->woken + out->timed_out + out->polled;
	out->stacks_cached = out->stacks > out->stacks_in_use ? out->stacks - out->stacks_in_use
	                                                      : 0;
}

void cc__sched_stats(struct cc__sched *s, CCStats *out)
{
	/* Acquire: the workers, from make_worker. */
	const unsigned n = cc__load(&s->workers, CC__ACQUIRE);

	*out = (CCStats){
	    .workers_base = s->config.workers,
	    .workers_most = cc__sched_places(s),
	    .pressure = cc__sched_pressure(s),
	    .global_length = cc__global_length(&s->global),
	    .global_overflows = value(&s->global.overflows),
	    .stacks = cc__stack_pool_made(&s->stacks),
	    .frames = cc__frames_made(),
	};
	out->tasks_finished = value(&s->recalled_outside);
	for (unsigned i = 0; i < n; i++)
		add_worker(s->worker[i], out);
	/* Acquire: what has finished was spawned before. */
	cc__fence(CC__ACQUIRE);
	for (unsigned i = 0; i < n; i++) {
		out->tasks_spawned += value(&s->worker[i]->spawned);
		out->stacks_in_use += value(&s->worker[i]->counters.stacks_taken);
	}
	out->tasks_outside = value(&s->spawned_outside);
	out->tasks_spawned += out->tasks_outside;
	derive(s, out);
}

/* ---- in words ---- */

enum group { WORKERS, TASKS, QUEUES, MEMORY, WAKING, GROUPS };

static const char *const group_names[] = {"workers", "tasks", "queues", "memory", "waking"};

static const struct figure {
	const char *name;
	size_t field;		/* its offset */
	enum group group;
} figures[] = {
#define FIGURE(group, name) \
	{ \
#name, offsetof(CCStats, name), group \
	}
    FIGURE(WORKERS, workers_base),
    FIGURE(WORKERS, workers_most),
    FIGURE(WORKERS, workers),
    FIGURE(WORKERS, workers_active),
    FIGURE(WORKERS, workers_searching),
    FIGURE(WORKERS, workers_sleeping),
    FIGURE(TASKS, tasks_spawned),
    FIGURE(TASKS, tasks_outside),
    FIGURE(TASKS, tasks_finished),
    FIGURE(TASKS, tasks_cancelled),
    FIGURE(TASKS, tasks_live),
    FIGURE(TASKS, switches),
    FIGURE(TASKS, pressure),
    FIGURE(QUEUES, global_length),
    FIGURE(QUEUES, global_overflows),
    FIGURE(QUEUES, inbox_pushes),
    FIGURE(QUEUES, stolen),
    FIGURE(QUEUES, starved),
    FIGURE(MEMORY, stacks),
    FIGURE(MEMORY, stacks_in_use),
    FIGURE(MEMORY, stacks_cached),
    FIGURE(MEMORY, frames),
    FIGURE(WAKING, searches),
    FIGURE(WAKING, looks),
    FIGURE(WAKING, polls),
    FIGURE(WAKING, spin_hits),
    FIGURE(WAKING, no_wait),
    FIGURE(WAKING, steal_tries),
    FIGURE(WAKING, steal_hits),
    FIGURE(WAKING, sleeps),
    FIGURE(WAKING, stale),
    FIGURE(WAKING, post_announce_hits),
    FIGURE(WAKING, waits),
    FIGURE(WAKING, woken),
    FIGURE(WAKING, timed_out),
    FIGURE(WAKING, polled),
    FIGURE(WAKING, ends_generation),
    FIGURE(WAKING, ends_ready),
    FIGURE(WAKING, pushes),
    FIGURE(WAKING, pushes_unseen),
    FIGURE(WAKING, wakes),
    FIGURE(WAKING, wakes_vain),
};
enum { FIGURES = sizeof figures / sizeof *figures };
_Static_assert(sizeof(CCStats) == FIGURES * sizeof(uint64_t), "every figure has its line");

/* As signed: one of them may be negative, and none is that large. */
static int64_t figure_of(const CCStats *stats, const struct figure *f)
{
	return *(const int64_t *)(const void *)((const char *)stats + f->field);
}

/* Those of one group, or of all: GROUPS.  The words between the numbers are
 * before, the name, after. */
static void list(const CCStats *stats, enum group group, const char *before, const char *after,
                 char *at, size_t room)
{
	const char *between = "";

	for (const struct figure *f = figures; f < figures + FIGURES; f++) {
		int n;

		if (group != GROUPS && f->group != group)
			continue;
		n = snprintf(at, room, "%s%s%s%s%" PRId64, between, before, f->name, after,
		             figure_of(stats, f));
		at += n;
		room -= (size_t)n;
		between = ", ";
	}
}

/* Longest name, widest number, and what is around them. */
enum { LINE = FIGURES * (20 + 20 + 6) + 64 };

static void log_group(struct cc__sched *s, const CCStats *stats, enum group group)
{
	char line[LINE];
	const int n = snprintf(line, sizeof line, "libccc: %s: ", group_names[group]);

	list(stats, group, "", " ", line + n, sizeof line - (size_t)n);
	cc__sched_log(s, line);
}

static void log_json(struct cc__sched *s, const CCStats *stats)
{
	char line[LINE], fields[LINE - 4];

	list(stats, GROUPS, "\"", "\": ", fields, sizeof fields);
	snprintf(line, sizeof line, "{%s}", fields);
	cc__sched_log(s, line);
}

static void log_pressure(struct cc__sched *s)
{
	char line[LINE];

	cc__pressure_describe(&s->pressure, line, sizeof line);
	cc__sched_log(s, line);
}

void cc__stats_report(struct cc__sched *s)
{
	CCStats stats;

	cc__sched_stats(s, &stats);
	if (s->config.stats == CC_STATS_JSON)
		log_json(s, &stats);
	for (enum group g = WORKERS; s->config.stats == CC_STATS_TEXT && g < WAKING; g++)
		log_group(s, &stats, g);
	if (s->config.stats == CC_STATS_TEXT || s->config.wake_stats)
		log_group(s, &stats, WAKING);
	if (s->config.pressure_stats)
		log_pressure(s);
}
