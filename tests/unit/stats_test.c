/* stats_test.c - cc_stats: every figure against what was done; the reports at the end
 * of a runtime; the telemetry of the pressure; how long an idle worker sleeps. */
#include "environment.h"
#include "points.h"
#include "tasks.h"
#include "test.h"

#include <ccc/ccc.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>

#include "sched/worker.h"

/* No worker wakes by itself. */
static CCConfig quiet(unsigned workers)
{
	CCConfig c = config();

	only_workers(&c, workers);
	c.stack_idle = CC_FOREVER;
	return c;
}

static CCStats stats(CCRuntime *rt)
{
	CCStats s = {0};

	CHECK_EQ(cc_stats(rt, &s), 0);
	return s;
}

static struct cc__sched *sched_of(CCRuntime *rt)
{
	return (struct cc__sched *)(void *)rt;
}

/* So many sleep, and the others run: nobody is on the way from one to the other. */
static bool asleep(CCRuntime *rt, unsigned n)
{
	const struct cc__idle *i = sched_of(rt)->idle;

	return cc__load(&i->sleepers, CC__ACQUIRE) == n &&
	       cc__load(&i->searching, CC__ACQUIRE) == 0 && stats(rt).workers_sleeping == n;
}

static void until_asleep(CCRuntime *rt, unsigned n)
{
	TEST_UNTIL(asleep(rt, n));
}

/* What holds while no worker is about to fall asleep or wake up. */
static void check_sums(const CCStats *s)
{
	CHECK_EQ(s->waits, s->woken + s->timed_out + s->polled);
	/* Counted independently of each other: the difference are those that sleep. */
	CHECK_EQ(s->sleeps, s->waits + s->stale + s->workers_sleeping);
	/* A search ends with a find, by the spin or by the last look, or goes on in a sleep. */
	CHECK_EQ(s->searches, s->spin_hits + s->no_wait + s->workers_sleeping);
	CHECK(s->ends_generation + s->ends_ready <= s->woken + s->polled);
	CHECK_EQ(s->tasks_live, s->tasks_spawned - s->tasks_finished);
	CHECK(s->tasks_outside <= s->tasks_spawned);
	CHECK(s->steal_hits <= s->steal_tries);
	CHECK(s->stolen >= s->steal_hits);
	CHECK(s->post_announce_hits <= s->stale);
	CHECK(s->wakes_vain <= s->woken);
	CHECK(s->workers <= s->workers_most);
	CHECK_EQ(s->workers_active + s->workers_searching + s->workers_sleeping, s->workers);
	CHECK(s->stacks_in_use <= s->stacks);
}

/* ---- the call ---- */

TEST(stats_without_a_place_are_refused)
{
	CHECK_EQ(cc_stats(NULL, NULL), EINVAL);
}

TEST(stats_without_a_runtime_are_the_current_ones)
{
	CCStats s;

	clear_variables();
	CHECK_EQ(cc_stats(NULL, &s), 0);
	CHECK(s.workers_base >= 1);
	CHECK_EQ(s.tasks_spawned, 0);
	CHECK_EQ(join(spawn(NULL, nothing, NULL)), 0);
	CHECK_EQ(cc_stats(NULL, &s), 0);
	CHECK_EQ(s.tasks_spawned, 1);
	CHECK_EQ(cc_shutdown(), 0);
}

/* ---- figures ---- */

