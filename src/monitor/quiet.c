/* quiet.c - QUIET-1 to QUIET-4. */
#include <ccc/debug.h>

#include "monitor/quiet.h"

#include <stdio.h>

#include "monitor/hold.h"
#include "monitor/waits.h"
#include "os/census.h"
#include "os/fork.h"
#include "sched/bound.h"

const char cc__quiet_linked = 0;
extern const char cc__quiet_linked;	/* park/trusted.c */

struct cc__sched *cc__quiet_first;	/* scheds_lock; through next */
static struct cc__lock scheds_lock;

static cc__a64 looks;			/* for tests */
static cc__a32 external;		/* cc_external_begin without its end */

/* What one look saw. */
struct census {
	unsigned threads;	/* that sleep */
	uint64_t sum;		/* of numbers that only grow */
	bool awake;		/* something does not sleep */
};

/* ---- kinds of waits ---- */

/* Ended by a thread or fiber of this process, and by nothing else. */
static bool ends_from_inside(enum cc__for what)
{
	switch (what) {
	case CC__FOR_WORD:
	case CC__FOR_MUTEX:
	case CC__FOR_RWLOCK:
	case CC__FOR_COND:
	case CC__FOR_SEMAPHORE:
	case CC__FOR_ONCE:
	case CC__FOR_BARRIER:
	case CC__FOR_WAIT_GROUP:
	case CC__FOR_CHAN:
	case CC__FOR_SELECT:
	case CC__FOR_TOKEN:
	case CC__FOR_TASK:
	case CC__FOR_FLAG:
	case CC__FOR_CALL:
		return true;
	default:
		return false;
	}
}

/* ---- threads ---- */

/* An idle thread of a blocking pool has a deadline, and only ends then. */
static bool thread_sleeps(const struct cc__thread *t)
{
	struct cc__waits w;

	if (!cc__waits_of_thread(t, &w))
		return false;
	return w.what == CC__FOR_JOB || (w.deadline == CC_FOREVER && ends_from_inside(w.what));
}

static bool count_thread(void *record, void *arg)
{
	const struct cc__thread *t = record;
	struct census *c = arg;
	/* Acquire, both: from cc__thread_make and cc__thread_drop; the wait, from its sleeper. */
	const uint32_t live = cc__load(&t->live, CC__ACQUIRE);

	if (live == CC__THREAD_NONE)
		return true;
	c->sum += cc__load(&t->parker.word, CC__ACQUIRE);
	if (live == CC__THREAD_WORKER && cc__word_state(cc__load(&t->parker.word, CC__ACQUIRE)) != CC__PARKED)
		return true;	/* its worker is asked */
	c->threads++;
	c->awake = !thread_sleeps(t);
	return !c->awake;
}

/* ---- schedulers ---- */

/* `earliest` of the wheel may be that of a timer that was removed. */
static bool any_timer(struct cc__timers *h)
{
	bool any;

	cc__lock(&h->lock, CC__RANK_TIMER);
	any = h->levels != 0 || h->reached.first != NULL;
	cc__unlock(&h->lock);
	return any;
}

/* The numbers are read before and after the state, so that in each look both belong together. */
static void count_worker(struct cc__worker *w, struct census *c)
{
	/* Acquire, all: what the worker did before it slept. */
	const uint64_t before = cc__load(&w->nap->wakes, CC__ACQUIRE) + cc__load(&w->picks, CC__ACQUIRE);
	const uint32_t asleep = cc__load(&w->nap->asleep, CC__SEQ_CST);	/* Seq_cst: as all_asleep */
	const uint64_t after = cc__load(&w->nap->wakes, CC__ACQUIRE) + cc__load(&w->picks, CC__ACQUIRE);

	c->sum += before;
	c->awake |= before != after || any_timer(&w->timers);
	if (cc__load(&w->life, CC__ACQUIRE) == CC__LIFE_DEAD)
		return;		/* if its thread is still there, the kernel counts one more */
	c->threads++;
	c->awake |= asleep == CC__AWAKE;
}

static void count_sched(struct cc__sched *s, struct census *c)
{
	/* Acquire, all: as above. */
	const unsigned n = cc__load(&s->workers, CC__ACQUIRE);

	for (unsigned i = 0; i < n && !c->awake; i++)
		count_worker(s->worker[i], c);
	c->sum += cc__load(&s->sysmon.ticks, CC__ACQUIRE);
	c->threads += s->sysmon.there;
	c->awake |= s->sysmon.there &&
	            cc__load(&s->sysmon.word, CC__ACQUIRE) != CC__SYSMON_ASLEEP;
	c->awake |= cc__poll_waiting(&s->poll) != 0 || cc__starved_any(&s->starved) ||
	            cc__load(&s->stopping, CC__ACQUIRE) != CC__RUNNING;
}

