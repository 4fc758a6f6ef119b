/* carry.h - stands in for src/os/carry.h in the explorer, where no fiber carries anything but
 * registers. */
#ifndef CC__OS_CARRY_H
#define CC__OS_CARRY_H

#include <stdbool.h>
#include <stddef.h>

struct cc__carry {
	void *handled;
};

struct cc__carried {
	unsigned count;
};

#define cc__carry_ask (*(struct cc__carry *)NULL)

static inline bool cc__carries(const struct cc__carry *c)
{
	(void)c;
	return false;
}

static inline void cc__carry_out(struct cc__carry **at, struct cc__carried *out)
{
	(void)at, (void)out;
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
