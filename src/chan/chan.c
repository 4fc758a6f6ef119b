/* chan.c - sends and receives: from the public call to the kind of the channel, the wait between two
 * attempts, and the close. */
#include "chan/chan.h"

#include <errno.h>

#include "chan/buffered.h"
#include "chan/locked.h"
#include "chan/watch.h"
#include "os/fork.h"
#include "wait/thread.h"

/* ---- a wait that may be in vain ---- */

void cc__chan_guard(CCChan *c, struct cc__guard *g)
{
	c->kind->closed(c);	/* of a channel that was freed: reports it */
	cc__lock(&c->lock, CC__RANK_WAITQ);
	if (c->guard == NULL)
		c->guard = g;
	cc__unlock(&c->lock);
}

void cc__chan_unguard(CCChan *c, const struct cc__guard *g)
{
	cc__lock(&c->lock, CC__RANK_WAITQ);
	if (c->guard == g)
		c->guard = NULL;
	cc__unlock(&c->lock);
}

/* A receive from a channel that somebody guards. */
struct guarded {
	CCChan *c;
	struct cc__wake wake;	/* that is left to do */
	bool first;		/* as of a waiter */
	bool listed;		/* it has been */
};

static bool try_nothing(void *object, struct cc__waiter *w)
{
	(void)object, (void)w;
	return false;
}

/* Under the lock.  False: w is not listed, because the outcome is w->result. */
static bool list_guarded(struct guarded *g, struct cc__waiter *w)
{
	const int outcome = g->c->kind->way[CC__RECV].settle(g->c, w->io, &g->wake);

	if (outcome != CC__NOT_NOW) {
		w->result = outcome == CC__RETRY ? CC__AGAIN : outcome;
		return false;
	}
	g->listed = true;
	if (g->first)
		cc__waitq_prepend(&g->c->wait[CC__RECV], w);
	else
		cc__waitq_append(&g->c->wait[CC__RECV], w);
	return true;
}

/* Its sleeper is PARKING: he sees that it is in vain, or is there to be unparked. */
static bool publish_guarded(void *object, struct cc__waiter *w)
{
	struct guarded *g = object;
	CCChan *c = g->c;
	bool listed;

	cc__lock(&c->lock, CC__RANK_WAITQ);
	listed = g->listed ? w->next != NULL : list_guarded(g, w);
	if (listed && c->guard != NULL && c->guard->in_vain(c->guard, w->who)) {
		cc__waitq_telling(w, CC__REASON_CANCEL);
		cc__waitq_remove(&c->wait[CC__RECV], w);
		cc__init(&w->reason, CC__REASON_CANCEL);
		w->result = EDEADLK;
		listed = false;
	}
	cc__unlock(&c->lock);
	return listed;
}

static bool unpublish_guarded(void *object, struct cc__waiter *w)
{
	return cc__waitq_ops.unpublish(&((struct guarded *)object)->c->wait[CC__RECV], w);
}

/* Instead of cc__wait: entered with the lock held, returns without it. */
static __attribute__((noinline)) int wait_guarded(CCChan *c, struct cc__waiter *w)
{
	static const struct cc__waitable_ops ops = {
	    .try_complete = try_nothing,
	    .publish = publish_guarded,
	    .unpublish = unpublish_guarded,
	};
	struct guarded g = {.c = c, .first = (w->what & CC__WAIT_FIRST) != 0};
	int result;

	cc__unlock(&c->lock);
	result = cc__fiber_wait(&g, &ops, w, CC_FOREVER);
	cc__wake(g.wake);
	return result;
}

/* ---- the one way to wait ---- */

/* A receive without a deadline is what a guard can find to be in vain.  Under the lock. */
static inline bool is_guarded(const CCChan *c, enum cc__way way, cc_time deadline)
{
	return __builtin_expect(c->guard != NULL, 0) && way == CC__RECV && deadline == CC_FOREVER;
}

