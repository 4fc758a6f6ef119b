/* fd_idle_test.c - who looks after descriptors: the idle, and the busy when nobody
 * is idle.  Workers never look around by themselves (hosts.h). */
#include <time.h>

#include "hosts.h"
#include "tasks.h"
#include "sched/worker.h"

static unsigned polling(const struct host *h)
{
	return cc__load(&h->poll->claimed, CC__SEQ_CST);
}

static unsigned asleep(const struct host *h)
{
	return cc__load(&h->sched->idle->sleepers, CC__SEQ_CST);
}

static bool at_rest(const struct host *h)
{
	return asleep(h) == HOST_WORKERS && cc__load(&h->sched->idle->searching, CC__SEQ_CST) == 0;
}

/* ---- the idle ---- */

/* The sleeper in the poller is the last to be woken, but it is woken. */
TEST(fd_idle_worker_in_the_poller_hears_of_tasks)
{
	struct host h;
	struct wait w;

	host_begin(&h);
	wait_for_data(&w, &h, FIBER);
	for (int i = 0; i < 400 && test_has_time(); i++) {
		struct gate g = {0};
		CCTask held[HOST_WORKERS];

		if (i % 8 == 0)
			TEST_UNTIL(at_rest(&h) && polling(&h));
		/* Each wants a worker of its own. */
		for (int k = 0; k < HOST_WORKERS; k++)
			held[k] = spawn(h.rt, wait_at, &g);
		TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == HOST_WORKERS);
		cc__store(&g.open, 1, CC__RELEASE);
		for (int k = 0; k < HOST_WORKERS; k++)
			join(held[k]);
	}
	data_wakes(&w, &h);
	host_end(&h);
}

/* All sleep on their words when the first wait begins, on a worker that is kept from
 * then on. */
struct two {
	int fd;
	struct gate gate;
	cc__a32 err;	/* 1 + what the wait returned */
};

static int wait_fd(void *arg)
{
	struct two *t = arg;

	cc__store(&t->err, 1 + (uint32_t)cc_wait_fd(t->fd, CC_FD_READ, CC_FOREVER), CC__RELEASE);
	return 0;
}

/* Its child runs next here, and then `wait_fd` with something behind it. */
static int wait_beside_a_hog(void *arg)
{
	struct two *t = arg;
	const CCTaskOptions here = {.migration = CC_MIGRATE_PINNED};
	CCTask waiter, hog;

	CHECK_EQ(cc_task_spawn(NULL, &waiter, &here, wait_fd, t), 0);
	CHECK_EQ(cc_task_spawn(NULL, &hog, &here, hold_worker_at, &t->gate), 0);
	CHECK_EQ(join(hog), 0);
	return join(waiter);
}

TEST(fd_idle_worker_looks_after_them_while_another_is_held)
{
	for (int i = 0; i < 100 && test_has_time(); i++) {
		struct host h;
		struct two t = {.fd = 0};
		CCTask task;

		host_begin(&h);
		t.fd = h.end[0];
		TEST_UNTIL(at_rest(&h));
		task = spawn(h.rt, wait_beside_a_hog, &t);
		TEST_UNTIL(cc__load(&t.gate.arrived, CC__ACQUIRE) != 0);
		put(h.end[1]);
		/* The waiter is pinned to the worker that is held: what can be seen is
		 * that its wait is over. */
		TEST_UNTIL(cc__poll_waiting(h.poll) == 0);
		cc__store(&t.gate.open, 1, CC__RELEASE);
		CHECK_EQ(join(task), 0);
		CHECK_EQ(cc__load(&t.err, CC__ACQUIRE), 1);
		host_end(&h);
	}
}

/* Who leaves the poller for a fiber that keeps it leaves the rest to another. */
struct hog {
	int fd;
	struct gate gate;
};

static int wait_then_hog(void *arg)
{
	struct hog *g = arg;
	int err = cc_wait_fd(g->fd, CC_FD_READ, CC_FOREVER);

	hold_worker_at(&g->gate);
	return err;
}

