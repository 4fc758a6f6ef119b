/* chan.h - what all kinds of channel have in common.
 *
 * An operation is: attempt, without the lock; settle, under it; wait; and again.
 *
 *	kind          file         attempt                 settle
 *	buffered      buffered.c   the ring, lock-free     look before sleeping
 *	locked        locked.c     none                    do it, or let it wait
 *	owned         owned.c      gives back              as locked, or makes one
 *	ordered       ordered.c    none                    as locked
 *
 * C1  One lock a channel: it guards both wait lists, the close, and of a locked
 *     channel everything.  Wakes are noted under it and flushed after it.
 * C2  Who waits on a buffered channel is told to try again (SIGNAL); what is his
 *     stays in the ring.  Only the locked kinds move an element for somebody who
 *     waits (DATA): they look nowhere else once they are listed.
 * C3  Who was signalled and does not need it, or leaves something behind, passes it on;
 *     but not the last one: who lists himself later has looked later.
 * C4  A channel's head is type-stable.  Who has put an element into the ring looks for
 *     sleepers afterwards, when its receiver may have freed the channel: at worst
 *     somebody who waits for the next one in its place tries again for nothing.
 *     A free waits for a close that has yet to tell some of those who waited.
 * C5  A closed channel is an outcome, CC__CLOSED, until the caller is told: only then it
 *     is the error of the closer, which may be any number. */
#ifndef CC__CHAN_CHAN_H
#define CC__CHAN_CHAN_H

#include <ccc/chan.h>

#include "base/lock.h"
#include "base/slab.h"
#include "wait/wait.h"

enum cc__way { CC__SEND, CC__RECV };

/* Results of an operation that the caller never sees.  Errors are positive. */
enum {
	CC__AGAIN = -1,		/* told by close: look for yourself */
	CC__LAST = -2,		/* woken for something that may be there; nobody else waits */
	CC__SIGNALLED = -3,	/* the same, and somebody else does (C3) */
	CC__CLOSED = -4,
	CC__CREATE = -5,	/* owned: make one (finish) */
};

/* He was woken, and is to try. */
static inline bool cc__chan_again(int result)
{
	return result <= CC__AGAIN && result >= CC__SIGNALLED;
}

/* For something that another one may have taken: then he is the first again. */
static inline bool cc__chan_signalled(int result)
{
	return result == CC__LAST || result == CC__SIGNALLED;
}

enum cc__settled {
	CC__SETTLED_DONE,	/* the outcome is w->result */
	CC__SETTLED_RETRY,	/* attempt it again, without the lock */
	CC__SETTLED_WAIT,	/* list it */
};

/* One direction.  w->io is the element. */
struct cc__chan_way {
	/* Without the lock: true if it was done or refused, w->result is the outcome then.
	 * NULL: there is no such way. */
	bool (*attempt)(CCChan *c, struct cc__waiter *w);
	/* With it.  Whom it served is in *wake, or nobody. */
	enum cc__settled (*settle)(CCChan *c, struct cc__waiter *w, struct cc__wake *wake);
	/* Without the lock: whether an attempt would do something now.  Adds to *sum a number
	 * that is never 0 and that grows with every change.  NULL: settle tells, under the lock. */
	bool (*peek)(CCChan *c, uint64_t *sum);
	/* Without the lock and without waiting: as many of `count` as can be moved. */
	size_t (*some)(CCChan *c, void *items, size_t count);
	/* What is left to do when the outcome is not 0: the outcome then, or what the
	 * caller is told unless it is closed.  May be NULL. */
	int (*finish)(CCChan *c, void *item, int result);
};

struct cc__chan_kind {
	struct cc__chan_way way[2];
	struct cc__slab *heads;		/* its structures (C4) */
	size_t (*slot)(size_t size);	/* bytes of a slot */
	void (*init)(CCChan *c);	/* its own fields */
	void (*close)(CCChan *c);	/* under the lock, once */
	bool (*closed)(const CCChan *c);
	size_t (*length)(const CCChan *c);
	int told;	/* the result of those whom close wakes */
	/* Under the lock, before it is freed: a call is in progress, or something is out.  May
	 * be NULL. */
	bool (*busy)(CCChan *c);
	/* Nobody else uses it any more: what is left in it goes. */
	void (*empty)(CCChan *c);
};

