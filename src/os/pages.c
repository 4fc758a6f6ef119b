/* pages.c - Linux pages.  Debian 12's headers do not know guard regions yet, so
 * their numbers stand here. */
#include "os/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/tools.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

size_t cc__page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void *map(size_t size)
{
	void *p;

	cc__quiet_begin();
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	         -1, 0);
	cc__quiet_end();
	return p != MAP_FAILED ? p : NULL;
}

void *cc__pages_map(size_t size)
{
	void *p = map(size);

	/* A stack that touches one page must not be charged 2 MB for it.  Where
	 * the kernel has no huge pages it says EINVAL, which is as good. */
	if (p != NULL)
		(void)madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

void cc__pages_unmap(void *p, size_t size)
{
	cc__quiet_begin();
	(void)munmap(p, size);
	cc__quiet_end();
}

/* Huge pages lie at multiples of their size: from more than is wanted, what does. */
void *cc__pages_map_dense(size_t size)
{
	const size_t huge = 2 << 20;
	char *p = map(size + huge);
	size_t before;

	if (p == NULL)
		return NULL;
	before = (huge - (uintptr_t)p % huge) % huge;
	if (before > 0)
		cc__pages_unmap(p, before);
	cc__pages_unmap(p + before + size, huge - before);
	(void)madvise(p + before, size, MADV_HUGEPAGE);	/* a favour */
	return p + before;
}

/* (Linux 5.14; the headers of older systems lack the number.) */
enum { POPULATE_WRITE = 23 };

void cc__pages_populate(void *p, size_t size)
{
	(void)madvise(p, size, POPULATE_WRITE);
}

void cc__pages_discard(void *p, size_t size)
{
	(void)madvise(p, size, MADV_DONTNEED);
}

/* An emulator (qemu-user) that nods at every advice follows none. */
static bool nods_at_everything(void *p, size_t size)
{
	return madvise(p, size, 0x7fffffff) == 0;
}

bool cc__pages_wipe_on_fork(void *p, size_t size)
{
	return madvise(p, size, MADV_WIPEONFORK) == 0 && !nods_at_everything(p, size);
}

int cc__pages_guard(void *p, size_t size, enum cc__guard_kind how)
{
	int r = how == CC__GUARD_LIGHT ? madvise(p, size, MADV_GUARD_INSTALL)
	                               : mprotect(p, size, PROT_NONE);

	return r == 0 ? 0 : errno;
}

enum cc__guard_kind cc__guard_best(void)
{
	const size_t page = cc__page_size();
	void *p = cc__pages_map(page);
	int err;

	if (p == NULL)
		return CC__GUARD_SPLIT;
	err = cc__pages_guard(p, page, CC__GUARD_LIGHT);
	if (err == 0 && nods_at_everything(p, page))
		err = ENOTSUP;
	cc__pages_unmap(p, page);
	return err == 0 ? CC__GUARD_LIGHT : CC__GUARD_SPLIT;
}

long cc__map_count_max(void)
{
	char text[32];
	long max = 65530;
	int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		ssize_t n = read(fd, text, sizeof text - 1);

		if (n > 0) {
			text[n] = '\0';
			max = strtol(text, NULL, 10);
		}
		close(fd);
	}
	return max;
}
