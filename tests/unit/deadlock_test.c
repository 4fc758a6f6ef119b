/* deadlock_test.c - a program in which nothing can run again is told so and ends; one in which
 * something can is left alone.
 *
 * Each program is a child process.  It has its own threads only: the verdict counts them. */
#include "environment.h"
#include "tasks.h"
#include "test.h"

#include <ccc/ccc.h>
#include <ccc/debug.h>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "os/census.h"
#include "os/tools.h"

/* What the kernel counts is what the process has: not with the thread of ThreadSanitizer, nor in
 * an emulator that has threads of its own. */
static bool counts(void)
{
#ifdef CC__TSAN
	return false;
#else
	return getenv("TEST_EMULATED") == NULL && cc__census() == 1;
#endif
}

#define NEEDS_COUNTS() \
	do { \
		if (!counts()) \
			SKIP("other threads are in this process"); \
	} while (0)

static void must(int err)
{
	if (err != 0)
		_exit(40);
}

static void outside_for(cc_time span)
{
	const struct timespec t = {span / CC_SEC, span % CC_SEC};

	nanosleep(&t, NULL);
}

/* ---- broken programs ---- */

static CCMutex left, right;
static CCSemaphore semaphore;
static CCCond cond;
static CCChan *chan, *other;
static CCTask tasks[2];

static int send_ten(void *arg)
{
	for (int i = 0; i < 10; i++)
		must(cc_chan_send(arg, &i, sizeof i));
	return 0;
}

static int receive_all(void *arg)
{
	for (int v; cc_chan_recv(arg, &v, sizeof v) == 0;)
		continue;
	return 0;
}

static void main_receives(void *unused)
{
	int err;

	(void)unused;
	chan = cc_chan_new(sizeof(int), 4);
	cc_nursery_scope(n, &err) {
		must(cc_nursery_spawn(n, NULL, send_ten, chan));
		receive_all(chan);
	}
}

static void fiber_receives(void *unused)
{
	int err;

	(void)unused;
	chan = cc_chan_new(sizeof(int), 4);
	cc_nursery_scope(n, &err) {
		must(cc_nursery_spawn(n, NULL, send_ten, chan));
		must(cc_nursery_spawn(n, &(CCTaskOptions){.name = "reader"}, receive_all, chan));
	}
}

static int lock_both(void *first)
{
	must(cc_mutex_lock(first));
	must(cc_sleep_ms(20));
	return cc_mutex_lock(first == &left ? &right : &left);
}

static void two_mutexes(void *unused)
{
	int err;

	(void)unused;
	cc_nursery_scope(n, &err) {
		must(cc_nursery_spawn(n, &(CCTaskOptions){.name = "one"}, lock_both, &left));
		must(cc_nursery_spawn(n, &(CCTaskOptions){.name = "two"}, lock_both, &right));
	}
}

static void own_mutex(void *unused)
{
	(void)unused;
	must(cc_mutex_lock(&left));
	must(cc_mutex_lock(&left));
}

static int send_then_receive(void *first)
{
	int v = 1;

	must(cc_chan_send(first, &v, sizeof v));
	return cc_chan_recv(first == chan ? other : chan, &v, sizeof v);
}

static void two_rendezvous(void *unused)
{
	int err;

	(void)unused;
	chan = cc_chan_new(sizeof(int), 0);
	other = cc_chan_new(sizeof(int), 0);
	cc_nursery_scope(n, &err) {
		must(cc_nursery_spawn(n, NULL, send_then_receive, chan));
		must(cc_nursery_spawn(n, NULL, send_then_receive, other));
	}
}

static void send_to_oneself(void *unused)
{
	int v = 1;

	(void)unused;
	chan = cc_chan_new(sizeof v, 0);
	must(cc_chan_send(chan, &v, sizeof v));
}

static void child_reads_autoclosed(void *unused)
{
	int err;

	(void)unused;
	chan = cc_chan_new(sizeof(int), 16);
	cc_nursery_scope(n, &err) {
		must(cc_nursery_autoclose(n, chan));
		must(cc_nursery_spawn(n, NULL, send_ten, chan));
		must(cc_nursery_spawn(n, NULL, receive_all, chan));
	}
}

