/* spawn.h - the birth of a task, in two steps: a frame that is nobody else's, for the caller
 * to fill, and then the queue.  Inline, for each way to spawn fills it with something else. */
#ifndef CC__SCHED_SPAWN_H
#define CC__SCHED_SPAWN_H

#include <errno.h>

#include "sched/worker.h"
#include "wait/thread.h"

/* 0 if a task of s may have these options, or EINVAL; ENOMEM if the system grants not one stack of
 * the size they ask for.  s is NULL: the caller's scheduler, if it has one. */
int cc__task_options_check(struct cc__sched *s, const CCTaskOptions *options);
/* Of what has been checked. */
void cc__frame_options(struct cc__fiber *f, const CCTaskOptions *options);

/* Fills an ASSIGNED frame.  The caller fills f->payload and run.main. */
static inline void cc__frame_begin(struct cc__fiber *f, struct cc__sched *home,
                                   const CCTaskOptions *options)
{
	f->home = (uintptr_t)home | CC_MIGRATE_FREE;
	if (options != NULL)
		cc__frame_options(f, options);
}

/* Makes a frame visible to walks over all tasks.  Nothing of it but its word and its lock is
 * written after that, until the task runs. */
static inline void cc__frame_show(struct cc__fiber *f, uint64_t handle)
{
	/* Release: all of the frame, to the acquire of a reader that finds this id. */
	cc__store(&f->handle, handle, CC__RELEASE);
}

struct cc__birth {
	struct cc__fiber *f;
	struct cc__worker *here;	/* that spawns it, of the same scheduler; NULL: none */
	uint64_t handle;		/* its id, and perhaps DETACHED */
};

/* Ids are the process's, so that a dump over several runtimes is unambiguous.
 * Each thread takes a block at a time; this is its first. */
uint64_t cc__ids_take(struct cc__thread *t);

static inline uint64_t cc__next_id(struct cc__thread *t)
{
	if (__builtin_expect(t->spare_ids == 0, 0))
		return cc__ids_take(t);
	t->spare_ids--;
	return t->spare_id++;
}

/* Why s takes no task; 0: it does. */
static inline int cc__spawn_refusal(const struct cc__sched *s)
{
	/* Relaxed, both: who calls while the runtime is freed has no right to more; a
	 * destructor on the worker's own thread, after its end, is sure to see it, and
	 * so is a task whose wait was cancelled. */
	if (__builtin_expect(cc__load(&s->stopping, CC__RELAXED) == CC__ENDING ||
	                         cc__load(&s->cancel, CC__RELAXED) != 0,
	                     0))
		return ECANCELED;
	/* Relaxed: a hint; a task too many starves with the others. */
	return __builtin_expect(cc__load(&s->starved.any, CC__RELAXED) != 0, 0) ? EAGAIN : 0;
}

/* By thread t: the frame of a task of s.  Options have been checked; what it runs and with what
 * is the caller's business.  0, or nothing has happened. */
static inline int cc__spawn_begin(struct cc__birth *b, struct cc__sched *s, struct cc__thread *t,
                                  const CCTaskOptions *options, bool detached)
{
	int err = cc__spawn_refusal(s);

	if (err != 0)
		return err;
	b->here = t->worker;
	if (b->here != NULL && b->here->sched != s)
		b->here = NULL;
	if ((b->f = cc__frame_get(b->here != NULL ? &b->here->frames : NULL)) == NULL)
		return ENOMEM;
	b->handle = cc__next_id(t) | (detached ? CC__HANDLE_DETACHED : 0);
	cc__frame_begin(b->f, s, options);
	if (b->here != NULL)
		cc__count(&b->here->spawned);
	else
		/* Seq_cst: before the push; pairs with over() in search.c. */
		cc__add(&s->spawned_outside, 1, CC__SEQ_CST);
	return 0;
}

/* It may run: the frame is the caller's no longer. */
static inline void cc__spawn_end(const struct cc__birth *b)
{
	struct cc__fiber *f = b->f;

	cc__frame_show(f, b->handle);
	cc__word_publish(&f->parker);
	if (b->here != NULL && !b->here->only_woken && cc__fiber_migration(f) != CC_MIGRATE_PINNED)
		cc__worker_push(b->here, f);
	else
		cc__worker_schedule_new(f);
}

#endif
