/* queue_race_test.c - run queue, inbox and global queue with many threads at each:
 * every frame comes out once, and with all that was written into it.
 * ctest-label: race */
#include "test.h"

#include <pthread.h>
#include <signal.h>

#include "frames.h"
#include "sched/global.h"
#include "sched/inbox.h"
#include "sched/runq.h"

enum { THREADS = 4, FRAMES = 6000, ROUNDS = 100 };

struct trial {
	struct cc__fiber *frame;
	unsigned count;			/* of them */
	cc__a32 taken[FRAMES];		/* how often */
	cc__a32 all, torn;
	cc__a32 absurd;			/* lengths that cannot be */
	cc__a32 next;			/* frame that nobody has pushed yet */
	struct cc__runq queue;
	struct cc__inbox inbox;
	struct cc__global global;
	pthread_barrier_t start;
};

static struct trial t;

static void begin(unsigned threads)
{
	cc__fence_heavy_start();
	memset(&t, 0, sizeof t);
	t.count = FRAMES / test_slowness();
	t.frame = frames_new(t.count);
	cc__runq_init(&t.queue);
	cc__global_init(&t.global);
	pthread_barrier_init(&t.start, NULL, threads);
}

static void end(void)
{
	CHECK_EQ(cc__load(&t.all, CC__RELAXED), t.count);
	for (unsigned i = 0; i < t.count; i++)
		CHECK_EQ(cc__load(&t.taken[i], CC__RELAXED), 1);
	CHECK_EQ(cc__load(&t.torn, CC__RELAXED), 0);
	CHECK_EQ(cc__load(&t.absurd, CC__RELAXED), 0);
	cc__runq_fini(&t.queue);
	pthread_barrier_destroy(&t.start);
	free(t.frame);
}

/* Relaxed, all: the queue under test has to order what the frames carry. */
static struct cc__fiber *fresh(void)
{
	const uint32_t i = cc__add(&t.next, 1, CC__RELAXED);

	if (i >= t.count)
		return NULL;
	frame_load(&t.frame[i], i);
	return &t.frame[i];
}

static void took(struct cc__fiber *f)
{
	const size_t i = (size_t)(f - t.frame);

	if (!frame_holds(f, i))
		cc__add(&t.torn, 1, CC__RELAXED);
	memset(f->payload.bytes, 0xaa, sizeof f->payload.bytes);	/* ours alone */
	cc__add(&t.taken[i], 1, CC__RELAXED);
	cc__add(&t.all, 1, CC__RELAXED);
}

/* A length is a hint, of two positions at two moments; it never wraps. */
static void look(void)
{
	if (cc__runq_length(&t.queue) > CC__KINDS * t.count ||
	    cc__global_length(&t.global) > 2 * t.count)
		cc__add(&t.absurd, 1, CC__RELAXED);
}

static bool all_taken(void)
{
	look();
	return cc__load(&t.all, CC__RELAXED) >= t.count;
}

static void *start(void *(*main)(void *), unsigned n, pthread_t *thread)
{
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, main, NULL), 0);
	return NULL;
}

static void join(unsigned n, pthread_t *thread)
{
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}

/* ---- run queue: one owner, thieves with and without patience ---- */

static void *steal(void *arg)
{
	static cc__a32 thieves;
	const unsigned patience = cc__add(&thieves, 1, CC__RELAXED) % 2 * 100;
	struct cc__loot *loot = malloc(sizeof *loot);

	pthread_barrier_wait(&t.start);
	while (!all_taken())
		if (cc__runq_steal(&t.queue, CC__TAKE_ANY, patience, loot))
			for (unsigned i = 0; i < loot->count; i++)
				took(loot->fiber[i]);
		else
			sched_yield();
	free(loot);
	return arg;
}

/* The owner takes nothing until a thief has. */
static void wait_for_a_theft(void)
{
	for (unsigned n = 0; n < 400; n++)
		CHECK(cc__runq_push(&t.queue, fresh(), CC__FRESH));
	TEST_UNTIL(cc__load(&t.all, CC__ACQUIRE) > 0);
}

/* Bursts, so that the ring is long and empty in turn. */
static void own(uint64_t *seed)
{
	struct cc__fiber *f;

	for (uint64_t n = test_random(seed) % 400; n > 0 && (f = fresh()) != NULL; n--)
		CHECK(cc__runq_push(&t.queue, f, (enum cc__kind)(test_random(seed) % CC__KINDS)));
	for (uint64_t n = test_random(seed) % 400; n > 0; n--)
		if ((f = cc__runq_pop(&t.queue)) != NULL ||
		    (f = cc__runq_pop_kind(&t.queue, CC__URGENT)) != NULL)
			took(f);
	if (test_random(seed) % 4 == 0)
		cc__runq_trim(&t.queue);
}

