/* mapping.c - what a process sees, in its page table and in the engine's regions (R4). */
#include <errno.h>

#include "calls.h"
#include "object.h"
#include "process.h"

_Static_assert((unsigned)PAGE_READ == (unsigned)CC_CAP_READ &&
               (unsigned)PAGE_WRITE == (unsigned)CC_CAP_WRITE, "rights are access");

static uint64_t pinned;

uint64_t process_pinned(void)
{
	return pinned;
}

static struct mapping *find(struct process *p, uint64_t address)
{
	for (unsigned i = 0; i < PROCESS_MAPPINGS; i++)
		if (p->mapping[i].pages != 0 && p->mapping[i].address == address)
			return &p->mapping[i];
	return NULL;
}

static struct mapping *unused(struct process *p)
{
	for (unsigned i = 0; i < PROCESS_MAPPINGS; i++)
		if (p->mapping[i].pages == 0)
			return &p->mapping[i];
	return NULL;
}

static void hide(struct process *p, struct mapping *m)
{
	for (size_t i = 0; i < m->pages; i++)
		page_unmap(p->top, m->address + i * PAGE_SIZE);
	if (m->own)
		page_put(m->memory, m->pages);
	m->pages = 0;
}

static bool show(struct process *p, const struct mapping *m, unsigned rights)
{
	bool all = true;

	for (size_t i = 0; i < m->pages; i++)
		all = all && page_map(p->top, m->address + i * PAGE_SIZE,
		                      (char *)m->memory + i * PAGE_SIZE, rights);
	return all;
}

/* The region is free and in the space, says the engine, and the pages become visible; else
 * nothing has changed. */
static int map(struct process *p, const struct mapping *new, struct cc__region region,
               unsigned rights)
{
	struct mapping *m = unused(p);
	int err;

	region.base = new->address;
	region.length = new->pages * PAGE_SIZE;
	region.access = rights & (CC_CAP_READ | CC_CAP_WRITE);
	region.memory = new->memory;
	if ((err = m != NULL ? cc__space_map(&p->space, &region) : EAGAIN) != 0)
		return err;
	*m = *new;
	if (show(p, m, rights))
		return 0;
	m->own = false;		/* it stays the caller's */
	hide(p, m);
	cc__space_unmap(&p->space, new->address);
	return ENOMEM;
}

static bool wrong(uint64_t address, size_t pages)
{
	return address % PAGE_SIZE != 0 || pages == 0 || pages > PAGE_USER_END / PAGE_SIZE;
}

int process_map(struct process *p, uint64_t address, size_t pages, unsigned rights)
{
	struct mapping m = {address, pages, NULL, true};
	int err;

	if (wrong(address, pages))
		return EINVAL;
	if ((m.memory = page_get(pages)) == NULL)
		return ENOMEM;
	if ((err = map(p, &m, (struct cc__region){0}, rights)) != 0)
		page_put(m.memory, pages);
	return err;
}

int process_map_object(struct process *p, uint32_t cap, uint64_t address, unsigned rights)
{
	const struct cc__cap c = cc__caps_look(&p->caps, cap);
	int err = EBADF;

	if (c.kind == CC_CAP_MEMORY_OBJECT) {
		const struct object *o = object_of(c.object);
		const struct mapping m = {address, o->pages, o->memory, false};

		err = wrong(address, o->pages) ? EINVAL
		    : map(p, &m, (struct cc__region){.object = c.object, .generation = c.generation},
		          rights & ~(unsigned)PAGE_RUN);
	}
	cc__cap_look_away(&c);
	return err;
}

/* The object that is mapped there, held; NULL: none is. */
static struct cc__object *object_at(struct process *p, uint64_t address)
{
	for (unsigned i = 0; i < PROCESS_MAPPINGS; i++)
		if (p->region[i].length != 0 && p->region[i].base == address) {
			if (p->region[i].object != NULL)
				cc__object_hold(p->region[i].object);
			return p->region[i].object;
		}
	return NULL;
}

int process_unmap(struct process *p, uint64_t address)
{
	struct mapping *m = find(p, address);
	struct cc__object *o;

	if (m == NULL || address == RING_ADDRESS)
		return m == NULL ? ENOENT : EBUSY;
	o = object_at(p, address);
	cc__space_unmap(&p->space, address);
	hide(p, m);
	if (o == NULL)
		return 0;
	/* Relaxed: one processor. */
	if (cc__load(&o->pins, CC__RELAXED) != 0 && !process_names(o))
		pinned++;
	cc__object_drop(o);
	return 0;
}

void process_unmap_all(struct process *p)
{
	for (unsigned i = 0; i < PROCESS_MAPPINGS; i++)
		if (p->mapping[i].pages != 0)
			hide(p, &p->mapping[i]);
}
