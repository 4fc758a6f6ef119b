/* own_mutex.c - locks a mutex that it holds.
 *
 * exit: SIGABRT
 * says: waits for mutex 0x
 * says: and none twice */
#include "broken.h"

static CCMutex mutex;

static int broken(void)
{
	must(cc_mutex_lock(&mutex));
	must(cc_mutex_lock(&mutex));
	return 0;
}
