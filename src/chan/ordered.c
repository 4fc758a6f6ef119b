/* ordered.c - handles of tasks, received in the order in which they were sent.
 *
 * A handle is worth something: what the channel does not hand on, it joins. */
#include <ccc/task.h>

#include <errno.h>

#include "chan/locked.h"
#include "os/fork.h"

/* Wait for its end.  Who is cancelled meanwhile does not: it ends alone then. */
static void see_through(const CCTask *task)
{
	if (cc_task_join(*task, CC_FOREVER, NULL) != 0)
		cc_task_detach(*task);
}

static int finish_send(CCChan *c, void *item, int result)
{
	(void)c;
	if (result == CC__CLOSED)
		see_through(item);
	return result;
}

static void empty(CCChan *c)
{
	void *item;

	while ((item = cc__locked_take(c)) != NULL)
		if (c->options.drop != NULL)
			cc__chan_drop(c, item);
		else
			see_through(item);
}

const struct cc__chan_kind cc__ordered = {
    .way = {[CC__SEND] = {.settle = cc__locked_send,
                          .some = cc__locked_send_some,
                          .finish = finish_send},
            [CC__RECV] = {.settle = cc__locked_recv, .some = cc__locked_recv_some}},
    .empty = empty,
    CC__LOCKED_COMMON,
};

int cc_chan_spawn(CCChan *c, const CCTaskOptions *options, cc_task_main *main, void *arg,
                  cc_time deadline)
{
	CCTask task;
	int err;

	if (cc__forked())
		return ENOTSUP;
	if (c == NULL || c->kind != &cc__ordered)
		return EINVAL;
	if ((err = cc_task_spawn(NULL, &task, options, main, arg)) != 0)
		return err;
	err = cc_chan_send_until(c, &task, sizeof task, deadline);
	if (err != 0)
		see_through(&task);	/* does nothing to a handle that is used up */
	return err;
}
