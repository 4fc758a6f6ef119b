/* hold_test.c - CC_DEBUG_HOLD names who is parked while he holds a lock, and nobody else.
 *
 * Each test looks at what a child process has written.  In there the thread that looks for
 * them is waited for by how often it has looked, and by how many lines it has written. */
#include "environment.h"
#include "tasks.h"
#include "test.h"
#include "workers.h"

#include <ccc/ccc.h>

#include <pthread.h>

#include "monitor/hold.h"

/* ---- what can be waited for, and how all of it ends ---- */

static CCMutex mutex, outer;
static CCRwlock rwlock;
static CCSemaphore semaphore;
static CCCond cond;
static CCChan *chan;
static CCToken *token;
static uint32_t word;
static int ends[2];
static cc__a32 over, locked;
static CCRuntime *rt;

static bool is_over(void)
{
	return cc__load(&over, CC__ACQUIRE) != 0;
}

static void release(void)
{
	cc__store(&over, 1, CC__RELEASE);
	cc__add((cc__a32 *)(void *)&word, 1, CC__RELEASE);
	if (cc_chan_close(chan) != 0 || cc_token_set(token) != 0 || write(ends[1], "", 1) != 1 ||
	    cc_semaphore_post(&semaphore, 1) != 0 ||
	    cc_park_wake(cc_park_space(), &word, UINT32_MAX, NULL) != 0)
		_exit(10);
}

static void in_recv(void)
{
	char byte;

	if (cc_chan_recv(chan, &byte, 1) != EPIPE)
		_exit(11);
}

static void in_timed_recv(void)
{
	char byte;

	if (cc_chan_recv_until(chan, &byte, 1, cc_now() + 3600 * CC_SEC) != EPIPE)
		_exit(11);
}

static void in_select(void)
{
	char byte;
	const CCCase cases[] = {cc_case_recv(chan, &byte, 1), cc_case_token(token)};
	size_t which;
	const int err = cc_select(cases, 2, CC_FOREVER, &which);

	if (err != 0 && err != EPIPE)
		_exit(12);
}

static void in_token(void)
{
	if (cc_token_wait(token, CC_FOREVER) != 0)
		_exit(13);
}

static void in_sleep(void)
{
	while (!is_over())
		if (cc_sleep_ms(20) != 0)
			_exit(14);
}

static int until_over(void *arg)
{
	TEST_UNTIL(is_over());
	(void)arg;
	return 0;
}

static int child_until_over(void *arg)
{
	cc__add(&locked, 1, CC__RELEASE);
	in_token();
	(void)arg;
	return 0;
}

static void in_blocking(void)
{
	int result;

	if (cc_blocking(until_over, NULL, &result) != 0)
		_exit(15);
}

static void in_join(void)
{
	CCTask t = spawn(rt, child_until_over, NULL);

	if (cc_task_join(t, cc_now() + 3600 * CC_SEC, NULL) != 0)
		_exit(16);
}

/* The child runs on the stack of who joins, unless it is quicker. */
static void in_join_in_place(void)
{
	join(spawn(rt, child_until_over, NULL));
}

static void in_nursery(void)
{
	CCNursery n;

	if (cc_nursery_init(&n, NULL) != 0 ||
	    cc_nursery_spawn(&n, NULL, child_until_over, NULL) != 0)
		_exit(17);
	while (cc__load(&locked, CC__ACQUIRE) == 1)	/* else it runs on our stack */
		cc_yield();
	if (cc_nursery_join(&n) != 0)
		_exit(17);
}

static void in_fd(void)
{
	if (cc_wait_fd(ends[0], CC_FD_READ, CC_FOREVER) != 0)
		_exit(18);
}

static void in_semaphore(void)
{
	if (cc_semaphore_wait(&semaphore) != 0)
		_exit(19);
}

static void in_word(void)
{
	if (cc_park_wait(cc_park_space(), &word, 0, CC_FOREVER, NULL) != 0)
		_exit(20);
}

/* ---- who locks, and who waits for it ---- */

