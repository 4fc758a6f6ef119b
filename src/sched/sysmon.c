/* sysmon.c - the monitor of sysmon.h: look at each worker, judge, tick or sleep. */
#include <limits.h>

#include "sched/sysmon.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "os/peek.h"
#include "os/usage.h"
#include "sched/worker.h"
#include "wait/cancel.h"
#include "wait/thread.h"

/* While work waits behind busy workers it looks more often. */
#define QUICK (2 * CC_MSEC)
/* Ticks with everybody asleep before it sleeps too. */
enum { IDLE_TICKS = 20 };

/* What one look around saw. */
struct look {
	cc_time now;
	cc_time step;		/* since the look before */
	unsigned stuck;		/* workers */
	bool same;		/* some worker has not been seen to move since the last look */
	bool woken, fresh;	/* what waits: started fibers, unstarted tasks */
	bool queued;		/* something waits for a worker that is not stuck */
	bool spare;		/* a worker sleeps or searches that takes any of them */
	bool reserve;		/* the reserve does: it takes started ones */
	cc_time timer;		/* the next that only we may serve */
};

/* ---- what it says ---- */

__attribute__((format(printf, 2, 3))) static void say(const struct cc__sched *s,
                                                      const char *format, ...)
{
	char line[480];
	int n = snprintf(line, sizeof line, "libccc: ");
	va_list args;

	va_start(args, format);
	vsnprintf(line + n, sizeof line - (size_t)n, format, args);
	va_end(args);
	cc__sched_log(s, line);
}

static bool debug(const struct cc__sched *s)
{
	return s->config.debug & CC_DEBUG_FLAG_SYSMON;
}

/* Why it adds none: once, until the reason changes. */
static void hold_back(struct cc__sched *s, enum cc__pressure_block block, const char *why)
{
	cc__pressure_sample(s, block);
	if (!debug(s) || s->sysmon.said == why)
		return;
	s->sysmon.said = why;
	say(s, "sysmon: no worker added: %s", why);
}

/* ---- one worker ---- */

struct culprit {
	uint64_t id;		/* 0: it is gone */
	struct cc__name name;
	uintptr_t place;	/* base/place.h */
	const void *scope;	/* its nursery's, which may be gone */
};

/* The fiber that runs on w, marked as stuck.  Its lock keeps it from ending, so
 * its stack is there. */
static struct culprit mark(struct cc__sched *s, const struct cc__worker *w)
{
	/* Acquire: the frame, from the release in cc__set_running.  The fiber may have ended
	 * since then, but a frame stays a frame. */
	struct cc__parker *p = cc__load(&w->thread->running, CC__ACQUIRE);
	struct cc__fiber *f = cc__fiber_of(p);
	struct culprit c = {0};
	struct cc__stack *stack;

	if (p == &w->thread->parker)
		return c;
	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	c.id = cc__frame_hold(f);
	/* Acquire: the descriptor, from bind. */
	stack = c.id != 0 ? cc__load(&f->stack, CC__ACQUIRE) : NULL;
	if (cc__is_stack(stack) && cc__fiber_home(f) == s) {
		/* Relaxed: a hint.  (0 means that it never was.) */
		cc__store(&stack->own.stuck, cc__coarse(cc__now()) | 1, CC__RELAXED);
		cc__fiber_name_of(f, &c.name);
		c.place = cc__fiber_place(f);
		c.scope = (const void *)((uintptr_t)cc__fiber_nursery(f) & ~(uintptr_t)1);
	} else {
		c.id = 0;
	}
	cc__unlock(&f->done.lock);
	return c;
}

/* ---- stalls ---- */

void (*cc__sysmon_probe)(bool on);

static struct cc__usage usage_of(const struct cc__worker *w)
{
	return cc__usage_of(cc__load(&w->number, CC__RELAXED));	/* Relaxed: a number, or not yet */
}

static uint64_t operations_of(const struct cc__worker *w)
{
	return cc__load(&w->thread->operations, CC__RELAXED);	/* Relaxed: a count */
}

static void ask_channels(struct cc__worker *w)
{
	struct cc__pulse *p = &w->pulse;

	p->asked = true;
	if (cc__sysmon_probe != NULL)
		cc__sysmon_probe(true);
	p->operations = operations_of(w);
	p->ran = usage_of(w).ran;
}

static void ask_no_more(struct cc__pulse *p)
{
	if (p->asked && cc__sysmon_probe != NULL)
		cc__sysmon_probe(false);
	p->asked = false;
}

