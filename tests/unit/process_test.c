/* process_test.c - child processes: what they inherit from a fiber, and waiting for their end.
 *
 * Most tests run twice: with a descriptor for each process, and on a system that has none.
 *
 * link-wrap: syscall */
#include "workers.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "syscalls.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static cc__a32 no_descriptors;	/* 1: as on a system before Linux 5.3 */

RAW static long on_syscall(long number, const long *a)
{
	if (number == SYS_pidfd_open && cc__load(&no_descriptors, CC__RELAXED) != 0) {
		errno = ENOSYS;
		return -1;
	}
	return real_syscall(number, a);
}

static void with_and_without_descriptors(void (*test)(void))
{
	for (uint32_t i = 0; i < 2; i++) {
		cc__store(&no_descriptors, i, CC__RELAXED);
		test();
	}
	cc__store(&no_descriptors, 0, CC__RELAXED);
}

static bool emulated(void)
{
	return getenv("TEST_EMULATED") != NULL;
}

/* ---- processes of sh ---- */

/* A text that begins with "SigBlk" is a pattern for grep, not for sh: what it shows are masks
 * of its own, and a shell may change them on the way. */
static CCProcess *start_sh(const char *text, const CCProcessOptions *o)
{
	char *const sh[] = {"sh", "-c", (char *)text, NULL};
	char *const grep[] = {"grep", "-E", (char *)text, "/proc/self/status", NULL};
	CCProcess *p = NULL;

	CHECK_EQ(cc_process_spawn(&p, o, strncmp(text, "SigBlk", 6) == 0 ? grep : sh), 0);
	return p;
}

static int status_of(CCProcess *p)
{
	int status = -1;

	CHECK_EQ(cc_process_wait(p, CC_FOREVER, &status), 0);
	CHECK_EQ(cc_process_free(p), 0);
	return status;
}

