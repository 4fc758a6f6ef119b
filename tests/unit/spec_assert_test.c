/* spec_assert_test.c - a move that the matrix does not have stops the process:
 * under cc__watch, with CC_V3_SPEC_ASSERT=1, and in debug builds.  So does a fiber that is put
 * into a run queue and is not runnable. */
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "os/trace.h"
#include "sleepers.h"

static struct test_death death;

/* Runs fn(arg) in a child that must abort, and say all of `words` in order. */
static void check_dies(void (*fn)(void *), void *arg, const char *const *words)
{
	const char *at = death.text;

	REQUIRE_EQ(test_dies(fn, arg, &death), 0);
	CHECK(!death.timed_out);
	CHECK(WIFSIGNALED(death.status) && WTERMSIG(death.status) == SIGABRT);
	for (; *words != NULL; words++) {
		if (!CHECK((at = strstr(at, *words)) != NULL)) {
			printf("\tno '%s' in:\n%.2000s\n", *words, death.text);
			return;
		}
	}
}

static const char *const not_in_table[] = {
    "libccc: src/wait/word.c:", "word: a move that the table does not have", NULL};

static struct cc__parker parker(enum cc__state state)
{
	struct cc__parker p;

	cc__init(&p.word, (uint64_t)5 << CC__TICKET_SHIFT | 1 << CC__OWNER_SHIFT | (uint64_t)state);
	return p;
}

/* ---- the switch ---- */

/* A wait that changes its ticket by two. */
static void skip_a_ticket(void *arg)
{
	struct cc__parker p = parker(CC__OWNED);

	cc__watch(*(uint32_t *)arg);
	cc__word_enter(&p, cc__load(&p.word, CC__RELAXED), (uint64_t)7 << CC__TICKET_SHIFT);
}

/* A parked fiber that somebody just makes run. */
static void run_parked(void *arg)
{
	struct cc__parker p = parker(CC__PARKED);

	cc__watch(*(uint32_t *)arg);
	CC__WORD_SET(&p, cc__load(&p.word, CC__RELAXED),
	             cc__word_with(cc__load(&p.word, CC__RELAXED), CC__DONE), CC__RELEASE);
}

/* A real fiber whose word is spoiled while it sleeps: the wake does not mind,
 * its worker's next move does. */
static int spoil_my_word(void *arg)
{
	struct cc__parker *self = cc__self();
	const uint64_t w = word_of(self);

	(void)arg;
	cc__watch_move(cc__watch_begin(), self, w, cc__word_with(w, CC__PARKED));
	return 0;
}

static void spoil_a_fiber(void *arg)
{
	CCRuntime *rt = test_runtime();
	CCTask t;

	cc__watch(*(uint32_t *)arg);
	if (cc_task_spawn(rt, &t, NULL, spoil_my_word, NULL) == 0)
		cc_ignore(cc_task_join(t, CC_FOREVER, NULL));
}

TEST(illegal_move_dies_when_it_is_watched)	/* covers: LIF-71/d, LIF-67/d */
{
	uint32_t assert = CC__WATCH_ASSERT, both = CC__WATCH_ASSERT | CC__WATCH_TRACE;
	static const char *const traced[] = {"a move that the table does not have", "\ntrace ",
	                                     " move ", NULL};

	check_dies(skip_a_ticket, &assert, not_in_table);
	check_dies(run_parked, &assert, not_in_table);
	check_dies(spoil_a_fiber, &assert, not_in_table);
	/* With the log on, its end is shown. */
	check_dies(skip_a_ticket, &both, traced);
	check_dies(spoil_a_fiber, &both, traced);
}

TEST(illegal_move_goes_unseen_when_nobody_watches)
{
	uint32_t none = 0, trace = CC__WATCH_TRACE;

	CHECK_EQ(test_dies(run_parked, &none, &death), 0);
	CHECK(WIFEXITED(death.status) && WEXITSTATUS(death.status) == 0);
	CHECK_EQ(test_dies(run_parked, &trace, &death), 0);
	CHECK(WIFEXITED(death.status) && WEXITSTATUS(death.status) == 0);
}

/* A program's ordinary life, watched. */
static int sleep_a_little(void *arg)
{
	(void)arg;
	cc_yield();
	return cc_sleep_until(cc_now() + CC_MSEC);
}