/* With the lock held, which it drops. */
static int wait_guarded_or_not(CCChan *c, enum cc__way way, struct cc__waiter *w, uintptr_t *domain,
                               cc_time deadline)
{
	if (!is_guarded(c, way, deadline))
		return cc__wait_noting(&c->wait[way], w, domain, deadline);
	if (domain != NULL)
		cc__wait_context(domain);
	return wait_guarded(c, w);
}

/* Not inlined, so that the usual waiter keeps no room for it on its stack. */
int cc__chan_wait_unusual(CCChan *c, enum cc__way way, void *item, uintptr_t *domain, bool first,
                          cc_time deadline)
{
	struct cc__waiter w = {
	    .io = item,
	    .lock = &c->lock,
	    .what = first ? CC__FOR_CHAN | CC__WAIT_FIRST : CC__FOR_CHAN,
	};
	/* Before the wait: after it, a channel that is not watched may have been freed. */
	const bool verbose = (cc__chan_watch(c) & CC__CHAN_VERBOSE) != 0 && deadline != CC_NOW;
	int result;

	CC__EVENT(CC__EV_FOR, cc__self(), CC__FOR_CHAN, (uintptr_t)c);
	if (verbose)
		cc__chan_parks(c, way, deadline);
	result = wait_guarded_or_not(c, way, &w, domain, deadline);
	if (verbose)
		cc__chan_waited(c, way, &w, result);
	return result;
}

/* Settles it under the lock and waits, until it is over.  Returns the outcome. */
static int settle_or_wait(CCChan *c, enum cc__way way, void *item, cc_time deadline)
{
	struct cc__wake wake = {0};
	int why = 0, outcome;

	for (;;) {
		CC_POINT("chan.before_lock", c);
		cc__lock(&c->lock, CC__RANK_WAITQ);
		if ((outcome = c->kind->way[way].settle(c, item, &wake)) != CC__NOT_NOW)
			break;
		why = cc__chan_wait_unusual(c, way, item, NULL, cc__chan_signalled(why), deadline);
		if (!cc__chan_again(why))
			return why;
	}
	cc__unlock(&c->lock);
	cc__wake(wake);
	return outcome;
}

/* Returns the outcome. */
static inline int operate(CCChan *c, enum cc__way way, void *item, cc_time deadline)
{
	const struct cc__chan_way *how = &c->kind->way[way];
	int outcome;

	if (how->attempt != NULL) {
		if ((outcome = how->attempt(c, item, 0)) != CC__NOT_NOW)
			return outcome;
		if (deadline == CC_NOW)
			return EAGAIN;
	}
	return how->wait != NULL ? how->wait(c, item, deadline)
	                         : settle_or_wait(c, way, item, deadline);
}

int cc__chan_finish(CCChan *c, enum cc__way way, void *item, int result)
{
	const struct cc__chan_way *how = &c->kind->way[way];
	const bool closed = result == CC__CLOSED;

	if (how->finish != NULL)
		result = how->finish(c, item, result);
	if (!closed)
		return result;	/* a callback's may be any number (C5) */
	/* The closer wrote the error before the mark that we have seen.  Past its lock
	 * the caller may free the channel. */
	CC__CHECK(c->kind->closed(c), "C5: closed, and is not");
	cc__lock_pass(&c->lock);
	return result == CC__CLOSED ? c->error[way] : result;
}

static inline int do_it(CCChan *c, enum cc__way way, void *item, cc_time deadline)
{
	int result;

	if (way == CC__SEND && c->mode == CC_CHAN_MODE_DROP_NEW)
		deadline = CC_NOW;
	result = operate(c, way, item, deadline);
	return __builtin_expect(result == 0, 1) ? 0 : cc__chan_finish(c, way, item, result);
}

