/* names.c - the queue of lookups and the threads that make them. */
#include "io/names.h"

#include <errno.h>

#include "base/slab.h"
#include "os/fork.h"
#include "wait/thread.h"
#include "wait/wait.h"

struct lookup {
	struct lookup *next;		/* names_lock; and the slab's */
	struct cc__waitq done;		/* `user`: 1 once `result` is there */
	int result;			/* done.lock */
	struct cc__addresses list;	/* the thread's until it is done, then constant */
	cc__a32 references;		/* NAMES-2 */
};

static struct cc__slab lookups = CC__SLAB_INIT(struct lookup, next);

static struct cc__lock names_lock;
static struct lookup *first_lookup, *last_lookup;	/* names_lock; oldest first */
static unsigned name_threads;				/* names_lock */

static void drop_lookup(struct lookup *l)
{
	/* Acq_rel: what the other one did with it, before its memory serves another lookup. */
	if (cc__sub(&l->references, 1, CC__ACQ_REL) == 1)
		cc__slab_put(&lookups, l);
}

/* ---- the threads ---- */

/* NULL: the calling thread no longer counts (NAMES-1). */
static struct lookup *next_lookup(void)
{
	struct lookup *l;

	cc__lock(&names_lock, CC__RANK_WAITQ);
	if ((l = first_lookup) != NULL)
		first_lookup = l->next;
	else
		name_threads--;
	cc__unlock(&names_lock);
	return l;
}

static void tell_caller(struct lookup *l, int result)
{
	cc__lock(&l->done.lock, CC__RANK_WAITQ);
	l->result = result;
	l->done.user = 1;
	cc__unlock(&l->done.lock);
	cc__wake_all(&l->done, CC__REASON_DATA, 0);
}

static void look_up_all(void *unused)
{
	struct lookup *l;

	(void)unused;
	while ((l = next_lookup()) != NULL) {
		tell_caller(l, cc__address_look_up(&l->list));
		drop_lookup(l);
	}
	cc__fork_unwatch();
}

/* ---- the queue ---- */

/* Under names_lock. */
static void append_lookup(struct lookup *l)
{
	l->next = NULL;
	if (first_lookup == NULL)
		first_lookup = l;
	else
		last_lookup->next = l;
	last_lookup = l;
}

/* False: a thread has it. */
static bool withdraw_lookup(struct lookup *l)
{
	struct lookup *before = NULL, *at;

	cc__lock(&names_lock, CC__RANK_WAITQ);
	for (at = first_lookup; at != NULL && at != l; at = at->next)
		before = at;
	if (at != NULL) {
		*(before != NULL ? &before->next : &first_lookup) = l->next;
		if (last_lookup == l)
			last_lookup = before;
	}
	cc__unlock(&names_lock);
	return at != NULL;
}

/* A thread that was counted. */
static int start_thread(void)
{
	struct cc__os_thread thread;
	int err;

	cc__fork_watch();	/* a child would have no such thread */
	if ((err = cc__thread_start(&thread, look_up_all, NULL, "cc-names")) == 0)
		cc__thread_detach(thread);
	else
		cc__fork_unwatch();
	return err;
}

/* A thread that was counted did not start.  If there is no other one, no thread comes to the queue
 * (NAMES-1), and its lookups have failed. */
static void without_thread(int err)
{
	struct lookup *l = NULL, *next;

	cc__lock(&names_lock, CC__RANK_WAITQ);
	if (--name_threads == 0) {
		l = first_lookup;
		first_lookup = NULL;
	}
	cc__unlock(&names_lock);
	for (; l != NULL; l = next) {
		next = l->next;
		tell_caller(l, err);
		drop_lookup(l);
	}
}

static void enqueue_lookup(struct lookup *l)
{
	bool start;
	int err;

	cc__lock(&names_lock, CC__RANK_WAITQ);
	append_lookup(l);
	if ((start = name_threads < CC__NAME_THREADS))
		name_threads++;
	cc__unlock(&names_lock);
	if (start && (err = start_thread()) != 0)
		without_thread(err);
}

/* ---- the caller ---- */

static int until_done(struct lookup *l, cc_time deadline)
{
	struct cc__waiter w = {.what = CC__FOR_CALL};

	CC__EVENT(CC__EV_FOR, cc__self(), CC__FOR_CALL, 0);
	cc__lock(&l->done.lock, CC__RANK_WAITQ);
	if (l->done.user == 0)
		return cc__wait(&l->done, &w, deadline);
	cc__unlock(&l->done.lock);
	return 0;
}

/* It is queued. */
static int answer_of(struct lookup *l, struct cc__addresses *list, cc_time deadline)
{
	const int err = until_done(l, deadline);

	if (err == 0) {
		if (l->result == 0)
			*list = l->list;
		return l->result;
	}
	CC_POINT("names.caller_leaves", l);
	if (withdraw_lookup(l))
		drop_lookup(l);
	return err;
}

int cc__names_look_up(struct cc__addresses *list, cc_time deadline)
{
	struct lookup *l;
	int err;

	if (cc__forked())
		return ENOTSUP;
	if (deadline == CC_NOW)
		return EAGAIN;
	if ((l = cc__slab_get(&lookups)) == NULL)
		return ENOMEM;
	l->done = (struct cc__waitq){0};
	l->list = *list;
	cc__init(&l->references, 2);
	enqueue_lookup(l);
	err = answer_of(l, list, deadline);
	drop_lookup(l);
	return err;
}
