/* edge_test.c - corners where two rules meet: many joiners with deadlines, tasks
 * beyond the stacks there are, callbacks in the middle of a park, and a shutdown
 * by those who are being shut down. */
#include "environment.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "points.h"
#include "task/frame.h"
#include "tasks.h"

/* ---- more joiners than one batch ---- */

enum { JOINERS = 24 };

struct joiner {
	CCTask task;
	cc_time deadline;
	int err, result;
};

static void *join_until(void *arg)
{
	struct joiner *j = arg;

	j->err = cc_task_join(j->task, j->deadline, &j->result);
	return NULL;
}

static unsigned listed(CCTask t)
{
	struct cc__fiber *f = t.frame;
	unsigned n = 0;

	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	for (struct cc__waiter *w = f->done.head; w != NULL; w = w->next) {
		n++;
		if (w->next == f->done.head)
			break;
	}
	cc__unlock(&f->done.lock);
	return n;
}

/* The end has been told to the first sixteen when the deadline of the others
 * passes: they have the result all the same. */
TEST(late_joiner_of_a_task_that_ended_gets_its_result)	/* covers: RES-14/f */
{
	struct gate g = {0};
	struct joiner j[JOINERS];
	pthread_t t[JOINERS];
	CCRuntime *rt = NULL;
	struct point *p;
	cc_time late;
	CCTask task;

	NEED_POINTS();
	CHECK_EQ(cc_runtime_new(&rt, NULL), 0);
	task = spawn(rt, hold_worker_at, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) != 0);
	late = cc_now() + CC_SEC * test_slowness();	/* far enough that all are listed by then */
	for (unsigned i = 0; i < JOINERS; i++) {
		j[i] = (struct joiner){.task = task, .deadline = late, .result = -1};
		CHECK_EQ(pthread_create(&t[i], NULL, join_until, &j[i]), 0);
	}
	TEST_UNTIL(listed(task) == JOINERS);
	p = point_hold("wake.before_flush", NULL);
	cc__store(&g.open, 1, CC__RELEASE);
	point_until_held(p);
	for (unsigned i = 0; i < JOINERS; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	point_release(p);
	for (unsigned i = 0; i < JOINERS; i++) {
		CHECK_EQ(j[i].err, 0);
		CHECK_EQ(j[i].result, 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- tasks beyond the stacks ---- */

struct stacks {
	cc__a32 asked, given, most;
};

static void *acquire(void *context, size_t size)
{
	struct stacks *s = context;

	cc__add(&s->asked, 1, CC__RELAXED);
	if (cc__load(&s->given, CC__RELAXED) >= cc__load(&s->most, CC__RELAXED))
		return NULL;
	cc__add(&s->given, 1, CC__RELAXED);
	return aligned_alloc(4096, size);
}

static void release(void *context, void *stack, size_t size)
{
	struct stacks *s = context;

	(void)size;
	cc__sub(&s->given, 1, CC__RELAXED);
	free(stack);
}

static int yield_once(void *arg)
{
	cc_yield();
	cc__add((cc__a32 *)arg, 1, CC__RELAXED);
	return 0;
}

static int spawn_many(void *arg)
{
	cc__a32 *ran = arg;

	for (int i = 0; i < 20000; i++)
		CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, yield_once, ran), 0);
	return 0;
}

/* Each stack that comes back serves one; the rest is not asked for again. */
TEST(starving_tasks_do_not_ask_again_and_again)
{
	struct stacks s = {.most = {8}};
	CCConfig c = config();
	cc__a32 ran = {0};
	CCRuntime *rt = NULL;

	only_workers(&c, 1);
	c.stacks = (CCStackHooks){acquire, release, &s};
	c.stack_size = 65536;
	c.log = NULL;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	CHECK_EQ(join(spawn(rt, spawn_many, &ran)), 0);
	TEST_UNTIL(cc__load(&ran, CC__RELAXED) == 20000);
	CHECK(cc__load(&s.asked, CC__RELAXED) < 3 * 20000);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&s.given, CC__RELAXED), 0);
}

static int spawn_until_it_works(void *arg)
{
	int err;

	while ((err = cc_task_spawn(NULL, NULL, NULL, nothing, NULL)) == EAGAIN)
		cc_yield();
	cc__store((cc__a32 *)arg, 1, CC__RELEASE);
	return err;
}

struct shortage {
	struct stacks stacks;
	struct gate second;
	cc__a32 spawned;
};

