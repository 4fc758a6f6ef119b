/* signal_test.c - the signals that workers take: profiling timers sample fibers, unwinding from
 * a handler ends at the base of the fiber wherever it was interrupted, and signals that
 * interrupt system calls end no wait. */
#include "workers.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "os/context.h"

#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define HAVE_BACKTRACE 1
#endif

static const int profiling[] = {SIGPROF, SIGVTALRM};
enum { PROFILING = 2 };

/* Without SA_RESTART unless flags have it. */
static void handle(int sig, void (*handler)(int), int flags, struct sigaction *before)
{
	struct sigaction a;

	memset(&a, 0, sizeof a);
	sigemptyset(&a.sa_mask);
	a.sa_handler = handler;
	a.sa_flags = flags;
	CHECK_EQ(sigaction(sig, &a, before), 0);
}

/* ---- masks ---- */

static int mask_here(void *arg)
{
	return pthread_sigmask(SIG_BLOCK, NULL, arg);
}

static int mask_in_blocking(void *arg)
{
	int result = -1;

	CHECK_EQ(cc_blocking(mask_here, arg, &result), 0);
	return result;
}

/* The signals of profiling timers in the threads of a runtime that this thread starts. */
static void check_profiling_signals(int blocked)
{
	static cc_task_main *const place[] = {mask_here, mask_in_blocking};
	CCRuntime *rt = workers_new(2, USUAL);
	sigset_t mask;

	for (unsigned p = 0; p < 2; p++) {
		CHECK_EQ(join(spawn(rt, place[p], &mask)), 0);
		for (unsigned i = 0; i < PROFILING; i++)
			CHECK_EQ(sigismember(&mask, profiling[i]), blocked);
		CHECK_EQ(sigismember(&mask, SIGTERM), 1);
		CHECK_EQ(sigismember(&mask, SIGRTMIN), 1);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(signals_of_profiling_timers_reach_workers_and_blocking_threads)
{
	check_profiling_signals(0);
}

TEST(signals_blocked_by_the_starting_thread_stay_blocked_in_workers)
{
	sigset_t both, before;

	sigemptyset(&both);
	for (unsigned i = 0; i < PROFILING; i++)
		sigaddset(&both, profiling[i]);
	pthread_sigmask(SIG_BLOCK, &both, &before);
	check_profiling_signals(1);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- a profiler ---- */

extern const char cc__context_base[];	/* the outermost frame of a fiber */

enum { FRAMES = 64, BASE_SIZE = 32, SAMPLES = 20 };

static cc__a32 in_fiber;	/* samples with a fiber's id */
static cc__a32 to_the_base;	/* of those, with a trace that ends at a fiber's base */
static cc__a32 endless;		/* any samples whose trace does not end */

static bool is_base(const void *at)
{
	const char *p = at;

	return p >= cc__context_base && p < cc__context_base + BASE_SIZE;
}

#ifdef HAVE_BACKTRACE
static void sample(int sig)
{
	const int error = errno;
	void *frame[FRAMES];
	const int n = backtrace(frame, FRAMES);

	(void)sig;
	cc__add(&endless, n == FRAMES, CC__RELAXED);
	if (cc_fiber_id() != 0) {
		cc__add(&to_the_base, n > 0 && is_base(frame[n - 1]), CC__RELAXED);
		cc__add(&in_fiber, 1, CC__RELAXED);
	}
	errno = error;
}
#else
static void sample(int sig)
{
	(void)sig;
	cc__add(&to_the_base, cc_fiber_id() != 0 && is_base(cc__context_base), CC__RELAXED);
	cc__add(&in_fiber, cc_fiber_id() != 0, CC__RELAXED);
}
#endif

static bool enough_samples(void)
{
	return cc__load(&in_fiber, CC__RELAXED) >= SAMPLES &&
	       cc__load(&to_the_base, CC__RELAXED) >= SAMPLES / 2;
}

/* Switches often, so that some samples fall into the switch. */
static int compute_until_sampled(void *arg)
{
	volatile unsigned *sink = arg;

	while (!enough_samples()) {
		for (unsigned i = 0; i < 200; i++)
			*sink += i;
		cc_yield();
	}
	return 0;
}

/* (The type of its first argument differs between C libraries.) */
static void set_profiling_timer(int sig, suseconds_t usec)
{
	const struct itimerval v = {{0, usec}, {0, usec}};

	CHECK_EQ(sig == SIGPROF ? setitimer(ITIMER_PROF, &v, NULL)
	                        : setitimer(ITIMER_VIRTUAL, &v, NULL),
	         0);
}

static void profile(int sig)
{
	struct sigaction before;
	unsigned sink[4] = {0};
	CCRuntime *rt = workers_new(2, USUAL);
	CCTask t[4];

	cc__store(&in_fiber, 0, CC__RELAXED);
	cc__store(&to_the_base, 0, CC__RELAXED);
	sample(0);	/* so that the unwinder is loaded before the first signal */
	handle(sig, sample, SA_RESTART, &before);
	set_profiling_timer(sig, 1000);
	for (unsigned i = 0; i < 4; i++)
		t[i] = spawn(rt, compute_until_sampled, &sink[i]);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(join(t[i]), 0);
	set_profiling_timer(sig, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&endless, CC__RELAXED), 0);
	CHECK_EQ(sigaction(sig, &before, NULL), 0);
}

/* The fibers compute until they are seen: if signals do not reach them, the watchdog ends it. */
TEST(profiling_timer_samples_the_fibers_that_compute)
{
	profile(SIGPROF);
}

TEST(virtual_timer_samples_the_fibers_that_compute)
{
	profile(SIGVTALRM);
}

/* ---- every instruction of a switch ---- */

#if defined(__x86_64__) && defined(HAVE_BACKTRACE) && !defined(CC__ASAN) && !defined(CC__TSAN)
#include <ucontext.h>

enum { TRAP_FLAG = 0x100 };

static struct {
	bool on;		/* the flag stays set */
	unsigned steps;		/* instructions whose trace ended at a fiber's base */
	const char *bad;	/* where a trace did not */
} stepping;

static void step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	void *frame[FRAMES];
	const int n = backtrace(frame, FRAMES);

	(void)sig, (void)info;
	if (n > 0 && n < FRAMES && is_base(frame[n - 1]))
		stepping.steps++;
	else if (stepping.bad == NULL)
		stepping.bad = (const char *)c->uc_mcontext.gregs[REG_RIP];
	if (stepping.on)
		c->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
	else
		c->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

static int yield_thrice(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++)
		cc_yield();
	return 0;
}

static int step_through_yields(void *arg)
{
	CCTask other = spawn(NULL, yield_thrice, NULL);

	(void)arg;
	cc_yield();	/* the other one has begun */
	stepping.on = true;
	raise(SIGTRAP);	/* its handler sets the flag: from here on a trap an instruction */
	cc_yield();
	cc_yield();
	stepping.on = false;
	return join(other);
}

TEST(unwinding_ends_at_the_base_from_every_instruction_of_a_switch)
{
	struct sigaction a, before;
	CCRuntime *rt = workers_new(1, USUAL);
	void *frame[FRAMES];

	memset(&a, 0, sizeof a);
	sigemptyset(&a.sa_mask);
	a.sa_sigaction = step;
	a.sa_flags = SA_SIGINFO;
	CHECK(backtrace(frame, FRAMES) > 0);
	CHECK_EQ(sigaction(SIGTRAP, &a, &before), 0);
	CHECK_EQ(join(spawn(rt, step_through_yields, NULL)), 0);
	CHECK(stepping.steps > 100);
	if (!CHECK(stepping.bad == NULL))
		printf("\ttrace without end from %p, base is at %p\n", (const void *)stepping.bad,
		       (const void *)cc__context_base);
	CHECK_EQ(sigaction(SIGTRAP, &before, NULL), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
#endif

/* ---- interrupted system calls ---- */

enum { STORM_WORKERS = 2, ROUNDS = 30 };

struct storm {
	CCRuntime *rt;
	int end[2][2];	/* two pipes */
	CCMutex mutex;
	unsigned counter;	/* mutex */
	pthread_t blocking;	/* the thread of the blocking call; once blocking_known is 1 */
	cc__a32 blocking_known;
	cc__a32 rounds;	/* ended, of all kinds */
	cc__a32 stop;
};

static cc__a32 interruptions;

static void count_interruption(int sig)
{
	(void)sig;
	cc__add(&interruptions, 1, CC__RELAXED);
}

/* Signals to all workers and a thread for blocking calls, about a thousand a second. */
static void *interrupt_workers(void *arg)
{
	const struct timespec pace = {0, CC_MSEC};
	struct storm *s = arg;

	while (cc__load(&s->stop, CC__ACQUIRE) == 0) {
		for (unsigned i = 1; i <= STORM_WORKERS; i++)
			pthread_kill((pthread_t)worker_of(s->rt, i)->os.handle, profiling[i % 2]);
		if (cc__load(&s->blocking_known, CC__ACQUIRE) != 0)
			pthread_kill(s->blocking, SIGPROF);
		nanosleep(&pace, NULL);
	}
	return NULL;
}

static int sleeps(struct storm *s)
{
	const cc_time end = cc_now() + 2 * CC_MSEC;

	(void)s;
	CHECK_EQ(cc_sleep_until(end), 0);
	return cc_now() >= end ? 0 : EINTR;
}

static int waits_in_vain(struct storm *s)
{
	const cc_time end = cc_now() + 2 * CC_MSEC;

	CHECK_EQ(cc_wait_fd(s->end[0][0], CC_FD_READ, end), ETIMEDOUT);
	return cc_now() >= end ? 0 : EINTR;
}

static int is_told_by_pipe(void *arg)
{
	const int fd = *(int *)arg;
	char c = 0;

	do
		CHECK_EQ(cc_wait_fd(fd, CC_FD_READ, CC_FOREVER), 0);
	while (read(fd, &c, 1) < 0 && (errno == EAGAIN || errno == EINTR));
	return c == 'x' ? 0 : EIO;
}

static int tells_by_pipe(struct storm *s)
{
	CCTask t = spawn(NULL, is_told_by_pipe, &s->end[1][0]);

	CHECK_EQ(cc_sleep_until(cc_now() + CC_MSEC), 0);
	CHECK_EQ(write(s->end[1][1], "x", 1), 1);
	return join(t);
}

/* The runtime keeps the thread until it ends. */
static int block_two_milliseconds(void *arg)
{
	const cc_time end = cc_now() + 2 * CC_MSEC;
	struct storm *s = arg;

	if (cc__load(&s->blocking_known, CC__ACQUIRE) == 0) {
		s->blocking = pthread_self();
		cc__store(&s->blocking_known, 1, CC__RELEASE);
	}
	CHECK_EQ(cc_sleep_until(end), 0);
	return cc_now() >= end ? 17 : 0;
}

static int blocks(struct storm *s)
{
	int result = 0;

	CHECK_EQ(cc_blocking(block_two_milliseconds, s, &result), 0);
	return result == 17 ? 0 : EINTR;
}

static int locks(struct storm *s)
{
	CHECK_EQ(cc_mutex_lock(&s->mutex), 0);
	CHECK_EQ(cc_sleep_until(cc_now() + CC_MSEC / 2), 0);
	s->counter++;
	CHECK_EQ(cc_mutex_unlock(&s->mutex), 0);
	return 0;
}

static int (*const ways[])(struct storm *) = {sleeps, waits_in_vain, tells_by_pipe,
                                              blocks, locks,         locks};
enum { WAYS = sizeof ways / sizeof *ways };

struct traveller {
	struct storm *storm;
	int (*way)(struct storm *);
};

static int travel(void *arg)
{
	const struct traveller *t = arg;

	for (int i = 0; i < ROUNDS; i++) {
		int err = t->way(t->storm);

		if (err != 0)
			return err;
		cc__add(&t->storm->rounds, 1, CC__RELAXED);
	}
	return 0;
}

static void pass_through_storm(int flags)
{
	struct storm s = {.rt = workers_new(STORM_WORKERS, USUAL)};
	struct traveller traveller[WAYS];
	struct sigaction before[PROFILING];
	pthread_t thread;
	CCTask t[WAYS];

	CHECK_EQ(pipe2(s.end[0], O_NONBLOCK), 0);
	CHECK_EQ(pipe2(s.end[1], O_NONBLOCK), 0);
	cc__store(&interruptions, 0, CC__RELAXED);
	for (unsigned i = 0; i < PROFILING; i++)
		handle(profiling[i], count_interruption, flags, &before[i]);
	REQUIRE_EQ(pthread_create(&thread, NULL, interrupt_workers, &s), 0);
	for (unsigned i = 0; i < WAYS; i++) {
		traveller[i] = (struct traveller){&s, ways[i]};
		t[i] = spawn(s.rt, travel, &traveller[i]);
	}
	for (unsigned i = 0; i < WAYS; i++)
		CHECK_EQ(join(t[i]), 0);
	/* Idle workers, in the poller and on their words, are interrupted too. */
	TEST_UNTIL(cc__load(&interruptions, CC__RELAXED) >= 2 * ROUNDS);
	cc__store(&s.stop, 1, CC__RELEASE);
	pthread_join(thread, NULL);
	CHECK_EQ(cc__load(&s.rounds, CC__RELAXED), WAYS * ROUNDS);
	CHECK_EQ(s.counter, 2 * ROUNDS);
	CHECK_EQ(cc_runtime_free(s.rt), 0);
	for (unsigned i = 0; i < PROFILING; i++)
		CHECK_EQ(sigaction(profiling[i], &before[i], NULL), 0);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(close(s.end[i / 2][i % 2]), 0);
}

TEST(interrupted_system_calls_end_no_wait)
{
	pass_through_storm(0);
}

TEST(restarted_system_calls_end_no_wait)
{
	pass_through_storm(SA_RESTART);
}
