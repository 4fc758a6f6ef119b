/* later.c - begin at a time, or never. */
#include "sched/later.h"

#include <errno.h>

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

bool cc__later_take(struct cc__fiber *f)
{
	if (!(f->done.user & CC__TASK_LATER))
		return false;
	f->done.user &= ~(uint32_t)CC__TASK_LATER;
	cc__timers_remove(f->wheel, &f->payload.later.timer);
	return true;
}

void cc__later_begin(struct cc__fiber *f)
{
	cc__word_publish(&f->parker);
	cc__schedule(&f->parker);
}

void cc__later_fire(void *object, uint64_t id)
{
	struct cc__fiber *f = unmarked(object);
	bool mine;

	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	/* Relaxed: the mark was set under the lock, after the id; an id never comes back, so
	 * the mark beside it is this task's. */
	mine = (cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID) == id && cc__later_take(f);
	cc__unlock(&f->done.lock);
	if (mine)
		cc__later_begin(f);
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
                   uint64_t id, cc_time start)
{
	struct cc__worker *w = here != NULL ? here : cc__worker_next(s);
	struct cc__timer *t = &f->payload.later.timer;
	struct cc__idle *idle = s->idle;
	const cc_time now = recently(here);
	bool first;

	if (start <= now)	/* mutant: <= -> < survives: its timer is due at once. */
		return false;
	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	*t = (struct cc__timer){.deadline = start, .object = marked(f), .value = id};
	f->wheel = &w->timers;
	f->done.user |= CC__TASK_LATER;
	first = cc__timers_add(&w->timers, t, now);
	cc__unlock(&f->done.lock);
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

static void count_recalled(struct cc__sched *s)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__idle *idle = s->idle;

	if (w != NULL && w->sched == s) {
		cc__count(&w->finished);
		return;
	}
	/* Seq_cst: before the look in cc__idle_one_less; pairs with cc__sched_at_rest.  If
	 * it was the last, s is gone. */
	cc__add(&s->recalled_outside, 1, CC__SEQ_CST);
	cc__idle_one_less(idle);
}

int cc_task_recall(CCTask task)
{
	struct cc__fiber *f;
	uint64_t h;
	int err = 0;

	if (cc__forked())
		return ENOTSUP;
	if ((f = cc__frame_lock(task, &h)) == NULL)
		return EINVAL;
	if (f->done.head != NULL)
		err = EBUSY;
	else if ((h & CC__HANDLE_DONE) || !cc__later_take(f))
		err = EALREADY;
	else
		/* Relaxed: WAITED, so all others pass this lock. */
		cc__store(&f->handle, 0, CC__RELAXED);
	cc__unlock(&f->done.lock);
	if (err == 0) {
		struct cc__sched *s = cc__fiber_home(f);

		cc__word_recall(&f->parker);
		cc__frame_put(cc__frame_cache_here(), f);
		count_recalled(s);
	}
	return err;
}
