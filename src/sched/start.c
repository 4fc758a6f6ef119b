/* start.c - start and stop of a scheduler. */
#include "sched/sched.h"

#include <errno.h>
#include <stdio.h>

#include "os/cpus.h"
#include "os/fork.h"
#include "sched/later.h"
#include "sched/worker.h"
#include "sched/stats.h"
#include "task/overflow.h"
#include "wait/thread.h"

/* How long a timer may be without a keeper: as long as a push may be left to a watch. */
#define TIMERS_LATE (2 * CC_MSEC)

/* ---- workers ---- */

static void *hook_alloc(const CCConfig *c, size_t size)
{
	return c->allocator.alloc(c->allocator.context, size);
}

static void hook_free(const CCConfig *c, void *p, size_t size)
{
	c->allocator.free(c->allocator.context, p, size);
}

static size_t seen_size(const struct cc__sched *s)
{
	return cc__sched_places(s) * sizeof(struct cc__sample);
}

static void free_worker(struct cc__worker *w)
{
	struct cc__sched *s = w->sched;

	if (w->thread != NULL)
		cc__thread_drop(w->thread);
	cc__runq_fini(&w->queue);
	hook_free(&s->config, w->seen, seen_size(s));
	hook_free(&s->config, w, sizeof *w);
}

/* The next worker, without a thread; NULL: no memory. */
static struct cc__worker *make_worker(struct cc__sched *s)
{
	const uint32_t n = cc__load(&s->workers, CC__RELAXED);	/* Relaxed: only we write it */
	struct cc__worker *w = hook_alloc(&s->config, sizeof *w);

	if (w == NULL)
		return NULL;
	/* The rest is zero, as the allocator promises. */
	w->sched = s;
	w->idle = s->idle;
	w->nap = &s->idle->nap[n];
	w->id = n + 1;
	/* Relaxed, both: nobody's before us. */
	w->born = cc__load(&w->nap->generation, CC__RELAXED);
	cc__store(&w->nap->wakes, 0, CC__RELAXED);
	w->only_woken = n == s->config.workers_max;	/* behind the pool */
	if (w->only_woken)
		cc__store(&s->idle->reserve, w->id, CC__RELAXED);
	w->age_at = CC_FOREVER;
	w->random = 0x9e3779b97f4a7c15u * (n + 1);
	cc__runq_init(&w->queue);
	cc__timers_init(&w->timers);
	if ((w->seen = hook_alloc(&s->config, seen_size(s))) == NULL) {
		hook_free(&s->config, w, sizeof *w);
		return NULL;
	}
	if ((w->thread = cc__thread_make()) != NULL)	/* Relaxed: nobody counts it yet */
		cc__store(&w->thread->live, CC__THREAD_WORKER, CC__RELAXED);
	w->reserve = w->thread != NULL ? cc__stack_get(&s->stacks, 0) : NULL;
	if (w->reserve == NULL) {
		free_worker(w);
		return NULL;
	}
	s->worker[n] = w;
	/* Release, both: the worker, to whoever looks at all of them. */
	cc__store(&s->workers, n + 1, CC__RELEASE);
	cc__store(&s->idle->count, n + 1, CC__RELEASE);
	return w;
}

static int start_worker(struct cc__worker *w)
{
	char name[16];
	int err;

	snprintf(name, sizeof name, "cc-worker-%u", w->id);
	/* Relaxed, all: the thread sees them; to the others they are hints. */
	cc__store(&w->life, CC__LIFE_ACTIVE, CC__RELAXED);
	cc__add(&w->sched->live, 1, CC__RELAXED);
	err = cc__thread_start(&w->os, cc__worker_main, w, name);
	w->has_thread = err == 0;
	if (!w->has_thread) {
		cc__store(&w->life, CC__LIFE_DEAD, CC__RELAXED);
		cc__sub(&w->sched->live, 1, CC__RELAXED);
	}
	return err;
}

/* ---- more and fewer ---- */

/* One that has retired, ready for a new thread; false: there is no memory. */
static bool renew(struct cc__worker *w)
{
	w->fruitless = 0;
	w->doubt = false;
	w->age_at = CC_FOREVER;
	w->fair_at = 0;
	if (w->reserve == NULL)
		w->reserve = cc__stack_get(&w->sched->stacks, 0);
	return w->reserve != NULL;
}

