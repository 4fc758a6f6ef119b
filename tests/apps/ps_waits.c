/* ps_waits.c - a process for the tests of ccc-ps and of the gdb script to look at.
 *
 *	ps_waits kinds        fibers and threads with a wait of every kind
 *	ps_waits many N       N fibers that wait for one channel
 *	ps_waits farm N       N workers that wait for jobs; one fiber keeps a mutex, another waits for it
 *	ps_waits busy         fibers that begin, wait and end without pause
 *
 * Prints "ready" when everything waits.  Then each line of its input is a command: "dump" writes
 * cc_dump_as and a line "end"; "abort" aborts, "quit" exits.  With a further argument "split" stacks
 * have guards that gdb's generate-core-file can step over. */
#include <ccc/ccc.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static CCChan *full, *empty, *never;
static CCMutex mutex, cond_mutex;
static CCRwlock rwlock;
static CCSemaphore semaphore;
static CCCond cond;
static CCOnce once;
static CCBarrier barrier = CC_BARRIER_INIT(2);
static CCWaitGroup group;
static CCToken *token;
static uint32_t word;
static int ends[2], calls[2];
static CCTask joined, ended, later;

static void need(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "ps_waits: %s\n", what);
		exit(1);
	}
}

/* ---- one wait of each kind ---- */

static int wait_recv(void *unused)
{
	int v;

	(void)unused;
	return cc_chan_recv(empty, &v, sizeof v);
}

static int wait_recv_until(void *unused)
{
	int v;

	(void)unused;
	return cc_chan_recv_until(empty, &v, sizeof v, cc_after(3600 * CC_SEC));
}

static int wait_send(void *unused)
{
	const int v = 1;

	(void)unused;
	return cc_chan_send(full, &v, sizeof v);
}

static int wait_select(void *unused)
{
	const CCCase cases[] = {cc_case_token(token)};

	(void)unused;
	return cc_select(cases, 1, CC_FOREVER, NULL);
}

static int wait_task(void *unused)
{
	(void)unused;
	return cc_task_join(joined, CC_FOREVER, NULL);
}

static int wait_nursery(void *unused)
{
	int err;

	(void)unused;
	cc_nursery_scope(n, &err)
		cc_nursery_spawn(n, &(CCTaskOptions){.migration = CC_MIGRATE_PINNED, .name = "grandchild"},
		                 wait_recv, NULL);
	return err;
}

static int wait_mutex(void *unused)
{
	(void)unused;
	return cc_mutex_lock(&mutex);
}

static int wait_rwlock(void *unused)
{
	(void)unused;
	return cc_rwlock_read(&rwlock);
}

static int wait_cond(void *unused)
{
	(void)unused;
	return cc_mutex_lock(&cond_mutex) != 0 || cc_cond_wait(&cond, &cond_mutex);
}

static int wait_semaphore(void *unused)
{
	(void)unused;
	return cc_semaphore_wait(&semaphore);
}

static int first_of_once(void *unused)
{
	int v;

	(void)unused;
	return cc_chan_recv(never, &v, sizeof v);
}

static int wait_once(void *unused)
{
	(void)unused;
	return cc_once(&once, first_of_once, NULL);
}

static int wait_barrier(void *unused)
{
	(void)unused;
	return cc_barrier_wait(&barrier, NULL);
}

static int wait_group(void *unused)
{
	(void)unused;
	return cc_wait_group_wait(&group);
}

static int wait_token(void *unused)
{
	(void)unused;
	return cc_token_wait(token, CC_FOREVER);
}

static int wait_word(void *unused)
{
	(void)unused;
	return cc_park_wait(cc_park_space(), &word, 0, CC_FOREVER, NULL);
}

static int wait_sleep(void *unused)
{
	(void)unused;
	return cc_sleep_ms(3600000);
}

static int wait_fd(void *unused)
{
	(void)unused;
	return cc_wait_fd(ends[0], CC_FD_READ, CC_FOREVER);
}

