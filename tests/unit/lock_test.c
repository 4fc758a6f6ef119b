/* lock_test.c - base/lock.h: one at a time, nobody forgotten, and the checks
 * of debug builds. */
#include "environment.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <ccc/ccc.h>

#include "base/lock.h"
#include "wait/thread.h"
#include "wait/wait.h"

/* ---- many threads ---- */

enum { MOST = 16 };

struct shared {
	struct cc__lock lock;
	unsigned rounds;
	bool lose_cpu;		/* yield inside: the others find it held and sleep */
	cc__a64 done;		/* rounds of all */
	uint64_t plain;		/* lock */
	uint64_t copy;		/* lock; always the same as plain outside of it */
	uint64_t torn;		/* lock */
};

static void *count_up(void *arg)
{
	struct shared *s = arg;

	for (unsigned i = 0; i < s->rounds && (i % 16 != 15 || test_has_time()); i++) {
		cc__lock(&s->lock, CC__RANK_WAITQ);
		s->torn += s->plain != s->copy;
		s->plain++;
		if (s->lose_cpu && i % 4 == 0)
			sched_yield();
		s->copy++;
		cc__unlock(&s->lock);
		cc__add(&s->done, 1, CC__RELAXED);
	}
	return NULL;
}

static void count_with(unsigned threads, unsigned rounds, bool lose_cpu)
{
	struct shared s = {.lock = CC__LOCK_INIT, .rounds = rounds, .lose_cpu = lose_cpu};
	pthread_t thread[MOST];

	for (unsigned i = 0; i < threads; i++)
		REQUIRE_EQ(pthread_create(&thread[i], NULL, count_up, &s), 0);
	for (unsigned i = 0; i < threads; i++)
		REQUIRE_EQ(pthread_join(thread[i], NULL), 0);
	CHECK(s.plain >= threads);
	CHECK_EQ(s.plain, cc__load(&s.done, CC__RELAXED));
	CHECK_EQ(s.torn, 0);
	CHECK_EQ(cc__peek(&s.lock.word), 0);
}

TEST(lock_lets_one_in_at_a_time)
{
	count_with(8, 100000 / test_slowness(), false);
}

/* Owners that lose the CPU inside: most of the others go to sleep.  One that
 * is not woken hangs, and the watchdog says so. */
TEST(lock_wakes_sleepers_when_there_are_more_threads_than_cpus)
{
	count_with(MOST, 5000 / test_slowness(), true);
}

