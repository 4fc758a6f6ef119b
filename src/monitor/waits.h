/* waits.h - what a parked fiber or thread waits for.
 *
 * WAITS-1  The fields of a wait are constant while its sleeper is PARKED under one ticket.  A
 *          reader reads the word, the fields, and the word again: if the word is the same, so
 *          were the fields.  Fields of a wait that ended meanwhile are read as garbage, never
 *          followed, and thrown away.
 * WAITS-2  What is read lies in a thread's record or a stack's descriptor, which stay mapped, or on
 *          the stack of a fiber whose frame the caller has locked. */
#ifndef CC__MONITOR_WAITS_H
#define CC__MONITOR_WAITS_H

#include <ccc/fiber.h>

#include "task/frame.h"
#include "wait/thread.h"

struct cc__waits {
	enum cc__for what;
	uint64_t which;		/* its address; a descriptor; the id of a task; 0: not known */
	cc_time since;		/* 0: not known */
	cc_time deadline;	/* CC_FOREVER: none */
};

/* False: it is not parked, or was woken meanwhile.  `exact`: f's lock is held and f has a task,
 * so that objects can be found by way of its stack. */
bool cc__waits_of_fiber(struct cc__fiber *f, bool exact, struct cc__waits *out);
bool cc__waits_of_thread(const struct cc__thread *t, struct cc__waits *out);

CCWaitKind cc__waits_kind(const struct cc__waits *w);

/* The name of the object of a wait, and where it was created. */
struct cc__waited_object {
	char name[16];			/* "": none */
	uintptr_t place;		/* base/place.h */
	const struct cc__parker *owner;	/* of a nursery; for comparison only */
};

/* Of a channel (CC_WAIT_RECV, CC_WAIT_SEND) or a nursery.  False: it is neither, or is gone. */
bool cc__object_of(CCWaitKind kind, const void *object, struct cc__waited_object *out);

/* What cc_fiber_each says of the nursery and the wait of f (cc__inspect_more). */
void cc__waits_tell(struct cc__fiber *f, CCFiberInfo *info);

#endif
