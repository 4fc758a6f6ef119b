/* jitter.h - delays threads at one race point of base/point.h, now and then, so that a stress test
 * meets windows that are a few instructions wide.  For one source file of a test program: it sets
 * the hook.  Nothing may depend on the delay; builds without race points have none. */
#ifndef JITTER_H
#define JITTER_H

#include "test.h"

#include <string.h>
#include <unistd.h>

#include "base/point.h"
#include "os/atomic.h"

static struct {
	CC__ATOMIC(const char *) label;	/* NULL: no delays */
	cc__a32 one_in;			/* written before the label */
	cc__a64 turn;
} jitter;

/* From now on one in `one_in` threads that come to `label` is delayed; NULL: none. */
static inline void jitter_at(const char *label, uint32_t one_in)
{
	cc__store(&jitter.one_in, one_in, CC__RELAXED);
	cc__store(&jitter.label, label, CC__RELEASE);
}

#ifdef CC__POINTS
static void jitter_hook(const char *label, const void *object)
{
	const char *wanted = cc__load(&jitter.label, CC__ACQUIRE);
	uint64_t r;

	(void)object;
	if (wanted == NULL || strcmp(label, wanted) != 0)
		return;
	r = cc__add(&jitter.turn, 1, CC__RELAXED);
	if (test_random(&r) % cc__load(&jitter.one_in, CC__RELAXED) == 0)
		usleep((useconds_t)(r % 50));
}

__attribute__((constructor)) static void jitter_init(void)
{
	cc__point_hook = jitter_hook;
}
#endif

#endif