/* Since the monitor asked: w's thread sleeps in the kernel, or has had a CPU for that long. */
static bool has_had_time(const struct cc__worker *w, cc_time enough)
{
	const struct cc__usage u = usage_of(w);

	return u.asleep || u.ran == 0 || u.ran - w->pulse.ran >= enough;
}

/* A tick at which w's fiber has kept it since the tick before, `step` ago.  True, once for each fiber: report
 * it (SYSMON-7). */
static bool stall_due(struct cc__sched *s, struct cc__worker *w, cc_time step)
{
	const cc_time stall = s->config.stall, most = 4 * s->config.scale_interval;
	struct cc__pulse *p = &w->pulse;

	if (p->told || stall == CC_FOREVER)
		return false;
	p->kept += step < most ? step : most;
	if (p->asked && operations_of(w) != p->operations) {
		ask_no_more(p);
		p->kept = 0;
	}
	if (!p->asked) {
		if (p->kept >= stall / 2) {
			ask_channels(w);
			p->kept = stall / 2;
		}
		return false;
	}
	if (p->kept < stall || !has_had_time(w, stall / 2))
		return false;
	ask_no_more(p);
	p->told = true;
	return true;
}

/* Relaxed, both: numbers; if they are wrong, the next tick sees others. */
static bool calls_wait(const struct cc__sched *s)
{
	return cc__load(&s->blocking.waiting, CC__RELAXED) != 0;
}

/* True, once, if calls wait for a thread of the blocking pool and no thread has taken one for as long as a
 * stall may last. */
static bool pool_due(struct cc__sched *s, cc_time step)
{
	const cc_time stall = s->config.stall, most = 4 * s->config.scale_interval;
	const uint64_t taken = cc__load(&s->blocking.taken, CC__RELAXED);
	struct cc__sysmon *m = &s->sysmon;

	if (stall == CC_FOREVER || !calls_wait(s) || taken != m->pool.taken) {
		m->pool.taken = taken;
		m->pool.kept = 0;
		m->pool.told = false;
		return false;
	}
	m->pool.kept += step < most ? step : most;
	if (m->pool.told || m->pool.kept < stall)
		return false;
	m->pool.told = true;
	return true;
}

/* That may yet become due, so the monitor must not sleep. */
static bool pool_pending(const struct cc__sched *s)
{
	return s->config.stall != CC_FOREVER && calls_wait(s) && !s->sysmon.pool.told;
}

/* ---- one worker, again ---- */

static bool runs_a_fiber(const struct cc__worker *w)
{
	/* Relaxed, both: if they were wrong, its heart will have beaten; and the pointer is
	 * compared, not followed. */
	return cc__load(&w->life, CC__RELAXED) == CC__LIFE_ACTIVE &&
	       cc__load(&w->thread->running, CC__RELAXED) != &w->thread->parker;
}

/* Takes w's pulse.  True: it is stuck (M2). */
static bool is_stuck(struct cc__sched *s, struct cc__worker *w, struct look *l)
{
	struct cc__pulse *p = &w->pulse;
	/* Relaxed, both: a heartbeat. */
	const uint64_t beats =
	    cc__load(&w->picks, CC__RELAXED) + cc__load(&w->serves, CC__RELAXED);

	if (beats != p->beats || !runs_a_fiber(w)) {
		ask_no_more(&w->pulse);
		*p = (struct cc__pulse){.beats = beats, .since = l->now};
		return false;
	}
	l->same = true;
	if (l->now - p->since < s->config.scale_interval)
		return false;
	if (!p->stuck) {
		struct culprit c = mark(s, w);

		if (c.id != 0 && debug(s))
			say(s, "sysmon: worker %u is stuck in fiber %llu %s", w->id,
			    (unsigned long long)c.id, c.name.text);
		p->stuck = true;
	}
	/* Relaxed: a hint.  Each time: the worker may have cleared it for the fiber
	 * before, and a stray one does no harm. */
	cc__store(&w->stuck, 1, CC__RELAXED);
	return true;
}

/* The scope, or one around it, is cancelled.  They lie in memory of their owners. */
static bool scope_is_cancelled(const void *scope)
{
	struct cc__scope s = {.shield = false};

	for (int depth = 0; scope != NULL && depth < 16 && !s.shield; depth++) {
		if (!cc__copy_if_mapped(&s, scope, sizeof s))
			return false;
		if (cc__load(&s.flag, CC__RELAXED) != 0)	/* Relaxed: a copy */
			return true;
		scope = s.around;
	}
	return false;
}

