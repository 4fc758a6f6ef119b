/* later.h - tasks that begin at a time.
 *
 * Until then such a task is ASSIGNED and in no queue, with a timer in its frame.
 *
 * B1  Three may end that, and one does: its time (it is queued), a recall (it never
 *     runs), the end of its runtime (it is queued at once).  Who takes the mark
 *     CC__HANDLE_LATER off the task's handle is the one: by an exchange, or, if it is
 *     WAITED, under the frame's lock.  A timer that fires too late finds another id, or
 *     no mark.
 * B2  While the mark is there the task is alive, and so are its runtime and the wheel
 *     that its timer is in.  Until who took it has told that the task is over, too.
 * B3  The handle appears in the same hold of the wheel's lock as the timer, and after it:
 *     who finds the mark can take the timer out, and who fires it finds the mark. */
#ifndef CC__SCHED_LATER_H
#define CC__SCHED_LATER_H

#include "task/frame.h"

struct cc__worker;

/* f, filled and ASSIGNED, begins at `start`.  `here` is the calling thread's worker of
 * the same scheduler, or NULL.  True: its handle is set.  False: that time has passed, and f is
 * still the caller's. */
bool cc__later_set(struct cc__sched *s, struct cc__worker *here, struct cc__fiber *f,
                   uint64_t handle, cc_time start);
/* Its time has come; `object` is what the timer had. */
void cc__later_fire(void *object, uint64_t id);
bool cc__later_is(const void *object);

/* Under f's lock, WAITED: has it to wait for its time? */
static inline bool cc__later_waits(const struct cc__fiber *f)
{
	/* Relaxed: WAITED, so all others pass the lock. */
	return cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_LATER;
}
/* The same, and no longer.  True: f is the caller's, and still ASSIGNED. */
bool cc__later_take(struct cc__fiber *f);
/* What was taken, into a queue. */
void cc__later_begin(struct cc__fiber *f);

#endif
