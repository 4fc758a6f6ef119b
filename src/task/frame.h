/* frame.h - the frame: all that a task needs until it runs, and all that others
 * may hold on to after it has ended.
 *
 * F1  Frames live in a process-wide slab and are never unmapped.  A frame runs
 *     one task after another; a handle names (frame, id), and ids never repeat.
 * F2  A queued task owns no stack; it says of which order it wants one (stack.h).  A
 *     worker binds that when it claims the task, and unbinds it before DONE.
 * F3  One exchange of the handle word ends a task: nobody waits, and the result
 *     stays for a joiner; one exchange takes it, and the frame with it.  Once
 *     somebody waits, watches or detaches it is WAITED, and everything about
 *     the handle passes the frame's lock: the end detaches all joiners in one
 *     hold and owns the frame.  Nobody else touches it then.
 *
 *   handle word     to          who      how
 *   0               id          spawner  store; perhaps with DETACHED, which comes
 *                                        otherwise under the lock, and stays
 *   0               id LATER    spawner  store, under the wheel's lock (later.h)
 *   id LATER        id          anybody  exchange, or with WAITED under the lock: it begins
 *   id LATER        0           recaller the same: it never does
 *   id LATER        id LATER WAITED  anybody  exchange, under the lock
 *   id              id DONE     worker   exchange (the end)
 *   id              0           worker   exchange: detached from the start, or run by
 *                                        its joiner
 *   id DONE         0           joiner   exchange
 *   id              id WAITED   anybody  exchange, under the lock
 *   id DONE         id DONE WAITED  anybody  the same
 *   id WAITED       0           worker   under the lock: joiners or nobody wants it
 *   id WAITED       id DONE WAITED  worker  under the lock: nobody is left
 *   id DONE WAITED  0           joiner   under the lock */
#ifndef CC__TASK_FRAME_H
#define CC__TASK_FRAME_H

#include <ccc/fiber.h>
#include <ccc/task.h>

#include "base/place.h"
#include "os/context.h"
#include "stack/stack.h"
#include "time/timer.h"
#include "wait/wait.h"

struct cc__sched;

/* The low bits of home: CCMigration; the end of payload is a name; the stack that the task wants
 * is larger than ordinary. */
enum { CC__HOME_MIGRATION = 3, CC__HOME_NAMED = 4, CC__HOME_LARGE = 8, CC__HOME_BITS = 15 };

#define CC__HANDLE_DONE ((uint64_t)1 << 63)
#define CC__HANDLE_WAITED ((uint64_t)1 << 62)
#define CC__HANDLE_DETACHED ((uint64_t)1 << 61)	/* nobody will join */
#define CC__HANDLE_LATER ((uint64_t)1 << 60)	/* its time has not come (later.h) */
#define CC__HANDLE_ID (CC__HANDLE_LATER - 1)

enum { CC__PAYLOAD = 64, CC__NAME_MAX = 16 };

struct cc__name {
	char text[CC__NAME_MAX];
};

/* What a child of a nursery runs (scope/nursery.c). */
struct cc__child {
	cc_task_main *main;
	void *arg;
	void *nursery;
	uintptr_t place;	/* base/place.h; of a task that is no child, too */
};

struct cc__fiber {
	struct cc__parker parker;	/* first: a parker that is no thread is a fiber */
	union {
		cc_task_main *main;		/* before it starts */
		struct cc__context context;	/* then, while it does not run */
		int result;			/* after its end */
	} run;				/* the owner's, as the word says */
	union {
		struct cc__fiber *next;		/* of the queue, cache or slab it is in */
		struct cc__timers *wheel;	/* LATER: where its timer is */
	};
	/* Bound while started (F2), else the order that it wants, as a number; NULL between
	 * two lives.  The owner writes it; cc_fiber_each looks. */
	CC__ATOMIC(struct cc__stack *) stack;
	uintptr_t home;			/* constant while it lives: its scheduler, and
					 * CC__HOME_* in the low bits */
	cc__a64 handle;			/* the task's id and CC__HANDLE_*; 0: no task (F3) */
	/* So far a task that nobody waits for is one cache line. */
	union {
		void *arg;
		struct {
			void *arg;
			struct cc__timer timer;
		} later;		/* while it is LATER */
		struct {
			void *arg;
			struct cc__child what;
		} child;		/* of a nursery */
		unsigned char bytes[CC__PAYLOAD];
	} payload;			/* the task's; a name takes its last 16 bytes */
	struct cc__waitq done;		/* joiners */
};

