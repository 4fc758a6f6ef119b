/* hand_over_test.c - who waits for a task goes on where it ends, through no queue: once, in
 * the order of all, and only where it may run. */
#include "test.h"

#include "waitables.h"
#include "workers.h"

static CCStats stats_of(CCRuntime *rt)
{
	CCStats s;

	CHECK_EQ(cc_stats(rt, &s), 0);
	return s;
}

/* Not on the caller's stack, as it would be without a deadline: he parks. */
static int join_apart(CCTask t)
{
	int result = -1;

	CHECK_EQ(cc_task_join(t, cc_now() + 3600 * CC_SEC, &result), 0);
	return result;
}

static int give_seven(void *arg)
{
	cc__add((cc__a32 *)arg, 1, CC__RELAXED);
	return 7;
}

/* ---- one joiner ---- */

enum { ROUNDS = 10 * CC__FAIR_RUN };

static int join_many(void *arg)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		CHECK_EQ(join_apart(spawn(NULL, give_seven, arg)), 7);
	return 0;
}

TEST(joiner_goes_on_where_its_task_ends)	/* covers: SCH-65/t */
{
	CCRuntime *rt = workers_new(1, CC_FOREVER);
	cc__a32 ran = {0};
	CCStats s;

	join(spawn(rt, join_many, &ran));
	s = stats_of(rt);
	CHECK_EQ(cc__peek(&ran), ROUNDS);
	/* But where everything else has its turn. */
	CHECK(s.handed < ROUNDS);
	CHECK(s.handed >= ROUNDS - 2 * ROUNDS / CC__FAIR_RUN - 1);
	/* Each task, this one included, and those who were not handed over were queued once;
	 * the first came from outside, from the global queue into the worker's. */
	CHECK_EQ(s.pushes, 2 + ROUNDS + (ROUNDS - s.handed));
	/* Each was claimed once. */
	CHECK_EQ(s.switches, 1 + 2 * ROUNDS);
	CHECK_EQ(s.pressure, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- in the order of all ---- */

enum { JOINERS = 3, NEIGHBOUR = JOINERS };

struct queue {
	struct sem end, neighbour;
	CCTask task;		/* all wait for it */
	bool wakes;		/* before it ends it wakes the neighbour */
	int ran[JOINERS + 1], count;
};

struct seat {
	struct queue *q;
	int number;
};

static int wait_for_end(void *arg)
{
	struct queue *q = arg;

	CHECK_EQ(sem_wait(&q->end, CC_FOREVER), 0);
	if (q->wakes)
		sem_post(&q->neighbour);
	return 7;
}

static int join_task(void *arg)
{
	const struct seat *s = arg;

	CHECK_EQ(join(s->q->task), 7);
	s->q->ran[s->q->count++] = s->number;
	return 0;
}

static int be_neighbour(void *arg)
{
	struct queue *q = arg;

	CHECK_EQ(sem_wait(&q->neighbour, CC_FOREVER), 0);
	q->ran[q->count++] = NEIGHBOUR;
	return 0;
}

/* On one worker: n joiners of a task, which ends.  How many were handed over. */
static uint64_t end_of_task(struct queue *q, int n, CCMigration as)
{
	CCRuntime *rt = workers_new(1, CC_FOREVER);
	CCTask all[JOINERS + 1];
	struct seat s[JOINERS];
	uint64_t handed;

	q->task = spawn(rt, wait_for_end, q);
	TEST_UNTIL(state_of(q->task) == CC__PARKED);
	for (int i = 0; i < n; i++) {
		s[i] = (struct seat){q, i};
		all[i] = spawn_as(rt, as, join_task, &s[i]);
		TEST_UNTIL(state_of(all[i]) == CC__PARKED);
	}
	all[n] = spawn(rt, be_neighbour, q);
	TEST_UNTIL(state_of(all[n]) == CC__PARKED);
	sem_post(&q->end);
	for (int i = 0; i < n; i++)
		join(all[i]);
	if (!q->wakes)
		sem_post(&q->neighbour);
	join(all[n]);
	handed = stats_of(rt).handed;
	CHECK_EQ(cc_runtime_free(rt), 0);
	return handed;
}

/* He would be in no queue until all others are woken. */
TEST(of_several_joiners_nobody_is_handed_over)
{
	struct queue q = {0};

	CHECK_EQ(end_of_task(&q, JOINERS, CC_MIGRATE_FREE), 0);
	for (int i = 0; i < JOINERS; i++)
		CHECK_EQ(q.ran[i], i);
}

TEST(nobody_is_overtaken_by_a_hand_over)
{
	struct queue q = {.wakes = true};

	CHECK_EQ(end_of_task(&q, 1, CC_MIGRATE_FREE), 0);
	CHECK_EQ(q.ran[0], NEIGHBOUR);
	CHECK_EQ(q.ran[1], 0);
}

/* One that stays is queued at home, wherever that is. */
TEST(one_that_stays_is_not_handed_over)
{
	struct queue q = {0};

	CHECK_EQ(end_of_task(&q, 1, CC_MIGRATE_STICKY), 0);
	CHECK_EQ(q.ran[0], 0);
}

/* ---- who else is there ---- */

struct loop {
	CCRuntime *rt;
	struct gate gate;
	cc__a32 ran, stranger;
	unsigned rounds;	/* until the stranger ran */
};

static int loop_for_stranger(void *arg)
{
	struct loop *l = arg;

	hold_worker_at(&l->gate);
	while (cc__load(&l->stranger, CC__ACQUIRE) == 0 && test_has_time()) {
		CHECK_EQ(join_apart(spawn(NULL, give_seven, &l->ran)), 7);
		l->rounds++;
	}
	return 0;
}

/* D4: the global queue has its turn. */
TEST(hand_over_keeps_nobody_waiting)
{
	struct loop l = {.rt = workers_new(1, CC_FOREVER)};
	const CCTask t = spawn(l.rt, loop_for_stranger, &l);
	CCTask stranger;

	until_arrived(&l.gate, 1);
	stranger = spawn(l.rt, give_seven, &l.stranger);
	open_gate(&l.gate);
	join(t);
	CHECK_EQ(join(stranger), 7);
	CHECK(l.rounds <= CC__FAIR_RUN);
	CHECK_EQ(cc_runtime_free(l.rt), 0);
}

struct abroad {
	CCRuntime *other;
	struct sem end;
};

static int wait_abroad(void *arg)
{
	return sem_wait(&((struct abroad *)arg)->end, CC_FOREVER) == 0 ? 7 : -1;
}

static int join_abroad(void *arg)
{
	struct abroad *a = arg;
	const CCTask t = spawn(a->other, wait_abroad, a);

	TEST_UNTIL(state_of(t) == CC__PARKED);
	sem_post(&a->end);
	return join(t);
}

TEST(joiner_of_another_runtime_is_not_handed_over)
{
	struct abroad a = {.other = workers_new(1, CC_FOREVER)};
	CCRuntime *rt = workers_new(1, CC_FOREVER);

	for (unsigned i = 0; i < 100; i++)
		CHECK_EQ(join(spawn(rt, join_abroad, &a)), 7);
	CHECK_EQ(stats_of(a.other).handed, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc_runtime_free(a.other), 0);
}
