/* runtime_test.c - start, stop, hooks, and what outlives a runtime.
 * link-wrap: munmap madvise */
#include "environment.h"
#include "tasks.h"
#include "test.h"

#include <ccc/ccc.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/pages.h"
#include "points.h"
#include "sched/worker.h"

/* ---- what is given back to the system ---- */

struct range {
	const char *begin;
	size_t size;
};

enum { RANGES = 4096 };
struct ranges {
	unsigned count;
	struct range at[RANGES];
};
static struct ranges unmapped, discarded;
static pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER;

int __real_munmap(void *p, size_t size);
int __wrap_munmap(void *p, size_t size);
int __real_madvise(void *p, size_t size, int advice);
int __wrap_madvise(void *p, size_t size, int advice);

static void note(struct ranges *r, const void *p, size_t size)
{
	pthread_mutex_lock(&ranges_lock);
	if (r->count < RANGES)
		r->at[r->count] = (struct range){p, size};
	r->count++;
	pthread_mutex_unlock(&ranges_lock);
}

int __wrap_munmap(void *p, size_t size)
{
	note(&unmapped, p, size);
	return __real_munmap(p, size);
}

int __wrap_madvise(void *p, size_t size, int advice)
{
	int err = __real_madvise(p, size, advice);

	if (advice == MADV_DONTNEED)
		note(&discarded, p, size);
	return err;
}

static void forget(void)
{
	pthread_mutex_lock(&ranges_lock);
	unmapped.count = discarded.count = 0;
	pthread_mutex_unlock(&ranges_lock);
}

static unsigned ranges(const struct ranges *r)
{
	unsigned n;

	pthread_mutex_lock(&ranges_lock);
	n = r->count;
	pthread_mutex_unlock(&ranges_lock);
	return n;
}

static bool in_ranges(const struct ranges *r, const void *p)
{
	bool in = false;

	CHECK(ranges(r) <= RANGES);
	pthread_mutex_lock(&ranges_lock);
	for (unsigned i = 0; i < r->count && i < RANGES && !in; i++)
		in = (const char *)p >= r->at[i].begin &&
		     (const char *)p < r->at[i].begin + r->at[i].size;
	pthread_mutex_unlock(&ranges_lock);
	return in;
}

/* ---- helpers ---- */

static CCRuntime *start(const CCConfig *c)
{
	CCRuntime *rt = NULL;

	CHECK_EQ(cc_runtime_new(&rt, c), 0);
	return rt;
}

static int give(void *arg)
{
	return *(int *)arg;
}

static int join_task(void *arg)
{
	return join(*(CCTask *)arg);
}

/* How many threads bear the name of a worker, and sleep if `state` is 'S' (0: do
 * anything). */
static unsigned workers_that(char state)
{
	DIR *d = opendir("/proc/self/task");
	unsigned n = 0;

	if (d == NULL)
		return 0;
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		char path[300], stat[64] = "";
		const char *name, *end;
		FILE *f;

		snprintf(path, sizeof path, "/proc/self/task/%s/stat", e->d_name);
		if ((f = fopen(path, "r")) == NULL)
			continue;
		name = fgets(stat, sizeof stat, f) != NULL ? strstr(stat, "(cc-worker") : NULL;
		end = name != NULL ? strchr(name, ')') : NULL;
		n += end != NULL && (state == 0 || end[2] == state);
		fclose(f);
	}
	closedir(d);
	return n;
}

static unsigned workers(void)
{
	return workers_that(0);
}

/* ---- version ---- */

TEST(version_is_that_of_the_headers)
{
	CHECK_EQ(cc_version(), CC_VERSION);
	CHECK_EQ(CC_VERSION, CC_VERSION_MAJOR << 16 | CC_VERSION_MINOR << 8 | CC_VERSION_PATCH);
}

/* ---- the default runtime ---- */

static int my_runtime(void *arg)
{
	*(CCRuntime **)arg = cc_runtime_current();
	return 0;
}

TEST(default_runtime_starts_on_first_use)	/* covers: RES-41/u */
{
	CCRuntime *rt = NULL;

	CHECK_EQ(cc_shutdown(), 0);	/* none was started */
	CHECK_EQ(workers(), 0);
	join(spawn(NULL, my_runtime, &rt));
	CHECK(rt != NULL);
	CHECK(rt == cc_runtime_current());
	TEST_UNTIL(workers() == config().workers);	/* each names itself */
	join(spawn(NULL, nothing, NULL));
	CHECK_EQ(workers(), config().workers);
	CHECK_EQ(cc_shutdown(), 0);
	TEST_UNTIL(workers() == 0);	/* the kernel may still be at it */
	CHECK_EQ(cc_shutdown(), 0);
}