static inline struct cc__fiber *cc__fiber_of(struct cc__parker *p)
{
	return (struct cc__fiber *)(void *)p;
}

/* The frame that a child is in. */
static inline struct cc__fiber *cc__fiber_of_child(struct cc__child *child)
{
	return (struct cc__fiber *)(void *)((char *)child -
	                                    offsetof(struct cc__fiber, payload.child.what));
}

static inline struct cc__sched *cc__fiber_home(const struct cc__fiber *f)
{
	return (struct cc__sched *)(f->home & ~(uintptr_t)CC__HOME_BITS);
}

static inline CCMigration cc__fiber_migration(const struct cc__fiber *f)
{
	return (CCMigration)(f->home & CC__HOME_MIGRATION);
}

/* That of a child, as it was spawned; NULL: it is none.  f has a task that cannot end meanwhile. */
static inline const void *cc__fiber_nursery(const struct cc__fiber *f)
{
	return f->payload.arg == &f->payload.child.what ? f->payload.child.what.nursery : NULL;
}

_Static_assert(offsetof(struct cc__fiber, payload.later.timer.object) ==
                   offsetof(struct cc__fiber, payload.child.what.place),
               "cc__fiber_place tells a timer's object from a place");

/* Where it was spawned (base/place.h); 0 for a task that has or had a start time, because its timer
 * lies there (later.h).  f has a task that cannot end meanwhile. */
static inline uintptr_t cc__fiber_place(const struct cc__fiber *f)
{
	const uintptr_t place = f->payload.child.what.place;

	return place == ((uintptr_t)f | 1) ? 0 : place;
}

/* Once started it stays with its worker. */
static inline bool cc__fiber_stays(const struct cc__fiber *f)
{
	return cc__fiber_migration(f) != CC_MIGRATE_FREE;
}

/* What `stack` holds is one, not an order. */
static inline bool cc__is_stack(const struct cc__stack *s)
{
	return (uintptr_t)s >= CC__STACK_ORDERS;
}

/* Bound to a stack, F2.  f is the caller's. */
static inline bool cc__fiber_started(const struct cc__fiber *f)
{
	return cc__is_stack(cc__load(&f->stack, CC__RELAXED));	/* Relaxed: f is ours */
}

/* f is unstarted and wants a stack of that order.  f is the caller's. */
static inline bool cc__fiber_wants(const struct cc__fiber *f, uintptr_t order)
{
	return (uintptr_t)cc__load(&f->stack, CC__RELAXED) == order;	/* Relaxed: f is ours */
}

/* The order that f wants, which is the caller's and unstarted. */
static inline unsigned cc__fiber_order(const struct cc__fiber *f)
{
	return (unsigned)(uintptr_t)cc__load(&f->stack, CC__RELAXED);	/* Relaxed: f is ours */
}

/* f gets a stack of that order at least, which is more than 0.  f is the caller's and unstarted. */
static inline void cc__fiber_want(struct cc__fiber *f, unsigned order)
{
	if (order <= cc__fiber_order(f))
		return;
	f->home |= CC__HOME_LARGE;
	/* Relaxed: f is ours. */
	cc__store(&f->stack, (struct cc__stack *)(uintptr_t)order, CC__RELAXED);
}

/* It may run on the stack of another fiber, and go wherever that one does. */
static inline bool cc__fiber_runs_anywhere(const struct cc__fiber *f)
{
	return (f->home & (CC__HOME_MIGRATION | CC__HOME_LARGE)) == 0;
}

/* Free frames, the next one last.  No chain: they may be in another core's cache, and an
 * array says which will be needed before the one in front of it has come. */
