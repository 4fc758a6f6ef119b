/* lock.c - the contended half of lock.h, and what debug builds know of locks. */
#include "base/lock.h"

#ifndef CC__EXPLORE

/* Turns of the doubling back-off before a waiter sleeps: 2^0 + ... + 2^6
 * pauses, a few microseconds.  Critical sections are far shorter (L1), so
 * whoever is still there has lost its CPU. */
enum { SPIN_ROUNDS = 7 };

void cc__lock_slow(struct cc__lock *l)
{
	cc__contended();
	for (unsigned round = 0; round < SPIN_ROUNDS; round++) {
		uint32_t seen;

		for (unsigned i = 0; i < 1u << round; i++)
			cc__relax();
		/* Relaxed: only a hint whether the exchange below is worth it. */
		seen = cc__load(&l->word, CC__RELAXED);
		/* Acquire: pairs with the release in cc__lock_drop. */
		if (seen == 0 && cc__cas_weak(&l->word, &seen, 1, CC__ACQUIRE, CC__RELAXED))
			return;
	}
	/* Acquire: as above.  2 stays while we own it: others may sleep too. */
	while (cc__xchg(&l->word, 2, CC__ACQUIRE) != 0)
		cc__futex_wait(&l->word, 2, CC_FOREVER);
}

void cc__unlock_slow(struct cc__lock *l)
{
	cc__futex_wake(&l->word, 1);
}

#endif

void cc__lock_take_all(struct cc__lock *const *locks, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		CC__ASSERT(i == 0 || (uintptr_t)locks[i - 1] < (uintptr_t)locks[i],
		           "L2: locks of one rank out of order");
		cc__lock_take(locks[i]);
	}
}

void cc__lock_drop_all(struct cc__lock *const *locks, unsigned count)
{
	for (unsigned i = count; i > 0; i--)
		cc__lock_drop(locks[i - 1]);
}

void cc__lock_pushed(const struct cc__lock *l, enum cc__rank rank, const char *where)
{
	struct cc__lock_stack *s = cc__lock_stack();

	if (s->depth > 0 && s->held[s->depth - 1].rank >= rank)
		cc__lock_none_held("LOCK-ORDER", where);
	CC__CHECK(s->depth < CC__LOCK_STACK_MAX, "L2: locks nest too deeply");
	s->held[s->depth].lock = l;
	s->held[s->depth].rank = rank;
	s->held[s->depth].where = where;
	s->depth++;
}

void cc__lock_popped(const struct cc__lock *l)
{
	struct cc__lock_stack *s = cc__lock_stack();
	unsigned i = s->depth;

	while (i > 0 && s->held[i - 1].lock != l)
		i--;
	CC__CHECK(i > 0, "L1: unlock of a lock this thread does not hold");
	for (; i < s->depth; i++)
		s->held[i - 1] = s->held[i];
	s->depth--;
}

void cc__lock_none_held(const char *diagnostic, const char *where)
{
	struct cc__lock_stack *s = cc__lock_stack();

	if (s->depth == 0)
		return;
	cc__say("libccc: ", diagnostic, " at ", where, "\n");
	for (unsigned i = s->depth; i > 0; i--)
		cc__say("libccc:   holds the lock taken at ", s->held[i - 1].where, "\n");
	cc__panic(__FILE__, __LINE__, diagnostic);
}
