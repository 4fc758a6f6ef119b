/* host.c - what src/os/atomic.h declares and a system defines.
 *
 * A word to sleep on (cc__futex_wait) is the park engine's own: space 0 is the kernel, and
 * its addresses are the places.  Below that, the processor itself waits for a word by halting
 * until an interrupt has changed it (cc__futex_wait64).  The kernel is never interrupted in
 * the middle (cpu.h), so a lock that is found taken will never be free. */
#include "os/atomic.h"

#include <errno.h>

#include "base/lock.h"
#include "os/trace.h"
#include "cpu.h"
#include "host.h"
#include "kernel.h"
#include "os/pages.h"
#include "page.h"
#include "park/engine.h"
#include "timer.h"

/* ---- futexes ---- */

enum { BUCKET_BITS = 4 };

static struct cc__bucket buckets[1 << BUCKET_BITS];
static const struct cc__park_table words = {buckets, BUCKET_BITS};
static uint64_t woken;

int cc__futex_wait(cc__a32 *a, uint32_t expected, cc_time deadline)
{
	struct cc__sleeper s = {.key = {.place = (uintptr_t)a}, .cancel = &cc__uncancelled};
	struct cc__bucket *b = cc__park_hold(&words, &s.key);

	/* Relaxed: who changes it comes to wake, and holds the bucket after us. */
	if (cc__load(a, CC__RELAXED) != expected) {
		cc__park_drop(b);
		return 0;
	}
	return cc__park_sleep(b, &s, deadline);
}

void cc__futex_wake(cc__a32 *a, int most)
{
	const struct cc__park_key key = {.place = (uintptr_t)a};

	woken += cc__park_wake(&words, &key, (uint32_t)most, 0);
}

uint64_t host_woken(void)
{
	return woken;
}

int cc__futex_wait64(cc__a64 *a, uint64_t expected, cc_time deadline)
{
	/* Relaxed: one processor. */
	while ((uint32_t)cc__load(a, CC__RELAXED) == (uint32_t)expected) {
		if (cc__now() >= deadline)
			return ETIMEDOUT;
		cpu_pause();
	}
	return 0;
}

int cc__futex_wait_either(cc__a64 *a, uint64_t expected, struct cc__futex_other *o,
                          cc_time deadline)
{
	(void)a, (void)expected, (void)o, (void)deadline;
	CC__UNREACHABLE("host: shared words are the engine's here");
}

void cc__futex_wake64(cc__a64 *a)
{
	(void)a;	/* whoever calls is the interrupt that ends the halt */
}

/* ---- clock, thread, locks ---- */

cc_time cc__now(void)
{
	return timer_now();
}

static void *record;

void *cc__tls_get(void)
{
	return record;
}

int cc__tls_set(void *r, void (*at_exit)(void *record))
{
	(void)at_exit;	/* the processor does not end */
	record = r;
	return 0;
}

void cc__relax(void)
{
	CC__UNREACHABLE("host: nobody to wait for on one processor");
}

void cc__contended(void)
{
	CC__UNREACHABLE("host: a lock is taken twice");
}

void *cc__thread_scratch(void)
{
	static _Alignas(16) unsigned char scratch[CC__THREAD_SCRATCH];

	return scratch;
}

/* ---- memory ---- */

void *cc__pages_map(size_t size)
{
	return page_get(size / PAGE_SIZE);
}

void *cc__pages_map_dense(size_t size)
{
	return cc__pages_map(size);
}

void cc__pages_populate(void *p, size_t size)
{
	(void)p, (void)size;	/* it is there */
}

/* ---- the event log: nothing is kept, but with checks every move of a word is judged ---- */

#ifdef CC__DEBUG
cc__a32 cc__watching = {CC__WATCH_ASSERT};
#else
cc__a32 cc__watching;
#endif

void cc__happens_before(const void *at)
{
	(void)at;
}

void cc__happens_after(const void *at)
{
	(void)at;
}

void cc__happens_first(const void *at)
{
	(void)at;
}

uint64_t cc__trace_number(void)
{
	static uint64_t number;

	return ++number;
}

void cc__trace_add(uint64_t number, enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	(void)number, (void)kind, (void)who, (void)a, (void)b;
}
