/* fork_test.c - a child of fork has no workers: its calls say so, and none hangs. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "hosts.h"
#include "os/fork.h"
#include "tasks.h"

enum { TOO_LATE = 20 };	/* seconds, times the slowness */

/* The child, from here on. */
static void beware(void)
{
	sigset_t all;

	signal(SIGALRM, SIG_DFL);
	sigfillset(&all);
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);	/* a worker blocks them */
	alarm(TOO_LATE * test_slowness());
}

static int ended(pid_t pid)
{
	int status = 0;

	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (!CHECK(WIFEXITED(status)))
		return -1;
	return WEXITSTATUS(status);
}

static int visit_none(const CCFiberInfo *info, void *arg)
{
	(void)info, (void)arg;
	return 1;
}

static int pipe_ends[2];
static CCChan *full, *tasks;	/* one with an element in it, an ordered one */
static CCToken *unset;

/* The number of the first call that did not answer as it should; 0: all did. */
static int try_everything(CCRuntime *rt, CCTask task)
{
	CCRuntime *made = NULL;
	CCProcess *process = NULL;
	CCTask t;
	char name[16];
	int call = 1, v = 0;
	size_t n;
	CCChan *chan = NULL;
	CCChanRx rx;
	const CCCase one = cc_case_recv(full, &v, sizeof v);
	const struct {
		int got, wanted;
	} answers[] = {
	    {cc_task_spawn(rt, &t, NULL, nothing, NULL), ENOTSUP},
	    {cc_task_spawn(NULL, NULL, NULL, nothing, NULL), ENOTSUP},
	    {cc_task_join(task, CC_FOREVER, NULL), ENOTSUP},
	    {cc_task_join(task, CC_NOW, NULL), ENOTSUP},
	    {cc_task_detach(task), ENOTSUP},
	    {cc_sleep_until(cc_now() + CC_SEC), ENOTSUP},
	    {cc_wait_fd(pipe_ends[0], CC_FD_READ, CC_FOREVER), ENOTSUP},
	    {cc_blocking(nothing, NULL, NULL), ENOTSUP},
	    {cc_process_spawn(&process, NULL, (char *[]){"true", NULL}), ENOTSUP},
	    {cc_process_wait(NULL, CC_FOREVER, NULL), ENOTSUP},
	    {cc_process_kill(NULL, SIGTERM), ENOTSUP},
	    {cc_process_free(NULL), ENOTSUP},
	    {cc_fiber_each(visit_none, NULL), ENOTSUP},
	    {cc_runtime_new(&made, NULL), ENOTSUP},
	    {cc_runtime_current() == NULL, 1},
	    {cc_chan_new(sizeof v, 1) == NULL, 1},
	    {cc_chan_create(&chan, sizeof v, 1, NULL), ENOTSUP},
	    {cc_chan_send(full, &v, sizeof v), ENOTSUP},
	    {cc_chan_recv(full, &v, sizeof v), ENOTSUP},
	    {cc_chan_try_recv(full, &v, sizeof v), ENOTSUP},
	    {cc_chan_send_many(full, &v, sizeof v, 1, CC_NOW, &n), ENOTSUP},
	    {cc_chan_recv_many(full, &v, sizeof v, 1, CC_NOW, &n), ENOTSUP},
	    {cc_chan_spawn(tasks, NULL, nothing, NULL, CC_NOW), ENOTSUP},
	    {cc_select(&one, 1, CC_FOREVER, NULL), ENOTSUP},
	    {cc_broadcast_new(sizeof v, 1) == NULL, 1},
	    {cc_watch_new(sizeof v) == NULL, 1},
	    {cc_chan_subscribe(full, &rx), ENOTSUP},
	    {cc_watch_get(full, &v, sizeof v), ENOTSUP},
	    {(int)cc_chan_lost((CCChanRx){full}), 0},
	    {cc_chan_close(full), ENOTSUP},
	    {cc_chan_free(full), ENOTSUP},
	    {(int)cc_chan_len(full), 0},
	    {cc_token_new() == NULL, 1},
	    {cc_token_set(unset), ENOTSUP},
	    {cc_token_wait(unset, CC_FOREVER), ENOTSUP},
	    {cc_token_free(unset), ENOTSUP},
	    {cc_runtime_free(rt), ENOTSUP},
	    {cc_shutdown(), ENOTSUP},
	};

	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++, call++)
		if (answers[i].got != answers[i].wanted)
			return call;
	cc_yield();
	cc_fiber_name(name);
	(void)cc_fiber_id();
	return cc_version() == CC_VERSION && made == NULL ? 0 : call;
}

