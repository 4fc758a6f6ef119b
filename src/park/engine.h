/* engine.h - words that somebody sleeps on, found by key.
 *
 * P1  A key names a word: a space (of addresses, or a memory object), the generation of
 *     that space, and a place in it.  Equal keys are one word, others never meet.
 * P2  Whoever sleeps on a key is listed in its bucket, and has looked at the word in the
 *     same hold of the bucket's lock.  Who changes the word and then comes for the
 *     sleepers finds him, or he has seen the change.
 * P3  Sleepers of a key are taken in the order of their coming.
 * P4  Whoever takes a sleeper off ends that wait, once and alone: a wake, its deadline,
 *     a cancellation, the end of a thread or of a mapping.
 * P5  Nothing is allocated: the sleeper is its owner's memory, the buckets were there
 *     before.  The word itself is only ever read, by those who look.
 *
 * The callers hold a bucket for a few lines, to decide over a word and its sleepers at
 * once:
 *
 *      b = cc__park_hold(table, &key);
 *      if (the word wants sleep)
 *              err = cc__park_sleep(b, &sleeper, deadline);    // drops the hold
 *      else
 *              cc__park_drop(b); */
#ifndef CC__PARK_ENGINE_H
#define CC__PARK_ENGINE_H

#include "wait/wait.h"

struct cc__park_key {
	uint64_t space;
	uint64_t generation;
	uint64_t place;		/* an address, or an offset */
};

/* One sleep. */
struct cc__sleeper {
	struct cc__park_key key;	/* constant while listed */
	const cc__a32 *cancel;		/* as of a waiter; NULL: whatever cancels the caller */
	/* The owner's, or NULL: called with the bucket held when he goes without having
	 * been taken off. */
	void (*left)(struct cc__sleeper *s);
	/* The owner's, or NULL: called with the bucket held by whoever takes him off, with
	 * the result that is meant for him.  He is told what it returns; at most one wake is
	 * added to the batch. */
	int (*taken)(struct cc__sleeper *s, int result, struct cc__batch *b);
	bool first;			/* the owner's: he was there before, and goes in front */
	bool mark;			/* the owner's: what he wants the word for */
	uint8_t what;			/* the owner's: an enum cc__for, what the word is */
	bool listed;			/* bucket's lock */
	cc_time since;			/* the owner's */
	uint64_t arrival;		/* bucket's lock; its number, 0 before the first sleep */
	struct cc__waiter *waiter;	/* bucket's lock; of those of its key */
	/* Bucket's lock; the first of each key are a list.  `place` is what points to it,
	 * NULL if another one of its key is first. */
	struct cc__sleeper *next, **place;
};

struct cc__bucket {
	struct cc__lock lock;
	uint64_t arrivals;		/* lock; so many came */
	struct cc__sleeper *first;	/* lock */
	char apart[40];
};

struct cc__park_table {
	struct cc__bucket *bucket;	/* 1 << bits of them, all zero at first */
	unsigned bits;
};

/* The bucket of `key`, locked. */
struct cc__bucket *cc__park_hold(const struct cc__park_table *t, const struct cc__park_key *key);

static inline void cc__park_drop(struct cc__bucket *b)
{
	cc__unlock(&b->lock);
}

/* Held: who has slept on `key` the longest; NULL: nobody sleeps on it. */
struct cc__sleeper *cc__park_first(const struct cc__bucket *b, const struct cc__park_key *key);

/* Held: another one sleeps on the key of s. */
static inline bool cc__park_more(const struct cc__sleeper *s)
{
	return s->waiter->next != s->waiter;
}

/* Held: end that wait (P4), with a result.  The wake is left to do, after the drop. */
struct cc__wake cc__park_consume(struct cc__sleeper *s, int result);

/* Held: the same, as his owner wants it (taken), with the wakes in a batch that has room
 * (cc__park_room).  The result that he was told. */
int cc__park_end(struct cc__sleeper *s, int result, struct cc__batch *b);

/* For whoever is taken off, and for whom that concerns. */
static inline bool cc__park_room(const struct cc__batch *b)
{
	return b->count + 2 <= CC__BATCH_MAX;
}

/* Held, and dropped: sleep.  The result of whoever took it off, or ETIMEDOUT, ECANCELED,
 * EAGAIN (CC_NOW), ENOMEM with nobody having done so.  May park. */
int cc__park_sleep(struct cc__bucket *b, struct cc__sleeper *s, cc_time deadline);

/* Wake up to `most` of those who sleep on `key`, and whose number is at most `last`, or, if
 * that is 0, who have come by now.  How many; their sleep returns 0.  Who is taken off with
 * another result is not counted. */
uint32_t cc__park_wake(const struct cc__park_table *t, const struct cc__park_key *key,
                       uint32_t most, uint64_t last);

/* End the wait of everybody whom `whom` names, with a result: all that are listed by now,
 * and perhaps some that come meanwhile. */
void cc__park_drain(const struct cc__park_table *t,
                    bool (*whom)(const struct cc__sleeper *s, const void *arg), const void *arg,
                    int result);

/* ---- the program itself: any address, for the life of the process ---- */

extern const struct cc__park_table cc__park_trusted;

static inline struct cc__park_key cc__park_trusted_key(const void *word)
{
	return (struct cc__park_key){.place = (uintptr_t)word};
}

#endif