TEST(default_runtime_starts_again_after_shutdown)
{
	for (int i = 0; i < 200; i++) {
		CHECK_EQ(join(spawn(NULL, give, &i)), i);
		CHECK_EQ(cc_shutdown(), 0);
	}
}

static unsigned workers_of_the_default(void)
{
	const struct cc__sched *s = (const struct cc__sched *)(const void *)cc_runtime_current();

	return s != NULL ? s->config.workers : 0;
}

TEST(default_runtime_starts_as_configured)
{
	CCConfig c, bad;

	CHECK_EQ(cc_config_init(&c), 0);
	c.workers = 3;
	bad = c;
	bad.workers = 0;
	CHECK_EQ(cc_runtime_configure(&c), 0);
	CHECK_EQ(cc_runtime_configure(&bad), EINVAL);
	for (int i = 0; i < 2; i++) {	/* it holds for the next one, too */
		CHECK_EQ(workers_of_the_default(), 3);
		CHECK_EQ(cc_runtime_configure(&c), EBUSY);
		CHECK_EQ(cc_runtime_configure(NULL), EBUSY);
		CHECK_EQ(cc_shutdown(), 0);
	}
	c.workers = 5;
	CHECK_EQ(cc_runtime_configure(&c), 0);
	CHECK_EQ(workers_of_the_default(), 5);
	CHECK_EQ(cc_shutdown(), 0);
	CHECK_EQ(cc_runtime_configure(NULL), 0);
	CHECK_EQ(cc_config_init(&c), 0);
	CHECK_EQ(workers_of_the_default(), c.workers);
	CHECK_EQ(cc_shutdown(), 0);
}

static void *use_default(void *arg)
{
	pthread_barrier_wait(arg);
	return cc_runtime_current();
}

TEST(default_runtime_is_one_however_many_start_it)	/* covers: RES-41/u */
{
	enum { N = 4 };
	pthread_barrier_t barrier;
	pthread_t t[N];

	pthread_barrier_init(&barrier, NULL, N);
	for (int round = 0; round < 20; round++) {
		void *rt[N];

		for (int i = 0; i < N; i++)
			REQUIRE_EQ(pthread_create(&t[i], NULL, use_default, &barrier), 0);
		for (int i = 0; i < N; i++)
			pthread_join(t[i], &rt[i]);
		for (int i = 0; i < N; i++)
			CHECK(rt[i] != NULL && rt[i] == rt[0]);
		CHECK_EQ(cc_shutdown(), 0);
	}
	pthread_barrier_destroy(&barrier);
}

/* ---- several ---- */

struct stack_user {
	CCRuntime *rt;
	size_t size;
};

static int each_stack(const CCFiberInfo *info, void *arg)
{
	struct stack_user *u = arg;

	if (info->id == cc_fiber_id()) {
		CHECK(info->runtime == u->rt);
		u->size = info->stack_size;
	}
	return 0;
}

static int use_stack(void *arg)
{
	struct stack_user *u = arg;
	const size_t page = cc__page_size();
	char *here = __builtin_frame_address(0);
	size_t most, step;

	CHECK(cc_runtime_current() == u->rt);
	cc_fiber_each(each_stack, u);
	/* All of it is there: down to 8 KB above its end. */
	most = u->size - 8192 - page;
	step = most > 1 << 24 ? most / 64 / page * page : page;
	for (size_t i = page; i < most; i += step)
		*(volatile char *)(here - i) = 1;
	if (most > page)
		*(volatile char *)(here - most) = 1;
	return 0;
}

