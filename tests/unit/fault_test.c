/* fault_test.c - the system says no: every k-th call of every kind fails, and
 * signals interrupt every wait.
 *
 * A script (start, spawn from a thread and from a fiber, yield, join, free) runs
 * in a fresh process for each k, so that process-wide slabs grow in it too.
 * Then it runs once more, undisturbed; after that the process holds exactly
 * what one holds that was never disturbed.
 *
 * link-wrap: mmap munmap madvise mprotect malloc calloc free pthread_create sigaltstack */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ccc/ccc.h>

#include "os/atomic.h"
#include "os/fork.h"
#include "os/context.h"
#include "sched/worker.h"

/* clang's TSan calls what we wrap before it is ready to be called itself. */
#if defined(CC__TSAN) && defined(__clang__)
#define RAW __attribute__((disable_sanitizer_instrumentation))
#else
#define RAW
#endif

/* ---- calls that fail ---- */

enum kind { MMAP, MUNMAP, MADVISE, MPROTECT, MALLOC, CALLOC, THREAD, ALTSTACK, KINDS };

static const char *const kind_name[KINDS] = {"mmap",   "munmap", "madvise",        "mprotect",
                                             "malloc", "calloc", "pthread_create", "sigaltstack"};

static struct {
	cc__a32 on;		/* off: calls are neither counted nor failed */
	cc__a32 calls[KINDS];
	cc__a32 failed[KINDS];
	cc__a32 at[KINDS];	/* the call that fails; 0: none */
	cc__a32 every[KINDS];	/* every so-manieth fails; 0: none */
	/* What is held, counted from the start of the process. */
	cc__a64 blocks, bytes;
} fault;

/* Inside malloc or free: a libc that is linked in statically calls what we wrap. */
static _Thread_local int inside;

RAW static bool fails(enum kind kind)
{
	uint32_t n, at, every;

	if (cc__load(&fault.on, CC__RELAXED) == 0 || inside != 0)
		return false;
	n = cc__add(&fault.calls[kind], 1, CC__RELAXED) + 1;
	at = cc__load(&fault.at[kind], CC__RELAXED);
	every = cc__load(&fault.every[kind], CC__RELAXED);
	if (n != at && (every == 0 || n % every != 0))
		return false;
	cc__add(&fault.failed[kind], 1, CC__RELAXED);
	return true;
}

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
RAW void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p = MAP_FAILED;

	errno = ENOMEM;
	if (!fails(MMAP))
		p = __real_mmap(at, size, prot, flags, fd, offset);
	if (p != MAP_FAILED && inside == 0)
		cc__add(&fault.bytes, size, CC__RELAXED);
	return p;
}

int __real_munmap(void *, size_t);
int __wrap_munmap(void *, size_t);
RAW int __wrap_munmap(void *p, size_t size)
{
	if (fails(MUNMAP)) {
		errno = ENOMEM;
		return -1;
	}
	if (inside == 0)
		cc__sub(&fault.bytes, size, CC__RELAXED);
	return __real_munmap(p, size);
}

int __real_madvise(void *, size_t, int);
int __wrap_madvise(void *, size_t, int);
RAW int __wrap_madvise(void *p, size_t size, int advice)
{
	errno = ENOMEM;
	return fails(MADVISE) ? -1 : __real_madvise(p, size, advice);
}

int __real_mprotect(void *, size_t, int);
int __wrap_mprotect(void *, size_t, int);
RAW int __wrap_mprotect(void *p, size_t size, int prot)
{
	errno = ENOMEM;
	return fails(MPROTECT) ? -1 : __real_mprotect(p, size, prot);
}

void *__real_malloc(size_t);
void *__wrap_malloc(size_t);
RAW void *__wrap_malloc(size_t size)
{
	void *p = NULL;

	if (!fails(MALLOC)) {
		inside++;
		p = __real_malloc(size);
		inside--;
	}
	if (p != NULL && inside == 0)
		cc__add(&fault.blocks, 1, CC__RELAXED);
	return p;
}

void *__real_calloc(size_t, size_t);
void *__wrap_calloc(size_t, size_t);
RAW void *__wrap_calloc(size_t n, size_t size)
{
	void *p = NULL;

	if (!fails(CALLOC)) {
		inside++;
		p = __real_calloc(n, size);
		inside--;
	}
	if (p != NULL && inside == 0)
		cc__add(&fault.blocks, 1, CC__RELAXED);
	return p;
}

