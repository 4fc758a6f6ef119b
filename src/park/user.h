/* user.h - the other side of the rings: what a user does to his own memory.  One at a time
 * writes submissions, and one at a time reads completions. */
#ifndef CC__PARK_USER_H
#define CC__PARK_USER_H

#include <ccc/cap.h>

#include <errno.h>

#include "os/atomic.h"

static inline cc__a32 *cc__user_index(uint32_t *index)
{
	return (cc__a32 *)(void *)index;
}

/* 0, or EAGAIN: no room. */
static inline int cc__user_push(CCCapRing *r, uint32_t entries, const CCCapSubmission *entry)
{
	/* Relaxed: our own. */
	const uint32_t tail = cc__load(cc__user_index(&r->sq_tail), CC__RELAXED);

	/* Acquire: pairs with the release after the entry was copied (ring.c). */
	if (tail - cc__load(cc__user_index(&r->sq_head), CC__ACQUIRE) >= entries)
		return EAGAIN;
	cc_cap_submissions(r)[tail & (entries - 1)] = *entry;
	/* Release: the entry, to the acquire of whoever takes it. */
	cc__store(cc__user_index(&r->sq_tail), tail + 1, CC__RELEASE);
	return 0;
}

/* The completion at `index`, if it is there: 0, or EAGAIN. */
static inline int cc__user_read(CCCapRing *r, uint32_t sq_entries, uint32_t cq_entries,
                                uint32_t index, CCCapCompletion *out)
{
	/* Acquire: pairs with the release after the completion was written (ring.c). */
	if (index == cc__load(cc__user_index(&r->cq_tail), CC__ACQUIRE))
		return EAGAIN;
	*out = cc_cap_completions(r, sq_entries)[index & (cq_entries - 1)];
	return 0;
}

/* All before `index` have been read. */
static inline void cc__user_have_read(CCCapRing *r, uint32_t index)
{
	/* Release: we have read them, to the acquire before one is written over (ring.c). */
	cc__store(cc__user_index(&r->cq_head), index, CC__RELEASE);
}

static inline int cc__user_pop(CCCapRing *r, uint32_t sq_entries, uint32_t cq_entries,
                               CCCapCompletion *out)
{
	/* Relaxed: our own. */
	const uint32_t head = cc__load(cc__user_index(&r->cq_head), CC__RELAXED);
	const int err = cc__user_read(r, sq_entries, cq_entries, head, out);

	if (err == 0)
		cc__user_have_read(r, head + 1);
	return err;
}

#endif