static void live(void *arg)
{
	CCRuntime *rt = test_runtime();
	CCTask t[10];

	cc__watch(*(uint32_t *)arg);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(cc_task_spawn(rt, &t[i], NULL, sleep_a_little, NULL), 0);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(cc_task_join(t[i], CC_FOREVER, NULL), 0);
	if (cc_runtime_free(rt) != 0)
		_Exit(1);
}

TEST(legal_moves_are_let_through)	/* covers: LIF-67/u */
{
	uint32_t both = CC__WATCH_ASSERT | CC__WATCH_TRACE;

	CHECK_EQ(test_dies(live, &both, &death), 0);
	CHECK(WIFEXITED(death.status) && WEXITSTATUS(death.status) == 0);
	CHECK_STR(death.text, "");
}

/* ---- the variable ---- */

static void set_variable(const char *value)
{
	if (value != NULL)
		setenv("CC_V3_SPEC_ASSERT", value, 1);
	else
		unsetenv("CC_V3_SPEC_ASSERT");
}

/* Says by its end whether the checks are on. */
static void watch_by_variable(void *arg)
{
	cc__watch(0);
	set_variable(arg);
	test_runtime();
	_Exit(cc__load(&cc__watching, CC__RELAXED) & CC__WATCH_ASSERT ? 1 : 0);
}

static int exit_with(const char *value)
{
	CHECK_EQ(test_dies(watch_by_variable, (void *)(uintptr_t)value, &death), 0);
	return WIFEXITED(death.status) ? WEXITSTATUS(death.status) : -1;
}

static void spoil_by_variable(void *arg)
{
	CCRuntime *rt;
	CCTask t;

	(void)arg;
	cc__watch(0);
	set_variable("1");
	rt = test_runtime();
	if (cc_task_spawn(rt, &t, NULL, spoil_my_word, NULL) == 0)
		cc_ignore(cc_task_join(t, CC_FOREVER, NULL));
}

TEST(variable_turns_the_checks_on)	/* covers: LIF-71/d */
{
	CHECK_EQ(exit_with("1"), 1);
	CHECK_EQ(exit_with("0"), 0);
	CHECK_EQ(exit_with(NULL), 0);
	check_dies(spoil_by_variable, NULL, not_in_table);
}

/* ---- what is put into run queues ---- */

static int sleep_for_ever(void *arg)
{
	cc__a32 flag = {0};

	(void)arg;
	while (cc__load(&flag, CC__RELAXED) == 0)
		cc__park_if(&flag, 0);
	return 0;
}

static int schedule(void *who)
{
	cc__schedule(who);
	return 0;
}

static int wake_and_schedule(void *who)
{
	/* The wake claims and enqueues; the second is a stale entry. */
	cc__unpark(who);
	cc__schedule(who);
	return 0;
}

/* A parked fiber is handed to a fiber that does something with it.  With one worker nobody
 * else claims it in between. */
static void treat_parked(int (*how)(void *))
{
	CCRuntime *rt = test_runtime_of(1);
	struct sleeper s;
	CCTask t;

	sleeper_start(&s, rt, FIBER, sleep_for_ever, NULL);
	if (cc_task_spawn(rt, &t, NULL, how, until_parked(&s)) == 0)
		cc_ignore(cc_task_join(t, CC_FOREVER, NULL));
	sleeper_join(&s);
}

static void enqueue_parked_outside(void *arg)
{
	CCRuntime *rt;
	struct sleeper s;

	cc__watch(0);
	set_variable(arg);
	rt = test_runtime();
	sleeper_start(&s, rt, FIBER, sleep_for_ever, NULL);
	cc__schedule(until_parked(&s));
	sleeper_join(&s);
}

static void enqueue_parked_inside(void *arg)
{
	cc__watch(0);
	set_variable(arg);
	treat_parked(schedule);
}

static void enqueue_twice(void *arg)
{
	cc__watch(0);
	set_variable(arg);
	treat_parked(wake_and_schedule);
}

/* In every build: in the inbox of another worker and in the caller's own queue. */
TEST(variable_stops_what_is_not_runnable_at_the_run_queue)	/* covers: LIF-76/d, LIF-24/d */
{
	static const char *const parked[] = {"schedule: a fiber that is not runnable", NULL};

	check_dies(enqueue_parked_outside, (void *)(uintptr_t) "1", parked);
	check_dies(enqueue_parked_inside, (void *)(uintptr_t) "1", parked);
}