void __real_free(void *);
void __wrap_free(void *);
RAW void __wrap_free(void *p)
{
	if (p != NULL && inside == 0)
		cc__sub(&fault.blocks, 1, CC__RELAXED);
	inside++;
	__real_free(p);
	inside--;
}

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
RAW int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*main)(void *), void *arg)
{
	return fails(THREAD) ? EAGAIN : __real_pthread_create(t, a, main, arg);
}

int __real_sigaltstack(const stack_t *, stack_t *);
int __wrap_sigaltstack(const stack_t *, stack_t *);
RAW int __wrap_sigaltstack(const stack_t *new, stack_t *old)
{
	errno = ENOMEM;
	return fails(ALTSTACK) ? -1 : __real_sigaltstack(new, old);
}

/* ---- the script ---- */

enum { TASKS = 50, FIBERS_TASKS = 50 };

struct outcome {
	int started;			/* what cc_runtime_new said */
	unsigned spawned, refused;	/* spawns; each one is counted in one of them */
	cc__a32 ran;			/* tasks that ran to their end */
	int wrong;			/* calls that did what they must not */
	int line;			/* of the last of those */
};

#define MUST(o, x) ((x) ? (void)0 : (void)((o)->wrong++, (o)->line = __LINE__))

static bool is_refusal(int err)
{
	return err == ENOMEM || err == EAGAIN;
}

static cc__a32 spawners;	/* that have not spawned all of theirs */

/* Stays until all have been spawned, and so have stacks at the same time. */
static int task(void *arg)
{
	struct outcome *o = arg;

	while (cc__load(&spawners, CC__RELAXED) != 0)
		cc_yield();
	for (int i = 0; i < CC__FAIR_RUN + 2; i++)	/* until the inbox has been looked at */
		cc_yield();
	cc__add(&o->ran, 1, CC__RELAXED);
	return 7;
}

static unsigned spawn_some(CCRuntime *rt, struct outcome *o, CCTask *t, unsigned n)
{
	unsigned spawned = 0;

	for (unsigned i = 0; i < n; i++) {
		int err = cc_task_spawn(rt, &t[spawned], NULL, task, o);

		if (err == 0) {
			spawned++;
			continue;
		}
		MUST(o, is_refusal(err));
		o->refused++;
	}
	o->spawned += spawned;
	cc__sub(&spawners, 1, CC__RELAXED);
	return spawned;
}

static void join_all(struct outcome *o, const CCTask *t, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		int result = 0, err;

		while ((err = cc_task_join(t[i], CC_FOREVER, &result)) == ENOMEM)
			continue;
		MUST(o, err == 0 && result == 7);
	}
}

struct from_fiber {
	struct outcome outcome;	/* its own: nobody else counts in it */
};

static int spawn_from_fiber(void *arg)
{
	struct from_fiber *f = arg;
	CCTask t[FIBERS_TASKS];
	unsigned n = spawn_some(NULL, &f->outcome, t, FIBERS_TASKS);

	cc_yield();
	join_all(&f->outcome, t, n);
	return 7;
}

static void ignore_line(void *context, const char *line)
{
	(void)context, (void)line;
}

static CCConfig config_of(CCGuard guard)
{
	CCConfig c;

	if (cc_config_init(&c) != 0)
		abort();
	c.workers_max = c.workers;	/* no other one comes, and needs memory */
	c.guard = guard;
	c.stack_size = 80 * 1024;
	c.stack_cache = 16;
	c.log = ignore_line;
	return c;
}

static void script(CCGuard guard, struct outcome *o)
{
	const CCConfig c = config_of(guard);
	struct from_fiber f = {{0}};
	CCRuntime *rt = NULL;
	CCTask t[TASKS], spawner;
	unsigned n;
	int err;

	*o = (struct outcome){0};
	if ((o->started = cc_runtime_new(&rt, &c)) != 0) {
		MUST(o, is_refusal(o->started) || o->started == ENOTSUP);
		return;
	}
	cc__store(&spawners, 2, CC__RELAXED);
	err = cc_task_spawn(rt, &spawner, NULL, spawn_from_fiber, &f);
	MUST(o, err == 0 || is_refusal(err));
	if (err != 0)
		cc__sub(&spawners, 1, CC__RELAXED);
	n = spawn_some(rt, o, t, TASKS);
	if (err == 0)
		join_all(&f.outcome, &spawner, 1);
	join_all(o, t, n);
	MUST(o, cc_runtime_free(rt) == 0);
	MUST(o, f.outcome.wrong == 0);
	MUST(o, cc__load(&f.outcome.ran, CC__RELAXED) == f.outcome.spawned);
	MUST(o, cc__load(&o->ran, CC__RELAXED) == o->spawned);
	MUST(o, err != 0 || f.outcome.spawned + f.outcome.refused == FIBERS_TASKS);
	o->spawned += f.outcome.spawned;
	o->refused += f.outcome.refused;
}

