/* measure.c - what a park costs, in cycles of the processor.
 *
 *   failed_wait       a wait whose word differs
 *   empty_wake        a wake of nobody
 *   wait_to_block     from the wait until another thread runs
 *   wake_to_runnable  a wake of one thread, until the waker goes on
 *   wake_to_resume    from there until the woken one is back in its program
 *
 * By counted instructions (run) a cycle is one of them, more or less, and the averages are
 * the same each time. */
#include "park.h"

enum { ROUNDS = 1000, ROUNDS_MORE = 100, STACK = 4096 };

static cc__a32 word;
static uint64_t waits, resumed;		/* moments of a round: the waiter's */
static uint64_t blocked;			/* ... and the waker's */
static uint64_t wait_to_block, wake_to_runnable, wake_to_resume;

static void wait_rounds(void)
{
	for (unsigned i = 0; i < ROUNDS + ROUNDS_MORE; i++) {
		waits = sys_cycles();
		park(&word, 0, FOREVER);
		resumed = sys_cycles();
	}
	sys_call(CALL_THREAD_EXIT, 0, 0, 0, 0);
}

/* The waiter sleeps, since `blocked`.  False: a tick has come between, the round is none. */
static bool sleeps(void)
{
	sys_yield();
	blocked = sys_cycles();
	if (sys_look(LOOK_PARKED) == 1)
		return true;
	while (sys_look(LOOK_PARKED) != 1)
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

		unpark(&word, 1);
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

static uint64_t failed_waits(void)
{
	const uint64_t begin = sys_cycles();

	for (unsigned i = 0; i < ROUNDS; i++)
		park(&word, 1, FOREVER);
	return sys_cycles() - begin;
}

static uint64_t empty_wakes(void)
{
	const uint64_t begin = sys_cycles();

	for (unsigned i = 0; i < ROUNDS; i++)
		unpark(&word, 1);
	return sys_cycles() - begin;
}

int user_main(uint64_t role, uint64_t argument)
{
	static _Alignas(16) char stack[STACK];
	const uint64_t failed_wait = failed_waits(), empty_wake = empty_wakes();

	(void)role, (void)argument;
	sys_call(CALL_THREAD, (uintptr_t)wait_rounds, (uintptr_t)(stack + STACK - 8), 0, 0);
	wake_rounds();
	print("park path avg cycles: failed_wait=%u empty_wake=%u wait_to_block=%u "
	      "wake_to_runnable=%u wake_to_resume=%u\n",
	      failed_wait / ROUNDS, empty_wake / ROUNDS, wait_to_block / ROUNDS,
	      wake_to_runnable / ROUNDS, wake_to_resume / ROUNDS);
	sys_call(CALL_STOP, 0, 0, 0, 0);
	return 1;
}