enum { CC__FRAMES = 128, CC__FRAMES_AHEAD = 4 };
struct cc__frame_stock {
	unsigned count;
	struct cc__fiber *frame[CC__FRAMES];
};

/* Those that its owner alone touches: the stock in use, and one that is empty or whole. */
struct cc__frame_cache {
	struct cc__frame_stock stock, spare;
};

/* The last of a stock that has some. */
static inline struct cc__fiber *cc__frame_take(struct cc__frame_stock *s)
{
	const unsigned n = --s->count;

	if (n >= CC__FRAMES_AHEAD)
		__builtin_prefetch(s->frame[n - CC__FRAMES_AHEAD], 1);	/* it will be written */
	return s->frame[n];
}

/* The same when the cache has none, or is NULL: from the depot or the slab. */
struct cc__fiber *cc__frame_more(struct cc__frame_cache *cache);

/* A frame for one task, ASSIGNED; cache NULL: straight from the slab.  NULL: no memory. */
static inline struct cc__fiber *cc__frame_get(struct cc__frame_cache *cache)
{
	const bool any = cache != NULL && cache->stock.count > 0;
	struct cc__fiber *f = __builtin_expect(any, 1) ? cc__frame_take(&cache->stock)
	                                               : cc__frame_more(cache);

	if (f != NULL)
		cc__word_assign(&f->parker);
	return f;
}

/* The same where the cache is full, or NULL; f is IDLE. */
void cc__frame_put_slowly(struct cc__frame_cache *cache, struct cc__fiber *f);

/* F3's owner gives it back: DONE to IDLE. */
static inline void cc__frame_put(struct cc__frame_cache *cache, struct cc__fiber *f)
{
	cc__word_recycle(&f->parker);
	if (__builtin_expect(cache != NULL && cache->stock.count < CC__FRAMES, 1))
		cache->stock.frame[cache->stock.count++] = f;
	else
		cc__frame_put_slowly(cache, f);
}
void cc__frame_cache_flush(struct cc__frame_cache *cache);
/* How many the process has. */
size_t cc__frames_made(void);

/* Publish the end of a task and wake its joiners (F3), but for the last: that wake is the
 * caller's last act for it.  True: f is the caller's to recycle; false: it waits for a
 * joiner.  `joined`: the caller is one. */
bool cc__frame_end(struct cc__fiber *f, int result, bool joined, struct cc__wake *last);

/* The end of a task as a case of a group; the object is its CCTask, w->io where the
 * result goes.  Begins with w->lock NULL. */
extern const struct cc__waitable_ops cc__task_ops;

/* Joins a task however long it takes: neither a cancellation of the caller nor the end of its
 * runtime ends the wait.  0, EINVAL, EDEADLK and ENOTSUP as for cc_task_join. */
int cc__task_join_anyway(CCTask task);

/* The frame of a handle, locked and WAITED, or DONE; *h is its word.  NULL if the
 * handle means nothing any more. */
struct cc__fiber *cc__frame_lock(CCTask task, uint64_t *h);

/* Under f's lock: the id of its task, which cannot end meanwhile without that
 * lock; 0: there is none. */
uint64_t cc__frame_hold(struct cc__fiber *f);

/* Where the name of a task is kept that has one. */
static inline char *cc__frame_name(struct cc__fiber *f)
{
	return (char *)f->payload.bytes + CC__PAYLOAD - CC__NAME_MAX;
}

/* Where frames come from; for the description of the process. */
extern struct cc__slab cc__frame_slab;

/* Calls visit(frame, arg) for every frame of the process, until it returns false. */
void cc__frames_walk(bool (*visit)(void *frame, void *arg), void *arg);

/* Read while others may change it: consistent if the id is the same before and
 * after, which the caller checks. */
void cc__fiber_name_of(const struct cc__fiber *f, struct cc__name *name);

/* For a line of a log: a task by its number, a thread by its address; NULL: somebody.  Takes no
 * lock, because the caller may hold any.  `who` may be stale: frames and thread records are
 * type-stable, so in rare cases the line has the number 0 or that of the frame's next task. */
struct cc__debug_name {
	char text[48];
};
struct cc__debug_name cc__debug_name(const void *who);

#endif