static const char *remedy(const struct cc__worker *w, const struct culprit *c)
{
	if (scope_is_cancelled(c->scope))
		return "it has been cancelled; end the task when a call returns ECANCELED";
	if (usage_of(w).asleep)
		return "it is blocked in a system call; make such calls by cc_blocking, or those of "
		       "ccc/io.h";
	return "it computes; call cc_yield, or ask cc_should_yield, in its loop, or run it by "
	       "cc_blocking";
}

/* A fiber that keeps its worker for too long is named, once. */
static void report_stall(struct cc__sched *s, struct cc__worker *w, const struct look *l)
{
	const cc_time ms = (l->now - w->pulse.since) / CC_MSEC;
	const struct culprit c = mark(s, w);
	char where[160];

	if (c.id == 0)
		return;
	cc__place_write(c.place, where, sizeof where);
	say(s, "stall: fiber %llu%s%.16s%s%s%s%s has run on worker %u for %lld.%lld s and not let go of "
	       "it: %s",
	    (unsigned long long)c.id, c.name.text[0] != '\0' ? " '" : "", c.name.text,
	    c.name.text[0] != '\0' ? "'" : "", where[0] != '\0' ? " (spawned at " : "", where,
	    where[0] != '\0' ? ")" : "", w->id, (long long)(ms / 1000), (long long)(ms % 1000 / 100),
	    remedy(w, &c));
}

/* Calls of cc_blocking wait for each other. */
static void report_full_pool(struct cc__sched *s)
{
	say(s, "stall: all %u threads for blocking calls are busy, and %u calls have waited for %lld.%lld s; "
	       "raise CCConfig.blocking_max, or do not let one call of cc_blocking wait for another",
	    s->config.blocking_max, cc__load(&s->blocking.waiting, CC__RELAXED),	/* Relaxed: for people */
	    (long long)(s->sysmon.pool.kept / CC_SEC),
	    (long long)(s->sysmon.pool.kept / (CC_SEC / 10) % 10));
}

static void give(struct cc__sched *s, struct cc__fiber *f)
{
	cc__count(&s->sysmon.moved);
	cc__sched_give(s, f);
}

/* What others have for a worker that does not come by, to all.  Not what stays
 * with it. */
static void empty_inbox(struct cc__sched *s, struct cc__worker *w)
{
	struct cc__fiber *oldest = cc__inbox_take(&w->inbox), *f;

	while ((f = cc__chain_pop(&oldest)) != NULL)
		give(s, f);
}

/* Adds to `given` how many it gave.  False: there was nothing to take. */
static bool give_half(struct cc__sched *s, struct cc__worker *w, unsigned take, uint64_t *given)
{
	struct cc__loot loot;
	const bool any = cc__runq_steal(&w->queue, take, 0, &loot);

	for (uint32_t i = 0; i < loot.count; i++)
		give(s, loot.fiber[i]);
	*given += loot.count;
	return any;
}

/* The same for its queue, where nobody is idle who would take from it: a busy
 * worker comes by the global queue, but not by another one's.  Of unstarted tasks a
 * half, and more only as far as that queue was short of STEAL_MAX: it may be a fiber that
 * spawns a million.  (Its length is read once.  Read each time, it would stay short for as long
 * as others take from it, and the monitor would go on moving.)  A half each time all the same,
 * or those behind one hog wait for as long as another keeps that queue filled. */
static void empty_queue(struct cc__sched *s, struct cc__worker *w)
{
	uint64_t started = 0, filled;

	while (cc__runq_started(&w->queue) > 0 && give_half(s, w, CC__TAKE_STARTED, &started))
		continue;
	filled = cc__global_length(&s->global);
	while (cc__lane_length(&w->queue.lane[CC__FRESH]) > 0 &&
	       give_half(s, w, CC__TAKE_ANY, &filled) && filled < CC__STEAL_MAX)
		continue;
}

/* Some of what is in the global queue, once more: a mark that kept it from the reserve
 * may have faded (M4).  Seldom, for each wakes the reserve. */
static void give_again(struct cc__sched *s, cc_time now)
{
	enum { SOME = 64 };
	uint64_t n = cc__global_length(&s->global);
	struct cc__fiber *f;

	if (now - s->sysmon.given_at < CC__STUCK_FADES / 10)
		return;
	s->sysmon.given_at = now;
	for (n = n < SOME ? n : SOME; n > 0 && (f = cc__global_pop(&s->global)) != NULL; n--)
		give(s, f);
}

/* The timers of a worker that does not come by, or is not there any more. */
static void run_timers(struct cc__worker *w, struct look *l)
{
	const cc_time next = cc__timers_earliest(&w->timers);

	if (next <= l->now)
		cc__timers_run(&w->timers, l->now, UINT_MAX, cc__worker_fire);
	else if (next < l->timer)
		l->timer = next;
}