static int join_the_other(void *arg)
{
	must(cc_sleep_ms(20));
	return cc_task_join(*(CCTask *)arg, CC_FOREVER, NULL);
}

static void join_cycle(void *unused)
{
	(void)unused;
	must(cc_task_spawn(NULL, &tasks[0], NULL, join_the_other, &tasks[1]));
	must(cc_task_spawn(NULL, &tasks[1], NULL, join_the_other, &tasks[0]));
	must(cc_task_join(tasks[0], CC_FOREVER, NULL));
}

static int own_a_nursery(void *unused);

static int join_owner(void *unused)
{
	(void)unused;
	return cc_task_join(tasks[0], CC_FOREVER, NULL);
}

static int own_a_nursery(void *unused)
{
	int err;

	(void)unused;
	must(cc_sleep_ms(20));
	cc_nursery_scope(n, &err) {
		must(cc_nursery_spawn(n, NULL, join_owner, NULL));
	}
	return err;
}

static void child_waits_for_owner(void *unused)
{
	(void)unused;
	must(cc_task_spawn(NULL, &tasks[0], NULL, own_a_nursery, NULL));
	must(cc_semaphore_wait(&semaphore));
}

static void semaphore_without_post(void *unused)
{
	(void)unused;
	must(cc_semaphore_wait(&semaphore));
}

static void condition_without_signal(void *unused)
{
	(void)unused;
	must(cc_mutex_lock(&left));
	must(cc_cond_wait(&cond, &left));
}

/* A deadline that was met leaves its timer behind, and a pool's thread is idle. */
static int briefly(void *unused)
{
	(void)unused;
	return 0;
}

static int wait_with_deadline(void *arg)
{
	int v = 0;

	must(cc_blocking(briefly, NULL, NULL));
	must(cc_chan_recv_until(arg, &v, sizeof v, cc_after(3600 * CC_SEC)));
	return cc_chan_recv(arg, &v, sizeof v);
}

static void after_timers_and_calls(void *unused)
{
	int v = 1;
	CCTask t;

	(void)unused;
	chan = cc_chan_new(sizeof v, 0);
	must(cc_task_spawn(NULL, &t, NULL, wait_with_deadline, chan));
	must(cc_chan_send(chan, &v, sizeof v));
	must(cc_task_join(t, CC_FOREVER, NULL));
}

static void *other_thread(void *unused)
{
	semaphore_without_post(unused);
	return NULL;
}

/* Each waits in the library, so neither can help. */
static void two_threads(void *unused)
{
	pthread_t t;

	must(pthread_create(&t, NULL, other_thread, NULL));
	own_mutex(unused);
}

static void two_runtimes(void *unused)
{
	CCRuntime *second;
	CCTask t;

	(void)unused;
	must(cc_runtime_new(&second, NULL));
	chan = cc_chan_new(sizeof(int), 0);
	must(cc_task_spawn(second, &t, NULL, receive_all, chan));
	must(cc_task_spawn(NULL, &t, NULL, receive_all, chan));
	must(cc_task_join(t, CC_FOREVER, NULL));
}

static const struct program {
	void (*run)(void *);
	const char *says[3];
} broken[] = {
    {main_receives, {"waits to receive from channel 0x", "1 thread wait", "close it"}},
    {fiber_receives, {"'reader' waits to receive from channel 0x", "for the children of nursery 0x"}},
    {two_mutexes, {"'one' waits for mutex 0x", "'two' waits for mutex 0x", "CC_DEBUG_HOLD"}},
    {own_mutex, {"waits for mutex 0x", "none twice"}},
    {two_rendezvous, {"2 fibers and 1 thread", "waits to send to channel 0x"}},
    {send_to_oneself, {"waits to send to channel 0x", "start the receiver first"}},
    {child_reads_autoclosed, {"waits to receive from channel 0x", "for the children of nursery 0x"}},
    {join_cycle, {"waits for the end of task", "must not wait for the fiber that joins it"}},
    {child_waits_for_owner, {"waits for the end of task", "; in nursery 0x"}},
    {semaphore_without_post, {"waits for semaphore 0x", "needs a cc_semaphore_post"}},
    {condition_without_signal, {"waits for condition 0x", "cc_cond_signal"}},
    {after_timers_and_calls, {"waits to receive from channel 0x"}},
    {two_threads, {"0 fibers and 2 threads", "waits for semaphore 0x", "waits for mutex 0x"}},
    {two_runtimes, {"2 fibers and 1 thread", "and 1 more like this"}},
};

