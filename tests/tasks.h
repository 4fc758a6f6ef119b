/* tasks.h - spawning, joining and holding tasks in tests: checked, and short. */
#ifndef TEST_TASKS_H
#define TEST_TASKS_H

#include <ccc/ccc.h>

#include <errno.h>

#include "os/atomic.h"
#include "test.h"

static inline CCTask spawn(CCRuntime *rt, cc_task_main *main, void *arg)
{
	CCTask t = {0};

	CHECK_EQ(cc_task_spawn(rt, &t, NULL, main, arg), 0);
	return t;
}

/* Its result. */
static inline int join(CCTask t)
{
	int result = -12345;

	CHECK_EQ(cc_task_join(t, CC_FOREVER, &result), 0);
	return result;
}

/* A door that tasks wait at. */
struct gate {
	cc__a32 open, arrived;
};

/* Others run meanwhile. */
static inline int wait_at(void *arg)
{
	struct gate *g = arg;

	cc__add(&g->arrived, 1, CC__RELEASE);
	while (cc__load(&g->open, CC__ACQUIRE) == 0)
		cc_yield();
	return 17;
}

/* Nobody runs meanwhile: the worker is held. */
static inline int hold_worker_at(void *arg)
{
	struct gate *g = arg;

	cc__store(&g->arrived, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(&g->open, CC__ACQUIRE) != 0);
	return 0;
}

static inline int nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* Again and again: where little time is given, a busy machine needs more. */
static inline void free_until_done(CCRuntime *rt)
{
	int err;

	while ((err = cc_runtime_free(rt)) == ETIMEDOUT)
		continue;
	CHECK_EQ(err, 0);
}

#endif
