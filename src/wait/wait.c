/* wait.c - how a caller sleeps and how a waker wakes it: wait queues, single waits, waits for the first of
 * several, and waits on a flag. */
#include "wait/wait.h"

#include "wait/thread.h"

/* ---- wake: decide under the lock, claim after it ---- */

__attribute__((cold)) void cc__waitq_telling(const struct cc__waiter *w, enum cc__reason reason)
{
	CC__EVENT(CC__EV_DECIDE, w->who, w->ticket,
	          (uint64_t)(uintptr_t)w->lock << 8 | (uint64_t)reason);
	(void)w, (void)reason;
}

struct cc__wake cc__waitq_tell_first(struct cc__waitq *q, enum cc__reason reason, int result)
{
	struct cc__waiter *w = cc__waitq_first(q);

	return w != NULL ? cc__waitq_tell(w, reason, result) : (struct cc__wake){NULL, 0};
}

bool cc__waitq_take(struct cc__waitq *q, struct cc__batch *b, enum cc__reason reason, int result)
{
	const struct cc__wake wake = cc__waitq_tell_first(q, reason, result);

	cc__batch_add(b, wake);
	return wake.who != NULL;
}

void cc__fiber_wake(struct cc__parker *who, uint64_t ticket)
{
	CC__LOCK_NONE_HELD("WAKE-FLUSH-UNDER-LOCK");
	if (!cc__word_wake(who, ticket))
		return;
	CC_POINT("wake.claimed", who);
	/* Relaxed: a parker is a thread or a fiber for ever. */
	if (cc__word_is_thread(cc__load(&who->word, CC__RELAXED)))
		cc__thread_release(who);
	else
		cc__schedule(who);
}

void cc__batch_flush(struct cc__batch *b)
{
	CC_POINT("wake.before_flush", b);
	for (unsigned i = 0; i < b->count; i++)
		cc__fiber_wake(b->wake[i].who, b->wake[i].ticket);
	b->count = 0;
}

void cc__wake_all(struct cc__waitq *q, enum cc__reason reason, int result)
{
	struct cc__batch batch;
	bool more;

	cc__batch_init(&batch);
	do {
		cc__lock(&q->lock, CC__RANK_WAITQ);
		while (!cc__batch_full(&batch) && cc__waitq_take(q, &batch, reason, result))
			continue;
		more = q->head != NULL;
		cc__unlock(&q->lock);
		/* Unless there is more, q is touched no more: whoever wakes may
		 * free it. */
		cc__batch_flush(&batch);
	} while (more);
}

bool cc__wake_one(struct cc__waitq *q, enum cc__reason reason, int result)
{
	struct cc__wake wake;

	cc__lock(&q->lock, CC__RANK_WAITQ);
	wake = cc__waitq_tell_first(q, reason, result);
	cc__unlock(&q->lock);
	cc__wake(wake);
	return wake.who != NULL;
}

void cc__pass_on(struct cc__waitq *q, const struct cc__waiter *w)
{
	/* Relaxed: our own waiter, decided and read before. */
	if (cc__load(&w->reason, CC__RELAXED) == CC__REASON_SIGNAL)
		cc__wake_one(q, CC__REASON_SIGNAL, 0);
}

/* ---- sleep ---- */

const cc__a32 cc__uncancelled = {0};

_Static_assert(sizeof(struct cc__waiter) == 64, "many are woken at the price of a line each");

static bool is_thread(const struct cc__parker *p)
{
	/* Relaxed: a parker is a thread or a fiber for ever. */
	return cc__word_is_thread(cc__load(&p->word, CC__RELAXED));
}

#ifndef CC__EXPLORE
cc__a32 cc__coarse_now;

void cc__coarse_set(cc_time now)
{
	/* Relaxed, both: a clock.  Not written without need, because all workers read it. */
	if (cc__load(&cc__coarse_now, CC__RELAXED) != cc__coarse(now))
		cc__store(&cc__coarse_now, cc__coarse(now), CC__RELAXED);
}

static inline void note_beginning(struct cc__waiter *own)
{
	/* Relaxed: a clock. */
	((struct cc__own *)(void *)own)->since = cc__load(&cc__coarse_now, CC__RELAXED);
}
#else
/* Nothing here depends on the time. */
void cc__coarse_set(cc_time now)
{
	(void)now;
}