/* Starves a task, which then gets this one's stack, not one that is given back. */
static int starve_one(void *arg)
{
	struct shortage *s = arg;
	cc_time until = cc_now() + 30 * CC_MSEC;

	CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, wait_at, &s->second), 0);
	cc_yield();
	TEST_UNTIL(cc_now() > until);		/* past the time to ask again */
	return 0;
}

TEST(spawn_works_again_once_nobody_starves)
{
	struct shortage s = {.stacks.most = {1}};
	CCConfig c = config();
	CCRuntime *rt = NULL;
	int err;

	only_workers(&c, 1);	/* each holds a stack in reserve */
	c.stacks = (CCStackHooks){acquire, release, &s.stacks};
	c.stack_size = 65536;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	CHECK_EQ(join(spawn(rt, starve_one, &s)), 0);
	TEST_UNTIL(cc__load(&s.second.arrived, CC__ACQUIRE) != 0);
	cc__store(&s.stacks.most, 4, CC__RELAXED);
	while ((err = cc_task_spawn(rt, NULL, NULL, spawn_until_it_works, &s.spawned)) == EAGAIN)
		continue;
	CHECK_EQ(err, 0);
	TEST_UNTIL(cc__load(&s.spawned, CC__ACQUIRE) != 0);
	cc__store(&s.second.open, 1, CC__RELEASE);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- a log that waits ---- */

static cc__a32 logged;

static void log_and_wait(void *context, const char *line)
{
	(void)context, (void)line;
	cc_yield();
	CHECK_EQ(cc_sleep_until(cc_now() + CC_MSEC), 0);
	cc__add(&logged, 1, CC__RELAXED);
}

static int park_while_one_starves(void *arg)
{
	CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, nothing, NULL), 0);
	/* Parks, unless it is held up for so long, and on its way finds no stack for the
	 * other and logs that. */
	do
		CHECK_EQ(cc_sleep_until(cc_now() + 5 * CC_MSEC), 0);
	while (cc__load(&logged, CC__RELAXED) == 0);
	*(int *)arg = 1;
	return 0;
}

TEST(log_that_waits_does_not_wait_as_the_fiber)
{
	struct stacks s = {.most = {1}};
	CCConfig c = config();
	CCRuntime *rt = NULL;
	int woke = 0;

	only_workers(&c, 1);
	c.stacks = (CCStackHooks){acquire, release, &s};
	c.stack_size = 65536;
	c.log = log_and_wait;
	cc__store(&logged, 0, CC__RELAXED);
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	CHECK_EQ(join(spawn(rt, park_while_one_starves, &woke)), 0);
	CHECK_EQ(woke, 1);
	CHECK_EQ(cc__load(&logged, CC__RELAXED), 1);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- shutdown ---- */

static void *shut_down(void *arg)
{
	*(int *)arg = cc_shutdown();
	return NULL;
}

static int shut_down_own(void *arg)
{
	struct gate *g = arg;

	wait_at(g);
	return cc_shutdown();
}

TEST(shutdown_by_a_task_is_a_deadlock_even_while_another_shuts_down)
{
	struct gate g = {0};
	CCTask task = spawn(NULL, shut_down_own, &g);
	pthread_t t;
	int err = -1;

	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) != 0);
	CHECK_EQ(pthread_create(&t, NULL, shut_down, &err), 0);
	cc__store(&g.open, 1, CC__RELEASE);
	CHECK_EQ(join(task), EDEADLK);
	CHECK_EQ(pthread_join(t, NULL), 0);
	CHECK_EQ(err, 0);
}

TEST(idle_runtime_is_freed_without_patience)
{
	CCConfig c = config();

	c.shutdown_timeout = 0;
	for (int i = 0; i < 200; i++) {
		CCRuntime *rt = NULL;

		CHECK_EQ(cc_runtime_new(&rt, &c), 0);
		if (!CHECK_EQ(cc_runtime_free(rt), 0))
			return;
	}
}

/* A destructor of the worker's thread, after its end. */
static pthread_key_t key;
static int spawned_late = -1;

static void spawn_late(void *rt)
{
	spawned_late = cc_task_spawn(rt, NULL, NULL, nothing, NULL);
}

static int leave_something(void *rt)
{
	return pthread_setspecific(key, rt);
}

TEST(spawn_after_the_end_is_refused)
{
	CCRuntime *rt = NULL;

	CHECK_EQ(pthread_key_create(&key, spawn_late), 0);
	CHECK_EQ(cc_runtime_new(&rt, NULL), 0);
	CHECK_EQ(join(spawn(rt, leave_something, rt)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(spawned_late, ECANCELED);
	CHECK_EQ(pthread_key_delete(key), 0);
}
