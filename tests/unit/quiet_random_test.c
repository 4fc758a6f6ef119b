/* quiet_random_test.c - random programs that are right are never called deadlocked or stalled.
 *
 * Each program is a child process with a seed of its own.  It is made of pieces that rest long enough for
 * the monitors to look (their intervals are short here), while something is still to come: a timer, a
 * descriptor, a thread outside of the library, main itself, a blocking call, another runtime.  Some are
 * stopped and continued meanwhile. */
#include "environment.h"
#include "tasks.h"
#include "test.h"

#include <ccc/ccc.h>
#include <ccc/debug.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

cc_chan_type(Numbers, int);

static uint64_t seed;	/* of this program */

static int draw(int below)
{
	return (int)(test_random(&seed) % (unsigned)below);
}

static void good(int err)
{
	if (err != 0)
		_exit(40);
}

/* Mostly long enough for a look; outside of the library. */
static void rest_outside(int ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static int some_ms(void)
{
	return draw(3) == 0 ? draw(4) : 20 + draw(60);
}

/* ---- children ---- */

static cc_task_fn(produce, Numbers out; int count, ms;)
{
	for (int i = 0; i < self->count; i++) {
		good(cc_sleep_ms(i % 3 == 0 ? self->ms : 0));
		good(cc_send(self->out, i));
	}
	return cc_close(self->out);
}

static cc_task_fn(pass_on, Numbers in, out;)
{
	for (int v; cc_recv(self->in, &v) == 0;)
		good(cc_send(self->out, v));
	return cc_close(self->out);
}

static cc_task_fn(receive_all, Numbers in;)
{
	for (int v; cc_recv(self->in, &v) == 0;)
		continue;
	return 0;
}

static cc_task_fn(sleep_and_post, CCSemaphore *semaphore; int ms;)
{
	good(cc_sleep_ms(self->ms));
	return cc_semaphore_post(self->semaphore, 1);
}

static cc_task_fn(wait_for_post, CCSemaphore *semaphore;)
{
	return cc_semaphore_wait(self->semaphore);
}

static cc_task_fn(hold_for, CCMutex *mutex; int ms;)
{
	good(cc_mutex_lock(self->mutex));
	good(cc_sleep_ms(self->ms));
	return cc_mutex_unlock(self->mutex);
}

static cc_task_fn(read_byte, int fd;)
{
	char byte;

	good(cc_wait_fd(self->fd, CC_FD_READ, CC_FOREVER));
	return read(self->fd, &byte, 1) == 1 ? 0 : EIO;
}

static int block(void *ms)
{
	rest_outside(*(int *)ms);
	return 0;
}

static cc_task_fn(call, int ms;)
{
	return cc_blocking(block, &self->ms, NULL);
}

static cc_task_fn(compute, int rounds;)
{
	for (int i = 0; i < self->rounds; i++) {
		for (volatile int n = 0; n < 20000; n++)
			continue;
		good(cc_yield());
	}
	return 0;
}

/* ---- pieces ---- */

static void pipeline(CCNursery *n)
{
	Numbers from = cc_chan_make(Numbers, (size_t)draw(12)), to;
	const int stages = draw(4);

	cc_spawn(n, produce, .out = from, .count = 1 + draw(20), .ms = some_ms() / 4);
	for (int i = 0; i < stages; i++, from = to) {
		to = cc_chan_make(Numbers, (size_t)draw(12));
		cc_spawn(n, pass_on, .in = from, .out = to);
	}
	cc_spawn(n, receive_all, .in = from);
}

static void main_sends_late(CCNursery *n)
{
	Numbers c = cc_chan_make(Numbers, (size_t)draw(2));

	cc_spawn(n, receive_all, .in = c);
	rest_outside(some_ms());
	good(cc_send(c, 1));
	good(cc_close(c));
}

static CCSemaphore semaphores[8];

static void timer_posts(CCNursery *n)
{
	CCSemaphore *s = &semaphores[draw(8)];

	cc_spawn(n, wait_for_post, .semaphore = s);
	cc_spawn(n, sleep_and_post, .semaphore = s, .ms = some_ms());
}

static CCMutex mutex;

static void crowd_at_a_mutex(CCNursery *n)
{
	for (int i = 2 + draw(3); i > 0; i--)
		cc_spawn(n, hold_for, .mutex = &mutex, .ms = some_ms() / 4);
}

struct outsider {
	CCSemaphore *semaphore;
	int fd, ms;
};

static void *post_from_outside(void *arg)
{
	const struct outsider *o = arg;

	rest_outside(o->ms);
	if (o->semaphore != NULL)
		good(cc_semaphore_post(o->semaphore, 1));
	else
		good(write(o->fd, "", 1) == 1 ? 0 : EIO);
	return NULL;
}

static struct outsider outsiders[16];
static pthread_t threads[16];
static int outside;

static void send_outsider(struct outsider o)
{
	outsiders[outside] = o;
	good(pthread_create(&threads[outside], NULL, post_from_outside, &outsiders[outside]));
	outside++;
}

static void thread_posts(CCNursery *n)
{
	CCSemaphore *s = &semaphores[draw(8)];

	cc_spawn(n, wait_for_post, .semaphore = s);
	send_outsider((struct outsider){.semaphore = s, .ms = some_ms()});
}

static void thread_writes(CCNursery *n)
{
	int ends[2];

	good(pipe(ends));
	cc_spawn(n, read_byte, .fd = ends[0]);
	send_outsider((struct outsider){.fd = ends[1], .ms = some_ms()});
}

static void process_writes(CCNursery *n)
{
	const int ms = some_ms();
	int ends[2];
	pid_t writer;

	good(pipe(ends));
	if ((writer = fork()) == 0) {
		rest_outside(ms);
		_exit(write(ends[1], "", 1) == 1 ? 0 : 1);
	}
	good(writer > 0 ? 0 : EAGAIN);
	cc_spawn(n, read_byte, .fd = ends[0]);
}

static void blocking_call(CCNursery *n)
{
	cc_spawn(n, call, .ms = some_ms());
}

static void work(CCNursery *n)
{
	cc_spawn(n, compute, .rounds = draw(30));
}

static void deadline_ends_it(CCNursery *n)
{
	CCSemaphore never = {0};

	(void)n;
	good(cc_semaphore_wait_until(&never, cc_after(some_ms() * CC_MSEC)) == ETIMEDOUT ? 0 : EIO);
}

static void other_runtime(CCNursery *outer)
{
	CCRuntime *rt;
	int err;

	(void)outer;
	good(cc_runtime_new(&rt, NULL));
	cc_nursery_scope_with(n, &err, (&(CCNurseryOptions){.runtime = rt})) {
		timer_posts(n);
		blocking_call(n);
	}
	good(err);
	good(cc_runtime_free(rt));
}

static void (*const pieces[])(CCNursery *n) = {
    pipeline,      main_sends_late, timer_posts,   crowd_at_a_mutex, thread_posts,     thread_writes,
    process_writes, blocking_call,  work,          deadline_ends_it, other_runtime,
};

/* ---- a program ---- */

static cc_task_fn(whole, int count;)
{
	int err;

	cc_nursery_scope(n, &err)
		for (int i = 0; i < self->count; i++)
			pieces[draw(sizeof pieces / sizeof *pieces)](n);
	return err;
}

static void program(void *arg)
{
	static const char *const workers[] = {"1", "2", "3", "8"};
	int err = 0;

	seed = *(const uint64_t *)arg;
	setenv("CC_WORKERS", workers[draw(4)], 1);
	setenv("CC_SCALE_INTERVAL_MS", "1", 1);
	setenv("CC_DEBUG_STALL", "500", 1);
	if (draw(2) == 0) {
		struct whole_captures in_main = {.count = 1 + draw(5)};

		err = whole_task(&in_main);
	} else {
		cc_nursery_scope(n, &err)
			cc_spawn(n, whole, .count = 1 + draw(5));
	}
	for (int i = 0; i < outside; i++)
		good(pthread_join(threads[i], NULL));
	_exit(err == 0 ? 0 : 41);
}

/* ---- many at a time ---- */

enum { AT_A_TIME = 8 };

struct running {
	pid_t pid;
	int output;
	uint64_t seed;
};

static void start(struct running *r, uint64_t of)
{
	int ends[2];

	*r = (struct running){.seed = of};
	CHECK_EQ(pipe(ends), 0);
	fflush(stdout);
	if ((r->pid = fork()) == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		program(&of);
	}
	close(ends[1]);
	r->output = ends[0];
}

/* Silence, and 0. */
static bool finish(struct running *r)
{
	char text[4096];
	ssize_t n = 0, more;
	int status = -1;

	while ((more = read(r->output, text + n, sizeof text - 1 - (size_t)n)) > 0)
		n += more;
	text[n] = '\0';
	close(r->output);
	CHECK_EQ(waitpid(r->pid, &status, 0), r->pid);
	const bool ended = CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);

	if (CHECK(n == 0) && ended)
		return true;
	printf("seed %llu, status %d:\n%s\n", (unsigned long long)r->seed, status, text);
	return false;
}

