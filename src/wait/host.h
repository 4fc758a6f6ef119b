/* host.h - what the scheduler owes to the layers below it.
 *
 * The layers wait, task and io stand below the scheduler, and some of their steps need it: a
 * waiter must be queued, a fiber must leave its worker.  Those steps are the functions of this
 * file.  The scheduler defines them, or the kernel (kernel/thread.c), or a stand-in of the
 * explorer.  No other function is declared in a layer and defined in a higher one, besides the
 * channels' settings (chan/settings.h) and cc__sched_default (sched/sched.h), which the runtime
 * defines. */
#ifndef CC__WAIT_HOST_H
#define CC__WAIT_HOST_H

#include "os/atomic.h"

struct CCTask;
struct cc__bell;
struct cc__blocking;
struct cc__frame_cache;
struct cc__member;
struct cc__parker;
struct cc__poll;
struct cc__waiter;

/* ---- waiting ---- */

/* Makes a fiber runnable that has just become QUEUED.  The fiber may run, end, and end its
 * runtime before the call returns.  Any thread. */
void cc__schedule(struct cc__parker *fiber);

/* Leaves the calling fiber, which is PARKING: another context runs on, commits the fiber on
 * another stack, and the call returns when the fiber is OWNED again.  At `deadline` the
 * scheduler wakes (fiber, ticket) itself. */
void cc__switch_away(struct cc__parker *fiber, uint64_t ticket, cc_time deadline);

/* What a wait has to know of its caller, which is a fiber or a thread. */
struct cc__wait_context {
	/* The waiter of the caller's single waits (W1), the first field of a struct cc__own; its
	 * `who` is the caller.  It stays where it is as long as the caller runs.  NULL: there is no
	 * memory for the record of a thread. */
	struct cc__waiter *waiter;
	/* The flag that cancels the caller's waits, unless they name a flag of their own; NULL:
	 * nothing cancels them.  The canceller sets the flag and then unparks the caller. */
	const cc__a32 *cancel;
};

/* Returns the caller's context: the one question that a wait asks.  If `domain` is not NULL, the
 * caller's run domain is noted there (cc__domain_note): fibers of one domain run on any worker of
 * it, as soon as one is free; a thread, and a fiber that must stay, has a domain of its own, 0.  A
 * lock of rank WAITQ may be held. */
struct cc__wait_context cc__wait_context(uintptr_t *domain);

/* Returns where the caller `p` keeps the innermost scope that it is in. */
struct cc__member **cc__member_slot(struct cc__parker *p);

/* Ends the sleep of the thread that listens to `bell`.  Any time, any thread. */
void cc__poll_ring(struct cc__bell *bell);

/* ---- tasks ---- */

/* Returns the calling worker's cache of frames; NULL outside of workers. */
struct cc__frame_cache *cc__frame_cache_here(void);

/* The caller is about to wait for `task` without a deadline.  If the caller is a fiber outside
 * of any nursery, and the task is unstarted and at hand, runs the task here and now, on the
 * caller's own stack (PLACE-1 in sched/in_place.c), and stores its result.  False: the caller
 * has to wait. */
bool cc__sched_run_here(struct CCTask task, int *result);

/* ---- descriptors and blocking calls ---- */

/* Return what the runtime of the calling fiber uses; NULL: the caller is a thread. */
struct cc__poll *cc__poll_here(void);
struct cc__blocking *cc__blocking_of_caller(void);

#endif
