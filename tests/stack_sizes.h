/* stack_sizes.h - runtimes with small stacks, and tasks that tell and use the size of theirs. */
#ifndef TEST_STACK_SIZES_H
#define TEST_STACK_SIZES_H

#include "nurseries.h"

#define K ((size_t)1024)
#define M (1024 * K)

static inline CCConfig small_stacks(unsigned workers)
{
	CCConfig c = config();

	c.stack_size = 64 * K;
	c.stack_idle = CC_FOREVER;	/* a worker's sleep has no end of its own */
	only_workers(&c, workers);
	return c;
}

/* ---- the size of the caller's stack ---- */

struct my_stack {
	uint64_t id;
	size_t size;
};

static inline int find_my_stack(const CCFiberInfo *info, void *arg)
{
	struct my_stack *s = arg;

	if (info->id != s->id)
		return 0;
	s->size = info->stack_size;
	return 1;
}

/* Guard included, which is a quarter. */
static inline size_t my_stack_size(void)
{
	struct my_stack s = {.id = cc_fiber_id()};

	cc_fiber_each(find_my_stack, &s);
	return s.size / 3 * 4;
}

struct asked {
	cc__a32 *ran;
	size_t size;
};

static inline int have_that_size(void *arg)
{
	const struct asked *a = arg;

	CHECK_EQ(my_stack_size(), a->size);
	return count(a->ran);
}

/* ---- using it ---- */

enum { FRAME = 4096 };

/* Uses `left` + 1 frames of FRAME bytes.  Returns how many of them were overwritten. */
static __attribute__((noinline, unused)) int descend(int left)
{
	volatile char frame[FRAME];	/* volatile: the compiler cannot tell which byte is used */
	const size_t i = (size_t)left % FRAME;
	int below = 0;

	frame[i] = (char)left;
	if (left > 0)
		below = descend(left - 1);
	return below + (frame[i] != (char)left);
}

#endif
