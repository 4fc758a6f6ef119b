/* nursery.h - what is inside a nursery, and how it comes to its end.
 *
 * N1  What its owner spawned is counted by the owner alone, without a locked instruction,
 *     until the nursery is sealed; then it is added to what others have counted.  So only
 *     the sum means something, and zero means "over" only with SEALED.
 * N2  One child takes the count from one to zero under SEALED, or its owner finds zero when
 *     he seals.  That one closes the channels, sets `over`, and touches the nursery no more;
 *     the owner leaves when he sees `over`, and wakes for it by his parker alone.  Who joins
 *     and finds nobody does without: he closes the channels and leaves.
 * N3  A child's doings (its error, its cancelling) come before its being counted out.
 * N4  Shared words: `word` of the tally, nothing else, until somebody waits (cancel.h) or
 *     fails.  Children that run one after another on one stack are counted out by the last of
 *     them, which keeps the nursery meanwhile; those that the owner runs in place, not at all.
 * N5  An owner who has not sealed it and receives from a channel that it closes waits for
 *     its children alone.  He counts all that he has not counted, and marks the tallies, when
 *     he is PARKING; who takes one to zero then unparks him, and he sees that it is in vain:
 *
 *         owner                            last child
 *         1 PARKING                        1 counted out
 *         2 WATCHED; nobody left? EDEADLK  2 was it WATCHED? unpark the owner
 *
 *     Both sides seq_cst, and in step 2 of the child the fence of cc__unpark. */
#ifndef CC__SCOPE_NURSERY_H
#define CC__SCOPE_NURSERY_H

#include <ccc/nursery.h>

#include "chan/chan.h"
#include "sched/sched.h"
#include "wait/cancel.h"

/* How many are there, above whether it is sealed, and whether its owner has ever waited for a
 * channel that it closes (N5). */
enum { CC__TALLY_SEALED = 1, CC__TALLY_WATCHED = 2, CC__TALLY_ONE = 4 };

struct cc__tally {
	cc__a64 word;
	cc__a32 over;			/* 1: sealed, and nobody is left (N2) */
};

struct cc__closing;
struct cc__handles;

/* What a CCNursery is. */
struct cc__nursery {
	struct cc__scope scope;
	struct cc__sched *sched;	/* constant; where children run */
	uint8_t policy;			/* constant; CCNurseryPolicy */
	uint8_t migration;		/* constant; CCMigration */
	uint8_t order;			/* constant; of children's stacks (stack.h) */
	bool lazy;			/* constant */
	bool begun;			/* the owner's; the scope form has run its body */
	bool sealed;			/* the owner's */
	int64_t uncounted;		/* the owner's: children not yet in the tally (N1) */
	int *error_out;			/* the owner's; scope form */
	struct cc__member inside;	/* the owner's; its `who`, the owner, is constant, and NULL if
					 * the nursery is not open */
	uintptr_t place;		/* constant; where it was opened (base/place.h) */
	CCTask alarm;			/* the owner's; a daemon that comes at the deadline */
	CC__ATOMIC(struct cc__closing *) closing;	/* channels to close; pushed by anybody */
	CC__ATOMIC(CCArena *) arena;	/* NULL, then constant; anybody makes it */
	CC__ATOMIC(struct cc__handles *) handles;	/* likewise; of children (handle.c) */
	cc__a32 error;			/* the first real one of a child; 0: none yet */
	cc__a32 marks;			/* enum cc__nursery_mark */
	struct cc__tally children, daemons;
	struct cc__guard guard;		/* of channels that it closes (N5) */
};

enum cc__nursery_mark {
	CC__CUT = 1,		/* a child ended because it was cancelled */
	CC__SUCCEEDED = 2,	/* a child returned 0, with FIRST_SUCCESS */
	CC__HAD_DAEMONS = 4,	/* one has been counted, or a deadline */
};