struct cc__chan_record;	/* watch.c */

struct CCChan {
	/* What an operation that meets a partner looks at is one cache line: these ... */
	/* Constant.  What cc_chan_send and cc_chan_recv compare the caller's size with before
	 * they go straight to the ring: the element's, or SIZE_MAX if that is not the way. */
	_Alignas(64) size_t by_ring;
	uint32_t size;	/* constant; of an element */
	uint16_t watch;	/* constant; of cc__chan_setting (watch.h) */
	bool by_lock;	/* constant; they go straight to the lock */
	struct cc__lock lock;	/* free between two lives, and the lists empty */
	cc__a32 closed;	/* 1: closed.  Written under the lock; others look */
	size_t count;	/* the lock; elements of a locked kind */
	/* Who waits, by direction; the lock above, not their own (C1). */
	struct cc__waitq wait[2];

	/* ... and one that waits, or has a buffer, another. */
	const struct cc__chan_kind *kind;	/* constant */
	size_t capacity;	/* constant */
	void *slots;		/* constant; zero at first */
	size_t first;		/* the lock; the oldest of `count` */
	CCChanMode mode;	/* constant */
	/* What each side gets when it is closed.  Written before the mark that says so,
	 * under the lock; constant then. */
	int error[2];

	/* Constant, and rarely looked at. */
	size_t bytes;		/* of the slots; 0: there are none */
	CCAllocator allocator;	/* where they come from */
	CCChanOptions options;
	char name[16];
	CCChan *link;	/* the slab's */
	struct cc__chan_record *record;	/* of one that is watched (watch.h) */
	bool telling;	/* a close is between two batches.  The lock */
	/* Buffered: cc__place of all who ever waited for it, or ODD_PLACE (B1).  The lock. */
	uintptr_t place;
	struct cc__guard *guard;	/* the lock; NULL: none, of most */
	/* Owned: items that it has made, and how many of these are out.  The lock. */
	size_t made, out;
};

/* Whoever will close a channel by himself, and knows for whom it is in vain to wait for
 * that (scope/nursery.c). */
struct cc__guard {
	/* Under the channel's lock, by `who`, PARKING: nobody is left to send, and nobody but
	 * him could make it be closed.  When that may have become true, he is unparked. */
	bool (*in_vain)(struct cc__guard *g, struct cc__parker *who);
};

/* Set it, unless there is one; take it back, if it is that one. */
void cc__chan_guard(CCChan *c, struct cc__guard *g);
void cc__chan_unguard(CCChan *c, const struct cc__guard *g);

extern const struct cc__chan_kind cc__buffered, cc__buffered_drop_old;
extern const struct cc__chan_kind cc__locked, cc__locked_drop_old;
extern const struct cc__chan_kind cc__owned, cc__ordered;

/* The head goes back to its slab.  Until another channel has it, each call on it is reported
 * (freed.c).  A thread that still looks for sleepers (C4) reads nothing that changes here. */
void cc__chan_give_back(CCChan *c);

/* Do it, at most until `deadline`.  The outcome, as the caller is told.  May park. */
int cc__chan_do(CCChan *c, enum cc__way way, void *item, cc_time deadline);

/* An outcome that is not 0 as the caller is told (C5). */
int cc__chan_finish(CCChan *c, enum cc__way way, void *item, int result);

/* Under the lock, for one who waits that way, if anybody does: tell him to try again. */
static inline struct cc__wake cc__chan_signal(CCChan *c, enum cc__way way)
{
	struct cc__waiter *w = cc__waitq_claim(&c->wait[way]);

	if (w == NULL)
		return (struct cc__wake){0};
	return cc__waitq_tell(w, CC__REASON_SIGNAL,
	                      c->wait[way].head != NULL ? CC__SIGNALLED : CC__LAST);
}

/* Give an element that was accepted and is not delivered to the drop callback. */
static inline void cc__chan_drop(CCChan *c, void *item)
{
	if (c->options.drop != NULL)
		c->options.drop(c->options.context, item);
}

/* A copy of an element for a callback, which is called without the lock. */
struct cc__scratch {
	_Alignas(16) char bytes[CC_CHAN_DROP_MAX];
};

#endif
