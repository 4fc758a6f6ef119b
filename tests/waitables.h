/* waitables.h - a semaphore that can be closed: the smallest waitable with all
 * three operations, and counts of how often each was asked. */
#ifndef WAITABLES_H
#define WAITABLES_H

#include <errno.h>

#include "wait/wait.h"

struct sem {
	struct cc__waitq q;
	int count;		/* q.lock */
	bool closed;		/* q.lock */
	cc__a32 tries, publications, withdrawals;
};

/* Under the lock: take one, or see that there will be none. */
static inline bool sem_settled(struct sem *s, struct cc__waiter *w)
{
	if (s->count == 0 && !s->closed)
		return false;
	/* In a group only the one who decides it may take. */
	if (w->index != 0 && !cc__group_claim(w->group, w->index))
		return true;
	w->result = s->count > 0 ? 0 : EPIPE;
	s->count -= s->count > 0;
	return true;
}

static inline bool sem_try(void *object, struct cc__waiter *w)
{
	struct sem *s = object;
	bool done;

	cc__add(&s->tries, 1, CC__RELAXED);
	cc__lock(&s->q.lock, CC__RANK_WAITQ);
	done = sem_settled(s, w);
	cc__unlock(&s->q.lock);
	return done;
}

static inline bool sem_publish(void *object, struct cc__waiter *w)
{
	struct sem *s = object;
	bool listed;

	cc__add(&s->publications, 1, CC__RELAXED);
	cc__lock(&s->q.lock, CC__RANK_WAITQ);
	listed = w->next != NULL;
	if (!listed && cc__load(&w->reason, CC__RELAXED) == CC__REASON_NONE && !sem_settled(s, w)) {
		cc__waitq_append(&s->q, w);
		listed = true;
	}
	cc__unlock(&s->q.lock);
	return listed;
}

static inline bool sem_unpublish(void *object, struct cc__waiter *w)
{
	struct sem *s = object;

	cc__add(&s->withdrawals, 1, CC__RELAXED);
	/* The library's; a waiter that was never listed has no lock. */
	return w->lock != NULL && cc__waitq_ops.unpublish(&s->q, w);
}

static const struct cc__waitable_ops sem_ops = {sem_try, sem_publish, sem_unpublish};

static inline int sem_wait(struct sem *s, cc_time deadline)
{
	struct cc__waiter w = {0};

	return cc__fiber_wait(s, &sem_ops, &w, deadline);
}

static inline void sem_post(struct sem *s)
{
	struct cc__batch batch = {0};

	cc__lock(&s->q.lock, CC__RANK_WAITQ);
	if (!cc__waitq_take(&s->q, &batch, CC__REASON_DATA, 0))
		s->count++;
	cc__unlock(&s->q.lock);
	cc__batch_flush(&batch);
}

static inline void sem_close(struct sem *s)
{
	cc__lock(&s->q.lock, CC__RANK_WAITQ);
	s->closed = true;
	cc__unlock(&s->q.lock);
	cc__wake_all(&s->q, CC__REASON_CLOSE, EPIPE);
}

static inline unsigned counted(const cc__a32 *n)
{
	return cc__load(n, CC__RELAXED);
}

#endif
