/* atomic.h - the one door to atomics, futexes, the clock, threads and TLS.
 *
 * Everything that threads do to each other passes through this file, so that
 * the explorer (tests/explore) can stand in its place and run the very same
 * sources under every interleaving.  The functions are declared here and
 * defined in src/os.  tools/lint refuses the raw forms anywhere else.
 *
 * An atomic is a struct with one field: nobody reads or writes it by accident.
 * Each use names its order, and each order's comment names its partner. */
#ifndef CC__OS_ATOMIC_H
#define CC__OS_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ccc/base.h>

#define CC__ATOMIC(type) struct { type raw; }

typedef CC__ATOMIC(uint32_t) cc__a32;
typedef CC__ATOMIC(uint64_t) cc__a64;

#ifdef CC__EXPLORE
#include "door.h"	/* tests/explore: the same operations, under control */
#else

#define CC__RELAXED __ATOMIC_RELAXED
#define CC__ACQUIRE __ATOMIC_ACQUIRE
#define CC__RELEASE __ATOMIC_RELEASE
#define CC__ACQ_REL __ATOMIC_ACQ_REL
#define CC__SEQ_CST __ATOMIC_SEQ_CST

#define cc__load(a, order) __atomic_load_n(&(a)->raw, order)
#ifndef CC__EMULATED
#define cc__store(a, value, order) __atomic_store_n(&(a)->raw, value, order)
#else
/* qemu-user lets a load pass the store before it though both are seq_cst (CONTRIBUTING.md);
 * a fence it keeps. */
#define cc__store(a, value, order) \
	(__atomic_store_n(&(a)->raw, value, order), \
	 (order) == CC__SEQ_CST ? __atomic_thread_fence(CC__SEQ_CST) : (void)0)
#endif
#define cc__xchg(a, value, order) __atomic_exchange_n(&(a)->raw, value, order)
#define cc__add(a, value, order) __atomic_fetch_add(&(a)->raw, value, order)
#define cc__sub(a, value, order) __atomic_fetch_sub(&(a)->raw, value, order)
#define cc__or(a, value, order) __atomic_fetch_or(&(a)->raw, value, order)
#define cc__and(a, value, order) __atomic_fetch_and(&(a)->raw, value, order)

/* True if *a was *expected and is now value; else *expected is what *a was.
 * The weak form may fail for no reason and belongs into a loop. */
#define cc__cas(a, expected, value, order, on_failure) \
	__atomic_compare_exchange_n(&(a)->raw, expected, value, false, order, on_failure)
#define cc__cas_weak(a, expected, value, order, on_failure) \
	__atomic_compare_exchange_n(&(a)->raw, expected, value, true, order, on_failure)

#define cc__fence(order) __atomic_thread_fence(order)

/* A relaxed load of an aligned word that hardly ever changes, which the compiler may make part of a
 * comparison; gcc does not do that with an atomic load.  For a condition that is evaluated once. */
#if defined(__SANITIZE_THREAD__)
#define CC__GLANCE_ATOMIC 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CC__GLANCE_ATOMIC 1
#endif
#endif
#ifdef CC__GLANCE_ATOMIC
#define cc__glance(a) cc__load(a, CC__RELAXED)
#else
#define cc__glance(a) ((a)->raw)
#endif

/* A pair of fences for two sides of which one is hot: between a store and a load
 * the light one costs nothing, and the heavy one makes every running thread of
 * the process execute a fence at this moment.  Where the system cannot do that,
 * cc__fence_heavy_start leaves the flag set and both are full fences. */
extern bool cc__fence_symmetric __attribute__((visibility("hidden")));	/* written before the first worker starts */