static bool take_census(struct census *c)
{
	*c = (struct census){.threads = cc__hold_threads()};
	/* Acquire: what was done before cc_external_end. */
	c->awake = cc__load(&external, CC__ACQUIRE) != 0;
	cc__lock(&scheds_lock, CC__RANK_SCHEDS);
	for (struct cc__sched *s = cc__quiet_first; s != NULL && !c->awake; s = s->next)
		count_sched(s, c);
	cc__unlock(&scheds_lock);
	if (!c->awake)
		cc__thread_walk(count_thread, c);
	return !c->awake;
}

/* ---- fibers ---- */

/* False: it can run, or something outside ends its wait.  A fiber that is OWNED while all workers
 * sleep lies below another one on its stack (in_place.c). */
static bool fiber_sleeps(void *frame, void *arg)
{
	struct cc__fiber *f = frame;
	/* Acquire, both: the frame, from cc__frame_show; the wait, from its sleeper. */
	const uint64_t handle = cc__load(&f->handle, CC__ACQUIRE);
	const enum cc__state state = cc__word_state(cc__load(&f->parker.word, CC__ACQUIRE));
	struct cc__waits w;
	bool *sleeps = arg;

	if ((handle & CC__HANDLE_ID) == 0 || state == CC__DONE || state == CC__OWNED)
		return true;
	*sleeps = state == CC__PARKED && cc__waits_of_fiber(f, false, &w) &&
	          w.deadline == CC_FOREVER && ends_from_inside(w.what);
	return *sleeps;
}

static bool fibers_sleep(void)
{
	bool sleeps = true;

	cc__frames_walk(fiber_sleeps, &sleeps);
	return sleeps;
}

/* ---- the look ---- */

bool cc__quiet_now(uint64_t *signature)
{
	struct census first, second;

	cc__add(&looks, 1, CC__RELEASE);	/* Release: to cc__quiet_looks */
	if (cc__forked() || !take_census(&first) || first.threads != cc__census() ||
	    !fibers_sleep() || !take_census(&second))
		return false;
	*signature = second.sum;
	return first.sum == second.sum && first.threads == second.threads;
}

uint64_t cc__quiet_looks(void)
{
	return cc__load(&looks, CC__ACQUIRE);	/* Acquire: from cc__quiet_now */
}

static void judge_quiet(void)
{
	uint64_t signature;

	if (cc__quiet_now(&signature))
		cc__deadlock(signature);
}

void cc__quiet_watch(void)
{
}

__attribute__((constructor)) static void watch_from_start(void)
{
	cc__thread_waits_long = judge_quiet;
	cc__sysmon_rests = judge_quiet;
	cc__inspect_more = cc__waits_tell;
}

/* ---- which schedulers there are ---- */

void cc__quiet_add(struct cc__sched *s)
{
	cc__lock(&scheds_lock, CC__RANK_SCHEDS);
	s->next = cc__quiet_first;
	cc__quiet_first = s;
	cc__unlock(&scheds_lock);
}

void cc__quiet_remove(struct cc__sched *s)
{
	struct cc__sched **at = &cc__quiet_first;

	cc__lock(&scheds_lock, CC__RANK_SCHEDS);
	while (*at != NULL && *at != s)
		at = &(*at)->next;
	if (*at != NULL)
		*at = s->next;
	cc__unlock(&scheds_lock);
}

void cc__quiet_print_inboxes(void)
{
	char line[160];

	cc__lock(&scheds_lock, CC__RANK_SCHEDS);
	for (struct cc__sched *s = cc__quiet_first; s != NULL; s = s->next)
		/* Relaxed: all of them sleep. */
		for (unsigned i = 0; i < cc__load(&s->workers, CC__RELAXED); i++) {
			struct cc__worker *w = s->worker[i];

			snprintf(line, sizeof line, "  worker %u: inbox %s, own inbox %s, %u queued\n",
			         w->id, cc__inbox_any(&w->inbox) ? "filled" : "empty",
			         cc__inbox_any(&w->own) ? "filled" : "empty",
			         (unsigned)cc__runq_length(&w->queue));
			cc__say(line);
		}
	cc__unlock(&scheds_lock);
}

/* ---- what the program declares ---- */

void cc_external_begin(void)
{
	cc__add(&external, 1, CC__RELAXED);	/* Relaxed: before whatever waits */
}

void cc_external_end(void)
{
	cc__sub(&external, 1, CC__RELEASE);	/* Release: to the acquire in take_census */
}
