/* fork_plain_test.c - fork_test.c on a system that wipes no pages.
 * link-wrap: madvise */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

int __real_madvise(void *p, size_t size, int advice);
int __wrap_madvise(void *p, size_t size, int advice);

int __wrap_madvise(void *p, size_t size, int advice)
{
	enum { WIPE_ON_FORK = 18 };

	if (advice != WIPE_ON_FORK)
		return __real_madvise(p, size, advice);
	errno = EINVAL;
	return -1;
}

#include "fork_test.c"
