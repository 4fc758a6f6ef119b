/* caller.c - what the layers around the scheduler ask about the thread or fiber that calls. */
#include "sched/worker.h"

#include "wait/thread.h"

struct cc__worker *cc__worker_here(void)
{
	struct cc__thread *t = cc__tls_get();

	return t != NULL ? t->worker : NULL;
}

struct cc__sched *cc__sched_here(void)
{
	struct cc__worker *w = cc__worker_here();

	return w != NULL ? w->sched : NULL;
}

struct cc__frame_cache *cc__frame_cache_here(void)
{
	struct cc__worker *w = cc__worker_here();

	return w != NULL ? &w->frames : NULL;
}

struct cc__poll *cc__poll_here(void)
{
	struct cc__sched *s = cc__sched_here();

	return s != NULL && cc_fiber_id() != 0 ? &s->poll : NULL;
}

struct cc__blocking *cc__blocking_of_caller(void)
{
	return cc_fiber_id() != 0 ? &cc__sched_here()->blocking : NULL;
}

struct cc__scope *cc__scope_here(void)
{
	struct cc__parker *self = cc__self();
	const struct cc__member *m = self != NULL ? *cc__member_slot(self) : NULL;

	return m != NULL ? m->scope : NULL;
}

bool cc__task_is_cancelled_with_caller(CCTask task)
{
	const void *nursery = cc__scope_here();
	struct cc__fiber *f;
	uint64_t h;
	bool is;

	if ((f = cc__frame_lock(task, &h)) == NULL)
		return false;
	/* Under the lock of a frame that has a task: what it runs does not change. */
	is = cc__fiber_nursery(f) == nursery &&
	     (nursery != NULL || cc__fiber_home(f) == cc__sched_here());
	cc__unlock(&f->done.lock);
	return is;
}

void cc__sched_log(const struct cc__sched *s, const char *line)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__parker *was = w != NULL ? cc__running(w->thread) : NULL;

	if (s->config.log == NULL) {
		cc__say(line, "\n");
		return;
	}
	/* The fiber whose stack this is may be PARKING: should the program's
	 * function wait for something, the thread waits, not that fiber. */
	if (w != NULL)
		cc__set_running(w->thread, &w->thread->parker);
	s->config.log(s->config.log_context, line);
	if (w != NULL)
		cc__set_running(w->thread, was);
}
