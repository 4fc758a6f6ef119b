/* condition_nobody_signals.c - waits for a condition that nobody signals.
 *
 * exit: SIGABRT
 * says: waits for condition 0x
 * says: change the condition under its mutex, then call cc_cond_signal */
#include "broken.h"

static CCMutex mutex;
static CCCond changed;

static int broken(void)
{
	must(cc_mutex_lock(&mutex));
	must(cc_cond_wait(&changed, &mutex));
	return cc_mutex_unlock(&mutex);
}
