/* sync.h - what locks and their kin are made of: a word, and those who sleep on it.
 *
 * Y1  The word tells it all when nobody waits, and one compare-exchange is the operation.
 *     PARKED in it sends everybody the slow way; it is set only in a hold of the word's
 *     bucket, by who then sleeps there, and may stay when he has left.
 * Y2  In the slow way the word and its sleepers change in one hold.  What is handed over
 *     is the sleeper's when his sleep returns 0: there is nothing to try again.
 * Y3  The step that lets another one go on is the last touch of the word: its memory may
 *     be gone then.  Those who sleep are found by its address alone. */
#ifndef CC__SYNC_SYNC_H
#define CC__SYNC_SYNC_H

#include <ccc/sync.h>

#include "os/fork.h"
#include "park/engine.h"
#include "wait/thread.h"

_Static_assert(sizeof(cc__a32) == sizeof(uint32_t), "the public words");

static inline cc__a32 *cc__sync_word(const uint32_t *word)
{
	return (cc__a32 *)(uintptr_t)word;
}

static inline struct cc__sleeper cc__sync_sleeper(const void *word, enum cc__for what)
{
	return (struct cc__sleeper){.key = cc__park_trusted_key(word), .what = (uint8_t)what};
}

static inline struct cc__bucket *cc__sync_hold(const struct cc__park_key *key)
{
	return cc__park_hold(&cc__park_trusted, key);
}

/* Wake all who sleep on `word`, which may be gone; `last` as for cc__park_wake. */
static inline void cc__sync_wake_all(const void *word, uint64_t last)
{
	const struct cc__park_key key = cc__park_trusted_key(word);

	cc__park_wake(&cc__park_trusted, &key, UINT32_MAX, last);
}

/* What readers did happens before what a writer does; this stands for it. */
static inline const void *cc__sync_readers(const void *lock)
{
	return (const char *)lock + 1;
}

/* For who looks for those that are parked with a lock held (monitor/hold.h), if anybody does.
 * The caller has got it, by a call that returns to `where`; returns 0.  And it is about to be
 * let go of, and still nobody else's. */
int cc__sync_holds(const void *lock, unsigned writer, const void *where);
void cc__sync_lets_go(const void *lock);

/* cc_mutex_lock_anyway, by a call that returns to `where`. */
void cc__mutex_lock_anyway(CCMutex *m, const void *where);

#endif