TEST(several_runtimes_run_at_once_each_with_its_stacks)	/* covers: RES-41/u */
{
	enum { N = 8 };
	struct gate g[N] = {0};
	struct stack_user u[N];
	CCTask t[N], held[N];

	for (unsigned i = 0; i < N; i++) {
		CCConfig c = config();

		c.stack_size = (size_t)64 * 1024 << i;
		u[i].rt = start(&c);
		held[i] = spawn(u[i].rt, wait_at, &g[i]);
		t[i] = spawn(u[i].rt, use_stack, &u[i]);
	}
	for (unsigned i = 0; i < N; i++) {
		join(t[i]);
		CHECK_EQ(u[i].size, ((size_t)48 * 1024 << i));	/* without the guard */
		for (unsigned k = 0; k < i; k++)
			CHECK(u[k].rt != u[i].rt);
	}
	/* One that ends leaves the others alone. */
	for (unsigned i = 0; i < N; i++) {
		cc__store(&g[i].open, 1, CC__RELEASE);
		CHECK_EQ(join(held[i]), 17);
		CHECK_EQ(cc_runtime_free(u[i].rt), 0);
		for (unsigned k = i + 1; k < N; k++)
			CHECK_EQ(join(spawn(u[k].rt, nothing, NULL)), 0);
	}
}

/* ---- the end ---- */

/* A worker that is just falling asleep must hear of it.  The patience is far
 * below stack_idle, whose timer would cover for a lost wake-up. */
TEST(free_right_after_start_is_heard)
{
	CCConfig c = config();

	c.shutdown_timeout = 5 * CC_SEC;
	c.stack_idle = 3600 * CC_SEC;
	for (unsigned i = 0; i < test_rounds(3000); i++) {
		CCRuntime *rt = start(&c);

		if (i % 2 != 0)
			join(spawn(rt, nothing, NULL));
		for (unsigned spin = i % 64; spin > 0; spin--)
			cc__relax();
		REQUIRE_EQ(cc_runtime_free(rt), 0);
	}
}

/* The same, without luck: a stack hook holds the worker between its last look
 * around and its sleep. */
struct doorstep {
	struct cc__sched *sched;
	cc__a32 armed, entered;
};

static void *doorstep_acquire(void *context, size_t size)
{
	(void)context;
	return aligned_alloc(cc__page_size(), size);
}

static void doorstep_release(void *context, void *stack, size_t size)
{
	struct doorstep *d = context;

	(void)size;
	if (cc__load(&d->armed, CC__ACQUIRE) != 0) {
		cc__store(&d->entered, 1, CC__RELEASE);
		TEST_UNTIL(cc__load(&d->sched->stopping, CC__SEQ_CST) != 0);
		for (int i = 0; i < 100; i++)	/* the wake-up that follows goes astray */
			sched_yield();
	}
	free(stack);
}

