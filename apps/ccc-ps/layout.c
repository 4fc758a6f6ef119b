/* layout.c - an ELF note of each file that has the library leads to its description. */
#include "layout.h"

#include <ccc/describe.h>
#include <elf.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char owner[8] = "libccc";

enum { ENTRIES_MOST = 4096, HEADERS_MOST = 256, NOTES_MOST = 1 << 20 };

uint64_t field(const void *object, struct item item)
{
	const char *at = (const char *)object + item.value;
	uint64_t n = 0;

	if (item.size == 0 || item.size > sizeof n)
		return 0;
	memcpy(&n, at, item.size);
	return n;
}

/* ---- the note ---- */

/* The address of the description, from notes at an address; 0: none. */
static uint64_t note_in(struct memory *m, uint64_t address, uint64_t size)
{
	unsigned char *bytes;
	uint64_t found = 0, at = 0;
	Elf64_Nhdr n;

	if (size > NOTES_MOST || (bytes = malloc(size + 1)) == NULL)
		return 0;
	memory_read(m, address, bytes, size);
	while (found == 0 && at <= size && size - at >= sizeof n) {
		uint64_t name, desc;
		int64_t distance;

		memcpy(&n, bytes + at, sizeof n);
		name = at + sizeof n;
		desc = name + (((uint64_t)n.n_namesz + 3) & ~(uint64_t)3);
		if (n.n_namesz == strlen(owner) + 1 && n.n_descsz == sizeof distance && n.n_type == 1 &&
		    desc <= size && size - desc >= sizeof distance &&
		    memcmp(bytes + name, owner, n.n_namesz) == 0) {
			memcpy(&distance, bytes + desc, sizeof distance);
			found = address + desc + (uint64_t)distance;
		}
		at = desc + (((uint64_t)n.n_descsz + 3) & ~(uint64_t)3);
	}
	free(bytes);
	return found;
}

/* The same of the file whose beginning is mapped there. */
static uint64_t description_of(struct memory *m, const struct mapping *g)
{
	Elf64_Ehdr e;
	Elf64_Phdr p[HEADERS_MOST];
	uint64_t base = 0, found = 0;
	unsigned n;

	if (g->offset != 0 || !memory_read(m, g->start, &e, sizeof e) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    (e.e_type != ET_DYN && e.e_type != ET_EXEC) || e.e_phentsize != sizeof *p)
		return 0;
	n = e.e_phnum < HEADERS_MOST ? e.e_phnum : HEADERS_MOST;
	if (!memory_read(m, g->start + e.e_phoff, p, n * sizeof *p))
		return 0;
	for (unsigned i = 0; i < n; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_offset == 0) {
			base = g->start - p[i].p_vaddr;
			break;
		}
	for (unsigned i = 0; i < n && found == 0; i++)
		if (p[i].p_type == PT_NOTE)
			found = note_in(m, base + p[i].p_vaddr, p[i].p_memsz);
	return found;
}

/* ---- the entries ---- */

#define X(group, name) {#group "." #name, offsetof(struct layout, group##_##name)},
static const struct {
	const char *name;
	size_t offset;
} names[] = {LAYOUT_NAMES(X)};
#undef X

static const struct {
	const char *name;
	size_t offset;
} sizes[] = {
    {"frames", offsetof(struct layout, frames)},
    {"threads", offsetof(struct layout, threads)},
    {"runtimes", offsetof(struct layout, runtimes)},
    {"coarse_now", offsetof(struct layout, coarse_now)},
    {"capture_calls", offsetof(struct layout, capture_calls)},
    {"fiber", offsetof(struct layout, fiber_size)},
    {"thread", offsetof(struct layout, thread_size)},
    {"stack", offsetof(struct layout, stack_size)},
    {"nursery", offsetof(struct layout, nursery_size)},
    {"runtime", offsetof(struct layout, runtime_size)},
    {"worker", offsetof(struct layout, worker_size)},
    {"chan", offsetof(struct layout, chan_size)},
    {"shelf", offsetof(struct layout, shelf_size)},
};

static void take_entry(struct layout *l, const CCDescribed *e)
{
	unsigned number;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (strcmp(e->name, sizes[i].name) == 0)
			memcpy((char *)l + sizes[i].offset, &e->value, sizeof e->value);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(e->name, names[i].name) == 0)
			*(struct item *)(void *)((char *)l + names[i].offset) =
			    (struct item){e->value, (uint32_t)e->size, true};
	if (sscanf(e->name, "context.r%u", &number) == 1 && number < LAYOUT_REGISTERS && e->value < 4096)
		l->saved[number] = (int16_t)e->value;
}

