/* chan.h - what all kinds of channel have in common.
 *
 * An operation is attempted without the lock.  If that did not complete it, it is settled under the
 * lock: completed, refused, or listed as a waiter.  A woken waiter attempts it again.
 *
 *	kind          file         attempt                 settle
 *	buffered      buffered.c   the ring, lock-free     raise the mark, check the ring once more
 *	locked        locked.c     none                    complete it, or let it wait
 *	owned         owned.c      gives back              as locked, or makes an item
 *	ordered       ordered.c    none                    as locked
 *	broadcast     broadcast.c  the log, under its own  mark, check the log once more
 *	                           lock
 *
 * The path of a receive from a buffered channel that must wait, and the send that wakes it:
 *
 *	cc_chan_recv               chan.c       cc_chan_send               chan.c
 *	  cc__ring_recv_first      ring.h         cc__ring_send_first      ring.h
 *	  cc__buffered_recv_on     buffered.c     cc__buffered_wake        buffered.c
 *	    cc__wait_plain         wait/wait.c      cc__wake               wait/wait.c
 *
 * Every step returns an outcome (enum cc__outcome) to the step above it.
 *
 * C1  A channel has one lock.  It guards both wait lists and the close; of a locked channel it
 *     guards everything.  A wake is noted under the lock and made after it.
 * C2  A waiter of a buffered channel is told to try again (SIGNAL), and its element stays in the
 *     ring.  Only the locked kinds move an element for a waiter (DATA), because their waiters
 *     check nothing else once they are listed.
 * C3  A waiter that was signalled and does not use the signal, or leaves an element or a free slot
 *     behind, passes the signal on.  The last waiter need not: a waiter that is listed later has
 *     checked the ring later.
 * C4  A channel's head is type-stable.  A sender looks for waiters after its element is in the
 *     ring, when the receiver may already have freed the channel.  At worst, a waiter of the next
 *     channel in the same memory tries again for nothing.  A free waits for a close that has not
 *     told all waiters yet.
 * C5  CC__CLOSED is an outcome until the caller is told.  Only then it becomes the error given by
 *     the closer, which may be any number. */
#ifndef CC__CHAN_CHAN_H
#define CC__CHAN_CHAN_H

#include <ccc/chan.h>

#include "base/lock.h"
#include "base/place.h"
#include "base/slab.h"
#include "wait/wait.h"

enum cc__way { CC__SEND, CC__RECV };

/* What became of an operation, or of a wait for it: 0, a positive error number, or one of these,
 * which the caller of the library never sees. */
enum cc__outcome {
	/* It is over. */
	CC__CLOSED = -1,
	CC__CREATE = -2,	/* owned: make an item (finish) */
	/* It is not over. */
	CC__NOT_NOW = -3,	/* it has to wait */
	CC__RETRY = -4,		/* settle: attempt it again, without the lock */
	/* Why a waiter was woken to attempt it again. */
	CC__AGAIN = -5,		/* the channel was closed */
	CC__LAST = -6,		/* signalled, and there was no other waiter */
	CC__SIGNALLED = -7,	/* signalled, and there was another waiter (C3) */
};

/* The waiter was woken to attempt it again. */
static inline bool cc__chan_again(int outcome)
{
	return outcome <= CC__AGAIN;
}

/* It was woken for something that another caller may have taken first.  If so, it goes back to the
 * head of the list. */
static inline bool cc__chan_signalled(int why)
{
	return why <= CC__LAST;
}