static inline void note_beginning(struct cc__waiter *own)
{
	(void)own;
}
#endif

/* A wait without the own waiter, which is not listed, tells by it what it is for. */
static inline void note_other(struct cc__waiter *own, uint64_t ticket, enum cc__for what,
                              const void *which)
{
#ifndef CC__EXPLORE
	own->ticket = ticket;
	own->io = (void *)(uintptr_t)which;
	own->what = (uint8_t)what;
	note_beginning(own);
#else
	(void)own, (void)ticket, (void)what, (void)which;
#endif
}

/* That wait is over. */
static inline void forget_other(struct cc__waiter *own)
{
	(void)own;
#if defined CC__DEBUG && !defined CC__EXPLORE
	own->ticket = 0;
	own->io = NULL;
#endif
}

/* The waiter that will be listed for what the caller asks. */
static inline struct cc__waiter *begin(struct cc__wait_context me, struct cc__lock *lock,
                                       void *io, const cc__a32 *cancel, uint8_t what)
{
	struct cc__waiter *own = me.waiter;

	CC__ASSERT(own->ticket == 0, "W1: a wait inside a wait");
	CC__ASSERT(own->who == cc__self(), "W1: somebody else's waiter");
	own->next = NULL;
	own->lock = lock;
	own->io = io;
	own->cancel = cancel != NULL ? cancel : me.cancel;
	own->index = 0;
	cc__init(&own->reason, CC__REASON_NONE);
	own->what = what;	/* one store with the two before it */
	note_beginning(own);
	return own;
}

/* OWNED, and not listed. */
static inline int end(struct cc__waiter *own, int result)
{
	(void)own;
#ifdef CC__DEBUG
	/* Who touches it from here on is in a race with us (W2), and seen. */
	own->ticket = 0;
	own->next = own->prev = NULL;
	own->lock = NULL;
	own->io = NULL;
	own->cancel = NULL;
	own->result = 0;
#endif
	return result;
}

/* The same, and the caller learns what he was told. */
static inline int tell(struct cc__waiter *own, struct cc__waiter *w, int result)
{
	w->result = result;
	cc__init(&w->reason, cc__load(&own->reason, CC__RELAXED));	/* Relaxed: ours again */
	return end(own, result);
}

static bool decided(const struct cc__waiter *w)
{
	/* Acquire: pairs with the release in cc__waitq_tell. */
	return cc__load(&w->reason, CC__ACQUIRE) != CC__REASON_NONE;
}

/* PARKING before, OWNED after; in between asleep, or not at all. */
static void park(struct cc__parker *self, uint64_t ticket, cc_time deadline)
{
	CC__LOCK_NONE_HELD("PARK-UNDER-LOCK");
	if (is_thread(self))
		cc__thread_sleep(self, ticket, deadline);
	else
		cc__switch_away(self, ticket, deadline);
}

/* What the flag says; 0: go on. */
static uint32_t cancelled(const cc__a32 *cancel)
{
	/* Seq_cst: after PARKING (word.h, 1).  Pairs with whoever sets the flag,
	 * then wakes through the fence in cc__unpark (2). */
	return cancel != NULL ? cc__load(cancel, CC__SEQ_CST) : 0;
}

/* Why a wait that nobody decided is over; 0: it is not. */
static int ended(const cc__a32 *cancel, cc_time deadline)
{
	const uint32_t how = cancelled(cancel);

	if (how != 0)
		return cc__cancel_error(how);
	return deadline != CC_FOREVER && cc__now() >= deadline ? ETIMEDOUT : 0;
}

/* The rare ends of a wait are not inlined, so that the usual one saves few registers, and a sleeper
 * keeps fewer lines of its stack. */
static __attribute__((noinline)) void abort_park(const struct cc__waiter *w)
{
	cc__word_abort(w->who);
}

/* Listed and PARKING before, OWNED after.  PARKING first, then the look at the
 * flag: the other order sleeps through a cancel. */
static void park_listed(const struct cc__waiter *w, const cc__a32 *cancel, cc_time deadline)
{
	if (__builtin_expect(cancelled(cancel) != 0, 0))
		abort_park(w);
	else
		park(w->who, w->ticket, deadline);
}

