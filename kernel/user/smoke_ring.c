/* smoke_ring.c - whose submissions are taken when: enter, and the poll of a tick. */
#include "check.h"
#include "ring.h"

static cc__a32 word;

static void push(CCCapSubmission s, uint64_t user_data)
{
	s.user_data = user_data;
	CHECK(ring_push(&s));
}

static CCCapSubmission park_submission(uint32_t owner)
{
	return (CCCapSubmission){
	    .opcode = CC_CAP_OP_PARK,
	    .flags = CC_CAP_THREAD_OWNED,
	    .cap = cap_of(CC_CAP_PARK_SPACE),
	    .owner = owner,
	    .address = (uintptr_t)&word,
	};
}

static CCCapSubmission unpark_submission(void)
{
	return (CCCapSubmission){
	    .opcode = CC_CAP_OP_UNPARK,
	    .cap = cap_of(CC_CAP_PARK_SPACE),
	    .address = (uintptr_t)&word,
	    .length = 1,
	};
}

static uint32_t self(void)
{
	return (uint32_t)sys_call(CALL_SELF, 0, 0, 0, 0);
}

static void spin_for_polls(int64_t count)
{
	for (int64_t end = sys_look(LOOK_POLLS) + count; sys_look(LOOK_POLLS) < end;)
		continue;
}

static void expect(uint64_t user_data, int32_t result)
{
	CCCapCompletion c = {.result = -1000};

	CHECK(ring_pop(&c));
	CHECK_EQ(c.user_data, user_data);
	CHECK_EQ(c.result, result);
}

/* ---- who takes what ---- */

/* What comes before is taken by a poll: it did look. */
TEST(a_poll_leaves_a_wait_for_enter)	/* covers: PRK-43/k */
{
	const uint32_t head = ring()->sq_head;

	push((CCCapSubmission){.opcode = CC_CAP_OP_NOP}, 1);
	push(park_submission(self()), 2);
	spin_for_polls(3);
	expect(1, 0);
	CHECK_EQ(ring()->sq_head, head + 1);
	CHECK_EQ(ring_enter(0, 0), 1);
	expect(2, CC_PARK_TIMED_OUT);
}

TEST(a_poll_leaves_a_wake_for_enter)	/* covers: PRK-44/k */
{
	const uint32_t head = ring()->sq_head;

	push((CCCapSubmission){.opcode = CC_CAP_OP_NOP}, 1);
	push(unpark_submission(), 2);
	spin_for_polls(3);
	expect(1, 0);
	CHECK_EQ(ring()->sq_head, head + 1);
	CHECK_EQ(ring_enter(0, 0), 1);
	expect(2, 0);
}

static cc__a32 sibling;		/* its id, once it runs */
static cc__a32 go;

static void enter_when_told(uint64_t argument)
{
	(void)argument;
	cc__store(&sibling, self(), CC__RELEASE);
	UNTIL(cc__load(&go, CC__ACQUIRE) != 0);
	ring_enter(0, 0);
}

TEST(a_wait_of_a_sibling_stays_for_him)	/* covers: PRK-28/k */
{
	const uint32_t head = ring()->sq_head;

	cc__store(&sibling, 0, CC__RELAXED);
	cc__store(&go, 0, CC__RELAXED);
	thread_start(enter_when_told, 0);
	UNTIL(cc__load(&sibling, CC__ACQUIRE) != 0);
	push(park_submission(cc__load(&sibling, CC__RELAXED)), 3);
	CHECK_EQ(ring_enter(0, 0), 0);
	CHECK_EQ(ring()->sq_head, head);
	cc__store(&go, 1, CC__RELEASE);
	threads_join();
	CHECK_EQ(ring()->sq_head, head + 1);
	expect(3, CC_PARK_TIMED_OUT);
}

/* ---- timers ---- */

static CCCapSubmission timer_submission(cc_time nanoseconds)
{
	return (CCCapSubmission){
	    .opcode = CC_CAP_OP_TIMER,
	    .cap = cap_of(CC_CAP_TIMER),
	    .dependency = (uint64_t)nanoseconds,
	};
}

TEST(a_timer_ends_the_wait_for_completions)
{
	const int64_t begin = sys_look(LOOK_TICKS);

	push(timer_submission(3 * CC_MSEC), 4);
	CHECK_EQ(ring_enter(1, CC_CAP_NEVER), 1);
	CHECK(sys_look(LOOK_TICKS) - begin >= 3);
	expect(4, 0);
}

TEST(a_timer_completes_at_a_tick_though_nobody_enters)
{
	CCCapCompletion c;

	push(timer_submission(3 * CC_MSEC), 5);
	while (!ring_pop(&c))
		continue;
	CHECK_EQ(c.user_data, 5);
	CHECK_EQ(c.result, 0);
}

/* ---- nonsense ---- */

TEST(indices_that_make_no_sense_are_refused)
{
	const uint32_t tail = ring()->sq_tail, head = ring()->cq_head;

	ring()->sq_tail = tail + RING_SUBMISSIONS + 1;
	CHECK_EQ(ring_enter(0, 0), CC_CAP_E_RING);
	ring()->sq_tail = tail;
	ring()->cq_head = head + 1;
	CHECK_EQ(ring_enter(0, 0), CC_CAP_E_RING);
	ring()->cq_head = head;
	CHECK_EQ(ring_enter(0, 0), 0);
}