/* An entry that is stale was legal when it was queued: it is found when it is claimed (RES-64). */
TEST(variable_stops_a_stale_entry_when_it_is_claimed)	/* covers: LIF-76/d, SCH-29/f */
{
#ifdef CC__DEBUG
	static const char *const words[] = {"word: transition from the wrong state", NULL};
#else
	static const char *const words[] = {"word: a move that the table does not have", NULL};
#endif

	check_dies(enqueue_twice, (void *)(uintptr_t) "1", words);
}

/* ---- what debug builds assert by themselves ---- */

#ifdef CC__DEBUG

static void claim_unclaimed(void *arg)
{
	struct cc__parker p = parker(CC__PARKED);

	(void)arg;
	cc__word_requeue(&p);
}

static void remove_twice(void *arg)
{
	struct cc__waitq q = {0};
	struct cc__waiter w = {0};

	(void)arg;
	cc__waitq_append(&q, &w);
	cc__waitq_remove(&q, &w);
	cc__waitq_remove(&q, &w);
}

static void list_twice(void *arg)
{
	struct cc__waitq a = {0}, b = {0};
	struct cc__waiter w = {0};

	(void)arg;
	cc__waitq_append(&a, &w);
	cc__waitq_append(&b, &w);
}

static bool try_in_vain(void *object, struct cc__waiter *w)
{
	(void)object, (void)w;
	return false;
}

/* A waitable that waits while its sleeper is being listed. */
static bool publish_and_wait(void *object, struct cc__waiter *w)
{
	struct cc__waiter inner = {0};

	(void)w;
	cc__lock(&((struct cc__waitq *)object)->lock, CC__RANK_WAITQ);
	cc__wait(object, &inner, cc_now() + CC_MSEC);
	return false;
}

static void wait_inside_a_wait(void *arg)
{
	static const struct cc__waitable_ops ops = {try_in_vain, publish_and_wait, NULL};
	struct cc__waitq q = {0};
	struct cc__waiter w = {0};

	(void)arg;
	cc__fiber_wait(&q, &ops, &w, CC_FOREVER);
}

static void abort_outside(void *arg)
{
	struct cc__parker p = parker(CC__OWNED);

	(void)arg;
	cc__word_abort(&p);
}

static void commit_outside(void *arg)
{
	struct cc__parker p = parker(CC__QUEUED);

	(void)arg;
	cc__word_commit(&p);
}
#endif

/* An entry that is stale is told apart when it is claimed (RES-64), at the latest. */
TEST(what_is_not_runnable_dies_in_the_run_queue)
/* covers: LIF-16/d, LIF-24/d, LIF-74/d, SCH-29/f */
{
#ifdef CC__DEBUG
	static const char *const words[] = {"word: transition from the wrong state", NULL};
	static const char *const parked[] = {"schedule: a fiber that is not runnable", NULL};

	check_dies(enqueue_parked_outside, NULL, parked);
	check_dies(enqueue_twice, NULL, words);
	check_dies(claim_unclaimed, NULL, words);
#else
	SKIP("no internal checks in this build");
#endif
}

TEST(waiter_on_two_lists_or_taken_off_twice_dies)	/* covers: LIF-74/d, CHN-02/d */
{
#ifdef CC__DEBUG
	static const char *const off[] = {"W1: waiter taken off twice", NULL};
	static const char *const on[] = {"W1: waiter on two lists", NULL};

	check_dies(remove_twice, NULL, off);
	check_dies(list_twice, NULL, on);
#else
	SKIP("no internal checks in this build");
#endif
}

TEST(wait_inside_a_wait_dies)	/* covers: LIF-74/d */
{
#ifdef CC__DEBUG
	static const char *const words[] = {"W1: a wait inside a wait", NULL};

	check_dies(wait_inside_a_wait, NULL, words);
#else
	SKIP("no internal checks in this build");
#endif
}

TEST(park_that_nobody_began_dies)	/* covers: LIF-74/d */
{
#ifdef CC__DEBUG
	static const char *const words[] = {"word: abort outside PARKING", NULL};
	static const char *const commit[] = {"word: commit outside PARKING", NULL};

	check_dies(abort_outside, NULL, words);
	check_dies(commit_outside, NULL, commit);
#else
	SKIP("no internal checks in this build");
#endif
}