/* ---- one process: disturbed, then not ---- */

struct plan {
	CCGuard guard;
	uint32_t at[KINDS], every[KINDS];
	int runs;		/* disturbed ones */
};

static struct tally {
	uint32_t calls[KINDS], failed[KINDS];
	uint64_t blocks, bytes;		/* held at the end */
	struct outcome last;		/* the disturbed one, or the one that went wrong */
	struct outcome clean;		/* the undisturbed one after it */
	int over;
} *tally;

static void follow(void *arg)
{
	const struct plan *plan = arg;
	struct outcome o;

	/* Once a process, and kept: by the page, or where that fails by libc. */
	cc__fork_watch();
	cc__fork_unwatch();
	cc__store(&fault.blocks, 0, CC__RELAXED);
	cc__store(&fault.bytes, 0, CC__RELAXED);
	for (int k = 0; k < KINDS; k++) {
		cc__store(&fault.at[k], plan->at[k], CC__RELAXED);
		cc__store(&fault.every[k], plan->every[k], CC__RELAXED);
	}
	for (int i = 0; i < plan->runs && tally->last.wrong == 0; i++) {
		cc__store(&fault.on, 1, CC__RELAXED);
		script(plan->guard, &o);
		cc__store(&fault.on, 0, CC__RELAXED);
		tally->last = o;
	}
	for (int k = 0; k < KINDS; k++) {
		tally->calls[k] = cc__load(&fault.calls[k], CC__RELAXED);
		tally->failed[k] = cc__load(&fault.failed[k], CC__RELAXED);
	}
	script(plan->guard, &o);
	tally->clean = o;
	tally->blocks = cc__load(&fault.blocks, CC__RELAXED);
	tally->bytes = cc__load(&fault.bytes, CC__RELAXED);
	tally->over = 1;
}

static void run_plan(struct plan plan)
{
	static struct test_death death;

	if (tally == NULL)
		tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE,
		             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(tally, 0, sizeof *tally);
	REQUIRE_EQ(test_dies(follow, &plan, &death), 0);
	CHECK(!death.timed_out);
	CHECK(WIFEXITED(death.status) && WEXITSTATUS(death.status) == 0);
	CHECK_EQ(tally->over, 1);
	if (tally->over == 0)
		printf("%s", death.text);
}

/* What an undisturbed process holds after two runs. */
static struct tally baseline(CCGuard guard)
{
	run_plan((struct plan){.guard = guard, .runs = 1});
	CHECK_EQ(tally->last.started, 0);
	CHECK_EQ(tally->last.spawned, TASKS + FIBERS_TASKS);
	CHECK_EQ(tally->last.wrong, 0);
	CHECK_EQ(tally->blocks, 0);
	return *tally;
}

/* False: this run was not as it must be. */
static bool check_run(const struct tally *base, bool may_leak_pages)
{
	bool ok = CHECK_EQ(tally->over, 1);

	ok &= CHECK_EQ(tally->last.wrong, 0);
	ok &= CHECK_EQ(tally->last.line, 0);
	ok &= CHECK_EQ(tally->clean.started, 0);
	ok &= CHECK_EQ(tally->clean.wrong, 0);
	ok &= CHECK_EQ(tally->clean.spawned, TASKS + FIBERS_TASKS);
	ok &= CHECK_EQ(tally->blocks, 0);
	if (!may_leak_pages)
		ok &= CHECK_EQ(tally->bytes, base->bytes);
	return ok;
}

/* ---- every k-th call, once ---- */

static void fail_each(CCGuard guard, enum kind kind)
{
	const struct tally base = baseline(guard);
	uint32_t k = 1;

	CHECK(base.calls[kind] > 0);	/* else the wrap does not reach */
	for (;; k++) {
		struct plan plan = {.guard = guard, .runs = 1};

		plan.at[kind] = k;
		run_plan(plan);
		/* The second sigaltstack switches off: its memory cannot go. */
		if (!check_run(&base, kind == MUNMAP || (kind == ALTSTACK && k % 2 == 0))) {
			printf("with failure of %s number %u\n", kind_name[kind], k);
			return;
		}
		if (tally->failed[kind] == 0)
			break;
	}
	CHECK(k > 1);	/* how many stacks it takes is a matter of time */
	printf("      %s: %u calls, each failed once\n", kind_name[kind], k - 1);
}