static void stop_and_continue(const struct running *r, uint64_t *random)
{
	if (test_random(random) % 4 != 0)
		return;
	kill(r->pid, SIGSTOP);
	rest_outside((int)(test_random(random) % 40));
	kill(r->pid, SIGCONT);
}

static unsigned programs(void)
{
	const char *s = getenv("TEST_PROGRAMS");

	return s != NULL ? (unsigned)strtoul(s, NULL, 10) : test_rounds(200);
}

TEST(random_correct_programs_are_never_called_deadlocked_or_stalled)	/* covers: SCH-83/d, SCH-76/u */
{
	const char *one = getenv("TEST_PROGRAM");
	const bool asked = getenv("TEST_PROGRAMS") != NULL;
	const unsigned count = one != NULL ? 1 : programs();
	uint64_t random = test_seed();
	struct running running[AT_A_TIME];
	bool all_good = true;

	clear_variables();
	for (unsigned done = 0; done < count && all_good && (asked || test_has_time());) {
		unsigned n = 0;

		for (; n < AT_A_TIME && done < count; n++, done++)
			start(&running[n], one != NULL ? strtoull(one, NULL, 10) : test_random(&random));
		for (unsigned i = 0; i < n; i++)
			stop_and_continue(&running[i], &random);
		for (unsigned i = 0; i < n; i++)
			all_good &= finish(&running[i]);
	}
}
