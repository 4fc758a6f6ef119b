/* semaphore_nobody_posts.c - waits for a semaphore that nobody posts.
 *
 * exit: SIGABRT
 * says: waits for semaphore 0x
 * says: every cc_semaphore_wait needs a cc_semaphore_post */
#include "broken.h"

static CCSemaphore semaphore;

static int broken(void)
{
	return cc_semaphore_wait(&semaphore);
}
