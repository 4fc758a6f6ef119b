/* frames.h - frames that run nothing, to be sent through queues: each says what
 * it carries, and has a sum to show that all of it has arrived. */
#ifndef TEST_FRAMES_H
#define TEST_FRAMES_H

#include <stdlib.h>
#include <string.h>

#include "task/frame.h"
#include "test.h"

enum { FRAME_WORDS = CC__PAYLOAD / 8 };

static inline struct cc__fiber *frames_new(size_t n)
{
	return calloc(n, sizeof(struct cc__fiber));
}

/* What a frame carries, written as a spawner does: plainly. */
static inline void frame_load(struct cc__fiber *f, uint64_t value)
{
	uint64_t word[FRAME_WORDS];

	for (uint64_t i = 0; i < FRAME_WORDS; i++)
		word[i] = (value + i) * 0x9e3779b97f4a7c15u;
	memcpy(f->payload.bytes, word, sizeof word);
}

static inline bool frame_holds(const struct cc__fiber *f, uint64_t value)
{
	uint64_t word[FRAME_WORDS];

	memcpy(word, f->payload.bytes, sizeof word);
	for (uint64_t i = 0; i < FRAME_WORDS; i++)
		if (word[i] != (value + i) * 0x9e3779b97f4a7c15u)
			return false;
	return true;
}

/* Started, as far as queues can see. */
static inline void frame_start(struct cc__fiber *f)
{
	cc__init(&f->stack, (struct cc__stack *)(void *)f);
}

static inline void frame_migrates(struct cc__fiber *f, CCMigration m)
{
	f->home = m;
}

#endif