static CCRuntime *runtime;
static CCTask someone;	/* a task that runs on */

static pid_t fork_and_try(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		beware();
		_exit(try_everything(runtime, someone));
	}
	return pid;
}

static int fiber_that_forks(void *arg)
{
	*(pid_t *)arg = fork_and_try();
	return 0;
}

static CCRuntime *start(unsigned workers)
{
	CCRuntime *rt = NULL;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	c.workers = workers;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

static void begin(struct gate *g)
{
	const CCChanOptions ordered = {.kind = CC_CHAN_KIND_ORDERED};
	const int v = 3;

	runtime = start(2);
	*g = (struct gate){0};
	new_pipe(pipe_ends);
	full = cc_chan_new(sizeof v, 1);
	CHECK_EQ(cc_chan_send(full, &v, sizeof v), 0);
	CHECK_EQ(cc_chan_create(&tasks, sizeof(CCTask), 1, &ordered), 0);
	unset = cc_token_new();
	someone = spawn(runtime, wait_at, g);
	TEST_UNTIL(cc__load(&g->arrived, CC__ACQUIRE) != 0);
}

static void end(struct gate *g)
{
	cc__store(&g->open, 1, CC__RELEASE);
	CHECK_EQ(join(someone), 17);
	CHECK_EQ(cc_runtime_free(runtime), 0);
	close_both(pipe_ends);
	CHECK_EQ(cc_chan_len(full), 1);
	CHECK_EQ(cc_chan_free(full), 0);
	CHECK_EQ(cc_chan_free(tasks), 0);
	CHECK_EQ(cc_token_free(unset), 0);
}

TEST(fork_child_of_a_thread_is_told)
{
	struct gate g;

	begin(&g);
	CHECK_EQ(ended(fork_and_try()), 0);
	end(&g);
}

TEST(fork_child_of_a_fiber_is_told)
{
	struct gate g;
	pid_t pid = -1;

	begin(&g);
	CHECK_EQ(join(spawn(runtime, fiber_that_forks, &pid)), 0);
	CHECK_EQ(ended(pid), 0);
	end(&g);
}

/* Workers that take and drop every lock there is, all the time. */
static int stay_busy(void *arg)
{
	struct gate *g = arg;
	char name[16];

	while (cc__load(&g->open, CC__ACQUIRE) == 0) {
		CCTask t = spawn(NULL, nothing, NULL);

		cc_sleep_until(cc_now() + CC_USEC);
		cc_ignore(cc_wait_fd(pipe_ends[0], CC_FD_READ, cc_now() + CC_USEC));
		cc_fiber_name(name);
		CHECK_EQ(join(t), 0);
	}
	return 0;
}

TEST(fork_while_workers_are_busy)
{
	enum { BUSY = 4 };
	CCTask busy[BUSY];
	struct gate g;

	begin(&g);
	for (int i = 0; i < BUSY; i++)
		busy[i] = spawn(runtime, stay_busy, &g);
	for (unsigned i = 0; i < 60 / test_slowness(); i++) {
		pid_t pid = -1;

		CHECK_EQ(ended(fork_and_try()), 0);
		CHECK_EQ(join(spawn(runtime, fiber_that_forks, &pid)), 0);
		CHECK_EQ(ended(pid), 0);
	}
	cc__store(&g.open, 1, CC__RELEASE);
	for (int i = 0; i < BUSY; i++)
		CHECK_EQ(join(busy[i]), 0);
	end(&g);
}

/* ---- the ways out ---- */

enum way { BY_EXEC, BY_EXIT, BY_RETURN, WAYS };

static void at_exit(void)
{
	if (cc_shutdown() != ENOTSUP || cc_runtime_free(runtime) != ENOTSUP)
		_exit(99);
}

/* In the child: leaves with 23. */
static int leave_by(enum way way)
{
	beware();
	if (way == BY_EXEC)
		execl("/bin/sh", "sh", "-c", "exit 23", (char *)NULL);
	if (way == BY_EXIT) {
		atexit(at_exit);
		close(STDOUT_FILENO);	/* not twice what the parent has buffered */
		exit(23);
	}
	return 23;
}

struct leaver {
	enum way way;
	pid_t pid;
};

static int fiber_that_leaves(void *arg)
{
	struct leaver *l = arg;

	if ((l->pid = fork()) == 0)
		return leave_by(l->way);
	return 0;
}

TEST(fork_child_leaves_by_exec_exit_or_return)
{
	struct gate g;

	begin(&g);
	for (enum way way = 0; way < WAYS; way++) {
		struct leaver l = {.way = way, .pid = -1};

		CHECK_EQ(join(spawn(runtime, fiber_that_leaves, &l)), 0);
		CHECK_EQ(ended(l.pid), 23);
		if ((l.pid = fork()) == 0)
			_exit(leave_by(way));
		CHECK_EQ(ended(l.pid), 23);
	}
	end(&g);
}

/* A child does not run what its parent's workers have before them. */
static int count_run(void *arg)
{
	cc__add((cc__a32 *)arg, 1, CC__RELAXED);
	return 0;
}

static int fork_before_others(void *arg)
{
	cc__a32 *ran = arg;
	pid_t pid;

	for (int i = 0; i < 100; i++)
		CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, count_run, ran), 0);
	if ((pid = fork()) == 0) {
		const uint32_t before = cc__load(ran, CC__RELAXED);

		beware();
		cc_yield();
		_exit(cc__load(ran, CC__RELAXED) == before ? 0 : 1);
	}
	return ended(pid);
}

