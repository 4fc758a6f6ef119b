/* chan_debug_test.c - what CC_CHAN_DEBUG and CC_CHANNEL_TIMING show of operations.
 *
 * mutate: src/chan
 * link-wrap: mmap */
#include "chan_lines.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "chan/chan.h"
#include "points.h"
#include "workers.h"

/* ---- one thread ---- */

/* A channel's life, with one variable set. */
static void live(void *variable)
{
	CCChan *c, *again;
	CCCase select[4];
	int v = 3;
	size_t n;

	clear_variables();
	if (variable != NULL)
		setenv(variable, "1", 1);
	c = chan_named("numbers", 8);
	MUST((cc__load(&c->by_ring, CC__RELAXED) == sizeof v) == (variable == NULL));
	MUST(cc_chan_timed_recv(c, &v, sizeof v, 3 * CC_MSEC) == ETIMEDOUT);
	MUST(cc_chan_try_recv(c, &v, sizeof v) == EAGAIN);
	MUST(cc_chan_send(c, &v, sizeof v) == 0);
	MUST(cc_chan_try_send(c, &v, sizeof v) == 0);
	MUST(cc_chan_send_many(c, &v, sizeof v, 1, CC_FOREVER, &n) == 0);
	MUST(cc_chan_recv(c, &v, sizeof v) == 0);
	select[0] = cc_case_never();
	select[1] = cc_case_send(c, &v, sizeof v);
	select[2] = cc_case_timeout(cc_after(3600 * CC_SEC));
	select[3] = cc_case_recv((CCChan *)(uintptr_t)64, &v, sizeof v);	/* not asked for */
	MUST(cc_select_in_order(select, 3, CC_NOW, NULL) == 0);
	while (cc_chan_len(c) > 1)
		MUST(cc_chan_recv(c, &v, sizeof v) == 0);
	MUST(cc_chan_close_error(c, ENOSPC) == 0);
	select[1] = cc_case_recv(c, &v, sizeof v);
	MUST(cc_select_in_order(select, 3, CC_NOW, NULL) == 0);
	MUST(cc_chan_recv(c, &v, sizeof v) == ENOSPC);
	MUST(cc_chan_send(c, &v, sizeof v) == EPIPE);
	MUST(cc_chan_free(c) == 0);
	/* The next one in the same place has done nothing. */
	again = cc_chan_new(sizeof v, 8);
	MUST(again == c);
	MUST(cc_chan_free(again) == 0);
	MUST(cc_chan_free(cc_chan_new(sizeof v, 1)) == 0);
}

static const char *shown(const char *variable)
{
	return printed(live, (void *)(uintptr_t)variable);
}

TEST(without_a_switch_nothing_is_shown)	/* covers: CHN-49/u */
{
	CHECK_STR(shown(NULL), "");
}

TEST(debug_shows_every_operation)	/* covers: CHN-49/u, CHN-54/u, SCH-82/u */
{
	const char *text = shown("CC_CHAN_DEBUG");

	CHECK_EQ(lines(text, "0x* numbers: made for 8 of 4 bytes, with a ring, by thread 0x*"), 1);
	CHECK_EQ(lines(text, "0x* numbers: receive by thread 0x*: ETIMEDOUT"), 1);
	CHECK_EQ(lines(text, "0x* numbers: try to receive by thread 0x*: EAGAIN"), 1);
	CHECK_EQ(lines(text, "0x* numbers: send by thread 0x*: done"), 2);
	CHECK_EQ(lines(text, "0x* numbers: try to send by thread 0x*: done"), 1);
	CHECK_EQ(lines(text, "0x* numbers: receive by thread 0x*: done"), 3);
	CHECK_EQ(lines(text, "select of 3 by thread 0x*: case 1, send to 0x* numbers, won: done"),
	         1);
	CHECK_EQ(
	    lines(text, "0x* numbers: closed with 0 for senders, 28 for receivers, by thread 0x*"),
	    1);
	CHECK_EQ(
	    lines(text, "select of 3 by thread 0x*: case 1, receive from 0x* numbers, won: done"),
	    1);
	CHECK_EQ(lines(text, "0x* numbers: receive by thread 0x*: error 28"), 1);
	CHECK_EQ(lines(text, "0x* numbers: send by thread 0x*: EPIPE"), 1);
	CHECK_EQ(lines(text, "0x* numbers: freed, by thread 0x*"), 1);
	CHECK_EQ(lines(text, "0x*: made for 8 of 4 bytes, with a ring, by thread 0x*"), 2);
	CHECK_EQ(lines(text, "0x*: made for 1 of 4 bytes, locked, by thread 0x*"), 1);
	CHECK_EQ(lines(text, "0x*: freed, by thread 0x*"), 3);
	CHECK_EQ(lines(text, "*"), 19); /* and no others */
}

