/* sleepers.h - the same test body in a fiber and in an OS thread, and a look at
 * the word of whoever runs it. */
#ifndef SLEEPERS_H
#define SLEEPERS_H

#include "environment.h"
#include "test.h"

#include <ccc/ccc.h>

#include <pthread.h>

#include "wait/thread.h"
#include "wait/wait.h"

enum kind { FIBER, THREAD, KINDS };

struct sleeper {
	enum kind kind;
	int (*main)(void *arg);
	void *arg;
	CC__ATOMIC(struct cc__parker *) who;	/* set by itself before main */
	CCTask task;
	pthread_t thread;
	int result;				/* main's; after sleeper_join */
};

/* With so many workers, for good; 0: as many as usual. */
static inline CCRuntime *test_runtime_of(unsigned workers)
{
	CCRuntime *rt = NULL;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	c.stack_idle = 3600 * CC_SEC;	/* a worker's sleep has no end of its own */
	only_workers(&c, workers != 0 ? workers : c.workers);
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

static inline CCRuntime *test_runtime(void)
{
	return test_runtime_of(0);
}

/* ---- a ghost: wakes everybody it knows all the time, for no reason ---- */

enum { HAUNTED = 64 };
static struct ghost {
	CC__ATOMIC(struct cc__parker *) who[HAUNTED];	/* parkers are for ever */
	cc__a32 next, on;
	cc__a64 wakes;
	pthread_t thread;
} ghost;

static inline void haunt(struct cc__parker *who)
{
	cc__store(&ghost.who[cc__add(&ghost.next, 1, CC__RELAXED) % HAUNTED], who, CC__RELEASE);
}

static inline void *ghost_main(void *arg)
{
	while (cc__load(&ghost.on, CC__ACQUIRE) != 0) {
		for (int i = 0; i < HAUNTED; i++) {
			struct cc__parker *who = cc__load(&ghost.who[i], CC__ACQUIRE);

			if (who != NULL)
				cc__unpark(who);
		}
		cc__add(&ghost.wakes, 1, CC__RELAXED);
		sched_yield();
	}
	return arg;
}

static inline void ghost_begin(void)
{
	cc__store(&ghost.on, 1, CC__RELEASE);
	haunt(cc__self());
	CHECK_EQ(pthread_create(&ghost.thread, NULL, ghost_main, NULL), 0);
}

static inline void ghost_end(void)
{
	cc__store(&ghost.on, 0, CC__RELEASE);
	pthread_join(ghost.thread, NULL);
}

/* ---- sleepers ---- */

static inline int sleeper_main(void *arg)
{
	struct sleeper *s = arg;

	haunt(cc__self());
	cc__store(&s->who, cc__self(), CC__RELEASE);
	return s->result = s->main(s->arg);
}

static inline void *sleeper_thread(void *arg)
{
	sleeper_main(arg);
	return NULL;
}

/* main(arg) in a fiber of rt or in a thread of its own. */
static inline void sleeper_start(struct sleeper *s, CCRuntime *rt, enum kind kind,
                                 int (*main)(void *arg), void *arg)
{
	*s = (struct sleeper){.kind = kind, .main = main, .arg = arg, .result = -1};
	if (kind == FIBER)
		CHECK_EQ(cc_task_spawn(rt, &s->task, NULL, sleeper_main, s), 0);
	else
		CHECK_EQ(pthread_create(&s->thread, NULL, sleeper_thread, s), 0);
}

static inline int sleeper_join(struct sleeper *s)
{
	if (s->kind == FIBER)
		CHECK_EQ(cc_task_join(s->task, CC_FOREVER, NULL), 0);
	else
		CHECK_EQ(pthread_join(s->thread, NULL), 0);
	return s->result;
}

static inline struct cc__parker *sleeper_who(struct sleeper *s)
{
	struct cc__parker *who;

	TEST_UNTIL((who = cc__load(&s->who, CC__ACQUIRE)) != NULL);
	return who;
}

static inline uint64_t word_of(const struct cc__parker *p)
{
	return cc__load(&p->word, CC__ACQUIRE);
}

static inline enum cc__state state_of(const struct cc__parker *p)
{
	return cc__word_state(word_of(p));
}

static inline void until_state(const struct cc__parker *p, enum cc__state state)
{
	TEST_UNTIL(state_of(p) == state);
}

static inline struct cc__parker *until_parked(struct sleeper *s)
{
	struct cc__parker *who = sleeper_who(s);

	until_state(who, CC__PARKED);
	return who;
}

static inline bool on_list(struct cc__waitq *q)
{
	bool some;

	cc__lock(&q->lock, CC__RANK_WAITQ);
	some = q->head != NULL;
	cc__unlock(&q->lock);
	return some;
}

#endif
