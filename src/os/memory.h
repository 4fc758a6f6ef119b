/* memory.h - telling the tools what of our memory is handed out.
 *
 * AddressSanitizer and Valgrind know malloc.  What is carved from a larger piece
 * they have to be told; without them both calls are nothing. */
#ifndef CC__OS_MEMORY_H
#define CC__OS_MEMORY_H

#include <stddef.h>

#include "os/context.h" /* CC__ASAN */

#if defined(CC__ASAN)
#include <sanitizer/asan_interface.h>
#define CC__MEMORY_WATCHED 1
#elif defined(CC__VALGRIND_MEMORY)
#include <valgrind/memcheck.h>
#define CC__MEMORY_WATCHED 1
#else
#define CC__MEMORY_WATCHED 0
#endif

/* Nobody may touch it. */
static inline void cc__memory_hide(const void *p, size_t size)
{
#if defined(CC__ASAN)
	__asan_poison_memory_region(p, size);
#elif defined(CC__VALGRIND_MEMORY)
	VALGRIND_MAKE_MEM_NOACCESS(p, size);
#else
	(void)p, (void)size;
#endif
}

/* It is somebody's, and holds anything. */
static inline void cc__memory_show(const void *p, size_t size)
{
#if defined(CC__ASAN)
	__asan_unpoison_memory_region(p, size);
#elif defined(CC__VALGRIND_MEMORY)
	VALGRIND_MAKE_MEM_UNDEFINED(p, size);
#else
	(void)p, (void)size;
#endif
}

#endif
