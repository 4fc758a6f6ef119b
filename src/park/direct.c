/* direct.c - the direct door: park.h. */
#include <ccc/park.h>

#include <errno.h>

#include "os/fork.h"
#include "park/domain.h"
#include "park/memory.h"

static CCParkSpace trusted;

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

int cc__park_tell(int err, cc_time deadline, CCParkStatus *status)
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

/* ---- as a strand ---- */

/* What a strand is told, as a result of ours. */
static int tell_strand(const struct cc__strand *s, int result, CCParkStatus *status)
{
	if (result >= 0 || result == CC_CAP_E_GONE)
		*status = result >= 0 ? (CCParkStatus)result : CC_PARK_INTERRUPTED;
	if (result == CC_PARK_INTERRUPTED &&
	    (s->node.error == ECANCELED || s->node.error == ETIMEDOUT))
		return s->node.error;
	return cc__cap_error(result);
}

static int wait_as_strand(struct cc__strand *s, const uint32_t *word, uint32_t expected,
                          cc_time deadline, CCParkStatus *status)
{
	const struct cc__node_wait w = {
	    .address = (uintptr_t)word, .expected = expected, .deadline = deadline};

	if (!cc__strand_is_mine(s->host))
		return EPERM;
	return tell_strand(s, cc__strand_wait(s, &w), status);
}

static int wake_as_strand(const struct cc__strand *s, const uint32_t *word, uint32_t max,
                          uint32_t *woken)
{
	int result = CC_CAP_E_GONE;

	if (!cc__strand_is_mine(s->host))
		return EPERM;
	if (cc__node_lives(&s->node))
		result = cc__space_wake(s->node.space, NULL, 0, (uintptr_t)word, max);
	if (result >= 0)
		*woken = (uint32_t)result;
	return cc__cap_error(result);
}

/* ---- as the program ---- */

static int wait_trusted(const uint32_t *word, uint32_t expected, cc_time deadline,
                        CCParkStatus *status)
{
	struct cc__sleeper s = {.key = cc__park_trusted_key(word), .what = CC__FOR_WORD};
	struct cc__bucket *b = cc__park_hold(&cc__park_trusted, &s.key);

	/* Relaxed: who changed the word and comes to wake holds the bucket after us, or
	 * has held it before, and we see what he wrote. */
	if (cc__load((const cc__a32 *)(const void *)word, CC__RELAXED) != expected) {
		cc__park_drop(b);
		*status = CC_PARK_VALUE_MISMATCH;
		return 0;
	}
	return cc__park_tell(cc__park_sleep(b, &s, deadline), deadline, status);
}

static int wake_trusted(const uint32_t *word, uint32_t max, uint32_t *woken)
{
	const struct cc__park_key key = cc__park_trusted_key(word);

	*woken = cc__park_wake(&cc__park_trusted, &key, max, 0);
	return 0;
}

/* ---- the calls ---- */

int cc_park_wait(CCParkSpace *space, const uint32_t *word, uint32_t expected, cc_time deadline,
                 CCParkStatus *status)
{
	const int err = refuse(space, word);
	CCParkStatus nobody_asks;

	if (err != 0)
		return err;
	if (status == NULL)
		status = &nobody_asks;
	if (space->strand != NULL)
		return wait_as_strand(space->strand, word, expected, deadline, status);
	if (space->memory != NULL)
		return cc__memory_wait(space->memory, word, expected, deadline, status);
	return wait_trusted(word, expected, deadline, status);
}

int cc_park_wake(CCParkSpace *space, const uint32_t *word, uint32_t max, uint32_t *woken)
{
	const int err = max == 0 ? EINVAL : refuse(space, word);
	uint32_t nobody_asks;

	if (err != 0)
		return err;
	if (woken == NULL)
		woken = &nobody_asks;
	if (space->strand != NULL)
		return wake_as_strand(space->strand, word, max, woken);
	if (space->memory != NULL)
		return cc__memory_wake(space->memory, word, max, woken);
	return wake_trusted(word, max, woken);
}
