/* shutdown_test.c - the steps of cc_runtime_free, one by one, and cc_shutdown with
 * others around. */
#include "environment.h"
#include "hosts.h"
#include "points.h"
#include "tasks.h"

/* Long enough that only the test decides when a task ends; and the opposite. */
#define PATIENT (20 * CC_SEC)
#define IMPATIENT CC_MSEC

static CCRuntime *start(unsigned workers, cc_time timeout)
{
	CCRuntime *rt = NULL;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	only_workers(&c, workers);
	c.shutdown_timeout = timeout;
	c.idle_wait = c.stack_idle = CC_FOREVER;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

static struct cc__sched *sched_of(CCRuntime *rt)
{
	return (struct cc__sched *)(void *)rt;
}

static bool cancelled(CCRuntime *rt)
{
	return cc__load(&sched_of(rt)->cancel, CC__SEQ_CST) != 0;
}

/* cc_runtime_free in a thread of its own. */
struct freer {
	CCRuntime *rt;
	pthread_t thread;
	int result;
};

static void *free_main(void *arg)
{
	struct freer *f = arg;

	f->result = cc_runtime_free(f->rt);
	return NULL;
}

static void free_begin(struct freer *f, CCRuntime *rt)
{
	*f = (struct freer){.rt = rt, .result = -1};
	CHECK_EQ(pthread_create(&f->thread, NULL, free_main, f), 0);
}

static int free_end(struct freer *f)
{
	CHECK_EQ(pthread_join(f->thread, NULL), 0);
	return f->result;
}

/* ---- 1: they have time to end, and to begin ---- */

static int spawn_when_open(void *arg)
{
	CHECK_EQ(wait_at(arg), 17);
	return join(spawn(NULL, nothing, NULL));
}

TEST(shutdown_waits_and_takes_tasks_meanwhile)	/* covers: SCH-78/u */
{
	CCRuntime *rt = start(2, PATIENT);
	struct gate g = {0};
	CCTask t = spawn(rt, spawn_when_open, &g);
	struct freer f;

	free_begin(&f, rt);
	TEST_UNTIL(cc__load(&sched_of(rt)->stopping, CC__SEQ_CST) != CC__RUNNING);
	CHECK(!cancelled(rt));
	cc__store(&g.open, 1, CC__RELEASE);
	CHECK_EQ(join(t), 0);
	CHECK_EQ(free_end(&f), 0);
}

/* ---- 2: no new ones ---- */

static int spawn_once_cancelled(void *arg)
{
	CCRuntime *rt = arg;

	while (!cancelled(rt))
		cc_yield();
	CHECK_EQ(cc_task_spawn(rt, NULL, NULL, nothing, NULL), ECANCELED);
	return cc_task_spawn(NULL, &(CCTask){0}, NULL, nothing, NULL);
}

TEST(shutdown_refuses_tasks_after_its_timeout)	/* covers: SCH-78/u, RES-25/u */
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		CCRuntime *rt = start(workers, IMPATIENT);
		CCTask t = spawn(rt, spawn_once_cancelled, rt);

		free_until_done(rt);
		CHECK_EQ(join(t), ECANCELED);
	}
}

struct ended {
	CCRuntime *rt;
	CCChan *chan;
	cc__a32 open;		/* the nursery is, with the channel registered */
};

/* A nursery whose children would send.  Once the runtime takes no tasks it gets none, and when it
 * ends the channel ends with it. */
static int feed(void *arg)
{
	struct ended *e = arg;
	CCTaskOptions later = {0};
	CCNursery n;

	CHECK_EQ(cc_nursery_init(&n, NULL), 0);
	CHECK_EQ(cc_nursery_autoclose(&n, e->chan), 0);
	cc__store(&e->open, 1, CC__RELEASE);
	while (!cancelled(e->rt))
		(void)cc_yield();
	later.start = cc_now() + 3600 * CC_SEC;
	CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, nothing, NULL), ECANCELED);
	CHECK_EQ(cc_task_spawn(NULL, NULL, &later, nothing, NULL), ECANCELED);
	CHECK_EQ(cc_nursery_spawn(&n, NULL, nothing, NULL), ECANCELED);
	CHECK_EQ(cc_chan_closed(e->chan), 0);
	return cc_nursery_join(&n);
}

static void *receive_to_the_end(void *chan)
{
	int v;

	CHECK_EQ(cc_chan_recv(chan, &v, sizeof v), EPIPE);
	return NULL;
}

