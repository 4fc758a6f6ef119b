/* page.h - memory by the page, and who sees it where.
 *
 * G1  All memory lies at BASE in the kernel's part of every table: the upper half, the same
 *     for all.  The kernel reads and writes through these addresses, never through a
 *     process's: what a process names is looked up in its table first (page_find).
 * G2  A process's table maps the lower half, up to PAGE_USER_END, and only there is the user
 *     bit set.  What is not mapped with a right cannot be used that way by the process.
 * G3  Pages are handed out zero, in runs without a gap. */
#ifndef KERNEL_PAGE_H
#define KERNEL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAGE_SIZE = 4096 };
#define PAGE_BASE UINT64_C(0xffffffff80000000)
/* The last page stays free: no system call returns to an address beyond it. */
#define PAGE_USER_END UINT64_C(0x7ffffffff000)

enum { PAGE_READ = 1, PAGE_WRITE = 2, PAGE_RUN = 4 };

typedef struct page_table {
	uint64_t entry[512];
} page_table;

extern page_table page_kernel_top;	/* boot.S: without a lower half */

/* Memory from the end of the kernel up to `end`, a physical address. */
void page_start(uint64_t end);

/* A run of pages; NULL: there is none as long. */
void *page_get(size_t count);
void page_put(void *pages, size_t count);
size_t page_left(void);

/* A table without a lower half; NULL: no memory. */
page_table *page_table_new(void);
/* The tables go, not what they map. */
void page_table_free(page_table *top);
void page_table_use(const page_table *top);

/* The page at `memory` is seen at `address` with these rights; with none it is not seen.
 * Whatever was there before is not any longer.  False: no memory for tables. */
bool page_map(page_table *top, uint64_t address, const void *memory, unsigned rights);
void page_unmap(page_table *top, uint64_t address);

/* Where the kernel finds the byte at `address`, if the process has all these rights on it;
 * NULL: it has not. */
void *page_find(const page_table *top, uint64_t address, unsigned rights);

#endif
