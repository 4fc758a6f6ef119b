/* cond.c - wait for what a mutex guards.
 *
 * The word counts signals.  Who waits has read it before he unlocks the mutex, and sleeps
 * only if no signal has come since. */
#include <errno.h>

#include "sync/sync.h"

static cc__a32 *word_of(const CCCond *c)
{
	return cc__sync_word(&c->word);
}

/* Until the count is not `seen` any more. */
static int sleep_while(CCCond *c, uint32_t seen, cc_time deadline)
{
	struct cc__sleeper s = cc__sync_sleeper(c, CC__FOR_COND);
	struct cc__bucket *b = cc__sync_hold(&s.key);

	/* Relaxed: who counts comes to the bucket after us, or has been there. */
	if (cc__load(word_of(c), CC__RELAXED) == seen)
		return cc__park_sleep(b, &s, deadline);
	cc__park_drop(b);
	return 0;
}

int cc_cond_wait_until(CCCond *c, CCMutex *m, cc_time deadline)
{
	/* Relaxed: what the condition is about is guarded by the mutex. */
	const uint32_t seen = cc__load(word_of(c), CC__RELAXED);
	int err;

	if (cc__forked())
		return ENOTSUP;
	if ((err = cc_mutex_unlock(m)) != 0)
		return err;
	err = sleep_while(c, seen, deadline);
	cc__mutex_lock_anyway(m, __builtin_return_address(0));
	return err;
}

static void signal_some(CCCond *c, uint32_t most)
{
	const struct cc__park_key key = cc__park_trusted_key(c);

	cc__add(word_of(c), 1, CC__RELAXED);	/* Relaxed: before the hold, as above */
	if (!cc__forked())
		cc__park_wake(&cc__park_trusted, &key, most, 0);
}

void cc_cond_signal(CCCond *c)
{
	signal_some(c, 1);
}

void cc_cond_broadcast(CCCond *c)
{
	signal_some(c, UINT32_MAX);
}
