/* workers.h - runtimes with so many workers, what each of them is at, and fibers
 * that can be told which one they are on. */
#ifndef TEST_WORKERS_H
#define TEST_WORKERS_H

#include "environment.h"
#include "sched/worker.h"
#include "tasks.h"
#include "wait/thread.h"

/* Longest sleep of an idle worker: as usual; none, so that nothing but a wake
 * ends it. */
#define USUAL ((cc_time)0)

static inline CCRuntime *workers_new(unsigned n, cc_time idle_wait)
{
	CCRuntime *rt = NULL;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	only_workers(&c, n);
	c.stack_idle = 3600 * CC_SEC;	/* a sleep has no end of its own */
	if (idle_wait != USUAL)
		c.idle_wait = idle_wait;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

static inline struct cc__sched *sched_of(CCRuntime *rt)
{
	return (struct cc__sched *)(void *)rt;
}

static inline struct cc__worker *worker_of(CCRuntime *rt, unsigned id)
{
	return sched_of(rt)->worker[id - 1];
}

static inline uint32_t asleep(CCRuntime *rt)
{
	return cc__load(&sched_of(rt)->idle->sleepers, CC__ACQUIRE);
}

/* The worker that the calling fiber is on; ask again after a switch. */
static inline unsigned here(void)
{
	return cc__worker_here()->id;
}

static inline CCTask spawn_as(CCRuntime *rt, CCMigration m, cc_task_main *main, void *arg)
{
	const CCTaskOptions o = {.migration = m};
	CCTask t = {0};

	CHECK_EQ(cc_task_spawn(rt, &t, &o, main, arg), 0);
	return t;
}

static inline enum cc__state state_of(CCTask t)
{
	struct cc__fiber *f = t.frame;

	return cc__word_state(cc__load(&f->parker.word, CC__ACQUIRE));
}

/* The one that runs it or ran it last. */
static inline unsigned worker_that_ran(CCTask t)
{
	struct cc__fiber *f = t.frame;

	return cc__word_owner(cc__load(&f->parker.word, CC__ACQUIRE));
}

static inline void open_gate(struct gate *g)
{
	cc__store(&g->open, 1, CC__RELEASE);
}

static inline void until_arrived(const struct gate *g, uint32_t n)
{
	TEST_UNTIL(cc__load(&g->arrived, CC__ACQUIRE) >= n);
}

#endif
