/* direct.c - the door for the program itself: park.h. */
#include <ccc/park.h>

#include <errno.h>

#include "os/fork.h"
#include "park/engine.h"

struct CCParkSpace {
	const struct cc__park_table *table;	/* constant */
	uint64_t id, generation;		/* constant */
};

static CCParkSpace trusted = {.table = &cc__park_trusted};

CCParkSpace *cc_park_space(void)
{
	return &trusted;
}

static int refuse(const CCParkSpace *space, const uint32_t *word)
{
	if (cc__forked())
		return ENOTSUP;
	return space == NULL || word == NULL || (uintptr_t)word % sizeof *word != 0 ? EINVAL : 0;
}

static struct cc__park_key key_of(const CCParkSpace *space, const uint32_t *word)
{
	return (struct cc__park_key){space->id, space->generation, (uintptr_t)word};
}

/* What a sleep that ended with `err` is to the caller; the same error, or 0. */
static int tell(int err, cc_time deadline, CCParkStatus *status)
{
	switch (err) {
	case 0:
		*status = CC_PARK_WOKEN;
		return 0;
	case EAGAIN:
		*status = CC_PARK_TIMED_OUT;
		return 0;
	case ETIMEDOUT:
		/* Or it was that of a nursery around the caller. */
		if (cc__now() >= deadline) {
			*status = CC_PARK_TIMED_OUT;
			return 0;
		}
		*status = CC_PARK_INTERRUPTED;
		return err;
	case ECANCELED:
		*status = CC_PARK_INTERRUPTED;
		return err;
	default:
		return err;
	}
}

int cc_park_wait(CCParkSpace *space, const uint32_t *word, uint32_t expected, cc_time deadline,
                 CCParkStatus *status)
{
	struct cc__sleeper s = {.first = false};
	CCParkStatus nobody_asks;
	struct cc__bucket *b;
	const int err = refuse(space, word);

	if (err != 0)
		return err;
	if (status == NULL)
		status = &nobody_asks;
	s.key = key_of(space, word);
	b = cc__park_hold(space->table, &s.key);
	/* Relaxed: who changed the word and comes to wake holds the bucket after us, or
	 * has held it before, and we see what he wrote. */
	if (cc__load((const cc__a32 *)(const void *)word, CC__RELAXED) != expected) {
		cc__park_drop(b);
		*status = CC_PARK_VALUE_MISMATCH;
		return 0;
	}
	return tell(cc__park_sleep(b, &s, deadline), deadline, status);
}

int cc_park_wake(CCParkSpace *space, const uint32_t *word, uint32_t max, uint32_t *woken)
{
	const int err = max == 0 ? EINVAL : refuse(space, word);
	struct cc__park_key key;
	uint32_t count;

	if (err != 0)
		return err;
	key = key_of(space, word);
	count = cc__park_wake(space->table, &key, max, 0);
	if (woken != NULL)
		*woken = count;
	return 0;
}
