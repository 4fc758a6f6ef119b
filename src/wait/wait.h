/* wait.h - how a fiber or a thread sleeps on something and how it is woken.
 *
 * W1  A waiter is on one list until a waker takes it off or the sleeper withdraws it.  The waiters
 *     of a wait for several objects are the caller's, and are off their lists before its frame
 *     returns.  For single waits each fiber and each thread has one waiter of its own.  These lie
 *     side by side, so a waker of many walks through that memory, not from stack to stack.  A
 *     caller has one wait at a time: between the listing and the return only this file runs, and
 *     the functions of the waitable, which do not wait.
 * W2  Lists change only under their lock.  A waker takes the waiter off, writes its result, then its
 *     reason, and does not touch it again; it claims the wake after the unlock, from a copy of
 *     (who, ticket).  A sleeper that sees its reason may have been woken by another thread while
 *     the waker is still inside the lock.  So it passes the lock before it returns, and its caller
 *     may free the object.
 * W3  A wait has one ticket.  The ticket changes only while no waiter of the sleeper is listed; after
 *     a wake that decided nothing the sleeper sleeps on with the same ticket.
 * W4  PARKING comes before publication, so no wake of this wait meets OWNED.
 *
 * Channels, timers, joins, selects and others are waitables: they define how to try, how to list
 * and how to withdraw, and leave sleeping and waking to this file. */
#ifndef CC__WAIT_WAIT_H
#define CC__WAIT_WAIT_H

#include <errno.h>

#include "base/lock.h"
#include "os/trace.h"
#include "wait/host.h"
#include "wait/waiter.h"

/* What a cancel flag says: the wait is over, by a deadline of somebody else; above that
 * the reason, an error number or 0. */
enum { CC__CANCEL = 1, CC__CANCEL_LATE = 2, CC__CANCEL_REASON_SHIFT = 2 };

/* What the wait returns. */
static inline int cc__cancel_error(uint32_t flag)
{
	return flag & CC__CANCEL_LATE ? ETIMEDOUT : ECANCELED;
}

/* The `cancel` of a wait that nothing cancels. */
extern const cc__a32 cc__uncancelled;

/* First in, first out. */
struct cc__waitq {
	struct cc__lock lock;
	uint32_t user;			/* lock; the owner's own flags */
	struct cc__waiter *head;	/* lock; head->prev is the tail */
};

/* ---- the list, under its lock ---- */

static inline void cc__waitq_append(struct cc__waitq *q, struct cc__waiter *w)
{
	CC__ASSERT(w->next == NULL, "W1: waiter on two lists");
	if (w->lock == NULL)
		w->lock = &q->lock;
	if (q->head == NULL) {
		w->next = w->prev = q->head = w;
		return;
	}
	w->next = q->head;
	w->prev = q->head->prev;
	w->prev->next = q->head->prev = w;
}

/* A waiter whose signal came too late goes back to the front, so that it is not
 * overtaken for ever. */
static inline void cc__waitq_prepend(struct cc__waitq *q, struct cc__waiter *w)
{
	cc__waitq_append(q, w);
	q->head = w;
}

static inline void cc__waitq_remove(struct cc__waitq *q, struct cc__waiter *w)
{
	CC__ASSERT(w->next != NULL, "W1: waiter taken off twice");
	if (w->next == w) {
		q->head = NULL;
	} else {
		w->next->prev = w->prev;
		w->prev->next = w->next;
		if (q->head == w)
			q->head = w->next;
	}
	w->next = w->prev = NULL;
}

/* ---- wake: decide under the lock, claim after it ---- */

/* Undecided 0; else the index of the case that won, or CC__GROUP_NONE.  One
 * exchange decides, whoever makes it: a waker under its object's lock, the
 * sleeper at its deadline or cancellation. */
struct cc__group {
	cc__a32 winner;
	const cc__a32 *cancel;	/* the sleeper's; as of a waiter */
	uintptr_t domain;	/* the sleeper's run domain, from cc__group_begin on */
	struct cc__waiter *own;	/* the sleeper's waiter of single waits, likewise */
};

#define CC__GROUP_NONE UINT32_MAX

/* True to the one who decides the group. */
bool cc__group_claim(struct cc__group *g, uint32_t winner);

