/* mappings.h - how much a program has mapped, and a mmap that may be told to fail.
 * For a program with `link-wrap: mmap munmap`, included by one of its files. */
#ifndef TEST_MAPPINGS_H
#define TEST_MAPPINGS_H

#include <stdbool.h>
#include <sys/mman.h>

static bool mmap_fails;
static size_t mapped;	/* bytes that are not given back yet */

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (mmap_fails)
		return MAP_FAILED;
	mapped += size;
	return __real_mmap(at, size, prot, flags, fd, offset);
}

int __real_munmap(void *, size_t);
int __wrap_munmap(void *, size_t);
int __wrap_munmap(void *at, size_t size)
{
	mapped -= size;
	return __real_munmap(at, size);
}

#endif
