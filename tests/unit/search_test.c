/* search_test.c - what sched/search.c learns from a wake that found nothing (docs/idle.md). */
#include "environment.h"
#include "points.h"
#include "tasks.h"
#include "test.h"

#include <ccc/ccc.h>

#include "sched/worker.h"

/* A worker that comes later than this may have come too late. */
enum { LATE_US = 300 };

static struct cc__sched *sched_of(CCRuntime *rt)
{
	return (struct cc__sched *)(void *)rt;
}

static struct cc__worker *other_worker(const struct cc__worker *w)
{
	return w->sched->worker[w->id % 2];
}

/* One of the two workers sleeps, and no push is left to it. */
static bool sleeps_for_good(struct cc__idle *i)
{
	return cc__load(&i->sleepers, CC__ACQUIRE) == 1 &&
	       cc__load(&i->searching, CC__ACQUIRE) == 0 &&
	       !(cc__load(&i->keeper, CC__ACQUIRE) & CC__WATCHING);
}

static uint64_t in_vain(const struct cc__worker *w)
{
	return cc__load(&w->counters.vain, CC__RELAXED);
}

static uint64_t watches(const struct cc__worker *w)
{
	return cc__load(&w->counters.timed_out, CC__RELAXED);
}

/* The other worker has been woken for a task, is late, and finds it gone; `meanwhile` is what this
 * worker does while the other one is held. */
static void wake_too_late(void (*meanwhile)(struct cc__worker *w))
{
	struct cc__worker *w = cc__worker_here(), *other = other_worker(w);
	const uint64_t before = in_vain(other);
	struct point *p;
	cc_time begin;
	CCTask t;

	TEST_UNTIL(sleeps_for_good(w->idle));
	p = point_hold("worker.awake", other);
	CHECK_EQ(cc_task_spawn(NULL, &t, NULL, nothing, NULL), 0);
	point_until_held(p);
	begin = cc_now();
	CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), 0);
	while (cc_now() - begin < LATE_US * CC_USEC)
		meanwhile(w);
	meanwhile(w);
	point_release(p);
	TEST_UNTIL(in_vain(other) > before);
}

static void compute(struct cc__worker *w)
{
	(void)w;
}

/* As if this worker had picked so many fibers since the wake that no host is too slow for them. */
static void pick_often(struct cc__worker *w)
{
	enum { MANY = 1000000000 };

	cc__store(&w->called_picks, cc__load(&w->picks, CC__RELAXED) - MANY, CC__RELAXED);
}

static int be_away(void *arg)
{
	const struct cc__worker *other = other_worker(cc__worker_here());
	uint64_t watched;

	(void)arg;
	TEST_UNTIL(sleeps_for_good(cc__worker_here()->idle));
	watched = watches(other);
	wake_too_late(compute);
	TEST_UNTIL(sleeps_for_good(cc__worker_here()->idle));
	CHECK_EQ(watches(other), watched);
	return 0;
}

static int come_by(void *arg)
{
	const struct cc__worker *other = other_worker(cc__worker_here());
	uint64_t watched;

	(void)arg;
	TEST_UNTIL(sleeps_for_good(cc__worker_here()->idle));
	watched = watches(other);
	wake_too_late(pick_often);
	TEST_UNTIL(watches(other) > watched);
	return 0;
}

static void with_two_workers(cc_task_main *main)
{
	CCConfig c = config();
	CCRuntime *rt;

	NEED_POINTS();
	only_workers(&c, 2);
	c.stack_idle = CC_FOREVER;
	rt = runtime_with(&c);
	TEST_UNTIL(cc__load(&sched_of(rt)->idle->sleepers, CC__ACQUIRE) == 2);
	join(spawn(rt, main, NULL));
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(late_worker_does_not_doubt_wakes_by_one_that_computes)	/* covers: RES-72/u */
{
	with_two_workers(be_away);
}

TEST(late_worker_doubts_wakes_by_one_that_comes_by_its_queue)	/* covers: RES-72/u */
{
	with_two_workers(come_by);
}
