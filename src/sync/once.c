/* once.c - the first one does it, the others wait until it is done. */
#include <errno.h>

#include "sync/sync.h"

/* NEW -> RUNNING (-> PARKED) -> DONE, or back to NEW if it failed. */
enum { NEW, RUNNING, PARKED, DONE };

static cc__a32 *word_of(const CCOnce *o)
{
	return cc__sync_word(&o->word);
}

/* Until the one who runs it is through, one way or the other. */
static int wait_for_it(CCOnce *o)
{
	struct cc__sleeper s = cc__sync_sleeper(o, CC__FOR_ONCE);
	struct cc__bucket *b = cc__sync_hold(&s.key);
	uint32_t seen = RUNNING;

	/* Relaxed, both: who ends it comes to the bucket after us. */
	if (cc__cas(word_of(o), &seen, PARKED, CC__RELAXED, CC__RELAXED) || seen == PARKED)
		return cc__park_sleep(b, &s, CC_FOREVER);
	cc__park_drop(b);
	return 0;
}

static int run(CCOnce *o, int (*first)(void *arg), void *arg)
{
	const int err = first(arg);

	if (cc__watched())
		cc__happens_before(o);
	/* Release: what `first` did, to the acquire in cc_once.  Y3. */
	if (cc__xchg(word_of(o), err == 0 ? DONE : NEW, CC__RELEASE) == PARKED)
		cc__sync_wake_all(o, 0);
	return err;
}

/* And after what a `first` did that failed. */
static int run_after(CCOnce *o, int (*first)(void *arg), void *arg)
{
	if (cc__watched())
		cc__happens_after(o);
	return run(o, first, arg);
}

int cc_once(CCOnce *o, int (*first)(void *arg), void *arg)
{
	int err = 0;

	while (err == 0) {
		/* Acquire: from the release in run. */
		uint32_t seen = cc__load(word_of(o), CC__ACQUIRE);

		if (seen == DONE) {
			if (cc__watched())
				cc__happens_after(o);
			return 0;
		}
		if (cc__forked())
			return ENOTSUP;
		/* Acquire: what a `first` did that failed. */
		if (seen == NEW && cc__cas(word_of(o), &seen, RUNNING, CC__ACQUIRE, CC__RELAXED))
			return run_after(o, first, arg);
		err = wait_for_it(o);
	}
	return err;
}