static void look_at(struct cc__sched *s, struct cc__worker *w, struct look *l)
{
	const enum cc__life life = cc__load(&w->life, CC__RELAXED);	/* Relaxed: a hint */

	if (is_stuck(s, w, l)) {
		l->stuck++;
		if (stall_due(s, w, l->step))
			report_stall(s, w, l);
		empty_inbox(s, w);
		run_timers(w, l);
		l->woken |= cc__runq_started(&w->queue) > 0;
		l->fresh |= cc__lane_length(&w->queue.lane[CC__FRESH]) > 0;
	} else if (life == CC__LIFE_DEAD) {
		run_timers(w, l);
	} else if (life == CC__LIFE_SLEEP || life == CC__LIFE_SEARCH) {
		*(w->only_woken ? &l->reserve : &l->spare) = true;
	} else {
		l->queued |= cc__runq_length(&w->queue) > 0 || cc__inbox_any(&w->inbox);
	}
}

/* ---- all of them ---- */

/* Why cc__sched_grow gave none. */
static const char *why_none(const struct cc__sched *s, const struct look *l, int err)
{
	if (err == ENOMEM)
		return "there is no memory for one";
	if (err != ERANGE)
		return "the system starts no thread";
	if (s->config.workers_max == s->config.workers)
		return "work waits, but workers_max allows no temporary worker";
	return l->woken
	           ? "work waits, but workers_max is reached, and the reserve is there"
	           : "tasks wait, but workers_max is reached, and the reserve takes none of them";
}

/* The gate is open: one more, if an interval has passed since the last (M3). */
static void grow(struct cc__sched *s, const struct look *l)
{
	struct cc__sysmon *m = &s->sysmon;
	unsigned number;
	int err;

	/* Relaxed: one that came too late would find out and end. */
	if (l->now - m->grown_at < s->config.scale_interval ||
	    cc__load(&s->stopping, CC__RELAXED) == CC__ENDING) {
		cc__pressure_sample(s, CC__BLOCK_NONE);
		return;
	}
	if ((err = cc__sched_grow(s, l->woken, &number)) != 0) {
		hold_back(s, err == ERANGE ? CC__BLOCK_AT_LIMIT : CC__BLOCK_NONE,
		          why_none(s, l, err));
		return;
	}
	cc__pressure_sample(s, CC__BLOCK_NONE);
	m->grown_at = l->now;
	m->said = NULL;
	cc__pressure_promoted(s);
	if (debug(s))
		say(s, "sysmon: worker %u added: %u stuck, %s waits", number, l->stuck,
		    l->woken ? "a fiber" : "a task");
}

/* Whether work that nobody serves needs another worker, or an idle one.  What was
 * pushed has called for one by itself; it may have been left to a watch. */
static void judge(struct cc__sched *s, const struct look *l)
{
	if (l->woken && l->reserve)
		cc__idle_wake(s->idle, s->config.workers_max);	/* its place */
	if (l->stuck > 0 && !l->spare)
		give_again(s, l->now);
	if (!l->woken && !l->fresh && !l->queued)
		hold_back(s, CC__BLOCK_NO_WORK, "no work waits");
	else if (l->stuck == 0)
		hold_back(s, CC__BLOCK_NOT_STUCK, "work waits, but no worker is stuck");
	else if (!l->woken && !l->fresh)
		hold_back(s, CC__BLOCK_NOT_STUCK, "work waits, but not for a worker that is stuck");
	else if (cc__sched_pressure(s) <= 0)
		hold_back(s, CC__BLOCK_NONPOSITIVE, "pressure is not positive");
	else if (l->spare || (l->reserve && !l->fresh)) {
		hold_back(s, CC__BLOCK_IDLE_CAPACITY, "a worker is idle");
		cc__idle_wake_one(s->idle);
	} else
		grow(s, l);
}

