/* sysmon_test.c - the monitor and the elastic pool: hogs, temporary workers, the
 * reserve, retirement, stalls. */
#include "points.h"
#include "sleepers.h"
#include "tasks.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sched/sched.h"
#include "sched/worker.h"

/* ---- helpers ---- */

static struct cc__sched *sched_of(CCRuntime *rt)
{
	return (struct cc__sched *)(void *)rt;
}

static CCConfig config_of(unsigned workers, unsigned most)
{
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	c.workers = workers;
	c.workers_max = most;
	c.sysmon = 1;
	/* Who is held up by the machine for so long is found stuck, as a hog is. */
	c.scale_interval = 50 * CC_MSEC;
	c.debug = 0;
	c.stack_idle = 3600 * CC_SEC;
	c.worker_idle = 3600 * CC_SEC;
	return c;
}

static CCRuntime *runtime_of(unsigned workers, unsigned most)
{
	const CCConfig c = config_of(workers, most);

	return runtime_with(&c);
}

/* Runs of one thread of ours end with a number: its line in /proc that begins so. */
static long task_number(const char *task, const char *file, const char *key)
{
	char path[300], line[100];
	long number = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%s/%s", task, file);
	if ((f = fopen(path, "r")) == NULL)
		return -1;
	while (number < 0 && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			number = strtol(line + strlen(key), NULL, 10);
	fclose(f);
	return number;
}

/* Threads whose name begins so; the sum of how often they have let go of a CPU, and how
 * many sleep. */
struct threads {
	unsigned count, asleep;
	long switches;
};

static struct threads threads_named(const char *name)
{
	DIR *d = opendir("/proc/self/task");
	struct threads t = {0};
	struct dirent *e;

	if (!CHECK(d != NULL))
		return t;
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.' || task_number(e->d_name, "comm", name) < 0)
			continue;
		t.count++;
		t.asleep += task_number(e->d_name, "status", "State:\tS") >= 0;
		t.switches += task_number(e->d_name, "status", "voluntary_ctxt_switches:");
	}
	closedir(d);
	return t;
}

static unsigned workers(void)
{
	return threads_named("cc-worker-").count;
}

static uint64_t counted(const cc__a64 *counter)
{
	return cc__load(counter, CC__RELAXED);
}

/* ---- who holds workers ---- */

struct crowd {
	CCRuntime *rt;
	cc__a32 open, begun;
	CCTask task[64];
	unsigned count;
};

static int burn(void *arg)
{
	struct crowd *c = arg;

	cc__add(&c->begun, 1, CC__RELEASE);
	while (cc__load(&c->open, CC__ACQUIRE) == 0)
		cc__relax();
	return 0;
}

static int block(void *arg)
{
	struct crowd *c = arg;

	cc__add(&c->begun, 1, CC__RELEASE);
	while (cc__load(&c->open, CC__ACQUIRE) == 0)
		usleep(20 * 1000);
	return 0;
}

static unsigned begun(struct crowd *c)
{
	return cc__load(&c->begun, CC__ACQUIRE);
}

/* So many, of whom `first` have begun when it returns. */
static void crowd_begin(struct crowd *c, CCRuntime *rt, cc_task_main *main, unsigned count,
                        unsigned first)
{
	*c = (struct crowd){.rt = rt, .count = count};
	for (unsigned i = 0; i < count; i++)
		c->task[i] = spawn(rt, main, c);
	TEST_UNTIL(begun(c) >= first);
}

static void crowd_end(struct crowd *c)
{
	cc__store(&c->open, 1, CC__RELEASE);
	for (unsigned i = 0; i < c->count; i++)
		join(c->task[i]);
}

/* ---- who only waits ---- */

struct beat {
	CCRuntime *rt;
	cc__a32 beats, stop;
};

static int beats(void *arg)
{
	struct beat *b = arg;

	while (cc__load(&b->stop, CC__ACQUIRE) == 0) {
		cc_sleep_until(cc_now() + 5 * CC_MSEC);
		cc__add(&b->beats, 1, CC__RELEASE);
	}
	return 0;
}

static void until_beats(struct beat *b, uint32_t more)
{
	const uint32_t was = cc__load(&b->beats, CC__ACQUIRE);

	TEST_UNTIL(cc__load(&b->beats, CC__ACQUIRE) - was >= more);
}

static void beats_end(struct beat *b, CCTask t)
{
	cc__store(&b->stop, 1, CC__RELEASE);
	CHECK_EQ(join(t), 0);
}