static void must(int err)
{
	if (err != 0)
		_exit(21);
}

static void keep_mutex(void (*wait)(void))
{
	must(cc_mutex_lock(&mutex));
	cc__add(&locked, 1, CC__RELEASE);
	wait();
	must(cc_mutex_unlock(&mutex));
}

static void keep_rwlock(void (*wait)(void))
{
	must(cc_rwlock_write(&rwlock));
	cc__add(&locked, 1, CC__RELEASE);
	wait();
	must(cc_rwlock_unlock(&rwlock));
}

static void keep_to_read(void (*wait)(void))
{
	must(cc_rwlock_read(&rwlock));
	cc__add(&locked, 1, CC__RELEASE);
	wait();
	must(cc_rwlock_unlock(&rwlock));
}

typedef void keep_fn(void (*wait)(void));

struct keeper {
	keep_fn *keep;
	void (*wait)(void);
};

static int keeper_task(void *arg)
{
	const struct keeper *k = arg;

	k->keep(k->wait);
	return 0;
}

static void *keeper_thread(void *arg)
{
	keeper_task(arg);
	return NULL;
}

static int wants_it(void *arg)
{
	const struct keeper *k = arg;

	if (k->keep == keep_mutex) {
		must(cc_mutex_lock(&mutex));
		must(cc_mutex_unlock(&mutex));
	} else {
		must(cc_rwlock_read(&rwlock));
		must(cc_rwlock_unlock(&rwlock));
	}
	return 0;
}

/* ---- the child process ---- */

static void begin(unsigned workers)
{
	CCConfig c;

	clear_variables();
	setenv("CC_DEBUG_HOLD", "1", 1);
	must(cc_config_init(&c));
	only_workers(&c, workers);
	must(cc_runtime_new(&rt, &c));
	must(cc_chan_create(&chan, 1, 0, NULL));
	must((token = cc_token_new()) == NULL);
	must(pipe(ends));
}

/* All have been looked at several times: for longer than what is reported. */
static void until_looked(void)
{
	const uint64_t looks = cc__hold_looks();

	TEST_UNTIL(cc__hold_looks() >= looks + 10);
}

static void say_ids(CCTask a, CCTask b)
{
	char line[64];

	snprintf(line, sizeof line, "ids %d %d\n", (int)a.id, (int)b.id);
	fputs(line, stderr);
}

static CCTask spawn_keeper(struct keeper *k)
{
	CCTask t = {0};

	must(cc_task_spawn(rt, &t, &(CCTaskOptions){.name = "keeper"}, keeper_task, k));
	return t;
}

/* A task keeps it: told without anybody who waits, then with. */
static void task_keeps(void *arg)
{
	struct keeper *k = arg;
	CCTask keeper, other;

	begin(2);
	keeper = spawn_keeper(k);
	TEST_UNTIL(cc__hold_lines() == 1);
	other = spawn(rt, wants_it, k);
	TEST_UNTIL(cc__hold_lines() == 2);
	until_looked();
	if (cc__hold_lines() != 2)
		_exit(30);
	release();
	join(keeper);
	join(other);
	say_ids(keeper, other);
	must(cc_runtime_free(rt));
}

static void thread_keeps(void *arg)
{
	struct keeper *k = arg;
	pthread_t keeper;
	CCTask other;

	begin(1);
	must(pthread_create(&keeper, NULL, keeper_thread, k));
	TEST_UNTIL(cc__hold_lines() == 1);
	other = spawn(rt, wants_it, k);
	TEST_UNTIL(cc__hold_lines() == 2);
	release();
	must(pthread_join(keeper, NULL));
	join(other);
	say_ids(other, other);
	must(cc_runtime_free(rt));
}

static struct test_death death;
static int ids[2];

static const char *said(void (*run)(void *), void *arg)
{
	const char *at;

	CHECK_EQ(test_dies(run, arg, &death), 0);
	if (!CHECK_EQ(death.status, 0))
		printf("%s\n", death.text);
	ids[0] = ids[1] = 0;
	if ((at = strstr(death.text, "ids ")) != NULL)
		CHECK_EQ(sscanf(at, "ids %d %d", &ids[0], &ids[1]), 2);
	return death.text;
}

