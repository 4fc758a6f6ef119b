/* process.c - processes from start to end. */
#include "process.h"

#include <errno.h>

#include "calls.h"
#include "elf.h"
#include "kernel.h"
#include "thread.h"

static struct process table[PROCESSES_MAX];
static uint64_t last_id, last_space;
static struct cc__root root = {.scope.root = &root};

static struct process *find(uint64_t id)
{
	for (unsigned i = 0; i < PROCESSES_MAX; i++)
		if (table[i].id == id)
			return &table[i];
	return NULL;
}

static const struct process *used;	/* whose table the processor has; NULL: the kernel's own */

void process_use(struct process *p)
{
	if (p != used)
		page_table_use(p != NULL ? p->top : &page_kernel_top);
	used = p;
}

/* ---- start ---- */

/* One segment of the image, with the rights that it asks for. */
static int load_segment(struct process *p, const char *image, const struct elf_segment *s)
{
	const uint64_t begin = s->address / PAGE_SIZE * PAGE_SIZE;
	const size_t pages = (s->address + s->memory_size - begin + PAGE_SIZE - 1) / PAGE_SIZE;
	const unsigned rights = PAGE_READ | (s->flags & ELF_WRITE ? PAGE_WRITE : 0) |
	                        (s->flags & ELF_RUN ? PAGE_RUN : 0);
	const int err = process_map(p, begin, pages, rights);

	if (err == 0)		/* runs have no gaps (G3) */
		__builtin_memcpy(page_find(p->top, s->address, PAGE_READ), image + s->offset,
		                 s->file_size);
	return err;
}

static int load(struct process *p, const void *image)
{
	const struct elf_header *h = image;
	const struct elf_segment *s = (const void *)((const char *)image + h->segments);
	int err = 0;

	CC__CHECK(h->magic == ELF_MAGIC, "process: that is no program");
	for (unsigned i = 0; i < h->segment_count && err == 0; i++)
		if (s[i].kind == ELF_LOAD && s[i].memory_size != 0)
			err = load_segment(p, image, &s[i]);
	return err != 0 ? err
	                : process_map(p, STACK_END - STACK_PAGES * PAGE_SIZE, STACK_PAGES,
	                              PAGE_READ | PAGE_WRITE);
}

static int open_ring(struct process *p)
{
	const size_t size = cc__capring_size(RING_SUBMISSIONS, RING_COMPLETIONS);
	const int err = process_map(p, RING_ADDRESS, (size + PAGE_SIZE - 1) / PAGE_SIZE,
	                            PAGE_READ | PAGE_WRITE);

	if (err != 0)
		return err;
	cc__capring_init(&p->ring, page_find(p->top, RING_ADDRESS, PAGE_WRITE), RING_SUBMISSIONS,
	                 RING_COMPLETIONS);
	p->ring.space = &p->space;
	p->ring.caps = &p->caps;
	p->ring.strands = &p->strands;
	return 0;
}

/* Its record is all zero. */
static int open_domain(struct process *p)
{
	const struct cc__space_memory memory = {p->region, PROCESS_MAPPINGS, p->bucket,
	                                        PROCESS_BUCKET_BITS};

	cc__space_init(&p->space, ++last_space, PAGE_USER_END, &memory);
	cc__caps_init(&p->caps, p->cap, PROCESS_CAPS);
	cc__strands_init(&p->strands, &p->space, p->strand, PROCESS_THREADS);
	return open_ring(p);
}

static int give(struct process *p, struct process *parent, uint32_t cap)
{
	uint32_t id;
	int err = cc__caps_mint(&p->caps);

	if (err == 0)
		err = cc__caps_grant_timer(&p->caps, &id);
	if (err == 0 && cap != 0)
		err = cc__caps_transfer(&parent->caps, cap, &p->caps, &id);
	return err;
}

static void unload(struct process *p)
{
	process_unmap_all(p);
	if (p == used)
		process_use(NULL);
	page_table_free(p->top);
	p->top = NULL;
}

int process_new(const struct program *program, struct process *parent, uint32_t cap,
                uint64_t role, uint64_t argument, struct process **out)
{
	const struct elf_header *h = program->image;
	struct process *p = find(0);
	int err;

	if (p == NULL)
		return EAGAIN;
	__builtin_memset(p, 0, sizeof *p);
	if ((p->top = page_table_new()) == NULL)
		return ENOMEM;
	p->program = program;
	p->parent = parent;
	cc__scope_open(&p->scope, &root.scope);
	if ((err = open_domain(p)) == 0 && (err = load(p, program->image)) == 0 &&
	    (err = give(p, parent, cap)) == 0 &&
	    (err = thread_new(p, h->entry, STACK_END, role, argument, NULL)) == 0) {
		p->id = ++last_id;
		*out = p;
		return 0;
	}
	cc__capring_exit(&p->ring);
	unload(p);
	return err;
}

/* ---- end ---- */

bool process_is_over(struct process *p)
{
	return cc__scope_cancelled(&p->scope);
}

void process_end(struct process *p, int status)
{
	if (process_is_over(p))
		return;
	p->status = status;
	p->completions = p->ring.cq_tail;
	cc__capring_exit(&p->ring);
	cc__scope_cancel(&p->scope, CC__CANCEL, false);
}

/* Nobody will wait for it. */
static void forget_parent(struct process *p)
{
	p->parent = NULL;
	if (p->top == NULL)
		p->id = 0;
}

void process_left(struct process *p)
{
	if (--p->threads > 0)
		return;
	process_end(p, 0);	/* its last thread has left by itself */
	CC__CHECK(p->ring.promised == 0 && p->ring.cq_tail == p->completions,
	          "process: told of something after its end");
	cc__scope_close(&p->scope);
	unload(p);
	for (unsigned i = 0; i < PROCESSES_MAX; i++)
		if (table[i].parent == p)
			forget_parent(&table[i]);
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

/* ---- polling and looking ---- */

static uint64_t polls;

void process_poll(struct process *p)
{
	if (process_is_over(p))
		return;
	polls += p->ring.user->sq_tail != p->ring.sq_head;
	cc__capring_poll(&p->ring);	/* nonsense in the indices is told to whoever enters */
}

uint64_t process_polls(void)
{
	return polls;
}

unsigned processes(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < PROCESSES_MAX; i++)
		count += table[i].id != 0;
	return count;
}

unsigned process_all_waits(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < PROCESSES_MAX; i++)
		if (table[i].id != 0)
			count += cc__strands_waiting(&table[i].strands);
	return count;
}

unsigned process_listed(const struct process *p)
{
	unsigned count = 0;

	for (unsigned i = 0; i < PROCESS_THREADS; i++)
		count += p->strand[i].node.sleeper.listed &&
		         p->strand[i].node.table == &p->space.table;
	return count;
}

static bool names(const struct process *p, const struct cc__object *o)
{
	bool named = false;

	for (unsigned i = 0; i < PROCESS_CAPS; i++)
		named |= p->cap[i].kind != CC_CAP_NONE && p->cap[i].object == o;
	for (unsigned i = 0; i < PROCESS_MAPPINGS; i++)
		named |= p->region[i].length != 0 && p->region[i].object == o;
	return named;
}

bool process_names(const struct cc__object *o)
{
	for (unsigned i = 0; i < PROCESSES_MAX; i++)
		if (table[i].id != 0 && names(&table[i], o))
			return true;
	return false;
}