static void goes_on_behind(cc_task_main *main)
{
	CCRuntime *rt = runtime_of(2, 4);
	struct beat b = {0};
	struct crowd c;
	CCTask t = spawn(rt, beats, &b);

	until_beats(&b, 2);
	crowd_begin(&c, rt, main, 5, 4);	/* the reserve does not start the fifth */
	until_beats(&b, 20);
	CHECK_EQ(begun(&c), 4);
	CHECK_EQ(workers(), 5);
	beats_end(&b, t);
	crowd_end(&c);
	CHECK_EQ(begun(&c), 5);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(fiber_that_only_waits_goes_on_behind_hogs)
/* covers: SCH-72/f SCH-69/u RES-44/f RES-16/f LIF-60/f */
{
	goes_on_behind(burn);
}

TEST(fiber_that_only_waits_goes_on_behind_blocked_calls)
/* covers: SCH-72/f RES-44/f LIF-55/f RES-76/f SCH-85/u */
{
	goes_on_behind(block);
}

/* Spawns when it is told, and lets go of its worker when it is told. */
struct spawner {
	struct crowd c;
	cc__a32 spawn, spawned, ran;
};

enum { BEHIND = 3 * CC_FIBER_QUEUE_INITIAL };

static int count_one(void *arg)
{
	cc__add((cc__a32 *)arg, 1, CC__RELEASE);
	return 0;
}

static int spawn_and_burn(void *arg)
{
	struct spawner *s = arg;

	cc__add(&s->c.begun, 1, CC__RELEASE);
	while (cc__load(&s->spawn, CC__ACQUIRE) == 0)
		cc__relax();
	for (int i = 0; i < BEHIND; i++)
		CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, count_one, &s->ran), 0);
	cc__store(&s->spawned, 1, CC__RELEASE);
	while (cc__load(&s->c.open, CC__ACQUIRE) == 0)
		cc__relax();
	return 0;
}

/* It has a worker. */
static CCTask spawner_begin(struct spawner *s, CCRuntime *rt)
{
	CCTask t;

	*s = (struct spawner){0};
	t = spawn(rt, spawn_and_burn, s);
	TEST_UNTIL(begun(&s->c) == 1);
	return t;
}

static void spawner_spawn(struct spawner *s)
{
	cc__store(&s->spawn, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(&s->spawned, CC__ACQUIRE) == 1);
}

/* It lets go, as does the crowd beside it, and so many have run in all. */
static void spawner_end(struct spawner *s, CCTask t, struct crowd *beside, uint32_t all)
{
	cc__store(&s->c.open, 1, CC__RELEASE);
	join(t);
	crowd_end(beside);
	TEST_UNTIL(cc__load(&s->ran, CC__ACQUIRE) == all);
	CHECK_EQ(cc_runtime_free(beside->rt), 0);
}

static int yield_on(void *arg)
{
	struct crowd *c = arg;

	cc__add(&c->begun, 1, CC__RELEASE);
	while (cc__load(&c->open, CC__ACQUIRE) == 0)
		cc_yield();
	return 0;
}

/* The other worker is never idle.  The monitor gives it some of them each time it looks: not
 * more than fill what the global queue is to have, a theft on top, and a few once more. */
TEST(tasks_behind_a_hog_are_given_away_by_and_by)
{
	enum { A_LOOK = 2 * CC__STEAL_MAX + 64 };
	CCRuntime *rt = runtime_of(2, 2);
	const struct cc__sysmon *m = &sched_of(rt)->sysmon;
	uint64_t ticks, moved;
	struct spawner s;
	struct crowd c;
	CCTask t = spawner_begin(&s, rt);

	crowd_begin(&c, rt, yield_on, 2, 2);
	ticks = counted(&m->ticks);
	moved = counted(&m->moved);
	spawner_spawn(&s);
	TEST_UNTIL(cc__load(&s.ran, CC__ACQUIRE) > 2 * CC__STEAL_MAX);
	moved = counted(&m->moved) - moved;
	CHECK(moved <= (counted(&m->ticks) - ticks + 1) * A_LOOK);
	spawner_end(&s, t, &c, BEHIND);
}

/* All that lies in the workers' own queues. */
static uint32_t queued(CCRuntime *rt)
{
	const struct cc__sched *s = sched_of(rt);
	uint32_t n = 0;

	for (unsigned i = 0; i < cc__load(&s->workers, CC__ACQUIRE); i++)
		n += cc__runq_length(&s->worker[i]->queue);
	return n;
}

/* The global queue is full for as long as somebody fills it, and is that of all: those behind
 * a hog go there, too. */
