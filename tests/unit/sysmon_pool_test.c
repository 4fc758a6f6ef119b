/* sysmon_pool_test.c - work behind workers that are blocked: the pool grows for it, or the
 * monitor's log says why not. */
#include "environment.h"
#include "tasks.h"
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sched/sched.h"
#include "sched/worker.h"

static struct cc__sched *sched_of(CCRuntime *rt)
{
	return (struct cc__sched *)(void *)rt;
}

/* What the monitor has said. */
struct log {
	cc__a32 lines;	/* counted after the text */
	char text[64][200];
};

static void log_line(void *context, const char *line)
{
	struct log *l = context;
	const uint32_t n = cc__load(&l->lines, CC__RELAXED);	/* one thread writes */

	if (n < sizeof l->text / sizeof *l->text) {
		snprintf(l->text[n], sizeof l->text[n], "%s", line);
		cc__store(&l->lines, n + 1, CC__RELEASE);
	}
}

static unsigned lines_with(struct log *l, const char *part)
{
	const uint32_t n = cc__load(&l->lines, CC__ACQUIRE);
	unsigned count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += strstr(l->text[i], part) != NULL;
	return count;
}

/* Fibers that block their workers, and one that must run all the same. */
struct behind {
	CCRuntime *rt;
	CCChan *chan;
	cc__a32 open;		/* 1: the blocked fibers go on */
	cc__a32 blocked;	/* how many have a worker */
	cc__a32 ready;		/* the fiber behind them waits */
	cc__a32 spawn;		/* 1: one of them spawns */
	cc__a32 go;		/* 1: the fiber behind them has its reason to go on */
	cc__a32 ran;		/* it has */
	cc__a32 kept;		/* fibers that have kept their worker for a while */
	CCTask blocker[8], task;
	unsigned blockers;
};

static int ran(void *arg)
{
	struct behind *b = arg;

	cc__store(&b->ran, 1, CC__RELEASE);
	return 0;
}

static int block(void *arg)
{
	struct behind *b = arg;
	uint32_t told = 1;

	cc__add(&b->blocked, 1, CC__RELEASE);
	while (cc__load(&b->open, CC__ACQUIRE) == 0) {
		if (cc__cas(&b->spawn, &told, 0, CC__ACQ_REL, CC__RELAXED))
			b->task = spawn(NULL, ran, b);
		told = 1;
		usleep(1000);
	}
	return 0;
}

static void blockers_begin(struct behind *b, unsigned count)
{
	b->blockers = count;
	for (unsigned i = 0; i < count; i++)
		b->blocker[i] = spawn(b->rt, block, b);
	TEST_UNTIL(cc__load(&b->blocked, CC__ACQUIRE) == count);
}

static void blockers_end(struct behind *b)
{
	cc__store(&b->open, 1, CC__RELEASE);
	for (unsigned i = 0; i < b->blockers; i++)
		join(b->blocker[i]);
}

/* The requirement is two intervals; a machine with other work may take longer. */
static bool within_seconds(const cc__a32 *flag)
{
	const cc_time end = cc_now() + 5 * CC_SEC;

	while (cc__load(flag, CC__ACQUIRE) == 0 && cc_now() < end)
		usleep(200);
	return cc__load(flag, CC__ACQUIRE) != 0;
}

/* A worker that the machine holds up for so long is found stuck, and its fiber is nothing for
 * the reserve. */
#define INTERVAL (50 * CC_MSEC)

static CCConfig config_of(unsigned workers, unsigned most, cc_time interval)
{
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	c.workers = workers;
	c.workers_max = most;
	c.sysmon = 1;
	c.scale_interval = interval;
	c.stall = CC_FOREVER;
	c.debug = 0;
	return c;
}

/* ---- fibers that keep their worker from their start on ---- */

enum { FRAMES = (2 << 20) / sizeof(struct cc__fiber), KEEPERS = 2 };	/* of one chunk of a slab */

