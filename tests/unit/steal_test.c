/* steal_test.c - several workers: who runs what, and that nothing waits behind a
 * worker that does not come by.
 *
 * A hog is a task that neither yields nor waits.  Workers have no monitor here, and
 * most tests no timed sleeps either: what must be found is found by a wake. */
#include "test.h"

#include "points.h"
#include "waitables.h"
#include "workers.h"

/* ---- behind a hog ---- */

struct brood {
	unsigned size;
	CCMigration migration;
	cc__a32 ran, moved;	/* of the children; those that ran on another worker */
	unsigned hog;		/* the hog's worker */
	cc__a32 started, go;
};

static int count_child(void *arg)
{
	struct brood *b = arg;

	cc__add(&b->moved, here() != b->hog, CC__RELAXED);
	cc__add(&b->ran, 1, CC__RELEASE);
	return 0;
}

static int spawn_and_hog(void *arg)
{
	struct brood *b = arg;
	const CCTaskOptions o = {.migration = b->migration};

	b->hog = here();
	for (unsigned i = 0; i < b->size; i++)
		CHECK_EQ(cc_task_spawn(NULL, NULL, &o, count_child, b), 0);
	TEST_UNTIL(cc__load(&b->ran, CC__ACQUIRE) == b->size);
	return 0;
}

static void check_unstarted(unsigned workers, cc_time idle_wait, CCMigration m, unsigned size)
{
	struct brood b = {.size = size, .migration = m};
	CCRuntime *rt = workers_new(workers, idle_wait);

	for (int round = 0; round < 5; round++) {
		cc__store(&b.ran, 0, CC__RELAXED);
		cc__store(&b.moved, 0, CC__RELAXED);
		CHECK_EQ(join(spawn(rt, spawn_and_hog, &b)), 0);
		CHECK_EQ(cc__load(&b.moved, CC__RELAXED), size);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(unstarted_tasks_behind_a_hog_are_taken_over)	/* covers: SCH-20/u */
{
	check_unstarted(2, CC_FOREVER, CC_MIGRATE_FREE, 1);
	check_unstarted(2, CC_FOREVER, CC_MIGRATE_FREE, 1000);
	check_unstarted(2, USUAL, CC_MIGRATE_FREE, 1);
	check_unstarted(2, USUAL, CC_MIGRATE_FREE, 1000);
	check_unstarted(4, CC_FOREVER, CC_MIGRATE_FREE, 100);
}

TEST(sticky_tasks_are_taken_over_before_they_start)
{
	check_unstarted(2, CC_FOREVER, CC_MIGRATE_STICKY, 1);
	check_unstarted(2, USUAL, CC_MIGRATE_STICKY, 100);
}

/* Started where the hog is about to be. */
static int child_that_yields(void *arg)
{
	struct brood *b = arg;

	cc__add(&b->started, 1, CC__RELEASE);
	while (cc__load(&b->go, CC__ACQUIRE) == 0)
		cc_yield();
	return count_child(b);
}

static int let_them_start_then_hog(void *arg)
{
	struct brood *b = arg;

	for (unsigned i = 0; i < b->size; i++)
		CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, child_that_yields, b), 0);
	while (cc__load(&b->started, CC__ACQUIRE) < b->size)
		cc_yield();
	b->hog = here();
	cc__store(&b->go, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(&b->ran, CC__ACQUIRE) == b->size);
	return 0;
}

TEST(started_fibers_behind_a_hog_move_on)
{
	static const cc_time waits[] = {CC_FOREVER, USUAL};

	for (int k = 0; k < 2; k++)
		for (unsigned size = 1; size <= 64; size *= 4) {
			struct brood b = {.size = size};
			CCRuntime *rt = workers_new(2, waits[k]);

			CHECK_EQ(join(spawn(rt, let_them_start_then_hog, &b)), 0);
			CHECK_EQ(cc__load(&b.moved, CC__RELAXED), size);
			CHECK_EQ(cc_runtime_free(rt), 0);
		}
}

