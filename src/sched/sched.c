/* sched.c - start, spawn, stop. */
#include "sched/sched.h"

#include <errno.h>
#include <string.h>

#include "sched/worker.h"
#include "wait/thread.h"

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

void cc__sched_log(const struct cc__sched *s, const char *line)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__parker *was = w != NULL ? w->thread->running : NULL;

	if (s->config.log == NULL) {
		cc__say(line, "\n");
		return;
	}
	/* The fiber whose stack this is may be PARKING: should the program's
	 * function wait for something, the thread waits, not that fiber. */
	if (w != NULL)
		w->thread->running = &w->thread->parker;
	s->config.log(s->config.log_context, line);
	if (w != NULL)
		w->thread->running = was;
}

/* ---- start and stop ---- */

static void *hook_alloc(const CCConfig *c, size_t size)
{
	return c->allocator.alloc(c->allocator.context, size);
}

static void hook_free(const CCConfig *c, void *p, size_t size)
{
	c->allocator.free(c->allocator.context, p, size);
}

int cc__sched_start(struct cc__sched *s, const CCConfig *config)
{
	struct cc__worker *w;
	int err;

	*s = (struct cc__sched){.config = *config};
	cc__poll_init(&s->poll, &s->config.allocator);
	cc__blocking_init(&s->blocking, CC__BLOCKING_MAX, CC__BLOCKING_IDLE);
	if ((err = cc__stack_pool_init(&s->stacks, config)) != 0)
		return err;
	if ((w = s->worker = hook_alloc(config, sizeof *w)) == NULL)
		return ENOMEM;
	*w = (struct cc__worker){.sched = s, .id = 1, .age_at = CC_FOREVER};
	err = ENOMEM;
	if ((w->nap = cc__nap_new()) == NULL)
		goto free_worker;
	if ((w->reserve = cc__stack_get(&s->stacks)) == NULL)
		goto free_nap;
	if ((w->thread = cc__thread_make()) == NULL)
		goto put_stack;
	if ((err = cc__thread_start(&w->os, cc__worker_main, w, "cc-worker-1")) != 0)
		goto drop_thread;
	return 0;
drop_thread:
	cc__thread_drop(w->thread);
put_stack:
	cc__stack_put(&s->stacks, w->reserve);
free_nap:
	cc__nap_free(w->nap);
free_worker:
	cc__stack_pool_fini(&s->stacks);
	hook_free(config, w, sizeof *w);
	return err;
}

/* As over() in worker.c, from outside.  What has finished is read first, so that
 * equal means that nothing ran at that moment. */
static bool nothing_runs(const struct cc__sched *s)
{
	/* Acquire: before the next two.  Relaxed: between runs nothing moves. */
	const uint64_t finished = cc__load(&s->worker->finished, CC__ACQUIRE);

	return finished == cc__load(&s->spawned_outside, CC__RELAXED) +
	                       cc__load(&s->worker->spawned, CC__RELAXED);
}

int cc__sched_stop(struct cc__sched *s, cc_time deadline)
{
	struct cc__worker *w = s->worker;
	const uint32_t number = CC__STOP_FIRST + s->stops++;

	/* Seq_cst: before the poke; pairs with over() in worker.c. */
	cc__store(&s->stopping, number, CC__SEQ_CST);
	cc__nap_poke(w->nap);
	/* Acquire: pairs with the release at the worker's end. */
	while (cc__load(&s->stopped, CC__ACQUIRE) == 0) {
		uint32_t asked = number;

		if (cc__futex_wait(&s->stopped, 0, deadline) != ETIMEDOUT)
			continue;
		if (nothing_runs(s)) {
			deadline = CC_FOREVER;	/* the worker is about to find that out */
			continue;
		}
		/* Relaxed: one word, two sides; the other is agree_to_end. */
		if (cc__cas(&s->stopping, &asked, CC__RUNNING, CC__RELAXED, CC__RELAXED))
			return ETIMEDOUT;
		deadline = CC_FOREVER;	/* it is on its way */
	}
	cc__blocking_fini(&s->blocking);
	cc__thread_join(w->os);
	cc__thread_drop(w->thread);
	cc__nap_free(w->nap);
	cc__poll_fini(&s->poll);
	cc__stack_pool_fini(&s->stacks);
	hook_free(&s->config, w, sizeof *w);
	return 0;
}

/* ---- spawn ---- */

/* Ids are the process's, so that a dump over several runtimes is unambiguous.
 * Each thread takes a block at a time. */
enum { ID_BLOCK = 64 };
static cc__a64 ids_given = {1};

static uint64_t next_id(struct cc__thread *t)
{
	if (t->spare_ids == 0) {
		/* Relaxed: a number, nothing else. */
		t->spare_id = cc__add(&ids_given, ID_BLOCK, CC__RELAXED);
		t->spare_ids = ID_BLOCK;
	}
	t->spare_ids--;
	return t->spare_id++;
}

int cc__sched_spawn(struct cc__sched *s, CCTask *out, const CCTaskOptions *options,
                    cc_task_main *main, void *arg)
{
	const char *name = options != NULL ? options->name : NULL;
	struct cc__thread *t;
	struct cc__worker *here = NULL;
	struct cc__fiber *f;

	if (main == NULL || (name != NULL && strlen(name) >= CC__NAME_MAX))
		return EINVAL;
	/* Relaxed: who calls while the runtime is freed has no right to more; a
	 * destructor on the worker's own thread, after its end, is sure to see it. */
	if (cc__load(&s->stopping, CC__RELAXED) == CC__ENDING)
		return ECANCELED;
	/* Relaxed: a hint; a task too many waits on the starved list. */
	if (cc__load(&s->worker->is_starved, CC__RELAXED) != 0)
		return EAGAIN;
	if ((t = cc__thread_self()) == NULL)
		return ENOMEM;
	if (t->worker != NULL && ((struct cc__worker *)t->worker)->sched == s)
		here = t->worker;
	if ((f = cc__frame_get(here != NULL ? &here->frames : NULL)) == NULL)
		return ENOMEM;
	cc__frame_begin(f, s, next_id(t), name, out == NULL);
	f->run.main = main;
	f->payload.arg = arg;
	if (out != NULL)
		/* Relaxed: just written. */
		*out = (CCTask){.frame = f, .id = cc__load(&f->id, CC__RELAXED)};
	if (here != NULL)
		cc__count(&here->spawned);
	else
		/* Seq_cst: before the push; pairs with over() in worker.c. */
		cc__add(&s->spawned_outside, 1, CC__SEQ_CST);
	CC_POINT("spawn.before_publish", &f->parker);
	cc__word_publish(&f->parker);
	cc__schedule(&f->parker);
	return 0;
}

/* ---- sleep ---- */

int cc_sleep_until(cc_time deadline)
{
	struct cc__waitq nobody = {0};
	struct cc__waiter w = {0};
	int err;

	if (deadline <= cc__now())
		return 0;
	cc__lock(&nobody.lock, CC__RANK_WAITQ);
	err = cc__wait(&nobody, &w, deadline);
	return err == ETIMEDOUT ? 0 : err;
}
