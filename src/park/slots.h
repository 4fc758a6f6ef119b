/* slots.h - the waits of this process in memory that it shares, and the thread that has
 * them made for fibers.
 *
 * A thread that waits sleeps in the kernel by itself.  A fiber must not: its wait goes to
 * one thread, the server, which asks the kernel for it (os/uring.h) and wakes the fiber when
 * the kernel reports.  The server starts with the first such wait and never ends: waits that
 * a thread has asked for do not outlive it.
 *
 * S1  There are so many slots, made before: a wait takes one, and no other memory.
 * S2  A slot that was handed to the server is its own until the report, which comes once.
 *     Who wants out before cancels, and waits for the report: the kernel may look at the
 *     word until then.
 * S3  The report and the look whether it has come are under the slot's lock, the one of
 *     the object that the word is in. */
#ifndef CC__PARK_SLOTS_H
#define CC__PARK_SLOTS_H

#include "wait/wait.h"

enum { CC__SLOTS = 4096 };

struct cc__slot {
	/* Of whoever took it; constant while the server has it. */
	struct cc__lock *lock;		/* the object's */
	struct cc__futex_other other;	/* the word; its end is the thread's own, or S3 */
	struct cc__waitq sleeper;	/* lock; who waits, once he does */
	bool interrupted;		/* lock; the mapping ends */
	struct cc__slot *next, **place;	/* lock; waits in that mapping, place NULL: not one
					 * of them any more.  The pool's if free */
	/* Below: the server's lock. */
	struct cc__slot *after;		/* of those that it has to look at */
	bool queued, wait, cancel;	/* is among these; what is wanted: cancel of a wait
					 * stays true until the next */
};

/* NULL: all are taken.  Under the object's lock, if need be. */
struct cc__slot *cc__slot_get(void);
void cc__slot_put(struct cc__slot *s);
uint32_t cc__slots_used(void);

/* Under its lock: not among the waits of a mapping any longer. */
static inline void cc__slot_take_off(struct cc__slot *s)
{
	if (s->place == NULL)
		return;
	if ((*s->place = s->next) != NULL)
		s->next->place = s->place;
	s->place = NULL;
}

/* Whether the kernel has what waits need: 0, ENOTSUP, or what is lacking for now. */
int cc__server_open(void);
/* It runs from here on.  0 or ENOMEM. */
int cc__server_start(void);

/* Have it wait on the slot's word, or end that.  No lock may be held. */
void cc__server_wait(struct cc__slot *s);
void cc__server_cancel(struct cc__slot *s);

#endif
