/* nurseries.h - what the tests of nurseries share: the same body with a fiber as its owner and
 * with a thread, and children that wait. */
#ifndef TEST_NURSERIES_H
#define TEST_NURSERIES_H

#include "sleepers.h"
#include "tasks.h"

/* ---- the same body for both owners ---- */

static inline void for_fiber_and_thread(int (*body)(void *rt))
{
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		CCRuntime *rt = test_runtime();
		struct sleeper s;

		sleeper_start(&s, rt, kind, body, rt);
		sleeper_join(&s);
		CHECK_EQ(s.result, 0);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

static inline CCNurseryOptions in(CCRuntime *rt)
{
	return (CCNurseryOptions){.runtime = rt};
}

/* A channel that nobody serves, and what became of those who waited for it. */
struct quiet {
	CCChan *chan;
	cc__a32 waiting, ended, cancelled;
};

static inline struct quiet quiet_new(void)
{
	return (struct quiet){.chan = cc_chan_new(sizeof(int), 0)};
}

static inline int receive(void *arg)
{
	struct quiet *q = arg;
	int v, err;

	cc__add(&q->waiting, 1, CC__RELEASE);
	err = cc_chan_recv(q->chan, &v, sizeof v);
	if (err == ECANCELED)
		cc__add(&q->cancelled, 1, CC__RELAXED);
	cc__add(&q->ended, 1, CC__RELEASE);
	return err;
}

static inline int fail_when_three_wait(void *arg)
{
	struct quiet *q = arg;

	while (cc__load(&q->waiting, CC__ACQUIRE) < 3)
		cc_yield();
	return EIO;
}

static inline int count(void *arg)
{
	cc__add((cc__a32 *)arg, 1, CC__RELAXED);
	return 0;
}

static inline int yield_and_count(void *arg)
{
	for (int i = 0; i < 10; i++)
		cc_yield();
	return count(arg);
}

static inline int fail(void *arg)
{
	return (int)(intptr_t)arg;
}

#endif
