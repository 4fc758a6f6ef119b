/* wait_fiber.c - the real word and wait queue with fiber parkers, on the smallest
 * scheduler that there can be (shim_fiber.h).
 *
 * sources: base/lock.c wait/wait.c wait/thread.c */
#define SHIM_SCHEDULER
#include "shim_wait.h"
#include "shim_fiber.h"

/* ---- park_if ---- */

static cc__a32 flag;
static int steps;	/* the sleeper's own: who runs on its stack at the same time races */

static void park_until_one(void)
{
	while (cc__load(&flag, CC__RELAXED) == 0) {
		steps++;
		cc__park_if(&flag, 0);
		steps++;
	}
}

static void park_until_two(void)
{
	uint32_t seen;

	while ((seen = cc__load(&flag, CC__RELAXED)) < 2) {
		steps++;
		cc__park_if(&flag, seen);
		steps++;
	}
}

static void raise_and_unpark(void)
{
	cc__add(&flag, 1, CC__RELAXED);
	cc__unpark(&fiber[0].parker);
}

static void raise_and_unpark_twice(void)
{
	raise_and_unpark();
	raise_and_unpark();
}

static void sleeper_of_one(void)
{
	spawn(park_until_one);
}

static void sleeper_of_two(void)
{
	spawn(park_until_two);
}

/* One worker, its own stack commits; then two, and the fiber moves. */
/* covers: SCH-10/m, SCH-11/m, SCH-30/m, SCH-32/m, SCH-33/m, SCH-34/m, SCH-35/m, SCH-40/m
 * LIF-15/m, LIF-16/m, LIF-17/m, LIF-18/m, LIF-32/m, LIF-33/m, LIF-35/m, LIF-36/m, RES-01/m, RES-57/m */
FIBER_SCENARIO(fiber_park_if_one_waker_twice, .init = sleeper_of_two,
               .body = {worker, raise_and_unpark_twice})
FIBER_SCENARIO(fiber_park_if_two_wakers, .init = sleeper_of_two,
               .body = {worker, raise_and_unpark, raise_and_unpark})
FIBER_SCENARIO(fiber_park_if_two_workers, .init = sleeper_of_one,
               .body = {worker, worker, raise_and_unpark})
FIBER_SCENARIO(fiber_park_if_two_workers_twice, .init = sleeper_of_two,
               .body = {worker, worker, raise_and_unpark_twice})

/* A successor is at hand: its side commits, and a wake that came first makes it
 * enqueue. */
static void nothing(void) {}

static void sleeper_and_successor(void)
{
	spawn(park_until_one);
	spawn(nothing);
}
FIBER_SCENARIO(fiber_committed_by_successor, .init = sleeper_and_successor,
               .body = {worker, raise_and_unpark, raise_and_unpark})
/* covers: RES-57/m, SCH-34/m, LIF-33/m, RES-02/m */
FIBER_SCENARIO(fiber_committed_by_successor_two_workers, .init = sleeper_and_successor,
               .body = {worker, worker, raise_and_unpark})

/* The waker is a fiber, too, on the same worker or the other one. */
static void sleeper_and_waker(void)
{
	spawn(park_until_one);
	spawn(raise_and_unpark);
}

static void sleeper_of_two_and_two_wakers(void)
{
	spawn(park_until_two);
	spawn(raise_and_unpark);
	spawn(raise_and_unpark);
}
FIBER_SCENARIO(fiber_woken_by_fiber, .init = sleeper_and_waker, .body = {worker, worker})
FIBER_SCENARIO(fiber_woken_by_two_fibers, .init = sleeper_of_two_and_two_wakers,
               .body = {worker, worker}) /* covers: SCH-10/m, SCH-40/m */

/* A wake brings along what came before it. */
static const cc__a32 never;
static int brought;

static void be_woken_once(void)
{
	cc__park_if(&never, 0);
	MC_ASSERT(brought == 1);
}

static void sleeper_for_data(void)
{
	spawn(be_woken_once);
}

static void bring_and_wake(void)
{
	uint64_t w;

	while (cc__word_ticket(w = cc__load(&fiber[0].parker.word, CC__ACQUIRE)) == 0)
		mc_wait_while(&fiber[0].parker.word, w);
	brought = 1;
	cc__fiber_wake(&fiber[0].parker, CC__TICKET_ONE);
}
FIBER_SCENARIO(fiber_wake_brings_data, .init = sleeper_for_data,
               .body = {worker, worker, bring_and_wake}) /* covers: LIF-35/m, LIF-36/m, SCH-15/m */

