/* join.c - the handle of a task: its end, join, detach, the end as a case of a select, and the
 * caller's own.  The table of the handle word is in frame.h (F3). */
#include "task/frame.h"

#include <errno.h>
#include <string.h>

#include "os/fork.h"
#include "wait/host.h"
#include "wait/thread.h"

/* ---- the end ---- */

/* The end, if nobody waits: the result stays for a joiner, or nobody wants it, and
 * *mine tells that the frame is the caller's.  False: somebody waits. */
static bool end_alone(struct cc__fiber *f, bool joined, bool *mine)
{
	/* Relaxed: while it is not WAITED only we change it. */
	uint64_t h = cc__load(&f->handle, CC__RELAXED);

	*mine = joined || (h & CC__HANDLE_DETACHED);
	/* Release: the result, to the acquire in take_result. */
	return !(h & CC__HANDLE_WAITED) &&
	       cc__cas(&f->handle, &h, *mine ? 0 : h | CC__HANDLE_DONE, CC__RELEASE, CC__RELAXED);
}

/* The end, under the lock, which it drops.  True: f is the caller's. */
static bool end_locked(struct cc__fiber *f, int result, bool joined, struct cc__wake *last)
{
	struct cc__batch batch;
	/* Relaxed, both: WAITED, so all others pass this lock. */
	const uint64_t h = cc__load(&f->handle, CC__RELAXED);
	/* (A select that has been decided elsewhere is no joiner, though still listed.) */
	struct cc__waiter *w = cc__waitq_claim(&f->done);
	const bool mine = joined || w != NULL || (h & CC__HANDLE_DETACHED);

	cc__batch_init(&batch);
	cc__store(&f->handle, mine ? 0 : h | CC__HANDLE_DONE, CC__RELAXED);
	while (w != NULL) {
		*(int *)w->io = result;
		cc__batch_add(&batch, *last);
		*last = cc__waitq_tell(w, CC__REASON_DATA, 0);
		if (cc__batch_full(&batch)) {
			cc__unlock(&f->done.lock);
			cc__batch_flush(&batch);
			cc__lock(&f->done.lock, CC__RANK_WAITQ);
		}
		w = cc__waitq_claim(&f->done);
	}
	cc__unlock(&f->done.lock);
	cc__batch_flush(&batch);
	return mine;
}

bool cc__frame_end(struct cc__fiber *f, int result, bool joined, struct cc__wake *last)
{
	bool mine;

	*last = (struct cc__wake){0};
	f->run.result = result;
	cc__word_done(&f->parker);
	CC_POINT("task.before_end", &f->parker);
	if (end_alone(f, joined, &mine))
		return mine;
	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	return end_locked(f, result, joined, last);
}

/* ---- join ---- */

/* From `h`, which has DONE, to no task.  True: the frame and the result are ours. */
static bool take_result(struct cc__fiber *f, uint64_t h, int *result)
{
	/* Acquire: pairs with the release in end_alone; under WAITED, with the lock.
	 * An id never comes back, so it is still the same task. */
	if (!cc__cas(&f->handle, &h, 0, CC__ACQUIRE, CC__RELAXED))
		return false;
	*result = f->run.result;
	cc__frame_put(cc__frame_cache_here(), f);
	return true;
}

struct cc__fiber *cc__frame_lock(CCTask task, uint64_t *h)
{
	struct cc__fiber *f = task.frame;

	if (f == NULL || task.id == 0)
		return NULL;
	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	*h = cc__load(&f->handle, CC__RELAXED);	/* Relaxed: the exchange decides */
	while ((*h & CC__HANDLE_ID) == task.id) {
		const uint64_t waited = *h | CC__HANDLE_WAITED;

		/* Acquire: the frame, from cc__frame_show or cc__later_set; the result, from
		 * end_alone. */
		if (*h == waited || cc__cas(&f->handle, h, waited, CC__ACQUIRE, CC__RELAXED)) {
			*h = waited;
			if (!(waited & CC__HANDLE_DETACHED))
				return f;
			break;
		}
	}
	cc__unlock(&f->done.lock);
	return NULL;
}

/* With cc__frame_lock's lock, which it drops: if the task is over, take its result
 * and the frame with it.  False: it is not over, and the lock is still held. */
static bool consume_if_done(struct cc__fiber *f, uint64_t h, int *result)
{
	if (!(h & CC__HANDLE_DONE))
		return false;
	/* Relaxed: WAITED, so all others pass the lock. */
	cc__store(&f->handle, 0, CC__RELAXED);
	*result = f->run.result;
	cc__unlock(&f->done.lock);
	cc__frame_put(cc__frame_cache_here(), f);
	return true;
}

/* A joiner whose deadline passes while the end is being told to others, more
 * than fit into one batch, has its result all the same. */
static bool withdraw_joiner(void *object, struct cc__waiter *w)
{
	struct cc__waitq *done = object;
	struct cc__fiber *f = (struct cc__fiber *)(void *)((char *)done -
	                                                   offsetof(struct cc__fiber, done));
	bool undecided = false;

	cc__lock(&done->lock, CC__RANK_WAITQ);
	if (w->next != NULL) {
		cc__waitq_remove(done, w);
		/* Relaxed: WAITED, so the end sets it under this lock. */
		undecided = cc__load(&f->handle, CC__RELAXED) != 0;
		if (!undecided) {
			CC__EVENT(CC__EV_DECIDE, w->who, w->ticket, CC__REASON_DATA);
			*(int *)w->io = f->run.result;
			w->result = 0;
		}
	}
	cc__unlock(&done->lock);
	return undecided;
}

