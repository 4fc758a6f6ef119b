/* shim_select.h - what a program of the explorer needs for chan/select.c: no tasks, and memory.
 * Included by one file of a program, after shim_chan.h. */
#ifndef MC_SHIM_SELECT_H
#define MC_SHIM_SELECT_H

#include <ccc/select.h>

#include "chan/settings.h"
#include "io/poll_case.h"
#include "os/poller.h"
#include "os/signal.h"
#include "task/frame.h"

/* No tasks here. */
const struct cc__waitable_ops cc__task_ops = {0};

/* Nor descriptors. */
const struct cc__waitable_ops cc__fd_case_ops = {0};

int cc__poller_look(int fd, unsigned events, unsigned *ready)
{
	(void)fd, (void)events, (void)ready;
	mc_fail("no descriptor is selected on");
}

int cc__signal_take(int fd, int *which)
{
	(void)fd, (void)which;
	mc_fail("no signal is selected on");
}

int cc_task_join(CCTask task, cc_time deadline, int *result)
{
	(void)task, (void)deadline, (void)result;
	mc_fail("no task is selected on");
}

int cc_sleep_until(cc_time deadline)
{
	(void)deadline;
	mc_fail("every select has a case");
}

static void *shim_alloc(void *context, size_t size)
{
	(void)context;
	return mc_alloc_zero(size);
}

static void shim_free(void *context, void *p, size_t size)
{
	(void)context, (void)size;
	mc_free(p);
}
const CCAllocator cc__default_allocator = {.alloc = shim_alloc, .free = shim_free};

#endif