static bool publish(void *object, const struct cc__waitable_ops *ops, struct cc__waiter *w)
{
	CC__EVENT(CC__EV_LIST, w->who, w->ticket, (uintptr_t)object);
	return ops->publish(object, w);
}

static bool unpublish(void *object, const struct cc__waitable_ops *ops, struct cc__waiter *w)
{
	if (!ops->unpublish(object, w))
		return false;
	CC__EVENT(CC__EV_WITHDRAW, w->who, w->ticket, (uintptr_t)object);
	return true;
}

/* Awake, and nobody has decided.  True: it is over, with w->result; false: PARKING again. */
static __attribute__((noinline)) bool over(void *object, const struct cc__waitable_ops *ops,
                                           struct cc__waiter *w, cc_time deadline)
{
	const int cause = ended(w->cancel, deadline);

	if (cause != 0) {
		if (unpublish(object, ops, w))
			w->result = cause;
		return true;
	}
	/* Sleep on.  PARKING first, then through the object's lock again, so that a
	 * waker either sees PARKING or has taken w already (W4). */
	cc__word_repark(w->who);
	if (ops->publish(object, w))
		return false;
	cc__word_abort(w->who);
	return true;
}

/* The wait is decided: returns the result after the waker has left the lock (W2). */
static __attribute__((noinline)) int result_behind_lock(const struct cc__waiter *w)
{
	cc__lock_pass(w->lock);
	return w->result;
}

/* w is listed, its owner PARKING.  Sleep until the wait is decided. */
static inline int sleep_listed(void *object, const struct cc__waitable_ops *ops,
                               struct cc__waiter *w, cc_time deadline)
{
	for (;;) {
		park_listed(w, w->cancel, deadline);
		CC_POINT("wait.after_park", w);
		if (__builtin_expect(decided(w), 1))
			return result_behind_lock(w);
		if (over(object, ops, w, deadline))
			return w->result;
	}
}

int cc__fiber_wait(void *object, const struct cc__waitable_ops *ops, struct cc__waiter *w,
                   cc_time deadline)
{
	struct cc__wait_context me;
	struct cc__waiter *own;

	if (ops->try_complete(object, w))
		return w->result;
	if (deadline == CC_NOW)
		return EAGAIN;
	me = cc__wait_context(NULL);
	if (me.waiter == NULL)
		return ENOMEM;
	own = begin(me, w->lock, w->io, w->cancel, w->what);
	own->ticket = cc__word_park(own->who);
	CC_POINT("wait.before_publish", own);
	if (!publish(object, ops, own)) {
		cc__word_abort(own->who);
		return tell(own, w, own->result);
	}
	return tell(own, w, sleep_listed(object, ops, own, deadline));
}

/* ---- the bare queue as a waitable ---- */

bool cc__waitq_publish(void *object, struct cc__waiter *w)
{
	bool listed;

	(void)object;
	cc__lock(w->lock, CC__RANK_WAITQ);
	listed = w->next != NULL;
	cc__unlock(w->lock);
	return listed;
}

static bool queue_unpublish(void *object, struct cc__waiter *w)
{
	bool listed;

	cc__lock(w->lock, CC__RANK_WAITQ);
	if ((listed = w->next != NULL))
		cc__waitq_remove(object, w);
	cc__unlock(w->lock);
	return listed;
}

const struct cc__waitable_ops cc__waitq_ops = {
    .publish = cc__waitq_publish,
    .unpublish = queue_unpublish,
};

/* PARKING, under the lock that `own` will be listed under. */
static inline void number(struct cc__waiter *own, const void *object)
{
	/* mutant: swap cc__word_park survives: both under the lock, nobody sees the
	 * order. */
	own->ticket = cc__word_park(own->who);
	CC__EVENT(CC__EV_LIST, own->who, own->ticket, (uintptr_t)object);
	(void)object;
}

