/* rwlock.c - many readers, or one writer.
 *
 *   readers << 2 | PARKED | WRITER
 *
 * R1  While PARKED is set nobody enters but in a hold of the bucket, and there only if
 *     nobody sleeps: who comes later waits behind who came before.
 * R2  The last one to leave hands the lock to the first sleeper; if that is a reader, to
 *     all readers that follow it.  So while somebody sleeps, somebody is inside. */
#include <errno.h>

#include "sync/sync.h"

enum { WRITER = 1, PARKED = 2, READER = 4 };

static cc__a32 *word_of(const CCRwlock *l)
{
	return cc__sync_word(&l->word);
}

/* ---- those who wait come in ---- */

/* Held: readers in front, as many as the batch has room for, are told that they are
 * inside; how many. */
static uint32_t admit_readers(const struct cc__bucket *b, const struct cc__park_key *key,
                              struct cc__batch *batch)
{
	struct cc__sleeper *s;
	uint32_t count = 0;

	while (!cc__batch_full(batch) && (s = cc__park_first(b, key)) != NULL && !s->mark) {
		cc__batch_add(batch, cc__park_consume(s, 0));
		count++;
	}
	return count;
}

/* Held, and nobody is inside but the caller, who leaves: the word for those who are now. */
static uint32_t admit(const struct cc__bucket *b, const struct cc__park_key *key,
                      struct cc__batch *batch)
{
	struct cc__sleeper *s = cc__park_first(b, key);
	uint32_t in;

	if (s != NULL && s->mark) {
		cc__batch_add(batch, cc__park_consume(s, 0));
		in = WRITER;
	} else {
		in = admit_readers(b, key, batch) * READER;
	}
	return cc__park_first(b, key) != NULL ? in | PARKED : in;
}

/* Readers who need not wait any longer: there were more in front than a batch holds, or a
 * writer before them has given up. */
static void admit_more(CCRwlock *l)
{
	const struct cc__park_key key = cc__park_trusted_key(l);
	struct cc__batch batch;
	bool full;

	cc__batch_init(&batch);
	do {
		struct cc__bucket *b = cc__sync_hold(&key);
		struct cc__sleeper *s = cc__park_first(b, &key);

		/* Relaxed, both: in this hold others can only leave, and not the last; who
		 * comes in has the rest from the bucket's lock. */
		if (s != NULL && !s->mark && (cc__load(word_of(l), CC__RELAXED) & WRITER) == 0)
			cc__add(word_of(l), admit_readers(b, &key, &batch) * READER, CC__RELAXED);
		full = cc__batch_full(&batch);
		cc__park_drop(b);
		cc__batch_flush(&batch);
	} while (full);
}

/* ---- enter ---- */

/* The word with one more inside; 0: he has to wait. */
static uint32_t with(uint32_t seen, bool writer)
{
	if (writer)
		return seen == 0 ? WRITER : 0;
	return (seen & WRITER) == 0 ? seen + READER : 0;
}

static int enter_slowly(CCRwlock *l, bool writer, cc_time deadline)
{
	struct cc__sleeper s = cc__sync_sleeper(l, CC__FOR_RWLOCK);
	struct cc__bucket *b = cc__sync_hold(&s.key);
	const bool alone = cc__park_first(b, &s.key) == NULL;
	uint32_t seen = cc__load(word_of(l), CC__RELAXED), in;	/* Relaxed: decided below */
	int err;

	do {
		in = alone ? with(seen & ~(uint32_t)PARKED, writer) : 0;
		if (in == 0 && deadline == CC_NOW)
			break;
		/* Acquire: as in enter. */
	} while (!cc__cas_weak(word_of(l), &seen, in != 0 ? in : seen | PARKED, CC__ACQUIRE,
	                       CC__RELAXED));
	if (in != 0) {
		cc__park_drop(b);
		return 0;
	}
	s.mark = writer;
	err = cc__park_sleep(b, &s, deadline);
	if (err != 0 && writer)
		admit_more(l);
	return err;
}

static int enter(CCRwlock *l, bool writer, cc_time deadline)
{
	uint32_t seen = cc__load(word_of(l), CC__RELAXED), in;	/* Relaxed: decided below */

	while ((seen & PARKED) == 0 && (in = with(seen, writer)) != 0)
		/* Acquire: what those did who have left, from their release. */
		if (cc__cas_weak(word_of(l), &seen, in, CC__ACQUIRE, CC__RELAXED))
			return 0;
	return cc__forked() ? ENOTSUP : enter_slowly(l, writer, deadline);
}

int cc_rwlock_read_until(CCRwlock *l, cc_time deadline)
{
	const int err = enter(l, false, deadline);

	if (cc__watched() && err == 0)
		cc__happens_after(l);
	return err;
}

int cc_rwlock_write_until(CCRwlock *l, cc_time deadline)
{
	const int err = enter(l, true, deadline);

	return cc__watched() && err == 0
	           ? cc__sync_holds(l, CC__HOLD_WRITER, __builtin_return_address(0))
	           : err;
}

/* ---- leave ---- */

/* Somebody may sleep, and the caller was the last. */
static void leave_slowly(CCRwlock *l)
{
	const struct cc__park_key key = cc__park_trusted_key(l);
	struct cc__bucket *b = cc__sync_hold(&key);
	struct cc__batch batch;
	/* Acquire: what the readers did who have left, for those who come now. */
	uint32_t seen = cc__load(word_of(l), CC__ACQUIRE);
	bool full;

	cc__batch_init(&batch);
	while (seen >= 2 * READER)	/* not the last any more */
		/* Release: as in cc_rwlock_unlock. */
		if (cc__cas_weak(word_of(l), &seen, seen - READER, CC__RELEASE, CC__ACQUIRE)) {
			cc__park_drop(b);
			return;
		}
	/* Release: likewise.  A store: it is ours alone to change in this hold. */
	cc__store(word_of(l), admit(b, &key, &batch), CC__RELEASE);
	full = cc__batch_full(&batch);
	cc__park_drop(b);
	cc__batch_flush(&batch);
	if (full)
		admit_more(l);
}

int cc_rwlock_unlock(CCRwlock *l)
{
	uint32_t seen = cc__load(word_of(l), CC__RELAXED), left;	/* Relaxed: ours is in it */

	if (cc__watched())
		(seen & WRITER) ? cc__sync_lets_go(l) : cc__happens_before(cc__sync_readers(l));
	do {
		if ((seen & ~(uint32_t)PARKED) == 0)
			return EPERM;
		left = seen & WRITER ? seen - WRITER : seen - READER;
		if (left == PARKED) {
			leave_slowly(l);
			return 0;
		}
		/* Release: what we did, to the acquire in enter. */
	} while (!cc__cas_weak(word_of(l), &seen, left, CC__RELEASE, CC__RELAXED));
	return 0;
}