/* Fields that nothing goes without, and the size of the structure that they lie in. */
#define IN(group, name) {offsetof(struct layout, group##_##name), offsetof(struct layout, group##_size)}
static const struct {
	size_t item, size;
} required[] = {
    IN(fiber, word), IN(fiber, stack), IN(fiber, home), IN(fiber, handle), IN(fiber, name),
    IN(fiber, child), IN(fiber, child_main), IN(fiber, child_nursery), IN(fiber, child_arg), IN(fiber, arg), IN(fiber, sp),
    IN(fiber, main), IN(fiber, result), IN(fiber, later_deadline),
    IN(stack, wait), IN(stack, place), IN(stack, alarm), IN(stack, member),
    IN(thread, word), IN(thread, wait), IN(thread, which), IN(thread, live), IN(thread, deadline),
    IN(thread, member), IN(thread, running), IN(thread, worker),
    IN(nursery, owner), IN(nursery, children), IN(nursery, daemons), IN(nursery, policy),
    IN(nursery, error), IN(nursery, uncounted), IN(nursery, runtime), IN(nursery, sealed),
    IN(nursery, cancelled), IN(nursery, inside),
    IN(runtime, next), IN(runtime, worker), IN(runtime, workers), IN(worker, id), IN(worker, thread),
    IN(chan, name), IN(chan, receivers), IN(chan, senders),
};
#undef IN

/* Every offset that is used for reading lies within its structure, and every structure has a
 * size that is possible; so has what a wait is made of, which has no size of its own. */
static bool is_sane(const struct layout *l)
{
	const uint64_t object[] = {l->fiber_size, l->thread_size, l->stack_size, l->nursery_size,
	                           l->chan_size, l->runtime_size, l->worker_size};
	const struct item wait[] = {l->wait_lock, l->wait_parker, l->wait_ticket, l->wait_io, l->wait_for,
	                            l->wait_since};
	bool good = l->frames != 0 && l->threads != 0 && l->runtimes != 0 &&
	            l->chunk_first.value <= 256 && l->chunk_room.value <= 1 << 30 &&
	            l->chunk_first.value <= l->chunk_room.value && l->chunk_carved.value <= 248 &&
	            l->chunk_next.value <= 248;

	for (size_t i = 0; i < sizeof object / sizeof *object; i++)
		good = good && object[i] >= 8 && object[i] <= (i < 5 ? 60000 : 1 << 21);
	for (size_t i = 0; i < sizeof wait / sizeof *wait; i++)
		good = good && wait[i].known && wait[i].value <= 4096 && wait[i].size <= 8;
	for (size_t i = 0; good && i < sizeof required / sizeof *required; i++) {
		struct item item;
		uint64_t size;

		memcpy(&item, (const char *)l + required[i].item, sizeof item);
		memcpy(&size, (const char *)l + required[i].size, sizeof size);
		good = item.known && item.value <= size && item.size <= size - item.value;
	}
	return good;
}

static enum layout_answer read_entries(struct layout *l, struct memory *m, char *why, size_t size)
{
	CCDescription d;
	CCDescribed *e;

	if (!memory_read(m, l->address, &d, sizeof d) || memcmp(d.magic, owner, sizeof owner) != 0) {
		snprintf(why, size, "the description of the process cannot be read%s",
		         m->core != NULL ? ": give the PROGRAM behind the core" : "");
		return LAYOUT_BROKEN;
	}
	d.library[sizeof d.library - 1] = '\0';
	memcpy(l->library, d.library, sizeof l->library);
	if (d.version != CC_DESCRIPTION_VERSION) {
		snprintf(why, size,
		         "the process has libccc %s, whose description has version %" PRIu32
		         "; this ccc-ps reads version %d.\n"
		         "  use the ccc-ps that was installed with that library",
		         l->library, d.version, CC_DESCRIPTION_VERSION);
		return LAYOUT_VERSION;
	}
	if (d.entry_size != sizeof *e || d.count == 0 || d.count > ENTRIES_MOST ||
	    (e = calloc(d.count, sizeof *e)) == NULL) {
		snprintf(why, size, "the description of the process is broken");
		return LAYOUT_BROKEN;
	}
	memset(l->saved, 0xff, sizeof l->saved);
	memory_read(m, (uint64_t)(uintptr_t)d.entry, e, d.count * sizeof *e);
	for (uint64_t i = 0; i < d.count; i++) {
		e[i].name[sizeof e[i].name - 1] = '\0';
		take_entry(l, &e[i]);
	}
	free(e);
	if (is_sane(l))
		return LAYOUT_GOOD;
	snprintf(why, size, "the description of the process cannot be read whole%s",
	         m->core != NULL ? ": give the PROGRAM behind the core" : "");
	return LAYOUT_BROKEN;
}

enum layout_answer layout_find(struct layout *l, struct memory *m, size_t *from, char *why, size_t size)
{
	while (*from < m->mappings) {
		const uint64_t address = description_of(m, &m->mapping[(*from)++]);

		if (address == 0)
			continue;
		*l = (struct layout){.address = address};
		return read_entries(l, m, why, size);
	}
	return LAYOUT_NONE;
}