static inline void cc__fence_light(void)
{
	if (__builtin_expect(cc__fence_symmetric, 0))
		cc__fence(CC__SEQ_CST);
	else
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void cc__fence_heavy(void);
/* Before a thread that uses the pair is started. */
void cc__fence_heavy_start(void);

#endif /* CC__EXPLORE */

/* Before the atomic is shared, or after nobody else can reach it. */
#define cc__init(a, value) ((a)->raw = (value))
#define cc__peek(a) ((a)->raw)

/* A turn of a spin loop: tells the CPU (and the explorer) that we wait for
 * somebody else. */
void cc__relax(void);

/* Sleep while *a == expected, at most until deadline.  Returns 0 on a wake, a
 * changed value or for no reason at all, ETIMEDOUT once deadline has passed.
 * The 64-bit form looks at the low half only: a word whose low half is the
 * same must mean the same sleep. */
int cc__futex_wait(cc__a32 *a, uint32_t expected, cc_time deadline);
void cc__futex_wake(cc__a32 *a, int most);
int cc__futex_wait64(cc__a64 *a, uint64_t expected, cc_time deadline);
void cc__futex_wake64(cc__a64 *a);

/* A second word to sleep on, in memory that other processes may have, too. */
enum cc__futex_end {
	CC__FUTEX_UNDECIDED,	/* nothing came from there */
	CC__FUTEX_WOKEN,	/* a wake was for us: it counts us, and nobody else has it */
	CC__FUTEX_DIFFERS,	/* the word was not as expected, and no wake came */
	CC__FUTEX_GONE,		/* nothing can be read there */
	CC__FUTEX_CANCELLED,	/* by its owner, before any of these (park/slots.h) */
};
struct cc__futex_other {
	const cc__a32 *word;	/* constant during a sleep, as is the next */
	uint32_t expected;
	enum cc__futex_end end;	/* the sleeper's */
	unsigned faults;	/* so often in a row the kernel found nothing there (os/shared.h) */
};

/* As cc__futex_wait64, on both: EALREADY when it is over by the other one, and o->end
 * says how.  What came from there is told whatever happened to *a meanwhile. */
int cc__futex_wait_either(cc__a64 *a, uint64_t expected, struct cc__futex_other *o,
                          cc_time deadline);

/* The monotonic clock; virtual in the explorer. */
cc_time cc__now(void);

/* That much after now; for ever stays for ever. */
static inline cc_time cc__from_now(cc_time span)
{
	const cc_time now = cc__now();

	return span > CC_FOREVER - now ? CC_FOREVER : now + span;
}

static inline cc_time cc__earlier(cc_time a, cc_time b)
{
	return a < b ? a : b;
}

/* One OS thread.  The name is for debuggers, at most 15 characters.  It takes
 * none of the program's signals, only faults of its own. */
struct cc__os_thread {
	uintptr_t handle;
};
int cc__thread_start(struct cc__os_thread *t, void (*main)(void *), void *arg,
                     const char *name);
void cc__thread_join(struct cc__os_thread t);
/* Instead of the join. */
void cc__thread_detach(struct cc__os_thread t);
void cc__thread_yield(void);
/* By a thread of ours: its sleeps end at their deadlines, and not up to 50 us later, which
 * is what Linux gives itself otherwise.  (Whom it forks or starts has that from it.) */
void cc__thread_prompt(void);

/* The one thread-local value: this OS thread's record (wait/thread.h), NULL
 * until it has one.  Never inlined: a compiler that keeps the address across a
 * context switch would read another thread's value.  A thread that ends with
 * a record set has `at_exit` called with it. */
void *cc__tls_get(void);
int cc__tls_set(void *record, void (*at_exit)(void *record));

/* Memory of the calling thread for the checks of debug builds (the lock stack of base/lock.h);
 * zero at first. */
enum { CC__THREAD_SCRATCH = 256 };
void *cc__thread_scratch(void);

/* Counts that this thread met another one at a word that both wanted; the count of this thread.
 * The scheduler uses it: fibers that meet all the time do better on one worker. */
#ifdef CC__EXPLORE
#define cc__contended() ((void)0)
#define cc__contentions() ((uint64_t)0)
#else
void cc__contended(void);
uint64_t cc__contentions(void);
#endif

#endif
