/* park.c - private words: the key is the address space and the address in it. */
#include "park.h"

#include <ccc/park.h>
#include <errno.h>

#include "timer.h"

enum { BUCKET_BITS = 6 };

static struct cc__bucket buckets[1 << BUCKET_BITS];
static const struct cc__park_table words = {buckets, BUCKET_BITS};

static bool wrong(uint64_t address)
{
	return address % sizeof(uint32_t) != 0 || address >= PAGE_USER_END;
}

static cc_time deadline_in(uint64_t nanoseconds)
{
	if (nanoseconds == 0)
		return CC_NOW;
	return nanoseconds < (uint64_t)CC_FOREVER ? cc__from_now((cc_time)nanoseconds) : CC_FOREVER;
}

static int64_t status_of(int err)
{
	switch (err) {
	case 0:
		return CC_PARK_WOKEN;
	case EAGAIN:
	case ETIMEDOUT:
		return CC_PARK_TIMED_OUT;
	default:
		return CC_PARK_INTERRUPTED;
	}
}

int64_t park_wait(struct process *p, uint64_t address, uint32_t expected, uint64_t nanoseconds)
{
	struct cc__sleeper s = {.key = {p->id, 1, address}};
	const cc__a32 *word = wrong(address) ? NULL : page_find(p->top, address, PAGE_READ);
	struct cc__bucket *b;

	if (word == NULL)
		return -EFAULT;
	b = cc__park_hold(&words, &s.key);
	if (cc__load(word, CC__RELAXED) != expected) {	/* Relaxed: one processor */
		cc__park_drop(b);
		return CC_PARK_VALUE_MISMATCH;
	}
	return status_of(cc__park_sleep(b, &s, deadline_in(nanoseconds)));
}

int64_t park_wake(struct process *p, uint64_t address, uint32_t most)
{
	const struct cc__park_key key = {p->id, 1, address};

	return wrong(address) || most == 0 ? -EINVAL : (int64_t)cc__park_wake(&words, &key, most, 0);
}