TEST(free_is_heard_by_a_worker_on_its_way_to_sleep)
{
	CCConfig c = config();
	struct doorstep d = {.armed = {0}};
	struct gate g = {0};
	CCTask t[4];
	CCRuntime *rt;

	c.shutdown_timeout = 5 * CC_SEC;
	c.stack_idle = CC_MSEC;
	c.stack_size = 128 * 1024;
	c.stacks = (CCStackHooks){doorstep_acquire, doorstep_release, &d};
	rt = start(&c);
	d.sched = (struct cc__sched *)(void *)rt;
	for (int i = 0; i < 4; i++)
		t[i] = spawn(rt, wait_at, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 4);
	cc__store(&d.armed, 1, CC__RELEASE);
	cc__store(&g.open, 1, CC__RELEASE);
	for (int i = 0; i < 4; i++)
		join(t[i]);
	TEST_UNTIL(cc__load(&d.entered, CC__ACQUIRE) != 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

enum { CHAIN = 500 };

struct chain {
	cc__a32 ran;
};

static int spawn_next(void *arg)
{
	struct chain *c = arg;

	cc_yield();
	if (cc__add(&c->ran, 1, CC__RELAXED) + 1 < CHAIN)
		CHECK_EQ(cc_task_spawn(NULL, NULL, NULL, spawn_next, c), 0);
	return 0;
}

static int sleep_a_little(void *arg)
{
	cc_sleep_until(cc_now() + 3 * CC_MSEC);
	cc__store((cc__a32 *)arg, 1, CC__RELAXED);
	return 0;
}

TEST(free_waits_for_every_task)
{
	CCRuntime *rt = start(NULL);
	struct chain c = {{0}};
	cc__a32 slept = {0};

	CHECK_EQ(cc_task_spawn(rt, NULL, NULL, sleep_a_little, &slept), 0);
	CHECK_EQ(cc_task_spawn(rt, NULL, NULL, spawn_next, &c), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&c.ran, CC__RELAXED), CHAIN);
	CHECK_EQ(cc__load(&slept, CC__RELAXED), 1);
}

static void *free_in_thread(void *rt)
{
	CHECK_EQ(cc_runtime_free(rt), 0);
	return NULL;
}

TEST(free_waits_for_parked_tasks)
{
	CCRuntime *a = start(NULL), *b = start(NULL);
	struct gate g = {0};
	CCTask awaited = spawn(b, wait_at, &g), sleeper = spawn(a, join_task, &awaited);
	struct cc__fiber *f = awaited.frame;
	pthread_t t;
	bool waits;

	do {
		cc__lock(&f->done.lock, CC__RANK_WAITQ);
		waits = f->done.head != NULL;
		cc__unlock(&f->done.lock);
	} while (!waits);
	REQUIRE_EQ(pthread_create(&t, NULL, free_in_thread, a), 0);
	TEST_UNTIL(cc__load(&((struct cc__sched *)(void *)a)->stopping, CC__SEQ_CST) != 0);
	CHECK_EQ(cc_task_join(sleeper, CC_NOW, NULL), EAGAIN);
	cc__store(&g.open, 1, CC__RELEASE);
	pthread_join(t, NULL);
	CHECK_EQ(join(sleeper), 17);	/* its runtime is gone, its result is not */
	CHECK_EQ(cc_runtime_free(b), 0);
}

TEST(free_gives_up_after_shutdown_timeout)
{
	CCConfig c = config();
	struct gate g = {0};
	CCRuntime *rt;
	CCTask t;
	cc_time begin;

	c.shutdown_timeout = 20 * CC_MSEC;
	rt = start(&c);
	t = spawn(rt, wait_at, &g);
	for (int i = 0; i < 2; i++) {
		begin = cc_now();
		CHECK_EQ(cc_runtime_free(rt), ETIMEDOUT);
		CHECK(cc_now() >= begin + 20 * CC_MSEC);
	}
	CHECK_EQ(cc_task_join(t, CC_NOW, NULL), EAGAIN);
	cc__store(&g.open, 1, CC__RELEASE);
	CHECK_EQ(join(t), 17);
	while ((errno = cc_runtime_free(rt)) == ETIMEDOUT)
		continue;	/* 20 ms are not much on a busy machine */
	CHECK_EQ(errno, 0);
}

TEST(runtime_that_was_not_freed_lives_on)
{
	CCConfig c = config();
	struct gate g = {0};
	struct cc__sched *s;
	CCRuntime *rt;
	CCTask t;

	c.shutdown_timeout = 1;
	rt = start(&c);
	t = spawn(rt, wait_at, &g);
	CHECK_EQ(cc_runtime_free(rt), ETIMEDOUT);
	cc__store(&g.open, 1, CC__RELEASE);
	CHECK_EQ(join(t), 17);
	/* Nothing is left, and it is still there, though it takes no tasks. */
	s = (struct cc__sched *)(void *)rt;
	TEST_UNTIL(cc__load(&s->stopped, CC__ACQUIRE) != 0 ||
	           workers_that('S') == s->config.workers);
	CHECK_EQ(cc__load(&s->stopped, CC__ACQUIRE), 0);
	CHECK_EQ(cc_task_spawn(rt, NULL, NULL, nothing, NULL), ECANCELED);
	while ((errno = cc_runtime_free(rt)) == ETIMEDOUT)
		continue;
	CHECK_EQ(errno, 0);
}

TEST(shutdown_timeout_may_be_forever)
{
	CCConfig c = config();
	cc__a32 slept = {0};
	CCRuntime *rt;

	c.shutdown_timeout = CC_FOREVER;
	c.stack_idle = CC_FOREVER;
	rt = start(&c);
	CHECK_EQ(cc_task_spawn(rt, NULL, NULL, sleep_a_little, &slept), 0);
	REQUIRE_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&slept, CC__RELAXED), 1);
}

static int free_own(void *arg)
{
	CHECK_EQ(cc_runtime_free(arg), EDEADLK);
	cc_yield();
	return cc_runtime_free(arg);
}

static int shut_down_own(void *arg)
{
	(void)arg;
	return cc_shutdown();
}

static int free_other(void *arg)
{
	return cc_runtime_free(arg);
}

