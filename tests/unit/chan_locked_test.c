/* chan_locked_test.c - the same with CC_CHAN_NO_LOCKFREE=1.
 * mutate: src/chan */
#include "chan_behaviours.h"

/* Before the first channel, and before main. */
__attribute__((constructor)) static void no_lockfree(void)
{
	setenv("CC_CHAN_NO_LOCKFREE", "1", 1);
}

TEST(no_channel_has_a_ring)	/* covers: CHN-49/u, CHN-12/u */
{
	/* Without the variable it would have one: its capacity is no small one. */
	CCChan *c = cc_chan_new(sizeof(int), 64);

	REQUIRE(c != NULL);
	CHECK(c->kind == &cc__locked);
	CHECK_EQ(cc_chan_free(c), 0);
}
