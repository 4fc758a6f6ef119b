/* hostile.c - processes that call anything with anything and scribble over their ring.
 *
 * Whatever becomes of them, the kernel stands, and has everything back when they are gone: pages,
 * objects, processes (check.c looks at each end of a test).  One thread misbehaves, the other
 * ends the process after some ticks, for it may well sleep for ever. */
#include "check.h"
#include "ring.h"

enum { PROCESSES = 60, TICKS = 20 };

static uint64_t state;

static uint64_t random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t below(uint64_t limit)
{
	return random() % limit;
}

static uint64_t some_address(void)
{
	const uint64_t base[] = {HERE, THERE, ELSEWHERE, RING_ADDRESS, STACK_END - 4096, 0x400000,
	                         0, 0xffffffff80100000, UINT64_C(1) << 47, UINT64_C(1) << 63};

	return base[below(sizeof base / sizeof *base)] + (below(4) == 0 ? below(8192) : 0);
}

/* Numbers of the kind that calls take, and others. */
static uint64_t something(void)
{
	switch (below(4)) {
	case 0:
		return below(8);
	case 1:
		return some_address();
	case 2:
		return cap_of((CCCapKind)below(8));
	default:
		return random();
	}
}

static uint64_t some_time(void)
{
	const uint64_t times[] = {0, 1, 2 * CC_MSEC, CC_CAP_NEVER, CC_CAP_NEVER - 1};

	return times[below(sizeof times / sizeof *times)];
}

static CCCapSubmission some_submission(void)
{
	const uint16_t opcodes[] = {CC_CAP_OP_NOP, CC_CAP_OP_RELEASE, CC_CAP_OP_TIMER,
	                            CC_CAP_OP_PARK, CC_CAP_OP_PARK, CC_CAP_OP_UNPARK};
	CCCapSubmission s = {
	    .opcode = opcodes[below(sizeof opcodes / sizeof *opcodes)],
	    .user_data = random(),
	};

	s.cap = below(8) == 0 ? (uint32_t)random() : cap_of((CCCapKind)below(8));
	if (s.opcode == CC_CAP_OP_PARK || s.opcode == CC_CAP_OP_UNPARK) {
		s.address = some_address();
		s.length = (uint32_t)below(3);
	}
	if (s.opcode == CC_CAP_OP_PARK) {
		s.flags = CC_CAP_THREAD_OWNED;
		s.owner = (uint32_t)sys_call(CALL_SELF, 0, 0, 0, 0) + (below(8) == 0);
	}
	if (s.opcode == CC_CAP_OP_PARK || s.opcode == CC_CAP_OP_TIMER)
		s.dependency = some_time();
	if (below(16) == 0)
		((uint64_t *)(void *)&s)[below(8)] ^= UINT64_C(1) << below(64);
	return s;
}

static void scribble(void)
{
	CCCapRing *r = ring();
	CCCapCompletion c;

	for (uint64_t i = below(20); i > 0; i--)
		cc_cap_submissions(r)[(r->sq_tail + i) % RING_SUBMISSIONS] = some_submission();
	r->sq_tail += (uint32_t)below(20);
	if (below(4) == 0)
		r->sq_tail = r->sq_head;
	while (below(8) != 0 && ring_pop(&c))
		continue;
	if (below(32) == 0)
		((uint32_t *)r)[below(64)] = (uint32_t)random();
}

static void call_anything(void)
{
	const enum call calls[] = {CALL_MAP, CALL_MAP, CALL_UNMAP, CALL_OBJECT, CALL_OBJECT,
	                           CALL_MAP_OBJECT, CALL_MAP_OBJECT, CALL_DERIVE, CALL_WAIT,
	                           CALL_LOOK, CALL_YIELD, CALL_STOP, CALLS};

	sys_call(calls[below(sizeof calls / sizeof *calls)], something(), something(), something(), 0);
	/* What is started begins at no address, so that it does not go on and on. */
	if (below(64) == 0)
		sys_call(CALL_SPAWN, below(8) | 1, something(), something(), 0);
	if (below(64) == 0)
		sys_call(CALL_THREAD, below(8), something(), something(), 0);
}

static void misbehave(uint64_t seed)
{
	state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (;;) {
		call_anything();
		scribble();
		ring_enter((uint32_t)below(3), some_time());
	}
}

static int hostile(uint64_t seed)
{
	const int64_t end = sys_look(LOOK_TICKS) + TICKS;

	thread_start(misbehave, seed);
	UNTIL(sys_look(LOOK_TICKS) >= end);
	return 0;
}

TEST(whatever_a_process_does_the_kernel_stands)	/* covers: PRK-96/k */
{
	for (uint64_t seed = 1; seed <= PROCESSES; seed++) {
		const int64_t first = process_start(hostile, seed, 0);
		const int64_t second = process_start(hostile, seed + PROCESSES, 0);

		CHECK(process_wait(first) >= 0);
		CHECK(process_wait(second) >= 0);
		UNTIL(sys_look(LOOK_PROCESSES) == 1);	/* those that they have left behind */
	}
	CHECK_EQ(sys_look(LOOK_OBJECTS), 0);
	CHECK_EQ(sys_look(LOOK_ALL_WAITS), 0);
}
