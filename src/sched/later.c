/* later.c - begin at a time, or never. */
#include "sched/later.h"

#include <errno.h>

#include "os/trace.h"
#include "os/fork.h"
#include "sched/worker.h"

/* ---- the timer ---- */

/* A frame as a timer's object, to be told from a parker that waits. */
static void *marked(struct cc__fiber *f)
{
	return (void *)((uintptr_t)f | 1);
}

bool cc__later_is(const void *object)
{
	return ((uintptr_t)object & 1) != 0;
}

static struct cc__fiber *unmarked(void *object)
{
	return (struct cc__fiber *)((uintptr_t)object & ~(uintptr_t)1);
}

/* ---- one of three (B1) ---- */

/* By the one. */
static void leave_wheel(struct cc__fiber *f)
{
	cc__timers_remove(f->wheel, &f->payload.later.timer);
}

bool cc__later_take(struct cc__fiber *f)
{
	if (!cc__later_waits(f))
		return false;
	/* Relaxed, both: as in cc__later_waits.
	 * mutant: swap cc__store survives: under the lock nobody sees the order. */
	cc__store(&f->handle, cc__load(&f->handle, CC__RELAXED) & ~CC__HANDLE_LATER, CC__RELAXED);
	leave_wheel(f);
	return true;
}

void cc__later_begin(struct cc__fiber *f)
{
	cc__word_publish(&f->parker);
	cc__worker_schedule_new(f);
}

/* That task's mark, whoever looks at its frame.  True: f is the caller's. */
static bool take_waited(struct cc__fiber *f, uint64_t id)
{
	bool mine;

	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	/* Relaxed: an id never comes back, so what is beside it is this task's, and WAITED
	 * stays while the mark does. */
	mine = (cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID) == id && cc__later_take(f);
	cc__unlock(&f->done.lock);
	return mine;
}

void cc__later_fire(void *object, uint64_t id)
{
	struct cc__fiber *f = unmarked(object);
	uint64_t h = cc__load(&f->handle, CC__RELAXED);	/* Relaxed: the exchange decides */

	while ((h & CC__HANDLE_ID) == id && (h & CC__HANDLE_LATER)) {
		if (h & CC__HANDLE_WAITED) {
			if (take_waited(f, id))
				cc__later_begin(f);
			return;
		}
		/* Relaxed: the wheel's lock has ordered the frame, or it is our own. */
		if (cc__cas_weak(&f->handle, &h, h & ~CC__HANDLE_LATER, CC__RELAXED, CC__RELAXED)) {
			leave_wheel(f);
			cc__later_begin(f);
			return;
		}
	}
}

/* ---- spawn ---- */

/* A time that has passed.  A worker need not look again and again: what is due by now
 * will be found to be. */
static cc_time recently(struct cc__worker *here)
{
	if (here == NULL)
		return cc__now();
	/* mutant: == -> != survives: 0 has passed as well. */
	if (here->clock == 0)
		here->clock = cc__now();
	return here->clock;
}

bool cc__later_set(struct cc__sched *s, struct cc__worker *here, struct cc__fiber *f,
                   uint64_t handle, cc_time start)
{
	struct cc__worker *w = here != NULL ? here : cc__worker_in_turn(s);
	struct cc__timer *t = &f->payload.later.timer;
	const uint64_t id = handle & CC__HANDLE_ID;
	struct cc__idle *idle = s->idle;
	const cc_time now = recently(here);
	bool first;

	if (start <= now)
		return false;
	CC__EVENT(CC__EV_LATER, &f->parker, (uint64_t)start, id);
	*t = (struct cc__timer){.deadline = start, .object = marked(f), .value = id};
	/* mutant: swap cc__lock survives: nobody else has f yet. */
	f->wheel = &w->timers;
	cc__lock(&w->timers.lock, CC__RANK_TIMER);
	first = cc__timers_add_locked(&w->timers, t, now);
	/* Release: all of the frame and that the timer is armed (B3), to the acquire of
	 * whoever finds this id. */
	cc__store(&f->handle, handle | CC__HANDLE_LATER, CC__RELEASE);
	cc__unlock(&w->timers.lock);
	/* It may have begun and ended by now; idle outlives its runtime (I8). */
	if (first)
		cc__idle_timer(idle, start);
	/* Relaxed, after the light fence: against the store and the heavy fence in
	 * cancel_tasks, whose walk may have come before the frame, or before the mark.  The
	 * caller, who spawns, keeps s alive. */
	cc__fence_light();
	if (cc__load(&s->cancel, CC__RELAXED) != 0)
		cc__later_fire(marked(f), id);
	return true;
}

/* ---- recall ---- */

static void count_recalled(struct cc__sched *s, struct cc__worker *here)
{
	struct cc__idle *idle = s->idle;

	if (here != NULL && here->sched == s) {
		cc__count(&here->finished);
		return;
	}
	/* Seq_cst: before the look in cc__idle_one_less; pairs with cc__sched_at_rest.  If
	 * it was the last, s is gone. */
	cc__add(&s->recalled_outside, 1, CC__SEQ_CST);
	cc__idle_one_less(idle);
}

/* Under the frame's lock, since somebody has looked at it, or it is not LATER at all. */
static int recall_waited(CCTask task)
{
	struct cc__fiber *f;
	uint64_t h;
	int err = 0;

	if ((f = cc__frame_lock(task, &h)) == NULL)
		return EINVAL;
	if (f->done.head != NULL)
		err = EBUSY;
	else if (!(h & CC__HANDLE_LATER))
		err = EALREADY;
	else
		/* Relaxed: WAITED, so all others pass this lock. */
		cc__store(&f->handle, 0, CC__RELAXED);
	cc__unlock(&f->done.lock);
	return err;
}

int cc_task_recall(CCTask task)
{
	struct cc__fiber *f = task.frame;
	uint64_t h = task.id | CC__HANDLE_LATER;
	struct cc__worker *here;
	struct cc__sched *s;
	int err;

	if (cc__forked())
		return ENOTSUP;
	if (f == NULL)
		return EINVAL;
	/* Relaxed: who knows the task knows it from its spawner, who had done all of it. */
	if (!cc__cas(&f->handle, &h, 0, CC__RELAXED, CC__RELAXED) && (err = recall_waited(task)) != 0)
		return err;
	leave_wheel(f);
	s = cc__fiber_home(f);
	/* mutant: swap cc__word_recall survives: f is ours, and who we are stays. */
	here = cc__worker_here();
	cc__store(&f->stack, NULL, CC__RELAXED);	/* Relaxed: f is ours (F2) */
	cc__word_recall(&f->parker);
	cc__frame_put(here != NULL ? &here->frames : NULL, f);
	count_recalled(s, here);
	return 0;
}