static const struct cc__waitable_ops join_ops = {
    .publish = cc__waitq_publish,
    .unpublish = withdraw_joiner,
};

/* `cancel` is the flag that ends the wait; NULL: whatever cancels the caller. */
static inline __attribute__((always_inline)) int join_task(CCTask task, cc_time deadline,
                                                           int *result, const cc__a32 *cancel)
{
	struct cc__waiter w = {.cancel = cancel, .what = CC__FOR_TASK};
	struct cc__fiber *f = task.frame;
	uint64_t h;
	int ignored;

	if (cc__forked())
		return ENOTSUP;
	w.io = result != NULL ? result : &ignored;
	/* Relaxed: take_result decides. */
	if (f != NULL && task.id != 0 &&
	    (h = cc__load(&f->handle, CC__RELAXED)) == (task.id | CC__HANDLE_DONE) &&
	    take_result(f, h, w.io))
		return 0;
	if (deadline == CC_FOREVER && cc__sched_run_here(task, w.io))
		return 0;
	if ((f = cc__frame_lock(task, &h)) == NULL)
		return EINVAL;
	if (consume_if_done(f, h, w.io))
		return 0;
	if (cc__self() == &f->parker) {
		cc__unlock(&f->done.lock);
		return EDEADLK;
	}
	CC__EVENT(CC__EV_JOIN, cc__self(), task.id, 0);
	return cc__wait_as(&f->done, &join_ops, &w, deadline);
}

int cc_task_join(CCTask task, cc_time deadline, int *result)
{
	return join_task(task, deadline, result, NULL);
}

int cc__task_join_anyway(CCTask task)
{
	static const cc__a32 never = {0};
	int err;

	/* ENOMEM: a thread's first wait, which is tried again. */
	while ((err = join_task(task, CC_FOREVER, NULL, &never)) == ENOMEM)
		cc__relax();
	return err;
}

/* ---- the end of a task as a case of a group ---- */

/* Under cc__frame_lock's lock, which it drops, DONE: whoever decides the group takes it. */
static void settle_case(struct cc__fiber *f, uint64_t h, struct cc__waiter *w)
{
	if (cc__group_claim(w->group, w->index)) {
		w->result = 0;
		consume_if_done(f, h, w->io);
	} else {
		cc__unlock(&f->done.lock);
	}
}

static bool publish_case(void *object, struct cc__waiter *w)
{
	const CCTask *task = object;
	struct cc__fiber *f;
	uint64_t h;

	if (w->lock != NULL)	/* it was listed before; the frame may be another task's by now */
		return cc__waitq_publish(NULL, w);
	if ((f = cc__frame_lock(*task, &h)) == NULL) {
		w->result = EINVAL;
		cc__group_claim(w->group, w->index);
		return false;
	}
	if (h & CC__HANDLE_DONE) {
		settle_case(f, h, w);
		return false;
	}
	cc__waitq_append(&f->done, w);
	cc__unlock(&f->done.lock);
	return true;
}

static bool unpublish_case(void *object, struct cc__waiter *w)
{
	struct cc__fiber *f = ((const CCTask *)object)->frame;

	return w->lock != NULL && cc__waitq_ops.unpublish(&f->done, w);
}

const struct cc__waitable_ops cc__task_ops = {
    .publish = publish_case,
    .unpublish = unpublish_case,
};

int cc_task_detach(CCTask task)
{
	struct cc__fiber *f;
	uint64_t h;
	int result;

	if (cc__forked())
		return ENOTSUP;
	if ((f = cc__frame_lock(task, &h)) == NULL)
		return EINVAL;
	if (consume_if_done(f, h, &result))
		return 0;
	/* Relaxed: WAITED, so all others pass this lock. */
	cc__store(&f->handle, h | CC__HANDLE_DETACHED, CC__RELAXED);
	cc__unlock(&f->done.lock);
	return 0;
}

/* ---- the caller's own ---- */

static struct cc__fiber *current(void)
{
	struct cc__parker *p = cc__self();

	/* Relaxed: our own. */
	return p == NULL || cc__word_is_thread(cc__load(&p->word, CC__RELAXED)) ? NULL
	                                                                         : cc__fiber_of(p);
}

CCTask cc_self(void)
{
	struct cc__fiber *f = current();

	/* Relaxed: our own, constant while we run. */
	return f == NULL ? (CCTask){0}
	                 : (CCTask){.frame = f,
	                            .id = cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID};
}

uint64_t cc_fiber_id(void)
{
	return cc_self().id;
}

void cc_fiber_name(char name[16])
{
	struct cc__fiber *f = current();
	struct cc__name n = {{0}};

	if (f != NULL && !cc__forked()) {
		cc__lock(&f->done.lock, CC__RANK_WAITQ);
		cc__fiber_name_of(f, &n);
		cc__unlock(&f->done.lock);
	}
	memcpy(name, n.text, sizeof n.text);
}