static void check_line(const char *text, const char *format, int a)
{
	char line[128];

	snprintf(line, sizeof line, format, a);
	if (!CHECK(strstr(text, line) != NULL))
		printf("\tno '%s' in:\n%s\n", line, text);
}

/* ---- who is told of ---- */

static const struct {
	void (*wait)(void);
	const char *text;	/* parked ... */
} waits[] = {
    {in_recv, "at the channel at 0x"},
    {in_timed_recv, "at the channel at 0x"},
    {in_select, "in a select of 2 for"},
    {in_token, "for the token at 0x"},
    {in_sleep, "in a sleep for"},
    {in_blocking, "for a blocking call for"},
    {in_join, "for the end of task "},
    {in_join_in_place, "for the end of task "},
    {in_nursery, "for its children for"},
    {in_fd, "for descriptor "},
    {in_semaphore, "for the semaphore at 0x"},
    {in_word, "on the word at 0x"},
};

TEST(hold_tells_of_a_task_whatever_it_waits_for)	/* covers: RES-75/u */
{
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
		struct keeper k = {keep_mutex, waits[i].wait};
		const char *text = said(task_keeps, &k);
		char line[128];

		snprintf(line, sizeof line, "libccc: hold: task %%d keeper has been parked %s",
		         waits[i].text);
		check_line(text, line, ids[0]);
		check_line(text, " ms and holds the mutex at 0x", 0);
		check_line(text, ", locked at 0x", 0);
		check_line(text, "; nobody waits for it\n", 0);
		check_line(text, "; task %d waits for it\n", ids[1]);
	}
}

TEST(hold_tells_of_a_writer)
{
	struct keeper k = {keep_rwlock, in_recv};
	const char *text = said(task_keeps, &k);

	check_line(text, "libccc: hold: task %d keeper has been parked at the channel", ids[0]);
	check_line(text, " ms and holds the rwlock at 0x", 0);
	check_line(text, "; task %d waits for it\n", ids[1]);
}

TEST(hold_tells_of_a_thread_whatever_it_waits_for)
{
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
		struct keeper k = {keep_mutex, waits[i].wait};
		const char *text;
		char line[128];

		if (waits[i].wait == in_blocking || waits[i].wait == in_nursery)
			continue;	/* made by the thread itself; of a runtime */
		text = said(thread_keeps, &k);
		check_line(text, "libccc: hold: thread 0x", 0);
		snprintf(line, sizeof line, " has been parked %s", waits[i].text);
		check_line(text, line, 0);
		check_line(text, "; task %d waits for it\n", ids[0]);
	}
}

/* Two that wait for each other: nobody else would tell. */
static int first_then_second(void *arg)
{
	must(cc_mutex_lock(&mutex));
	cc__add(&locked, 1, CC__RELEASE);
	while (cc__load(&locked, CC__ACQUIRE) < 2)
		cc_yield();
	must(cc_mutex_lock(&outer));
	(void)arg;
	return 0;
}

static int second_then_first(void *arg)
{
	must(cc_mutex_lock(&outer));
	cc__add(&locked, 1, CC__RELEASE);
	while (cc__load(&locked, CC__ACQUIRE) < 2)
		cc_yield();
	must(cc_mutex_lock(&mutex));
	(void)arg;
	return 0;
}

static void deadlock(void *arg)
{
	CCTask a, b;

	begin(1);
	a = spawn(rt, first_then_second, NULL);
	b = spawn(rt, second_then_first, NULL);
	TEST_UNTIL(cc__hold_lines() == 2);
	say_ids(a, b);
	(void)arg;
	_exit(0);
}

TEST(hold_tells_who_holds_what_in_a_deadlock)
{
	const char *text = said(deadlock, NULL);

	check_line(text, ", which task %d holds, for ", ids[0]);
	check_line(text, ", which task %d holds, for ", ids[1]);
	check_line(text, "; task %d waits for it\n", ids[0]);
	check_line(text, "; task %d waits for it\n", ids[1]);
}