int cc__sched_grow(struct cc__sched *s, bool reserve, unsigned *number)
{
	const unsigned end = reserve ? cc__sched_places(s) : s->config.workers_max;

	for (unsigned place = s->config.workers; place < end; place++) {
		struct cc__worker *w = s->worker[place];

		if (w != NULL && w->has_thread)
			continue;
		if (w != NULL ? !renew(w) : (w = make_worker(s)) == NULL)
			return ENOMEM;
		*number = w->id;
		return start_worker(w);
	}
	return ERANGE;
}

/* It has retired, and its thread is there to be joined. */
static bool has_retired(const struct cc__worker *w)
{
	/* Relaxed: the join orders. */
	return w->has_thread && cc__load(&w->life, CC__RELAXED) == CC__LIFE_DEAD;
}

bool cc__sched_has_retired(const struct cc__sched *s)
{
	/* Relaxed: only the monitor makes more, and asks. */
	for (unsigned i = 0; i < cc__load(&s->workers, CC__RELAXED); i++)
		if (has_retired(s->worker[i]))
			return true;
	return false;
}

void cc__sched_reap(struct cc__sched *s)
{
	/* Relaxed: as above. */
	for (unsigned i = 0; i < cc__load(&s->workers, CC__RELAXED); i++)
		if (has_retired(s->worker[i])) {
			cc__thread_join(s->worker[i]->os);
			s->worker[i]->has_thread = false;
		}
}

/* ---- start and stop ---- */

/* Those that have a thread are about to end. */
static void end_workers(struct cc__sched *s)
{
	/* Relaxed: nobody makes more. */
	const unsigned n = cc__load(&s->workers, CC__RELAXED);

	for (unsigned i = 0; i < n; i++) {
		if (s->worker[i]->has_thread)
			cc__thread_join(s->worker[i]->os);
		else if (s->worker[i]->reserve != NULL)
			cc__stack_put(&s->stacks, s->worker[i]->reserve);
	}
	for (unsigned i = 0; i < n; i++)
		free_worker(s->worker[i]);
	cc__poll_fini(&s->poll);
	cc__idle_free(s->idle);
	cc__stack_pool_fini(&s->stacks);
	hook_free(&s->config, s->worker, cc__sched_places(s) * sizeof *s->worker);
}

static int start_workers(struct cc__sched *s)
{
	unsigned n = 0;
	int err = 0;

	while (n < s->config.workers)
		if (make_worker(s) != NULL)
			n++;
		else {
			end_workers(s);
			return ENOMEM;
		}
	for (n = 0; n < s->config.workers && err == 0; n++)
		err = start_worker(s->worker[n]);
	if (err == 0 && (err = cc__sysmon_start(s)) == 0)
		return 0;
	/* Seq_cst: as in cc__sched_stop. */
	cc__store(&s->stopping, CC__ENDING, CC__SEQ_CST);
	cc__idle_wake_all(s->idle);
	end_workers(s);
	return err;
}

int cc__sched_start(struct cc__sched *s, const CCConfig *config)
{
	int err;

	*s = (struct cc__sched){.config = *config};
	cc__root_init(&s->root);
	cc__fence_heavy_start();
	cc__coarse_set(cc__now());
	cc__poll_init(&s->poll, &s->config.allocator);
	s->poll.unattended = cc__worker_unattended;
	cc__blocking_init(&s->blocking, config->blocking_max, config->blocking_idle,
	                  cc__cpus_allowed() > 1 ? CC__BLOCKING_WATCH : 0);
	cc__global_init(&s->global);
	if ((err = cc__stack_pool_init(&s->stacks, config)) != 0)
		return err;
	cc__overflow_install();
	err = ENOMEM;
	if ((s->idle = cc__idle_new()) == NULL)
		goto fini_stacks;
	/* Relaxed, both: strays of a former life may still count. */
	s->born = cc__load(&s->idle->outside, CC__RELAXED);
	s->calls_born = cc__load(&s->idle->outside_calls, CC__RELAXED);
	if (config->idle_wait != CC_FOREVER)
		s->idle->late = cc__earlier(TIMERS_LATE, config->idle_wait);
	s->worker = hook_alloc(config, cc__sched_places(s) * sizeof *s->worker);
	if (s->worker != NULL)
		return start_workers(s);
	cc__idle_free(s->idle);
fini_stacks:
	cc__stack_pool_fini(&s->stacks);
	return err;
}