TEST(fork_child_runs_nothing_of_its_parents)
{
	CCRuntime *rt = start(1);
	cc__a32 ran = {0};

	CHECK_EQ(join(spawn(rt, fork_before_others, &ran)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 100);
}

/* ---- without a runtime ---- */

static int use_a_runtime(void)
{
	CCRuntime *rt = start(2);
	pid_t pid = -1;
	int err;

	runtime = rt;
	someone = spawn(rt, nothing, NULL);
	err = join(spawn(rt, fiber_that_forks, &pid)) | ended(pid) | join(someone);
	return err | cc_runtime_free(rt);
}

TEST(fork_without_a_runtime_leaves_the_child_whole)
{
	pid_t pid;

	CHECK_EQ(use_a_runtime(), 0);	/* there was one, and it has ended */
	CHECK_EQ(cc_shutdown(), 0);
	if ((pid = fork()) == 0) {
		beware();
		_exit(use_a_runtime());	/* and its child is told again */
	}
	CHECK_EQ(ended(pid), 0);
	CHECK_EQ(use_a_runtime(), 0);
}

static void *alloc_the_first(void *allocations, size_t size)
{
	return ++*(unsigned *)allocations > 1 ? NULL : calloc(1, size);
}

static void free_it(void *allocations, void *p, size_t size)
{
	(void)allocations, (void)size;
	free(p);
}

/* Its own memory is there, that of its workers is not. */
static int fail_to_start(void)
{
	unsigned allocations = 0;
	CCRuntime *rt = NULL;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	c.allocator = (CCAllocator){alloc_the_first, free_it, &allocations};
	return cc_runtime_new(&rt, &c);
}

TEST(fork_after_a_runtime_that_did_not_start_leaves_the_child_whole)
{
	pid_t pid;

	CHECK_EQ(fail_to_start(), ENOMEM);
	if ((pid = fork()) == 0) {
		beware();
		_exit(cc__forked() ? 99 : use_a_runtime());
	}
	CHECK_EQ(ended(pid), 0);
}