/* Under the list's lock: the first waiter that is still to be had, off the list and
 * the caller's to serve: what is to be moved is moved now.  Waiters of groups that
 * are decided are dropped on the way.  NULL: nobody waits. */
static inline struct cc__waiter *cc__waitq_first(struct cc__waitq *q)
{
	struct cc__waiter *w;

	while ((w = q->head) != NULL) {
		cc__waitq_remove(q, w);
		if (w->index == 0 || cc__group_claim(w->group, w->index))
			return w;
	}
	return NULL;
}

/* The same, and what will be wanted of the next is sent for, should his turn come soon. */
static inline struct cc__waiter *cc__waitq_claim(struct cc__waitq *q)
{
	struct cc__waiter *w = cc__waitq_first(q);

	if (q->head != NULL) {
		__builtin_prefetch(q->head->who, 1);
		__builtin_prefetch(q->head->io, 1);
	}
	return w;
}

/* A wake to be made after unlock (W2); who NULL: none. */
struct cc__wake {
	struct cc__parker *who;
	uint64_t ticket;
};

/* The event that w is told that reason, if anything watches. */
void cc__waitq_telling(const struct cc__waiter *w, enum cc__reason reason);

/* In the same hold: tell it (reason, result).  The wake that is left to do. */
static inline struct cc__wake cc__waitq_tell(struct cc__waiter *w, enum cc__reason reason,
                                             int result)
{
	const struct cc__wake wake = {w->who, w->ticket};
	struct cc__lock *lock = w->lock;

	/* Its word will be claimed, and with many it is far: all of a batch at once. */
	__builtin_prefetch(wake.who, 1);
	CC_POINT("wake.taken_under_lock", w);
	/* mutant: swap cc__store survives: a sleeper that sees the reason passes
	 * our lock before it looks at the result. */
	w->result = result;
	if (cc__watched())
		cc__waitq_telling(w, reason);
	/* Release: the result and what was moved, to the acquire in decided().
	 * The last touch of w: its owner may already be leaving (W2). */
	cc__store(&w->reason, (uint8_t)reason, CC__RELEASE);
	CC_POINT("wake.told_under_lock", lock);
	(void)lock;
	return wake;
}

/* Claim the first and tell it.  The wake that is left to do; who NULL: nobody waits. */
struct cc__wake cc__waitq_tell_first(struct cc__waitq *q, enum cc__reason reason, int result);

/* Several wakes. */
enum { CC__BATCH_MAX = 16 };
struct cc__batch {
	unsigned count;
	struct cc__wake wake[CC__BATCH_MAX];
};

/* (The wakes of an empty one are not worth clearing.) */
static inline void cc__batch_init(struct cc__batch *b)
{
	b->count = 0;
}

static inline bool cc__batch_full(const struct cc__batch *b)
{
	return b->count == CC__BATCH_MAX;
}

static inline void cc__batch_add(struct cc__batch *b, struct cc__wake wake)
{
	if (wake.who != NULL)
		b->wake[b->count++] = wake;
}

/* As cc__waitq_tell_first; the batch has the wake.  False: nobody waits. */
bool cc__waitq_take(struct cc__waitq *q, struct cc__batch *b, enum cc__reason reason, int result);

/* Wake that wait of `who`, if it is still that wait.  No lock may be held. */
void cc__fiber_wake(struct cc__parker *who, uint64_t ticket);

/* The same for what was noted, if anything, and for everybody noted. */
static inline void cc__wake(struct cc__wake wake)
{
	CC_POINT("wake.before_flush", wake.who);
	if (wake.who != NULL)
		cc__fiber_wake(wake.who, wake.ticket);
}
void cc__batch_flush(struct cc__batch *b);

/* What can be waited for.  `w->io` is the operation's own. */
struct cc__waitable_ops {
	/* Complete without sleeping: true, and w->result is the result. */
	bool (*try_complete)(void *object, struct cc__waiter *w);
	/* List w, unless the operation can be completed or refused right now:
	 * false then, with w->result.  From true on, a wake finds w.  A waiter
	 * that is still listed stays where it is: true; one that a waker has
	 * taken meanwhile: false. */
	bool (*publish)(void *object, struct cc__waiter *w);
	/* Take w off if it is listed: true.  False if a waker has it already. */
	bool (*unpublish)(void *object, struct cc__waiter *w);
};