TEST(free_by_its_own_fiber_is_refused)
{
	CCRuntime *a = start(NULL), *b = start(NULL);

	CHECK_EQ(join(spawn(a, free_own, a)), EDEADLK);
	CHECK_EQ(join(spawn(NULL, shut_down_own, NULL)), EDEADLK);
	CHECK_EQ(join(spawn(NULL, nothing, NULL)), 0);
	CHECK_EQ(join(spawn(a, free_other, b)), 0);
	CHECK_EQ(join(spawn(a, nothing, NULL)), 0);
	CHECK_EQ(cc_runtime_free(a), 0);
	CHECK_EQ(cc_shutdown(), 0);
	CHECK_EQ(cc_runtime_free(NULL), EINVAL);
}

/* ---- allocator hooks ---- */

struct heap {
	cc__a32 allocs, frees, wrong;
	size_t bytes;		/* calls are one at a time: start and free */
	unsigned fail_at;	/* that call gets nothing; 0: none */
};

/* What it hands out is aligned as malloc would, and no better. */
struct block {
	_Alignas(16) size_t size;
};

static void *heap_alloc(void *context, size_t size)
{
	struct heap *h = context;
	struct block *b;

	if (cc__add(&h->allocs, 1, CC__RELAXED) + 1 == h->fail_at)
		return NULL;
	if ((b = aligned_alloc(64, (size + sizeof *b + 63) / 64 * 64)) == NULL)
		return NULL;
	memset(b, 0, size + sizeof *b);
	b->size = size;
	h->bytes += size;
	return b + 1;
}

static void heap_free(void *context, void *p, size_t size)
{
	struct heap *h = context;
	struct block *b = (struct block *)p - 1;

	cc__add(&h->frees, 1, CC__RELAXED);
	cc__add(&h->wrong, b->size != size, CC__RELAXED);
	h->bytes -= size;
	free(b);
}

static int spawn_and_join_many(void *arg)
{
	const unsigned n = 20000 / test_slowness();

	(void)arg;
	for (unsigned i = 0; i < n; i++)
		if (join(spawn(NULL, nothing, NULL)) != 0)
			return EIO;
	return 0;
}

TEST(allocator_hooks_get_back_what_they_gave)	/* covers: LIF-07/f */
{
	CCConfig c = config();
	struct heap h = {.bytes = 0};
	CCRuntime *rt;

	c.allocator = (CCAllocator){heap_alloc, heap_free, &h};
	rt = start(&c);
	CHECK(cc__load(&h.allocs, CC__RELAXED) > 0);
	/* Frames come and go, and none of it is freed before the shutdown. */
	CHECK_EQ(join(spawn(rt, spawn_and_join_many, NULL)), 0);
	CHECK_EQ(cc__load(&h.frees, CC__RELAXED), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&h.frees, CC__RELAXED), cc__load(&h.allocs, CC__RELAXED));
	CHECK_EQ(cc__load(&h.wrong, CC__RELAXED), 0);
	CHECK_EQ(h.bytes, 0);
}

TEST(allocator_hook_without_memory_is_enomem)
{
	CCRuntime *rt = NULL;
	unsigned k = 0;
	int err;

	do {
		CCConfig c = config();
		struct heap h = {.fail_at = ++k};

		c.allocator = (CCAllocator){heap_alloc, heap_free, &h};
		if ((err = cc_runtime_new(&rt, &c)) == 0)
			CHECK_EQ(cc_runtime_free(rt), 0);
		else
			CHECK_EQ(err, ENOMEM);
		CHECK_EQ(h.bytes, 0);
		CHECK_EQ(cc__load(&h.wrong, CC__RELAXED), 0);
	} while (err != 0 && k < 100);
	CHECK_EQ(err, 0);
	CHECK(k > 1);
	TEST_UNTIL(workers() == 0);
}

/* ---- at rest ---- */

static cc_time cpu_time(clockid_t clock)
{
	struct timespec t;

	CHECK_EQ(clock_gettime(clock, &t), 0);
	return (cc_time)t.tv_sec * CC_SEC + t.tv_nsec;
}

static int sleep_long(void *arg)
{
	cc_sleep_until(cc_now() + 400 * CC_MSEC);
	(void)arg;
	return 0;
}

