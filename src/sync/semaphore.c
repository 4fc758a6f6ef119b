/* semaphore.c - so many permits.
 *
 *   permits << 1 | PARKED
 *
 * S1  While somebody sleeps there is no permit: a post hands its permits to sleepers, in
 *     the order of their coming, and keeps what is left over. */
#include <errno.h>

#include "sync/sync.h"

enum { PARKED = 1, PERMIT = 2 };

static cc__a32 *word_of(const CCSemaphore *s)
{
	return cc__sync_word(&s->word);
}

/* ---- wait ---- */

/* True: the caller has one. */
static bool take(CCSemaphore *s, uint32_t *seen)
{
	while (*seen >= PERMIT)
		/* Acquire: what was done before the post, from its release. */
		if (cc__cas_weak(word_of(s), seen, *seen - PERMIT, CC__ACQUIRE, CC__RELAXED))
			return true;
	return false;
}

static int wait_slowly(CCSemaphore *s, cc_time deadline)
{
	struct cc__sleeper me = cc__sync_sleeper(s, CC__FOR_SEMAPHORE);
	struct cc__bucket *b = cc__sync_hold(&me.key);
	uint32_t seen = cc__load(word_of(s), CC__RELAXED);	/* Relaxed: decided below */

	do
		if (take(s, &seen)) {
			cc__park_drop(b);
			return 0;
		}
	/* Relaxed, both: a post that sees PARKED comes to the bucket after us. */
	while (!cc__cas_weak(word_of(s), &seen, PARKED, CC__RELAXED, CC__RELAXED));
	return cc__park_sleep(b, &me, deadline);
}

static inline int wait(CCSemaphore *s, cc_time deadline)
{
	uint32_t seen = cc__load(word_of(s), CC__RELAXED);	/* Relaxed: take decides */

	if (take(s, &seen))
		return 0;
	if (cc__forked())
		return ENOTSUP;
	return deadline == CC_NOW ? EAGAIN : wait_slowly(s, deadline);
}

static __attribute__((noinline)) int wait_watched(CCSemaphore *s, cc_time deadline)
{
	const int err = wait(s, deadline);

	if (err == 0)
		cc__happens_after(s);
	return err;
}

int cc_semaphore_wait_until(CCSemaphore *s, cc_time deadline)
{
	return cc__watched() ? wait_watched(s, deadline) : wait(s, deadline);
}

/* ---- post ---- */

/* Held, and nobody sleeps: keep them.  Y3. */
static int keep(CCSemaphore *s, uint32_t permits)
{
	uint32_t seen = cc__load(word_of(s), CC__RELAXED);	/* Relaxed: decided below */

	do
		if (permits > CC_SEMAPHORE_MAX - seen / PERMIT)
			return EOVERFLOW;
	/* Release: what we did, to the acquire in take. */
	while (!cc__cas_weak(word_of(s), &seen, (seen & ~(uint32_t)PARKED) + permits * PERMIT,
	                     CC__RELEASE, CC__RELAXED));
	return 0;
}

static int post_slowly(CCSemaphore *s, uint32_t permits)
{
	const struct cc__park_key key = cc__park_trusted_key(s);
	struct cc__batch batch;
	int err = 0;

	cc__batch_init(&batch);
	while (permits > 0) {
		struct cc__bucket *b = cc__sync_hold(&key);
		struct cc__sleeper *first;

		while (permits > 0 && !cc__batch_full(&batch) &&
		       (first = cc__park_first(b, &key)) != NULL) {
			cc__batch_add(&batch, cc__park_consume(first, 0));
			permits--;
		}
		if (permits > 0 && !cc__batch_full(&batch)) {
			err = keep(s, permits);
			permits = 0;
		}
		cc__park_drop(b);
		cc__batch_flush(&batch);
	}
	return err;
}

int cc_semaphore_post(CCSemaphore *s, uint32_t permits)
{
	uint32_t seen = cc__load(word_of(s), CC__RELAXED);	/* Relaxed: decided below */

	if (permits > CC_SEMAPHORE_MAX)
		return EOVERFLOW;
	if (cc__watched())
		cc__happens_before(s);
	while ((seen & PARKED) == 0) {
		if (permits > CC_SEMAPHORE_MAX - seen / PERMIT)
			return EOVERFLOW;
		/* Release: what we did, to the acquire in take. */
		if (cc__cas_weak(word_of(s), &seen, seen + permits * PERMIT, CC__RELEASE,
		                 CC__RELAXED))
			return 0;
	}
	return cc__forked() ? ENOTSUP : post_slowly(s, permits);
}
