/* shim_pages.h - memory for slabs that is zero at the start of every execution
 * and stays.  Included by one file of a program, which links base/slab.c. */
#ifndef MC_SHIM_PAGES_H
#define MC_SHIM_PAGES_H

#include "engine.h"
#include "os/pages.h"

enum { SHIM_PAGES = 6 << 20 };
static _Alignas(4096) char shim_pages[SHIM_PAGES];
static size_t shim_pages_used;

void *cc__pages_map(size_t size)
{
	void *p = shim_pages + shim_pages_used;

	shim_pages_used += size;
	return shim_pages_used <= SHIM_PAGES ? p : NULL;
}

void *cc__pages_map_dense(size_t size)
{
	return cc__pages_map(size);
}

void cc__pages_populate(void *p, size_t size)
{
	(void)p, (void)size;
}

#endif