TEST(shutdown_closes_nurseries_and_their_channels)	/* covers: SCH-86/u */
{
	struct ended e = {.rt = start(2, IMPATIENT), .chan = cc_chan_new(sizeof(int), 1)};
	pthread_t receiver;	/* no task of the runtime, so nothing else ends its wait */
	CCTask t;

	REQUIRE(e.chan != NULL);
	CHECK_EQ(pthread_create(&receiver, NULL, receive_to_the_end, e.chan), 0);
	t = spawn(e.rt, feed, &e);
	TEST_UNTIL(cc__load(&e.open, CC__ACQUIRE) != 0);
	free_until_done(e.rt);
	CHECK_EQ(pthread_join(receiver, NULL), 0);
	CHECK_EQ(cc_chan_closed(e.chan), 1);
	CHECK_EQ(join(t), ECANCELED);
	CHECK_EQ(cc_chan_free(e.chan), 0);
}

/* ---- 3: waits end ---- */

static struct cc__waitq bare;

static int wait_bare(void *arg)
{
	struct cc__waiter w = {.cancel = arg};

	cc__lock(&bare.lock, CC__RANK_WAITQ);
	return cc__wait(&bare, &w, CC_FOREVER);
}

static int pipe_end;

static int wait_pipe(void *arg)
{
	return cc_wait_fd(pipe_end, CC_FD_READ, arg != NULL ? cc_now() + 3600 * CC_SEC : CC_FOREVER);
}

static int sleep_an_hour(void *arg)
{
	(void)arg;
	return cc_sleep_until(cc_now() + 3600 * CC_SEC);
}

static int join_other(void *arg)
{
	return cc_task_join(*(CCTask *)arg, CC_FOREVER, NULL);
}

static int join_other_for_an_hour(void *arg)
{
	return cc_task_join(*(CCTask *)arg, cc_now() + 3600 * CC_SEC, NULL);
}

/* Another runtime's task, which all may wait for. */
static struct gate other_gate;
static CCTask other;

static const struct way {
	int (*wait)(void *arg);
	void *arg;
} ways[] = {
    {sleep_an_hour, NULL},
    {join_other, &other},
    {join_other_for_an_hour, &other},
    {wait_pipe, NULL},
    {wait_pipe, &pipe_end},
    {wait_bare, NULL},
};
enum { WAYS = sizeof ways / sizeof *ways };

static int wait_twice(void *arg)
{
	const struct way *w = arg;
	int err = w->wait(w->arg);

	/* From now on, too. */
	CHECK_EQ(w->wait(w->arg), err);
	CHECK_EQ(cc_sleep_until(cc_now() - 1), 0);	/* what need not wait does not */
	return err;
}

TEST(shutdown_cancels_every_wait)	/* covers: SCH-78/u, RES-25/u, LIF-70/u */
{
	CCRuntime *elsewhere = start(1, PATIENT);
	int end[2];

	new_pipe(end);
	pipe_end = end[0];
	other_gate = (struct gate){0};
	other = spawn(elsewhere, wait_at, &other_gate);
	for (unsigned workers = 1; workers <= 2; workers++) {
		CCRuntime *rt = start(workers, IMPATIENT);
		struct sleeper s[WAYS];

		for (int i = 0; i < WAYS; i++)
			sleeper_start(&s[i], rt, FIBER, wait_twice, (void *)(uintptr_t)&ways[i]);
		for (int i = 0; i < WAYS; i++)
			until_state(sleeper_who(&s[i]), CC__PARKED);
		free_until_done(rt);
		for (int i = 0; i < WAYS; i++)
			CHECK_EQ(sleeper_join(&s[i]), ECANCELED);
		CHECK(bare.head == NULL);
	}
	/* Who was not cancelled has noticed nothing. */
	cc__store(&other_gate.open, 1, CC__RELEASE);
	CHECK_EQ(join(other), 17);
	close_both(end);
	CHECK_EQ(cc_runtime_free(elsewhere), 0);
}

/* A flag of its own is what a wait listens to. */
TEST(shutdown_leaves_waits_that_cannot_be_cancelled)
{
	CCRuntime *rt = start(2, IMPATIENT);
	struct sleeper s;

	sleeper_start(&s, rt, FIBER, wait_bare, (void *)(uintptr_t)&cc__uncancelled);
	until_state(sleeper_who(&s), CC__PARKED);
	CHECK_EQ(cc_runtime_free(rt), ETIMEDOUT);
	CHECK_EQ(cc_runtime_free(rt), ETIMEDOUT);
	CHECK(cc__wake_one(&bare, CC__REASON_DATA, 5));
	CHECK_EQ(sleeper_join(&s), 5);
	free_until_done(rt);
}

