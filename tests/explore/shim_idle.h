/* shim_idle.h - what sleeping workers rely on, where there is no poller and no queue grows.
 * Included by one file of a program, which links sched/idle.c and sched/runq.c. */
#ifndef MC_SHIM_IDLE_H
#define MC_SHIM_IDLE_H

#include "shim_runq.h"
#include "shim_pages.h"
#include "sched/idle.h"

void cc__say_all(const char *first, ...)
{
	(void)first;
}

void cc__poll_ring(struct cc__bell *b)
{
	(void)b;
	mc_fail("nobody sleeps in the poller");
}

void cc__pages_unmap(void *p, size_t size)
{
	(void)p, (void)size;
	mc_fail("no ring has grown");
}

#endif
