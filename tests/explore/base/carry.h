/* carry.h - stands in for src/base/carry.h in the explorer, where no fiber carries anything but
 * registers; unless EXPLORE_CARRY says that the scenario is about that header. */
#ifdef EXPLORE_CARRY
#include_next "base/carry.h"
#endif

#ifndef CC__BASE_CARRY_H
#define CC__BASE_CARRY_H

#include <stdbool.h>

struct cc__carry_check {
	char none;
};

struct cc__carried {
	char none;
};

static inline void cc__carry_check_init(struct cc__carry_check *k)
{
	(void)k;
}

static inline void cc__carry_check_fini(struct cc__carry_check *k)
{
	(void)k;
}

static inline bool cc__carries(const struct cc__carry_check *k)
{
	(void)k;
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
