/* process.c - start, memory and end of processes. */
#include "process.h"

#include <errno.h>

#include "calls.h"
#include "elf.h"
#include "kernel.h"
#include "thread.h"

static struct process table[PROCESSES_MAX];
static uint64_t last_id;
static struct cc__root root = {.scope.root = &root};

unsigned processes(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < PROCESSES_MAX; i++)
		count += table[i].id != 0;
	return count;
}

static struct process *find(uint64_t id)
{
	for (unsigned i = 0; i < PROCESSES_MAX; i++)
		if (table[i].id == id)
			return &table[i];
	return NULL;
}

/* ---- memory ---- */

static bool overlap(const struct mapping *m, uint64_t address, size_t pages)
{
	return m->pages != 0 && address < m->address + m->pages * PAGE_SIZE &&
	       m->address < address + pages * PAGE_SIZE;
}

/* Where a mapping can be noted; NULL, with *err. */
static struct mapping *room_for(struct process *p, uint64_t address, size_t pages, int *err)
{
	struct mapping *room = NULL;

	*err = EINVAL;
	if (address % PAGE_SIZE != 0 || address >= PAGE_USER_END || pages == 0 ||
	    pages > (PAGE_USER_END - address) / PAGE_SIZE)
		return NULL;
	*err = EEXIST;
	for (unsigned i = 0; i < MAPPINGS_MAX; i++) {
		if (overlap(&p->mapping[i], address, pages))
			return NULL;
		if (p->mapping[i].pages == 0)
			room = &p->mapping[i];
	}
	*err = ENOMEM;
	return room;
}

static void hide(struct process *p, const struct mapping *m)
{
	for (size_t i = 0; i < m->pages; i++)
		page_unmap(p->top, m->address + i * PAGE_SIZE);
}

static bool show(struct process *p, const struct mapping *m, unsigned rights)
{
	for (size_t i = 0; i < m->pages; i++)
		if (!page_map(p->top, m->address + i * PAGE_SIZE, (char *)m->memory + i * PAGE_SIZE,
		              rights)) {
			hide(p, m);
			return false;
		}
	return true;
}

int process_map(struct process *p, uint64_t address, size_t pages, unsigned rights)
{
	int err;
	struct mapping *m = room_for(p, address, pages, &err);

	if (m == NULL)
		return err;
	*m = (struct mapping){address, pages, page_get(pages)};
	if (m->memory != NULL && show(p, m, rights))
		return 0;
	if (m->memory != NULL)
		page_put(m->memory, pages);
	m->pages = 0;
	return ENOMEM;
}

static void unmap(struct process *p, struct mapping *m)
{
	hide(p, m);
	page_put(m->memory, m->pages);
	m->pages = 0;
}

int process_unmap(struct process *p, uint64_t address, size_t pages)
{
	for (unsigned i = 0; i < MAPPINGS_MAX; i++)
		if (pages != 0 && p->mapping[i].address == address && p->mapping[i].pages == pages) {
			unmap(p, &p->mapping[i]);
			return 0;
		}
	return EINVAL;
}

void process_use(struct process *p)
{
	static const struct process *used;

	if (p != used)
		page_table_use(p != NULL ? p->top : &page_kernel_top);
	used = p;
}

/* ---- start ---- */

/* One segment of the image, with the rights that it asks for. */
static bool load_segment(struct process *p, const char *image, const struct elf_segment *s)
{
	const uint64_t begin = s->address / PAGE_SIZE * PAGE_SIZE;
	const size_t pages = (s->address + s->memory_size - begin + PAGE_SIZE - 1) / PAGE_SIZE;
	const unsigned rights = PAGE_READ | (s->flags & ELF_WRITE ? PAGE_WRITE : 0) |
	                        (s->flags & ELF_RUN ? PAGE_RUN : 0);

	if (process_map(p, begin, pages, rights) != 0)
		return false;
	/* Runs have no gaps (G3). */
	__builtin_memcpy(page_find(p->top, s->address, PAGE_READ), image + s->offset, s->file_size);
	return true;
}

static bool load(struct process *p, const void *image)
{
	const struct elf_header *h = image;
	const struct elf_segment *s = (const void *)((const char *)image + h->segments);

	KERNEL_CHECK(h->magic == ELF_MAGIC, "process: that is no program");
	for (unsigned i = 0; i < h->segment_count; i++)
		if (s[i].kind == ELF_LOAD && s[i].memory_size != 0 &&
		    !load_segment(p, image, &s[i]))
			return false;
	return process_map(p, STACK_END - STACK_PAGES * PAGE_SIZE, STACK_PAGES,
	                   PAGE_READ | PAGE_WRITE) == 0;
}

static void unload(struct process *p)
{
	for (unsigned i = 0; i < MAPPINGS_MAX; i++)
		if (p->mapping[i].pages != 0)
			unmap(p, &p->mapping[i]);
	process_use(NULL);
	page_table_free(p->top);
	p->top = NULL;
}

struct process *process_new(const struct program *program, struct process *parent, uint64_t role,
                            uint64_t argument)
{
	const struct elf_header *h = program->image;
	struct process *p = find(0);

	if (p == NULL)
		return NULL;
	*p = (struct process){.program = program, .parent = parent, .top = page_table_new()};
	cc__scope_open(&p->scope, &root.scope);
	if (p->top == NULL)
		return NULL;
	if (!load(p, program->image) || !thread_new(p, h->entry, STACK_END, role, argument)) {
		unload(p);
		return NULL;
	}
	p->id = ++last_id;
	p->threads = 1;
	return p;
}

/* ---- end ---- */

void process_end(struct process *p, int status)
{
	if (cc__scope_cancelled(&p->scope))
		return;
	p->status = status;
	cc__scope_cancel(&p->scope, CC__CANCEL, false);
}

void process_left(struct process *p)
{
	if (--p->threads > 0)
		return;
	cc__scope_close(&p->scope);
	unload(p);
	for (unsigned i = 0; i < PROCESSES_MAX; i++)
		if (table[i].parent == p)
			table[i].parent = NULL;
	if (p->parent == NULL)
		p->id = 0;
	else
		cc__wake_all(&p->ended, CC__REASON_SIGNAL, 0);
}

int process_wait(uint64_t id, struct process *parent, int *status)
{
	struct process *p = id != 0 ? find(id) : NULL;
	struct cc__waiter w = {.io = NULL};

	if (p == NULL || p->parent != parent)
		return EINVAL;
	cc__lock(&p->ended.lock, CC__RANK_WAITQ);
	if (p->top == NULL)
		cc__unlock(&p->ended.lock);
	else if (cc__wait(&p->ended, &w, CC_FOREVER) != 0)
		return ECANCELED;
	else if (p->id != id)
		return EINVAL;		/* somebody else has waited for it, too */
	*status = p->status;
	p->id = 0;
	return 0;
}