TEST(idle_runtime_costs_no_cpu_time)
{
	CCConfig c = config();
	struct cc__worker *w;
	struct gate g = {0};
	CCTask parked, sleeper;
	CCRuntime *rt;
	struct rusage r;
	cc_time before, process;
	clockid_t clock;

	c.workers_max = c.workers;	/* no other one comes, and sleeps */
	rt = start(&c);
	w = ((struct cc__sched *)(void *)rt)->worker[0];
	/* Stacks in the cache, a parked fiber, a timer: all at rest. */
	cc__store(&g.open, 1, CC__RELAXED);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(cc_task_spawn(rt, NULL, NULL, wait_at, &g), 0);
	sleeper = spawn(rt, sleep_long, NULL);
	parked = spawn(rt, join_task, &sleeper);
	/* Announced, too: a thread in state S may only wait for memory, or an emulator's lock. */
	TEST_UNTIL(cc__load(&w->idle->sleepers, CC__ACQUIRE) == c.workers &&
	           workers_that('S') == c.workers);
	REQUIRE_EQ(pthread_getcpuclockid((pthread_t)w->os.handle, &clock), 0);
	before = cpu_time(clock);
	process = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
	/* Idleness is measured over time: a thread that sleeps is what we want. */
	cc_sleep_until(cc_now() + 300 * CC_MSEC);
	CHECK(cpu_time(clock) - before < 2 * CC_MSEC);
	if (test_slowness() == 1)	/* a sanitizer has threads of its own */
		CHECK(cpu_time(CLOCK_PROCESS_CPUTIME_ID) - process < 5 * CC_MSEC);
	CHECK_EQ(getrusage(RUSAGE_SELF, &r), 0);
	join(parked);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- signals ---- */

static cc__a32 handled;
static pthread_t handler_thread;

static void on_signal(int sig)
{
	(void)sig;
	handler_thread = pthread_self();
	cc__add(&handled, 1, CC__RELEASE);
}

static int mask_of_worker(void *arg)
{
	return pthread_sigmask(SIG_BLOCK, NULL, arg);
}

TEST(workers_leave_the_programs_signals_alone)
{
	struct sigaction a = {.sa_handler = on_signal}, old;
	sigset_t usr1, mask, before, pending;
	CCRuntime *rt;

	CHECK_EQ(sigaction(SIGUSR1, &a, &old), 0);
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	rt = start(NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	for (int sig = 1; sig < 32; sig++)	/* ours is as it was */
		CHECK_EQ(sigismember(&mask, sig), sigismember(&before, sig));
	CHECK_EQ(join(spawn(rt, mask_of_worker, &mask)), 0);
	CHECK_EQ(sigismember(&mask, SIGUSR1), 1);
	CHECK_EQ(sigismember(&mask, SIGTERM), 1);
	CHECK_EQ(sigismember(&mask, SIGCHLD), 1);
	CHECK_EQ(sigismember(&mask, SIGSEGV), 0);
	CHECK_EQ(sigismember(&mask, SIGABRT), 0);

	/* To the process, while the main thread does not take it: it stays. */
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	for (int i = 0; i < 100; i++)
		join(spawn(rt, nothing, NULL));
	CHECK_EQ(cc__load(&handled, CC__ACQUIRE), 0);
	sigpending(&pending);
	CHECK_EQ(sigismember(&pending, SIGUSR1), 1);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	TEST_UNTIL(cc__load(&handled, CC__ACQUIRE) == 1);
	CHECK(pthread_equal(handler_thread, pthread_self()));
	CHECK_EQ(sigaction(SIGUSR1, &old, NULL), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- frames: pooled, and there for good ---- */

static CCRuntime *one_worker(void)
{
	CCConfig c = config();

	only_workers(&c, 1);
	return start(&c);
}

/* A cache is filled by so many at a time: as many may be others' by chance. */
enum { FRAMES = 1000, FILL = 64 };

struct census {
	CCTask task[FRAMES];
	struct gate g;
	unsigned most_cached;
	unsigned repeats;
};

static unsigned cached_frames(void)
{
	const struct cc__frame_cache *c = &cc__worker_here()->frames;

	return c->stock.count + c->spare.count;
}

static int reuse_frames(void *arg)
{
	struct census *c = arg;
	CCTask last = spawn(NULL, nothing, NULL);

	join(last);
	for (int i = 0; i < 1000; i++) {
		CCTask t = spawn(NULL, nothing, NULL);

		c->repeats += t.frame == last.frame;
		join(t);
	}
	return 0;
}

TEST(frames_are_reused_from_the_cache_of_the_worker)	/* covers: LIF-06/u */
{
	CCRuntime *rt = one_worker();
	struct census c = {.repeats = 0};

	CHECK_EQ(join(spawn(rt, reuse_frames, &c)), 0);
	CHECK_EQ(c.repeats, 1000);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int take_census(void *arg)
{
	struct census *c = arg;

	for (int i = 0; i < FRAMES; i++)
		c->task[i] = spawn(NULL, wait_at, &c->g);
	cc__store(&c->g.open, 1, CC__RELEASE);
	for (int i = 0; i < FRAMES; i++) {
		join(c->task[i]);
		if (cached_frames() > c->most_cached)
			c->most_cached = cached_frames();
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t)((const CCTask *)a)->frame;
	const uintptr_t y = (uintptr_t)((const CCTask *)b)->frame;

	return x < y ? -1 : x > y;
}

static unsigned frames_not_in(const struct census *old, const struct census *c)
{
	unsigned n = 0;

	for (int i = 0; i < FRAMES; i++)
		n += bsearch(&c->task[i], old->task, FRAMES, sizeof *old->task, by_address) == NULL;
	return n;
}

/* What a worker's cache does not hold is in the global pool, where any other
 * worker finds it, one of another runtime too. */
TEST(frames_beyond_the_cache_go_to_all)	/* covers: LIF-06/u, RES-55/u */
{
	static struct census a, b, after;
	CCRuntime *one = one_worker(), *two = one_worker();
	unsigned fresh = 0;

	memset(&a, 0, sizeof a);
	memset(&b, 0, sizeof b);
	memset(&after, 0, sizeof after);
	CHECK_EQ(join(spawn(one, take_census, &a)), 0);
	CHECK(a.most_cached > 0);
	CHECK(a.most_cached < FRAMES / 2);
	qsort(a.task, FRAMES, sizeof *a.task, by_address);
	for (int i = 1; i < FRAMES; i++)
		CHECK(a.task[i].frame != a.task[i - 1].frame);
	/* Runtime two gets them while one still runs ... */
	CHECK_EQ(join(spawn(two, take_census, &b)), 0);
	CHECK(frames_not_in(&a, &b) < FRAMES / 2);
	CHECK_EQ(cc_runtime_free(one), 0);
	CHECK_EQ(cc_runtime_free(two), 0);
	/* ... and what both had cached, when they have ended. */
	one = one_worker();
	qsort(b.task, FRAMES, sizeof *b.task, by_address);
	CHECK_EQ(join(spawn(one, take_census, &after)), 0);
	for (int i = 0; i < FRAMES; i++)
		fresh +=
		    bsearch(&after.task[i], a.task, FRAMES, sizeof *a.task, by_address) == NULL &&
		    bsearch(&after.task[i], b.task, FRAMES, sizeof *b.task, by_address) == NULL;
	CHECK(fresh <= FILL);
	CHECK_EQ(cc_runtime_free(one), 0);
}

TEST(frames_stay_mapped_when_their_runtime_has_ended)	/* covers: LIF-07/f, RES-55/f, RES-33/f */
{
	static struct census c;
	static CCTask kept[FRAMES];
	int value[FRAMES], result;
	CCRuntime *rt = start(NULL);

	memset(&c, 0, sizeof c);
	forget();
	for (int i = 0; i < FRAMES; i++) {
		value[i] = i;
		kept[i] = spawn(rt, give, &value[i]);
	}
	CHECK_EQ(join(spawn(rt, take_census, &c)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK(ranges(&unmapped) > 0);	/* its stacks went */
	for (int i = 0; i < FRAMES; i++) {
		struct cc__fiber *f = c.task[i].frame;

		CHECK(!in_ranges(&unmapped, f));
		CHECK(!in_ranges(&unmapped, f + 1));
		CHECK(!in_ranges(&discarded, f));
		CHECK(!in_ranges(&unmapped, kept[i].frame));
		/* A late waker looks at the word, and finds nobody. */
		CHECK(cc__word_state(cc__load(&f->parker.word, CC__RELAXED)) == CC__IDLE);
		cc__fiber_wake(&f->parker, cc__word_ticket(cc__load(&f->parker.word, CC__RELAXED)));
		CHECK_EQ(cc_task_join(c.task[i], CC_FOREVER, NULL), EINVAL);
	}
	/* Handles outlive the runtime, and so do results. */
	for (int i = 0; i < FRAMES; i++) {
		CHECK_EQ(cc_task_join(kept[i], i % 2 ? CC_NOW : CC_FOREVER, &result), 0);
		CHECK_EQ(result, i);
		CHECK_EQ(cc_task_join(kept[i], CC_FOREVER, NULL), EINVAL);
	}
}

/* Freed memory is kept, and says whether somebody writes to it. */
struct graveyard {
	unsigned char *body[16];
	size_t size[16];
	unsigned n;
};

static void *bury_alloc(void *context, size_t size)
{
	(void)context;
	return calloc(1, size);
}

static void bury(void *context, void *p, size_t size)
{
	struct graveyard *g = context;

	memset(p, 0xaa, size);
	if (CHECK(g->n < 16)) {
		g->body[g->n] = p;
		g->size[g->n++] = size;
	}
}

static size_t disturbed(struct graveyard *g)
{
	size_t n = 0;

	for (unsigned i = 0; i < g->n; i++) {
		for (size_t k = 0; k < g->size[i]; k++)
			n += g->body[i][k] != 0xaa;
		free(g->body[i]);
	}
	return n;
}

/* A fiber of one runtime waits for a task of another, whose worker wakes it and
 * is slow: the runtime of the fiber has ended before the wake is over. */
TEST(late_waker_touches_nothing_of_a_runtime_that_ended)	/* covers: RES-55/f */
{
	struct graveyard g = {.n = 0};
	struct gate busy = {0}, end = {0};
	CCConfig c = config();
	CCRuntime *dies, *wakes;
	CCTask awaited, sleeper, spinner;
	struct cc__fiber *f;
	struct point *p;
	bool waits;

	NEED_POINTS();
	c.allocator = (CCAllocator){bury_alloc, bury, &g};
	only_workers(&c, 1);
	dies = start(&c);
	wakes = start(NULL);
	awaited = spawn(wakes, wait_at, &end);
	spinner = spawn(dies, wait_at, &busy);	/* keeps its worker awake */
	sleeper = spawn(dies, join_task, &awaited);
	f = awaited.frame;
	do {
		cc__lock(&f->done.lock, CC__RANK_WAITQ);
		waits = f->done.head != NULL;
		cc__unlock(&f->done.lock);
	} while (!waits);
	f = sleeper.frame;	/* listed comes before parked */
	TEST_UNTIL(cc__word_state(cc__load(&f->parker.word, CC__ACQUIRE)) == CC__PARKED);
	p = point_hold("inbox.before_poke", ((struct cc__sched *)(void *)dies)->worker[0]);
	cc__store(&end.open, 1, CC__RELEASE);
	point_until_held(p);
	CHECK_EQ(join(sleeper), 17);
	cc__store(&busy.open, 1, CC__RELEASE);
	CHECK_EQ(join(spinner), 17);
	CHECK_EQ(cc_runtime_free(dies), 0);
	point_release(p);
	CHECK_EQ(cc_runtime_free(wakes), 0);
	CHECK(g.n > 0);
	CHECK_EQ(disturbed(&g), 0);
	/* What a waker that is later still would look at is there, and nobody's. */
	CHECK(cc__word_state(cc__load(&f->parker.word, CC__ACQUIRE)) == CC__IDLE);
}

static int all_at_once(void *arg)
{
	struct census *c = arg;

	for (int i = 0; i < FRAMES; i++)
		c->task[i] = spawn(NULL, wait_at, &c->g);
	while (cc__load(&c->g.arrived, CC__ACQUIRE) < FRAMES)
		cc_yield();
	cc__store(&c->g.open, 1, CC__RELEASE);
	for (int i = 0; i < FRAMES; i++)
		join(c->task[i]);
	return 0;
}

/* With a cache of so many stacks in the worker; 0: all are in the global pool. */
static void give_pages_back(unsigned cache)
{
	static struct census c;
	const cc_time late = cc_now() + 10 * CC_SEC * test_slowness();
	CCConfig cf = config();
	CCRuntime *rt;

	memset(&c, 0, sizeof c);
	cf.stack_idle = CC_MSEC;
	cf.stack_size = 64 * 1024;
	cf.stack_cache = cache;
	rt = start(&cf);
	forget();
	CHECK_EQ(join(spawn(rt, all_at_once, &c)), 0);
	TEST_UNTIL(ranges(&discarded) > 0 || cc_now() > late);
	CHECK(ranges(&discarded) > 0);
	for (int i = 0; i < FRAMES; i++)
		CHECK(!in_ranges(&discarded, c.task[i].frame) &&
		      !in_ranges(&unmapped, c.task[i].frame));
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(pages_of_idle_stacks_are_given_back_those_of_frames_are_not)	/* covers: RES-33/f */
{
	give_pages_back(64);
	give_pages_back(0);
}
