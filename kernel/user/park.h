/* park.h - park words, as a program uses them. */
#ifndef KERNEL_USER_PARK_H
#define KERNEL_USER_PARK_H

#include <ccc/park.h>

#include "base/atomic.h"
#include "sys.h"

#define FOREVER UINT64_MAX

static inline int64_t park(const cc__a32 *word, uint32_t expected, uint64_t nanoseconds)
{
	return sys_call(CALL_PARK, (uintptr_t)word, expected, nanoseconds, 0);
}

static inline int64_t unpark(const cc__a32 *word, uint32_t most)
{
	return sys_call(CALL_UNPARK, (uintptr_t)word, most, 0, 0);
}

#endif
