/* placement_test.c - where a task goes that somebody outside makes ready, and that it
 * is found there. */
#include "environment.h"
#include "points.h"
#include "tasks.h"
#include "test.h"

#include "sched/worker.h"

enum { MANY = 200 };

static CCRuntime *start(unsigned workers)
{
	CCConfig c = config();
	CCRuntime *rt = NULL;

	only_workers(&c, workers);
	c.stack_idle = CC_FOREVER;
	c.idle_wait = 100 * CC_SEC;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

static struct cc__sched *sched_of(CCRuntime *rt)
{
	return (struct cc__sched *)(void *)rt;
}

static CCTask spawn_pinned(CCRuntime *rt, cc_task_main *main, void *arg)
{
	CCTask t = {0};

	CHECK_EQ(cc_task_spawn(rt, &t, &(CCTaskOptions){.migration = CC_MIGRATE_PINNED}, main, arg),
	         0);
	return t;
}

/* The frames were used by workers that the second runtime does not have. */
TEST(frame_does_not_remember_the_worker_of_another_runtime)
{
	CCRuntime *large = start(8), *small;
	struct gate g = {0};
	CCTask t[MANY], held;

	for (int i = 0; i < MANY; i++)
		t[i] = spawn_pinned(large, nothing, NULL);
	for (int i = 0; i < MANY; i++)
		join(t[i]);
	CHECK_EQ(cc_runtime_free(large), 0);
	small = start(1);
	held = spawn(small, hold_worker_at, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 1);
	for (int i = 0; i < MANY; i++)
		t[i] = spawn(small, nothing, NULL);
	CHECK_EQ(cc__global_length(&sched_of(small)->global), MANY);
	cc__store(&g.open, 1, CC__RELEASE);
	for (int i = 0; i < MANY; i++)
		join(t[i]);
	join(held);
	CHECK_EQ(cc_runtime_free(small), 0);
}

/* On worker 3, which falls asleep next. */
static int hold_before_sleep(void *arg)
{
	*(struct point **)arg = point_hold("worker.before_sleep", cc__worker_here());
	return 0;
}

/* A worker falls asleep while another keeps watch and a third one runs: a push into
 * its own inbox, after its last look, is nobody else's to find. */
TEST(worker_that_falls_asleep_under_a_watch_finds_its_inbox)
{
	CCRuntime *rt = start(3);
	struct cc__idle *idle = sched_of(rt)->idle;
	struct gate g = {0};
	struct point *p;
	CCTask held, t;

	NEED_POINTS();
	for (int i = 0; i < 2; i++)
		join(spawn_pinned(rt, nothing, NULL));
	join(spawn_pinned(rt, hold_before_sleep, &p));	/* worker 3 */
	point_until_held(p);
	held = spawn_pinned(rt, hold_worker_at, &g);	/* worker 1 */
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 1);
	join(spawn_pinned(rt, nothing, NULL));		/* worker 2 is the keeper then */
	TEST_UNTIL(cc__load(&idle->keeper, CC__SEQ_CST) == 2);
	cc__store(&idle->keeper, 2 | CC__WATCHING, CC__SEQ_CST);	/* for long */
	t = spawn_pinned(rt, nothing, NULL);		/* worker 3 */
	point_release(p);
	CHECK_EQ(cc_task_join(t, cc_now() + 5 * CC_SEC * test_slowness(), NULL), 0);
	cc__store(&idle->keeper, 2, CC__SEQ_CST);
	cc__store(&g.open, 1, CC__RELEASE);
	join(held);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
