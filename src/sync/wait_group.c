/* wait_group.c - so many things to be done.
 *
 *   things << 1 | PARKED */
#include <errno.h>

#include "sync/sync.h"

enum { PARKED = 1, THING = 2 };

static cc__a32 *word_of(const CCWaitGroup *g)
{
	return cc__sync_word(&g->word);
}

int cc_wait_group_add(CCWaitGroup *g, uint32_t things)
{
	uint32_t seen = cc__load(word_of(g), CC__RELAXED);	/* Relaxed: decided below */

	do
		if (things > UINT32_MAX / THING - seen / THING)
			return EOVERFLOW;
	/* Relaxed: only a done tells something. */
	while (!cc__cas_weak(word_of(g), &seen, seen + things * THING, CC__RELAXED, CC__RELAXED));
	return 0;
}

int cc_wait_group_done(CCWaitGroup *g)
{
	uint32_t seen = cc__load(word_of(g), CC__RELAXED), left;	/* Relaxed: decided below */

	if (cc__watched())
		cc__happens_before(g);
	do {
		if (seen < THING)
			return EPERM;
		left = seen - THING < THING ? 0 : seen - THING;
		/* Release: what was done, to the acquire in none_left; with the others'
		 * before, since each changes what the one before left.  Y3. */
	} while (!cc__cas_weak(word_of(g), &seen, left, CC__RELEASE, CC__RELAXED));
	if (left == 0 && (seen & PARKED) && !cc__forked())
		cc__sync_wake_all(g, 0);
	return 0;
}

/* ---- wait ---- */

static bool none_left(const CCWaitGroup *g)
{
	/* Acquire: what was done, from cc_wait_group_done. */
	return cc__load(word_of(g), CC__ACQUIRE) < THING;
}

/* Held: true if there is something left, and it is known that somebody sleeps. */
static bool announce(CCWaitGroup *g)
{
	uint32_t seen = cc__load(word_of(g), CC__RELAXED);	/* Relaxed: decided below */

	while (seen >= THING)
		/* Relaxed, both: the done that sees PARKED comes to the bucket after us. */
		if (cc__cas_weak(word_of(g), &seen, seen | PARKED, CC__RELAXED, CC__RELAXED))
			return true;
	return false;
}

int cc_wait_group_wait_until(CCWaitGroup *g, cc_time deadline)
{
	int err = 0;

	while (!none_left(g) && err == 0) {
		struct cc__sleeper s = cc__sync_sleeper(g, CC__FOR_WAIT_GROUP);
		struct cc__bucket *b;

		if (cc__forked())
			return ENOTSUP;
		if (deadline == CC_NOW)
			return EAGAIN;
		b = cc__sync_hold(&s.key);
		if (announce(g))
			err = cc__park_sleep(b, &s, deadline);
		else
			cc__park_drop(b);
	}
	if (cc__watched() && err == 0)
		cc__happens_after(g);
	return err;
}
