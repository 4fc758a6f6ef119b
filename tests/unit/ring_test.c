/* ring_test.c - the ring door of strict domains. */
#include <errno.h>

#include "domains.h"

static const enum kind kinds[] = {FIBER, THREAD};

TEST(ring_operations_that_need_not_sleep)
{
	struct world w;
	CCStrand *s;

	world_open(&w);
	s = joined(w.d);
	CHECK_EQ(result_of(s, nop_entry(7)), 0);
	CHECK_EQ(result_of(s, park_entry(w.space, s, &w.word[0], 1, CC_CAP_NEVER)),
	         CC_PARK_VALUE_MISMATCH);
	CHECK_EQ(result_of(s, park_entry(w.space, s, &w.word[0], 0, 0)), CC_PARK_TIMED_OUT);
	CHECK_EQ(result_of(s, unpark_entry(w.space, &w.word[0], 1)), 0);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
}

TEST(ring_a_wake_wakes)
{
	CCRuntime *rt = test_runtime_of(2);
	struct world w;
	CCStrand *s;

	world_open(&w);
	s = joined(w.d);
	for (int k = 0; k < 2; k++) {
		struct waiting x;
		uint64_t user_data = 0;

		start_waiting(&x, rt, kinds[k], w.d, park_entry(w.space, s, &w.word[1], 0, CC_CAP_NEVER));
		CHECK_EQ(ledger(w.d).promised, 1);
		push(w.d, unpark_entry(w.space, &w.word[1], 5));
		CHECK_EQ(cc_cap_enter(s, 2, CC_CAP_NEVER), 2);
		sleeper_join(&x.s);
		CHECK_EQ(pop(w.d, &user_data), CC_PARK_WOKEN);
		CHECK_EQ(user_data, 0x1111);
		CHECK_EQ(pop(w.d, &user_data), 1);
		CHECK_EQ(user_data, 0x2222);
	}
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