TEST(tasks_behind_a_hog_are_given_away_though_others_wait)	/* covers: RES-76/f */
{
	enum { OTHERS = 2 * CC__STEAL_MAX };
	CCRuntime *rt = runtime_of(2, 2);
	struct spawner s;
	struct crowd c;
	CCTask t = spawner_begin(&s, rt);

	crowd_begin(&c, rt, burn, 1, 1);
	for (int i = 0; i < OTHERS; i++)
		CHECK_EQ(cc_task_spawn(rt, NULL, NULL, count_one, &s.ran), 0);
	TEST_UNTIL(cc__global_length(&sched_of(rt)->global) >= CC__STEAL_MAX);
	spawner_spawn(&s);
	TEST_UNTIL(queued(rt) == 0);
	CHECK_EQ(cc__load(&s.ran, CC__ACQUIRE), 0);
	spawner_end(&s, t, &c, BEHIND + OTHERS);
}

TEST(timer_behind_a_hog_wakes_a_worker_that_sleeps)	/* covers: SCH-69/u */
{
	CCRuntime *rt = runtime_of(2, 2);
	struct beat b = {0};
	struct crowd c;
	CCTask t = spawn(rt, beats, &b);

	crowd_begin(&c, rt, burn, 1, 1);
	until_beats(&b, 20);
	CHECK_EQ(workers(), 2);
	beats_end(&b, t);
	crowd_end(&c);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

struct nap {
	cc__a32 over, returns;
};

static int nap(void *arg)
{
	struct nap *n = arg;

	while (cc__load(&n->over, CC__ACQUIRE) == 0) {
		cc__park_if(&n->over, 0);
		cc__add(&n->returns, 1, CC__RELEASE);
	}
	return 0;
}

/* The worker that runs the first of them. */
static struct cc__worker *worker_under(struct crowd *c)
{
	const struct cc__fiber *f = c->task[0].frame;

	return sched_of(c->rt)->worker[cc__word_owner(cc__load(&f->parker.word, CC__ACQUIRE)) - 1];
}

/* A timer in the wheel of a worker that hogs, of which the one that sleeps has not been told: it
 * is the monitor that releases who waits, and that has to wake a worker for him. */
TEST(monitor_wakes_a_worker_for_those_it_releases)	/* covers: SCH-71/u */
{
	CCConfig config = config_of(2, 2);
	struct nap n = {0};
	struct sleeper s;
	struct crowd c;
	struct cc__parker *who;
	struct cc__idle *idle;
	struct cc__timer t = {0};
	CCRuntime *rt;

	config.idle_wait = CC_FOREVER;	/* no look but by a wake */
	rt = runtime_with(&config);
	idle = sched_of(rt)->idle;
	sleeper_start(&s, rt, FIBER, nap, &n);
	who = until_parked(&s);
	crowd_begin(&c, rt, burn, 1, 1);
	TEST_UNTIL(cc__load(&idle->nap[2 - worker_under(&c)->id].asleep, CC__ACQUIRE) ==
	               CC__ASLEEP &&
	           cc__load(&idle->searching, CC__ACQUIRE) == 0);
	CHECK_EQ(cc__load(&n.returns, CC__ACQUIRE), 0);
	t.deadline = cc_now() + CC_MSEC;
	t.object = who;
	t.value = cc__word_ticket(cc__load(&who->word, CC__ACQUIRE));
	cc__timers_add(&worker_under(&c)->timers, &t, cc_now());
	TEST_UNTIL(cc__load(&n.returns, CC__ACQUIRE) == 1);
	cc__store(&n.over, 1, CC__SEQ_CST);
	cc__unpark(who);
	CHECK_EQ(sleeper_join(&s), 0);
	crowd_end(&c);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- how many ---- */

TEST(pool_grows_by_one_an_interval_up_to_its_limit)	/* covers: SCH-73/u SCH-72/f LIF-04/s */
{
	CCConfig config = config_of(2, 6);
	struct crowd c;
	cc_time begin;
	CCRuntime *rt;
	unsigned n;

	config.scale_interval = 50 * CC_MSEC;
	rt = runtime_with(&config);
	begin = cc_now();
	crowd_begin(&c, rt, burn, 12, 0);
	do {
		n = workers();
		/* The first needs an interval to be found stuck. */
		if (!CHECK(n <= 2 || (n - 2) * config.scale_interval <= cc_now() - begin))
			break;
	} while (n < 6);
	TEST_UNTIL(begun(&c) == 6);
	TEST_UNTIL(counted(&sched_of(rt)->pressure.block[CC__BLOCK_AT_LIMIT]) > 6);
	CHECK_EQ(workers(), 6);		/* all is unstarted: nothing for the reserve */
	CHECK_EQ(begun(&c), 6);
	CHECK_EQ(counted(&sched_of(rt)->pressure.promoted_workers), 4);
	crowd_end(&c);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Yields all the time; the longest time between two turns. */
static int turn_about(void *arg)
{
	struct gate *g = arg;
	cc_time last = cc_now(), most = 0;

	while (cc__load(&g->open, CC__ACQUIRE) == 0) {
		const cc_time now = cc_now();

		most = now - last > most ? now - last : most;
		last = now;
		cc_yield();
	}
	return (int)(most / CC_MSEC);
}

/* True: it did not grow in five intervals; or the machine held a worker up for so long
 * that it looked stuck, and the try means nothing: false. */
static bool does_not_grow(cc_time interval)
{
	CCConfig config = config_of(2, 4);
	struct gate g = {0};
	uint64_t promoted;
	CCRuntime *rt;
	CCTask t[20];
	int gap = 0;

	config.scale_interval = interval;
	rt = runtime_with(&config);
	for (int i = 0; i < 20; i++)
		t[i] = spawn(rt, turn_about, &g);
	cc_sleep_until(cc_now() + 5 * interval);
	promoted = counted(&sched_of(rt)->pressure.promoted_workers);
	cc__store(&g.open, 1, CC__RELEASE);
	for (int i = 0; i < 20; i++) {
		const int ms = join(t[i]);

		gap = ms > gap ? ms : gap;
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK(promoted == 0 || gap * CC_MSEC >= interval / 2);
	return promoted == 0;
}

TEST(pool_does_not_grow_while_nobody_is_stuck)	/* covers: LIF-60/f LIF-55/f SCH-72/f */
{
	cc_time interval = 100 * CC_MSEC;

	while (!does_not_grow(interval))
		interval *= 2;
}

static bool no_thread_at(CCRuntime *rt, unsigned place)
{
	struct cc__worker *w = sched_of(rt)->worker[place];

	return cc__load(&w->life, CC__RELAXED) == CC__LIFE_DEAD;
}

TEST(temporary_worker_retires_and_its_place_is_used_again)	/* covers: SCH-74/u */
{
	CCConfig config = config_of(1, 2);
	CCRuntime *rt;

	config.worker_idle = 20 * CC_MSEC;
	rt = runtime_with(&config);
	for (int round = 0; round < 3; round++) {
		struct crowd c;

		crowd_begin(&c, rt, burn, 2, 2);
		CHECK_EQ(workers(), 2);
		crowd_end(&c);
		TEST_UNTIL(workers() == 1);
		CHECK(no_thread_at(rt, 1));
		CHECK_EQ(cc__load(&sched_of(rt)->workers, CC__ACQUIRE), 2);
		CHECK_EQ(cc__load(&sched_of(rt)->live, CC__ACQUIRE), 1);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(stop_finds_temporary_workers)	/* covers: SCH-74/u */
{
	CCRuntime *rt = runtime_of(1, 3);
	struct crowd c;

	crowd_begin(&c, rt, burn, 3, 3);
	CHECK_EQ(workers(), 3);
	crowd_end(&c);
	CHECK_EQ(cc_runtime_free(rt), 0);
	/* Joined; the kernel may show one a little longer. */
	TEST_UNTIL(workers() + threads_named("cc-sysmon").count == 0);
}

/* A frame keeps the number of the worker that ran its last task. */
TEST(task_begins_in_a_smaller_runtime_than_its_frame_was_in)
{
	CCRuntime *rt = runtime_of(8, 8);
	struct crowd c;

	crowd_begin(&c, rt, burn, 8, 8);
	crowd_end(&c);
	CHECK_EQ(cc_runtime_free(rt), 0);
	rt = runtime_of(1, 1);
	crowd_begin(&c, rt, nothing, 64, 0);
	crowd_end(&c);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(many_runtimes_start_and_stop)
{
	for (int i = 0; i < 200; i++) {
		CCRuntime *rt = runtime_of(2, 4);

		join(spawn(rt, nothing, NULL));
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

/* ---- the reserve ---- */

static int spawn_and_beat(void *arg)
{
	struct beat *b = arg;
	CCTask t;

	while (cc__load(&b->stop, CC__ACQUIRE) == 0) {
		cc_sleep_until(cc_now() + 5 * CC_MSEC);
		cc__add(&b->beats, 1, CC__RELEASE);
	}
	t = spawn(b->rt, nothing, NULL);
	return join(t);
}

TEST(reserve_starts_no_task)	/* covers: RES-44/f LIF-60/f */
{
	CCRuntime *rt = runtime_of(1, 2);
	struct beat b = {.rt = rt};
	struct crowd hog, late;
	CCTask t = spawn(rt, spawn_and_beat, &b);

	until_beats(&b, 2);
	crowd_begin(&hog, rt, burn, 2, 2);
	crowd_begin(&late, rt, burn, 5, 0);
	until_beats(&b, 20);
	CHECK_EQ(begun(&late), 0);
	cc__store(&b.stop, 1, CC__RELEASE);	/* what it spawns has to wait, too */
	CHECK_EQ(cc_task_join(t, cc_now() + 100 * CC_MSEC, NULL), ETIMEDOUT);
	CHECK_EQ(begun(&late), 0);
	crowd_end(&hog);
	crowd_end(&late);
	CHECK_EQ(join(t), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* When the calling fiber was; 0: not yet. */
static uint32_t found_stuck(void)
{
	struct cc__fiber *f = cc__fiber_of(cc__self());

	return cc__load(&cc__load(&f->stack, CC__RELAXED)->own.stuck, CC__RELAXED);
}

/* Holds its worker, again and again. */
static int burn_and_yield(void *arg)
{
	struct crowd *c = arg;

	while (cc__load(&c->open, CC__ACQUIRE) == 0) {
		const cc_time end = cc_now() + 120 * CC_MSEC;	/* more than two intervals */
		uint32_t found;

		cc__add(&c->begun, 1, CC__RELEASE);
		while (cc_now() < end)
			cc__relax();
		found = found_stuck();
		cc_yield();
		CHECK(found == 0 || !cc__worker_here()->only_woken ||
		      cc__coarse(cc_now()) - found >= cc__coarse(CC__STUCK_FADES));
	}
	return 0;
}

TEST(reserve_runs_nobody_who_was_found_stuck)	/* covers: RES-44/f */
{
	CCRuntime *rt = runtime_of(1, 2);
	struct beat b = {0};
	struct crowd c;
	CCTask t = spawn(rt, beats, &b);

	until_beats(&b, 2);
	crowd_begin(&c, rt, burn_and_yield, 4, 0);
	TEST_UNTIL(begun(&c) >= 12);	/* all were found by now */
	until_beats(&b, 20);
	TEST_UNTIL(workers() == 3);	/* the reserve is there */
	beats_end(&b, t);
	crowd_end(&c);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- wakes that would go to a worker that is not there for them ---- */

static struct cc__waitq lane;

static int wait_in_lane(void *arg)
{
	struct beat *b = arg;

	while (cc__load(&b->stop, CC__ACQUIRE) == 0) {
		struct cc__waiter w = {0};

		cc__lock(&lane.lock, CC__RANK_WAITQ);
		CHECK_EQ(cc__wait(&lane, &w, CC_FOREVER), 0);
		cc__add(&b->beats, 1, CC__RELEASE);
	}
	return 0;
}

static void until_in_lane(void)
{
	TEST_UNTIL(on_list(&lane));
}

static void wake_lane(struct beat *b)
{
	const uint32_t was = cc__load(&b->beats, CC__ACQUIRE);

	until_in_lane();
	CHECK(cc__wake_one(&lane, CC__REASON_SIGNAL, 0));
	TEST_UNTIL(cc__load(&b->beats, CC__ACQUIRE) != was);
}

/* Not before it waits again: it would not come back. */
static void leave_lane(struct beat *b, CCTask t)
{
	until_in_lane();
	cc__store(&b->stop, 1, CC__RELEASE);
	wake_lane(b);
	CHECK_EQ(join(t), 0);
}

static void set_stuck(CCTask t, cc_time when)
{
	struct cc__fiber *f = t.frame;

	cc__store(&cc__load(&f->stack, CC__ACQUIRE)->own.stuck, cc__coarse(when) | 1, CC__RELAXED);
}

/* A fiber that was found stuck once, for the machine held it up, and does not matter
 * to the reserve; until that was long ago, wherever it is queued then. */
TEST(reserve_runs_again_who_was_stuck_long_ago)	/* covers: RES-44/f */
{
	CCRuntime *rt = runtime_of(1, 2);
	struct beat b = {0};
	struct crowd hog;
	CCTask t = spawn(rt, wait_in_lane, &b);

	until_in_lane();
	set_stuck(t, cc_now() + 3600 * CC_SEC);
	crowd_begin(&hog, rt, burn, 2, 2);
	CHECK(cc__wake_one(&lane, CC__REASON_SIGNAL, 0));
	/* By way of the inbox, perhaps. */
	TEST_UNTIL(cc__global_length(&sched_of(rt)->global) == 1);
	CHECK_EQ(cc__load(&b.beats, CC__ACQUIRE), 0);
	set_stuck(t, cc_now() - CC__STUCK_FADES);
	TEST_UNTIL(cc__load(&b.beats, CC__ACQUIRE) == 1);
	crowd_end(&hog);
	leave_lane(&b, t);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(wake_does_not_wait_for_a_worker_that_is_stuck)	/* covers: SCH-64/f */
{
	CCRuntime *rt = runtime_of(1, 2);
	struct beat b = {0};
	struct crowd c;
	CCTask t = spawn(rt, wait_in_lane, &b);

	wake_lane(&b);
	crowd_begin(&c, rt, burn, 1, 1);
	/* Relaxed: a hint, set again at each look. */
	TEST_UNTIL(cc__load(&sched_of(rt)->worker[0]->stuck, CC__RELAXED) != 0);
	for (int i = 0; i < 100; i++)
		wake_lane(&b);
	leave_lane(&b, t);
	crowd_end(&c);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* A runtime whose worker 2, temporary and not the reserve, has run b's fiber. */
static CCRuntime *runtime_with_a_guest(struct beat *b, CCTask *t, cc_time worker_idle)
{
	CCConfig config = config_of(1, 2);
	CCRuntime *rt;
	struct crowd c;

	config.worker_idle = worker_idle;
	config.idle_wait = CC_FOREVER;	/* worker 1 does not look by itself */
	rt = runtime_with(&config);
	crowd_begin(&c, rt, burn, 1, 1);
	*t = spawn(rt, wait_in_lane, b);
	until_in_lane();
	crowd_end(&c);
	return rt;
}

TEST(wake_for_a_worker_that_retires_is_not_lost)	/* covers: SCH-75/s LIF-53/s RES-15/f */
{
	struct beat b = {0};
	struct cc__worker *guest;
	struct point *p;
	CCRuntime *rt;
	CCTask t;

	NEED_POINTS();
	p = point_hold("worker.retires", NULL);
	rt = runtime_with_a_guest(&b, &t, 20 * CC_MSEC);
	guest = sched_of(rt)->worker[1];
	point_until_held(p);
	TEST_UNTIL(cc__load(&sched_of(rt)->idle->nap[0].asleep, CC__ACQUIRE) != CC__AWAKE &&
	           cc__load(&sched_of(rt)->idle->searching, CC__ACQUIRE) == 1);
	cc__store(&guest->stuck, 0, CC__RELAXED);	/* it may have been held up before */
	CHECK(cc__wake_one(&lane, CC__REASON_SIGNAL, 0));	/* into its inbox */
	CHECK(cc__inbox_any(&guest->inbox));
	CHECK_EQ(cc__load(&b.beats, CC__ACQUIRE), 0);
	point_release(p);
	TEST_UNTIL(cc__load(&b.beats, CC__ACQUIRE) == 1);
	TEST_UNTIL(workers() == 1);
	wake_lane(&b);
	leave_lane(&b, t);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(retirement_drops_nothing)	/* covers: SCH-75/s LIF-53/s RES-15/s */
{
	enum { ROUNDS = 40, WAKES = 200 };
	CCConfig config = config_of(1, 4);
	struct beat b[3] = {{0}};
	CCTask t[3];
	CCRuntime *rt;
	uint64_t promoted;

	config.worker_idle = CC_MSEC;
	config.scale_interval = CC_MSEC;
	rt = runtime_with(&config);
	for (int i = 0; i < 3; i++)
		t[i] = spawn(rt, wait_in_lane, &b[i]);
	for (int round = 0; round < ROUNDS && test_has_time(); round++) {
		struct crowd c;

		crowd_begin(&c, rt, burn, 3, 3);
		crowd_end(&c);
		for (int i = 0; i < WAKES; i++) {
			if (i % 16 == 0)
				usleep(300);
			until_in_lane();
			CHECK(cc__wake_one(&lane, CC__REASON_SIGNAL, 0));
		}
	}
	promoted = counted(&sched_of(rt)->pressure.promoted_workers);
	CHECK(promoted >= 2);
	for (int i = 0; i < 3; i++)
		cc__store(&b[i].stop, 1, CC__RELEASE);
	/* One that is on its way need not come back. */
	for (int i = 0; i < 3; i++)
		while (cc_task_join(t[i], cc_now() + CC_MSEC, NULL) == ETIMEDOUT)
			cc__wake_one(&lane, CC__REASON_SIGNAL, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(timer_of_a_worker_that_has_retired_expires)	/* covers: SCH-69/u SCH-85/u LIF-53/s */
{
	CCConfig config = config_of(1, 2);
	struct beat b = {0};
	struct crowd c;
	struct gate g = {0};
	CCTask t, busy;
	CCRuntime *rt;

	config.worker_idle = CC_MSEC;
	rt = runtime_with(&config);
	crowd_begin(&c, rt, burn, 1, 1);
	cc__store(&b.stop, 0, CC__RELEASE);
	t = spawn(rt, beats, &b);
	until_beats(&b, 2);
	crowd_end(&c);
	busy = spawn(rt, wait_at, &g);	/* worker 1 never searches */
	until_beats(&b, 20);
	beats_end(&b, t);
	cc__store(&g.open, 1, CC__RELEASE);
	join(busy);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- what it says ---- */

struct log {
	cc__a32 lines, stalls, added, stuck;
	char stall[200];	/* the last */
};

static void log_line(void *context, const char *line)
{
	struct log *l = context;

	if (strstr(line, ": stall: ") != NULL)
		snprintf(l->stall, sizeof l->stall, "%s", line);
	cc__add(&l->added, strstr(line, "sysmon: worker 2 added") != NULL, CC__RELAXED);
	cc__add(&l->stuck, strstr(line, "sysmon: worker 1 is stuck in fiber ") != NULL, CC__RELAXED);
	cc__add(&l->stalls, strstr(line, ": stall: ") != NULL, CC__RELEASE);
	cc__add(&l->lines, 1, CC__RELEASE);
}

/* With one worker, and nothing in the log yet. */
static CCConfig config_with_log(unsigned most, struct log *l)
{
	CCConfig c = config_of(1, most);

	*l = (struct log){.stall = ""};
	c.log = log_line;
	c.log_context = l;
	return c;
}

static CCTask spawn_named(CCRuntime *rt, const char *name, cc_task_main *main, void *arg)
{
	const CCTaskOptions o = {.name = name};
	CCTask t = {0};

	CHECK_EQ(cc_task_spawn(rt, &t, &o, main, arg), 0);
	return t;
}

static uint32_t stalls(struct log *l)
{
	return cc__load(&l->stalls, CC__ACQUIRE);
}

TEST(stall_is_reported_once)	/* covers: SCH-76/u */
{
	struct log l;
	CCConfig config = config_with_log(2, &l);
	CCRuntime *rt;

	config.stall = 50 * CC_MSEC;
	rt = runtime_with(&config);
	for (uint32_t round = 1; round <= 2; round++) {
		struct gate g = {0};
		CCTask t = spawn_named(rt, "glutton", hold_worker_at, &g);
		char id[40];

		TEST_UNTIL(stalls(&l) == round);
		usleep(150 * 1000);
		CHECK_EQ(stalls(&l), round);
		snprintf(id, sizeof id, "fiber %llu 'glutton' (spawned at ", (unsigned long long)t.id);
		CHECK(strstr(l.stall, id) != NULL);
		CHECK(strstr(l.stall, "worker 1 ") != NULL);
		cc__store(&g.open, 1, CC__RELEASE);
		join(t);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&l.lines, CC__ACQUIRE), 2);
}

TEST(stall_reports_can_be_switched_off)	/* covers: SCH-76/u */
{
	struct log l;
	CCConfig config = config_with_log(2, &l);
	struct gate g = {0};
	CCRuntime *rt;
	CCTask t;

	config.stall = CC_FOREVER;
	rt = runtime_with(&config);
	t = spawn(rt, hold_worker_at, &g);
	usleep(100 * 1000);
	cc__store(&g.open, 1, CC__RELEASE);
	join(t);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&l.lines, CC__ACQUIRE), 0);
}

TEST(decisions_are_logged_on_request)	/* covers: SCH-82/u */
{
	struct log l;
	CCConfig config = config_with_log(3, &l);
	struct crowd c;
	CCRuntime *rt;

	config.debug = CC_DEBUG_FLAG_SYSMON;
	rt = runtime_with(&config);
	crowd_begin(&c, rt, burn, 2, 2);
	crowd_end(&c);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&l.added, CC__ACQUIRE), 1);
	CHECK(cc__load(&l.stuck, CC__ACQUIRE) >= 1);
}

/* ---- at rest ---- */

TEST(idle_runtime_has_no_ticks)	/* covers: RES-45/b */
{
	CCRuntime *rt = runtime_of(2, 4);
	struct cc__sysmon *m = &sched_of(rt)->sysmon;

	for (int round = 0; round < 2; round++) {
		struct threads before, after;
		uint64_t ticks;

		join(spawn(rt, nothing, NULL));
		TEST_UNTIL(cc__load(&m->word, CC__ACQUIRE) == CC__SYSMON_ASLEEP);
		TEST_UNTIL((before = threads_named("cc-sysmon")).asleep == 1);
		ticks = counted(&m->ticks);
		usleep(200 * 1000);
		after = threads_named("cc-sysmon");
		CHECK_EQ(after.count, 1);
		/* In state S it may still have to switch away, and be held up before it does;
		 * with ticks there would be a switch each. */
		CHECK(after.switches <= before.switches + 2);
		CHECK_EQ(counted(&m->ticks), ticks);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static void *spawn_burn(void *arg)
{
	struct crowd *c = arg;

	c->task[0] = spawn(c->rt, burn, c);
	return NULL;
}

/* Whoever wakes the worker is held up before it has counted that: the worker runs, and the
 * count says that it sleeps. */
TEST(monitor_ticks_while_a_worker_is_counted_as_asleep)	/* covers: RES-45/u */
{
	CCConfig config = config_of(1, 3);
	struct crowd c = {.count = 2};
	struct cc__sysmon *m;
	struct cc__idle *idle;
	struct point *p;
	pthread_t waker;
	uint64_t ticks;

	NEED_POINTS();
	config.scale_interval = CC_MSEC;
	c.rt = runtime_with(&config);
	m = &sched_of(c.rt)->sysmon;
	idle = sched_of(c.rt)->idle;
	TEST_UNTIL(cc__load(&idle->nap[0].asleep, CC__ACQUIRE) == CC__ASLEEP &&
	           cc__load(&idle->searching, CC__ACQUIRE) == 0);
	p = point_hold("idle.before_count", &idle->nap[0]);
	CHECK_EQ(pthread_create(&waker, NULL, spawn_burn, &c), 0);
	point_until_held(p);
	TEST_UNTIL((cc__futex_wake(&idle->nap[0].asleep, 1), begun(&c) == 1));
	CHECK_EQ(cc__load(&idle->sleepers, CC__ACQUIRE), 1);
	ticks = counted(&m->ticks);
	TEST_UNTIL(counted(&m->ticks) - ticks > 100);	/* it would have gone to sleep by now */
	point_release(p);
	pthread_join(waker, NULL);
	c.task[1] = spawn(c.rt, burn, &c);
	TEST_UNTIL(begun(&c) == 2);
	crowd_end(&c);
	CHECK_EQ(cc_runtime_free(c.rt), 0);
}

TEST(pressure_is_zero_at_rest)	/* covers: LIF-56/u */
{
	CCRuntime *rt = runtime_of(2, 4);
	struct gate g = {0};
	struct crowd c;
	CCTask t[20];

	for (int i = 0; i < 20; i++)
		t[i] = spawn(rt, wait_at, &g);
	crowd_begin(&c, rt, burn, 5, 4);
	CHECK(cc__sched_pressure(sched_of(rt)) > 0);
	cc__store(&g.open, 1, CC__RELEASE);
	crowd_end(&c);
	for (int i = 0; i < 20; i++)
		join(t[i]);
	/* Who has queued a fiber counts it afterwards, when it may have run. */
	TEST_UNTIL(cc__sched_pressure(sched_of(rt)) == 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(without_a_monitor_nothing_is_lost)	/* covers: SCH-70/s SCH-69/u */
{
	CCConfig config = config_of(2, 4);
	struct beat b = {0};
	struct crowd c;
	CCRuntime *rt;
	CCTask t;

	config.sysmon = 0;
	rt = runtime_with(&config);
	CHECK_EQ(threads_named("cc-sysmon").count, 0);
	t = spawn(rt, beats, &b);
	until_beats(&b, 2);
	crowd_begin(&c, rt, burn, 4, 2);
	usleep(100 * 1000);
	CHECK_EQ(workers(), 2);
	CHECK_EQ(begun(&c), 2);
	crowd_end(&c);
	until_beats(&b, 2);
	beats_end(&b, t);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