static int do_noted(CCChan *c, enum cc__way way, void *item, cc_time deadline)
{
	cc_time began;
	int result;

	cc__chan_enter(c);
	began = cc__now();
	cc__chan_order_begin(c, way);
	result = do_it(c, way, item, deadline);
	cc__chan_order_end(c, way, result);
	cc__chan_done(c, way, deadline == CC_NOW, began, result);
	cc__chan_leave(c);
	return result;
}

void cc__chan_count(void)
{
	struct cc__thread *t = cc__tls_get();

	/* Relaxed, both: only the thread writes it, and it is a count. */
	if (t != NULL)
		cc__store(&t->operations, cc__load(&t->operations, CC__RELAXED) + 1, CC__RELAXED);
}

/* The bit that only counts may be gone since the caller saw it. */
static int do_watched(CCChan *c, enum cc__way way, void *item, cc_time deadline)
{
	const unsigned watch = cc__chan_watch(c);
	const int result = watch & ~(unsigned)CC__CHAN_PROBED ? do_noted(c, way, item, deadline)
	                                                      : do_it(c, way, item, deadline);

	if ((watch & CC__CHAN_PROBED) && result == 0)
		cc__chan_count();
	return result;
}

int cc__chan_do(CCChan *c, enum cc__way way, void *item, cc_time deadline)
{
	return __builtin_expect(cc__chan_watch(c) != 0, 0) ? do_watched(c, way, item, deadline)
	                                                   : do_it(c, way, item, deadline);
}

/* ---- the short way to the lock ---- */

/* No partner was there: waits, with the lock held, which it drops.  A partner serves the waiter
 * completely, so there is no second attempt (C2). */
static inline int wait_for_partner(CCChan *c, enum cc__way way, void *item)
{
	const int result = cc__chan_wait(c, way, item, NULL, false, CC_FOREVER);

	return __builtin_expect(result == 0, 1) ? 0 : cc__chan_finish(c, way, item, result);
}

/* What operate comes to on a locked channel, without the table of the kind.  With the lock held,
 * which it drops. */
static inline int meet_locked(CCChan *c, enum cc__way way, void *item)
{
	struct cc__wake wake = {0};
	const int outcome = cc__locked_settle(c, way, item, &wake);

	if (outcome == CC__NOT_NOW)
		return wait_for_partner(c, way, item);
	cc__unlock(&c->lock);
	cc__wake(wake);
	return __builtin_expect(outcome == 0, 1) ? 0 : cc__chan_finish(c, way, item, outcome);
}

/* Not inlined, these six: each way saves no more registers than it needs itself. */
static __attribute__((noinline)) int send_waiting(CCChan *c, void *item)
{
	return wait_for_partner(c, CC__SEND, item);
}

static __attribute__((noinline)) int recv_waiting(CCChan *c, void *item)
{
	return wait_for_partner(c, CC__RECV, item);
}

static __attribute__((noinline)) int send_locked(CCChan *c, void *item)
{
	return meet_locked(c, CC__SEND, item);
}

static __attribute__((noinline)) int recv_locked(CCChan *c, void *item)
{
	return meet_locked(c, CC__RECV, item);
}

static __attribute__((noinline)) int send_contended(CCChan *c, void *item)
{
	cc__lock(&c->lock, CC__RANK_WAITQ);
	return meet_locked(c, CC__SEND, item);
}

static __attribute__((noinline)) int recv_contended(CCChan *c, void *item)
{
	cc__lock(&c->lock, CC__RANK_WAITQ);
	return meet_locked(c, CC__RECV, item);
}

/* ---- send and receive ---- */

/* 0, or what is wrong with the call. */
static int check(const CCChan *c, const void *item, size_t size)
{
	if (cc__forked())
		return ENOTSUP;
	return c == NULL || size != c->size || (item == NULL && size > 0) ? EINVAL : 0;
}

int cc_chan_send_until(CCChan *c, const void *item, size_t size, cc_time deadline)
{
	int err = check(c, item, size);

	/* (No kind writes to the element of a send.) */
	return err != 0 ? err : cc__chan_do(c, CC__SEND, (void *)(uintptr_t)item, deadline);
}

