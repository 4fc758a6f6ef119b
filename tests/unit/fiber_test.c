/* fiber_test.c - who am I, who else is there: what fiber.h promises. */
#include "environment.h"
#include "tasks.h"
#include "test.h"

#include <ccc/ccc.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "os/atomic.h"

static CCRuntime *runtime(void)
{
	CCRuntime *rt = NULL;

	CHECK_EQ(cc_runtime_new(&rt, NULL), 0);
	return rt;
}

static CCRuntime *one_worker(void)
{
	CCRuntime *rt = NULL;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	only_workers(&c, 1);
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

static CCTask spawn_named(CCRuntime *rt, const char *name, cc_task_main *main, void *arg)
{
	const CCTaskOptions o = {.name = name};
	CCTask t = {0};

	CHECK_EQ(cc_task_spawn(rt, &t, &o, main, arg), 0);
	return t;
}

static int join_it(void *arg)
{
	return join(*(CCTask *)arg);
}

/* ---- look ---- */

struct look {
	uint64_t id;
	CCFiberInfo info;
	unsigned found, all;
};

static int look_for(const CCFiberInfo *info, void *arg)
{
	struct look *l = arg;

	l->all++;
	if (info->id == l->id) {
		l->info = *info;
		l->found++;
	}
	return 0;
}

static struct look look_at(CCTask t)
{
	struct look l = {.id = t.id};

	CHECK_EQ(cc_fiber_each(look_for, &l), 0);
	return l;
}

static CCFiberState state_of(CCTask t)
{
	return look_at(t).info.state;
}

/* ---- id and name ---- */

struct me {
	uint64_t id, id_later;
	char name[16], name_later[16];
};

static int introduce(void *arg)
{
	struct me *m = arg;

	m->id = cc_fiber_id();
	cc_fiber_name(m->name);
	cc_yield();
	m->id_later = cc_fiber_id();
	cc_fiber_name(m->name_later);
	return 0;
}

TEST(fiber_knows_its_id_and_name)
{
	static const char *const names[] = {"a", "", "fifteen-letters", NULL};

	for (int i = 0; i < 4; i++) {
		struct me m = {.id = 0};
		CCTask t = spawn_named(NULL, names[i], introduce, &m);

		CHECK_EQ(join(t), 0);
		CHECK(m.id != 0);
		CHECK_EQ(m.id, t.id);
		CHECK_EQ(m.id_later, t.id);
		CHECK_STR(m.name, names[i] != NULL ? names[i] : "");
		CHECK_STR(m.name_later, m.name);
	}
	CHECK_EQ(cc_shutdown(), 0);
}

TEST(thread_has_no_fiber_id_and_no_name)
{
	char name[16];

	memset(name, 'x', sizeof name);
	CHECK_EQ(cc_fiber_id(), 0);
	cc_fiber_name(name);
	CHECK_STR(name, "");
	/* Nor after it has waited for a fiber. */
	CHECK_EQ(join(spawn_named(NULL, "other", nothing, NULL)), 0);
	CHECK_EQ(cc_fiber_id(), 0);
	cc_fiber_name(name);
	CHECK_STR(name, "");
	CHECK_EQ(cc_shutdown(), 0);
}

/* A frame that was named runs the next task, which is not.  With one worker: another would
 * keep the frame of what it has run. */
static int name_then_none(void *arg)
{
	struct me m = {.id = 0};
	CCTask named = spawn_named(NULL, "named", introduce, &m), plain;

	(void)arg;
	join(named);
	CHECK_STR(m.name, "named");
	plain = spawn_named(NULL, NULL, introduce, &m);
	CHECK(plain.frame == named.frame);
	CHECK_STR(look_at(plain).info.name, "");
	join(plain);
	CHECK_STR(m.name, "");
	return 0;
}

TEST(name_ends_with_its_task)
{
	CCRuntime *rt = one_worker();

	CHECK_EQ(join(spawn_named(rt, NULL, name_then_none, NULL)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* The argument and the longest name lie side by side in the frame. */
static int name_and_argument(void *arg)
{
	char name[16];

	cc_fiber_name(name);
	CHECK_STR(name, "fifteen-letters");
	return *(int *)arg;
}

TEST(name_does_not_touch_the_argument)
{
	int value = 4711;

	CHECK_EQ(join(spawn_named(NULL, "fifteen-letters", name_and_argument, &value)), 4711);
	CHECK_EQ(cc_shutdown(), 0);
}

/* A frame knows nothing of the worker that ran its last task, in a runtime that
 * had more of them. */
static CCTask spawn_pinned(CCRuntime *rt, cc_task_main *main, void *arg)
{
	static const CCTaskOptions o = {.migration = CC_MIGRATE_PINNED};
	CCTask t = {0};

	CHECK_EQ(cc_task_spawn(rt, &t, &o, main, arg), 0);
	return t;
}

TEST(frame_forgets_the_worker_of_its_former_task)
{
	enum { MANY = 64 };
	CCConfig c;
	CCRuntime *large = NULL, *small = one_worker();
	CCTask t[MANY];

	CHECK_EQ(cc_config_init(&c), 0);
	c.workers = 8;
	CHECK_EQ(cc_runtime_new(&large, &c), 0);
	for (int i = 0; i < MANY; i++)
		t[i] = spawn_pinned(large, nothing, NULL);	/* on each of the eight */
	for (int i = 0; i < MANY; i++)
		join(t[i]);
	CHECK_EQ(cc_runtime_free(large), 0);
	for (int i = 0; i < MANY; i++)
		t[i] = i % 2 ? spawn_pinned(small, nothing, NULL)
		             : spawn_named(small, NULL, nothing, NULL);
	for (int i = 0; i < MANY; i++)
		join(t[i]);
	CHECK_EQ(cc_runtime_free(small), 0);
}

/* ---- each ---- */

TEST(each_shows_every_state)
{
	CCRuntime *rt = one_worker(), *other = one_worker();
	struct gate far = {0}, near = {0};
	CCTask awaited, parked, running, queued, done;
	struct look l;

	CHECK_EQ(look_at((CCTask){0}).all, 0);
	done = spawn_named(rt, "done", nothing, NULL);
	TEST_UNTIL(state_of(done) == CC_FIBER_DONE);
	awaited = spawn_named(other, "awaited", hold_worker_at, &far);
	parked = spawn_named(rt, "parked", join_it, &awaited);
	TEST_UNTIL(state_of(parked) == CC_FIBER_PARKED);
	running = spawn_named(rt, "running", hold_worker_at, &near);
	TEST_UNTIL(cc__load(&near.arrived, CC__ACQUIRE) != 0);
	queued = spawn_named(rt, "queued", nothing, NULL);

	l = look_at(done);
	CHECK_EQ(l.all, 5);
	CHECK_EQ(l.found, 1);
	CHECK_EQ(l.info.state, CC_FIBER_DONE);
	CHECK_STR(l.info.name, "done");
	CHECK(l.info.stack == NULL);

	l = look_at(parked);
	CHECK_EQ(l.found, 1);
	CHECK_EQ(l.info.state, CC_FIBER_PARKED);
	CHECK_STR(l.info.name, "parked");
	CHECK(l.info.runtime == rt);
	CHECK(l.info.stack != NULL && l.info.stack_size > 0);
	CHECK_EQ(l.info.worker, 1);

	l = look_at(running);
	CHECK_EQ(l.found, 1);
	CHECK_EQ(l.info.state, CC_FIBER_RUNNING);
	CHECK_STR(l.info.name, "running");
	CHECK(l.info.runtime == rt);
	CHECK(l.info.stack != NULL && l.info.stack_size > 0);
	CHECK_EQ(l.info.worker, 1);

	l = look_at(queued);
	CHECK_EQ(l.found, 1);
	CHECK_EQ(l.info.state, CC_FIBER_QUEUED);
	CHECK_STR(l.info.name, "queued");
	CHECK(l.info.runtime == rt);
	CHECK(l.info.stack == NULL && l.info.stack_size == 0);

	CHECK(look_at(awaited).info.runtime == other);
	cc__store(&near.open, 1, CC__RELEASE);
	cc__store(&far.open, 1, CC__RELEASE);
	CHECK_EQ(join(done), 0);
	CHECK_EQ(look_at(done).found, 0);
	join(parked);
	join(running);
	join(queued);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc_runtime_free(other), 0);
	/* `awaited` was consumed by the one that waited for it. */
	CHECK_EQ(look_at(awaited).all, 0);
}

struct stop {
	unsigned calls, at;
};

static int stop_at(const CCFiberInfo *info, void *arg)
{
	struct stop *s = arg;

	(void)info;
	return ++s->calls == s->at ? 77 : 0;
}

TEST(each_stops_when_told_to)
{
	enum { N = 10 };
	CCRuntime *rt = runtime();
	struct gate g = {0};
	CCTask held = spawn_named(rt, NULL, hold_worker_at, &g), t[N];

	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) != 0);
	for (int i = 0; i < N; i++)
		t[i] = spawn_named(rt, NULL, nothing, NULL);
	for (unsigned at = 1; at <= N + 2; at++) {
		struct stop s = {.at = at};

		CHECK_EQ(cc_fiber_each(stop_at, &s), at <= N + 1 ? 77 : 0);
		CHECK_EQ(s.calls, at <= N + 1 ? at : N + 1);
	}
	CHECK(cc_fiber_each(NULL, NULL) != 0);
	cc__store(&g.open, 1, CC__RELEASE);
	join(held);
	for (int i = 0; i < N; i++)
		join(t[i]);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* A fiber may look around as well, at itself too. */
static int look_from_inside(void *arg)
{
	struct look l = {.id = cc_fiber_id()};
	const char *here = __builtin_frame_address(0);

	(void)arg;
	CHECK_EQ(cc_fiber_each(look_for, &l), 0);
	CHECK_EQ(l.found, 1);
	CHECK_EQ(l.info.state, CC_FIBER_RUNNING);
	CHECK_STR(l.info.name, "insider");
	CHECK(l.info.runtime == cc_runtime_current());
	CHECK(here > (const char *)l.info.stack);
	CHECK(here < (const char *)l.info.stack + l.info.stack_size);
	return 0;
}

TEST(each_shows_the_caller_itself)
{
	CHECK_EQ(join(spawn_named(NULL, "insider", look_from_inside, NULL)), 0);
	CHECK_EQ(cc_shutdown(), 0);
}

/* ---- each, while fibers come and go ---- */

struct storm {
	CCRuntime *rt, *quiet;
	CCTask held, pillar;	/* live through all of it, one in each */
	unsigned rounds, wrong;
	cc__a32 done;
};

static int yield_once(void *arg)
{
	(void)arg;
	cc_yield();
	return 0;
}

static void *spawn_storm(void *arg)
{
	enum { N = 32 };
	struct storm *s = arg;
	CCTask t[N];

	for (unsigned i = 0; i < s->rounds; i++) {
		char name[16];

		for (unsigned k = 0; k < N; k++) {
			/* Id and name have to fit: all letters are the same. */
			memset(name, 'a' + (int)(k % 26), 15);
			name[1 + (i + k) % 15] = '\0';
			t[k] = spawn_named(s->rt, k % 3 ? name : NULL, yield_once, NULL);
		}
		for (unsigned k = 0; k < N; k++)
			join(t[k]);
	}
	cc__add(&s->done, 1, CC__RELEASE);
	return NULL;
}

struct tour {
	struct storm *storm;
	unsigned pillars;
};

static int check_visit(const CCFiberInfo *info, void *arg)
{
	struct tour *t = arg;
	struct storm *s = t->storm;
	const size_t n = strnlen(info->name, 16);

	t->pillars += info->id == s->pillar.id || info->id == s->held.id;
	s->wrong += info->id == 0 || n == 16;
	s->wrong += info->runtime != (info->id == s->held.id ? s->quiet : s->rt);
	s->wrong += (unsigned)info->state > CC_FIBER_DONE;
	s->wrong += (info->stack == NULL) != (info->stack_size == 0);
	for (size_t i = 1; i < n && info->id != s->pillar.id; i++)
		s->wrong += info->name[i] != info->name[0];
	return 0;
}

TEST(each_is_right_while_fibers_come_and_go)
{
	enum { THREADS = 2 };
	struct gate g = {0};
	struct storm s = {.rt = runtime(), .quiet = runtime()};
	pthread_t t[THREADS];
	unsigned tours = 0;

	s.rounds = test_rounds(2000);
	s.held = spawn_named(s.quiet, NULL, hold_worker_at, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) != 0);
	s.pillar = spawn_named(s.rt, "pillar", join_it, &s.held);
	TEST_UNTIL(state_of(s.pillar) == CC_FIBER_PARKED);
	for (int i = 0; i < THREADS; i++)
		REQUIRE_EQ(pthread_create(&t[i], NULL, spawn_storm, &s), 0);
	while (cc__load(&s.done, CC__ACQUIRE) < THREADS) {
		struct tour tour = {.storm = &s};

		CHECK_EQ(cc_fiber_each(check_visit, &tour), 0);
		CHECK_EQ(tour.pillars, 2);
		tours++;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK(tours > 0);
	CHECK_EQ(s.wrong, 0);
	cc__store(&g.open, 1, CC__RELEASE);
	join(s.pillar);
	CHECK_EQ(cc_runtime_free(s.rt), 0);
	CHECK_EQ(cc_runtime_free(s.quiet), 0);
}
