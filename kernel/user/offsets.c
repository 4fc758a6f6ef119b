/* offsets.c - a million words of one object: whoever uses them, nothing is allocated. */
#include "check.h"
#include "ring.h"

enum { PAGES = 1024, WORDS = PAGES * 1024, BATCH = RING_SUBMISSIONS };
_Static_assert(WORDS >= 1000000, "so many");

#define OBJECT ((const cc__a32 *)HERE)

/* One operation for each of BATCH words from `first`; each must have this result. */
static unsigned do_batch(CCCapSubmission s, unsigned first, int32_t result)
{
	unsigned right = 0;
	CCCapCompletion c;

	for (unsigned i = 0; i < BATCH; i++) {
		s.user_data = i;
		s.address = (uintptr_t)(OBJECT + first + i);
		ring_push(&s);
	}
	ring_enter(0, 0);
	while (ring_pop(&c))
		right += c.result == result;
	return right;
}

static void do_all(CCCapSubmission s, int32_t result)
{
	unsigned right = 0;

	for (unsigned i = 0; i < WORDS; i += BATCH)
		right += do_batch(s, i, result);
	CHECK_EQ(right, WORDS);
}

TEST(a_million_offsets_allocate_nothing)	/* covers: PRK-81/sk RES-49/k */
{
	const uint32_t object = (uint32_t)sys_call(CALL_OBJECT, PAGES, 0, 0, 0);
	const uint32_t space = (uint32_t)sys_call(CALL_DERIVE, object, 0, 0, 0);
	CCCapSubmission wait = {
	    .opcode = CC_CAP_OP_PARK,
	    .flags = CC_CAP_THREAD_OWNED,
	    .cap = space,
	    .owner = (uint32_t)sys_call(CALL_SELF, 0, 0, 0, 0),
	};
	const CCCapSubmission wake = {.opcode = CC_CAP_OP_UNPARK, .cap = space, .length = 1};
	int64_t pages;

	CHECK_EQ(sys_call(CALL_MAP_OBJECT, object, (uintptr_t)OBJECT, MAP_READ, 0), 0);
	pages = sys_look(LOOK_PAGES);
	do_all(wait, CC_PARK_TIMED_OUT);
	do_all(wake, 0);
	CHECK_EQ(sys_look(LOOK_PAGES), pages);
	CHECK_EQ(sys_look(LOOK_OBJECTS), 1);
	CHECK_EQ(release(object), 0);
	CHECK_EQ(release(space), 0);
	CHECK_EQ(sys_call(CALL_UNMAP, (uintptr_t)OBJECT, 0, 0, 0), 0);
}