/* ---- tasks ---- */

static void talk(void *workers)
{
	CCRuntime *rt;
	CCTask sender, receiver;
	CCChan *c;

	clear_variables();
	setenv("CC_CHAN_DEBUG", "1", 1);
	rt = workers_new(*(unsigned *)workers, USUAL);
	c = chan_named("talk", 0);
	receiver = spawn(rt, recv_one, c);
	sender = spawn(rt, send_one, c);
	MUST(join(receiver) == 0 && join(sender) == 0);
	MUST(cc_chan_free(c) == 0 && cc_runtime_free(rt) == 0);
	tell_id("sender", sender.id);
	tell_id("receiver", receiver.id);
}

TEST(debug_names_the_task_of_an_operation)	/* covers: CHN-49/u */
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		const char *text = printed(talk, &workers);

		CHECK_EQ(lines(text, "0x* talk: send by task %u: done", id_of(text, "sender")), 1);
		CHECK_EQ(lines(text, "0x* talk: receive by task %u: done", id_of(text, "receiver")),
		         1);
		CHECK_EQ(lines(text, "*"), 4); /* made, freed; no waits, no wakes */
	}
}

/* Lines that cannot be written. */
static void log_to_nowhere(void *unused)
{
	CCChan *c;

	(void)unused;
	clear_variables();
	setenv("CC_CHAN_DEBUG", "1", 1);
	c = chan_named("quiet", 8);
	close(STDERR_FILENO);
	errno = 77;
	MUST(send_one(c) == 0 && errno == 77);
}

TEST(lines_leave_errno_alone)
{
	CHECK_EQ(lines(printed(log_to_nowhere, NULL), "*"), 1);
}

enum { TALKERS = 4, SENT = 60 };

static void *send_many_times(void *c)
{
	int v = 1;

	for (int i = 0; i < SENT; i++)
		MUST(cc_chan_send(c, &v, sizeof v) == 0);
	return NULL;
}

static void talk_at_once(void *unused)
{
	CCChan *c;
	pthread_t thread[TALKERS];

	(void)unused;
	clear_variables();
	setenv("CC_CHAN_DEBUG", "1", 1);
	c = chan_named("crowd", (size_t)TALKERS * SENT);
	for (int i = 0; i < TALKERS; i++)
		MUST(pthread_create(&thread[i], NULL, send_many_times, c) == 0);
	for (int i = 0; i < TALKERS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	MUST(cc_chan_free(c) == 0);
}

TEST(lines_of_several_threads_do_not_mix)	/* covers: CHN-49/u */
{
	const char *text = printed(talk_at_once, NULL), *at = text;
	char line[512];
	unsigned whole = 0;

	while (next_line(&at, line, sizeof line))
		whole += fnmatch("libccc: chan: 0x* crowd: *", line, 0) == 0 &&
		         strstr(line + 1, "libccc") == NULL;
	CHECK_EQ(whole, TALKERS * SENT + 2);
	CHECK_EQ(lines(text, "0x* crowd: send by thread 0x*: done"), TALKERS * SENT);
	CHECK_STR(at, "");
}

/* ---- times ---- */

/* The number that the line of that form has after `key`; -1: there is not one such line. */
static long long figure(const char *text, const char *glob, const char *key)
{
	char line[512];
	const char *at = NULL;
	int first = -1;

	if (!CHECK_EQ(match_lines(text, glob, &first), 1))
		return -1;
	for (int i = -1; i < first; i++)
		next_line(&text, line, sizeof line);
	at = strstr(line, key);
	return at != NULL ? strtoll(at + strlen(key), NULL, 10) : -1;
}

TEST(timing_tells_each_kind_of_operation)	/* covers: CHN-49/u, CHN-55/u */
{
	const char *text = shown("CC_CHANNEL_TIMING");
	const char *receives = "0x* numbers: 5 receives, mean * ns, longest * ns";

	CHECK_EQ(lines(text, "0x* numbers: 3 sends, mean * ns, longest * ns"), 1);
	CHECK_EQ(lines(text, "0x* numbers: 1 tries to send, mean * ns, longest * ns"), 1);
	CHECK_EQ(lines(text, "0x* numbers: 1 tries to receive, mean * ns, longest * ns"), 1);
	CHECK_EQ(lines(text, "0x* numbers: 1 sends by select, mean * ns, longest * ns"), 1);
	CHECK_EQ(lines(text, "0x* numbers: 1 receives by select, mean * ns, longest * ns"), 1);
	CHECK_EQ(lines(text, "*"), 6);
	/* One of the five waited for its deadline, and the others for nothing. */
	CHECK(figure(text, receives, "mean ") < figure(text, receives, "longest "));
	CHECK(5 * figure(text, receives, "mean ") + 4 >= figure(text, receives, "longest "));
}

/* A receive that has begun before 3 ms pass, and ends after them. */
static void keep_waiting(void *workers)
{
	CCRuntime *rt;
	CCTask receiver;
	cc_time from;
	CCChan *c;

	clear_variables();
	setenv("CC_CHANNEL_TIMING", "1", 1);
	rt = workers_new(*(unsigned *)workers, USUAL);
	c = chan_named("slow", 0);
	receiver = spawn(rt, recv_one, c);
	TEST_UNTIL(state_of(receiver) == CC__PARKED);
	for (from = cc_now(); cc_now() - from < 3 * CC_MSEC;)
		sched_yield();
	MUST(send_one(c) == 0 && join(receiver) == 0);
	MUST(cc_chan_free(c) == 0 && cc_runtime_free(rt) == 0);
}

TEST(timing_includes_the_wait)	/* covers: CHN-49/u */
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		const char *text = printed(keep_waiting, &workers);
		const char *line = "0x* slow: 1 receives, mean * ns, longest * ns";

		CHECK(figure(text, line, "mean ") >= 3 * CC_MSEC);
		CHECK_EQ(figure(text, line, "mean "), figure(text, line, "longest "));
	}
}

