/* lock.h - the short lock that guards lists and frames inside the library.
 *
 * L1  Held for a few dozen instructions, never across a park or a wake-up of
 *     somebody: wakes are collected under the lock and flushed after it.  (The
 *     one of rank RUNTIME is held while a runtime starts.)
 * L2  Locks nest in the order of their ranks, smaller first; several of one rank are
 *     taken together, in the order of their addresses (cc__lock_all).
 * L3  After cc__unlock has released the word it touches the lock no more: the
 *     next owner may free it.  (A futex wake names the address only.)
 *
 * Debug builds keep a stack of what each OS thread holds and abort on a wrong
 * order (LOCK-ORDER), on a park with a lock held (PARK-UNDER-LOCK) and on a
 * flush with a lock held (WAKE-FLUSH-UNDER-LOCK), printing that stack. */
#ifndef CC__BASE_LOCK_H
#define CC__BASE_LOCK_H

#include "os/assert.h"
#include "os/atomic.h"

enum cc__rank {
	CC__RANK_RUNTIME = 10,	/* start and stop */
	CC__RANK_SCHEDS = 15,	/* which schedulers there are (monitor/quiet.c) */
	CC__RANK_OBJECTS = 20,	/* which memory objects there are */
	CC__RANK_USES = 25,	/* which calls wait for a descriptor (io/use.h) */
	CC__RANK_POLLS = 30,	/* who waits for descriptors at all */
	CC__RANK_CLIENT = 31,	/* a user's side of a ring */
	CC__RANK_RING = 32,	/* the submissions of a domain */
	CC__RANK_CAPS = 34,	/* its capabilities, and who has joined it */
	CC__RANK_SPACE = 36,	/* an address space */
	CC__RANK_NODE = 38,	/* somebody's wait in one */
	CC__RANK_WAITQ = 40,	/* an object's wait queue: a frame's joiners too */
	CC__RANK_LOG = 41,	/* the elements of a broadcast channel */
	CC__RANK_DONE = 42,	/* the completions of a domain */
	CC__RANK_BRANCHES = 43,	/* the forked branches of a fiber (sched/branch.h) */
	CC__RANK_SCOPES = 44,	/* a tree of scopes: who waits is listed under his object's lock */
	CC__RANK_MEMBERS = 46,	/* who waits in a scope */
	CC__RANK_TIMER = 50,	/* a worker's timers */
	CC__RANK_POOL = 60,	/* pools of stacks, the global queue's list */
	CC__RANK_SLAB = 70,	/* growing a slab */
	CC__RANK_HELD = 80,	/* who holds which lock (monitor/hold.h): the innermost */
};

/* 0 free, 1 held, 2 held and somebody may sleep on it. */
struct cc__lock {
	cc__a32 word;
};

#define CC__LOCK_INIT {{0}}
enum { CC__LOCK_STACK_MAX = 8 };

/* What one OS thread holds: debug builds only, touched by that thread only. */
struct cc__lock_stack {
	unsigned depth;
	struct {
		const struct cc__lock *lock;
		enum cc__rank rank;
		const char *where;
	} held[CC__LOCK_STACK_MAX];
};

_Static_assert(sizeof(struct cc__lock_stack) <= CC__THREAD_SCRATCH, "room for the lock stack");

/* The lock stack of the calling thread. */
static inline struct cc__lock_stack *cc__lock_stack(void)
{
	return cc__thread_scratch();
}

void cc__lock_pushed(const struct cc__lock *l, enum cc__rank rank, const char *where);
void cc__lock_popped(const struct cc__lock *l);
/* Aborts with `diagnostic` and the lock stack if this thread holds a lock. */
void cc__lock_none_held(const char *diagnostic, const char *where);

void cc__lock_slow(struct cc__lock *l);
void cc__unlock_slow(struct cc__lock *l);

#define CC__STRING2(x) #x
#define CC__STRING(x) CC__STRING2(x)
#define CC__WHERE __FILE__ ":" CC__STRING(__LINE__)

#ifdef CC__DEBUG
#define CC__LOCK_PUSHED(l, rank) cc__lock_pushed(l, rank, CC__WHERE)
#define CC__LOCK_POPPED(l) cc__lock_popped(l)
#define CC__LOCK_NONE_HELD(diagnostic) cc__lock_none_held(diagnostic, CC__WHERE)
#define CC__LOCK_DEPTH() (cc__lock_stack()->depth)
#else
#define CC__LOCK_PUSHED(l, rank) ((void)(rank))
#define CC__LOCK_POPPED(l) ((void)0)
#define CC__LOCK_NONE_HELD(diagnostic) ((void)0)
#define CC__LOCK_DEPTH() 0u
#endif

/* Wait until whoever was inside when we saw its doing has left: the lock may be
 * freed then. */
#ifdef CC__EXPLORE
#define cc__lock_take(l) mc_lock(l)
#define cc__lock_drop(l) mc_unlock(l)
#define cc__lock_pass(l) (mc_lock(l), mc_unlock(l))
#define cc__lock_try(l) (mc_lock(l), true)	/* whoever fails to get it waits for it */
#else
static inline void cc__lock_take(struct cc__lock *l)
{
	uint32_t free = 0;

	/* Acquire: what the owner before us did, from its release in
	 * cc__lock_drop. */
	if (!cc__cas_weak(&l->word, &free, 1, CC__ACQUIRE, CC__RELAXED))
		cc__lock_slow(l);
}

static inline void cc__lock_drop(struct cc__lock *l)
{
	/* Release: to the next owner's acquire in cc__lock_take. */
	if (cc__xchg(&l->word, 0, CC__RELEASE) == 2)
		cc__unlock_slow(l);
}

static inline bool cc__lock_try(struct cc__lock *l)
{
	uint32_t free = 0;

	return cc__cas(&l->word, &free, 1, CC__ACQUIRE, CC__RELAXED);	/* Acquire: as above */
}
#endif

#ifndef cc__lock_pass
static inline void cc__lock_pass(struct cc__lock *l)
{
	/* Acquire: pairs with the release in cc__lock_drop.  We have seen what the
	 * owner did inside, so we cannot read a 0 from before it came. */
	if (cc__load(&l->word, CC__ACQUIRE) != 0) {
		cc__lock_take(l);
		cc__lock_drop(l);
	}
}
#endif

/* cc__lock(l, rank), cc__trylock and cc__unlock(l): macros, so that the lock stack names
 * the line that took it. */
#define cc__lock(l, rank) (cc__lock_take(l), CC__LOCK_PUSHED(l, rank))
/* False: somebody has it. */
#define cc__trylock(l, rank) (cc__lock_try(l) && (CC__LOCK_PUSHED(l, rank), true))
#define cc__unlock(l) (CC__LOCK_POPPED(l), cc__lock_drop(l))
/* `count` different ones of a rank, sorted by address; one entry of the lock stack. */
#define cc__lock_all(locks, count, rank) \
	(cc__lock_take_all(locks, count), CC__LOCK_PUSHED((locks)[0], rank))
#define cc__unlock_all(locks, count) (CC__LOCK_POPPED((locks)[0]), cc__lock_drop_all(locks, count))
void cc__lock_take_all(struct cc__lock *const *locks, unsigned count);
void cc__lock_drop_all(struct cc__lock *const *locks, unsigned count);

#endif