static int block_at(void *arg)
{
	struct gate *g = arg;

	cc__store(&g->arrived, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(&g->open, CC__ACQUIRE) != 0);
	return 23;
}

static int call_blocking(void *gate)
{
	int result = 0;

	CHECK_EQ(cc_blocking(block_at, gate, &result), 0);
	return result;
}

TEST(shutdown_sees_blocking_calls_through)
{
	CCRuntime *rt = start(2, IMPATIENT);
	struct gate g = {0};
	CCTask t = spawn(rt, call_blocking, &g);

	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) != 0);
	CHECK_EQ(cc_runtime_free(rt), ETIMEDOUT);
	cc__store(&g.open, 1, CC__RELEASE);
	CHECK_EQ(join(t), 23);
	free_until_done(rt);
}

/* ---- 3, raced ---- */

/* The flag is set, nobody has been woken by it yet: a waker comes first. */
TEST(shutdown_cancel_loses_to_a_wake)	/* covers: RES-19/u */
{
	CCRuntime *rt;
	struct sleeper s;
	struct point *p;
	struct freer f;

	NEED_POINTS();
	rt = start(2, IMPATIENT);
	sleeper_start(&s, rt, FIBER, wait_bare, NULL);
	until_state(sleeper_who(&s), CC__PARKED);
	p = point_hold("stop.cancel", sched_of(rt));
	free_begin(&f, rt);
	point_until_held(p);
	CHECK(cancelled(rt));
	CHECK(cc__wake_one(&bare, CC__REASON_DATA, 5));
	CHECK_EQ(sleeper_join(&s), 5);
	point_release(p);
	if (free_end(&f) != 0)
		free_until_done(rt);
}

/* It has looked at the flag, which was not set, and does not sleep yet. */
TEST(shutdown_cancel_meets_a_fiber_on_its_way_to_sleep)	/* covers: LIF-70/u */
{
	CCRuntime *rt;
	struct sleeper s;
	struct point *p;
	struct freer f;
	cc__a32 *flag;

	NEED_POINTS();
	rt = start(2, IMPATIENT);
	p = point_hold("park.before_commit", NULL);
	sleeper_start(&s, rt, FIBER, wait_bare, NULL);
	sleeper_who(&s);
	point_until_held(p);
	flag = &sched_of(rt)->cancel;
	free_begin(&f, rt);
	TEST_UNTIL(cc__load(flag, CC__SEQ_CST) != 0);
	until_state(sleeper_who(&s), CC__NOTIFIED);
	point_release(p);
	CHECK_EQ(sleeper_join(&s), ECANCELED);
	if (free_end(&f) != 0)
		free_until_done(rt);
	CHECK(bare.head == NULL);
}

/* Fibers that wait in every way all the time, with and without deadlines, until they
 * are cancelled; a thread that wakes them.  Each wake of the thread is somebody's. */
struct storm {
	cc__a32 begun, ended, woken;
	cc__a32 stop;
};

static int storm_task(void *arg)
{
	struct storm *s = arg;
	uint64_t random = cc_fiber_id();
	int err = 0;

	cc__add(&s->begun, 1, CC__RELAXED);
	while (err != ECANCELED) {
		struct cc__waiter w = {0};
		const cc_time soon = cc_now() + (cc_time)(test_random(&random) % 100) * CC_USEC;

		switch (test_random(&random) % 4) {
		case 0:
			err = cc_sleep_until(soon);
			break;
		case 1:
			err = cc_wait_fd(pipe_end, CC_FD_READ, soon);
			break;
		case 2:
			cc_yield();
			err = 0;
			break;
		default:
			cc__lock(&bare.lock, CC__RANK_WAITQ);
			err = cc__wait(&bare, &w, test_random(&random) % 2 ? soon : CC_FOREVER);
			if (err == 0)
				cc__add(&s->woken, 1, CC__RELAXED);
		}
		CHECK(err == 0 || err == ETIMEDOUT || err == ECANCELED);
	}
	cc__add(&s->ended, 1, CC__RELAXED);
	return 0;
}

static int storm_parent(void *arg)
{
	struct storm *s = arg;
	CCTask t;
	int err;

	cc__add(&s->begun, 1, CC__RELAXED);
	while ((err = cc_task_spawn(NULL, &t, NULL, storm_task, arg)) == 0) {
		cc_yield();
		if (cc_task_join(t, cc_now() + 20 * CC_USEC, NULL) != 0)
			CHECK_EQ(cc_task_detach(t), 0);
	}
	CHECK_EQ(err, ECANCELED);
	cc__add(&s->ended, 1, CC__RELAXED);
	return 0;
}

