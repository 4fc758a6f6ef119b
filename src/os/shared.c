/* shared.c - futex_waitv: a sleep on two words, one of ours and one of everybody's. */
#include "os/shared.h"

#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Not in every C library (Linux 5.16). */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

enum { FUTEX_WAKE = 1, FUTEX2_SIZE_U32 = 2, FUTEX2_PRIVATE = 128 };

/* What the kernel takes, whatever the C library's timespec is. */
struct kernel_time {
	int64_t sec, nsec;
};

struct waitv {
	uint64_t value, address;
	uint32_t flags, zero;
};

/* When both words are woken, the kernel names the last of the array: the other one has to
 * stand there, for its wake has been counted. */
enum { OWN, OTHER, BOTH };

static long waitv(struct waitv *v, unsigned count, const struct kernel_time *at)
{
	return syscall(SYS_futex_waitv, v, count, 0, at, CLOCK_MONOTONIC);
}

bool cc__futex_either_works(void)
{
	/* Nothing to wait for is a mistake, to a kernel that knows the call. */
	return waitv(NULL, 0, NULL) < 0 && errno == EINVAL;
}

static int over(struct cc__futex_other *o, enum cc__futex_end end)
{
	o->end = end;
	return EALREADY;
}

/* One of the values was not as expected, and the kernel does not say which. */
static int differs(const cc__a64 *a, uint64_t expected, struct cc__futex_other *o)
{
	/* Relaxed: who changed ours has us look at it again, in the right order. */
	if ((uint32_t)cc__load(a, CC__RELAXED) != (uint32_t)expected)
		return 0;
	return over(o, CC__FUTEX_DIFFERS);
}

int cc__futex_wait_either(cc__a64 *a, uint64_t expected, struct cc__futex_other *o,
                          cc_time deadline)
{
	/* Both CPUs are little-endian: the low half stands first. */
	struct waitv v[BOTH] = {
	    [OWN] = {(uint32_t)expected, (uintptr_t)&a->raw, FUTEX2_SIZE_U32 | FUTEX2_PRIVATE, 0},
	    [OTHER] = {o->expected, (uintptr_t)&o->word->raw, FUTEX2_SIZE_U32, 0},
	};
	const cc_time until = deadline < 0 ? 0 : deadline;
	const struct kernel_time at = {until / CC_SEC, until % CC_SEC};
	const long woken = waitv(v, BOTH, deadline == CC_FOREVER ? NULL : &at);

	if (cc__futex_gone(&o->faults, woken < 0 ? errno : 0))
		return over(o, CC__FUTEX_GONE);
	if (woken >= 0)
		return woken == OTHER ? over(o, CC__FUTEX_WOKEN) : 0;
	switch (errno) {
	case ETIMEDOUT:
		return ETIMEDOUT;
	case EAGAIN:
		return differs(a, expected, o);
	default:
		return 0;	/* a signal; out of memory, or a page gone, for a moment */
	}
}

uint32_t cc__futex_wake_shared(const cc__a32 *word, uint32_t most)
{
	unsigned faults = 0;
	long woken;

	do
		woken = syscall(SYS_futex, &word->raw, FUTEX_WAKE,
		                most > INT_MAX ? INT_MAX : (int)most, NULL, NULL, 0);
	while (woken < 0 && errno == EFAULT && !cc__futex_gone(&faults, errno));
	return woken > 0 ? (uint32_t)woken : 0;
}
