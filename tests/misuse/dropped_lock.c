/* A lock that may not be held.
 * flags: -Werror=unused-result
 * expect-gcc: [-Werror=unused-result]
 * expect-clang: [-Werror,-Wunused-result] */
#include <ccc/ccc.h>

int misuse(CCMutex *m, int *guarded);

int misuse(CCMutex *m, int *guarded)
{
#ifdef RIGHT
	if (cc_mutex_lock(m) != 0)
		return -1;
	++*guarded;
	return cc_mutex_unlock(m);
#else
	cc_mutex_lock(m);
	++*guarded;
	return cc_mutex_unlock(m);
#endif
}