/* Under `lock`, which is dropped: PARKING, listed, asleep. */
static inline int wait_held(void *object, const struct cc__waitable_ops *ops,
                            void (*list)(void *object, struct cc__waiter *w),
                            struct cc__waiter *w, struct cc__lock *lock, uintptr_t *domain,
                            cc_time deadline)
{
	struct cc__wait_context me;
	struct cc__waiter *own;

	if (deadline == CC_NOW) {
		cc__unlock(lock);
		return EAGAIN;
	}
	me = cc__wait_context(domain);
	if (me.waiter == NULL) {
		cc__unlock(lock);
		return ENOMEM;
	}
	own = begin(me, w->lock, w->io, w->cancel, w->what);
	number(own, object);
	list(object, own);
	cc__unlock(lock);
	return tell(own, w, sleep_listed(object, ops, own, deadline));
}

static void list_last(void *q, struct cc__waiter *w)
{
	cc__waitq_append(q, w);
}

static void list_first(void *q, struct cc__waiter *w)
{
	cc__waitq_prepend(q, w);
}

int cc__wait_as(struct cc__waitq *q, const struct cc__waitable_ops *ops, struct cc__waiter *w,
                cc_time deadline)
{
	struct cc__lock *lock = w->lock != NULL ? w->lock : &q->lock;

	return w->what & CC__WAIT_FIRST ? wait_held(q, ops, list_first, w, lock, NULL, deadline)
	                : wait_held(q, ops, list_last, w, lock, NULL, deadline);
}

int cc__wait(struct cc__waitq *q, struct cc__waiter *w, cc_time deadline)
{
	return cc__wait_noting(q, w, NULL, deadline);
}

int cc__wait_noting(struct cc__waitq *q, struct cc__waiter *w, uintptr_t *domain, cc_time deadline)
{
	struct cc__lock *lock = w->lock != NULL ? w->lock : &q->lock;

	return w->what & CC__WAIT_FIRST ? wait_held(q, &cc__waitq_ops, list_first, w, lock, domain, deadline)
	                : wait_held(q, &cc__waitq_ops, list_last, w, lock, domain, deadline);
}

int cc__wait_listed(void *object, const struct cc__waitable_ops *ops,
                    void (*list)(void *object, struct cc__waiter *w), struct cc__waiter *w,
                    cc_time deadline)
{
	return wait_held(object, ops, list, w, w->lock, NULL, deadline);
}

/* Not inlined, so that what it needs of the stack is gone before the sleep: a sleeper keeps fewer
 * cache lines.  NULL: no memory. */
static __attribute__((noinline)) struct cc__waiter *
list_plain(struct cc__waitq *q, struct cc__lock *lock, void *io, uintptr_t *domain)
{
	const struct cc__wait_context me = cc__wait_context(domain);

	if (__builtin_expect(me.waiter != NULL, 1)) {
		begin(me, lock, io, NULL, CC__FOR_CHAN);
		number(me.waiter, q);
		cc__waitq_append(q, me.waiter);
	}
	cc__unlock(lock);
	return me.waiter;
}

int cc__wait_plain(struct cc__waitq *q, struct cc__lock *lock, void *io, uintptr_t *domain)
{
	struct cc__waiter *own = list_plain(q, lock, io, domain);

	if (__builtin_expect(own == NULL, 0))
		return ENOMEM;
	return end(own, sleep_listed(q, &cc__waitq_ops, own, CC_FOREVER));
}

/* ---- the first of several ---- */

bool cc__group_claim(struct cc__group *g, uint32_t winner)
{
	uint32_t undecided = 0;

	/* Acq_rel: to and from the acquire in winner_of; the loser of the race
	 * only needs to know that it lost.
	 * mutant: acq_rel -> acquire survives: group_end passes every case's lock
	 * before anything is read; the order stays as specified (CHN-48).
	 * mutant: acq_rel -> release survives: likewise. */
	return cc__cas(&g->winner, &undecided, winner, CC__ACQ_REL, CC__RELAXED);
}

static uint32_t winner_of(const struct cc__group *g)
{
	/* Acquire: pairs with cc__group_claim.
	 * mutant: acquire -> relaxed survives: as there. */
	return cc__load(&g->winner, CC__ACQUIRE);
}

