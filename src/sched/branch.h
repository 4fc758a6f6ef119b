/* branch.h - forked branches that are not tasks yet: who may take one, and how it is joined.
 *
 * Where they live.  A fork is a record in the frame of its caller; the array of the fiber
 * (CCPar, from a slab) has the records' addresses, oldest first.  The array belongs to the fiber and
 * not to the worker, because a fiber may park inside a branch and resume on another worker while
 * branches below are unstarted.  It exists from the fiber's outermost cc_par2 to its return.
 *
 *      slot[0] .. head        taken: each is a task that has a stack when it runs
 *      head .. tail           unstarted; the fiber pushes and retracts at the tail
 *      slot[0] .. entered     the fiber is a member of their scopes (BRANCH-4)
 *      slot[0] .. opened      their scopes are open: the larger one of head and entered
 *
 * The owner pushes and retracts with plain stores.  A thief pays for the order with a heavy fence:
 *
 *      owner                          thief, under the lock
 *      tail = place                   head, limit = oldest + 1
 *      light fence                    heavy fence
 *      limit <= place? its own        tail > oldest? its own, else put back
 *
 * At least one of them sees the other.  An owner that meets a limit takes the lock, under which
 * every theft is decided.  Where there is no heavy fence the limit is always above every place, so
 * that each retraction takes the lock.
 *
 * A split array as in lace (a private part, and a public one that grows when a thief asks) would do
 * without that fence.  But the owner answers at its next fork or join only: while it computes in a
 * long leaf, the branches below it would stay private and the other CPUs idle.
 *
 * BRANCH-1  A record is taken by one: its owner retracts it, or head passes it, under the lock.
 * BRANCH-2  head, opened and entered change under the lock.  Taken are the oldest, so that a thief
 *           has the largest part of a recursion.
 * BRANCH-3  A fiber that parks leaves no unstarted branch: each becomes a task before the switch
 *           (cc__branches_leave), because the fiber may wait for what that branch does.  A fiber
 *           that yields leaves none either, after CC__FAIR_RUN picks of its worker at the latest.
 * BRANCH-4  The scope of a fork is opened when its branch is taken, or when the owner asks for its
 *           own innermost scope (to wait, to open a nursery, to look for a cancellation), whatever
 *           is first.  So all records at or above `opened` have the same scope around them, which
 *           is that of opened's last record, or `member` if the owner has entered that.
 * BRANCH-5  The task of a branch touches the record for the last time when it sets `over`.  The
 *           owner waits for that as a nursery's owner does, and nothing ends the wait early. */
#ifndef CC__SCHED_BRANCH_H
#define CC__SCHED_BRANCH_H

#include "base/lock.h"
#include "wait/cancel.h"

#ifdef CC__EXPLORE
#define CC_PAR_LOAD(a) cc__load(a, CC__RELAXED)
#ifndef CC__EXPLORE_BRANCH_TAIL
#define CC__EXPLORE_BRANCH_TAIL CC__RELEASE
#endif
#define CC_PAR_STORE(a, value) cc__store(a, value, CC__EXPLORE_BRANCH_TAIL)
#define CC_PAR_FENCE() ((void)0)
#else
#include "os/trace.h"
/* As in the public header, and ThreadSanitizer is told of the release, which it sees in a program
 * that is compiled with it, but not here. */
#define CC_PAR_LOAD(a) cc__load(a, CC__RELAXED)
#define CC_PAR_STORE(a, value) \
	(cc__watched() ? cc__happens_before(a) : (void)0, cc__store(a, value, CC__RELEASE))
#define CC_PAR_FENCE() cc__fence_light()
#endif
#include <ccc/branch.h>

struct cc__sched;

#ifndef CC__BRANCHES
#define CC__BRANCHES 1008 /* unstarted ones of a fiber; deeper forks go on in another fiber */
#endif

/* What a CCBranch is. */
struct cc__branch {
	cc_par_main *main;	/* constant */
	void *captures;		/* constant */
	/* Below: since its scope is open. */
	cc__a32 over;			/* 1: its task has ended (BRANCH-5) */
	cc__a32 error;			/* the first real one of both branches; 0: none yet */
	int result;			/* its task's, before `over` */
	struct cc__parker *owner;	/* constant */
	struct cc__scope scope;		/* of both branches */
	struct cc__member inside;	/* the owner's, while it is entered */
};

_Static_assert(sizeof(struct cc__branch) <= sizeof(CCBranch), "CCBranch is too small");

/* The array of a fiber. */
struct cc__branches {
	CCPar par;	/* first */
	struct cc__lock lock;
	uint32_t opened, entered;	/* lock */
	cc__a32 begun;			/* fibers that have had it; written by the owner, a hint */
	cc__a32 head;			/* written under the lock; a hint to others */
	/* Constant while the fiber forks; published by the store of the tail. */
	const struct cc__sched *sched;
	struct cc__scope *root;	/* the scheduler's */
	struct cc__parker *owner;
	unsigned order;			/* of its stack, for those of the tasks */
	struct cc__member *member;	/* the owner's innermost membership; others: BRANCH-4 */
	struct cc__branches *next;	/* the slab's */
	CCBranch *slot[CC__BRANCHES];
};

static inline struct cc__branches *cc__branches_of(CCPar *par)
{
	return (struct cc__branches *)(void *)par;
}

static inline struct cc__branch *cc__branch_of(CCBranch *b)
{
	return (struct cc__branch *)(void *)b;
}

/* About how many are unstarted. */
static inline uint32_t cc__branches_unstarted(const struct cc__branches *p)
{
	/* Relaxed, both: a hint. */
	const uint32_t head = cc__load(&p->head, CC__RELAXED);
	const ptrdiff_t tail = cc__load(&p->par.tail, CC__RELAXED) - p->slot;

	return tail > (ptrdiff_t)head ? (uint32_t)(tail - head) : 0;
}

/* The array of a fiber that forks stands, marked, where the fiber's membership would be
 * (task/local.h); the membership is in the array. */
enum { CC__BRANCHES_MARK = 2 };
static inline struct cc__branches *cc__branches_marked(struct cc__member *m)
{
	return (struct cc__branches *)(void *)((char *)m - CC__BRANCHES_MARK);
}

/* Before the first fiber uses it; all of it is zero. */
void cc__branches_init(struct cc__branches *p);

/* The oldest unstarted branch, with its scope open; NULL: there is none.  Anybody who knows that
 * the array's fibers are of scheduler s; `own`: the fiber itself, which needs no fence. */
struct cc__branch *cc__branches_take(struct cc__branches *p, const struct cc__sched *s, bool own);

/* The owner enters the scopes of all its forks.  Where it keeps its innermost membership. */
struct cc__member **cc__branches_enter(struct cc__branches *p);

/* What the owner finds when it has retracted b and cc_branch_retract has said 0. */
struct cc__branch_state {
	bool taken;	/* b is a task: wait for `over` */
	bool opened;	/* b has a scope ... */
	bool entered;	/* ... which the owner is in */
};
struct cc__branch_state cc__branches_retract(struct cc__branches *p);
/* b has ended, if it was taken, and is not above the limit any more. */
void cc__branches_forget(struct cc__branches *p);

/* One of the branches of b has returned `result`: the first real error cancels the other one. */
void cc__branch_note(struct cc__branch *b, int result);

#endif
