/* carry.h - stands in for src/base/carry.h in the explorer, where no fiber carries anything but
 * registers; unless EXPLORE_CARRY says that the scenario is about that header. */
#ifdef EXPLORE_CARRY
#include_next "base/carry.h"
#endif

#ifndef CC__BASE_CARRY_H
#define CC__BASE_CARRY_H

#include <stdbool.h>
#include <stdint.h>

#include "os/atomic.h"

struct cc__carry {
	void *handled;
	uint64_t thrown;
};

struct cc__carry_check {
	CC__ATOMIC(const struct cc__carry *) words;
};

struct cc__carried {
	char none;
};

static inline void cc__carry_check_init(struct cc__carry_check *k)
{
	static const struct cc__carry none;

	cc__init(&k->words, &none);
}

static inline void cc__carry_check_fini(struct cc__carry_check *k)
{
	(void)k;
}

static inline bool cc__carry_set(const struct cc__carry *c)
{
	(void)c;
	return false;
}

static inline void cc__carry_out(struct cc__carry_check *k, struct cc__carried *out)
{
	(void)k, (void)out;
}

static inline void cc__carry_in(const struct cc__carried *in)
{
	(void)in;
}

static inline bool cc__carry_any(void)
{
	return false;
}

#endif