static int read_call(void *unused)
{
	char byte;

	(void)unused;
	return read(calls[0], &byte, 1) != 1;
}

static int wait_blocking(void *unused)
{
	(void)unused;
	return cc_blocking(read_call, NULL, NULL);
}

static int at_once(void *unused)
{
	(void)unused;
	return 0;
}

static const struct {
	const char *name;
	cc_task_main *main;
} kinds[] = {
    {"recv", wait_recv},       {"recv", wait_recv},           {"recv_until", wait_recv_until},
    {"send", wait_send},       {"select", wait_select},       {"task", wait_task},
    {"nursery", wait_nursery}, {"mutex", wait_mutex},         {"rwlock", wait_rwlock},
    {"cond", wait_cond},       {"semaphore", wait_semaphore}, {"once", wait_once},
    {"once", wait_once},       {"barrier", wait_barrier},     {"group", wait_group},
    {"token", wait_token},     {"word", wait_word},           {"fd", wait_fd},
    {"blocking", wait_blocking},
};

static void *thread_recv(void *unused)
{
	return wait_recv(unused) != 0 ? &word : NULL;
}

static void *thread_mutex(void *unused)
{
	return wait_mutex(unused) != 0 ? &word : NULL;
}

static cc_task_fn(captured, CCMutex *m; int n;)
{
	return self->n == 0 || cc_mutex_lock(self->m);
}

/* ---- until everything waits ---- */

struct count {
	unsigned parked, others;
};

static int count_fiber(const CCFiberInfo *info, void *arg)
{
	struct count *c = arg;

	if (info->state == CC_FIBER_PARKED && info->wait != CC_WAIT_NONE)
		c->parked++;
	else
		c->others++;
	return 0;
}

static void until_parked(unsigned parked, unsigned others)
{
	struct count c;

	do {
		usleep(2000);
		c = (struct count){0, 0};
		need(cc_fiber_each(count_fiber, &c) == 0, "cc_fiber_each");
	} while (c.parked != parked || c.others != others);
}

static void spawn(CCTask *out, const char *name, cc_time at, cc_task_main *main)
{
	const CCTaskOptions o = {.name = name, .migration = CC_MIGRATE_PINNED, .start = at};

	need(cc_task_spawn(NULL, out, &o, main, NULL) == 0, "cc_task_spawn");
}

static void all_kinds(CCNursery *n)
{
	const int v = 1;
	pthread_t thread;

	full = cc_chan_new(sizeof(int), 1);
	need(full != NULL && cc_chan_send(full, &v, sizeof v) == 0, "send");
	need((token = cc_token_new()) != NULL, "token");
	need(cc_mutex_lock(&mutex) == 0 && cc_rwlock_write(&rwlock) == 0, "locks");
	need(cc_wait_group_add(&group, 1) == 0, "group");
	need(pipe(ends) == 0 && pipe(calls) == 0, "pipe");
	spawn(&joined, "sleep", 0, wait_sleep);
	spawn(&ended, "ended", 0, at_once);
	spawn(&later, "later", cc_after(3600 * CC_SEC), at_once);
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const CCTaskOptions o = {.name = kinds[i].name, .migration = CC_MIGRATE_PINNED};

		need(cc_nursery_spawn(n, &o, kinds[i].main, NULL) == 0, "spawn");
	}
	need(cc_spawn(n, captured, .m = &mutex, .n = 1) == 0, "cc_spawn");
	need(pthread_create(&thread, NULL, thread_recv, NULL) == 0, "thread");
	need(pthread_create(&thread, NULL, thread_mutex, NULL) == 0, "thread");
	/* The children, one more below, one with captures, and the task that is joined. */
	until_parked(sizeof kinds / sizeof *kinds + 3, 2);
	usleep(20000);	/* the threads are no fibers: the test looks until it sees both */
}

/* ---- the example of docs/ccc-ps.md ---- */