int cc_chan_recv_until(CCChan *c, void *item, size_t size, cc_time deadline)
{
	int err = check(c, item, size);

	return err != 0 ? err : cc__chan_do(c, CC__RECV, item, deadline);
}

/* The first try at the ring.  Whatever else there is to do is a call at the end of the function, so
 * that no register is saved for it. */
static inline int send_by_ring(CCChan *c, const void *item, size_t size)
{
	const enum cc__ring_answer a = cc__ring_send_first(cc__ring_of(c), item, size);

	if (__builtin_expect(a != CC__RING_OK, 0))
		return cc__buffered_send_on(c, (void *)(uintptr_t)item, a);
	if (__builtin_expect(cc__ring_others_wait(&cc__ring_of(c)->tail), 0))
		return cc__buffered_wake(c, CC__SEND);
	return 0;
}

static inline int recv_by_ring(CCChan *c, void *item, size_t size)
{
	const enum cc__ring_answer a = cc__ring_recv_first(cc__ring_of(c), item, size);

	if (__builtin_expect(a != CC__RING_OK, 0))
		return cc__buffered_recv_on(c, item, a);
	if (__builtin_expect(cc__ring_others_wait(&cc__ring_of(c)->head), 0))
		return cc__buffered_wake(c, CC__RECV);
	return 0;
}

static inline int send_by_lock(CCChan *c, void *item)
{
	CC_POINT("chan.before_lock", c);
	if (!cc__trylock(&c->lock, CC__RANK_WAITQ))
		return send_contended(c, item);
	return cc__locked_must_wait(c, CC__SEND) ? send_waiting(c, item) : send_locked(c, item);
}

static inline int recv_by_lock(CCChan *c, void *item)
{
	CC_POINT("chan.before_lock", c);
	if (!cc__trylock(&c->lock, CC__RANK_WAITQ))
		return recv_contended(c, item);
	return cc__locked_must_wait(c, CC__RECV) ? recv_waiting(c, item) : recv_locked(c, item);
}

/* Nothing is wrong with the call, if the size is right too. */
static inline bool is_plain(const CCChan *c, const void *item)
{
	return __builtin_expect(c != NULL && item != NULL && !cc__fork_wiped(), 1);
}

int cc_chan_send(CCChan *c, const void *item, size_t size)
{
	if (is_plain(c, item)) {
		if (size == cc__glance(&c->by_ring))
			return send_by_ring(c, item, size);
		if (cc__glance(&c->by_lock) && size == c->size)
			return send_by_lock(c, (void *)(uintptr_t)item);
	}
	return cc_chan_send_until(c, item, size, CC_FOREVER);
}

int cc_chan_recv(CCChan *c, void *item, size_t size)
{
	if (is_plain(c, item)) {
		if (size == cc__glance(&c->by_ring))
			return recv_by_ring(c, item, size);
		if (cc__glance(&c->by_lock) && size == c->size)
			return recv_by_lock(c, item);
	}
	return cc_chan_recv_until(c, item, size, CC_FOREVER);
}

/* ---- several ---- */

/* 0, or what is wrong with the call; *moved is 0 then. */
static int check_many(const CCChan *c, const void *items, size_t size, size_t count, size_t *moved)
{
	int err;

	if (moved == NULL)
		return EINVAL;
	*moved = 0;
	if ((err = check(c, count > 0 ? items : "", size)) != 0)
		return err;
	return c->options.kind == CC_CHAN_KIND_OWNED || c->options.kind == CC_CHAN_KIND_ORDERED
	           ? EINVAL
	           : 0;
}

static size_t some(CCChan *c, enum cc__way way, char *items, size_t count)
{
	const struct cc__chan_way *how = &c->kind->way[way];

	/* Each by itself where they are watched. */
	return how->some != NULL && count != 0 && cc__chan_watch(c) == 0 ? how->some(c, items, count) : 0;
}