static int keep_worker(void *arg)
{
	const cc_time end = cc_now() + 4 * CC_MSEC;

	while (cc_now() < end)
		cc__relax();
	cc__add((cc__a32 *)arg, 1, CC__RELEASE);
	return 0;
}

/* So many frames are in use that the next ones are in memory which the caller has mapped. */
static void fill_a_chunk(CCRuntime *rt, CCTask *task)
{
	const CCTaskOptions o = {.start = cc_now() + 3600 * CC_SEC};

	for (int i = 0; i < FRAMES; i++)
		CHECK_EQ(cc_task_spawn(rt, &task[i], &o, nothing, NULL), 0);
}

/* The monitor locks the frame of a fiber that it finds stuck.  The frame lies in memory that
 * another thread has mapped, and since then neither that thread nor the worker has written
 * anything else that the monitor acquires: no worker has slept, and the monitor has not taken
 * tasks from a queue.  So TSan sees whether the pointer that the monitor follows orders the
 * frame. */
TEST(fibers_that_keep_their_worker_from_the_start_are_found_stuck)
{
	static CCTask later[FRAMES];
	const CCConfig c = config_of(1, 1, CC_MSEC);
	struct behind b = {.rt = runtime_with(&c)};

	blockers_begin(&b, 1);
	TEST_UNTIL(cc__load(&sched_of(b.rt)->worker[0]->stuck, CC__RELAXED) == 1);
	fill_a_chunk(b.rt, later);
	for (int i = 0; i < KEEPERS; i++)
		CHECK_EQ(cc_task_spawn(b.rt, NULL, NULL, keep_worker, &b.kept), 0);
	blockers_end(&b);
	TEST_UNTIL(cc__load(&b.kept, CC__ACQUIRE) == KEEPERS);
	for (int i = 0; i < FRAMES; i++)
		CHECK_EQ(cc_task_recall(later[i]), 0);
	CHECK_EQ(cc_runtime_free(b.rt), 0);
}

/* ---- what waits ---- */

static void spawned_by_a_thread(struct behind *b)
{
	b->task = spawn(b->rt, ran, b);
}

static void spawned_by_a_blocked_fiber(struct behind *b)
{
	cc__store(&b->spawn, 1, CC__RELEASE);
}

static void spawned_for_later(struct behind *b)
{
	const CCTaskOptions o = {.start = cc_now() + 20 * CC_MSEC};

	CHECK_EQ(cc_task_spawn(b->rt, &b->task, &o, ran, b), 0);
}

static int sleep_until_go(void *arg)
{
	struct behind *b = arg;

	cc__store(&b->ready, 1, CC__RELEASE);
	while (cc__load(&b->go, CC__ACQUIRE) == 0)
		CHECK_EQ(cc_sleep_until(cc_now() + 2 * CC_MSEC), 0);
	return ran(b);
}

static int receive(void *arg)
{
	struct behind *b = arg;
	int item = 0;

	cc__store(&b->ready, 1, CC__RELEASE);
	CHECK_EQ(cc_chan_recv(b->chan, &item, sizeof item), 0);
	return ran(b);
}

static int until_go(void *arg)
{
	struct behind *b = arg;

	cc__store(&b->ready, 1, CC__RELEASE);
	while (cc__load(&b->go, CC__ACQUIRE) == 0)
		usleep(1000);
	return 0;
}

static int call_blocking(void *arg)
{
	struct behind *b = arg;
	int result;

	CHECK_EQ(cc_blocking(until_go, b, &result), 0);
	return ran(b);
}

static void let_go(struct behind *b)
{
	const int item = 1;

	cc__store(&b->go, 1, CC__RELEASE);
	CHECK_EQ(cc_chan_send(b->chan, &item, sizeof item), 0);
}

