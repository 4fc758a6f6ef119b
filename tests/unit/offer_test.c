/* offer_test.c - who is woken while somebody searches lies in an offer (R4 in runq.h):
 * in its order for the worker that woke it, at once for others.  And what is learned
 * from fibers that meet all the time (steal.h).
 *
 * Somebody who searches is pretended, by his count: then it is certain what a wake
 * sees. */
#include "test.h"

#include <sched.h>

#include "waitables.h"
#include "workers.h"

/* ---- a worker and its own offer ---- */

enum { SLEEPERS = 4 };

struct line {
	struct sem sem[SLEEPERS];
	CCTask task[SLEEPERS];
	struct cc__idle *idle;
	int ran[SLEEPERS];	/* in that order */
	int count;
	bool offered;		/* the first was; whoever wakes writes it */
};

struct sleeper {
	struct line *line;
	int number;
};

static int sleep_in_line(void *arg)
{
	const struct sleeper *s = arg;
	struct line *l = s->line;

	CHECK_EQ(sem_wait(&l->sem[s->number], CC_FOREVER), 0);
	l->ran[l->count++] = s->number;
	return 0;
}

/* All of them, while somebody searches. */
static int wake_line(void *arg)
{
	struct line *l = arg;

	cc__idle_search(l->idle);
	for (int i = 0; i < SLEEPERS; i++)
		sem_post(&l->sem[i]);
	l->offered = cc__runq_offered(&cc__worker_here()->queue);
	cc__idle_give_up(l->idle);
	return 0;
}

/* One worker: what it offers nobody takes. */
static void check_line(cc_task_main *wake, int first)
{
	CCRuntime *rt = workers_new(1, CC_FOREVER);
	struct line l = {.idle = sched_of(rt)->idle};
	struct sleeper s[SLEEPERS];

	for (int i = 0; i < SLEEPERS; i++) {
		s[i] = (struct sleeper){&l, i};
		l.task[i] = spawn(rt, sleep_in_line, &s[i]);
		TEST_UNTIL(state_of(l.task[i]) == CC__PARKED);
	}
	join(spawn(rt, wake, &l));
	for (int i = 0; i < SLEEPERS; i++)
		join(l.task[i]);
	CHECK(l.offered);
	for (int i = 0; i < SLEEPERS; i++)
		CHECK_EQ(l.ran[i], (first + i) % SLEEPERS);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(own_offer_runs_in_its_order)
{
	check_line(wake_line, 0);
}

/* Its time has come: before the offer, which is not forgotten. */
static int wake_urgent_and_one(void *arg)
{
	struct line *l = arg;
	struct cc__worker *w = cc__worker_here();

	cc__idle_search(l->idle);
	w->waking = CC__WAKING_EXPIRED;
	for (int i = 1; i < SLEEPERS; i++)
		sem_post(&l->sem[i]);
	w->waking = CC__WAKING;
	w->fair_at = 0;
	sem_post(&l->sem[0]);
	l->offered = cc__runq_offered(&w->queue);
	cc__idle_give_up(l->idle);
	return 0;
}

TEST(offer_waits_for_those_whose_time_has_come)
{
	check_line(wake_urgent_and_one, 1);
}

/* ---- an offer and another worker ---- */

struct handoff {
	struct sem sem;
	struct cc__idle *idle;
	cc__a32 ran_on;		/* the woken one's worker */
};

static int woken_elsewhere(void *arg)
{
	struct handoff *h = arg;

	CHECK_EQ(sem_wait(&h->sem, CC_FOREVER), 0);
	cc__store(&h->ran_on, here(), CC__RELEASE);
	return 0;
}

/* The one who searches has left for something else, and wakes another for what is left
 * (I3 in idle.h): so the offer is found although its owner does not come back to it. */
static int wake_and_hog(void *arg)
{
	struct handoff *h = arg;

	cc__idle_search(h->idle);
	sem_post(&h->sem);
	cc__idle_give_up(h->idle);
	cc__idle_wake_one(h->idle);
	TEST_UNTIL(cc__load(&h->ran_on, CC__ACQUIRE) != 0);
	CHECK(cc__load(&h->ran_on, CC__RELAXED) != here());
	return 0;
}

static void check_handoff(cc_time idle_wait)
{
	CCRuntime *rt = workers_new(2, idle_wait);
	struct handoff h = {.idle = sched_of(rt)->idle};
	CCTask t = spawn(rt, woken_elsewhere, &h);

	TEST_UNTIL(state_of(t) == CC__PARKED);
	join(spawn(rt, wake_and_hog, &h));
	join(t);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(offer_of_a_hog_is_taken_over)
{
	for (int round = 0; round < 20; round++) {
		check_handoff(CC_FOREVER);
		check_handoff(USUAL);
	}
}

static int stays_here(void *arg)
{
	struct line *l = arg;

	CHECK_EQ(sem_wait(&l->sem[0], CC_FOREVER), 0);
	return 0;
}

/* A fiber that may not move is nobody's offer. */
TEST(fiber_that_stays_is_not_offered)
{
	CCRuntime *rt = workers_new(1, CC_FOREVER);
	struct line l = {.idle = sched_of(rt)->idle};
	CCTask t = spawn_as(rt, CC_MIGRATE_STICKY, stays_here, &l);

	TEST_UNTIL(state_of(t) == CC__PARKED);
	join(spawn(rt, wake_line, &l));
	join(t);
	CHECK(!l.offered);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- fibers that meet ---- */

enum { CROWD = 16 };

struct crowd {
	cc__a32 started, meet, over;
	cc__a32 on[CROWD];	/* where each of them runs */
	cc__a32 next;		/* their numbers */
	unsigned home;		/* the spawner's worker */
};

static int member(void *arg)
{
	struct crowd *c = arg;
	const uint32_t me = cc__add(&c->next, 1, CC__RELAXED);

	cc__add(&c->started, 1, CC__RELEASE);
	while (cc__load(&c->over, CC__ACQUIRE) == 0) {
		cc__store(&c->on[me], here(), CC__RELEASE);
		for (int i = 0; i < 1024 && cc__load(&c->meet, CC__RELAXED) != 0; i++)
			cc__contended();
		cc_yield();
	}
	return 0;
}

static unsigned at_home(const struct crowd *c)
{
	unsigned n = 0;

	for (int i = 0; i < CROWD; i++)
		n += cc__load(&c->on[i], CC__ACQUIRE) == c->home;
	return n;
}

static int first_member(void *arg)
{
	for (int i = 1; i < CROWD; i++)
		CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, member, arg), 0);
	return member(arg);
}

/* The first is taken by the other worker, and the rest is spawned there.  This one runs on,
 * and so does not take any: they come if they are sent back.  The one that runs at that
 * moment may stay. */
static int spawn_crowd(void *arg)
{
	struct crowd *c = arg;

	c->home = here();
	CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, first_member, c), 0);
	TEST_UNTIL(cc__load(&c->started, CC__ACQUIRE) == CROWD);
	CHECK_EQ(at_home(c), 0);
	cc__store(&c->meet, 1, CC__RELEASE);
	while (at_home(c) < CROWD - 1) {
		cc_yield();
		sched_yield();
	}
	cc__store(&c->over, 1, CC__RELEASE);
	return 0;
}

TEST(fibers_that_meet_all_the_time_gather_on_one_worker)
{
	CCRuntime *rt = workers_new(2, USUAL);
	struct crowd c = {.home = 0};

	join(spawn(rt, spawn_crowd, &c));
	CHECK_EQ(cc_runtime_free(rt), 0);
}