/* One direction. */
struct cc__chan_way {
	/* Without the lock.  `why`: 0, or why the waiter was woken.  Returns the outcome.
	 * NULL: the kind has no attempt, only settle. */
	int (*attempt)(CCChan *c, void *item, int why);
	/* With the lock.  Returns the outcome; NOT_NOW: the caller may list itself in the same
	 * critical section.  *wake is set if a waiter of the other side was served. */
	int (*settle)(CCChan *c, void *item, struct cc__wake *wake);
	/* Without the lock, after an attempt that found nothing: waits and attempts until it is
	 * over.  NULL: settle under the lock, then wait. */
	int (*wait)(CCChan *c, void *item, cc_time deadline);
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
	/* Without the lock, after close: tells the waiters of other channels that stand on this
	 * one.  May be NULL. */
	void (*close_others)(CCChan *c);
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
	/* What cc_chan_send and cc_chan_recv compare the caller's size with before they go
	 * straight to the ring: the element's, or SIZE_MAX if that is not the way.  This and the next
	 * but one change under the lock; others look (progress.h). */
	_Alignas(64) CC__ATOMIC(size_t) by_ring;
	uint32_t size;	/* constant; of an element */
	CC__ATOMIC(uint16_t) watch;	/* of cc__chan_setting (watch.h); as by_ring */
	CC__ATOMIC(bool) by_lock;	/* they go straight to the lock; as by_ring */
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
	uintptr_t place;	/* constant; where it was created (base/place.h) */
	CCChan *link;	/* the slab's */
	struct cc__chan_record *record;	/* of one that is watched (watch.h) */
	/* Of a subscription: the broadcast channel it receives from.  Otherwise NULL. */
	struct CCChan *source;
	bool telling;	/* a close is between two batches.  The lock */
	bool alive;	/* made, and not freed.  The lock */
	/* Buffered: the run domain of all its waiters so far (cc__domain_note; B1).  The lock. */
	uintptr_t domain;
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

/* Constant but for a bit that only counts (progress.h). */
static inline unsigned cc__chan_watch(const CCChan *c)
{
	return cc__glance(&c->watch);
}

/* An operation of the calling thread has succeeded while a monitor asks (progress.h). */
void cc__chan_count(void);

/* Set it, unless there is one; take it back, if it is that one. */
void cc__chan_guard(CCChan *c, struct cc__guard *g);
void cc__chan_unguard(CCChan *c, const struct cc__guard *g);

extern const struct cc__chan_kind cc__buffered, cc__buffered_drop_old;
extern const struct cc__chan_kind cc__locked, cc__locked_drop_old;
extern const struct cc__chan_kind cc__owned, cc__ordered;
extern const struct cc__chan_kind cc__broadcast, cc__subscribed;

/* A channel with options that have been checked; NULL: no memory. */
CCChan *cc__chan_make(const struct cc__chan_kind *kind, size_t size, size_t capacity,
                      const CCChanOptions *o, uintptr_t place);
/* As cc_chan_create, for an object that was created at `place` (base/place.h). */
int cc__chan_create(CCChan **out, size_t size, size_t capacity, const CCChanOptions *options,
                    uintptr_t place);

/* The head goes back to its slab.  Until another channel has it, each call on it is reported
 * (freed.c).  A thread that still looks for sleepers (C4) reads nothing that changes here. */
void cc__chan_give_back(CCChan *c);

/* Do it, at most until `deadline`.  The outcome, as the caller is told.  May park. */
int cc__chan_do(CCChan *c, enum cc__way way, void *item, cc_time deadline);

/* What the next function does if the wait is not of the usual kind. */
int cc__chan_wait_unusual(CCChan *c, enum cc__way way, void *item, uintptr_t *domain, bool first,
                          cc_time deadline);

/* Waits on that way's list, at its end, or at its head if `first`.  Entered with the lock held,
 * returns without it.  `domain` is as for cc__wait_plain.  Returns the outcome. */
static inline int cc__chan_wait(CCChan *c, enum cc__way way, void *item, uintptr_t *domain,
                                bool first, cc_time deadline)
{
	if (__builtin_expect(first || deadline != CC_FOREVER || c->guard != NULL || cc__watched(), 0))
		return cc__chan_wait_unusual(c, way, item, domain, first, deadline);
	return cc__wait_plain(&c->wait[way], &c->lock, item, domain);
}

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