/* Late: the first wait's ticket never ends the second. */
static cc__a32 second_is_due;

static void wait_twice(void)
{
	cc__park_if(&never, 0);
	cc__park_if(&never, 0);
	MC_ASSERT(cc__load(&second_is_due, CC__ACQUIRE) == 1);
}

static void sleeper_twice(void)
{
	spawn(wait_twice);
}

static uint64_t ticket_after(uint64_t ticket)
{
	uint64_t w;

	while (cc__word_ticket(w = cc__load(&fiber[0].parker.word, CC__ACQUIRE)) == ticket)
		mc_wait_while(&fiber[0].parker.word, w);
	return ticket + CC__TICKET_ONE;
}

static void wake_first(void)
{
	cc__fiber_wake(&fiber[0].parker, ticket_after(0));
}

static void wake_both(void)
{
	uint64_t t = ticket_after(0);

	cc__fiber_wake(&fiber[0].parker, t);
	t = ticket_after(t);
	cc__store(&second_is_due, 1, CC__RELEASE);
	cc__fiber_wake(&fiber[0].parker, t);
}
FIBER_SCENARIO(fiber_late_waker_of_an_earlier_wait, .init = sleeper_twice, .spurious = MC_NONE,
               .body = {worker, wake_both, wake_first})
/* covers: SCH-36/m, LIF-64/m, LIF-65/m, LIF-37/m, RES-61/m */

/* ---- yield ---- */

static int turns[2];

static void yield_twice(void)
{
	int *mine = &turns[cc__self() == &fiber[1].parker];

	for (int i = 0; i < 2; i++) {
		++*mine;
		yield();
	}
	MC_ASSERT(*mine == 2);
}

static void two_yielders(void)
{
	spawn(yield_twice);
	spawn(yield_twice);
}
FIBER_SCENARIO(fiber_yield_and_thief, .init = two_yielders, .body = {worker, worker})
/* covers: RES-57/m, LIF-15/m, LIF-16/m */
FIBER_SCENARIO(fiber_yield_and_two_thieves, .init = two_yielders, .body = {worker, worker, worker})

/* A yielding and a parking fiber settle each other. */
static void yield_and_wake(void)
{
	yield();
	raise_and_unpark();
}

static void sleeper_and_yielder(void)
{
	spawn(park_until_one);
	spawn(yield_and_wake);
}
FIBER_SCENARIO(fiber_yields_and_wakes, .init = sleeper_and_yielder, .body = {worker, worker})

/* ---- a queue ---- */

static struct cc__waitq queue;
static int tokens;	/* queue.lock */

static void take_token(void)
{
	cc__lock(&queue.lock, CC__RANK_WAITQ);
	while (tokens == 0) {
		struct cc__waiter *w = waiter_new();

		MC_ASSERT(cc__wait(&queue, w, CC_FOREVER) == 0);
		mc_free(w);
		cc__lock(&queue.lock, CC__RANK_WAITQ);
	}
	tokens--;
	cc__unlock(&queue.lock);
}

static void take_token_as_thread(void)
{
	be_thread();
	take_token();
}

static void put_token(void)
{
	cc__lock(&queue.lock, CC__RANK_WAITQ);
	tokens++;
	cc__unlock(&queue.lock);
	cc__wake_one(&queue, CC__REASON_SIGNAL, 0);
}

static void put_token_twice(void)
{
	put_token();
	put_token();
}

static void one_taker(void)
{
	spawn(take_token);
}

static void taker_and_putter(void)
{
	spawn(take_token);
	spawn(put_token);
}

static void two_takers(void)
{
	spawn(take_token);
	spawn(take_token);
}

static void unpark_taker(void)
{
	cc__unpark(&fiber[0].parker);
}
/* covers: SCH-37/m, SCH-39/m, LIF-21/m, LIF-22/m, LIF-33/m, RES-57/m, RES-08/m */
FIBER_SCENARIO(fiber_queue_thread_and_fiber, .init = one_taker,
               .body = {worker, take_token_as_thread, put_token_twice})
FIBER_SCENARIO(fiber_queue_two_workers, .init = taker_and_putter, .body = {worker, worker})
FIBER_SCENARIO(fiber_queue_two_takers, .init = two_takers, .body = {worker, put_token, put_token})
FIBER_SCENARIO(fiber_queue_undecided_wake, .init = one_taker,
               .body = {worker, put_token, unpark_taker})
/* covers: RES-61/m, SCH-31/m, SCH-40/m */