/* Looks around once.  Returns when to look again. */
static cc_time tick(struct cc__sched *s)
{
	const cc_time interval = s->config.scale_interval;
	struct look l = {.now = cc__now(), .timer = CC_FOREVER};
	cc_time next = interval;

	l.step = l.now - s->sysmon.ticked_at;
	s->sysmon.ticked_at = l.now;
	cc__count(&s->sysmon.ticks);
	cc__coarse_set(l.now);
	cc__sched_reap(s);
	/* Relaxed, twice: nobody else makes workers. */
	for (unsigned i = 0; i < cc__load(&s->workers, CC__RELAXED); i++)
		look_at(s, s->worker[i], &l);
	for (unsigned i = 0; !l.spare && i < cc__load(&s->workers, CC__RELAXED); i++)
		if (s->worker[i]->pulse.stuck)
			empty_queue(s, s->worker[i]);
	l.woken |= cc__inbox_any(&s->woken);
	l.fresh |= cc__global_length(&s->global) > 0;
	judge(s, &l);
	if (pool_due(s, l.step))
		report_full_pool(s);
	if (l.same && !l.spare && (l.woken || l.fresh))
		next = cc__earlier(interval, QUICK);
	if (l.timer != CC_FOREVER && l.timer - l.now < next)
		next = l.timer - l.now > QUICK ? l.timer - l.now : cc__earlier(next, QUICK);
	return next > CC_FOREVER - l.now ? CC_FOREVER : l.now + next;
}

/* ---- ticks and sleep ---- */

/* By each one's own word, not by the count: whoever wakes a worker counts it out
 * afterwards, when it may be past its look at ours. */
static bool all_asleep(const struct cc__sched *s)
{
	/* Relaxed, twice: nobody else makes workers; one that has just retired looks
	 * awake, and is asked again.  Seq_cst: see the drawing in sysmon.h. */
	for (unsigned i = 0; i < cc__load(&s->workers, CC__RELAXED); i++)
		if (cc__load(&s->worker[i]->life, CC__RELAXED) != CC__LIFE_DEAD &&
		    cc__load(&s->worker[i]->nap->asleep, CC__SEQ_CST) == CC__AWAKE)
			return false;
	return !cc__sched_has_retired(s);
}

void (*cc__sysmon_rests)(void);

/* Until a worker wakes (M6). */
static void rest(struct cc__sched *s)
{
	struct cc__sysmon *m = &s->sysmon;
	uint32_t word = CC__SYSMON_TICKS;

	/* Seq_cst, all: as in the drawing. */
	if (!cc__cas(&m->word, &word, CC__SYSMON_ASLEEP, CC__SEQ_CST, CC__SEQ_CST))
		return;
	if (all_asleep(s)) {
		if (cc__sysmon_rests != NULL)
			cc__sysmon_rests();
		while (cc__load(&m->word, CC__SEQ_CST) == CC__SYSMON_ASLEEP)
			cc__futex_wait(&m->word, CC__SYSMON_ASLEEP, CC_FOREVER);
	}
	word = CC__SYSMON_ASLEEP;
	cc__cas(&m->word, &word, CC__SYSMON_TICKS, CC__SEQ_CST, CC__SEQ_CST);
}

void cc__sysmon_rouse(struct cc__sysmon *m)
{
	uint32_t word = CC__SYSMON_ASLEEP;

	/* Seq_cst: as in cc__sysmon_poke. */
	if (cc__cas(&m->word, &word, CC__SYSMON_TICKS, CC__SEQ_CST, CC__SEQ_CST))
		cc__futex_wake(&m->word, 1);
}

static void sysmon_main(void *arg)
{
	struct cc__sched *s = arg;
	struct cc__sysmon *m = &s->sysmon;
	unsigned idle = 0;

	/* Relaxed, all: an order to end, nothing else. */
	while (cc__load(&m->word, CC__RELAXED) != CC__SYSMON_ENDS) {
		const cc_time next = tick(s);

		idle = all_asleep(s) && !pool_pending(s) ? idle + 1 : 0;
		if (idle >= IDLE_TICKS) {
			rest(s);
			idle = 0;
		} else {
			cc__futex_wait(&m->word, CC__SYSMON_TICKS, next);
		}
	}
	/* Relaxed: no other thread makes workers. */
	for (unsigned i = 0; i < cc__load(&s->workers, CC__RELAXED); i++)
		ask_no_more(&s->worker[i]->pulse);
}

int cc__sysmon_start(struct cc__sched *s)
{
	struct cc__sysmon *m = &s->sysmon;
	int err;

	/* Relaxed: nobody pushes yet. */
	if (!s->config.sysmon)
		return 0;
	m->grown_at = cc__now() - s->config.scale_interval;
	err = cc__thread_start(&m->os, sysmon_main, s, "cc-sysmon");
	m->there = err == 0;
	return err;
}

void cc__sysmon_stop(struct cc__sched *s)
{
	struct cc__sysmon *m = &s->sysmon;

	if (!m->there)
		return;
	/* Seq_cst: one order with its rest. */
	cc__store(&m->word, CC__SYSMON_ENDS, CC__SEQ_CST);
	cc__futex_wake(&m->word, 1);
	cc__thread_join(m->os);
}
