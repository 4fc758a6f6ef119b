/* peek.c - the kernel copies, and returns an error where a load would be a fault. */
#include "os/peek.h"

#include <sys/uio.h>
#include <unistd.h>

bool cc__copy_if_mapped(void *to, const void *from, size_t size)
{
	struct iovec here = {to, size}, there = {(void *)(size_t)from, size};

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}
