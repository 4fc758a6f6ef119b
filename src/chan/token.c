/* token.c - a flag that is set once, and those who wait for it.
 *
 * T1  Who waits is listed in one of many shards, by who he is: those on different cores
 *     rarely meet in a lock.  Only who sets the token passes all of them.
 * T2  The flag is set before the first shard is visited, and looked at under the lock of
 *     the shard before somebody is listed there: he sees it, or is found.
 * T3  Who has waited may free it while the one who set it still visits shards: the free
 *     waits for that one, whose last touch is the flag's last change. */
#include "chan/token.h"

#include <errno.h>

#include "base/freed.h"
#include "sched/allocator.h"
#include "os/fork.h"
#include "wait/thread.h"

enum { SHARDS = 32, LINE = 64 };

enum { UNSET, WAKING, SET };	/* to everybody but T3, WAKING is set */

struct shard {
	struct cc__waitq q;
	char apart[LINE - sizeof(struct cc__waitq)];
};

/* What `life` is after the free, until the memory is used for something else. */
#define FREED UINT32_C(0xf4eed070)

struct CCToken {
	cc__a32 set;	/* UNSET, WAKING, then SET for ever */
	char apart[LINE - sizeof(cc__a32)];
	struct shard shard[SHARDS];
	uint32_t life;	/* constant until the free; last: allocators write to the front */
};

/* The memory is the allocator's after the free, so this is no more than an attempt. */
static void check_life(const CCToken *t, const char *call)
{
	if (__builtin_expect(t->life == FREED, 0))
		cc__freed("token", t, "", call);
}

/* ---- to wait for it ---- */

static bool is_set(const CCToken *t)
{
	/* Acquire: what was written before it was set, from cc_token_set. */
	const bool set = cc__load(&t->set, CC__ACQUIRE) != UNSET;

	if (cc__watched() && set)
		cc__happens_after(t);
	return set;
}

static struct cc__waitq *shard_of(CCToken *t, const struct cc__waiter *w)
{
	/* The high bits of a product depend on all bits of the address. */
	return &t->shard[(uintptr_t)w->who * UINT64_C(0x9e3779b97f4a7c15) >> 59].q;
}

static bool try_complete(void *object, struct cc__waiter *w)
{
	w->result = 0;
	return is_set(object);
}

/* Under the shard's lock: list w.  False: it is set. */
static bool list(CCToken *t, struct cc__waitq *q, struct cc__waiter *w)
{
	if (is_set(t)) {
		w->result = 0;
		if (w->index != 0)
			cc__group_claim(w->group, w->index);
		return false;
	}
	cc__waitq_append(q, w);
	return true;
}

static bool publish(void *object, struct cc__waiter *w)
{
	struct cc__waitq *q = shard_of(object, w);
	bool listed;

	cc__lock(&q->lock, CC__RANK_WAITQ);
	listed = w->next != NULL;
	/* Relaxed: written under this lock. */
	if (!listed && cc__load(&w->reason, CC__RELAXED) == CC__REASON_NONE)
		listed = list(object, q, w);
	cc__unlock(&q->lock);
	return listed;
}

static bool unpublish(void *object, struct cc__waiter *w)
{
	return w->lock != NULL && cc__waitq_ops.unpublish(shard_of(object, w), w);
}

const struct cc__waitable_ops cc__token_ops = {try_complete, publish, unpublish};

int cc_token_wait(CCToken *t, cc_time deadline)
{
	struct cc__waiter w = {.io = t, .what = CC__FOR_TOKEN};

	if (cc__forked())
		return ENOTSUP;
	if (t == NULL)
		return EINVAL;
	check_life(t, "cc_token_wait");
	CC__EVENT(CC__EV_FOR, cc__self(), CC__FOR_TOKEN, (uintptr_t)t);
	return cc__fiber_wait(t, &cc__token_ops, &w, deadline);
}

/* ---- to set it ---- */

int cc_token_set(CCToken *t)
{
	uint32_t unset = UNSET;

	if (cc__forked())
		return ENOTSUP;
	if (t == NULL)
		return EINVAL;
	check_life(t, "cc_token_set");
	if (cc__watched())
		cc__happens_before(t);
	/* Release: what the caller wrote, to the acquire in is_set.  Acquire: who comes
	 * second has what the first one wrote, too. */
	if (!cc__cas(&t->set, &unset, WAKING, CC__RELEASE, CC__ACQUIRE))
		return 0;
	for (unsigned i = 0; i < SHARDS; i++)
		cc__wake_all(&t->shard[i].q, CC__REASON_SIGNAL, 0);
	/* Release: all of the above, to the acquire in cc_token_free (T3). */
	cc__store(&t->set, SET, CC__RELEASE);
	return 0;
}

int cc_token_is_set(const CCToken *t)
{
	return t != NULL && is_set(t);
}

/* ---- life ---- */

CCToken *cc_token_new(void)
{
	return cc__forked()
	           ? NULL
	           : cc__default_allocator.alloc(cc__default_allocator.context, sizeof(CCToken));
}

int cc_token_free(CCToken *t)
{
	bool busy = false;

	if (cc__forked())
		return ENOTSUP;
	if (t == NULL)
		return 0;
	check_life(t, "a second cc_token_free");
	for (unsigned i = 0; i < SHARDS; i++) {
		cc__lock(&t->shard[i].q.lock, CC__RANK_WAITQ);
		busy |= t->shard[i].q.head != NULL;
		cc__unlock(&t->shard[i].q.lock);
	}
	if (busy)
		return EBUSY;
	/* Acquire: the last touch of whoever set it, from cc_token_set (T3).  It is on its
	 * way: a set never parks. */
	while (cc__load(&t->set, CC__ACQUIRE) == WAKING)
		cc__thread_yield();
	t->life = FREED;
	cc__default_allocator.free(cc__default_allocator.context, t, sizeof *t);
	return 0;
}