/* `first`, if there is one, waits before the workers are blocked. */
static const struct kind {
	const char *name;
	cc_task_main *first;
	void (*then)(struct behind *b);
} kinds[] = {
    {"a task spawned by a thread", NULL, spawned_by_a_thread},
    {"a task spawned by a blocked fiber", NULL, spawned_by_a_blocked_fiber},
    {"a delayed task", NULL, spawned_for_later},
    {"a sleeping fiber", sleep_until_go, let_go},
    {"a fiber woken by a thread", receive, let_go},
    {"the caller of cc_blocking", call_blocking, let_go},
};

static void runs_behind(const struct kind *k, unsigned workers, unsigned most, unsigned blockers)
{
	const CCConfig c = config_of(workers, most, 5 * CC_MSEC);
	struct behind b = {.rt = runtime_with(&c)};

	CHECK_EQ(cc_chan_create(&b.chan, sizeof(int), 1, NULL), 0);
	if (k->first != NULL) {
		b.task = spawn(b.rt, k->first, &b);
		TEST_UNTIL(cc__load(&b.ready, CC__ACQUIRE) == 1);
	}
	blockers_begin(&b, blockers);
	k->then(&b);
	if (!CHECK(within_seconds(&b.ran)))
		printf("      %s, %u workers, workers_max %u, %u of them blocked\n", k->name,
		       workers, most, blockers);
	blockers_end(&b);
	TEST_UNTIL(cc__load(&b.ran, CC__ACQUIRE) == 1);
	join(b.task);
	CHECK_EQ(cc_runtime_free(b.rt), 0);
	cc_chan_free(b.chan);
}

TEST(work_goes_on_when_every_worker_is_blocked)	/* covers: RES-44/f SCH-72/f */
{
	for (unsigned workers = 1; workers <= 4; workers *= 2)
		for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
			runs_behind(&kinds[i], workers, 0, workers);
}

/* One less than workers_max: a worker of the pool is left for what starts, and the reserve is
 * none of them. */
TEST(work_goes_on_when_all_but_one_of_the_pool_are_blocked)	/* covers: RES-44/f LIF-04/s */
{
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		runs_behind(&kinds[i], 1, 3, 2);
		runs_behind(&kinds[i], 2, 4, 3);
		runs_behind(&kinds[i], 2, 8, 7);
	}
}

/* ---- the reserve is not one of the pool ---- */

TEST(statistics_count_the_reserve)	/* covers: RES-44/f LIF-56/u */
{
	const CCConfig c = config_of(1, 2, INTERVAL);
	struct behind b = {.rt = runtime_with(&c)};
	CCStats s;

	b.task = spawn(b.rt, sleep_until_go, &b);
	TEST_UNTIL(cc__load(&b.ready, CC__ACQUIRE) == 1);
	blockers_begin(&b, 2);
	/* The sleeping fiber needs a worker again and again. */
	do
		CHECK_EQ(cc_stats(b.rt, &s), 0);
	while (s.workers < 3);
	CHECK_EQ(s.workers_base, 1);
	CHECK_EQ(s.workers_most, 3);
	CHECK(sched_of(b.rt)->worker[2]->only_woken);
	CHECK(!sched_of(b.rt)->worker[1]->only_woken);
	cc__store(&b.go, 1, CC__RELEASE);
	CHECK(within_seconds(&b.ran));
	blockers_end(&b);
	join(b.task);
	CHECK_EQ(cc_runtime_free(b.rt), 0);
}

/* ---- a temporary worker retires ---- */

/* A wake for a fiber that it ran last would go there, and nobody would look. */
TEST(retired_worker_has_closed_its_inboxes)	/* covers: SCH-75/s LIF-53/s */
{
	CCConfig c = config_of(1, 2, CC_MSEC);
	struct behind b = {0};
	struct cc__worker *w;

	c.worker_idle = CC_MSEC;
	b.rt = runtime_with(&c);
	blockers_begin(&b, 2);
	blockers_end(&b);
	w = sched_of(b.rt)->worker[1];
	TEST_UNTIL(cc__load(&w->life, CC__RELAXED) == CC__LIFE_DEAD);
	CHECK(cc__inbox_closed(&w->inbox));
	CHECK(cc__inbox_closed(&w->own));
	CHECK_EQ(cc_runtime_free(b.rt), 0);
}

