/* stack.h - stacks: reserved, paged in by use, guarded, reused warm.
 *
 * T1  The lowest quarter of a stack traps.  A fiber that runs off the end dies by the
 *     signal, with a line that names it.  A single frame larger than the guard can skip it in
 *     code that was compiled without -fstack-clash-protection; if that faults, the line names
 *     the fiber that ran, not the fiber whose guard it happened to hit.
 * T2  Stacks are carved out of large regions.  With light guards a region stays
 *     one mapping; with split guards each stack costs two of vm.max_map_count,
 *     so the pool knows its ceiling from the start.
 * T3  A stack on its way back to the pool keeps its pages: it will be wanted
 *     again, warm.  What has lain unused for stack_idle or up to twice as long
 *     gives them back, a few at a time.
 * T4  Contexts begin at different offsets (colours), else all fibers would
 *     fight for one set of the cache.
 * T5  A pool has stacks of several sizes: those of order n are 2^n times as large as
 *     configured.  A stack tells its order, and goes back to where it came from.  At the
 *     ceiling a free one of another order makes room: its pages are given back, and its
 *     addresses are kept for the day it counts again.
 * T6  Who gets a new stack guards it, without the lock: the system call is longer than all
 *     that is done under it.  One that cannot be guarded counts no longer, and is tried again. */
#ifndef CC__STACK_STACK_H
#define CC__STACK_STACK_H

#include <ccc/runtime.h>

#include "base/lock.h"
#include "os/context.h"
#include "time/timer.h"
#include "wait/wait.h"

struct cc__fiber;
struct cc__member;

/* Kept apart from the memory it describes, which may be discarded, and small: what many
 * fibers wait with lies side by side. */
struct cc__stack {
	union {
		struct cc__stack *next;		/* free: the list it is on */
		int (*main)(void *);		/* bound, until its fiber runs: what that runs */
		/* Of a wait of its fiber, which is `who`; NULL: it is free.  The fault
		 * handler looks at that. */
		struct cc__waiter waiter;
		/* The same, and more: when its fiber was found stuck last (sysmon.h), coarse; 0:
		 * not yet.  Set under the fiber's lock, a hint to everybody. */
		struct cc__own own;
	};
	uintptr_t place;		/* lowest address above the guard, plus colour and order; constant */
	struct cc__stack_tools tools;
	uint32_t alarm;			/* how far from here it lies; constant */
	/* Its fiber's: the scope it is in (cancel.h), or NULL; or its values (local.h). */
	struct cc__member *member;
};

struct cc__stack_region;

enum {
	CC__STACK_MIN = 16 * 1024,
	CC__STACK_MAX = 1 << 30,
	CC__STACK_ORDERS = 17	/* from the one to the other */
};

/* How long a stack has been free: since this period began, since the one before,
 * for longer; and COLD, its pages given back. */
enum cc__stack_age { CC__STACK_WARM, CC__STACK_RESTED, CC__STACK_AGED, CC__STACK_COLD, CC__STACK_AGES };

/* Stacks that a pool hands out in one hold of its lock, or takes back. */
struct cc__stack_list {
	struct cc__stack *first;
	unsigned count;
};

/* Those of one order. */
struct cc__stack_shelf {
	size_t size;		/* constant; of a stack, guard included */
	size_t guard_size;	/* constant; 0: the hooks' business */
	/* Below: the pool's lock. */
	struct cc__stack_region *regions;	/* newest first; the newest has room */
	struct cc__stack_list free[CC__STACK_AGES];	/* each newest first */
	struct cc__stack_list uncounted;	/* have made room (T5), or were not guarded (T6) */
	size_t made;				/* how many there are without those */
};

struct cc__stack_pool {
	/* Constant after init. */
	int guard;		/* enum cc__guard_kind */
	long map_max;		/* vm.max_map_count */
	size_t ceiling;		/* most stacks at once */
	bool ceiling_is_maps;	/* by vm.max_map_count, not by stacks_max */
	CCStackHooks hooks;