int cc_chan_send_many(CCChan *c, const void *items, size_t size, size_t count, cc_time deadline,
                      size_t *moved)
{
	char *from = (char *)(uintptr_t)items;
	int err = check_many(c, items, size, count, moved);

	while (err == 0 && *moved != count) {
		*moved += some(c, CC__SEND, from + *moved * size, count - *moved);
		if (*moved == count)
			break;
		err = cc__chan_do(c, CC__SEND, from + *moved * size, deadline);
		*moved += err == 0;
	}
	return moved != NULL && *moved > 0 ? 0 : err;
}

int cc_chan_recv_many(CCChan *c, void *items, size_t size, size_t count, cc_time deadline,
                      size_t *moved)
{
	int err = check_many(c, items, size, count, moved);

	if (err != 0 || count == 0 || (*moved = some(c, CC__RECV, items, count)) > 0)
		return err;
	if ((err = cc__chan_do(c, CC__RECV, items, deadline)) == 0)
		*moved = 1 + some(c, CC__RECV, (char *)items + size, count - 1);
	return err;
}

/* ---- close ---- */

/* Under the lock: tell as many as the batch holds.  True: there are more. */
static bool tell(CCChan *c, enum cc__way way, struct cc__batch *b)
{
	while (!cc__batch_full(b) &&
	       cc__waitq_take(&c->wait[way], b, CC__REASON_CLOSE, c->kind->told))
		continue;
	return c->wait[way].head != NULL;
}

/* With the lock, which it drops: tell everybody. */
static void tell_all(CCChan *c)
{
	struct cc__batch batch;
	bool more;

	for (cc__batch_init(&batch);; cc__lock(&c->lock, CC__RANK_WAITQ)) {
		more = tell(c, CC__SEND, &batch);
		more |= tell(c, CC__RECV, &batch);
		c->telling = more;
		cc__unlock(&c->lock);
		/* Unless there are more, c is touched no more: who is woken may free it. */
		cc__batch_flush(&batch);
		if (!more)
			return;
	}
}

/* With the lock.  Until all are told, a free of c waits (C4). */
static void tell_others(CCChan *c)
{
	c->telling = true;
	cc__unlock(&c->lock);
	c->kind->close_others(c);
	cc__lock(&c->lock, CC__RANK_WAITQ);
}

static int close_with(CCChan *c, int send_error, int recv_error)
{
	if (cc__forked())
		return ENOTSUP;
	if (c == NULL)
		return EINVAL;
	if (cc__chan_watch(c) & ~(unsigned)CC__CHAN_PROBED)
		cc__chan_closes(c, send_error, recv_error);
	cc__lock(&c->lock, CC__RANK_WAITQ);
	if (c->kind->closed(c)) {
		cc__unlock(&c->lock);
		return 0;
	}
	c->error[CC__SEND] = send_error != 0 ? send_error : EPIPE;
	c->error[CC__RECV] = recv_error != 0 ? recv_error : EPIPE;
	c->kind->close(c);
	if (c->kind->close_others != NULL)
		tell_others(c);
	tell_all(c);
	return 0;
}

int cc_chan_close(CCChan *c)
{
	return close_with(c, 0, 0);
}

int cc_chan_close_error(CCChan *c, int error)
{
	return close_with(c, 0, error);
}

int cc_chan_close_recv(CCChan *c, int error)
{
	return close_with(c, error, 0);
}

/* ---- a look ---- */

size_t cc_chan_len(const CCChan *c)
{
	return c != NULL && !cc__forked() ? c->kind->length(c) : 0;
}

size_t cc_chan_cap(const CCChan *c)
{
	return c != NULL ? c->capacity : 0;
}

int cc_chan_closed(const CCChan *c)
{
	return c != NULL && c->kind->closed(c);
}
