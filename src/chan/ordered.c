/* ordered.c - handles of tasks, received in the order in which they were sent.
 *
 * An element begins with a CCTask; the bytes behind it are the user's.  A task whose handle the
 * channel does not hand on is joined.
 *
 * ORDERED-1  A join that may outlast the cancellation of its caller is made only if that
 *            cancellation reaches the task as well (cc__task_is_cancelled_with_caller).  Nothing
 *            need ever end another task, and a cancelled caller must not wait for it.
 * ORDERED-2  A send never gives up the handle of a task that runs: a send that cannot join the
 *            task returns the reason, and the handle is still the caller's. */
#include <ccc/task.h>

#include <errno.h>
#include <string.h>

#include "chan/locked.h"
#include "task/frame.h"
#include "sched/sched.h"

static CCTask task_of(const void *item)
{
	CCTask task;

	memcpy(&task, item, sizeof task);	/* elements need not be aligned */
	return task;
}

/* Joins the task, however long that takes.  0 also if the handle is consumed already; otherwise
 * the error of cc_task_join (ORDERED-1). */
static int join_unsent(CCTask task)
{
	const int err = cc__task_is_cancelled_with_caller(task)
	                    ? cc__task_join_anyway(task)
	                    : cc_task_join(task, CC_FOREVER, NULL);

	return err == EINVAL ? 0 : err;
}

static int finish_send(CCChan *c, void *item, int result)
{
	int err = 0;

	(void)c;
	if (result == CC__CLOSED)
		err = join_unsent(task_of(item));
	return err != 0 ? err : result;	/* ORDERED-2 */
}

/* The channel ends, so a handle cannot stay in it.  A task that cannot be joined is detached: its
 * nursery or its runtime still waits for it. */
static void empty(CCChan *c)
{
	void *item;

	while ((item = cc__locked_take(c)) != NULL)
		if (c->options.drop != NULL)
			cc__chan_drop(c, item);
		else if (join_unsent(task_of(item)) != 0)
			cc_task_detach(task_of(item));
}

const struct cc__chan_kind cc__ordered = {
    .way = {[CC__SEND] = {.settle = cc__locked_send,
                          .some = cc__locked_send_some,
                          .finish = finish_send},
            [CC__RECV] = {.settle = cc__locked_recv, .some = cc__locked_recv_some}},
    .empty = empty,
    CC__LOCKED_COMMON,
};