static CCMutex ledger;

static int worker(void *jobs)
{
	int job;

	return cc_chan_recv(jobs, &job, sizeof job);
}

static int keep_ledger(void *unused)
{
	(void)unused;
	return cc_mutex_lock(&ledger) != 0 || cc_wait_fd(ends[0], CC_FD_READ, CC_FOREVER);
}

static int read_ledger(void *unused)
{
	(void)unused;
	return cc_mutex_lock(&ledger);
}

static int report(void *unused)
{
	int err;

	(void)unused;
	cc_nursery_scope(n, &err)
		cc_nursery_spawn(n, &(CCTaskOptions){.migration = CC_MIGRATE_PINNED, .name = "reader"},
		                 read_ledger, NULL);
	return err;
}

static void farm(CCNursery *n, unsigned workers)
{
	const CCTaskOptions keeper = {.name = "keeper"}, reporter = {.name = "report"};

	need(pipe(ends) == 0, "pipe");
	need(cc_nursery_spawn(n, &keeper, keep_ledger, NULL) == 0, "spawn");
	until_parked(1, 0);
	need(cc_nursery_spawn(n, &reporter, report, NULL) == 0, "spawn");
	until_parked(3, 0);
	for (unsigned i = 0; i < workers; i++)
		need(cc_nursery_spawn(n, &(CCTaskOptions){.name = "worker"}, worker, empty) == 0, "spawn");
	until_parked(workers + 3, 0);
}

/* ---- without pause ---- */

static int churn(void *arg)
{
	for (;;) {
		int err;

		cc_nursery_scope(n, &err) {
			for (int i = 0; i < 50; i++)
				cc_nursery_spawn(n, NULL, i % 2 ? wait_recv_until : at_once, arg);
			cc_yield();
			(void)cc_nursery_cancel(n, 0);
		}
		cc_yield();
	}
	return 0;
}

/* ---- commands ---- */

static void obey(void)
{
	char line[64];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		if (strcmp(line, "dump\n") == 0) {
			need(cc_dump_as(STDOUT_FILENO, CC_DUMP_JSON) == 0, "dump");
			puts("end");
			fflush(stdout);
		} else if (strcmp(line, "abort\n") == 0) {
			abort();
		} else {
			break;
		}
	}
	_exit(0);
}

static void begin(int split)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	CCConfig c;

	setrlimit(RLIMIT_CORE, &all);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);	/* where only a parent may look */
	need(cc_config_init(&c) == 0, "config");
	if (split)
		c.guard = CC_GUARD_SPLIT;
	need(cc_runtime_configure(&c) == 0, "configure");
	empty = cc_chan_new(sizeof(int), 0);
	never = cc_chan_new(sizeof(int), 0);
	need(empty != NULL && never != NULL, "channels");
}

int main(int argc, char **argv)
{
	CCNursery n;
	long count = 0;

	need(argc > 1, "what?");
	begin(strcmp(argv[argc - 1], "split") == 0);
	need(cc_nursery_init(&n, NULL) == 0, "nursery");
	if (strcmp(argv[1], "kinds") == 0) {
		all_kinds(&n);
	} else if (strcmp(argv[1], "many") == 0 && argc > 2) {
		for (count = strtol(argv[2], NULL, 10); count > 0; count--)
			need(cc_nursery_spawn(&n, &(CCTaskOptions){.name = "worker"}, wait_recv, NULL) == 0,
			     "spawn");
		until_parked((unsigned)strtol(argv[2], NULL, 10), 0);
	} else if (strcmp(argv[1], "farm") == 0 && argc > 2) {
		farm(&n, (unsigned)strtol(argv[2], NULL, 10));
	} else {
		need(cc_nursery_spawn(&n, NULL, churn, NULL) == 0 &&
		         cc_nursery_spawn(&n, NULL, churn, NULL) == 0,
		     "spawn");
	}
	obey();
	return 0;
}