static void *storm_waker(void *arg)
{
	struct storm *s = arg;
	uintptr_t wakes = 0;

	while (cc__load(&s->stop, CC__ACQUIRE) == 0) {
		wakes += cc__wake_one(&bare, CC__REASON_DATA, 0);
		sched_yield();
	}
	return (void *)wakes;
}

TEST(shutdown_in_a_storm_of_waits_loses_nothing)	/* covers: SCH-77/s, SCH-78/u, RES-25/u */
{
	int end[2];

	new_pipe(end);
	pipe_end = end[0];
	for (unsigned round = 0; round < 24 / test_slowness() + 2; round++) {
		CCRuntime *rt = start(1 + round % 3, (round % 5) * CC_MSEC);
		struct storm s = {.stop = {0}};
		pthread_t thread;
		void *wakes;

		CHECK_EQ(pthread_create(&thread, NULL, storm_waker, &s), 0);
		for (int i = 0; i < 20; i++)
			CHECK_EQ(cc_task_spawn(rt, NULL, NULL, storm_task, &s), 0);
		CHECK_EQ(cc_task_spawn(rt, NULL, NULL, storm_parent, &s), 0);
		free_until_done(rt);
		cc__store(&s.stop, 1, CC__RELEASE);
		pthread_join(thread, &wakes);
		CHECK_EQ(cc__load(&s.begun, CC__RELAXED), cc__load(&s.ended, CC__RELAXED));
		CHECK_EQ(cc__load(&s.woken, CC__RELAXED), (uintptr_t)wakes);
		CHECK(bare.head == NULL);
	}
	close_both(end);
}

/* ---- 4: what is queued runs ---- */

enum { QUEUED = 3000 };

struct drained {
	struct gate gate;
	cc__a32 ran, cancelled;
};

static int run_and_wait(void *arg)
{
	struct drained *d = arg;

	cc__add(&d->ran, 1, CC__RELAXED);
	if (sleep_an_hour(NULL) == ECANCELED)
		cc__add(&d->cancelled, 1, CC__RELAXED);
	return 0;
}

static int queue_many_and_hold(void *arg)
{
	struct drained *d = arg;

	for (int i = 0; i < QUEUED; i++)
		CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, run_and_wait, d), 0);
	return hold_worker_at(&d->gate);
}

/* The worker is held until tasks are refused: all of these are still queued. */
TEST(shutdown_runs_what_is_queued)	/* covers: SCH-78/u */
{
	CCRuntime *rt = start(1, 20 * CC_MSEC);
	struct drained d = {.ran = {0}};
	struct freer f;

	CHECK_EQ(cc_task_spawn(rt, NULL, NULL, queue_many_and_hold, &d), 0);
	TEST_UNTIL(cc__load(&d.gate.arrived, CC__ACQUIRE) != 0);
	free_begin(&f, rt);
	TEST_UNTIL(cancelled(rt));
	CHECK_EQ(cc__load(&d.ran, CC__RELAXED), 0);
	cc__store(&d.gate.open, 1, CC__RELEASE);
	if (free_end(&f) != 0)
		free_until_done(rt);
	CHECK_EQ(cc__load(&d.ran, CC__RELAXED), QUEUED);
	CHECK_EQ(cc__load(&d.cancelled, CC__RELAXED), QUEUED);
}

/* ---- 5: it ends, or says that it cannot ---- */

static int never_end(void *arg)
{
	return wait_at(arg);
}

TEST(shutdown_gives_up_on_a_task_that_does_not_end)	/* covers: SCH-79/u, RES-25/u */
{
	for (int held = 0; held < 2; held++) {
		CCRuntime *rt = start(2, 50 * CC_MSEC);
		struct gate g = {0};
		CCTask t = spawn(rt, held ? hold_worker_at : never_end, &g);
		cc_time begin;

		TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) != 0);
		for (int i = 0; i < 2; i++) {
			begin = cc_now();
			CHECK_EQ(cc_runtime_free(rt), ETIMEDOUT);
			CHECK(cc_now() - begin >= 100 * CC_MSEC);	/* and as long again */
			CHECK(cc_now() - begin < 10 * CC_SEC * test_slowness());
			CHECK_EQ(cc_task_spawn(rt, NULL, NULL, nothing, NULL), ECANCELED);
		}
		CHECK_EQ(cc_task_join(t, CC_NOW, NULL), EAGAIN);
		cc__store(&g.open, 1, CC__RELEASE);
		CHECK_EQ(join(t), held ? 0 : 17);
		free_until_done(rt);
	}
}

