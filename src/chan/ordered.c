/* ordered.c - handles of tasks, received in the order in which they were sent.
 *
 * An element begins with a CCTask; the bytes behind it are the user's.  What the channel does not
 * hand on, it joins. */
#include <ccc/task.h>

#include <string.h>

#include "chan/locked.h"
#include "sched/fiber.h"
#include "sched/sched.h"

/* A child of the caller's own nursery is cancelled with the caller, so the caller waits for it
 * in any case.  Nothing that reaches the caller need end another task, so a caller that is
 * cancelled does not wait for that: the task ends by itself. */
void cc__ordered_see_through(const void *item)
{
	const void *nursery = cc__scope_here();
	CCTask task;

	memcpy(&task, item, sizeof task);	/* elements need not be aligned */
	if (nursery != NULL && cc__task_is_child_of(task, nursery))
		cc__task_join_anyway(task);
	else if (cc_task_join(task, CC_FOREVER, NULL) != 0)
		cc_task_detach(task);
}

static int finish_send(CCChan *c, void *item, int result)
{
	(void)c;
	if (result == CC__CLOSED)
		cc__ordered_see_through(item);
	return result;
}

static void empty(CCChan *c)
{
	void *item;

	while ((item = cc__locked_take(c)) != NULL)
		if (c->options.drop != NULL)
			cc__chan_drop(c, item);
		else
			cc__ordered_see_through(item);
}

const struct cc__chan_kind cc__ordered = {
    .way = {[CC__SEND] = {.settle = cc__locked_send,
                          .some = cc__locked_send_some,
                          .finish = finish_send},
            [CC__RECV] = {.settle = cc__locked_recv, .some = cc__locked_recv_some}},
    .empty = empty,
    CC__LOCKED_COMMON,
};