/* ---- why it does not grow ---- */

static CCRuntime *runtime_with_log(unsigned workers, unsigned most, struct log *l)
{
	CCConfig c = config_of(workers, most, INTERVAL);

	*l = (struct log){.text = {{0}}};
	c.log = log_line;
	c.log_context = l;
	c.debug = CC_DEBUG_FLAG_SYSMON;
	return runtime_with(&c);
}

/* So many are blocked, and a task waits that nobody starts. */
static void says_why_a_task_waits(unsigned workers, unsigned most, const char *why)
{
	static struct log l;
	struct behind b = {.rt = runtime_with_log(workers, most, &l)};

	blockers_begin(&b, most);
	b.task = spawn(b.rt, ran, &b);
	TEST_UNTIL(lines_with(&l, why) > 0);
	CHECK_EQ(cc__load(&b.ran, CC__ACQUIRE), 0);
	blockers_end(&b);
	join(b.task);
	CHECK_EQ(cc_runtime_free(b.rt), 0);
}

TEST(log_says_that_the_pool_is_at_its_limit)	/* covers: SCH-82/u RES-44/f */
{
	says_why_a_task_waits(1, 2, "no worker added: tasks wait, but workers_max is reached");
	says_why_a_task_waits(2, 3, "no worker added: tasks wait, but workers_max is reached");
	says_why_a_task_waits(1, 1,
	                      "no worker added: work waits, but workers_max allows no temporary");
}

static int sleep_and_block(void *arg)
{
	struct behind *b = arg;

	cc__store(&b->ready, 1, CC__RELEASE);
	while (cc__load(&b->go, CC__ACQUIRE) == 0)
		CHECK_EQ(cc_sleep_until(cc_now() + 2 * CC_MSEC), 0);
	return block(b);
}

/* The reserve is blocked, too, by a fiber that was never found stuck before. */
TEST(log_says_that_the_reserve_is_there)	/* covers: SCH-82/u RES-44/f */
{
	static struct log l;
	struct behind b = {.rt = runtime_with_log(1, 2, &l)};
	CCTask t = spawn(b.rt, sleep_and_block, &b);

	CHECK_EQ(cc_chan_create(&b.chan, sizeof(int), 1, NULL), 0);
	TEST_UNTIL(cc__load(&b.ready, CC__ACQUIRE) == 1);
	cc__store(&b.ready, 0, CC__RELEASE);
	b.task = spawn(b.rt, receive, &b);
	TEST_UNTIL(cc__load(&b.ready, CC__ACQUIRE) == 1);
	blockers_begin(&b, 2);
	cc__store(&b.go, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(&b.blocked, CC__ACQUIRE) == 3);
	let_go(&b);
	TEST_UNTIL(lines_with(&l, "workers_max is reached, and the reserve is there") > 0);
	blockers_end(&b);
	join(t);
	join(b.task);
	CHECK_EQ(cc_runtime_free(b.rt), 0);
	cc_chan_free(b.chan);
}

/* A worker that runs for a moment only, and has more in its queue. */
static int yield_until_go(void *arg)
{
	struct behind *b = arg;

	while (cc__load(&b->go, CC__ACQUIRE) == 0)
		cc_yield();
	return 0;
}

TEST(log_does_not_call_queued_work_none)	/* covers: SCH-82/u */
{
	static struct log l;
	struct behind b = {.rt = runtime_with_log(1, 2, &l)};
	CCTask t[4];

	for (int i = 0; i < 4; i++)
		t[i] = spawn(b.rt, yield_until_go, &b);
	TEST_UNTIL(lines_with(&l, "no worker added: work waits, but no worker is stuck") > 0);
	cc__store(&b.go, 1, CC__RELEASE);
	for (int i = 0; i < 4; i++)
		join(t[i]);
	CHECK_EQ(cc_runtime_free(b.rt), 0);
}