TEST(every_failing_mmap_is_survived)	{ fail_each(CC_GUARD_AUTO, MMAP); }
TEST(every_failing_munmap_is_survived)	{ fail_each(CC_GUARD_AUTO, MUNMAP); }
TEST(every_failing_madvise_is_survived)	{ fail_each(CC_GUARD_AUTO, MADVISE); }
TEST(every_failing_mprotect_is_survived)	{ fail_each(CC_GUARD_SPLIT, MPROTECT); }
TEST(every_failing_malloc_is_survived)	{ fail_each(CC_GUARD_AUTO, MALLOC); }
TEST(every_failing_calloc_is_survived)	{ fail_each(CC_GUARD_AUTO, CALLOC); }
TEST(every_failing_pthread_create_is_survived)	{ fail_each(CC_GUARD_AUTO, THREAD); }
TEST(every_failing_sigaltstack_is_survived)	{ fail_each(CC_GUARD_AUTO, ALTSTACK); }

/* A cause has one error number. */
TEST(failure_to_start_says_why)
{
	struct plan plan = {.guard = CC_GUARD_AUTO, .runs = 1};
	int refused = 0;

	plan.at[THREAD] = 1;
	run_plan(plan);
	CHECK_EQ(tally->last.started, EAGAIN);
	plan.at[THREAD] = 0;
	for (plan.at[CALLOC] = 1; plan.at[CALLOC] <= 4; plan.at[CALLOC]++) {
		run_plan(plan);	/* libc may do without some of them */
		CHECK(tally->last.started == ENOMEM || tally->last.started == 0);
		refused += tally->last.started == ENOMEM;
	}
	CHECK(refused >= 2);
	plan.at[CALLOC] = 0;
	plan.every[MMAP] = 1;
	run_plan(plan);
	CHECK_EQ(tally->last.started, ENOMEM);
}

/* ---- again and again ---- */

static void fail_at_rate(CCGuard guard, uint32_t rate)
{
	const struct tally base = baseline(guard);

	for (int kind = 0; kind < KINDS; kind++) {
		struct plan plan = {.guard = guard, .runs = 5};

		if (base.calls[kind] == 0)
			continue;
		plan.every[kind] = rate;
		run_plan(plan);
		if (!check_run(&base, kind == MUNMAP || kind == ALTSTACK))
			printf("with every %u. %s failing\n", rate, kind_name[kind]);
	}
}

TEST(failures_at_a_steady_rate_are_survived)
{
	static const uint32_t rates[] = {2, 3, 7};

	for (int i = 0; i < 3; i++) {
		fail_at_rate(CC_GUARD_AUTO, rates[i]);
		fail_at_rate(CC_GUARD_SPLIT, rates[i]);
	}
}

TEST(failures_of_all_kinds_at_once_are_survived)
{
	const struct tally base = baseline(CC_GUARD_AUTO);
	uint64_t random = test_seed();

	for (int i = 0; i < 20; i++) {
		struct plan plan = {.guard = CC_GUARD_AUTO, .runs = 8};

		for (int k = 0; k < KINDS; k++)
			plan.every[k] = k == MUNMAP ? 0 : 2 + (uint32_t)(test_random(&random) % 7);
		run_plan(plan);
		/* Without a stack for the handler, its memory goes when the thread does. */
		if (!check_run(&base, true))
			return;
	}
}

/* ---- signals ---- */

#ifndef CC__TSAN

struct storm {
	pthread_t target;
	cc__a32 stop;
	cc__a32 sent;
};

static cc__a32 caught;

static void catch_it(int sig)
{
	(void)sig;
	cc__add(&caught, 1, CC__RELAXED);
}

static void *send_signals(void *arg)
{
	struct storm *s = arg;

	while (cc__load(&s->stop, CC__ACQUIRE) == 0) {
		const uint32_t seen = cc__load(&caught, CC__RELAXED);

		if (pthread_kill(s->target, SIGUSR1) != 0)
			break;
		cc__add(&s->sent, 1, CC__RELAXED);
		while (cc__load(&caught, CC__RELAXED) == seen && cc__load(&s->stop, CC__ACQUIRE) == 0)
			sched_yield();
	}
	return NULL;
}

static bool begin_storm(struct storm *s, pthread_t *thread)
{
	struct sigaction a;

	memset(&a, 0, sizeof a);
	sigemptyset(&a.sa_mask);
	a.sa_handler = catch_it;	/* no SA_RESTART */
	sigaction(SIGUSR1, &a, NULL);
	*s = (struct storm){.target = pthread_self()};
	return CHECK_EQ(pthread_create(thread, NULL, send_signals, s), 0);
}

