/* allocator.h - where the memory of channels, arenas, tokens and nurseries comes from. */
#ifndef CC__SCHED_ALLOCATOR_H
#define CC__SCHED_ALLOCATOR_H

#include <ccc/runtime.h>

/* The C library's; it gives zeroed memory. */
extern const CCAllocator cc__default_allocator;

/* Returns the allocator of `runtime`; NULL: the default one. */
const CCAllocator *cc__allocator_of(const CCRuntime *runtime);

#endif
