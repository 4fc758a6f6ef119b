/* task_test.c - spawn, join, detach, yield, sleep: what task.h promises.
 * link-lto */
#include "environment.h"
#include "tasks.h"
#include "test.h"

#include <ccc/ccc.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sched/worker.h"

/* ---- helpers ---- */

static CCRuntime *changed_runtime(void (*change)(CCConfig *c))
{
	CCConfig c = config();

	if (change != NULL)
		change(&c);
	return runtime_with(&c);
}

static void one_worker(CCConfig *c)
{
	only_workers(c, 1);
}

static void gate_open(struct gate *g)
{
	cc__store(&g->open, 1, CC__RELEASE);
}

static CCTask hold_worker(CCRuntime *rt, struct gate *g)
{
	CCTask t = spawn(rt, hold_worker_at, g);

	TEST_UNTIL(cc__load(&g->arrived, CC__ACQUIRE) != 0);
	return t;
}

struct look {
	uint64_t id;
	CCFiberInfo info;
	bool found;
	unsigned tasks;
};

static int look_for(const CCFiberInfo *info, void *arg)
{
	struct look *l = arg;

	l->tasks++;
	if (info->id == l->id) {
		l->info = *info;
		l->found = true;
	}
	return 0;
}

static struct look look_at(CCTask t)
{
	struct look l = {.id = t.id};

	cc_fiber_each(look_for, &l);
	return l;
}

/* How many wait in cc_task_join for t, a task that cannot end meanwhile. */
static unsigned joiners_of(CCTask t)
{
	struct cc__fiber *f = t.frame;
	const struct cc__waiter *w;
	unsigned n = 0;

	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	if ((w = f->done.head) != NULL)
		do
			n++;
		while ((w = w->next) != f->done.head);
	cc__unlock(&f->done.lock);
	return n;
}

static int give(void *arg)
{
	return *(int *)arg;
}

static int count(void *arg)
{
	cc__add((cc__a32 *)arg, 1, CC__RELAXED);
	return 0;
}

/* ---- spawn and join ---- */

