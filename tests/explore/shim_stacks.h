/* shim_stacks.h - what task/frame.c needs to give a task a stack of its own size, in a scenario
 * whose tasks have none: nobody asks.  Included by one file of a program. */
#ifndef MC_SHIM_STACKS_H
#define MC_SHIM_STACKS_H

#include "engine.h"
#include "sched/sched.h"

__attribute__((weak)) unsigned cc__stack_order_for(const struct cc__stack_pool *p, size_t size)
{
	(void)p, (void)size;
	mc_fail("shim: nobody asks for stacks");
}

__attribute__((weak)) bool cc__stack_pool_stock(struct cc__stack_pool *p, unsigned order)
{
	(void)order;
	return cc__stack_order_for(p, 0) == 0;
}

__attribute__((weak)) struct cc__sched *cc__sched_here(void)
{
	return NULL;
}

#endif