int cc__group_begin(struct cc__group *g, struct cc__case *cases, uint32_t count)
{
	const struct cc__wait_context me = cc__wait_context(&g->domain);
	struct cc__parker *self;
	uint64_t ticket;

	if (me.waiter == NULL)
		return ENOMEM;
	self = me.waiter->who;
	cc__init(&g->winner, 0);
	if (g->cancel == NULL)
		g->cancel = me.cancel;
	ticket = cc__word_park(self);
	g->own = me.waiter;
	note_other(g->own, ticket, CC__FOR_SELECT, cases);
	for (uint32_t i = 0; i < count; i++) {
		struct cc__waiter *w = &cases[i].w;

		w->who = self;
		w->ticket = ticket;
		w->group = g;
		w->index = (uint16_t)(i + 1);
		cc__init(&w->reason, CC__REASON_NONE);
		CC__EVENT(CC__EV_LIST, self, ticket, (uintptr_t)cases[i].object);
	}
	return 0;
}

/* The group is decided.  Every case passes its object's lock once more: a waker
 * is through with the winner then, and no loser is listed any longer. */
static int group_end(struct cc__group *g, struct cc__case *cases, uint32_t count, int otherwise,
                     uint32_t *winner)
{
	const uint32_t won = winner_of(g);

	forget_other(g->own);
	for (uint32_t i = 0; i < count; i++)
		if (i + 1 == won && cases[i].ops == &cc__waitq_ops)
			cc__lock_pass(cases[i].w.lock);	/* its waker has taken it off */
		else
			unpublish(cases[i].object, cases[i].ops, &cases[i].w);
	if (won == CC__GROUP_NONE) {
		*winner = count;
		return otherwise;
	}
	*winner = won - 1;
	return cases[won - 1].w.result;
}

/* Back to sleep under the same ticket, through every lock (W4).  False: somebody
 * has decided meanwhile. */
static bool group_repark(struct cc__case *cases, uint32_t count)
{
	cc__word_repark(cases[0].w.who);
	for (uint32_t i = 0; i < count; i++)
		if (!cases[i].ops->publish(cases[i].object, &cases[i].w)) {
			cc__word_abort(cases[0].w.who);
			return false;
		}
	return true;
}

int cc__group_sleep(struct cc__group *g, struct cc__case *cases, uint32_t count,
                    cc_time deadline, uint32_t *winner)
{
	int cause = 0;

	do
		park_listed(&cases[0].w, g->cancel, deadline);
	while (winner_of(g) == 0 && (cause = ended(g->cancel, deadline)) == 0 &&
	       group_repark(cases, count));
	cc__group_claim(g, CC__GROUP_NONE);
	return group_end(g, cases, count, cause, winner);
}

int cc__group_give_up(struct cc__group *g, struct cc__case *cases, uint32_t count,
                      uint32_t *winner)
{
	/* mutant: swap cc__word_abort survives: a claim that comes in between is
	 * honoured either way. */
	cc__word_abort(cases[0].w.who);
	cc__group_claim(g, CC__GROUP_NONE);
	return group_end(g, cases, count, EAGAIN, winner);
}

/* ---- park_if and unpark ---- */

void cc__park_if(const cc__a32 *flag, uint32_t expected)
{
	struct cc__waiter *own = cc__wait_context(NULL).waiter;
	struct cc__parker *self;
	uint64_t ticket;

	if (own == NULL)
		return;		/* a return for no reason is allowed */
	self = own->who;
	ticket = cc__word_park(self);
	note_other(own, ticket, CC__FOR_FLAG, flag);
	CC__EVENT(CC__EV_FLAG, self, ticket, (uintptr_t)flag);
	CC_POINT("park_if.before_look", self);
	/* Seq_cst: after PARKING (1).  Pairs with the caller's change of the flag
	 * before the fence in cc__unpark (2). */
	if (cc__load(flag, CC__SEQ_CST) != expected)
		cc__word_abort(self);
	else
		park(self, ticket, CC_FOREVER);
	forget_other(own);
}

void cc__unpark(struct cc__parker *who)
{
	/* Seq_cst (2): the caller's change of the flag, then the look at the
	 * word.  Pairs with "PARKING (1), then look" in cc__park_if:
	 *
	 *      sleeper                    waker
	 *      word = PARKING   (1)       flag = changed
	 *      read flag                  fence (2), read word
	 *
	 * at least one of the two reads sees the other's write. */
	cc__fence(CC__SEQ_CST);
	/* Relaxed: ordered by the fence. */
	cc__fiber_wake(who, cc__word_ticket(cc__load(&who->word, CC__RELAXED)));
}