TEST(every_deadlock_is_named_and_aborts)	/* covers: SCH-83/d, RES-70/d */
{
	static struct test_death d;

	NEEDS_COUNTS();
	clear_variables();
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		const cc_time began = cc_now();
		bool good;

		CHECK_EQ(test_dies(broken[i].run, NULL, &d), 0);
		good = CHECK(WIFSIGNALED(d.status) && WTERMSIG(d.status) == SIGABRT);
		good &= CHECK(cc_now() - began < 2 * CC_SEC * test_slowness());
		good &= CHECK(strncmp(d.text, "libccc: deadlock: ", 18) == 0);
		for (unsigned n = 0; n < 3 && broken[i].says[n] != NULL; n++)
			good &= CHECK(strstr(d.text, broken[i].says[n]) != NULL);
		if (!good)
			printf("program %zu:\n%s", i, d.text);
	}
}

/* ---- it can be told to go on, and what more it prints ---- */

/* Another process wakes it by way of a descriptor that no fiber waits for: what nothing can know.
 * Here a handler of a signal ends it. */
static void on_alarm(int signal)
{
	(void)signal;
	_exit(3);
}

static void told_to_go_on(void *unused)
{
	setenv("CC_DEADLOCK_ABORT", "0", 1);
	setenv("CC_DEBUG_DEADLOCK_RUNTIME", "1", 1);
	setenv("CC_DEBUG_INBOX_DUMP", "1", 1);
	signal(SIGALRM, on_alarm);
	alarm(2);
	fiber_receives(unused);
}

TEST(deadlock_abort_0_goes_on_and_tells_once)	/* covers: SCH-83/d, RES-70/d */
{
	static struct test_death d;
	const char *first;

	NEEDS_COUNTS();
	CHECK_EQ(test_dies(told_to_go_on, NULL, &d), 0);
	CHECK(WIFEXITED(d.status) && WEXITSTATUS(d.status) == 3);
	first = strstr(d.text, "goes on, because CC_DEADLOCK_ABORT is 0");
	CHECK(first != NULL && strstr(first + 1, "goes on, because") == NULL);
	CHECK(strstr(d.text, "worker 1: inbox empty") != NULL);
}

/* ---- programs that are right ---- */

static void main_sends_late(void *unused)
{
	int v = 1;
	CCTask t;

	(void)unused;
	chan = cc_chan_new(sizeof v, 0);
	must(cc_task_spawn(NULL, &t, NULL, receive_all, chan));
	outside_for(1000 * CC_MSEC);
	must(cc_chan_send(chan, &v, sizeof v));
	must(cc_chan_close(chan));
	must(cc_task_join(t, CC_FOREVER, NULL));
}

static int post_later(void *unused)
{
	(void)unused;
	must(cc_sleep_ms(1000));
	return cc_semaphore_post(&semaphore, 1);
}

static void timer_pending(void *unused)
{
	CCTask t;

	(void)unused;
	must(cc_task_spawn(NULL, &t, NULL, post_later, NULL));
	must(cc_semaphore_wait(&semaphore));
	must(cc_task_join(t, CC_FOREVER, NULL));
}

static void task_begins_later(void *unused)
{
	CCTask t;

	(void)unused;
	must(cc_task_spawn(NULL, &t, &(CCTaskOptions){.start = cc_after(1000 * CC_MSEC)}, nothing, NULL));
	must(cc_task_join(t, CC_FOREVER, NULL));
}

static void thread_with_deadline(void *unused)
{
	(void)unused;
	if (cc_semaphore_wait_until(&semaphore, cc_after(1000 * CC_MSEC)) != ETIMEDOUT)
		_exit(41);
}

static int ends[2];