/* Selects of a task with a channel that it does not choose. */
static int select_nothing(void *c)
{
	int v;
	const CCCase one = cc_case_recv(c, &v, sizeof v);
	const CCCase two[] = {cc_case_recv(c, &v, sizeof v), cc_case_default()};
	size_t i;

	MUST(cc_select(&one, 1, CC_NOW, &i) == EAGAIN && i == 1);
	MUST(cc_select(two, 2, CC_FOREVER, &i) == 0 && i == 1);
	return 0;
}

enum ending { DEFAULT_RUNS, DEFAULT_ENDED, OWN_RUNS, OWN_ENDED, ENDINGS };

struct leaving {
	enum ending how;
	unsigned workers;
};

static CCRuntime *own_runtime;	/* a root for those who look for leaks */

/* Two channels that are not freed, one that is, and none that nothing was done to. */
static void leave(void *arg)
{
	const struct leaving *l = arg;
	const bool own = l->how == OWN_RUNS || l->how == OWN_ENDED;
	CCChan *c, *freed;
	CCTask task;
	char workers[4];

	clear_variables();
	setenv("CC_CHANNEL_TIMING", "1", 1);
	snprintf(workers, sizeof workers, "%u", l->workers);
	setenv("CC_WORKERS", workers, 1);
	if (own)
		MUST((own_runtime = workers_new(l->workers, USUAL)) != NULL);
	c = chan_named("left", 0);
	freed = chan_named("freed", 0);
	(void)chan_named("unused", 0);
	task = spawn(own_runtime, recv_one, c);
	MUST(send_one(c) == 0);
	MUST(join(task) == 0);
	MUST(join(spawn(own_runtime, select_nothing, freed)) == 0);
	task = spawn(own_runtime, recv_one, freed);
	MUST(send_one(freed) == 0);
	MUST(join(task) == 0);
	MUST(cc_chan_free(freed) == 0);
	if (l->how == DEFAULT_ENDED)
		MUST(cc_shutdown() == 0);
	if (l->how == OWN_ENDED)
		MUST(cc_runtime_free(own_runtime) == 0);
	exit(0);
}

TEST(timing_tells_channels_that_are_left_at_exit)	/* covers: CHN-49/u, CHN-55/u */
{
	struct leaving l;

	for (l.how = 0; l.how < ENDINGS; l.how++)
		for (l.workers = 1; l.workers <= 2; l.workers++) {
			const char *text = printed(leave, &l);

			CHECK_EQ(lines(text, "0x* left: 1 sends, mean * ns, longest * ns"), 1);
			CHECK_EQ(lines(text, "0x* left: 1 receives, mean * ns, longest * ns"), 1);
			CHECK_EQ(lines(text, "0x* freed: 1 sends, mean * ns, longest * ns"), 1);
			CHECK_EQ(lines(text, "0x* freed: 1 receives, mean * ns, longest * ns"), 1);
			CHECK_EQ(
			    lines(text, "2 selects that chose no channel, mean * ns, longest * ns"),
			    1);
			if (!CHECK_EQ(lines(text, "*"), 5))
				printf("%s", text);
		}
}

