/* cancel.h - scopes of cancellation: a flag that ends the waits of everybody inside.
 *
 * Scopes nest as the code does, and what cancels one cancels all below it.  A nursery is
 * a scope with children (scope/nursery.c); what a scheduler runs is below its root.
 *
 * C1  The flag is set once and for ever, and before anybody is looked for.  Who may sleep
 *     in a scope is listed there, and PARKING, before he looks at the flag: he is found,
 *     or he sees it.  What was done before a cancellation is seen by whoever meets it.
 * C2  Listed is who has waited in a scope at all, until he leaves it, and a scope once
 *     somebody has waited in it or below it.  Who never waits passes no lock.
 * C3  A scope lies in its owner's memory.  Whoever cancels what is around it touches it
 *     under the root's lock, and its owner passes that lock before he leaves.
 * C4  Nobody waits below a scope that has not been listed.  Whether something around it has
 *     been cancelled is asked for, not told: it looks again when there have been more
 *     cancellations (cc__cancels) than when it last looked.  A walk takes scopes off, so
 *     it begins after its cancellation was counted.
 * C5  Who waits elsewhere than on his word leaves a bell before he looks at the flag.  Both
 *     sides pass the scope's lock: the walk has the bell, or he sees the flag.
 * C6  A scope whose flag is set is counted, from before that until it closes
 *     (cc__fork_count_cancelled).  While the count is zero, no caller is cancelled. */
#ifndef CC__WAIT_CANCEL_H
#define CC__WAIT_CANCEL_H

#include "wait/wait.h"

/* An element of a list that it can be taken off without knowing the list. */
struct cc__link {
	struct cc__link *next;
	struct cc__link **place;	/* what points to it; NULL: on no list */
};

struct cc__bell;
struct cc__root;

struct cc__scope {
	cc__a32 flag;			/* 0, then CC__CANCEL_* and the reason (C1) */
	bool shield;			/* constant; nothing outside cancels it */
	bool listed;			/* root's lock; its owner's when nobody is inside */
	struct cc__lock lock;		/* members */
	CC__ATOMIC(uint64_t) looked;	/* cc__cancels, when nothing was cancelled (C4) */
	struct cc__scope *around;	/* constant; NULL: a root */
	struct cc__root *root;		/* constant */
	struct cc__link kin;		/* root's lock; with those that `around` is around */
	struct cc__link *inner;		/* root's lock; listed scopes */
	struct cc__link *members;	/* lock */
};

/* The outermost scope, and the lock of all below it. */
struct cc__root {
	struct cc__scope scope;
	struct cc__lock lock;
};

/* Somebody inside a scope: its owner, or a child. */
struct cc__member {
	struct cc__link link;		/* scope->lock */
	struct cc__bell *bell;		/* scope->lock; NULL: none (C5) */
	struct cc__scope *scope;	/* constant */
	struct cc__parker *who;		/* constant */
	struct cc__member *outer;	/* constant; where he was before */
	bool listed;			/* his own: he has been (C2) */
};

extern cc__a64 cc__cancels;	/* so many, in the process */

/* All zero but for root.scope.root. */
void cc__root_init(struct cc__root *r);
/* No scope and no member is below it. */
void cc__root_close(struct cc__root *r);
/* `s` is all zero but for `shield`. */
void cc__scope_open(struct cc__scope *s, struct cc__scope *around);
/* Nobody is inside. */
void cc__scope_close(struct cc__scope *s);

/* End all waits inside, now and later.  `how` is CC__CANCEL_*, with a reason; what came
 * first stays.  Lazy: those who sleep are not woken for it.  No lock may be held. */
void cc__scope_cancel(struct cc__scope *s, uint32_t how, bool lazy);

/* `s` is `outer`, or inside of it. */
bool cc__scope_within(const struct cc__scope *s, const struct cc__scope *outer);

/* `slot` is where `who` keeps his innermost membership. */
static inline void cc__member_enter(struct cc__member *m, struct cc__scope *s,
                                    struct cc__parker *who, struct cc__member **slot)
{
	*m = (struct cc__member){.scope = s, .who = who, .outer = *slot};
	*slot = m;
}

/* He leaves, and is on the list. */
void cc__member_unlist(struct cc__member *m);

static inline void cc__member_leave(struct cc__member *m, struct cc__member **slot)
{
	CC__CHECK(*slot == m, "cancel: left a scope with an inner one open");
	*slot = m->outer;
	if (__builtin_expect(m->listed, 0))
		cc__member_unlist(m);
}

/* He is about to wait: the flag to look at after PARKING. */
const cc__a32 *cc__member_flag(struct cc__member *m);

/* He is about to wait where nobody wakes his word: `bell` is rung then (C5), and may be once
 * more later.  NULL: he is back.  The flag to look at after it. */
const cc__a32 *cc__member_bell(struct cc__member *m, struct cc__bell *bell);

bool cc__scope_look(struct cc__scope *s);

/* It has been cancelled, or something around it. */
static inline bool cc__scope_cancelled(struct cc__scope *s)
{
	/* Acquire: what was done before, from raise_flag.  Relaxed, both: equal means that
	 * somebody has looked, and cc__scope_look decides in doubt. */
	return cc__load(&s->flag, CC__ACQUIRE) != 0 ||
	       (cc__load(&s->looked, CC__RELAXED) != cc__load(&cc__cancels, CC__RELAXED) &&
	        cc__scope_look(s));
}

#endif