/* ---- each place once ---- */

/* One place, whatever a compiler makes of a loop. */
static __attribute__((noinline)) void lock_here(void)
{
	must(cc_mutex_lock(&mutex));
	cc__add(&locked, 1, CC__RELEASE);
}

static int keep_twice(void *arg)
{
	uint64_t lines = 0;

	for (int i = 0; i < 2; i++) {
		lock_here();
		do
			must(cc_sleep_ms(20));
		while (i == 0 && (lines = cc__hold_lines()) == 0);
		for (uint64_t looks = cc__hold_looks(); cc__hold_looks() < looks + 10;)
			must(cc_sleep_ms(20));
		must(cc_mutex_unlock(&mutex));
	}
	(void)arg;
	return (int)lines;
}

static void twice(void *arg)
{
	CCTask t;

	begin(1);
	t = spawn(rt, keep_twice, NULL);
	if (join(t) != 1 || cc__hold_lines() != 1)
		_exit(31);
	must(cc_runtime_free(rt));
	(void)arg;
}

TEST(hold_tells_of_a_place_once)
{
	said(twice, NULL);
}

/* ---- who is not ---- */

static int not_held(void *arg)
{
	(void)arg;
	must(cc_mutex_lock(&mutex));
	must(cc_mutex_unlock(&mutex));
	in_recv();
	return 0;
}

static int not_written(void *arg)
{
	(void)arg;
	must(cc_rwlock_write(&rwlock));
	must(cc_rwlock_unlock(&rwlock));
	in_recv();
	return 0;
}

static int waits_for_signal(void *arg)
{
	(void)arg;
	must(cc_mutex_lock(&mutex));
	while (!is_over())
		must(cc_cond_wait(&cond, &mutex));
	must(cc_mutex_unlock(&mutex));
	return 0;
}

static int unlocked_by_another(void *arg)
{
	(void)arg;
	must(cc_mutex_lock(&mutex));
	cc__store(&locked, 1, CC__RELEASE);
	while (cc__load(&locked, CC__ACQUIRE) == 1)
		cc_yield();
	in_recv();
	return 0;
}

static int nests(void *arg)
{
	(void)arg;
	must(cc_mutex_lock(&outer));
	must(cc_mutex_lock(&mutex));
	must(cc_mutex_unlock(&mutex));
	must(cc_mutex_unlock(&outer));
	return 0;
}

static int reads(void *arg)
{
	(void)arg;
	keep_to_read(in_recv);
	return 0;
}

/* One task in something that is not to be told of, until all have looked. */
static void quiet(void *main)
{
	CCTask t;

	begin(1);
	if (main == (void *)(uintptr_t)nests)
		must(cc_mutex_lock(&mutex));
	t = spawn(rt, (cc_task_main *)(uintptr_t)main, NULL);
	if (main == (void *)(uintptr_t)unlocked_by_another) {
		TEST_UNTIL(cc__load(&locked, CC__ACQUIRE) == 1);
		must(cc_mutex_unlock(&mutex));
		cc__store(&locked, 2, CC__RELEASE);
	}
	TEST_UNTIL(state_of(t) == CC__PARKED);
	until_looked();
	if (cc__hold_lines() != 0)
		_exit(32);
	release();
	if (main == (void *)(uintptr_t)nests)
		must(cc_mutex_unlock(&mutex));
	while (main == (void *)(uintptr_t)waits_for_signal && state_of(t) != CC__DONE) {
		cc_cond_signal(&cond);
		sched_yield();
	}
	join(t);
	must(cc_runtime_free(rt));
}

static void check_quiet(cc_task_main *main)
{
	CHECK(strstr(said(quiet, (void *)(uintptr_t)main), "hold:") == NULL);
}

TEST(hold_does_not_tell_of_who_has_unlocked)
{
	check_quiet(not_held);
	check_quiet(not_written);
}