static int read_byte(void *unused)
{
	(void)unused;
	must(cc_wait_fd(ends[0], CC_FD_READ, CC_FOREVER));
	return 0;
}

/* Another process writes. */
static void write_from_outside(void)
{
	must(pipe(ends));
	if (fork() == 0) {
		outside_for(1000 * CC_MSEC);
		_exit(write(ends[1], "", 1) == 1 ? 0 : 1);
	}
}

static void descriptor(void *unused)
{
	CCTask t;

	(void)unused;
	write_from_outside();
	must(cc_task_spawn(NULL, &t, NULL, read_byte, NULL));
	must(cc_task_join(t, CC_FOREVER, NULL));
}

/* The channel alone would be one. */
static int select_byte(void *unused)
{
	CCChan *never = cc_chan_new(0, 0);
	const CCCase cases[] = {cc_case_recv(never, NULL, 0), cc_case_fd(ends[0], CC_FD_READ, NULL)};
	size_t which;

	(void)unused;
	must(cc_select(cases, 2, CC_FOREVER, &which));
	return which == 1 ? 0 : EIO;
}

static void descriptor_in_a_select(void *unused)
{
	CCTask t;
	int result;

	write_from_outside();
	must(cc_task_spawn(NULL, &t, NULL, select_byte, unused));
	must(cc_task_join(t, CC_FOREVER, &result));
	must(result);
}

static void descriptor_in_a_select_of_a_thread(void *unused)
{
	write_from_outside();
	must(select_byte(unused));
}

static int block_for_long(void *unused)
{
	(void)unused;
	outside_for(1000 * CC_MSEC);
	return 0;
}

static int call_it(void *unused)
{
	return cc_blocking(block_for_long, unused, NULL);
}

static void blocking_call(void *unused)
{
	CCTask t;

	must(cc_task_spawn(NULL, &t, NULL, call_it, unused));
	must(cc_task_join(t, CC_FOREVER, NULL));
}

static void *post_from_thread(void *unused)
{
	(void)unused;
	outside_for(1000 * CC_MSEC);
	must(cc_semaphore_post(&semaphore, 1));
	return NULL;
}

static void foreign_thread(void *unused)
{
	pthread_t t;

	(void)unused;
	must(pthread_create(&t, NULL, post_from_thread, NULL));
	must(cc_semaphore_wait(&semaphore));
	must(pthread_join(t, NULL));
}

static void second_runtime_helps(void *unused)
{
	CCRuntime *second;
	CCTask t;

	(void)unused;
	must(cc_runtime_new(&second, NULL));
	must(cc_task_spawn(second, &t, NULL, post_later, NULL));
	must(cc_semaphore_wait(&semaphore));
	must(cc_task_join(t, CC_FOREVER, NULL));
	must(cc_runtime_free(second));
}

#ifndef CC__TSAN	/* it keeps a signal until the thread calls something that it intercepts */
static void declared(void *unused)
{
	signal(SIGALRM, on_alarm);
	alarm(2);
	cc_external_begin();
	own_mutex(unused);
}
#endif

static const struct {
	void (*run)(void *);
	int status;
} right_programs[] = {
    {main_sends_late, 0}, {timer_pending, 0},  {task_begins_later, 0}, {thread_with_deadline, 0},
    {descriptor_in_a_select, 0},           {descriptor_in_a_select_of_a_thread, 0},
    {descriptor, 0},      {blocking_call, 0},  {foreign_thread, 0},    {second_runtime_helps, 0},
#ifndef CC__TSAN
    {declared, 3},
#endif
};

TEST(what_can_still_run_is_no_deadlock)	/* covers: SCH-83/d, RES-70/d */
{
	static struct test_death d;

	clear_variables();
	for (size_t i = 0; i < sizeof right_programs / sizeof *right_programs; i++) {
		CHECK_EQ(test_dies(right_programs[i].run, NULL, &d), 0);
		if (!CHECK(WIFEXITED(d.status) && WEXITSTATUS(d.status) == right_programs[i].status) ||
		    !CHECK(strstr(d.text, "deadlock") == NULL))
			printf("program %zu:\n%s", i, d.text);
	}
}