static void end_storm(struct storm *s, pthread_t thread)
{
	cc__store(&s->stop, 1, CC__RELEASE);
	pthread_join(thread, NULL);
	signal(SIGUSR1, SIG_IGN);
}

struct patient {
	uint32_t until;		/* ends when that many have been caught */
	cc__a32 ended;
};

static int outlast_storm(void *arg)
{
	struct patient *p = arg;

	while (cc__load(&caught, CC__RELAXED) < p->until)
		cc_yield();
	cc__store(&p->ended, 1, CC__RELEASE);
	return 42;
}

#endif

TEST(interrupted_join_neither_ends_early_nor_misses_the_end)
{
#ifdef CC__TSAN
	SKIP("TSan holds signals back");
#else
	const CCConfig c = config_of(CC_GUARD_AUTO);
	struct patient last = {0};
	struct storm s;
	CCRuntime *rt;
	pthread_t thread;

	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	REQUIRE(begin_storm(&s, &thread));
	for (int i = 0; i < 50; i++) {
		struct patient p = {.until = cc__load(&caught, CC__RELAXED) + 100 / test_slowness()};
		int result = 0;
		CCTask t;

		if (!CHECK_EQ(cc_task_spawn(rt, &t, NULL, outlast_storm, &p), 0))
			break;
		CHECK_EQ(cc_task_join(t, i % 2 ? CC_FOREVER : cc_now() + 3600 * CC_SEC, &result), 0);
		CHECK_EQ(cc__load(&p.ended, CC__ACQUIRE), 1);
		CHECK_EQ(result, 42);
	}
	CHECK(cc__load(&caught, CC__RELAXED) >= 50);
	/* The wait for the last task is a wait as well. */
	last.until = cc__load(&caught, CC__RELAXED) + 100 / test_slowness();
	CHECK_EQ(cc_task_spawn(rt, NULL, NULL, outlast_storm, &last), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&last.ended, CC__ACQUIRE), 1);
	end_storm(&s, thread);
#endif
}

TEST(interrupted_waits_end_at_their_deadline)
{
#ifdef CC__TSAN
	SKIP("TSan holds signals back");
#else
	const CCConfig c = config_of(CC_GUARD_AUTO);
	struct patient p = {.until = UINT32_MAX};
	struct storm s;
	CCRuntime *rt;
	CCTask t;
	pthread_t thread;
	cc_time end;
	uint32_t before;

	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	cc__store(&caught, 0, CC__RELAXED);
	REQUIRE(begin_storm(&s, &thread));
	REQUIRE_EQ(cc_task_spawn(rt, &t, NULL, outlast_storm, &p), 0);
	for (int i = 0; i < 5; i++) {
		before = cc__load(&caught, CC__RELAXED);
		do {
			end = cc_now() + 30 * CC_MSEC;
			CHECK_EQ(cc_sleep_until(end), 0);
			CHECK(cc_now() >= end);
		} while (cc__load(&caught, CC__RELAXED) == before);
		end = cc_now() + 30 * CC_MSEC;
		CHECK_EQ(cc_task_join(t, end, NULL), ETIMEDOUT);
		CHECK(cc_now() >= end);
	}
	end_storm(&s, thread);
	cc__store(&caught, UINT32_MAX, CC__RELAXED);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	cc__store(&caught, 0, CC__RELAXED);
#endif
}

/* ---- stop against sleep ---- */

static int at_once(void *arg)
{
	(void)arg;
	return 7;
}

/* The worker is on its way to sleep when it is told to stop: again and again,
 * since that moment is short. */
TEST(runtime_free_reaches_a_worker_that_falls_asleep)
{
	CCConfig c = config_of(CC_GUARD_AUTO);
	const cc_time patience = 4 * CC_SEC * test_slowness();

	c.shutdown_timeout = patience;
	c.stack_idle = 3600 * CC_SEC;	/* nothing else wakes it */
	for (unsigned i = 0; i < test_rounds(4000); i++) {
		CCRuntime *rt;
		CCTask t;

		REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
		REQUIRE_EQ(cc_task_spawn(rt, &t, NULL, at_once, NULL), 0);
		REQUIRE_EQ(cc_task_join(t, CC_FOREVER, NULL), 0);
		for (unsigned turns = i % 64; turns > 0; turns--)
			cc__relax();
		if (!CHECK_EQ(cc_runtime_free(rt), 0)) {
			printf("round %u: the worker sleeps on\n", i);
			CHECK_EQ(cc_runtime_free(rt), 0);	/* its poke finds it asleep */
			return;
		}
	}
}
