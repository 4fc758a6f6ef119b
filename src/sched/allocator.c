/* allocator.c - the default allocator, and that of a runtime. */
#include "sched/allocator.h"

#include <stdlib.h>

#include "os/tools.h"
#include "sched/sched.h"

static void *default_alloc(void *context, size_t size)
{
	void *p;

	(void)context;
	cc__quiet_begin();
	p = calloc(1, size);
	cc__quiet_end();
	return p;
}

static void default_free(void *context, void *p, size_t size)
{
	(void)context, (void)size;
	cc__quiet_begin();
	free(p);
	cc__quiet_end();
}

const CCAllocator cc__default_allocator = {.alloc = default_alloc, .free = default_free};

const CCAllocator *cc__allocator_of(const CCRuntime *runtime)
{
	return runtime != NULL ? &((const struct cc__sched *)(const void *)runtime)->config.allocator
	                       : &cc__default_allocator;
}