TEST(run_queue_hands_out_each_fiber_once_and_whole)	/* covers: SCH-16/sz, SCH-20/u,
							 * LIF-58/sz */
{
	uint64_t seed = test_seed();
	pthread_t thief[THREADS];

	begin(THREADS + 1);
	start(steal, THREADS, thief);
	pthread_barrier_wait(&t.start);
	wait_for_a_theft();
	while (!all_taken())
		own(&seed);
	join(THREADS, thief);
	end();
}

/* ---- inbox: many push, many take ---- */

static void *push_inbox(void *arg)
{
	struct cc__fiber *f;

	pthread_barrier_wait(&t.start);
	while ((f = fresh()) != NULL)
		CHECK(cc__inbox_push(&t.inbox, f));
	return arg;
}

static void *take_inbox(void *arg)
{
	pthread_barrier_wait(&t.start);
	while (!all_taken()) {
		struct cc__fiber *oldest = cc__inbox_take(&t.inbox), *f;

		if (oldest == NULL)
			sched_yield();
		while ((f = cc__chain_pop(&oldest)) != NULL)
			took(f);
	}
	return arg;
}

/* Where the CPU itself keeps stores in order, a push that publishes too early is seen only if its
 * thread loses the CPU in between: so the pushers are interrupted all the time, and let others run
 * wherever that is. */
static void let_others_run(int number)
{
	(void)number;
	sched_yield();
}

static void interrupt_until_all_are_taken(unsigned n, const pthread_t *thread)
{
	for (unsigned i = 0; !all_taken(); i++)
		pthread_kill(thread[i % n], SIGUSR1);
}

TEST(inbox_hands_out_each_fiber_once_and_whole)	/* covers: SCH-16/sz, SCH-21/u */
{
	const unsigned rounds = test_rounds(ROUNDS);
	pthread_t pusher[THREADS], taker[THREADS];

	signal(SIGUSR1, let_others_run);
	for (unsigned i = 0; i < rounds; i++) {
		begin(2 * THREADS);
		start(push_inbox, THREADS, pusher);
		start(take_inbox, THREADS, taker);
		interrupt_until_all_are_taken(THREADS, pusher);
		join(THREADS, pusher);
		join(THREADS, taker);
		CHECK_EQ(cc__inbox_any(&t.inbox), 0);
		end();
	}
	signal(SIGUSR1, SIG_DFL);
}

/* Whatever a closed inbox does not take goes to the global queue, and all runs. */
static void *push_inbox_or_global(void *arg)
{
	struct cc__fiber *f;

	pthread_barrier_wait(&t.start);
	while ((f = fresh()) != NULL)
		if (!cc__inbox_push(&t.inbox, f))
			cc__global_push(&t.global, f);
	return arg;
}

TEST(inbox_that_closes_under_its_pushers_loses_nothing)
{
	pthread_t pusher[THREADS];
	struct cc__fiber *closed, *f;

	begin(THREADS + 1);
	start(push_inbox_or_global, THREADS, pusher);
	pthread_barrier_wait(&t.start);
	TEST_UNTIL(cc__inbox_length(&t.inbox) > 0 || cc__load(&t.next, CC__RELAXED) >= t.count);
	closed = cc__inbox_close(&t.inbox);
	while ((f = cc__chain_pop(&closed)) != NULL)
		took(f);
	join(THREADS, pusher);
	while ((f = cc__global_pop(&t.global)) != NULL)
		took(f);
	CHECK(!cc__inbox_any(&t.inbox));
	end();
}

/* ---- global queue: many push, many pop, through ring and list ---- */

static void *push_global(void *arg)
{
	struct cc__fiber *f;

	pthread_barrier_wait(&t.start);
	while ((f = fresh()) != NULL)
		cc__global_push(&t.global, f);
	return arg;
}

static void *pop_global(void *arg)
{
	pthread_barrier_wait(&t.start);
	while (!all_taken()) {
		struct cc__fiber *f = cc__global_pop(&t.global);

		if (f != NULL)
			took(f);
		else
			sched_yield();
	}
	return arg;
}

TEST(global_queue_hands_out_each_fiber_once_and_whole)	/* covers: SCH-16/sz */
{
	pthread_t pusher[THREADS], popper[THREADS];

	begin(2 * THREADS);
	start(push_global, THREADS, pusher);
	start(pop_global, THREADS, popper);
	join(THREADS, pusher);
	join(THREADS, popper);
	CHECK_EQ(cc__global_length(&t.global), 0);
	CHECK(t.global.first == NULL);
	end();
}