TEST(task_of_a_thread_gives_its_result)
{
	static const int values[] = {0, 1, -1, 17, INT_MAX, INT_MIN};
	CCRuntime *rt = changed_runtime(NULL);

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		int value = values[i];

		CHECK_EQ(join(spawn(rt, give, &value)), values[i]);
	}
	CHECK_EQ(cc_task_join(spawn(rt, nothing, NULL), CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

enum { CHILDREN = 300 };

static int sum_of_children(void *arg)
{
	int value[CHILDREN], sum = 0;
	CCTask child[CHILDREN];

	(void)arg;
	for (int i = 0; i < CHILDREN; i++) {
		value[i] = i;
		child[i] = spawn(NULL, give, &value[i]);
	}
	for (int i = 0; i < CHILDREN; i++)
		sum += join(child[i]);
	return sum;
}

TEST(task_of_a_fiber_gives_its_result)
{
	CCRuntime *rt = changed_runtime(NULL);

	CHECK_EQ(join(spawn(rt, sum_of_children, NULL)), CHILDREN * (CHILDREN - 1) / 2);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

struct visit {
	CCRuntime *home, *away;
	cc__a32 done;
};

static int whose_am_i(void *arg)
{
	struct visit *v = arg;

	cc__add(&v->done, 1, CC__RELAXED);
	return cc_runtime_current() == v->away ? 1 : 0;
}

static int spawn_away(void *arg)
{
	struct visit *v = arg;
	int right = 0;

	CHECK(cc_runtime_current() == v->home);
	for (int i = 0; i < 100; i++) {
		right += join(spawn(v->away, whose_am_i, v));
		CHECK(cc_runtime_current() == v->home);
	}
	return right;
}

TEST(task_runs_in_the_runtime_it_was_spawned_to)	/* covers: RES-41/u */
{
	struct visit v = {.home = changed_runtime(NULL), .away = changed_runtime(NULL)};

	CHECK_EQ(join(spawn(v.home, spawn_away, &v)), 100);
	CHECK_EQ(cc__load(&v.done, CC__RELAXED), 100);
	CHECK_EQ(cc_runtime_free(v.home), 0);
	CHECK_EQ(cc_runtime_free(v.away), 0);
}

TEST(task_without_handle_runs_and_is_recycled)
{
	CCRuntime *rt = changed_runtime(NULL);
	cc__a32 ran = {0};

	for (int i = 0; i < 1000; i++)
		CHECK_EQ(cc_task_spawn(rt, NULL, NULL, count, &ran), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 1000);
	CHECK_EQ(look_at((CCTask){0}).tasks, 0);
}

/* ---- many joiners ---- */

struct joiner {
	CCTask task;
	int err, result;
};

static int join_it(void *arg)
{
	struct joiner *j = arg;

	j->err = cc_task_join(j->task, CC_FOREVER, &j->result);
	return 0;
}

static void *join_it_in_thread(void *arg)
{
	join_it(arg);
	return NULL;
}

enum { MOST = 60 };

static void join_by_many(CCRuntime *rt, unsigned fibers, unsigned threads)
{
	struct gate g = {0};
	CCTask t = spawn(rt, wait_at, &g), who[MOST];
	struct joiner j[2 * MOST];
	pthread_t os[MOST];

	/* Started, or its first joiner might run it in its own place. */
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) != 0);
	for (unsigned i = 0; i < fibers + threads; i++)
		j[i] = (struct joiner){.task = t, .err = -1, .result = -1};
	for (unsigned i = 0; i < fibers; i++)
		who[i] = spawn(rt, join_it, &j[i]);
	for (unsigned i = 0; i < threads; i++)
		REQUIRE_EQ(pthread_create(&os[i], NULL, join_it_in_thread, &j[fibers + i]), 0);
	TEST_UNTIL(joiners_of(t) == fibers + threads);
	gate_open(&g);
	for (unsigned i = 0; i < fibers; i++)
		join(who[i]);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(os[i], NULL);
	for (unsigned i = 0; i < fibers + threads; i++) {
		CHECK_EQ(j[i].err, 0);
		CHECK_EQ(j[i].result, 17);
	}
	CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), EINVAL);
}