TEST(stats_of_a_runtime_that_has_done_nothing)	/* covers: LIF-56/u */
{
	const CCConfig c = quiet(2);
	CCRuntime *rt = runtime_with(&c);
	CCStats s;

	until_asleep(rt, 2);
	s = stats(rt);
	check_sums(&s);
	CHECK_EQ(s.workers_base, 2);
	CHECK_EQ(s.workers_most, 2);
	CHECK_EQ(s.workers, 2);
	CHECK_EQ(s.workers_active, 0);
	CHECK_EQ(s.tasks_spawned, 0);
	CHECK_EQ(s.switches, 0);
	CHECK_EQ(s.pressure, 0);
	CHECK_EQ(s.stacks, 2);		/* one in reserve each */
	CHECK_EQ(s.stacks_in_use, 0);
	CHECK_EQ(s.pushes, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

enum { MANY = 100 };

static int spawn_many(void *arg)
{
	CCTask t[MANY];

	(void)arg;
	for (int i = 0; i < MANY; i++)
		t[i] = spawn(NULL, nothing, NULL);
	for (int i = 0; i < MANY; i++)
		join(t[i]);
	return 0;
}

TEST(stats_count_tasks_and_switches)
{
	const CCConfig c = quiet(1);
	CCRuntime *rt = runtime_with(&c);
	CCStats s;

	CHECK_EQ(join(spawn(rt, spawn_many, NULL)), 0);
	until_asleep(rt, 1);
	s = stats(rt);
	check_sums(&s);
	CHECK_EQ(s.tasks_spawned, MANY + 1);
	CHECK_EQ(s.tasks_outside, 1);
	CHECK_EQ(s.tasks_finished, MANY + 1);
	CHECK_EQ(s.tasks_live, 0);
	CHECK(s.switches >= MANY + 1);
	CHECK(s.switches <= 2 * MANY + 1);
	CHECK(s.pushes >= s.switches);
	CHECK_EQ(s.pressure, 0);
	CHECK_EQ(s.steal_tries, 0);
	CHECK(s.frames >= MANY);
	CHECK_EQ(s.stacks_in_use, 0);
	CHECK_EQ(s.stacks_cached, s.stacks);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* The only worker is held: nothing that others give it is taken. */
TEST(stats_show_what_is_queued)	/* covers: LIF-56/u */
{
	const CCConfig c = quiet(1);
	CCRuntime *rt = runtime_with(&c);
	struct gate g = {0};
	CCTask t[MANY], held = spawn(rt, hold_worker_at, &g);
	CCStats s;

	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 1);
	CHECK_EQ(stats(rt).pressure, 0);
	for (int i = 0; i < MANY; i++)
		t[i] = spawn(rt, nothing, NULL);
	s = stats(rt);
	CHECK_EQ(s.pressure, MANY);
	CHECK_EQ(s.global_length, MANY);
	CHECK_EQ(s.tasks_live, MANY + 1);
	CHECK_EQ(s.workers_active, 1);
	CHECK_EQ(s.stacks_in_use, 1);
	CHECK_EQ(s.global_overflows, 0);
	cc__store(&g.open, 1, CC__RELEASE);
	for (int i = 0; i < MANY; i++)
		join(t[i]);
	join(held);
	until_asleep(rt, 1);
	s = stats(rt);
	CHECK_EQ(s.pressure, 0);
	CHECK_EQ(s.global_length, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(stats_count_what_the_global_ring_has_no_room_for)
{
	enum { EXTRA = 10 };
	const CCConfig c = quiet(1);
	CCRuntime *rt = runtime_with(&c);
	struct gate g = {0};
	CCTask held = spawn(rt, hold_worker_at, &g);

	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 1);
	for (int i = 0; i < CC_FIBER_QUEUE_INITIAL + EXTRA; i++)
		CHECK_EQ(cc_task_spawn(rt, NULL, NULL, nothing, NULL), 0);
	CHECK_EQ(stats(rt).global_overflows, EXTRA);
	cc__store(&g.open, 1, CC__RELEASE);
	join(held);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Fibers of one runtime that a thread outside wakes come back by the inbox. */
TEST(stats_count_inbox_pushes)
{
	const CCConfig c = quiet(1);
	CCRuntime *rt = runtime_with(&c), *other = runtime_with(&c);
	struct gate g = {0};
	CCTask awaited = spawn(other, wait_at, &g);
	CCTask sleeper;
	CCStats s;

	sleeper = spawn(rt, spawn_many, NULL);
	join(sleeper);
	CHECK_EQ(stats(rt).inbox_pushes, 0);
	CHECK_EQ(cc_task_spawn(rt, &sleeper, &(CCTaskOptions){.migration = CC_MIGRATE_PINNED},
	                       nothing, NULL),
	         0);
	join(sleeper);
	until_asleep(rt, 1);
	s = stats(rt);
	check_sums(&s);
	CHECK_EQ(s.inbox_pushes, 1);
	CHECK_EQ(s.pressure, 0);
	cc__store(&g.open, 1, CC__RELEASE);
	join(awaited);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc_runtime_free(other), 0);
}

struct spawner {
	struct gate gate;
	CCStats before;		/* when it began */
};

static int spawn_and_hold(void *arg)
{
	struct spawner *s = arg;

	s->before = stats(cc_runtime_current());
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, nothing, NULL), 0);
	return hold_worker_at(&s->gate);
}

/* What one worker has spawned and does not come to, the other takes. */
TEST(stats_count_what_is_stolen)	/* covers: WKG-14/u */
{
	const CCConfig c = quiet(2);
	CCRuntime *rt = runtime_with(&c);
	struct spawner spawner = {.before = {0}};
	CCTask t = spawn(rt, spawn_and_hold, &spawner);
	CCStats s;

	TEST_UNTIL(stats(rt).tasks_finished == MANY);
	until_asleep(rt, 1);	/* the thief: the other one is held */
	s = stats(rt);
	check_sums(&s);
	/* The spawner may have been stolen, too, before it began. */
	CHECK(s.steal_tries > spawner.before.steal_tries);
	CHECK(s.steal_hits > spawner.before.steal_hits);
	CHECK_EQ(s.stolen - spawner.before.stolen, MANY);
	CHECK_EQ(s.pressure, 0);
	cc__store(&spawner.gate.open, 1, CC__RELEASE);
	join(t);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* MANY tasks, one after another; each wakes the only worker, which sleeps again.  Returns what
 * the figures were before. */
static CCStats sleep_after_each_task(CCRuntime *rt)
{
	CCStats before;

	until_asleep(rt, 1);
	before = stats(rt);
	for (int i = 0; i < MANY; i++) {
		join(spawn(rt, nothing, NULL));
		until_asleep(rt, 1);
	}
	return before;
}

TEST(stats_count_sleeps_and_wakes)	/* covers: WKG-14/u */
{
	const CCConfig c = quiet(1);
	CCRuntime *rt = runtime_with(&c);
	CCStats before, s;

	before = sleep_after_each_task(rt);
	s = stats(rt);
	check_sums(&s);
	CHECK(s.sleeps - before.sleeps >= MANY);
	/* Announced is not quite asleep: some see that something has come, do not wait, and may
	 * be awake before they are woken. */
	CHECK(s.wakes - before.wakes <= MANY);
	CHECK(s.wakes - before.wakes >= s.woken - before.woken);
	CHECK_EQ(s.woken + s.stale - before.woken - before.stale, s.sleeps - before.sleeps);
	CHECK_EQ(s.timed_out, before.timed_out);
	/* One push from outside, which sees the sleeper, and one into the worker's queue; that
	 * may see it too, if the worker is awake before its waker has counted it so. */
	CHECK_EQ(s.pushes - before.pushes, 2 * MANY);
	CHECK(s.pushes_unseen - before.pushes_unseen <= MANY);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* While no other worker runs there is no other look.  The second task comes when the worker is
 * about to take it, and has not announced its sleep. */
TEST(stats_count_what_the_last_look_finds)
{
	const CCConfig c = quiet(1);
	struct point *p;
	CCRuntime *rt;
	CCStats before, s;
	CCTask first, second;

	NEED_POINTS();
	rt = runtime_with(&c);
	until_asleep(rt, 1);
	before = stats(rt);
	p = point_hold("worker.before_last_look", NULL);
	first = spawn(rt, nothing, NULL);
	point_until_held(p);
	second = spawn(rt, nothing, NULL);
	point_release(p);
	join(first);
	join(second);
	until_asleep(rt, 1);
	s = stats(rt);
	check_sums(&s);
	CHECK_EQ(s.no_wait - before.no_wait, 1);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- the idle policy (docs/idle.md) ---- */

static int begin_behind(void *arg)
{
	cc__store((cc__a32 *)arg, 1, CC__RELEASE);
	return 0;
}

/* Keeps its worker until the task behind it has begun on another one. */
static int spawn_and_keep(void *arg)
{
	cc__a32 *begun = arg;
	CCTask t;

	CHECK_EQ(cc_task_spawn(NULL, &t, NULL, begin_behind, begun), 0);
	while (cc__load(begun, CC__ACQUIRE) == 0)
		cc__relax();
	return cc_task_join(t, CC_FOREVER, NULL);
}

/* Both sleep: one is woken for the fiber, the other for the task.  No worker looks by itself,
 * because there is no watch. */
TEST(task_behind_a_computing_fiber_begins_by_a_wake)	/* covers: LIF-13/u WKG-07/u */
{
	CCConfig c = quiet(2);
	CCRuntime *rt;
	CCStats before, s;

	c.idle_wait = CC_FOREVER;
	rt = runtime_with(&c);
	for (int i = 0; i < MANY; i++) {
		cc__a32 begun = {0};

		until_asleep(rt, 2);
		before = stats(rt);
		join(spawn(rt, spawn_and_keep, &begun));
		s = stats(rt);
		/* (Announced is not quite asleep, as above.) */
		CHECK(s.wakes + s.stale - before.wakes - before.stale >= 2);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* A worker beside which none runs looks once, asks for no descriptors, and sleeps. */
TEST(lone_worker_looks_once_before_it_sleeps)	/* covers: WKG-13/u */
{
	const CCConfig c = quiet(1);
	CCRuntime *rt = runtime_with(&c);
	CCStats before, s;

	before = sleep_after_each_task(rt);
	s = stats(rt);
	/* A look for each task and one for each sleep; a stale announcement has one more. */
	CHECK(s.looks - before.looks <= 2 * MANY + s.stale - before.stale);
	CHECK_EQ(s.polls, before.polls);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Every task is spawned from outside while both workers sleep, so every wake follows a move
 * of the generation. */
TEST(waits_under_load_end_by_the_generation_and_do_not_outgrow_sleeps)	/* covers: WKG-14/u,
									 * WKG-16/b */
{
	const CCConfig c = quiet(2);
	CCRuntime *rt = runtime_with(&c);
	CCStats s;

	for (int i = 0; i < MANY; i++) {
		until_asleep(rt, 2);
		join(spawn(rt, nothing, NULL));
	}
	until_asleep(rt, 2);
	s = stats(rt);
	check_sums(&s);
	printf("      sleeps %" PRIu64 ", waits %" PRIu64 ", ended by the generation %" PRIu64
	       ", stale %" PRIu64 "\n",
	       s.sleeps, s.waits, s.ends_generation, s.stale);
	CHECK(s.ends_generation > 0);
	/* A worker that is woken in vain sleeps again: at most two sleeps for each of two workers
	 * and task, however slowly they run.  One that went to sleep over and over would pass it. */
	CHECK(s.waits <= s.sleeps);
	CHECK(s.waits <= 4 * MANY);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int spawn_unseen(void *arg)
{
	struct spawner *s = arg;
	CCStats after;

	hold_worker_at(&s->gate);
	s->before = stats(cc_runtime_current());
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, nothing, NULL), 0);
	after = stats(cc_runtime_current());
	CHECK_EQ(after.pushes - s->before.pushes, MANY);
	CHECK_EQ(after.pushes_unseen - s->before.pushes_unseen, MANY);
	return 0;
}

/* While one worker is held the other looks longer before it sleeps, but only at what has been
 * pushed since: it looks when it is woken, when it has nothing left, and before it sleeps. */
TEST(worker_beside_a_busy_one_does_not_scan_over_and_over)	/* covers: WKG-22/u */
{
	const CCConfig c = quiet(2);
	CCRuntime *rt = runtime_with(&c);
	struct gate g = {0};
	CCStats before, s;
	CCTask held;

	until_asleep(rt, 2);
	held = spawn(rt, hold_worker_at, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 1);
	until_asleep(rt, 1);
	before = stats(rt);
	for (int i = 0; i < MANY; i++) {
		join(spawn(rt, nothing, NULL));
		until_asleep(rt, 1);
	}
	s = stats(rt);
	printf("      %" PRIu64 " looks for %d tasks\n", s.looks - before.looks, MANY);
	CHECK(s.looks - before.looks <= 6 * MANY);
	cc__store(&g.open, 1, CC__RELEASE);
	join(held);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Nobody sleeps: the only worker runs, and who has woken it is back. */
TEST(stats_count_pushes_that_have_nobody_to_call)	/* covers: WKG-14/u */
{
	const CCConfig c = quiet(1);
	CCRuntime *rt = runtime_with(&c);
	struct spawner spawner = {.before = {0}};
	CCTask t = spawn(rt, spawn_unseen, &spawner);

	cc__store(&spawner.gate.open, 1, CC__RELEASE);
	CHECK_EQ(join(t), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int starve_and_end(void *arg)
{
	return wait_at(arg);
}

TEST(stats_count_starved_tasks_as_queued)
{
	CCConfig c = quiet(1);
	struct gate g = {0};
	CCRuntime *rt;
	CCTask t[4];
	CCStats s;

	c.stacks_max = 2;
	c.log = NULL;
	rt = runtime_with(&c);
	for (int i = 0; i < 2; i++)
		t[i] = spawn(rt, starve_and_end, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 2);
	CHECK_EQ(cc_task_spawn(rt, &t[2], NULL, nothing, NULL), 0);
	TEST_UNTIL(stats(rt).starved > 0);
	CHECK_EQ(stats(rt).stacks_in_use, 2);
	cc__store(&g.open, 1, CC__RELEASE);
	for (int i = 0; i < 3; i++)
		join(t[i]);
	until_asleep(rt, 1);
	s = stats(rt);
	check_sums(&s);
	CHECK_EQ(s.pressure, 0);
	CHECK_EQ(s.stacks_in_use, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- many readers ---- */

struct readers {
	CCRuntime *rt;
	cc__a32 stop;
};

static void *read_on(void *arg)
{
	struct readers *r = arg;
	uint64_t finished = 0;

	while (cc__load(&r->stop, CC__ACQUIRE) == 0) {
		const CCStats s = stats(r->rt);

		CHECK(s.tasks_live <= s.tasks_spawned);
		CHECK(s.tasks_finished >= finished);
		finished = s.tasks_finished;
	}
	return NULL;
}

TEST(stats_may_be_read_while_all_is_busy)
{
	const CCConfig c = quiet(2);
	struct readers r = {.rt = runtime_with(&c)};
	pthread_t thread;
	CCStats s;

	CHECK_EQ(pthread_create(&thread, NULL, read_on, &r), 0);
	for (int i = 0; i < 50; i++) {
		CCTask t[3];

		for (int k = 0; k < 3; k++)
			t[k] = spawn(r.rt, spawn_many, NULL);
		for (int k = 0; k < 3; k++)
			join(t[k]);
	}
	cc__store(&r.stop, 1, CC__RELEASE);
	pthread_join(thread, NULL);
	until_asleep(r.rt, 2);
	s = stats(r.rt);
	check_sums(&s);
	CHECK_EQ(s.tasks_spawned, 50 * 3 * (MANY + 1));
	CHECK_EQ(s.tasks_live, 0);
	CHECK_EQ(s.pressure, 0);
	CHECK_EQ(cc_runtime_free(r.rt), 0);
}

/* ---- what ends a wait ---- */

static int wait_for_byte(void *fd)
{
	return cc_wait_fd(*(int *)fd, CC_FD_READ, CC_FOREVER);
}

/* A descriptor becomes ready and nothing was pushed: something is ready for this worker, though
 * the generation has not moved.  A task from outside moves it. */
TEST(stats_tell_the_two_ends_of_a_wait_apart)	/* covers: WKG-23/u */
{
	const CCConfig c = quiet(1);
	CCRuntime *rt = runtime_with(&c);
	CCStats before, after;
	int end[2];
	CCTask t;

	REQUIRE_EQ(pipe(end), 0);
	t = spawn(rt, wait_for_byte, &end[0]);
	TEST_UNTIL(cc__word_state(cc__load(&((struct cc__fiber *)t.frame)->parker.word,
	                                   CC__ACQUIRE)) == CC__PARKED);
	until_asleep(rt, 1);
	before = stats(rt);
	CHECK_EQ(write(end[1], "x", 1), 1);
	CHECK_EQ(join(t), 0);
	until_asleep(rt, 1);
	after = stats(rt);
	CHECK_EQ(after.polled - before.polled, 1);
	CHECK_EQ(after.ends_ready - before.ends_ready, 1);
	CHECK_EQ(after.ends_generation - before.ends_generation, 0);

	do {	/* until the worker was not on its way into the kernel only */
		before = after;
		join(spawn(rt, nothing, NULL));
		until_asleep(rt, 1);
		after = stats(rt);
	} while (after.stale != before.stale);
	CHECK_EQ(after.woken - before.woken, 1);
	CHECK_EQ(after.ends_ready - before.ends_ready, 0);
	CHECK_EQ(after.ends_generation - before.ends_generation, 1);
	close(end[0]);
	close(end[1]);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- how long an idle worker sleeps ---- */

/* A worker sleeps, and not on watch.  How often workers have looked by themselves is the
 * same before and after: so none of them did while we looked. */
static bool sleeps_for_good(CCRuntime *rt, uint64_t *looks)
{
	*looks = stats(rt).timed_out;
	return asleep(rt, 1) &&
	       !(cc__load(&sched_of(rt)->idle->keeper, CC__ACQUIRE) & CC__WATCHING) &&
	       asleep(rt, 1) && stats(rt).timed_out == *looks;
}

/* The worker that sleeps is woken, and there is nothing for it.  If it was on its way into the
 * kernel only, it takes its announcement back, and that is no wake. */
static void wake_for_nothing(CCRuntime *rt)
{
	CCStats was, s;

	do {
		until_asleep(rt, 1);
		was = stats(rt);
		cc__idle_wake_all(sched_of(rt)->idle);
		TEST_UNTIL((s = stats(rt)).woken > was.woken || s.stale > was.stale);
	} while (s.woken == was.woken);
}

/* One worker is held, and the other is woken for nothing, so that it keeps watch; how often both
 * have looked by themselves when it no longer does. */
static uint64_t idle_looks(cc_time idle_wait)
{
	CCConfig c = quiet(2);
	struct gate g = {0};
	uint64_t looks, vain;
	CCRuntime *rt;
	CCTask held;

	c.idle_wait = idle_wait;
	rt = runtime_with(&c);
	until_asleep(rt, 2);
	held = spawn(rt, hold_worker_at, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 1);
	vain = stats(rt).wakes_vain;
	wake_for_nothing(rt);
	TEST_UNTIL(stats(rt).wakes_vain > vain);
	TEST_UNTIL(sleeps_for_good(rt, &looks));
	cc_sleep_until(cc_now() + 20 * CC_MSEC);	/* longer than any watch */
	CHECK_EQ(stats(rt).timed_out, looks);
	cc__store(&g.open, 1, CC__RELEASE);
	join(held);
	CHECK_EQ(cc_runtime_free(rt), 0);
	return looks;
}

TEST(idle_worker_looks_by_itself_only_after_a_wake_for_nothing)	/* covers: WKG-15/u, RES-45/u */
{
	const uint64_t looks = idle_looks(CC_MSEC);

	/* Both may have been woken in vain before, for the task that holds one. */
	CHECK(looks >= 1 && looks <= 3);
}

/* Timed waits by the number of timed waits before them.  Written by the one worker that sleeps,
 * read while it sleeps. */
enum { WAITS = 8 };
static struct timed {
	cc_time began, shortest[WAITS];
	bool cut[WAITS];	/* one was shorter than it should be */
	cc__a32 count;
} timed;

static cc_time timed_wait(unsigned n, cc_time idle_wait)
{
	const cc_time wait = n < 5 ? (100 * CC_USEC) << n : 2 * CC_MSEC;

	return wait < idle_wait ? wait : idle_wait;
}

static cc_time timed_most;	/* idle_wait of the runtime */

/* The worker tells before and after each sleep. */
static void note_sleep(enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	const struct cc__worker *w = who;
	cc_time length;
	unsigned n;

	(void)a;
	if (kind == CC__EV_SLEEP)
		timed.began = cc_now();
	if (kind != CC__EV_AWAKE || b != CC__TIMED_OUT)
		return;
	if ((n = w->fruitless) < WAITS) {	/* there may be a wait more than the test asks for */
		length = cc_now() - timed.began;
		timed.cut[n] |= length < timed_wait(n, timed_most);
		if (timed.shortest[n] == 0 || length < timed.shortest[n])
			timed.shortest[n] = length;
	}
	cc__add(&timed.count, 1, CC__RELEASE);
}

static bool has_times(void)
{
	for (unsigned n = 0; n < WAITS; n++)
		/* A busy machine makes a wait longer: then it is tried again. */
		if (timed.shortest[n] == 0 ||
		    timed.shortest[n] >= timed_wait(n, timed_most) * 3 / 2 + 200 * CC_USEC)
			return false;
	return true;
}

/* One worker is held, and the other is woken for nothing WAITS times, then for a task: that ends
 * the run, and the next wait is short again. */
static void wake_in_vain(CCRuntime *rt)
{
	for (uint32_t n = 1; n <= WAITS; n++) {
		const uint32_t before = cc__load(&timed.count, CC__ACQUIRE);
		uint64_t looks;

		wake_for_nothing(rt);
		/* Without a timed wait after the wake, it is tried again. */
		TEST_UNTIL(cc__load(&timed.count, CC__ACQUIRE) != before ||
		           sleeps_for_good(rt, &looks));
	}
	join(spawn(rt, nothing, NULL));
	until_asleep(rt, 1);
}

static void check_times(cc_time idle_wait)
{
	CCConfig c = quiet(2);
	struct gate g = {0};
	CCRuntime *rt;
	CCTask held;

	memset(&timed, 0, sizeof timed);
	timed_most = c.idle_wait = idle_wait;
	rt = runtime_with(&c);
	until_asleep(rt, 2);
	held = spawn(rt, hold_worker_at, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 1);
	until_asleep(rt, 1);
	cc__watch_log(note_sleep);
	do
		wake_in_vain(rt);
	while (!has_times() && test_has_time());
	cc__watch(0);
	for (unsigned n = 0; n < WAITS; n++)
		CHECK(!timed.cut[n]);
	CHECK(has_times());
	cc__store(&g.open, 1, CC__RELEASE);
	join(held);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(timed_waits_double_from_a_tenth_of_a_millisecond_to_two)	/* covers: WKG-15/u, RES-72/u */
{
	check_times(5 * CC_MSEC);
	check_times(CC_MSEC);	/* the configured limit is less */
}

TEST(idle_worker_without_a_timeout_waits_to_be_woken)	/* covers: WKG-15/u, RES-45/u */
{
	CHECK_EQ(idle_looks(CC_FOREVER), 0);
}

/* ---- reports ---- */

struct lines {
	char text[8][4096];
	unsigned n;
};

static void keep_line(void *context, const char *line)
{
	struct lines *l = context;

	if (CHECK(l->n < 8))
		snprintf(l->text[l->n++], sizeof l->text[0], "%s", line);
}

static CCConfig with_log(struct lines *l)
{
	CCConfig c = quiet(1);

	memset(l, 0, sizeof *l);
	c.log = keep_line;
	c.log_context = l;
	return c;
}

static void run_and_end(const CCConfig *c)
{
	CCRuntime *rt = runtime_with(c);

	CHECK_EQ(join(spawn(rt, spawn_many, NULL)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* What the environment says of statistics, and nothing else of it. */
static CCStatsMode stats_of_environment(const char *text)
{
	return with("CC_FIBER_STATS", text).stats;
}

TEST(report_is_silent_unless_asked_for)	/* covers: SCH-80/u */
{
	static struct lines l;
	CCConfig c = with_log(&l);

	c.stats = stats_of_environment("0");
	run_and_end(&c);
	CHECK_EQ(l.n, 0);
}

/* "name VALUE" in a line; -1: not there. */
static long long figure(const char *line, const char *name)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof key, " %s ", name);
	return (at = strstr(line, key)) != NULL ? strtoll(at + strlen(key), NULL, 10) : -1;
}

TEST(report_as_text_has_a_line_a_group)	/* covers: SCH-80/u */
{
	static struct lines l;
	CCConfig c = with_log(&l);

	c.stats = stats_of_environment("1");
	run_and_end(&c);
	REQUIRE_EQ(l.n, 5);
	CHECK(strncmp(l.text[0], "libccc: workers: workers_base 1, ", 33) == 0);
	CHECK(strncmp(l.text[1], "libccc: tasks: tasks_spawned 101, ", 34) == 0);
	CHECK_EQ(figure(l.text[1], "tasks_live"), 0);
	CHECK_EQ(figure(l.text[1], "pressure"), 0);
	CHECK(strncmp(l.text[2], "libccc: queues: ", 16) == 0);
	CHECK(strncmp(l.text[3], "libccc: memory: ", 16) == 0);
	CHECK(strncmp(l.text[4], "libccc: waking: ", 16) == 0);
}

/* One flat object of names and numbers. */
static unsigned parse_object(const char *at, const char *want, long long *value)
{
	unsigned n = 0;
	char name[64];
	long long number;
	int used;

	if (!CHECK(*at++ == '{'))
		return 0;
	while (sscanf(at, "\"%63[a-z_]\": %lld%n", name, &number, &used) == 2) {
		n++;
		if (strcmp(name, want) == 0)
			*value = number;
		at += used;
		if (strncmp(at, ", ", 2) == 0)
			at += 2;
	}
	CHECK_STR(at, "}");
	return n;
}

TEST(report_as_json_is_one_object)	/* covers: SCH-80/u */
{
	static struct lines l;
	CCConfig c = with_log(&l);
	long long spawned = -1;

	c.stats = stats_of_environment("json");
	run_and_end(&c);
	REQUIRE_EQ(l.n, 1);
	CHECK_EQ(parse_object(l.text[0], "tasks_spawned", &spawned), sizeof(CCStats) / 8);
	CHECK_EQ(spawned, MANY + 1);
}

TEST(report_of_the_wake_generation_has_its_counters)	/* covers: WKG-14/u, WKG-23/u */
{
	static const char *const names[] = {
	    "sleeps",          "pushes_unseen", "stale",
	    "looks",           "polls",         "spin_hits",       "no_wait",       "post_announce_hits",
	    "waits",           "woken",         "timed_out",
	    "wakes",           "wakes_vain",    "polled",
	    "ends_generation", "ends_ready",    "steal_tries",
	    "steal_hits",
	};
	static struct lines l;
	CCConfig c = with_log(&l);

	c.wake_stats = 1;
	run_and_end(&c);
	REQUIRE_EQ(l.n, 1);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!CHECK(figure(l.text[0], names[i]) >= 0))
			printf("\tno %s in: %s\n", names[i], l.text[0]);
	CHECK_EQ(figure(l.text[0], "waits"), figure(l.text[0], "woken") +
	                                         figure(l.text[0], "timed_out") +
	                                         figure(l.text[0], "polled"));
}

TEST(verbose_start_says_what_is_in_force)	/* covers: SCH-80/u */
{
	static struct lines l;
	CCConfig c = with_log(&l);

	c.verbose = with("CC_VERBOSE", "1").verbose;
	run_and_end(&c);
	REQUIRE_EQ(l.n, 1);
	CHECK(strncmp(l.text[0], "libccc: runtime: 1 worker (at most 1), ", 39) == 0);
}

/* ---- pressure ---- */

TEST(pressure_telemetry_is_counted_and_printed)	/* covers: LIF-61/u */
{
	static struct lines l;
	CCConfig c = with_log(&l);
	struct gate g = {0};
	CCRuntime *rt;
	CCTask held;

	c.pressure_stats = 1;
	rt = runtime_with(&c);
	held = spawn(rt, hold_worker_at, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 1);
	for (int i = 0; i < 3; i++)
		cc__pressure_sample(sched_of(rt), CC__BLOCK_NO_WORK);
	CHECK_EQ(cc_task_spawn(rt, NULL, NULL, nothing, NULL), 0);
	CHECK_EQ(cc_task_spawn(rt, NULL, NULL, nothing, NULL), 0);
	cc__pressure_sample(sched_of(rt), CC__BLOCK_NOT_STUCK);
	cc__pressure_sample(sched_of(rt), CC__BLOCK_NONE);
	cc__pressure_promoted(sched_of(rt));
	cc__store(&g.open, 1, CC__RELEASE);
	join(held);
	until_asleep(rt, 1);
	cc__pressure_sample(sched_of(rt), CC__BLOCK_IDLE_CAPACITY);
	cc__pressure_sample(sched_of(rt), CC__BLOCK_NONPOSITIVE);
	cc__pressure_sample(sched_of(rt), CC__BLOCK_AT_LIMIT);
	CHECK_EQ(cc_runtime_free(rt), 0);
	REQUIRE_EQ(l.n, 1);
	CHECK_STR(l.text[0],
	          "libccc: pressure: positive_samples 2, negative_samples 0, zero_samples 6, "
	          "current_pressure 0, gate_passes 1, promoted_workers 1, neg_streak_max 0, blocked by: "
	          "no_work 3, nonpositive 1, idle_capacity 1, not_stuck 1, at_limit 1");
}

/* Two samples below zero, one at zero, three below: the streak of three is the longest, and
 * the sample at zero belongs to neither side. */
TEST(pressure_of_zero_is_neither_positive_nor_negative)	/* covers: LIF-61/u, LIF-79/u */
{
	const CCConfig c = quiet(1);
	CCRuntime *rt = runtime_with(&c);
	struct cc__sched *s = sched_of(rt);

	for (unsigned i = 0; i < 6; i++) {
		const bool zero = i == 2;

		cc__count_by(&s->sysmon.moved, !zero);	/* taken, though never queued */
		cc__pressure_sample(s, CC__BLOCK_NO_WORK);
		cc__count_by(&s->idle->outside, !zero);
	}
	CHECK_EQ(cc__load(&s->pressure.positive_samples, CC__RELAXED), 0);
	CHECK_EQ(cc__load(&s->pressure.negative_samples, CC__RELAXED), 5);
	CHECK_EQ(cc__load(&s->pressure.zero_samples, CC__RELAXED), 1);
	CHECK_EQ(cc__load(&s->pressure.neg_streak_max, CC__RELAXED), 3);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* So many samples for so long after a pick of what was never queued; before one of them
 * somebody is queued, and after it there is such a pick again. */
struct drift {
	cc_time time;
	unsigned samples, good;
};

static void let_drift(void *arg)
{
	const struct drift *d = arg;
	const CCConfig c = quiet(1);
	struct cc__sched *s = sched_of(runtime_with(&c));

	cc__count(&s->sysmon.moved);
	for (unsigned i = 1; i <= d->samples; i++) {
		cc__count_by(&s->idle->outside, i == d->good);
		if (i == d->samples)
			s->pressure.below_since -= d->time;
		cc__pressure_sample(s, CC__BLOCK_NO_WORK);
		cc__count_by(&s->sysmon.moved, i == d->good);
	}
	_exit(0);
}

static bool drift_is_found(cc_time time, unsigned samples, unsigned good)
{
	struct drift d = {time, samples, good};
	static struct test_death death;

	CHECK_EQ(test_dies(let_drift, &d, &death), 0);
	CHECK(!death.timed_out);
	if (WIFEXITED(death.status) && WEXITSTATUS(death.status) == 0)
		return false;
	CHECK(WIFSIGNALED(death.status) && WTERMSIG(death.status) == SIGABRT);
	CHECK(strstr(death.text, "pressure: below zero for long") != NULL);
	return true;
}

TEST(pressure_below_zero_for_long_is_a_bug)	/* covers: LIF-59/f */
{
#ifdef CC__DEBUG
	const bool found = true;
#else
	const bool found = false;
#endif
	const unsigned n = CC__DRIFT_SAMPLES;

	CHECK(!drift_is_found(CC__DRIFT_TIME, n - 1, 0));
	CHECK_EQ(drift_is_found(CC__DRIFT_TIME, n, 0), found);
	CHECK(!drift_is_found(CC__DRIFT_TIME / 2, 3 * n, 0));
	CHECK(!drift_is_found(CC__DRIFT_TIME, 2 * n - 1, n));
	CHECK_EQ(drift_is_found(CC__DRIFT_TIME, 2 * n, n), found);
}

/* ---- at exit ---- */

struct ending {
	void (*how)(void);
	const char *name, *text;
};

static void leave_main(void)
{
	exit(0);
}

static void shut_down(void)
{
	if (cc_shutdown() != 0)
		_exit(3);
	exit(0);
}

static int exit_here(void *arg)
{
	(void)arg;
	exit(0);
}

static void leave_in_a_task(void)
{
	CCTask t;

	if (cc_task_spawn(NULL, &t, NULL, exit_here, NULL) == 0)
		cc_ignore(cc_task_join(t, CC_FOREVER, NULL));
	_exit(4);
}

static struct gate stuck;

/* A task that never ends, and another thread that waits for that in vain. */
static void *shut_down_in_vain(void *arg)
{
	cc_ignore(cc_shutdown());
	return arg;
}

static void leave_during_shutdown(void)
{
	CCRuntime *rt = cc_runtime_current();
	pthread_t thread;

	if (cc_task_spawn(rt, NULL, NULL, wait_at, &stuck) != 0 ||
	    pthread_create(&thread, NULL, shut_down_in_vain, NULL) != 0)
		_exit(5);
	TEST_UNTIL(cc__load(&sched_of(rt)->stopping, CC__ACQUIRE) != CC__RUNNING);
	exit(0);
}

static void use_and_end(void *arg)
{
	const struct ending *e = arg;
	CCTask t;

	clear_variables();
	setenv(e->name, e->text, 1);
	if (cc_task_spawn(NULL, &t, NULL, nothing, NULL) != 0 ||
	    cc_task_join(t, CC_FOREVER, NULL) != 0)
		_exit(2);
	e->how();
}

static const char *said(void (*how)(void), const char *name, const char *text)
{
	static struct test_death d;
	struct ending e = {how, name, text};

	CHECK_EQ(test_dies(use_and_end, &e, &d), 0);
	CHECK(!d.timed_out);
	CHECK_EQ(d.status, 0);
	return d.text;
}

static bool once(const char *text, const char *what)
{
	const char *at = strstr(text, what);

	return at != NULL && strstr(at + 1, what) == NULL;
}

TEST(default_runtime_reports_once_at_exit)	/* covers: SCH-80/u */
{
	static void (*const how[])(void) = {leave_main, shut_down, leave_in_a_task};

	for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
		CHECK(once(said(how[i], "CC_FIBER_STATS", "1"), "libccc: tasks: tasks_spawned "));
		CHECK(once(said(how[i], "CC_FIBER_STATS", "json"), "\"tasks_spawned\": "));
		CHECK(once(said(how[i], "CC_WAKE_GEN_STATS", "1"), "libccc: waking: searches "));
		CHECK(once(said(how[i], "CC_V3_PRESSURE_STATS_DUMP", "1"),
		           "libccc: pressure: positive_samples "));
		CHECK_STR(said(how[i], "CC_FIBER_STATS", "0"), "");
	}
	CHECK(once(said(shut_down, "CC_VERBOSE", "1"), "libccc: runtime: "));
}

/* Longer than what is written at a time. */
TEST(report_on_standard_error_is_whole)	/* covers: SCH-80/u */
{
	const char *text = said(leave_main, "CC_FIBER_STATS", "json");
	const size_t n = strlen(text);

	CHECK(n > 512);
	CHECK(n > 2 && strcmp(text + n - 2, "}\n") == 0);
}

TEST(exit_does_not_wait_for_a_shutdown)	/* covers: SCH-80/u */
{
	said(leave_during_shutdown, "CC_FIBER_STATS", "1");
}