/* Wait for `object`, at most until `deadline`.  Returns w->result, or ETIMEDOUT,
 * ECANCELED, EAGAIN (CC_NOW).  What was decided first is what is returned: a
 * waiter that a waker took keeps its result, however late.  May park. */
int cc__fiber_wait(void *object, const struct cc__waitable_ops *ops, struct cc__waiter *w,
                   cc_time deadline);

/* The same on a bare queue: entered with the list's lock held (w->lock, or q->lock),
 * returns without it, so that the caller's check and the publication are one
 * hold. */
int cc__wait(struct cc__waitq *q, struct cc__waiter *w, cc_time deadline);

/* As cc__wait.  If `domain` is not NULL, notes the caller's run domain there under the lock. */
int cc__wait_noting(struct cc__waitq *q, struct cc__waiter *w, uintptr_t *domain, cc_time deadline);

/* As cc__wait_noting, at the end of the list and without a deadline, for a
 * caller on a channel that needs nothing but the result.  `lock` is the list's. */
int cc__wait_plain(struct cc__waitq *q, struct cc__lock *lock, void *io, uintptr_t *domain);

/* As cc__wait, with a withdrawal of the caller's own; its publish is this one, which
 * only tells whether w is still listed. */
int cc__wait_as(struct cc__waitq *q, const struct cc__waitable_ops *ops, struct cc__waiter *w,
                cc_time deadline);
bool cc__waitq_publish(void *queue, struct cc__waiter *w);

/* The same, where the object lists in a way of its own: entered with w->lock held, and
 * `list` is called in that hold. */
int cc__wait_listed(void *object, const struct cc__waitable_ops *ops,
                    void (*list)(void *object, struct cc__waiter *w), struct cc__waiter *w,
                    cc_time deadline);
/* cc__wait's own; for a case of a group whose object is a bare queue. */
extern const struct cc__waitable_ops cc__waitq_ops;

/* w leaves without having used the signal it got: the next one gets it. */
void cc__pass_on(struct cc__waitq *q, const struct cc__waiter *w);

void cc__wake_all(struct cc__waitq *q, enum cc__reason reason, int result);
bool cc__wake_one(struct cc__waitq *q, enum cc__reason reason, int result);

/* ---- waiting for the first of several ---- */

struct cc__case {
	struct cc__waiter w;
	void *object;
	const struct cc__waitable_ops *ops;
};

/* PARKING, under one ticket for all the cases.  The caller then publishes each,
 * and either sleeps or gives up.  0 or ENOMEM.  g begins as {.cancel}. */
int cc__group_begin(struct cc__group *g, struct cc__case *cases, uint32_t count);

/* All are published.  Sleep until one is decided, and withdraw the others.
 * Returns the winner's result with its 0-based index in *winner; ETIMEDOUT or
 * ECANCELED with *winner == count. */
int cc__group_sleep(struct cc__group *g, struct cc__case *cases, uint32_t count,
                    cc_time deadline, uint32_t *winner);

/* Instead of sleeping: withdraw all, go on running.  What it returns is what
 * cc__group_sleep would, if somebody has decided meanwhile; else EAGAIN. */
int cc__group_give_up(struct cc__group *g, struct cc__case *cases, uint32_t count,
                      uint32_t *winner);

/* ---- a flag instead of an object ---- */

/* Sleep unless *flag != expected, until somebody changes it and then calls
 * cc__unpark.  May return for no reason. */
void cc__park_if(const cc__a32 *flag, uint32_t expected);
void cc__unpark(struct cc__parker *who);

/* ---- run domains ---- */

/* `*of` is the run domain (cc__wait_context) of all waiters that an object has had, 0 before the
 * first one.  Its lock is held: a caller of that domain will wait. */
enum { CC__DOMAIN_MIXED = 1 };	/* some can run where others cannot */
static inline void cc__domain_note(uintptr_t *of, uintptr_t domain)
{
	if (*of == 0 && domain != 0)
		*of = domain;
	else if (*of != domain || domain == 0)
		*of = CC__DOMAIN_MIXED;
}

#endif
