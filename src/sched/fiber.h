/* fiber.h - the frame: all that a task needs until it runs, and all that others
 * may hold on to after it has ended.
 *
 * F1  Frames live in a process-wide slab and are never unmapped.  A frame runs
 *     one task after another; a handle names (frame, id), and ids never repeat.
 * F2  A queued task owns no stack.  A worker binds one when it claims the task,
 *     and unbinds it before DONE.
 * F3  DONE is set and the joiners are detached under the frame's lock; whoever
 *     did that, or finds DONE under that lock, owns the frame and recycles it.
 *     Nobody else touches it then. */
#ifndef CC__SCHED_FIBER_H
#define CC__SCHED_FIBER_H

#include <ccc/fiber.h>
#include <ccc/task.h>

#include "os/context.h"
#include "wait/wait.h"

struct cc__sched;
struct cc__stack;

enum {
	/* done.user, under the frame's lock. */
	CC__TASK_DETACHED = 1,	/* nobody will join */
	CC__TASK_NAMED = 2,	/* the end of payload is a name; constant while it lives */
};

enum { CC__PAYLOAD = 64, CC__NAME_MAX = 16 };

struct cc__name {
	char text[CC__NAME_MAX];
};

struct cc__fiber {
	struct cc__parker parker;	/* first: a parker that is no thread is a fiber */
	union {
		cc_task_main *main;		/* before it starts */
		struct cc__context context;	/* then, while it does not run */
		int result;			/* after its end */
	} run;				/* the owner's, as the word says */
	struct cc__fiber *next;		/* of the queue, cache or slab it is in */
	/* Bound while started (F2).  The owner writes it; cc_fiber_each looks. */
	CC__ATOMIC(struct cc__stack *) stack;
	struct cc__sched *home;		/* constant while it lives */
	struct cc__waitq done;		/* joiners; its lock guards id and flags too */
	cc__a64 id;			/* 0: no task; written under done.lock */
	union {
		void *arg;
		unsigned char bytes[CC__PAYLOAD];
	} payload;			/* the task's; a name takes its last 16 bytes */
};

static inline struct cc__fiber *cc__fiber_of(struct cc__parker *p)
{
	return (struct cc__fiber *)(void *)p;
}

/* A chain of free frames that its owner alone touches. */
struct cc__frame_cache {
	struct cc__fiber *first;
	unsigned count;
};

/* A frame for one task, ASSIGNED; cache NULL: straight from the slab. */
struct cc__fiber *cc__frame_get(struct cc__frame_cache *cache);
/* F3's owner gives it back: DONE to IDLE. */
void cc__frame_put(struct cc__frame_cache *cache, struct cc__fiber *f);
void cc__frame_cache_flush(struct cc__frame_cache *cache);

/* Fill an ASSIGNED frame; f->payload.arg and run.main are the caller's. */
void cc__frame_begin(struct cc__fiber *f, struct cc__sched *home, uint64_t id, const char *name,
                     bool detached);

/* Publish the end of a task and wake its joiners (F3).  True: f is the caller's
 * to recycle; false: it waits for a joiner. */
bool cc__frame_end(struct cc__fiber *f, int result);

/* Read while others may change it: consistent if the id is the same before and
 * after, which the caller checks. */
void cc__fiber_name_of(const struct cc__fiber *f, struct cc__name *name);

#endif
