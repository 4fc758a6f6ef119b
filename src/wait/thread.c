/* thread.c - thread records and the thread parker. */
#include "wait/thread.h"

#include "base/lock.h"
#include "base/slab.h"

struct cc__slab cc__thread_slab = CC__SLAB_INIT(struct cc__thread, next);

struct cc__thread *cc__thread_make(void)
{
	struct cc__thread *t = cc__slab_get(&cc__thread_slab);

	if (t == NULL)
		return NULL;
	/* A recycled record keeps its ticket: waits of the thread before are
	 * still told apart from ours.  Relaxed, twice: a late waker may be looking,
	 * but finds OWNED or nothing. */
	if (cc__load(&t->parker.word, CC__RELAXED) == 0)
		cc__store(&t->parker.word, CC__THREAD_BIT | CC__OWNED, CC__RELAXED);
	cc__init(&t->running, &t->parker);
	t->own.waiter.who = &t->parker;
	t->worker = NULL;
	t->pool = NULL;
	t->member = NULL;
	t->at_end = NULL;
	t->other = NULL;
	t->spare_ids = 0;
	cc__store(&t->live, CC__THREAD_LIVE, CC__RELEASE);	/* Release: to the walker's acquire */
	return t;
}

void cc__thread_drop(struct cc__thread *t)
{
	/* Relaxed: our own. */
	CC__CHECK(cc__word_state(cc__load(&t->parker.word, CC__RELAXED)) == CC__OWNED,
	          "thread: ended inside a wait");
	CC__CHECK(t->member == NULL, "thread: ended with a nursery open");
	/* Release: the thread's last wait, to the walker's acquire. */
	cc__store(&t->live, CC__THREAD_NONE, CC__RELEASE);
	cc__slab_put(&cc__thread_slab, t);
}

#ifndef CC__EXPLORE
void cc__thread_walk(bool (*visit)(void *record, void *arg), void *arg)
{
	cc__slab_walk(&cc__thread_slab, visit, arg);
}
#endif

static void at_exit(void *record)
{
	/* Until then it is who it was, to all that it calls. */
	cc__tls_set(record, NULL);
	cc__thread_end(record);
	cc__tls_set(NULL, NULL);
	cc__thread_drop(record);
}

static struct cc__thread *make_own(void)
{
	struct cc__thread *t = cc__thread_make();

	if (t != NULL && cc__tls_set(t, at_exit) != 0) {
		cc__thread_drop(t);
		t = NULL;
	}
	return t;
}

struct cc__thread *cc__thread_self(void)
{
	struct cc__thread *t = cc__tls_get();

	return t != NULL ? t : make_own();
}

_Static_assert(offsetof(struct cc__thread, parker) == 0, "thread_of");

static struct cc__thread *thread_of(struct cc__parker *p)
{
	return (struct cc__thread *)(void *)p;
}

/* Not 0: at the deadline, or the other word has ended it. */
static int sleep_once(struct cc__thread *t, uint64_t word, cc_time deadline)
{
	struct cc__futex_other *o = t->other;

	if (o != NULL && o->end == CC__FUTEX_UNDECIDED)
		return cc__futex_wait_either(&t->parker.word, word, o, deadline);
	return cc__futex_wait64(&t->parker.word, word, deadline);
}

void (*cc__thread_waits_long)(void);

/* Until when a wait sleeps before the monitor looks at it; CC_FOREVER: it does not. */
static cc_time patience(struct cc__thread *t, cc_time deadline)
{
#ifndef CC__EXPLORE
	const cc_time now = cc__now();

	t->own.since = cc__coarse(now);	/* the clock of begin() may be late */
	if (cc__for_word((enum cc__for)t->waiter.what))	/* Relaxed: before PARKED */
		cc__store(&t->which,
		          *(const uint64_t *)(const void *)((const char *)t->waiter.io + CC__WORD_SLEPT_ON),
		          CC__RELAXED);
	if (deadline == CC_FOREVER && t->other == NULL && cc__thread_waits_long != NULL)
		return now + CC__PATIENCE;
#else
	(void)t, (void)deadline;
#endif
	return CC_FOREVER;
}

void cc__thread_sleep(struct cc__parker *p, uint64_t ticket, cc_time deadline)
{
	cc_time look_at = patience(thread_of(p), deadline);

	/* Relaxed: before PARKED, for cc__wait_of. */
	cc__store(&thread_of(p)->deadline, deadline, CC__RELAXED);
	/* A thread's stack is nobody else's, so it commits itself. */
	if (!cc__word_commit(p)) {
		cc__word_resume(p);
		return;
	}
	for (;;) {
		/* Acquire: pairs with the release in cc__word_release. */
		uint64_t w = cc__load(&p->word, CC__ACQUIRE);

		if (cc__word_state(w) == CC__OWNED) {
			if (cc__watched())
				cc__happens_after(p);
			return;
		}
		if (sleep_once(thread_of(p), w, cc__earlier(deadline, look_at)) != 0) {
			if (look_at != CC_FOREVER) {
				look_at = CC_FOREVER;
				cc__thread_waits_long();
				continue;
			}
			if (cc__word_unpark(p, ticket))
				return;
			deadline = CC_FOREVER;	/* claimed: the release will come */
		}
	}
}

void cc__thread_release(struct cc__parker *p)
{
	cc__word_release(p);
	cc__futex_wake64(&p->word);
}