/* NULL: it is not open. */
static inline struct cc__nursery *cc__nursery_open(CCNursery *nursery)
{
	struct cc__nursery *n = (struct cc__nursery *)(void *)nursery;

	return n != NULL && n->inside.who != NULL ? n : NULL;
}

_Static_assert(sizeof(struct cc__nursery) <= sizeof(CCNursery), "CCNursery is too small");
_Static_assert(offsetof(struct cc__nursery, scope) == 0, "a member knows the nursery by its scope");

/* Whether small captures lie in frames. */
enum {
	CC__CAPTURES_IN_FRAMES = offsetof(struct cc__fiber, payload) % CC_CAPTURES_ALIGN == 0 &&
	                         sizeof(struct cc__fiber) % CC_CAPTURES_ALIGN == 0
};

/* A child or daemon could not be spawned, because of `err`.  Children, owner and join are told
 * as if a child had ended with that error.  Returns err. */
int cc__nursery_unstarted(CCNursery *nursery, int err);

/* closing.c: those that it has been told of, once.  0 is no deadline; the alarm is a daemon,
 * and is stopped when nobody but daemons is left. */
void cc__nursery_close_channels(struct cc__nursery *n);
int cc__nursery_set_alarm(struct cc__nursery *n, cc_time deadline);
/* By the owner.  False: the deadline has passed, and its alarm runs or has run. */
bool cc__nursery_stop_alarm(struct cc__nursery *n);
/* By the owner: exchanges the alarm for one at `deadline`.  ECANCELED: too late. */
int cc__nursery_move_alarm(struct cc__nursery *n, cc_time deadline);

/* capture.c: the function that the program spawned as that child; NULL: not known.  The child has not
 * ended. */
const void *cc__child_function(const struct cc__child *child);

/* capture.c: the functions that a child with captures begins with, by the place of its captures; for
 * the description of the process. */
struct cc__capture_calls {
	cc_task_main *in_frame, *in_piece, *in_memory;
};
extern const struct cc__capture_calls cc__capture_calls;

/* capture.c: nobody is inside any more. */
void cc__nursery_free_arena(struct cc__nursery *n);

/* As cc_nursery_spawn and _spawn_daemon, by a call at `place` (base/place.h). */
int cc__nursery_spawn(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main, void *arg,
                      uintptr_t place);
int cc__nursery_spawn_daemon(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                             void *arg, uintptr_t place);
/* As cc_nursery_spawn and _spawn_copy, but the child can be joined: its handle goes to *out and,
 * unless that is NULL, to `keep`, where room for it has been reserved. */
int cc__nursery_spawn_joinable(CCNursery *nursery, CCTask *out, struct cc__handles *keep,
                               const CCTaskOptions *options, cc_task_main *main, void *arg,
                               uintptr_t place);
int cc__nursery_spawn_joinable_copy(CCNursery *nursery, CCTask *out, struct cc__handles *keep,
                                    const CCTaskOptions *options, cc_task_main *main,
                                    const void *captures, size_t size, uintptr_t place);

/* By somebody else than the owner, or for a daemon.  EINVAL: it is sealed, and the caller
 * outside; or nobody is left, and it is too late. */
int cc__nursery_count_in(struct cc__nursery *n, struct cc__tally *t);
/* A child, or a daemon, has come to its end: N2, N3. */
void cc__nursery_end(struct cc__nursery *n, struct cc__tally *t, int result);

/* ---- handle.c: the handles of children that a nursery keeps ---- */

struct cc__handles {
	struct cc__lock lock;
	CCTask *task;			/* lock */
	size_t count, reserved, room;	/* lock; count + reserved <= room */
};

/* Into the room that was reserved for it; id 0: it is not needed. */
void cc__handles_keep(struct cc__handles *h, CCTask task);
/* Uses up the handles that are left and frees the list.  Called when no fiber and no thread is
 * inside of n any more. */
void cc__nursery_drop_handles(struct cc__nursery *n);

#endif