	struct cc__lock lock;
	size_t made;		/* lock; stacks in existence, of all orders */
	cc_time age_at;		/* lock; when the period ends */
	struct cc__stack_shelf shelf[CC__STACK_ORDERS];
};

/* 0 or an error number.  `config` has been checked. */
int cc__stack_pool_init(struct cc__stack_pool *p, const CCConfig *config);
/* Every stack is back. */
void cc__stack_pool_fini(struct cc__stack_pool *p);

/* The order of stacks that have so many bytes at least; CC__STACK_ORDERS: none has. */
unsigned cc__stack_order_for(const struct cc__stack_pool *p, size_t size);
/* There is a stack of that order, in use or not.  False: there cannot be.  (If the only one is
 * just being guarded, and that fails, true was wrong: who wants one starves until it works.) */
bool cc__stack_pool_stock(struct cc__stack_pool *p, unsigned order);

/* One stack, or NULL at the ceiling or without memory. */
struct cc__stack *cc__stack_get(struct cc__stack_pool *p, unsigned order);
void cc__stack_put(struct cc__stack_pool *p, struct cc__stack *s);
/* All of the list; it is empty afterwards. */
void cc__stack_put_list(struct cc__stack_pool *p, struct cc__stack_list *list);

static inline void cc__stack_push(struct cc__stack_list *l, struct cc__stack *s)
{
	s->next = l->first;
	l->first = s;
	l->count++;
}

static inline struct cc__stack *cc__stack_pop(struct cc__stack_list *l)
{
	struct cc__stack *s = l->first;

	if (s != NULL) {
		l->first = s->next;
		l->count--;
	}
	return s;
}

/* How many there are. */
size_t cc__stack_pool_made(struct cc__stack_pool *p);

/* Why cc__stack_get fails: one line for the log, with the remedy. */
void cc__stack_pool_explain(struct cc__stack_pool *p, unsigned order, char *text, size_t size);

/* If a period of the length `idle` has passed: stacks that were free for all of it
 * give their pages back (hooked ones go back whole), a few in each call.  When to ask
 * again; CC_FOREVER: when stacks have been put here. */
cc_time cc__stack_pool_age(struct cc__stack_pool *p, cc_time now, cc_time idle);

/* The timer of its fiber's wait.  Apart from the descriptors: most waits have none. */
static inline struct cc__timer *cc__stack_alarm(struct cc__stack *s)
{
	return (struct cc__timer *)(void *)((char *)s + s->alarm);
}

/* What `place` is made of: sixteen colours, 128 bytes apart, and the order below them.
 * Together less than a page, with which the memory begins. */
enum { CC__COLOURS = 16, CC__COLOUR_BYTES = 128 };

static inline unsigned cc__stack_order(const struct cc__stack *s)
{
	return s->place % CC__COLOUR_BYTES;
}

/* The lowest address that a context may use on it. */
static inline char *cc__stack_bottom(const struct cc__stack *s)
{
	return (char *)(s->place - s->place % (CC__COLOURS * CC__COLOUR_BYTES));
}

/* How much it may use. */
static inline size_t cc__stack_usable(const struct cc__stack_pool *p, const struct cc__stack *s)
{
	const struct cc__stack_shelf *shelf = &p->shelf[cc__stack_order(s)];

	return shelf->size - shelf->guard_size;
}

/* Where it begins. */
static inline void *cc__stack_top(const struct cc__stack_pool *p, const struct cc__stack *s)
{
	const size_t colour = s->place / CC__COLOUR_BYTES % CC__COLOURS * CC__COLOUR_BYTES;

	return cc__stack_bottom(s) + cc__stack_usable(p, s) - colour;
}

/* The stack whose memory, guard included, has a given address. */
struct cc__stack_area {
	const char *address;	/* the one that is looked for */
	const char *guard;	/* lowest address; NULL: no stack has the address */
	const char *bottom;	/* of what a fiber may use */
	size_t size;		/* guard included */
	struct cc__parker *who;	/* whose stack it is; NULL: it is free */
};
struct cc__stack_area cc__stack_area_of(const char *address);

#endif
