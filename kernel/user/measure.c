/* measure.c - what a park costs, in cycles of the processor.
 *
 *   failed_wait       a wait whose word differs
 *   empty_wake        a wake of nobody
 *   wait_to_block     from the wait until another thread runs
 *   wake_to_runnable  a wake of one thread, until the waker goes on
 *   wake_to_resume    from the wake until the woken one is back in its program
 *
 * All through the ring, as a program does it (ring.h).  By counted instructions (run) a cycle
 * is one of them, and the averages are the same each time. */
#include "ring.h"

enum { ROUNDS = 1000, ROUNDS_MORE = 100, STACK = 4096 };

static cc__a32 word;
static CCCapSubmission wake = {.opcode = CC_CAP_OP_UNPARK, .length = 1};
static uint64_t waits, resumed;		/* moments of a round: the waiter's */
static uint64_t blocked;		/* ... and the waker's */
static uint64_t wait_to_block, wake_to_runnable, wake_to_resume;

/* A wait of the caller's, which does not find `expected`, or sleeps. */
static CCCapSubmission wait_for(uint32_t expected)
{
	return (CCCapSubmission){
	    .opcode = CC_CAP_OP_PARK,
	    .flags = CC_CAP_THREAD_OWNED,
	    .cap = cap_of(CC_CAP_PARK_SPACE),
	    .owner = (uint32_t)sys_call(CALL_SELF, 0, 0, 0, 0),
	    .address = (uintptr_t)&word,
	    .length = expected,
	    .dependency = CC_CAP_NEVER,
	};
}

static void wait_rounds(void)
{
	const CCCapSubmission wait = wait_for(0);

	for (unsigned i = 0; i < ROUNDS + ROUNDS_MORE; i++) {
		waits = sys_cycles();
		ring_do(wait);
		resumed = sys_cycles();
	}
	sys_call(CALL_THREAD_EXIT, 0, 0, 0, 0);
}

/* The waiter sleeps, since `blocked`.  False: a tick has come between, the round is none. */
static bool sleeps(void)
{
	sys_yield();
	blocked = sys_cycles();
	if (sys_look(LOOK_WAITS) == 1)
		return true;
	while (sys_look(LOOK_WAITS) != 1)
		sys_yield();
	return false;
}

static void wake_rounds(void)
{
	bool whole = sleeps();

	for (unsigned rounds = 0; rounds < ROUNDS;) {
		const uint64_t wakes = sys_cycles(), waited = blocked - waits;
		const bool slept = whole;
		uint64_t runnable;

		ring_do(wake);
		runnable = sys_cycles();
		whole = sleeps();
		if (!slept || !whole)
			continue;
		rounds++;
		wait_to_block += waited;
		wake_to_runnable += runnable - wakes;
		wake_to_resume += resumed - wakes;
	}
}

static uint64_t cycles_of(CCCapSubmission s)
{
	const uint64_t begin = sys_cycles();

	for (unsigned i = 0; i < ROUNDS; i++)
		ring_do(s);
	return (sys_cycles() - begin) / ROUNDS;
}

int user_main(uint64_t role, uint64_t argument)	/* covers: PRK-87/k */
{
	static _Alignas(16) char stack[STACK];
	uint64_t failed_wait, empty_wake;

	(void)role, (void)argument;
	wake.cap = cap_of(CC_CAP_PARK_SPACE);
	wake.address = (uintptr_t)&word;
	failed_wait = cycles_of(wait_for(1));
	empty_wake = cycles_of(wake);
	sys_call(CALL_THREAD, (uintptr_t)wait_rounds, (uintptr_t)(stack + STACK - 8), 0, 0);
	wake_rounds();
	print("[thread-lifecycle] park path avg cycles: "
	      "failed_wait=%u empty_wake=%u wait_to_block=%u "
	      "wake_to_runnable=%u wake_to_resume=%u\n",
	      failed_wait, empty_wake, wait_to_block / ROUNDS, wake_to_runnable / ROUNDS,
	      wake_to_resume / ROUNDS);
	sys_call(CALL_STOP, 0, 0, 0, 0);
	return 1;
}
