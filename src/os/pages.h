/* pages.h - memory by the page: reserved, guarded, given back. */
#ifndef CC__OS_PAGES_H
#define CC__OS_PAGES_H

#include <stdbool.h>
#include <stddef.h>

size_t cc__page_size(void);

/* Address space that costs memory only where it is touched; never huge pages.
 * NULL if the system has none. */
void *cc__pages_map(size_t size);
/* As many bytes that will all be used, so that they may come in huge pages: a fault for two
 * megabytes, not for four kilobytes. */
void *cc__pages_map_dense(size_t size);
void cc__pages_unmap(void *p, size_t size);

/* Give the memory back, keep the addresses: reads as zero afterwards. */
void cc__pages_discard(void *p, size_t size);

/* A child of fork finds zeroes there.  False: the system cannot do that. */
bool cc__pages_wipe_on_fork(void *p, size_t size);

/* About to be written, all of it: one call instead of a fault for each page.  A
 * favour; it may do nothing. */
void cc__pages_populate(void *p, size_t size);

/* How a page is made to trap.  LIGHT leaves the mapping in one piece
 * (MADV_GUARD_INSTALL, Linux 6.13); SPLIT costs two mappings of the
 * vm.max_map_count that a process may have. */
enum cc__guard_kind { CC__GUARD_LIGHT, CC__GUARD_SPLIT };

/* The better one that works here. */
enum cc__guard_kind cc__guard_best(void);
/* 0 or an error number. */
int cc__pages_guard(void *p, size_t size, enum cc__guard_kind how);

/* vm.max_map_count, or its usual default where it cannot be read. */
long cc__map_count_max(void);

#endif
