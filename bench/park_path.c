/* park_path.c - what a park costs in a strict domain, in cycles of the processor's clock, by
 * the direct door and by the ring, for fibers and for threads.  One line each:
 *
 *   failed_wait       a wait whose word differs
 *   empty_wake        a wake of nobody
 *   wait_to_block     from the call of a wait until the other side sees that it sleeps
 *   wake_to_runnable  a wake of one, until the waker goes on
 *   wake_to_resume    from the wake until the woken one is back in its program
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "bench.h"

/* The clock that the processor counts by itself; nobody stops it. */
static uint64_t cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
#endif
}

static long rounds;	/* n=COUNT */
enum { CALLS = 40 };	/* for each */

static struct path {
	CCDomain *d;
	uint32_t space;		/* capability */
	uint32_t word;		/* constant */
	bool ring;		/* the door */
	CCStrand *waker;
	_Atomic uint64_t called, resumed;	/* the sleeper's clock, in each round */
	_Atomic long round;	/* that the sleeper may begin */
	_Atomic long back;	/* rounds that it is back from */
} x;

/* ---- the two operations by either door ---- */

static void submit(CCStrand *s, const CCCapSubmission *e)
{
	bench_check(cc_cap_push(x.d, e) == 0, "no room in the ring");
	bench_check(cc_cap_enter(s, 0, 0) >= 0, "cannot enter");
}

/* The last of those that are there: a wake's own comes after those of whom it woke.  Only the
 * waker reads. */
static int last_result(void)
{
	CCCapCompletion c = {.result = CC_CAP_E_RING};

	while (cc_cap_pop(x.d, &c) == 0)
		continue;
	return c.result;
}

/* What became of it, by the direct door. */
static int wait_for(CCStrand *s, uint32_t expected)
{
	const CCCapSubmission e = {.opcode = CC_CAP_OP_PARK,
	                           .flags = CC_CAP_THREAD_OWNED,
	                           .cap = x.space,
	                           .owner = cc_strand_id(s),
	                           .address = (uintptr_t)&x.word,
	                           .length = expected,
	                           .dependency = CC_CAP_NEVER};
	CCParkStatus status = CC_PARK_INTERRUPTED;

	if (x.ring) {
		submit(s, &e);
		return 0;
	}
	bench_check(cc_park_wait(cc_strand_park_space(s), &x.word, expected, CC_FOREVER, &status) == 0,
	            "no wait");
	return (int)status;
}

static int wake(CCStrand *s)
{
	const CCCapSubmission e = {.opcode = CC_CAP_OP_UNPARK,
	                           .cap = x.space,
	                           .address = (uintptr_t)&x.word,
	                           .length = 1};
	uint32_t woken = 9;

	if (x.ring) {
		submit(s, &e);
		return last_result();
	}
	bench_check(cc_park_wake(cc_strand_park_space(s), &x.word, 1, &woken) == 0, "no wake");
	return (int)woken;
}

/* ---- the sleeper ---- */

static int sleeper(void *kind)
{
	CCStrand *s = NULL;

	bench_check(cc_domain_join(x.d, &s) == 0, "cannot join");
	for (long i = 1; i <= rounds; i++) {
		while (atomic_load(&x.round) < i)
			(void)(kind != NULL ? cc_yield() : sched_yield());
		atomic_store(&x.called, cycles());
		wait_for(s, 0);
		atomic_store(&x.resumed, cycles());
		atomic_store(&x.back, i);
	}
	return cc_domain_leave(s);
}

static void *sleeper_thread(void *arg)
{
	sleeper(arg);
	return NULL;
}

static bool asleep(void)
{
	CCDomainLedger l;

	cc_domain_ledger(x.d, &l);
	return l.waits == 1;
}

/* A round: it sleeps, is woken, and is back.  Adds up three spans. */
static void one_round(long i, uint64_t span[3])
{
	uint64_t before, after;

	atomic_store(&x.round, i);
	while (!asleep())
		cc_yield();
	span[0] += cycles() - atomic_load(&x.called);
	before = cycles();
	bench_check(wake(x.waker) == 1, "nobody was woken");
	after = cycles();
	while (atomic_load(&x.back) < i)
		cc_yield();
	while (asleep())
		cc_yield();
	span[1] += after - before;
	span[2] += atomic_load(&x.resumed) - before;
}

static uint64_t calls_of(int (*call)(void))
{
	uint64_t before = cycles();

	for (long i = 0; i < CALLS * rounds; i++)
		bench_check(call() >= 0, "refused");
	return (cycles() - before) / (uint64_t)(CALLS * rounds);
}

static int failed_wait(void)
{
	const int result = wait_for(x.waker, 1);

	return (x.ring ? last_result() : result) == CC_PARK_VALUE_MISMATCH ? 0 : -1;
}

static int empty_wake(void)
{
	return wake(x.waker) == 0 ? 0 : -1;
}

static void measure(bool ring, bool fiber)
{
	uint64_t span[3] = {0, 0, 0}, failed, empty;
	pthread_t thread;
	CCTask task;

	x.ring = ring;
	atomic_store(&x.round, 0);
	atomic_store(&x.back, 0);
	failed = calls_of(failed_wait);
	empty = calls_of(empty_wake);
	if (fiber)
		bench_spawn(&task, sleeper, &x);
	else
		bench_check(pthread_create(&thread, NULL, sleeper_thread, NULL) == 0, "no thread");
	for (long i = 1; i <= rounds; i++)
		one_round(i, span);
	if (fiber)
		bench_join(task);
	else
		pthread_join(thread, NULL);
	printf("[thread-lifecycle] park path avg cycles: "
	       "failed_wait=%llu empty_wake=%llu wait_to_block=%llu "
	       "wake_to_runnable=%llu wake_to_resume=%llu door=%s sleeper=%s\n",
	       (unsigned long long)failed, (unsigned long long)empty,
	       (unsigned long long)(span[0] / (uint64_t)rounds), (unsigned long long)(span[1] / (uint64_t)rounds),
	       (unsigned long long)(span[2] / (uint64_t)rounds), ring ? "ring" : "direct",
	       fiber ? "fiber" : "thread");
}

static void park_path(const char *name)	/* covers: PRK-87/b */
{
	cc_time ns = -cc_now();

	rounds = bench_arg("n", 500);
	bench_check(cc_domain_create(&x.d, NULL) == 0 && cc_domain_join(x.d, &x.waker) == 0 &&
	                cc_domain_map(x.d, &x.word, sizeof x.word, CC_CAP_READ) == 0,
	            "no domain");
	x.space = cc_domain_cap(x.d, CC_CAP_PARK_SPACE);
	for (int ring = 0; ring < 2; ring++)
		for (int fiber = 1; fiber >= 0; fiber--)
			measure(ring != 0, fiber != 0);
	ns += cc_now();
	bench_check(cc_domain_leave(x.waker) == 0 && cc_domain_free(x.d) == 0, "not free");
	bench_report(name, 4 * rounds, ns, "\"op\":\"round\"");
}

const struct bench_case bench_park_cases[] = {
    {"park_path", park_path, 0},
    {0},
};
