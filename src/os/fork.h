/* fork.h - whether this process is a copy that has no workers.
 *
 * A child of fork has the memory of its parent and one thread.  What a runtime left
 * there is of no use: queues that nobody serves, locks that nobody will drop.  So
 * every call asks first, and a mark answers: the kernel wipes it in a child.  Without
 * a runtime at the time of the fork the child is a process like any other.
 *
 * The mark also counts the scopes that are cancelled (wait/cancel.h), so that a yield, which
 * must know of both, reads one word. */
#ifndef CC__OS_FORK_H
#define CC__OS_FORK_H

#include "os/atomic.h"

/* Points to a word that is 0 in a child, else 1 and the number of cancelled scopes.  Written
 * before the first runtime starts. */
struct cc__fork_mark {
	CC__ATOMIC(cc__a32 *) at;
};
extern struct cc__fork_mark cc__fork_mark __attribute__((visibility("hidden")));

/* The mark is wiped: true unless there was no runtime. */
bool cc__fork_left_some(void);

/* False: we are certainly not such a copy. */
static inline bool cc__fork_wiped(void)
{
	/* Acquire: the mark in its new page, from the release in make_mark.  Relaxed, below: a
	 * child sees what its only thread saw. */
	cc__a32 *mark = cc__load(&cc__fork_mark.at, CC__ACQUIRE);

	return __builtin_expect(cc__load(mark, CC__RELAXED) == 0, 0);
}

/* True: this is certainly no such copy, and no scope is cancelled. */
static inline bool cc__fork_ordinary(void)
{
	/* Acquire: as above.  Relaxed: whether the caller's scope is cancelled, its flag says. */
	return __builtin_expect(cc__load(cc__load(&cc__fork_mark.at, CC__ACQUIRE), CC__RELAXED) == 1, 1);
}

/* So many more scopes are cancelled; fewer, if negative. */
static inline void cc__fork_count_cancelled(int more)
{
	/* Relaxed, both: a runtime has started, and the scope's flag orders what matters. */
	cc__add(cc__load(&cc__fork_mark.at, CC__RELAXED), (uint32_t)more, CC__RELAXED);
}

static inline bool cc__forked(void)
{
	return cc__fork_wiped() && cc__fork_left_some();
}

/* A runtime is about to start; one has ended. */
void cc__fork_watch(void);
void cc__fork_unwatch(void);

/* End the process at once, whatever it has to do at its exit. */
_Noreturn void cc__fork_exit(int status);

#endif
