/* mutex.c - one holder at a time.
 *
 *   0                free
 *   LOCKED           held, nobody sleeps
 *   LOCKED | PARKED  held, somebody may sleep
 *   PARKED           free, somebody may sleep: whoever was woken tries, and whoever runs
 *
 * M1  An unlock that finds sleepers wakes the first and leaves the mutex free: who runs
 *     need not wait for who has yet to.  But a sleeper who has waited for PATIENCE is
 *     handed it, locked.
 * M2  Who was woken and came too late sleeps again in front of the others, and has waited
 *     since his first sleep. */
#include <errno.h>

#include "sync/sync.h"

enum { LOCKED = 1, PARKED = 2 };
enum { HANDED = -1 };	/* the result of a sleep: he holds it (M1) */
#ifndef CC__MUTEX_SPINS
#define CC__MUTEX_SPINS 7
#endif

enum { SPINS = CC__MUTEX_SPINS, PATIENCE = 1000000 };

static cc__a32 *word_of(const CCMutex *m)
{
	return cc__sync_word(&m->word);
}

/* ---- lock ---- */

static bool take(CCMutex *m, uint32_t seen)
{
	/* Acquire: what the holder before us did, from its release in unlock. */
	return (seen & LOCKED) == 0 &&
	       cc__cas(word_of(m), &seen, seen | LOCKED, CC__ACQUIRE, CC__RELAXED);
}

/* The holder is likely to run, and to be done soon: ever longer looks away. */
static bool take_soon(CCMutex *m)
{
	cc__contended();
	for (int i = 0; i < SPINS; i++) {
		uint32_t seen;

		for (unsigned turns = 1u << i; turns > 0; turns--)
			cc__relax();
		seen = cc__load(word_of(m), CC__RELAXED);	/* Relaxed: take decides */
		if (take(m, seen))
			return true;
		if (seen & PARKED)
			break;	/* others have given up before */
	}
	return false;
}

/* Held: true if it is locked and says that somebody sleeps. */
static bool announce(CCMutex *m)
{
	uint32_t seen = LOCKED;

	/* Relaxed, both: the unlock that sees PARKED comes to the bucket after us. */
	return cc__cas(word_of(m), &seen, LOCKED | PARKED, CC__RELAXED, CC__RELAXED) ||
	       seen == (LOCKED | PARKED);
}

static int lock_slowly(CCMutex *m, cc_time deadline, const cc__a32 *cancel)
{
	struct cc__sleeper s = cc__sync_sleeper(m, CC__FOR_MUTEX);
	int err = 0;

	if (deadline == CC_NOW)	/* Relaxed: take decides */
		return take(m, cc__load(word_of(m), CC__RELAXED)) ? 0 : EAGAIN;
	if (take_soon(m))
		return 0;
	s.cancel = cancel;
	s.since = cc__now();
	while (err == 0) {
		struct cc__bucket *b;

		if (take(m, cc__load(word_of(m), CC__RELAXED)))	/* Relaxed: take decides */
			return 0;
		b = cc__sync_hold(&s.key);
		if (announce(m))
			err = cc__park_sleep(b, &s, deadline);
		else
			cc__park_drop(b);
		s.first = true;	/* M2 */
	}
	return err == HANDED ? 0 : err;
}

/* All but the usual: so that this one has no registers to save. */
static __attribute__((noinline)) int lock_else(CCMutex *m, cc_time deadline,
                                               const cc__a32 *cancel, const void *where)
{
	const bool watched = cc__watched();
	int err;

	if (watched && take(m, 0))
		err = 0;
	else
		err = cc__forked() ? ENOTSUP : lock_slowly(m, deadline, cancel);
	return watched && err == 0 ? cc__sync_holds(m, 0, where) : err;
}

static inline int lock(CCMutex *m, cc_time deadline, const cc__a32 *cancel, const void *where)
{
	if (!cc__watched() && take(m, 0))
		return 0;
	return lock_else(m, deadline, cancel, where);
}

int cc_mutex_lock_until(CCMutex *m, cc_time deadline)
{
	return lock(m, deadline, NULL, __builtin_return_address(0));
}

void cc__mutex_lock_anyway(CCMutex *m, const void *where)
{
	const int err = lock(m, CC_FOREVER, &cc__uncancelled, where);

	CC__CHECK(err == 0, "mutex: no memory to wait for it, or in a child of fork");
}

void cc_mutex_lock_anyway(CCMutex *m)
{
	cc__mutex_lock_anyway(m, __builtin_return_address(0));
}

/* ---- unlock ---- */

static __attribute__((noinline)) int unlock_slowly(CCMutex *m)
{
	const struct cc__park_key key = cc__park_trusted_key(m);
	struct cc__bucket *b = cc__sync_hold(&key);
	struct cc__sleeper *s = cc__park_first(b, &key);
	struct cc__wake wake = {NULL, 0};
	uint32_t left = 0;

	if (s != NULL) {
		const bool hand = cc__now() - s->since >= PATIENCE;

		left = (hand ? LOCKED : 0u) | (cc__park_more(s) ? PARKED : 0u);
		wake = cc__park_consume(s, hand ? HANDED : 0);
	}
	/* Release: what we did, to the acquire in take; who is handed it has it from the
	 * bucket's lock.  A store: LOCKED | PARKED is ours alone to change in this hold. */
	cc__store(word_of(m), left, CC__RELEASE);
	cc__park_drop(b);
	cc__wake(wake);
	return 0;
}

static inline int unlock(CCMutex *m)
{
	uint32_t seen = LOCKED;

	/* Release: as above. */
	if (cc__cas(word_of(m), &seen, 0, CC__RELEASE, CC__RELAXED))
		return 0;
	return seen & LOCKED ? unlock_slowly(m) : EPERM;
}

static __attribute__((noinline)) int unlock_watched(CCMutex *m)
{
	cc__sync_lets_go(m);
	return unlock(m);
}

int cc_mutex_unlock(CCMutex *m)
{
	return cc__watched() ? unlock_watched(m) : unlock(m);
}