TEST(join_gives_the_result_to_everybody_who_waits)
{
	/* Around the sizes at which the batch of wakes (16) is full. */
	static const unsigned fibers[] = {1, 15, 16, 17, 31, 32, 33, MOST};
	CCRuntime *rt = changed_runtime(NULL);

	for (size_t i = 0; i < sizeof fibers / sizeof *fibers; i++)
		join_by_many(rt, fibers[i], 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(join_gives_the_result_to_fibers_and_threads)
{
	CCRuntime *rt = changed_runtime(NULL);

	join_by_many(rt, 0, 1);
	join_by_many(rt, 0, 20);
	join_by_many(rt, 20, 20);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- deadlines ---- */

struct patience {
	CCTask task;
	cc_time deadline;
	int err, result;
	cc_time returned;
};

static int join_with_patience(void *arg)
{
	struct patience *p = arg;

	p->result = -1;
	p->err = cc_task_join(p->task, p->deadline, &p->result);
	p->returned = cc_now();
	return 0;
}

static void in_fiber(struct patience *p)
{
	join(spawn(NULL, join_with_patience, p));
}

static void in_thread(struct patience *p)
{
	join_with_patience(p);
}

static void join_impatiently(void (*run)(struct patience *p))
{
	struct gate g = {0};
	struct patience p = {.task = spawn(NULL, wait_at, &g), .deadline = CC_NOW};

	run(&p);
	CHECK_EQ(p.err, EAGAIN);
	CHECK_EQ(p.result, -1);
	p.deadline = cc_now() + 2 * CC_MSEC;
	run(&p);
	CHECK_EQ(p.err, ETIMEDOUT);
	CHECK_EQ(p.result, -1);
	CHECK(p.returned >= p.deadline);
	p.deadline = 1;	/* long ago */
	run(&p);
	CHECK_EQ(p.err, ETIMEDOUT);
	CHECK_EQ(joiners_of(p.task), 0);
	gate_open(&g);
	p.deadline = cc_now() + 3600 * CC_SEC;
	run(&p);
	CHECK_EQ(p.err, 0);
	CHECK_EQ(p.result, 17);
	run(&p);
	CHECK_EQ(p.err, EINVAL);
}

TEST(join_with_a_deadline_leaves_the_handle_good)
{
	join_impatiently(in_thread);
	join_impatiently(in_fiber);
	CHECK_EQ(cc_shutdown(), 0);
}

TEST(join_now_takes_what_has_ended)
{
	CCTask t = spawn(NULL, nothing, NULL);
	int result = -1, err;

	TEST_UNTIL(look_at(t).info.state == CC_FIBER_DONE);
	/* DONE comes a moment before the result. */
	TEST_UNTIL((err = cc_task_join(t, CC_NOW, &result)) != EAGAIN);
	CHECK_EQ(err, 0);
	CHECK_EQ(result, 0);
	CHECK_EQ(cc_shutdown(), 0);
}

/* A timer of a wait that ended early must not end the wait after it. */
static int two_waits(void *arg)
{
	struct patience *p = arg;

	p->deadline = cc_now() + 20 * CC_MSEC;
	join_with_patience(p);
	CHECK_EQ(p->err, 0);
	p++;
	p->deadline = CC_FOREVER;
	join_with_patience(p);
	return p->err;
}

static int sleep_past(void *arg)
{
	cc_sleep_until(*(cc_time *)arg);
	return 0;
}

TEST(join_that_ended_early_takes_its_timer_along)
{
	cc_time later = cc_now() + 40 * CC_MSEC;
	struct patience p[2] = {{.task = spawn(NULL, nothing, NULL)},
	                        {.task = spawn(NULL, sleep_past, &later)}};

	CHECK_EQ(join(spawn(NULL, two_waits, p)), 0);
	CHECK(p[1].returned >= later);
	CHECK_EQ(cc_shutdown(), 0);
}

/* ---- handles that name nothing ---- */

static void means_nothing(CCTask t)
{
	int result = -1;

	CHECK_EQ(cc_task_join(t, CC_NOW, &result), EINVAL);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, &result), EINVAL);
	CHECK_EQ(cc_task_detach(t), EINVAL);
	CHECK_EQ(result, -1);
}

TEST(handle_that_is_consumed_names_nothing)
{
	CCTask t = spawn(NULL, nothing, NULL);

	means_nothing((CCTask){0});
	means_nothing((CCTask){.frame = t.frame});
	means_nothing((CCTask){.frame = t.frame, .id = t.id + 1});
	means_nothing((CCTask){.id = t.id});
	CHECK_EQ(join(t), 0);
	means_nothing(t);
	CHECK_EQ(cc_shutdown(), 0);
}

TEST(handle_given_up_names_nothing)
{
	struct gate g = {0};
	CCTask running = spawn(NULL, wait_at, &g), ended = spawn(NULL, nothing, NULL);

	TEST_UNTIL(look_at(ended).info.state == CC_FIBER_DONE);
	CHECK_EQ(cc_task_detach(ended), 0);
	means_nothing(ended);
	TEST_UNTIL(!look_at(ended).found);	/* DONE, but its worker may not be done with it */
	TEST_UNTIL(cc__load(&g.arrived, CC__RELAXED) == 1);
	CHECK_EQ(cc_task_detach(running), 0);
	means_nothing(running);
	CHECK(look_at(running).found);
	gate_open(&g);
	CHECK_EQ(cc_shutdown(), 0);
	CHECK(!look_at(running).found);
	means_nothing(running);
}

/* In a fiber, where the frame that was freed last is the next one used; with one worker,
 * since another would keep what it has freed. */
static int reuse_a_frame(void *arg)
{
	struct gate g = {0};
	CCTask old = spawn(NULL, nothing, NULL), young;

	(void)arg;
	join(old);
	young = spawn(NULL, wait_at, &g);
	CHECK(young.frame == old.frame);
	CHECK(young.id != old.id);
	means_nothing(old);
	cc_yield();
	means_nothing(old);
	CHECK(look_at(young).found);
	gate_open(&g);
	CHECK_EQ(join(young), 17);
	means_nothing(old);
	means_nothing(young);
	return 0;
}

TEST(handle_of_a_reused_frame_names_nothing)
{
	CCRuntime *rt = changed_runtime(one_worker);

	CHECK_EQ(join(spawn(rt, reuse_a_frame, NULL)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

struct self {
	struct gate g;
	CCTask task;
};

static int join_myself(void *arg)
{
	struct self *s = arg;
	int err;

	wait_at(&s->g);
	CHECK_EQ(cc_task_join(s->task, CC_NOW, NULL), EDEADLK);
	CHECK_EQ(cc_task_join(s->task, cc_now() + CC_SEC, NULL), EDEADLK);
	err = cc_task_join(s->task, CC_FOREVER, NULL);
	cc_yield();	/* and it still can */
	return err;
}

TEST(join_of_oneself_is_refused)
{
	struct self s = {0};

	s.task = spawn(NULL, join_myself, &s);
	gate_open(&s.g);
	CHECK_EQ(join(s.task), EDEADLK);
	CHECK_EQ(cc_shutdown(), 0);
}

/* ---- errors ---- */

static uint64_t spawned(CCRuntime *rt)
{
	struct cc__sched *s = (struct cc__sched *)(void *)rt;

	return cc__load(&s->spawned_outside, CC__SEQ_CST);
}

TEST(spawn_that_fails_spawns_nothing)
{
	static const CCTaskOptions bad = {.name = "sixteen-letters-"};
	static const CCTaskOptions good = {.name = "fifteen-letters"};
	CCRuntime *rt = changed_runtime(NULL);
	CCTask t = {.id = 99};
	cc__a32 ran = {0};

	CHECK_EQ(cc_task_spawn(rt, &t, NULL, NULL, NULL), EINVAL);
	CHECK_EQ(cc_task_spawn(rt, &t, &bad, count, &ran), EINVAL);
	CHECK_EQ(cc_task_spawn(rt, NULL, &bad, count, &ran), EINVAL);
	CHECK_EQ(spawned(rt), 0);
	CHECK_EQ(look_at(t).tasks, 0);
	CHECK(t.id == 99 && t.frame == NULL);
	CHECK_EQ(cc_task_spawn(rt, &t, &good, count, &ran), 0);
	CHECK_EQ(spawned(rt), 1);
	CHECK_EQ(join(t), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 1);
}

/* ---- yield ---- */

enum { RING = 8, ROUNDS = 400 };

struct ring {
	struct gate g;
	unsigned turns;	/* the worker's */
	int log[RING * ROUNDS];
};

struct seat {
	struct ring *ring;
	int number;
};

static int take_turns(void *arg)
{
	struct seat *s = arg;

	for (int i = 0; i < ROUNDS; i++) {
		s->ring->log[s->ring->turns++] = s->number;
		cc_yield();
	}
	return 0;
}

/* While all n are there, it is always the same one's turn again after n. */
static void check_rounds(const struct ring *r, int n)
{
	int turns_of[RING] = {0}, begun = 0, compared = 0;

	for (int i = 0, since = 0; i < (int)r->turns; i++) {
		begun += turns_of[r->log[i]]++ == 0;
		if (turns_of[r->log[i]] == ROUNDS)
			break;
		since += begun == n;
		if (since <= n)
			continue;
		REQUIRE_EQ(r->log[i], r->log[i - n]);
		compared++;
	}
	CHECK(compared > n);
}

TEST(yield_goes_round_in_one_order)
{
	static struct ring r;
	static const int sizes[] = {1, 2, 3, RING};
	CCRuntime *rt = changed_runtime(one_worker);

	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		const int n = sizes[k];
		struct seat seat[RING];
		CCTask t[RING], held;

		memset(&r, 0, sizeof r);
		held = hold_worker(rt, &r.g);
		for (int i = 0; i < n; i++) {
			seat[i] = (struct seat){&r, i};
			t[i] = spawn(rt, take_turns, &seat[i]);
		}
		gate_open(&r.g);
		join(held);
		for (int i = 0; i < n; i++)
			CHECK_EQ(join(t[i]), 0);
		REQUIRE_EQ(r.turns, n * ROUNDS);
		check_rounds(&r, n);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(yield_of_busy_fibers_lets_spawns_and_timers_in)
{
	struct gate g = {0};
	CCTask busy[2] = {spawn(NULL, wait_at, &g), spawn(NULL, wait_at, &g)};
	cc_time soon;

	TEST_UNTIL(cc__load(&g.arrived, CC__RELAXED) == 2);
	CHECK_EQ(join(spawn(NULL, nothing, NULL)), 0);
	soon = cc_now() + CC_MSEC;
	CHECK_EQ(join(spawn(NULL, sleep_past, &soon)), 0);
	gate_open(&g);
	join(busy[0]);
	join(busy[1]);
	CHECK_EQ(cc_shutdown(), 0);
}

TEST(yield_alone_returns)
{
	struct gate g = {.open = {1}};

	cc_yield();	/* a plain thread */
	CHECK_EQ(cc_fiber_id(), 0);
	CHECK_EQ(join(spawn(NULL, wait_at, &g)), 17);
	CHECK_EQ(cc_shutdown(), 0);
}

/* ---- sleep ---- */

enum { SLEEPERS = 40 };

struct dormitory {
	unsigned present;	/* the worker's, as all of this */
	unsigned in_bed;	/* or about to be */
	cc_time base;		/* when the first is due */
	bool late;		/* not all slept by then */
	int order[SLEEPERS];
	int woken;
};

struct sleeper {
	struct dormitory *d;
	int delay;	/* in steps after base */
};

static int sleep_in_order(void *arg)
{
	struct sleeper *s = arg;
	struct dormitory *d = s->d;
	cc_time due;

	d->present++;
	while (d->present < SLEEPERS)
		cc_yield();
	if (d->base == 0)
		d->base = cc_now() + 2 * CC_MSEC * test_slowness();
	due = d->base + s->delay * 50 * CC_USEC;
	d->in_bed++;
	CHECK_EQ(cc_sleep_until(due), 0);
	CHECK(cc_now() >= due);
	d->order[d->woken++] = s->delay;
	return 0;
}

/* There is one worker: when this one runs, whoever went to bed has parked, or is up. */
static int see_all_asleep(void *arg)
{
	struct dormitory *d = arg;

	while (d->in_bed < SLEEPERS)
		cc_yield();
	d->late = cc_now() >= d->base;
	return 0;
}

/* False: the machine was too slow for this try to mean anything. */
static bool sleep_shuffled(CCRuntime *rt, uint64_t *seed)
{
	struct dormitory d = {0};
	struct sleeper s[SLEEPERS];
	CCTask t[SLEEPERS], watchman;

	for (int i = 0; i < SLEEPERS; i++)
		s[i] = (struct sleeper){&d, i};
	for (unsigned i = SLEEPERS - 1; i > 0; i--) {
		const unsigned k = (unsigned)(test_random(seed) % (i + 1));
		const int delay = s[i].delay;

		s[i].delay = s[k].delay;
		s[k].delay = delay;
	}
	for (int i = 0; i < SLEEPERS; i++)
		t[i] = spawn(rt, sleep_in_order, &s[i]);
	watchman = spawn(rt, see_all_asleep, &d);
	for (int i = 0; i < SLEEPERS; i++)
		join(t[i]);
	join(watchman);
	CHECK_EQ(d.woken, SLEEPERS);
	if (d.late)
		return false;
	for (int i = 0; i < SLEEPERS; i++)
		CHECK_EQ(d.order[i], i);
	return true;
}

TEST(sleepers_wake_in_the_order_of_their_deadlines)
{
	CCRuntime *rt = changed_runtime(one_worker);
	uint64_t seed = test_seed();
	int good = 0;

	while (good < 5)
		good += sleep_shuffled(rt, &seed);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(sleep_of_a_thread_lasts_until_its_deadline)
{
	cc_time due = cc_now() + 3 * CC_MSEC;

	CHECK_EQ(cc_sleep_until(due), 0);
	CHECK(cc_now() >= due);
	CHECK_EQ(cc_sleep_until(due), 0);
	CHECK_EQ(cc_sleep_until(CC_NOW), 0);
	CHECK_EQ(cc_sleep_until(-1), 0);
}

struct passed {
	cc__a32 others;
};

static int sleep_until_passed(void *arg)
{
	struct passed *p = arg;
	CCTask t = spawn(NULL, count, &p->others);

	CHECK_EQ(cc_sleep_until(CC_NOW), 0);
	CHECK_EQ(cc_sleep_until(cc_now()), 0);
	CHECK_EQ(cc__load(&p->others, CC__RELAXED), 0);	/* it did not let go */
	join(t);
	return (int)cc__load(&p->others, CC__RELAXED);
}

TEST(sleep_until_the_past_returns_at_once)
{
	CCRuntime *rt = changed_runtime(one_worker);
	struct passed p = {{0}};

	CHECK_EQ(join(spawn(rt, sleep_until_passed, &p)), 1);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int sleep_together(void *arg)
{
	cc_time due = *(cc_time *)arg;

	cc_sleep_until(due);
	return cc_now() >= due;
}

TEST(sleepers_with_one_deadline_all_wake)
{
	cc_time due = cc_now() + 5 * CC_MSEC;
	CCTask t[SLEEPERS];

	for (int i = 0; i < SLEEPERS; i++)
		t[i] = spawn(NULL, sleep_together, &due);
	for (int i = 0; i < SLEEPERS; i++)
		CHECK_EQ(join(t[i]), 1);
	CHECK_EQ(cc_shutdown(), 0);
}

/* ---- stacks ---- */

static size_t stacks_made(CCRuntime *rt)
{
	struct cc__sched *s = (struct cc__sched *)(void *)rt;
	size_t n;

	cc__lock(&s->stacks.lock, CC__RANK_POOL);
	n = s->stacks.made;
	cc__unlock(&s->stacks.lock);
	return n;
}

struct place {
	struct gate g;
	const char *local;
};

static int where_am_i(void *arg)
{
	struct place *p = arg;

	p->local = __builtin_frame_address(0);
	return wait_at(&p->g);
}

TEST(task_that_is_queued_owns_no_stack)
{
	CCRuntime *rt = changed_runtime(one_worker);
	struct gate g = {0};
	struct place p = {.g = {.arrived = {0}}};
	CCTask held = hold_worker(rt, &g), t = spawn(rt, where_am_i, &p);
	struct look l = look_at(t);
	size_t before = stacks_made(rt);

	CHECK(l.found);
	CHECK_EQ(l.info.state, CC_FIBER_QUEUED);
	CHECK(l.info.stack == NULL);
	CHECK_EQ(l.info.stack_size, 0);
	for (int i = 0; i < 10000; i++)
		CHECK_EQ(cc_task_spawn(rt, NULL, NULL, nothing, NULL), 0);
	CHECK_EQ(stacks_made(rt), before);
	gate_open(&g);
	TEST_UNTIL(cc__load(&p.g.arrived, CC__ACQUIRE) == 1);
	l = look_at(t);
	CHECK(l.found);
	CHECK(p.local > (const char *)l.info.stack);
	CHECK(p.local < (const char *)l.info.stack + l.info.stack_size);
	gate_open(&p.g);
	join(held);
	CHECK_EQ(join(t), 17);
	free_until_done(rt);
}

static uintptr_t only_stack;	/* the worker's: some address in it */
static int elsewhere;

static int note_stack(void *arg)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	(void)arg;
	if (only_stack == 0)
		only_stack = here;
	elsewhere += here > only_stack + 16384 || only_stack > here + 16384;
	return 0;
}

TEST(tasks_that_never_wait_share_one_stack)	/* covers: SCH-01/u */
{
	CCRuntime *rt = changed_runtime(one_worker);
	struct gate g = {0};
	CCTask held = hold_worker(rt, &g);

	only_stack = 0;
	elsewhere = 0;
	for (int i = 0; i < 10000; i++)
		CHECK_EQ(cc_task_spawn(rt, NULL, NULL, note_stack, NULL), 0);
	gate_open(&g);
	join(held);
	TEST_UNTIL(look_at(held).tasks == 0);
	CHECK_EQ(elsewhere, 0);
	CHECK(stacks_made(rt) <= 2);	/* one, and the worker's reserve */
	CHECK_EQ(cc_runtime_free(rt), 0);
}

enum { ABREAST = 64, CACHE = 8 };

static void small_cache(CCConfig *c)
{
	one_worker(c);
	c->stack_cache = CACHE;
}

/* Holds a stack while all the others of its round hold one. */
static int short_thunk(void *arg)
{
	uint64_t *ran = arg;

	++*ran;
	while (*ran % ABREAST != 0)
		cc_yield();
	return 1;
}

static int rounds_of_thunks(void *arg)
{
	uint64_t *ran = arg;
	const uint64_t all = test_rounds(200000);
	CCTask t[ABREAST];

	while (*ran < all) {
		for (int i = 0; i < ABREAST; i++)
			t[i] = spawn(NULL, short_thunk, ran);
		for (int i = 0; i < ABREAST; i++)
			if (join(t[i]) != 1)
				return EIO;
	}
	return *ran == (all + ABREAST - 1) / ABREAST * ABREAST ? 0 : ERANGE;
}

TEST(many_tasks_need_as_many_stacks_as_run_at_once)	/* covers: SCH-01/u */
{
	CCRuntime *rt = changed_runtime(small_cache);
	uint64_t ran = 0;

	CHECK_EQ(join(spawn(rt, rounds_of_thunks, &ran)), 0);
	CHECK(stacks_made(rt) >= ABREAST);
	CHECK(stacks_made(rt) <= ABREAST + CACHE);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- ids ---- */

static int ascending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

enum { IDS = 5000, SOURCES = 4 };

struct source {
	CCRuntime *rt;
	uint64_t id[IDS];
	unsigned wrong;
};

static int give_id(void *arg)
{
	*(uint64_t *)arg = cc_fiber_id();
	return 0;
}

static int collect_ids(void *arg)
{
	struct source *s = arg;

	for (int i = 0; i < IDS; i++) {
		CCTask t = spawn(s->rt, give_id, &s->id[i]);

		join(t);
		s->wrong += s->id[i] != t.id || t.id == 0;
	}
	return 0;
}

static void *collect_ids_in_thread(void *arg)
{
	collect_ids(arg);
	return NULL;
}

TEST(ids_are_never_used_twice)
{
	static struct source s[SOURCES];
	static uint64_t all[SOURCES * IDS];
	CCRuntime *a = changed_runtime(NULL), *b = changed_runtime(NULL);
	pthread_t thread;
	CCTask t;

	for (int i = 0; i < SOURCES; i++)
		s[i].rt = i < 2 ? a : b;
	t = spawn(a, collect_ids, &s[0]);
	REQUIRE_EQ(pthread_create(&thread, NULL, collect_ids_in_thread, &s[1]), 0);
	collect_ids(&s[2]);
	join(t);
	pthread_join(thread, NULL);
	t = spawn(b, collect_ids, &s[3]);
	join(t);
	for (int i = 0; i < SOURCES; i++) {
		CHECK_EQ(s[i].wrong, 0);
		memcpy(all + i * IDS, s[i].id, sizeof s[i].id);
	}
	qsort(all, SOURCES * IDS, sizeof *all, ascending);
	for (int i = 1; i < SOURCES * IDS; i++)
		REQUIRE(all[i - 1] < all[i]);
	CHECK_EQ(cc_runtime_free(a), 0);
	CHECK_EQ(cc_runtime_free(b), 0);
}
