/* trace_record_test.c - the recorder: what is in a trace, what is lost, what a crash leaves. */
#include <ccc/ccc.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/tools.h"
#include "os/trace.h"
#include "monitor/trace.h"
#include "monitor/trace_event.h"
#include "monitor/trace_rings.h"
#include "test.h"
#include "wait/thread.h"

/* The text that `print` writes to a descriptor; the caller frees it. */
static char *text_of(void (*print)(int fd))
{
	FILE *f = tmpfile();
	long size;
	char *text;

	print(fileno(f));
	size = (long)lseek(fileno(f), 0, SEEK_END);
	text = calloc(1, (size_t)size + 1);
	CHECK_EQ(pread(fileno(f), text, (size_t)size, 0), size);
	fclose(f);
	return text;
}

static void print_trace(int fd)
{
	CHECK_EQ(cc_trace_write(fd), 0);
}

static CCRuntime *runtime_of(unsigned workers)
{
	CCConfig c;
	CCRuntime *rt = NULL;

	CHECK_EQ(cc_config_init(&c), 0);
	c.workers = workers;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

static int receive_one(void *chan)
{
	int item;

	return cc_chan_recv(chan, &item, sizeof item);
}

static struct cc__parker *joiner;	/* of the receiver */

/* Not before the joiner has parked, so that the trace has its wait, too. */
static int send_one(void *chan)
{
	int item = 1;

	TEST_UNTIL(cc__word_state(cc__load(&joiner->word, CC__ACQUIRE)) == CC__PARKED);
	return cc_chan_send(chan, &item, sizeof item);
}

static void run_pair(void)
{
	CCRuntime *rt = runtime_of(1);
	CCTaskOptions named = {.name = "receiver"};
	CCTask a, b;
	CCChan *c;

	REQUIRE((c = cc_chan_new(sizeof(int), 0)) != NULL);
	joiner = cc__self();
	REQUIRE_EQ(cc_task_spawn(rt, &a, &named, receive_one, c), 0);
	REQUIRE_EQ(cc_task_spawn(rt, &b, NULL, send_one, c), 0);
	CHECK_EQ(cc_task_join(a, CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_task_join(b, CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* A page that no access is allowed to: sanitizers know nothing about it. */
static int crash(void *arg)
{
	volatile char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)arg;
	*page = 1;
	return 0;
}

static void crash_in_task(void *arg)
{
	CCTask t;

	if (cc_trace_start(0) != 0 || cc_task_spawn(NULL, &t, arg, crash, NULL) != 0)
		_Exit(1);
	_Exit(cc_task_join(t, CC_FOREVER, NULL));
}

static void host_handler(int sig)
{
	(void)sig;
	_Exit(42);
}

static void crash_with_handler(void *arg)
{
	signal(SIGSEGV, host_handler);
	crash_in_task(arg);
}

/* The first test: the library's handler is installed with the first runtime of the process. */
TEST(crash_that_the_program_handles_is_left_to_it)
{
	struct test_death *d = calloc(1, sizeof *d);

	REQUIRE_EQ(test_dies(crash_with_handler, NULL, d), 0);
	CHECK(WIFEXITED(d->status) && WEXITSTATUS(d->status) == 42);
	CHECK(strstr(d->text, "libccc: trace:") == NULL);
	free(d);
}

TEST(trace_off_records_nothing_and_takes_no_memory)
{
	const struct cc__trace_ring *before = cc__trace_rings();

	run_pair();
	CHECK(cc__trace_rings() == before);
}

TEST(trace_has_runs_waits_and_wakes)
{
	char *text;

	REQUIRE_EQ(cc_trace_start(0), 0);
	run_pair();
	cc_trace_stop();
	text = text_of(print_trace);
	CHECK(strstr(text, "\"name\":\"receiver ") != NULL);
	CHECK(strstr(text, "\"name\":\"run\",\"cat\":\"run\"") != NULL);
	CHECK(strstr(text, "\"name\":\"channel\",\"cat\":\"parked\"") != NULL);
	CHECK(strstr(text, "\"name\":\"task\",\"cat\":\"parked\"") != NULL); /* main joins */
	CHECK(strstr(text, "\"ph\":\"s\"") != NULL && strstr(text, "\"ph\":\"f\"") != NULL);
	CHECK(strstr(text, "\"lost\":0,") != NULL);
	free(text);
}

static uint64_t recorded(void)
{
	uint64_t n = 0;

	for (const struct cc__trace_ring *r = cc__trace_rings(); r != NULL; r = r->next)
		n += cc__load(&r->count, CC__RELAXED);	/* Relaxed: at rest */
	return n;
}

TEST(trace_stop_keeps_what_is_there)
{
	uint64_t n;

	REQUIRE_EQ(cc_trace_start(0), 0);
	run_pair();
	cc_trace_stop();
	n = recorded();
	CHECK(n > 10);
	run_pair();
	CHECK_EQ(recorded(), n);
}

/* With another one that does the same: alone it would not be switched.  arg: how many are there. */
static int yield_in_turn(void *arg)
{
	cc__add((cc__a32 *)arg, 1, CC__SEQ_CST);
	while (cc__load((cc__a32 *)arg, CC__SEQ_CST) < 2)
		CHECK_EQ(cc_yield(), 0);
	for (int i = 0; i < 20000; i++)
		CHECK_EQ(cc_yield(), 0);
	return 0;
}

/* More than the rings hold that a test before this one may have made. */
static void record_too_much(void *arg)
{
	cc__a32 there = {0};
	CCRuntime *rt;
	CCTask t[2];
	char *text;

	(void)arg;
	if (cc_trace_start(100) != 0)
		_Exit(1);
	rt = runtime_of(1);
	for (int i = 0; i < 2; i++)
		if (cc_task_spawn(rt, &t[i], NULL, yield_in_turn, &there) != 0)
			_Exit(1);
	for (int i = 0; i < 2; i++)
		if (cc_task_join(t[i], CC_FOREVER, NULL) != 0)
			_Exit(1);
	text = text_of(print_trace);
	fprintf(stderr, "%.300s", text);
	free(text);
	if (cc_runtime_free(rt) != 0)
		_Exit(1);
}

TEST(trace_says_how_much_was_lost)
{
	struct test_death *d = calloc(1, sizeof *d);
	const char *lost;

	REQUIRE_EQ(test_dies(record_too_much, NULL, d), 0);
	CHECK(WIFEXITED(d->status) && WEXITSTATUS(d->status) == 0);
	lost = strstr(d->text, "\"lost\":");
	CHECK(lost != NULL && strtol(lost + 7, NULL, 10) > 1000);
	free(d);
}

TEST(crash_tells_the_last_events)
{
	struct test_death *d = calloc(1, sizeof *d);
	CCTaskOptions named = {.name = "crasher"};

#if defined(CC__ASAN) || defined(CC__TSAN)
	free(d);
	SKIP("the sanitizer's handler gets the fault");
#endif
	REQUIRE_EQ(test_dies(crash_in_task, &named, d), 0);
	CHECK(WIFSIGNALED(d->status) && WTERMSIG(d->status) == SIGSEGV);
	CHECK(strstr(d->text, " is called crasher\n") != NULL);
	CHECK(strstr(d->text, " runs\n") != NULL);
	free(d);
}

static void overflow_frames(volatile char *above)
{
	volatile char frame[1024];

	frame[0] = above != NULL ? above[0] : 1;
	if (frame[0] == 1)	/* always */
		overflow_frames(frame);
	frame[1] = frame[0];
}

static int overflow(void *arg)
{
	overflow_frames(arg);
	return 0;
}

static void overflow_in_task(void *arg)
{
	CCTask t;

	if (cc_trace_start(0) != 0 || cc_task_spawn(NULL, &t, arg, overflow, NULL) != 0)
		_Exit(1);
	_Exit(cc_task_join(t, CC_FOREVER, NULL));
}

TEST(overflow_tells_the_last_events_too)
{
	struct test_death *d = calloc(1, sizeof *d);
	CCTaskOptions named = {.name = "deep"};

	REQUIRE_EQ(test_dies(overflow_in_task, &named, d), 0);
	CHECK(WIFSIGNALED(d->status));
	CHECK(strstr(d->text, "stack") != NULL);
	CHECK(strstr(d->text, " is called deep\n") != NULL);
	free(d);
}

/* A tracer that arms a probe counts in the high half; then events are seen, and none is kept. */
TEST(trace_probe_armed_records_nothing)
{
	const uint64_t before = recorded();

	cc__add(&cc__watching, 1u << 16, CC__RELAXED);	/* Relaxed: a switch */
	run_pair();
	cc__sub(&cc__watching, 1u << 16, CC__RELAXED);	/* Relaxed: a switch */
	CHECK_EQ(recorded(), before);
}

TEST(trace_arguments_are_checked)
{
	int ends[2];

	CHECK_EQ(cc_trace_start((1 << 24) + 1), EINVAL);
	CHECK_EQ(cc_trace_write(-1), EBADF);
	REQUIRE_EQ(pipe(ends), 0);
	cc_trace_last(ends[1]);
	close(ends[0]);
	close(ends[1]);
}

static int do_nothing(void *arg)
{
	(void)arg;
	return 0;
}

static void *record_in_thread(void *arg)
{
	CCTask t;

	if (cc_task_spawn(arg, &t, NULL, do_nothing, NULL) == 0)
		CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), 0);
	return NULL;
}

TEST(trace_ring_of_an_ended_thread_is_used_again)
{
	CCRuntime *rt = runtime_of(1);
	unsigned rings = 0, now = 0;

	REQUIRE_EQ(cc_trace_start(0), 0);
	for (int i = 0; i < 8; i++) {
		pthread_t t;

		REQUIRE_EQ(pthread_create(&t, NULL, record_in_thread, rt), 0);
		pthread_join(t, NULL);
		now = cc__trace_rings()->number;
		if (i == 0)
			rings = now;
	}
	CHECK_EQ(now, rings);
	cc_trace_stop();
	CHECK_EQ(cc_runtime_free(rt), 0);
}