TEST(hold_does_not_tell_of_who_waits_for_a_signal)
{
	check_quiet(waits_for_signal);
}

TEST(hold_does_not_tell_of_who_was_unlocked_by_another)
{
	check_quiet(unlocked_by_another);
}

TEST(hold_does_not_tell_of_nested_locks_that_nobody_waits_for)
{
	check_quiet(nests);
}

TEST(hold_does_not_tell_of_readers)
{
	check_quiet(reads);
}

/* Whoever is back from a wait and runs.  Should the machine hold him up in it, he is told of
 * rightly: then once more, from another place. */
static void come_back(bool in_poll)
{
	static cc__a32 flag;

	if (in_poll)
		must(cc_wait_fd(ends[1], CC_FD_WRITE, CC_FOREVER));
	else
		cc__park_if(&flag, 1);
}

#define BACK_IN_SILENCE(in_poll) \
	(must(cc_mutex_lock(&mutex)), come_back(in_poll), until_looked(), \
	 must(cc_mutex_unlock(&mutex)), said_nothing(&lines))

static bool said_nothing(uint64_t *lines)
{
	const uint64_t before = *lines;

	return (*lines = cc__hold_lines()) == before;
}

static int back(void *in_poll)
{
	uint64_t lines = 0;

	return BACK_IN_SILENCE(in_poll != NULL) || BACK_IN_SILENCE(in_poll != NULL) ||
	       BACK_IN_SILENCE(in_poll != NULL);
}

static void back_from_waits(void *in_poll)
{
	begin(1);
	if (in_poll != NULL ? !back(in_poll) : !join(spawn(rt, back, NULL)))
		_exit(35);
	must(cc_runtime_free(rt));
}

TEST(hold_does_not_tell_of_who_runs)
{
	static char in_poll;

	said(back_from_waits, NULL);
	said(back_from_waits, &in_poll);
}

/* On one worker it locks, on another it unlocks, and parks after that.  While a hog has one
 * worker, it runs on the other. */
static int moves(void *arg)
{
	unsigned before;
	bool moved = false;

	(void)arg;
	must(cc_mutex_lock(&mutex));
	before = here();
	while (!moved) {
		struct gate g = {0};
		CCTask hog = spawn(NULL, hold_worker_at, &g);

		while (cc__load(&g.arrived, CC__ACQUIRE) == 0)
			cc_yield();
		if ((moved = here() != before))
			must(cc_mutex_unlock(&mutex));
		open_gate(&g);
		while (cc_task_join(hog, CC_NOW, NULL) == EAGAIN)	/* others park */
			cc_yield();
	}
	in_recv();
	return 0;
}

static void lock_and_move(void *arg)
{
	CCTask t;

	(void)arg;
	begin(2);
	t = spawn(rt, moves, NULL);
	TEST_UNTIL(state_of(t) == CC__PARKED);
	until_looked();
	if (cc__hold_lines() != 0)
		_exit(33);
	release();
	join(t);
	must(cc_runtime_free(rt));
}

TEST(hold_follows_who_moves_to_another_worker)
{
	said(lock_and_move, NULL);
}

/* ---- off ---- */

static void off(void *arg)
{
	CCConfig c;
	CCTask t;

	(void)arg;
	clear_variables();
	must(cc_config_init(&c));
	must(cc_runtime_new(&rt, &c));
	must(cc_chan_create(&chan, 1, 0, NULL));
	must((token = cc_token_new()) == NULL);
	must(pipe(ends));
	t = spawn(rt, keeper_task, &(struct keeper){keep_mutex, in_recv});
	TEST_UNTIL(state_of(t) == CC__PARKED);
	must(cc_sleep_ms(20));
	release();
	join(t);
	if (cc__hold_looks() != 0 || cc__hold_lines() != 0)
		_exit(34);
	must(cc_runtime_free(rt));
}

TEST(hold_off_looks_at_nothing)
{
	CHECK_EQ(said(off, NULL)[0], 0);
}