/* What has finished is read first: each task counts as spawned before it counts
 * as finished, so equal means that nothing was there in between. */
bool cc__sched_at_rest(const struct cc__sched *s)
{
	/* Acquire, both: the worker, from make_worker; the spawn of what it has
	 * finished.  Relaxed, the rest: after those. */
	const unsigned n = cc__load(&s->workers, CC__ACQUIRE);
	/* Seq_cst: after `stopping`, in over(). */
	uint64_t finished = cc__load(&s->recalled_outside, CC__SEQ_CST), spawned = 0;

	for (unsigned i = 0; i < n; i++)
		finished += cc__load(&s->worker[i]->finished, CC__ACQUIRE);
	for (unsigned i = 0; i < cc__load(&s->workers, CC__ACQUIRE); i++)
		spawned += cc__load(&s->worker[i]->spawned, CC__RELAXED);
	/* Seq_cst: after `stopping`, in over(); a spawn counts before it pushes. */
	return spawned + cc__load(&s->spawned_outside, CC__SEQ_CST) == finished;
}

/* Asked to stop: true when it has.  False at the deadline, if tasks are left. */
static bool wait_for_end(struct cc__sched *s, cc_time deadline)
{
	/* Acquire: pairs with the release at a worker's end. */
	while (cc__load(&s->stopped, CC__ACQUIRE) == 0)
		if (cc__futex_wait(&s->stopped, 0, deadline) == ETIMEDOUT) {
			if (!cc__sched_at_rest(s))
				return false;
			deadline = CC_FOREVER;	/* the workers are about to find that out */
		}
	return true;
}

/* A fiber that parks enters PARKING, then looks at the flag: it sees it, or is there
 * to be woken. */
static void cancel_tasks(struct cc__sched *s)
{
	/* Seq_cst: before the look at the words in cc__unpark. */
	cc__store(&s->cancel, 1, CC__SEQ_CST);
	/* Frames that fibers were made in before they saw no flag: the walk has them. */
	cc__fence_heavy();
	CC_POINT("stop.cancel", s);
	cc__fiber_unpark_all(s);
	cc__scope_cancel(&s->root.scope, CC__CANCEL, false);
}

/* What those who were cancelled have to come to their end: as long again as they had
 * before, within reason. */
static cc_time grace(const struct cc__sched *s)
{
	return s->config.shutdown_timeout < CC_SEC ? s->config.shutdown_timeout : CC_SEC;
}

/* False: the workers have agreed to end meanwhile. */
static bool take_back(struct cc__sched *s, uint32_t number)
{
	/* Relaxed: one word, two sides; the other is agree_to_end. */
	return cc__cas(&s->stopping, &number, CC__RUNNING, CC__RELAXED, CC__RELAXED);
}

int cc__sched_stop(struct cc__sched *s, cc_time deadline)
{
	const uint32_t number = CC__STOP_FIRST + s->stops++;

	cc__idle_ending(s->idle);
	/* Seq_cst: before the wakes; pairs with over() in search.c. */
	cc__store(&s->stopping, number, CC__SEQ_CST);
	cc__idle_wake_all(s->idle);
	if (!wait_for_end(s, deadline)) {
		cancel_tasks(s);
		if (!wait_for_end(s, cc__from_now(grace(s))) && take_back(s, number))
			return ETIMEDOUT;
		wait_for_end(s, CC_FOREVER);
	}
	cc__blocking_fini(&s->blocking);	/* its threads may still be waking */
	cc__sysmon_stop(s);
	cc__stats_report(s);
	end_workers(s);
	cc__root_close(&s->root);
	if (cc__watched())
		cc__happens_after(s);	/* all that tasks did */
	return 0;
}
