/* page.c - a map of what is taken, and tables of four levels. */
#include "page.h"

#include "cpu.h"
#include "kernel.h"

/* ---- memory ---- */

enum { PAGES = 1 << 15 };		/* at most: 128 MB */

static uint8_t taken[PAGES];
static size_t first, end, left;

static void *at(size_t page)
{
	return (void *)(PAGE_BASE + page * PAGE_SIZE);
}

static uint64_t physical(const void *p)
{
	return (uintptr_t)p - PAGE_BASE;
}

void page_start(uint64_t limit)
{
	extern char kernel_end[];

	first = physical(kernel_end) / PAGE_SIZE;
	end = limit / PAGE_SIZE < PAGES ? limit / PAGE_SIZE : PAGES;
	left = end - first;
	page_kernel_top.entry[0] = 0;	/* G2 */
	page_table_use(&page_kernel_top);
}

/* The last page of the first `count` that are free in a row, from `from`; 0: none. */
static size_t run_end(size_t from, size_t count)
{
	size_t run = 0;

	for (size_t i = from; i < end; i++) {
		run = taken[i] ? 0 : run + 1;
		if (run == count)
			return i;
	}
	return 0;
}

void *page_get(size_t count)
{
	const size_t last = run_end(first, count);
	uint64_t *words;

	if (last == 0)
		return NULL;
	for (size_t i = 0; i < count; i++)
		taken[last - i] = 1;
	left -= count;
	words = at(last + 1 - count);
	for (size_t i = 0; i < count * PAGE_SIZE / sizeof *words; i++)
		words[i] = 0;
	return words;
}

void page_put(void *pages, size_t count)
{
	const size_t page = physical(pages) / PAGE_SIZE;

	for (size_t i = page; i < page + count; i++) {
		CC__CHECK(taken[i], "page: given back twice");
		taken[i] = 0;
	}
	left += count;
}

size_t page_left(void)
{
	return left;
}

/* ---- tables ---- */

#define PRESENT UINT64_C(1)
#define WRITABLE UINT64_C(2)
#define USER UINT64_C(4)
#define NEVER_RUN (UINT64_C(1) << 63)
#define ADDRESS UINT64_C(0x000ffffffffff000)

enum { LEVELS = 4, HALF = 256 };

static page_table *below(uint64_t entry)
{
	return (page_table *)(PAGE_BASE + (entry & ADDRESS));
}

static unsigned index_of(uint64_t address, unsigned level)
{
	return address >> (12 + 9 * level) & 511;
}

page_table *page_table_new(void)
{
	page_table *top = page_get(1);

	if (top != NULL)
		for (unsigned i = HALF; i < 512; i++)
			top->entry[i] = page_kernel_top.entry[i];
	return top;
}

static void free_tables(page_table *t, unsigned level, unsigned entries)
{
	for (unsigned i = 0; level > 0 && i < entries; i++)
		if (t->entry[i] & PRESENT)
			free_tables(below(t->entry[i]), level - 1, 512);
	page_put(t, 1);
}

void page_table_free(page_table *top)
{
	free_tables(top, LEVELS - 1, HALF);
}

void page_table_use(const page_table *top)
{
	cpu_use_table(physical(top));
}

/* The entry of `address` in the lowest table; NULL: there is no such table, and `make` does
 * not ask for one, or there is no memory. */
static uint64_t *entry_of(page_table *t, uint64_t address, bool make)
{
	for (unsigned level = LEVELS - 1; level > 0; level--) {
		uint64_t *e = &t->entry[index_of(address, level)];

		if (!(*e & PRESENT)) {
			void *fresh = make ? page_get(1) : NULL;

			if (fresh == NULL)
				return NULL;
			*e = physical(fresh) | PRESENT | WRITABLE | USER;
		}
		t = below(*e);
	}
	return &t->entry[index_of(address, 0)];
}

static uint64_t bits_of(unsigned rights)
{
	if (!(rights & PAGE_READ))
		return 0;
	return PRESENT | USER | (rights & PAGE_WRITE ? WRITABLE : 0) |
	       (rights & PAGE_RUN ? 0 : NEVER_RUN);
}

bool page_map(page_table *top, uint64_t address, const void *memory, unsigned rights)
{
	uint64_t *e = entry_of(top, address, true);

	CC__CHECK(address < PAGE_USER_END, "G2: the upper half is the kernel's");
	if (e == NULL)
		return false;
	*e = rights & PAGE_READ ? physical(memory) | bits_of(rights) : 0;
	cpu_forget(address);
	return true;
}

static bool is_empty(const page_table *t)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < 512; i++)
		any |= t->entry[i];
	return any == 0;
}

/* A table that is left without entries goes as well.  True: t is such a one. */
static bool unmap_below(page_table *t, unsigned level, uint64_t address)
{
	uint64_t *e = &t->entry[index_of(address, level)];

	if (level > 0 && *e & PRESENT) {
		if (!unmap_below(below(*e), level - 1, address))
			return false;
		page_put(below(*e), 1);
	}
	*e = 0;
	return is_empty(t);
}

void page_unmap(page_table *top, uint64_t address)
{
	unmap_below(top, LEVELS - 1, address);
	cpu_forget(address);
}

void *page_find(const page_table *top, uint64_t address, unsigned rights)
{
	const uint64_t *e;
	uint64_t wanted = bits_of(rights | PAGE_READ) & ~NEVER_RUN;

	if (address >= PAGE_USER_END)
		return NULL;
	/* Nothing is made, so nothing is changed. */
	e = entry_of((page_table *)(uintptr_t)top, address, false);
	if (e == NULL || (*e & wanted) != wanted || (rights & PAGE_RUN && *e & NEVER_RUN))
		return NULL;
	return (char *)below(*e) + address % PAGE_SIZE;
}