/* A copy of the process has channels that nothing in it has used. */
static void fork_and_leave(void *unused)
{
	CCChan *c;
	int status;
	pid_t pid;

	(void)unused;
	clear_variables();
	setenv("CC_CHANNEL_TIMING", "1", 1);
	own_runtime = workers_new(1, USUAL);
	c = chan_named("left", 0);
	MUST(cc_chan_try_recv(c, &status, sizeof status) == EAGAIN);
	MUST((pid = fork()) >= 0);
	if (pid == 0)
		exit(0);
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	_exit(0);	/* no report of its own */
}

TEST(timing_is_silent_in_a_child_of_fork)	/* covers: CHN-49/u */
{
	CHECK_STR(printed(fork_and_leave, NULL), "");
}

/* ---- freed by its receiver ---- */

static void *send_in_thread(void *c)
{
	MUST(send_one(c) == 0);
	return NULL;
}

static void *select_in_thread(void *c)
{
	const int v = 1;
	const CCCase one = cc_case_send(c, &v, sizeof v);

	MUST(cc_select(&one, 1, CC_FOREVER, NULL) == 0);
	return NULL;
}

/* The sender has yet to note what it did when another channel is made. */
static void live_on(void *by_select)
{
	CCChan *first, *second;
	struct point *p;
	pthread_t sender;

	clear_variables();
	setenv("CC_CHANNEL_TIMING", "1", 1);
	first = chan_named("first", 8);
	p = point_hold("chan.before_note", first);
	pthread_create(&sender, NULL, by_select != NULL ? select_in_thread : send_in_thread, first);
	point_until_held(p);
	MUST(recv_one(first) == 0);
	MUST(cc_chan_free(first) == 0);
	second = chan_named("second", 8);
	point_release(p);
	pthread_join(sender, NULL);
	MUST(cc_chan_free(second) == 0);
}

TEST(nothing_is_noted_about_the_next_channel)	/* covers: CHN-49/u */
{
	NEED_POINTS();
	for (int by_select = 0; by_select < 2; by_select++) {
		const char *text = printed(live_on, by_select ? &death : NULL);

		CHECK_EQ(lines(text, "0x* first: 1 sends%s, mean *", by_select ? " by select" : ""),
		         1);
		CHECK_EQ(lines(text, "0x* first: 1 receives, mean *"), 1);
		CHECK_EQ(lines(text, "*"), 2);
	}
}

/* The report at exit is made while the last user of a channel is about to leave it. */
static void exit_meanwhile(void *unused)
{
	CCChan *first;
	struct point *p;
	pthread_t sender;

	(void)unused;
	clear_variables();
	setenv("CC_CHANNEL_TIMING", "1", 1);
	first = chan_named("first", 8);
	p = point_hold("chan.before_note", first);
	pthread_create(&sender, NULL, send_in_thread, first);
	point_until_held(p);
	MUST(recv_one(first) == 0);
	MUST(cc_chan_free(first) == 0);	/* as far as that goes: the sender is still a user */
	exit(0);
}

TEST(report_at_exit_counts_what_has_ended)	/* covers: CHN-49/u */
{
	const char *text;

	NEED_POINTS();
	text = printed(exit_meanwhile, NULL);
	CHECK_EQ(lines(text, "0x* first: 1 receives, mean *"), 1);
	CHECK_EQ(lines(text, "*"), 1);
}

/* ---- no memory ---- */

static int maps_until_failure = -1;	/* of the child; less than 0: none fails */

void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (maps_until_failure >= 0 && maps_until_failure-- == 0) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(at, size, protection, flags, fd, offset);
}

/* The first channel, which needs memory for its head and for its record. */
static void make_without_memory(void *maps)
{
	CCChan *c = NULL;

	clear_variables();
	setenv("CC_CHANNEL_TIMING", "1", 1);
	maps_until_failure = *(int *)maps;
	MUST(cc_chan_create(&c, sizeof(int), 4, NULL) == ENOMEM);
	MUST(cc_chan_create(&c, sizeof(int), 4, NULL) == 0);
	MUST(send_one(c) == 0 && recv_one(c) == 0 && cc_chan_free(c) == 0);
}

TEST(channel_without_memory_for_its_record_is_not_made)	/* covers: CHN-49/f */
{
	for (int maps = 0; maps < 2; maps++) {
		const char *text = printed(make_without_memory, &maps);

		CHECK_EQ(lines(text, "0x*: 1 sends, mean *"), 1);
		CHECK_EQ(lines(text, "0x*: 1 receives, mean *"), 1);
		CHECK_EQ(lines(text, "*"), 2);
	}
}