TEST(lock_works_on_one_cpu)
{
	cpu_set_t before;

	REQUIRE_EQ(sched_getaffinity(0, sizeof before, &before), 0);
	REQUIRE(stay_on_one_cpu());
	count_with(8, 20000 / test_slowness(), false);
	count_with(8, 2000 / test_slowness(), true);
	CHECK_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

/* A lock in memory that its next owner reuses at once (L3): the unlock must
 * not come back to it. */
struct hand_over {
	struct cc__lock lock;
};

static void *take_and_scribble(void *arg)
{
	struct hand_over *h = arg;

	cc__lock(&h->lock, CC__RANK_WAITQ);
	cc__unlock(&h->lock);
	cc__store(&h->lock.word, 0x55555555, CC__RELAXED);
	return NULL;
}

TEST(lock_is_not_touched_after_it_was_dropped)
{
	for (unsigned i = 0; i < 300 / test_slowness(); i++) {
		struct hand_over h = {.lock = CC__LOCK_INIT};
		pthread_t thread;

		cc__lock(&h.lock, CC__RANK_WAITQ);
		REQUIRE_EQ(pthread_create(&thread, NULL, take_and_scribble, &h), 0);
		if (i % 2 == 0)		/* the other one sleeps on it */
			TEST_UNTIL(cc__load(&h.lock.word, CC__RELAXED) == 2);
		cc__unlock(&h.lock);
		pthread_join(thread, NULL);
		REQUIRE_EQ(cc__load(&h.lock.word, CC__RELAXED), 0x55555555);
	}
}

/* ---- what debug builds diagnose ---- */

#ifdef CC__DEBUG

static struct test_death death;
static struct cc__lock outer, inner;
static char outer_at[64], inner_at[64];

#define AT(place) (void)snprintf(place, sizeof place, "tests/unit/lock_test.c:%d\n", __LINE__)

/* Dies by abort, and its last words have all of these in this order. */
static void check_dies(void (*fn)(void *), void *arg, const char *const *words)
{
	const char *at = death.text;

	REQUIRE_EQ(test_dies(fn, arg, &death), 0);
	CHECK(!death.timed_out && WIFSIGNALED(death.status));
	CHECK_EQ(WTERMSIG(death.status), SIGABRT);
	for (; *words != NULL; words++) {
		const char *found = strstr(at, *words);

		if (!CHECK(found != NULL)) {
			printf("no \"%s\" in:\n%s", *words, death.text);
			return;
		}
		at = found;
	}
}

static void wrong_order(void *arg)
{
	(void)arg;
	cc__lock(&inner, CC__RANK_SLAB);
	cc__lock(&outer, CC__RANK_WAITQ);
}

static void same_rank(void *arg)
{
	(void)arg;
	cc__lock(&inner, CC__RANK_WAITQ);
	cc__lock(&outer, CC__RANK_WAITQ);
}

/* Both held, in order; the places go to the parent by being the same lines. */
static void hold_two(void)
{
	cc__lock(&outer, CC__RANK_RUNTIME), AT(outer_at);
	cc__lock(&inner, CC__RANK_WAITQ), AT(inner_at);
}

/* Fills outer_at and inner_at in this process. */
static void learn_places(void)
{
	hold_two();
	cc__unlock(&inner);
	cc__unlock(&outer);
}

static void park_thread_under_locks(void *arg)
{
	static cc__a32 flag;

	(void)arg;
	hold_two();
	cc__park_if(&flag, 0);
}

static int park_fiber_under_locks(void *arg)
{
	park_thread_under_locks(arg);
	return 0;
}

static void in_a_fiber(void *arg)
{
	cc_task_main **main = arg;
	CCTask t;

	if (cc_task_spawn(NULL, &t, NULL, *main, NULL) == 0)
		cc_ignore(cc_task_join(t, CC_FOREVER, NULL));
}

static int sleep_under_lock(void *arg)
{
	(void)arg;
	cc__lock(&outer, CC__RANK_RUNTIME);
	cc_sleep_until(cc_now() + CC_SEC);
	return 0;
}

static int join_under_lock(void *arg)
{
	CCTask t;

	(void)arg;
	if (cc_task_spawn(NULL, &t, NULL, sleep_under_lock, NULL) != 0)
		return 1;
	cc__lock(&outer, CC__RANK_RUNTIME);
	cc_ignore(cc_task_join(t, CC_FOREVER, NULL));
	return 0;
}

static void flush_under_locks(void *arg)
{
	struct cc__batch b = {.count = 1};

	(void)arg;
	b.wake[0].who = cc__self();
	hold_two();
	cc__batch_flush(&b);
}

static void wake_under_lock(void *arg)
{
	struct cc__waitq q = {0};
	struct cc__waiter w = {.who = cc__self()};

	(void)arg;
	cc__waitq_append(&q, &w);
	cc__lock(&outer, CC__RANK_RUNTIME);
	cc__wake_all(&q, CC__REASON_SIGNAL, 0);
}

static void unlock_not_held(void *arg)
{
	(void)arg;
	cc__lock(&outer, CC__RANK_WAITQ);
	cc__unlock(&inner);
}

static void nest_too_deep(void *arg)
{
	static struct cc__lock lock[CC__LOCK_STACK_MAX + 1];

	(void)arg;
	for (int i = 0; i <= CC__LOCK_STACK_MAX; i++)
		cc__lock(&lock[i], (enum cc__rank)(i + 1));
}

#endif

TEST(lock_order_violation_dies_and_names_the_lock)
{
#ifdef CC__DEBUG
	static const char *const words[] = {"libccc: LOCK-ORDER at tests/unit/lock_test.c:",
	                                    "holds the lock taken at tests/unit/lock_test.c:",
	                                    NULL};

	check_dies(wrong_order, NULL, words);
	check_dies(same_rank, NULL, words);
#else
	SKIP("no internal checks in this build");
#endif
}

TEST(park_under_lock_dies_and_shows_the_lock_stack)	/* covers: SCH-42/d, SCH-43/u, CHN-50/d, RES-75/d */
{
#ifdef CC__DEBUG
	const char *const words[] = {"libccc: PARK-UNDER-LOCK at ", "holds the lock taken at ",
	                             inner_at, "holds the lock taken at ", outer_at, NULL};
	static const char *const one[] = {"libccc: PARK-UNDER-LOCK at ",
	                                  "holds the lock taken at tests/unit/lock_test.c:", NULL};
	cc_task_main *fiber[] = {park_fiber_under_locks, sleep_under_lock, join_under_lock};

	learn_places();
	check_dies(park_thread_under_locks, NULL, words);
	check_dies(in_a_fiber, &fiber[0], words);
	check_dies(in_a_fiber, &fiber[1], one);
	check_dies(in_a_fiber, &fiber[2], one);
#else
	SKIP("no internal checks in this build");
#endif
}

TEST(flush_under_lock_dies_and_shows_the_lock_stack)	/* covers: SCH-43/u */
{
#ifdef CC__DEBUG
	const char *const words[] = {"libccc: WAKE-FLUSH-UNDER-LOCK at ",
	                             "holds the lock taken at ", inner_at,
	                             "holds the lock taken at ", outer_at, NULL};
	static const char *const one[] = {"libccc: WAKE-FLUSH-UNDER-LOCK at ",
	                                  "holds the lock taken at tests/unit/lock_test.c:", NULL};

	learn_places();
	check_dies(flush_under_locks, NULL, words);
	check_dies(wake_under_lock, NULL, one);
#else
	SKIP("no internal checks in this build");
#endif
}

TEST(unlock_of_a_lock_not_held_dies)
{
#ifdef CC__DEBUG
	static const char *const words[] = {"unlock of a lock this thread does not hold", NULL};

	check_dies(unlock_not_held, NULL, words);
#else
	SKIP("no internal checks in this build");
#endif
}

TEST(locks_that_nest_too_deeply_die)
{
#ifdef CC__DEBUG
	static const char *const words[] = {"L2: locks nest too deeply", NULL};

	check_dies(nest_too_deep, NULL, words);
#else
	SKIP("no internal checks in this build");
#endif
}

/* The stack of held locks is a set as to unlocking: any order will do. */
TEST(locks_are_dropped_in_any_order)
{
	struct cc__lock a = CC__LOCK_INIT, b = CC__LOCK_INIT, c = CC__LOCK_INIT;

	for (int i = 0; i < 100; i++) {
		cc__lock(&a, CC__RANK_RUNTIME);
		cc__lock(&b, CC__RANK_WAITQ);
		cc__unlock(&a);
		cc__lock(&c, CC__RANK_SLAB);
		cc__unlock(&b);
		cc__unlock(&c);
	}
	CHECK_EQ(cc__peek(&a.word) + cc__peek(&b.word) + cc__peek(&c.word), 0);
	CHECK_EQ(cc__lock_stack()->depth, 0);
}