/* ---- an inbox behind a hog ---- */

struct pair {
	struct gate hog;
	CCTask hog_task;
	struct sem sem;
	cc__a32 woke;
};

/* Waits, and leaves its worker to a hog. */
static int wait_beside_a_hog(void *arg)
{
	struct pair *p = arg;

	p->hog_task = spawn_as(NULL, CC_MIGRATE_PINNED, hold_worker_at, &p->hog);
	CHECK_EQ(sem_wait(&p->sem, CC_FOREVER), 0);
	cc__store(&p->woke, 1, CC__RELEASE);
	return (int)here();
}

static void check_inbox(cc_time idle_wait, bool others_asleep)
{
	struct pair p = {.woke = {0}};
	CCRuntime *rt = workers_new(2, idle_wait);
	CCTask t = spawn(rt, wait_beside_a_hog, &p);
	unsigned last;

	until_arrived(&p.hog, 1);
	TEST_UNTIL(state_of(t) == CC__PARKED);
	last = worker_that_ran(t);
	if (others_asleep)
		TEST_UNTIL(asleep(rt) == 1);
	sem_post(&p.sem);	/* into the inbox of the one that hogs */
	TEST_UNTIL(cc__load(&p.woke, CC__ACQUIRE) != 0);
	CHECK(join(t) != (int)last);
	open_gate(&p.hog);
	join(p.hog_task);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(inbox_of_a_hog_is_taken_over)	/* covers: SCH-21/t, RES-37/u, RES-52/u */
{
	for (unsigned i = 0; i < test_rounds(400); i++) {
		check_inbox(CC_FOREVER, true);
		check_inbox(CC_FOREVER, false);
		check_inbox(USUAL, true);
		check_inbox(USUAL, false);
	}
}

/* A worker goes to sleep under somebody else's watch, and so without a look at
 * the generations.  What only that worker may take comes just before. */
static int wait_once(void *arg)
{
	return sem_wait(arg, CC_FOREVER);
}

TEST(pinned_fiber_is_not_left_behind_under_a_watch)	/* covers: WKG-18/s */
{
	CCRuntime *rt = workers_new(3, 3600 * CC_SEC);
	struct cc__idle *idle = sched_of(rt)->idle;
	struct gate g = {0};
	struct sem sem = {.count = 0};
	struct point *sleep;
	CCTask hog, waiter;

	NEED_POINTS();
	hog = spawn_as(rt, CC_MIGRATE_PINNED, hold_worker_at, &g);
	waiter = spawn_as(rt, CC_MIGRATE_PINNED, wait_once, &sem);
	until_arrived(&g, 1);
	TEST_UNTIL(state_of(waiter) == CC__PARKED && asleep(rt) == 2);
	sleep = point_hold("worker.before_sleep", worker_of(rt, worker_that_ran(waiter)));
	cc__idle_wake_all(idle);	/* for nothing: they look, and sleep again */
	point_until_held(sleep);
	/* The third one, woken for nothing, takes the watch.  A watch is short, and this thread may
	 * miss it: then it is woken again. */
	TEST_UNTIL((cc__load(&idle->keeper, CC__ACQUIRE) & CC__WATCHING) ||
	           (cc__idle_wake_all(idle), false));
	sem_post(&sem);
	point_release(sleep);
	CHECK_EQ(join(waiter), 0);
	open_gate(&g);
	join(hog);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- who may move ---- */

enum { ROUNDS = 300 };

struct mover {
	struct sem *sem;	/* somebody posts it */
	unsigned first;		/* worker it began on */
	unsigned elsewhere;	/* times it was on another */
	unsigned unowned;	/* times its word said something else */
};

static void note_place(struct mover *m)
{
	const uint64_t word = cc__load(&cc__self()->word, CC__ACQUIRE);

	m->elsewhere += here() != m->first;
	m->unowned += cc__word_state(word) != CC__OWNED || cc__word_owner(word) != here();
}

static int move_about(void *arg)
{
	struct mover *m = arg;

	m->first = here();
	for (int i = 0; i < ROUNDS; i++) {
		note_place(m);
		if (i % 16 == 0)
			cc_sleep_until(cc_now() + 10 * CC_USEC);
		else if (i % 2)
			sem_wait(m->sem, CC_FOREVER);
		else
			cc_yield();
	}
	note_place(m);
	return 0;
}

static int post_often(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		sem_post(arg);
		cc_yield();
	}
	return 0;
}

static void move_all(CCRuntime *rt, CCMigration migration, struct mover *m, unsigned n)
{
	struct sem sem = {.count = 0};
	CCTask t[64], poster[64];

	for (unsigned i = 0; i < n; i++) {
		m[i] = (struct mover){.sem = &sem};
		t[i] = spawn_as(rt, migration, move_about, &m[i]);
		poster[i] = spawn(rt, post_often, &sem);	/* these are free to move */
	}
	for (unsigned i = 0; i < n; i++) {
		join(t[i]);
		join(poster[i]);
	}
}

TEST(fibers_that_stay_never_move)	/* covers: LIF-25/t */
{
	static const CCMigration kinds[] = {CC_MIGRATE_PINNED, CC_MIGRATE_STICKY};
	struct mover m[32];

	for (int k = 0; k < 2; k++) {
		CCRuntime *rt = workers_new(4, CC_FOREVER);
		unsigned on[4] = {0};

		move_all(rt, kinds[k], m, 32);
		for (int i = 0; i < 32; i++) {
			CHECK_EQ(m[i].elsewhere, 0);
			CHECK_EQ(m[i].unowned, 0);
			on[m[i].first - 1]++;
		}
		for (int i = 0; i < 4 && kinds[k] == CC_MIGRATE_PINNED; i++)
			CHECK_EQ(on[i], 8);	/* spread evenly from the beginning */
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

static int spawn_pinned_here(void *arg)
{
	struct mover m = {.sem = arg};
	CCTask t = spawn_as(NULL, CC_MIGRATE_PINNED, move_about, &m);

	post_often(arg);
	join(t);
	return m.first == here() && m.elsewhere == 0 ? 0 : 1;
}

TEST(pinned_task_of_a_fiber_begins_on_its_worker)
{
	CCRuntime *rt = workers_new(4, CC_FOREVER);

	for (int i = 0; i < 20; i++) {
		struct sem sem = {.count = 0};

		CHECK_EQ(join(spawn_as(rt, CC_MIGRATE_PINNED, spawn_pinned_here, &sem)), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- wakes from outside ---- */

static int wait_often(void *arg)
{
	for (int i = 0; i < 100; i++)
		CHECK_EQ(sem_wait(arg, CC_FOREVER), 0);
	return 0;
}

static void note_target(const void *worker, void *arg)
{
	*(unsigned *)arg = ((const struct cc__worker *)worker)->id;
}

TEST(wake_from_outside_goes_to_the_worker_that_ran_it_last)	/* covers: SCH-63/t */
{
	CCRuntime *rt = workers_new(4, CC_FOREVER);
	struct sem sem = {.count = 0};
	CCTask t;

	NEED_POINTS();
	t = spawn(rt, wait_often, &sem);
	for (int i = 0; i < 100; i++) {
		unsigned last, target = 0;
		struct point *p;

		TEST_UNTIL(state_of(t) == CC__PARKED);
		last = worker_that_ran(t);
		p = point_call("inbox.before_poke", NULL, note_target, &target);
		sem_post(&sem);
		CHECK(point_passed(p));
		CHECK_EQ(target, last);
	}
	join(t);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* A task that keeps worker `id` busy until the gate opens.  Pinned tasks go round, so the next
 * one goes to the worker that next_worker says. */
static CCTask hold(CCRuntime *rt, unsigned id, struct gate *g)
{
	CCTask t;

	cc__store(&sched_of(rt)->next_worker, id - 1, CC__RELAXED);
	t = spawn_as(rt, CC_MIGRATE_PINNED, hold_worker_at, g);
	until_arrived(g, 1);
	return t;
}

struct wake {
	CCRuntime *rt;
	struct sem sem;
	unsigned last;		/* the worker that ran the waiter last */
};

/* On the other worker: the waiter is behind the waker afterwards, not with its last worker. */
static int wake_and_look(void *arg)
{
	struct wake *k = arg;
	struct cc__worker *w = cc__worker_here(), *last = worker_of(k->rt, k->last);

	CHECK(w != last);
	CHECK_EQ(cc__runq_length(&w->queue), 0);
	sem_post(&k->sem);
	CHECK_EQ(cc__runq_length(&w->queue), 1);
	CHECK_EQ(cc__inbox_length(&last->inbox), 0);
	return 0;
}

TEST(wake_by_a_worker_stays_with_that_worker)	/* covers: SCH-63/u */
{
	struct wake k = {.rt = workers_new(2, CC_FOREVER)};
	CCTask waiter = spawn(k.rt, wait_once, &k.sem), held, waker;
	struct gate g = {0};

	TEST_UNTIL(state_of(waiter) == CC__PARKED);
	k.last = worker_that_ran(waiter);
	held = hold(k.rt, k.last, &g);	/* so nobody searches, and nobody steals */
	cc__store(&sched_of(k.rt)->next_worker, k.last % 2, CC__RELAXED);
	waker = spawn_as(k.rt, CC_MIGRATE_PINNED, wake_and_look, &k);
	CHECK_EQ(join(waker), 0);
	open_gate(&g);
	CHECK_EQ(join(waiter), 0);
	CHECK_EQ(join(held), 0);
	CHECK_EQ(cc_runtime_free(k.rt), 0);
}

/* ---- wakes that do not go to the worker that ran the fiber last ---- */

static CCRuntime *with_inbox_of(unsigned most)
{
	CCRuntime *rt = NULL;
	CCConfig c = config();

	only_workers(&c, 1);
	c.idle_wait = c.stack_idle = CC_FOREVER;
	c.inbox_max = most;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

/* The only worker is held, so its inbox fills: what exceeds the limit goes to the queues that
 * are everybody's, and none of it is lost. */
TEST(wakes_for_a_full_inbox_go_to_all)	/* covers: SCH-64/f */
{
	enum { WAITERS = 8, MOST = 3 };
	CCRuntime *rt = with_inbox_of(MOST);
	const struct cc__sched *s = sched_of(rt);
	struct sem sem[WAITERS] = {{.count = 0}};
	struct gate g = {0};
	CCTask waiter[WAITERS], held;

	for (int i = 0; i < WAITERS; i++)
		waiter[i] = spawn(rt, wait_once, &sem[i]);
	for (int i = 0; i < WAITERS; i++)
		TEST_UNTIL(state_of(waiter[i]) == CC__PARKED);
	held = hold(rt, 1, &g);
	for (unsigned i = 0; i < WAITERS; i++) {
		sem_post(&sem[i]);
		CHECK_EQ(cc__inbox_length(&s->worker[0]->inbox), i < MOST ? i + 1 : MOST);
		CHECK_EQ(cc__inbox_length(&s->woken) + cc__global_length(&s->global),
		         i < MOST ? 0 : i + 1 - MOST);
	}
	open_gate(&g);
	for (int i = 0; i < WAITERS; i++)
		CHECK_EQ(join(waiter[i]), 0);
	CHECK_EQ(join(held), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* There is no monitor here, so the test says that the worker stands still, and nobody empties
 * its inbox. */
TEST(wakes_for_a_worker_that_stands_still_go_to_all)	/* covers: SCH-64/f */
{
	CCRuntime *rt = workers_new(1, CC_FOREVER);
	const struct cc__sched *s = sched_of(rt);
	struct cc__worker *w = s->worker[0];
	struct sem sem[2] = {{.count = 0}};
	struct gate g = {0};
	CCTask waiter[2], held;

	for (int i = 0; i < 2; i++)
		waiter[i] = spawn(rt, wait_once, &sem[i]);
	for (int i = 0; i < 2; i++)
		TEST_UNTIL(state_of(waiter[i]) == CC__PARKED);
	held = hold(rt, 1, &g);
	sem_post(&sem[0]);
	CHECK_EQ(cc__inbox_length(&w->inbox), 1);
	cc__store(&w->stuck, 1, CC__RELEASE);
	sem_post(&sem[1]);
	CHECK_EQ(cc__inbox_length(&w->inbox), 1);
	CHECK_EQ(cc__inbox_length(&s->woken) + cc__global_length(&s->global), 1);
	open_gate(&g);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(join(waiter[i]), 0);
	CHECK_EQ(join(held), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- the order of the search ---- */

struct order {
	struct gate far, near;	/* hold the two workers */
	cc__a32 both_held;
	struct sem sem;
	cc__a32 next;		/* place in the order */
	unsigned local, inbox, global, stolen;
};

static cc__a32 *places;

static int take_place(void *place)
{
	*(unsigned *)place = cc__add(places, 1, CC__RELEASE) + 1;
	return 0;
}

static int wait_for_inbox(void *arg)
{
	struct order *o = arg;

	sem_wait(&o->sem, CC_FOREVER);
	return take_place(&o->inbox);
}

/* Each leaves a task behind itself, where nobody else comes by. */
static int hold_far(void *arg)
{
	struct order *o = arg;

	cc__store(&o->far.arrived, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(&o->both_held, CC__ACQUIRE) != 0);
	CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, take_place, &o->stolen), 0);
	cc__store(&o->far.arrived, 2, CC__RELEASE);
	TEST_UNTIL(cc__load(&o->far.open, CC__ACQUIRE) != 0);
	return 0;
}

static int hold_near(void *arg)
{
	struct order *o = arg;

	CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, take_place, &o->local), 0);
	return hold_worker_at(&o->near);
}

static void check_order(CCRuntime *rt)
{
	struct order o = {.local = 0};
	CCTask waiter = spawn(rt, wait_for_inbox, &o), far, near;

	places = &o.next;
	TEST_UNTIL(state_of(waiter) == CC__PARKED);
	/* Pinned tasks go round: the first to the other worker, the second here. */
	cc__store(&sched_of(rt)->next_worker, worker_that_ran(waiter), CC__RELAXED);
	far = spawn_as(rt, CC_MIGRATE_PINNED, hold_far, &o);
	until_arrived(&o.far, 1);
	near = spawn_as(rt, CC_MIGRATE_PINNED, hold_near, &o);
	until_arrived(&o.near, 1);
	cc__store(&o.both_held, 1, CC__RELEASE);
	until_arrived(&o.far, 2);
	CHECK_EQ(cc_task_spawn(rt, NULL, NULL, take_place, &o.global), 0);
	sem_post(&o.sem);
	open_gate(&o.near);
	TEST_UNTIL(cc__load(&o.next, CC__ACQUIRE) == 4);
	open_gate(&o.far);
	join(near);
	join(far);
	join(waiter);
	CHECK_EQ(o.local, 1);
	CHECK_EQ(o.inbox, 2);
	CHECK_EQ(o.global, 3);
	CHECK_EQ(o.stolen, 4);
}

TEST(search_goes_from_local_to_inbox_to_global_to_others)	/* covers: SCH-26/t, SCH-21/t */
{
	for (int round = 0; round < 20; round++) {
		CCRuntime *rt = workers_new(2, CC_FOREVER);

		check_order(rt);
		TEST_UNTIL(asleep(rt) == 2);	/* and then to sleep */
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}
