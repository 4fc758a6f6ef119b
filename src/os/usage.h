/* usage.h - what the kernel says of one thread of this process. */
#ifndef CC__OS_USAGE_H
#define CC__OS_USAGE_H

#include <stdbool.h>
#include <stdint.h>

struct cc__usage {
	bool asleep;		/* blocked in a system call, or stopped */
	int64_t ran;		/* ns that it has had a CPU; 0: not known */
};

/* The caller's number in the kernel. */
uint32_t cc__thread_number(void);

/* Of the thread with that number.  All 0 if /proc does not tell. */
struct cc__usage cc__usage_of(uint32_t number);

#endif