static void kill_and_free(CCProcess *p)
{
	int status;

	CHECK_EQ(cc_process_kill(p, SIGKILL), 0);
	status = status_of(p);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* What `text` prints to the standard output or, with `of` 2, the standard error. */
struct output {
	const char *script;
	CCProcessOptions options;
	int of;
	char text[512];
};

/* Reads in the calling thread: the end of the process ends it. */
static int run_for_output(void *arg)
{
	struct output *o = arg;
	size_t size = 0;
	int end[2], status;
	CCProcess *p;
	ssize_t n;

	CHECK_EQ(pipe2(end, O_CLOEXEC), 0);
	if (o->of == 2)
		o->options.err = end[1];
	else
		o->options.out = end[1];
	p = start_sh(o->script, &o->options);
	CHECK_EQ(close(end[1]), 0);
	while ((n = read(end[0], o->text + size, sizeof o->text - 1 - size)) > 0)
		size += (size_t)n;
	o->text[size] = '\0';
	CHECK_EQ(close(end[0]), 0);
	status = p != NULL ? status_of(p) : -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_for_output_in_blocking(void *arg)
{
	int result = -1;

	CHECK_EQ(cc_blocking(run_for_output, arg, &result), 0);
	return result;
}

/* ---- what a process inherits ---- */

static cc_task_main *const places[] = {run_for_output, run_for_output_in_blocking};

/* `script` prints the same whether main, a fiber or a blocking call starts it. */
static void check_same_as_main(const char *script, const CCProcessOptions *options)
{
	struct output at_main = {.script = script, .options = *options};
	CCRuntime *rt = workers_new(1, USUAL);

	CHECK_EQ(run_for_output(&at_main), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct output o = {.script = script, .options = *options};

		CHECK_EQ(join(spawn(rt, places[i], &o)), 0);
		CHECK_STR(o.text, at_main.text);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(process_has_the_signal_mask_of_the_thread_that_started_the_runtime)
{
	const CCProcessOptions none = {0};
	sigset_t some, before;

	if (emulated())
		SKIP("the emulator has masks of its own");
	check_same_as_main("SigBlk", &none);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	sigaddset(&some, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &some, &before);
	check_same_as_main("SigBlk", &none);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

TEST(process_with_default_signals_neither_blocks_nor_ignores)
{
	struct output o = {.script = "SigBlk|SigIgn",
	                   .options = {.default_signals = 1}};
	unsigned long long blocked = 1, are_ignored = 1;
	sigset_t usr1, before;
	struct sigaction act, ignored = {.sa_handler = SIG_IGN};

	if (emulated())
		SKIP("the emulator has masks of its own");
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, &before);
	CHECK_EQ(sigaction(SIGPIPE, &ignored, &act), 0);
	CHECK_EQ(run_for_output(&o), 0);
	CHECK_EQ(sscanf(o.text, "SigBlk: %llx SigIgn: %llx", &blocked, &are_ignored), 2);
	CHECK_EQ(blocked, 0);
	CHECK_EQ(are_ignored & 0x7fffffff, 0);	/* (glibc ignores two of its own, 32 and 33) */
	CHECK_EQ(sigaction(SIGPIPE, &act, NULL), 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int slack_here(void *arg)
{
	(void)arg;
	return prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
}

static int slack_after_start(void *arg)
{
	CHECK_EQ(run_for_output(arg), 0);
	return slack_here(NULL);
}

TEST(process_has_the_timer_slack_of_the_thread_that_started_the_runtime)
{
	struct output o = {.script = "true"};
	const CCProcessOptions none = {0};
	CCRuntime *rt;

	if (emulated() || access("/proc/self/timerslack_ns", R_OK) != 0)
		SKIP("no /proc/self/timerslack_ns");
	check_same_as_main("cat /proc/self/timerslack_ns", &none);
	rt = workers_new(1, USUAL);
	CHECK_EQ(join(spawn(rt, slack_after_start, &o)), join(spawn(rt, slack_here, NULL)));
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int die_by_sigterm(void *arg)
{
	CCProcess *p = start_sh("exec sleep 1000", NULL);
	int status;

	(void)arg;
	CHECK_EQ(cc_process_kill(p, SIGTERM), 0);
	status = status_of(p);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void check_signals_reach_it(void)
{
	CCRuntime *rt = workers_new(1, USUAL);

	CHECK_EQ(join(spawn(rt, die_by_sigterm, NULL)), SIGTERM);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(process_started_by_a_fiber_dies_by_sigterm)
{
	with_and_without_descriptors(check_signals_reach_it);
}

TEST(process_standard_descriptors_are_those_asked_for)
{
	struct output out = {.script = "echo out; echo err >&2",
	                     .options = {.err = CC_PROCESS_NULL}};
	struct output err = {
	    .script = "echo out; echo err >&2", .of = 2, .options = {.out = CC_PROCESS_NULL}};
	struct output in = {.script = "cat", .options = {.in = CC_PROCESS_NULL}};
	struct output piped = {.script = "cat"};
	int end[2];

	CHECK_EQ(run_for_output(&out), 0);
	CHECK_STR(out.text, "out\n");
	CHECK_EQ(run_for_output(&err), 0);
	CHECK_STR(err.text, "err\n");
	CHECK_EQ(run_for_output(&in), 0);
	CHECK_STR(in.text, "");
	CHECK_EQ(pipe2(end, O_CLOEXEC), 0);
	CHECK_EQ(write(end[1], "in", 2), 2);
	CHECK_EQ(close(end[1]), 0);
	piped.options.in = end[0];
	CHECK_EQ(run_for_output(&piped), 0);
	CHECK_STR(piped.text, "in");
	CHECK_EQ(close(end[0]), 0);
}

/* Their two pipes become 1 and 2 of this process, and then 2 and 1 of its child. */
static int swap_in_child(const int out[2], const int err[2])
{
	CCProcess *p;

	if (dup2(out[1], 1) != 1 || dup2(err[1], 2) != 2)
		return 1;
	p = start_sh("echo out; echo err >&2", &(CCProcessOptions){.out = 2, .err = 1});
	return p != NULL ? status_of(p) : 1;
}

TEST(process_standard_descriptors_can_change_places)
{
	int out[2], err[2], status;
	char text[16] = "";
	pid_t pid;

	CHECK_EQ(pipe2(out, O_CLOEXEC), 0);
	CHECK_EQ(pipe2(err, O_CLOEXEC), 0);
	if ((pid = fork()) == 0)	/* no runtime is there, so the child may do anything */
		_exit(swap_in_child(out, err));
	CHECK_EQ(close(out[1]), 0);
	CHECK_EQ(close(err[1]), 0);
	CHECK_EQ(read(out[0], text, sizeof text - 1), 4);
	CHECK_STR(text, "err\n");
	CHECK_EQ(read(err[0], text, sizeof text - 1), 4);
	CHECK_STR(text, "out\n");
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(close(out[0]), 0);
	CHECK_EQ(close(err[0]), 0);
}

TEST(process_environment_and_directory_are_those_asked_for)
{
	char *const environment[] = {"FRUIT=pear", "PATH=/usr/bin:/bin", NULL};
	struct output o = {.script = "echo $FRUIT $HOME; pwd",
	                   .options = {.environment = environment, .directory = "/usr"}};

	CHECK_EQ(run_for_output(&o), 0);
	CHECK_STR(o.text, "pear\n/usr\n");
}

/* ---- mistakes ---- */

TEST(process_that_cannot_start_is_told)
{
	char *const none[] = {NULL}, *const sh[] = {"sh", "-c", "exit 0", NULL};
	char *const missing[] = {"/no/such/program", NULL};
	CCProcess *p = NULL;
	int status;

	CHECK_EQ(cc_process_spawn(NULL, NULL, sh), EINVAL);
	CHECK_EQ(cc_process_spawn(&p, NULL, NULL), EINVAL);
	CHECK_EQ(cc_process_spawn(&p, NULL, none), EINVAL);
	CHECK_EQ(cc_process_spawn(&p, &(CCProcessOptions){.err = -2}, sh), EINVAL);
	CHECK_EQ(cc_process_spawn(&p, &(CCProcessOptions){.in = 19999}, sh), EBADF);
	CHECK(p == NULL);
	CHECK_EQ(cc_process_wait(NULL, CC_FOREVER, &status), EINVAL);
	CHECK_EQ(cc_process_kill(NULL, SIGTERM), EINVAL);
	CHECK_EQ(cc_process_id(NULL), 0);
	CHECK_EQ(cc_process_free(NULL), 0);
	if (emulated())
		SKIP("the emulator does not report what exec says");
	CHECK_EQ(cc_process_spawn(&p, NULL, missing), ENOENT);
	CHECK_EQ(cc_process_spawn(&p, &(CCProcessOptions){.directory = "/no/such"}, sh), ENOENT);
	CHECK(p == NULL);
	CHECK_EQ(waitpid(-1, &status, WNOHANG), -1);	/* no process is left */
	CHECK_EQ(errno, ECHILD);
}

/* The number that the next descriptor gets. */
static int next_descriptor(void)
{
	const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	CHECK_EQ(close(fd), 0);
	return fd;
}

/* Standard descriptors that change places are copied first. */
TEST(process_that_cannot_start_leaves_no_descriptor_open)
{
	char *const sh[] = {"sh", "-c", "exit 0", NULL};
	char *const missing[] = {"/no/such/program", NULL};
	const int before = next_descriptor();
	CCProcess *p = NULL;

	CHECK_EQ(cc_process_spawn(&p, &(CCProcessOptions){.in = 2, .out = 19999}, sh), EBADF);
	CHECK_EQ(next_descriptor(), before);
	CHECK_EQ(cc_process_spawn(&p, &(CCProcessOptions){.in = 1, .out = 2, .err = 19999}, sh),
	         EBADF);
	CHECK_EQ(next_descriptor(), before);
	if (emulated())
		SKIP("the emulator does not report what exec says");
	CHECK_EQ(cc_process_spawn(&p, &(CCProcessOptions){.in = 1, .out = 2}, missing), ENOENT);
	CHECK_EQ(next_descriptor(), before);
	CHECK(p == NULL);
}

/* ---- its end ---- */

static void check_status(void)
{
	CCProcess *p = start_sh("exit 7", NULL);
	int status = -1, again = -1;

	CHECK(cc_process_id(p) > 0);
	CHECK_EQ(cc_process_wait(p, CC_FOREVER, &status), 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	CHECK_EQ(cc_process_wait(p, CC_NOW, &again), 0);
	CHECK_EQ(again, status);
	CHECK_EQ(cc_process_wait(p, CC_NOW, NULL), 0);
	CHECK_EQ(cc_process_kill(p, SIGTERM), ESRCH);
	CHECK_EQ(cc_process_free(p), 0);
}

TEST(process_status_is_reported_and_stays)
{
	with_and_without_descriptors(check_status);
}

/* A wait that ignores its deadline returns 0 when the process ends, and the test fails by name, before
 * the watchdog. */
static void check_deadlines(void)
{
	CCProcess *p = start_sh("exec sleep 8", NULL);
	const cc_time end = cc_now() + 3 * CC_MSEC;
	int status = 17;

	CHECK_EQ(cc_process_wait(p, CC_NOW, &status), EAGAIN);
	CHECK_EQ(cc_process_wait(p, end, &status), ETIMEDOUT);
	CHECK(cc_now() >= end);
	CHECK_EQ(status, 17);
	CHECK_EQ(cc_process_free(p), EBUSY);
	kill_and_free(p);
}

static int check_deadlines_here(void *arg)
{
	(void)arg;
	check_deadlines();
	return 0;
}

static void check_deadlines_in_fiber(void)
{
	CCRuntime *rt = workers_new(1, USUAL);

	CHECK_EQ(join(spawn(rt, check_deadlines_here, NULL)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(process_wait_ends_at_its_deadline)
{
	with_and_without_descriptors(check_deadlines);
	with_and_without_descriptors(check_deadlines_in_fiber);
}

struct waited {
	CCProcess *process;
	int result, status;
	cc__a32 *waiting;
};

static int wait_in_scope(void *arg)
{
	struct waited *w = arg;

	cc__add(w->waiting, 1, CC__RELEASE);
	w->result = cc_process_wait(w->process, CC_FOREVER, &w->status);
	return w->result;
}

/* The owner of a nursery waits within its deadline as the children do. */
static int wait_within_nursery(void *arg)
{
	CCProcess *p = start_sh("exec sleep 1000", NULL);
	const cc_time end = cc_now() + 3 * CC_MSEC;
	CCNursery n = {{0}};

	(void)arg;
	CHECK_EQ(cc_nursery_init(&n, &(CCNurseryOptions){.deadline = end}), 0);
	CHECK_EQ(cc_process_wait(p, CC_FOREVER, NULL), ETIMEDOUT);
	CHECK(cc_now() >= end);
	CHECK_EQ(cc_nursery_join(&n), 0);
	kill_and_free(p);
	return 0;
}

static void check_nursery_deadline(void)
{
	CCRuntime *rt = workers_new(1, USUAL);

	CHECK_EQ(wait_within_nursery(NULL), 0);
	CHECK_EQ(join(spawn(rt, wait_within_nursery, NULL)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(process_wait_ends_at_the_deadline_of_a_nursery)
{
	with_and_without_descriptors(check_nursery_deadline);
	CHECK_EQ(cc_shutdown(), 0);
}

static void check_cancellation(void)
{
	cc__a32 waiting = {0};
	struct waited w = {.process = start_sh("exec sleep 1000", NULL), .waiting = &waiting};
	CCNursery n;

	CHECK_EQ(cc_nursery_init(&n, NULL), 0);
	CHECK_EQ(cc_nursery_spawn(&n, NULL, wait_in_scope, &w), 0);
	TEST_UNTIL(cc__load(&waiting, CC__ACQUIRE) == 1);
	CHECK_EQ(cc_nursery_cancel(&n, 0), 0);
	CHECK_EQ(cc_nursery_join(&n), ECANCELED);
	CHECK_EQ(w.result, ECANCELED);
	kill_and_free(w.process);
}

TEST(process_wait_ends_by_cancellation)
{
	with_and_without_descriptors(check_cancellation);
	CHECK_EQ(cc_shutdown(), 0);
}

/* It ended before anybody waited: that is no wait. */
static int wait_when_cancelled(void *arg)
{
	struct waited *w = arg;

	while (cc_cancel_reason() == 0)
		cc_yield();
	w->result = cc_process_wait(w->process, CC_FOREVER, &w->status);
	return 0;
}

TEST(process_that_has_ended_is_reported_to_a_cancelled_caller)
{
	struct waited w = {.process = start_sh("exit 5", NULL)};
	siginfo_t info;
	CCNursery n;

	CHECK_EQ(waitid(P_PID, (id_t)cc_process_id(w.process), &info, WEXITED | WNOWAIT), 0);
	CHECK_EQ(cc_nursery_init(&n, NULL), 0);
	CHECK_EQ(cc_nursery_spawn(&n, NULL, wait_when_cancelled, &w), 0);
	CHECK_EQ(cc_nursery_cancel(&n, 0), 0);
	CHECK_EQ(cc_nursery_join(&n), 0);
	CHECK_EQ(w.result, 0);
	CHECK_EQ(WEXITSTATUS(w.status), 5);
	CHECK_EQ(cc_process_free(w.process), 0);
	CHECK_EQ(cc_shutdown(), 0);
}

/* One worker: the waiters wait without it, or the signal is never sent. */
static int free_then_kill(void *arg)
{
	struct waited *w = arg;

	while (cc__load(w->waiting, CC__ACQUIRE) < 3)
		cc_yield();
	CHECK_EQ(cc_process_free(w->process), EBUSY);
	return cc_process_kill(w->process, SIGINT);
}

static void check_many_waiters(void)
{
	CCRuntime *rt = workers_new(1, USUAL);
	CCProcess *p = start_sh("exec sleep 1000", NULL);
	cc__a32 waiting = {0};
	struct waited w[4];
	CCTask t[4];

	for (unsigned i = 0; i < 4; i++) {
		w[i] = (struct waited){.process = p, .waiting = &waiting};
		t[i] = spawn(rt, i < 3 ? wait_in_scope : free_then_kill, &w[i]);
	}
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(join(t[i]), 0);
	for (unsigned i = 0; i < 3; i++)
		CHECK(WIFSIGNALED(w[i].status) && WTERMSIG(w[i].status) == SIGINT);
	CHECK_EQ(cc_process_free(p), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(process_end_wakes_all_waiters_and_the_worker_runs_others_meanwhile)
{
	with_and_without_descriptors(check_many_waiters);
}

static void check_lost_status(void)
{
	struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
	int status = 17;
	CCProcess *p;

	CHECK_EQ(sigaction(SIGCHLD, &ignored, &before), 0);
	p = start_sh("exit 0", NULL);
	CHECK_EQ(cc_process_wait(p, CC_FOREVER, &status), ECHILD);
	CHECK_EQ(cc_process_wait(p, CC_FOREVER, &status), ECHILD);
	CHECK_EQ(status, 17);
	CHECK_EQ(cc_process_kill(p, SIGTERM), ESRCH);
	CHECK_EQ(cc_process_free(p), 0);
	CHECK_EQ(sigaction(SIGCHLD, &before, NULL), 0);
}

TEST(process_whose_status_the_program_has_discarded_is_over)
{
	with_and_without_descriptors(check_lost_status);
}