/* With no time at all everybody is cancelled at once. */
TEST(shutdown_timeout_of_nothing)
{
	CCRuntime *rt = start(2, 0);
	CCTask t = spawn(rt, sleep_an_hour, NULL);
	int result;

	free_until_done(rt);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, &result), 0);
	CHECK_EQ(result, ECANCELED);
}

/* ---- the default runtime, with others around ---- */

static void *shut_down(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)cc_shutdown();
}

struct user {
	CCRuntime *before;	/* the default one that is being shut down */
	cc__a32 begun, done;
	CCRuntime *got;
};

static void *use_default(void *arg)
{
	struct user *u = arg;

	cc__store(&u->begun, 1, CC__RELEASE);
	u->got = cc_runtime_current();
	cc__store(&u->done, 1, CC__RELEASE);
	CHECK_EQ(join(spawn(NULL, nothing, NULL)), 0);
	return NULL;
}

static void begin_shutdown(pthread_t *thread, CCRuntime *rt)
{
	CHECK_EQ(pthread_create(thread, NULL, shut_down, NULL), 0);
	TEST_UNTIL(cc__load(&sched_of(rt)->stopping, CC__SEQ_CST) != CC__RUNNING);
}

TEST(shutdown_of_the_default_makes_others_wait_for_the_next)
{
	struct gate g = {0};
	CCTask t = spawn(NULL, wait_at, &g);
	struct user u = {.before = cc_runtime_current()};
	pthread_t ends, uses, ends_too;
	void *result;

	begin_shutdown(&ends, u.before);
	CHECK_EQ(pthread_create(&uses, NULL, use_default, &u), 0);
	CHECK_EQ(pthread_create(&ends_too, NULL, shut_down, NULL), 0);
	TEST_UNTIL(cc__load(&u.begun, CC__ACQUIRE) != 0);
	cc_sleep_until(cc_now() + 5 * CC_MSEC);
	CHECK_EQ(cc__load(&u.done, CC__ACQUIRE), 0);
	cc__store(&g.open, 1, CC__RELEASE);
	CHECK_EQ(join(t), 17);
	pthread_join(ends, &result);
	CHECK_EQ((intptr_t)result, 0);
	pthread_join(uses, NULL);
	CHECK(u.got != NULL);
	pthread_join(ends_too, &result);
	CHECK_EQ((intptr_t)result, 0);
	CHECK_EQ(cc_shutdown(), 0);
}

/* The default runtime has no variable for its timeout, and 30 seconds are long. */
TEST(shutdown_of_the_default_that_fails_leaves_it_the_default)
{
	struct gate g = {0};
	CCTask t = spawn(NULL, wait_at, &g);
	CCRuntime *rt = cc_runtime_current();
	int err;

	sched_of(rt)->config.shutdown_timeout = IMPATIENT;
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) != 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(cc_shutdown(), ETIMEDOUT);
		REQUIRE(cc_runtime_current() == rt);
		CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, nothing, NULL), ECANCELED);
	}
	cc__store(&g.open, 1, CC__RELEASE);
	CHECK_EQ(join(t), 17);
	while ((err = cc_shutdown()) == ETIMEDOUT)
		continue;
	CHECK_EQ(err, 0);
	CHECK_EQ(join(spawn(NULL, nothing, NULL)), 0);	/* in the next one */
	CHECK_EQ(cc_shutdown(), 0);
}

/* What the shutdown waits for does not wait for the shutdown. */
static int spawn_default(void *arg)
{
	(void)arg;
	CHECK(cc_runtime_current() == NULL);
	return cc_task_spawn(NULL, NULL, NULL, nothing, NULL);
}

static int act_at_end(void *arg)
{
	struct gate *g = arg;
	int result = 0;

	CHECK_EQ(wait_at(g), 17);
	CHECK_EQ(cc_shutdown(), EDEADLK);
	CHECK_EQ(join(spawn(NULL, nothing, NULL)), 0);	/* in its own */
	CHECK_EQ(cc_blocking(spawn_default, NULL, &result), 0);
	return result;
}

TEST(shutdown_of_the_default_is_not_waited_for_from_inside)
{
	struct gate g = {0};
	CCTask t = spawn(NULL, act_at_end, &g);
	pthread_t ends;
	void *result;

	begin_shutdown(&ends, cc_runtime_current());
	cc__store(&g.open, 1, CC__RELEASE);
	CHECK_EQ(join(t), ECANCELED);
	pthread_join(ends, &result);
	CHECK_EQ((intptr_t)result, 0);
}