TEST(fd_poller_that_leaves_is_replaced)
{
	for (int i = 0; i < 100 && test_has_time(); i++) {
		struct host h;
		struct hog first = {.fd = 0};
		struct wait second;
		CCTask task;
		int a[2], b[2];

		host_begin(&h);
		new_pipe(a);
		new_pipe(b);
		first.fd = a[0];
		task = spawn(h.rt, wait_then_hog, &first);
		wait_begin(&second, &h, FIBER, b[0], CC_FD_READ, CC_FOREVER);
		until_asleep(&second);
		TEST_UNTIL(cc__poll_waiting(h.poll) == 2);
		if (i % 2 == 0)
			TEST_UNTIL(at_rest(&h));
		put(a[1]);
		TEST_UNTIL(cc__load(&first.gate.arrived, CC__ACQUIRE) != 0);
		put(b[1]);
		CHECK_EQ(sleeper_join(&second.s), 0);
		cc__store(&first.gate.open, 1, CC__RELEASE);
		CHECK_EQ(join(task), 0);
		close_both(a);
		close_both(b);
		host_end(&h);
	}
}

/* The same for deadlines: the keeper goes with the first timer. */
static int sleep_then_hog(void *arg)
{
	struct hog *g = arg;

	cc_sleep_until(cc_now() + 2 * CC_MSEC);
	return hold_worker_at(&g->gate);
}

static int sleep_longer(void *arg)
{
	(void)arg;
	return cc_sleep_until(cc_now() + 5 * CC_MSEC);
}

TEST(timer_keeper_that_leaves_is_replaced)
{
	for (int i = 0; i < 30; i++) {
		struct host h;
		struct hog first = {.fd = 0};
		CCTask task, longer;

		host_begin(&h);
		task = spawn(h.rt, sleep_then_hog, &first);
		longer = spawn(h.rt, sleep_longer, NULL);
		CHECK_EQ(join(longer), 0);	/* though the other keeps its worker */
		TEST_UNTIL(cc__load(&first.gate.arrived, CC__ACQUIRE) != 0);
		cc__store(&first.gate.open, 1, CC__RELEASE);
		CHECK_EQ(join(task), 0);
		host_end(&h);
	}
}

/* A timer set by one worker ends the other's sleep in the poller. */
TEST(fd_sleep_in_the_poller_ends_for_a_timer)
{
	struct host h;
	struct wait w;

	host_begin(&h);
	wait_for_data(&w, &h, FIBER);
	for (int i = 0; i < 50; i++) {
		TEST_UNTIL(at_rest(&h) && polling(&h));
		CHECK_EQ(join(spawn(h.rt, sleep_longer, NULL)), 0);
	}
	data_wakes(&w, &h);
	host_end(&h);
}

static cc_time cpu_time(void)
{
	struct timespec t;

	CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
	return (cc_time)t.tv_sec * CC_SEC + t.tv_nsec;
}

TEST(fd_waiting_costs_no_cpu_time)
{
	struct host h;
	struct wait w;
	cc_time before;

	host_begin(&h);
	wait_for_data(&w, &h, FIBER);
	TEST_UNTIL(at_rest(&h) && polling(&h));
	before = cpu_time();
	cc_sleep_until(cc_now() + 200 * CC_MSEC);
	if (test_slowness() == 1)	/* a sanitizer has threads of its own */
		CHECK(cpu_time() - before < 5 * CC_MSEC);
	data_wakes(&w, &h);
	host_end(&h);
}

/* ---- the busy ---- */

TEST(fd_busy_workers_look_too)
{
	enum { BUSY = 2 * HOST_WORKERS };
	struct gate g = {0};
	struct host h;
	CCTask busy[BUSY];
	struct wait w;

	host_begin(&h);
	for (int i = 0; i < BUSY; i++)
		busy[i] = spawn(h.rt, wait_at, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == BUSY);
	for (int i = 0; i < 20; i++) {
		wait_for_data(&w, &h, FIBER);
		data_wakes(&w, &h);
		drain(h.end[0]);
	}
	cc__store(&g.open, 1, CC__RELEASE);
	for (int i = 0; i < BUSY; i++)
		join(busy[i]);
	host_end(&h);
}
