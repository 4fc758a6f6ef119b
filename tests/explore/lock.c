/* lock.c - the real lock of base/lock.h, which other programs replace by the
 * engine's: spin a little, then sleep on the word.
 *
 * Included here with the door open and CC__EXPLORE off, so that the atomics are
 * the engine's and the algorithm the library's.  A pause of its spin loop is
 * nothing: a spinner need not wait for others, it may go on to sleep. */
#include "engine.h"

#undef CC__EXPLORE
#define cc__relax() ((void)0)
#include "base/lock.c"
#undef cc__relax
#define CC__EXPLORE

void cc__say_all(const char *first, ...)
{
	(void)first;
}

static struct cc__lock lock;
static int data;	/* lock */
static bool inside;	/* lock */

static void round_of_lock(void)
{
	cc__lock(&lock, CC__RANK_WAITQ);
	MC_ASSERT(!inside);
	inside = true;
	data++;
	inside = false;
	cc__unlock(&lock);
}

static void one_round(void)
{
	round_of_lock();
}

static void two_rounds(void)
{
	round_of_lock();
	round_of_lock();
}

static void one_at_a_time(void)
{
	MC_ASSERT(cc__peek(&lock.word) == 0);
	mc_outcome("%d", data);
}
SCENARIO(lock_two_threads, .body = {two_rounds, two_rounds}, .final = one_at_a_time,
         .outcomes = "4")
SCENARIO(lock_three_threads, .body = {two_rounds, two_rounds, one_round}, .final = one_at_a_time,
         .outcomes = "5")

/* Whoever comes last makes the memory something else: an unlock has touched it
 * for the last time when it lets go (L3). */
static int users = 3;	/* lock */

static void leave_object(void)
{
	bool last;

	cc__lock(&lock, CC__RANK_WAITQ);
	last = --users == 0;
	cc__unlock(&lock);
	if (last)
		cc__init(&lock.word, 0xa5a5a5a5);
}
SCENARIO(lock_freed_by_the_last, .body = {leave_object, leave_object, leave_object})
/* covers: RES-56/m */

/* Two have been seen inside; pass the lock once, and nobody is. */
static cc__a32 seen_inside[2];

static void be_seen_inside(void)
{
	cc__lock(&lock, CC__RANK_WAITQ);
	data++;
	cc__store(&seen_inside[mc_self()], 1, CC__RELEASE);
	cc__unlock(&lock);
}

static void pass_then_free(void)
{
	mc_wait_while(&seen_inside[0], 0);
	mc_wait_while(&seen_inside[1], 0);
	cc__lock_pass(&lock);
	MC_ASSERT(data == 2);
	cc__init(&lock.word, 0xa5a5a5a5);
}
SCENARIO(lock_passed_then_freed, .body = {be_seen_inside, be_seen_inside, pass_then_free})
/* covers: RES-56/m */
