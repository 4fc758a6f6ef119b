/* fork.h - stands in for src/os/fork.h in the explorer, where nobody forks, and where a yield
 * always asks whether it is cancelled. */
#ifndef CC__OS_FORK_H
#define CC__OS_FORK_H

#include "os/atomic.h"

static inline bool cc__fork_wiped(void)
{
	return false;
}

static inline bool cc__fork_ordinary(void)
{
	return false;
}

static inline void cc__fork_count_cancelled(int more)
{
	(void)more;
}

static inline bool cc__forked(void)
{
	return false;
}

static inline void cc__fork_watch(void)
{
}

static inline void cc__fork_unwatch(void)
{
}

static inline _Noreturn void cc__fork_exit(int status)
{
	(void)status;
	for (;;)
		continue;
}

#endif
