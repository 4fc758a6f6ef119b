/* handle.h - the handles of children that a nursery keeps.
 *
 * HANDLE-1  A child's frame stays until its handle is used up: by a join, by a detach, or by the
 *           end of its nursery for the handles of cc_nursery_spawn_task.  The nursery keeps a
 *           list of those.  Handles of an ordered channel are the channel's or the receiver's,
 *           and outlive the nursery.
 * HANDLE-2  A handle is on the list before its child can run.  So the nursery is there while the
 *           spawner writes to the list, even if that spawner is outside of it.
 * HANDLE-3  Handles that are used up are taken off when the list is full, which is doubled if more
 *           than half of it is left.  An id never comes back, so a frame tells by one load whether
 *           it still belongs to a handle.
 * HANDLE-4  A spawner reserves the entry before it spawns, because nothing may fail between the
 *           spawn and the list; a spawn that fails gives the entry back.  So there is room for all
 *           that is listed or reserved. */
#ifndef CC__SCOPE_HANDLE_H
#define CC__SCOPE_HANDLE_H

#include "scope/nursery.h"

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
