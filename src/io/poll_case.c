/* poll_case.c - listing a case, and the poll of threads. */
#include "io/poll_case.h"

#include <errno.h>
#include <stdlib.h>

#include "io/poll.h"
#include "os/fork.h"

/* ---- the poll of threads ---- */

#define IDLE_END CC_SEC

static void *alloc_zeroed(void *context, size_t size)
{
	(void)context;
	return calloc(1, size);
}

static void release(void *context, void *memory, size_t size)
{
	(void)context, (void)size;
	free(memory);
}

static const CCAllocator allocator = {alloc_zeroed, release, NULL};
static struct cc__poll threads_poll = {.allocator = &allocator};

/* A second thread finds the first one there and ends. */
static void attend_threads(void *unused)
{
	struct cc__poll *p = &threads_poll;

	(void)unused;
	do
		cc__poll_run(p, cc__from_now(IDLE_END));
	while (cc__poll_unattended(p));
}

/* A child has no such thread, and shares the descriptors of the poll with its parent: it must not
 * use the poll, whenever it was forked. */
static void watch_forks(void)
{
	static cc__a32 watched;

	/* Relaxed: the exchange picks one caller. */
	if (cc__xchg(&watched, 1, CC__RELAXED) == 0)
		cc__fork_watch();
}

static int attend(struct cc__poll *p)
{
	struct cc__os_thread thread;
	int err;

	if (!cc__poll_unattended(p))
		return 0;
	watch_forks();
	if ((err = cc__thread_start(&thread, attend_threads, NULL, "cc-select")) == 0)
		cc__thread_detach(thread);
	return err;
}

/* ---- the case ---- */

static bool called_by_thread(void)
{
	return cc__poll_here() == NULL;
}

static struct cc__poll *poll_of_caller(void)
{
	return called_by_thread() ? &threads_poll : cc__poll_here();
}

static int list_fd(struct cc__poll *p, int fd, struct cc__waiter *w)
{
	int err;

	if ((err = cc__poll_list(p, fd, w)) != 0)
		return err == EPERM ? 0 : err;
	if (!called_by_thread() || (err = attend(p)) == 0)
		return EINPROGRESS;
	cc__poll_unlist(p, w);
	return err;
}

/* False: it is over already, and decides the group unless another case has. */
static bool publish_fd(void *object, struct cc__waiter *w)
{
	int err;

	if (w->lock != NULL)
		return cc__poll_is_listed(w);
	if ((err = list_fd(poll_of_caller(), *(const int *)object, w)) == EINPROGRESS)
		return true;
	w->result = err;
	cc__group_claim(w->group, w->index);
	return false;
}

static bool unpublish_fd(void *object, struct cc__waiter *w)
{
	(void)object;
	return w->lock != NULL && cc__poll_unlist(poll_of_caller(), w);
}

const struct cc__waitable_ops cc__fd_case_ops = {NULL, publish_fd, unpublish_fd};
