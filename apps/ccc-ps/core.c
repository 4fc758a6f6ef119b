/* core.c - a core file: its segments, and the files that the process had mapped. */
#include "memory.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Memory that the core has. */
struct segment {
	uint64_t start, size, offset;
};

/* A file that is not in the core. */
struct source {
	const char *path;	/* the mapping's */
	const char *bytes;	/* MAP_FAILED: it cannot be read */
	size_t size;
};

struct core {
	int fd;
	const unsigned char *bytes;
	size_t size;
	struct segment *segment;	/* in the order of their addresses */
	size_t segments;
	bool truncated;
	const char *program;		/* or NULL */
	uint64_t entry_headers;		/* where the program's headers were, or 0 */
	struct source *source;
	size_t sources;
};

static int by_start(const void *a, const void *b)
{
	const struct segment *s = a, *t = b;

	return s->start < t->start ? -1 : s->start > t->start;
}

/* ---- notes ---- */

/* count, page size; count times start, end, offset in pages; count names. */
static void read_files(struct memory *m, const unsigned char *note, size_t size)
{
	uint64_t head[2], part[3];
	const char *name, *end = (const char *)note + size;

	if (size < sizeof head)
		return;
	memcpy(head, note, sizeof head);
	if (head[0] > (size - sizeof head) / sizeof part)
		return;
	name = (const char *)note + sizeof head + head[0] * sizeof part;
	for (uint64_t i = 0; i < head[0] && name < end; i++) {
		const size_t length = strnlen(name, (size_t)(end - name));

		if (name + length == end)
			return;
		memcpy(part, note + sizeof head + i * sizeof part, sizeof part);
		memory_add_mapping(m, part[0], part[1], part[2] * head[1], name);
		name += length + 1;
	}
}

static void read_auxv(struct core *c, const unsigned char *note, size_t size)
{
	uint64_t pair[2];

	for (size_t i = 0; i + sizeof pair <= size; i += sizeof pair) {
		memcpy(pair, note + i, sizeof pair);
		if (pair[0] == 3 /* AT_PHDR */)
			c->entry_headers = pair[1];
	}
}

static void read_notes(struct memory *m, struct core *c, uint64_t offset, uint64_t size)
{
	const unsigned char *at = c->bytes + offset, *end;
	Elf64_Nhdr n;

	if (offset > c->size)
		return;
	end = at + (size < c->size - offset ? size : c->size - offset);
	while ((size_t)(end - at) >= sizeof n) {
		size_t name, desc;

		memcpy(&n, at, sizeof n);
		name = ((size_t)n.n_namesz + 3) & ~(size_t)3;
		desc = ((size_t)n.n_descsz + 3) & ~(size_t)3;
		at += sizeof n;
		if (name > (size_t)(end - at) || n.n_descsz > (size_t)(end - at) - name)
			return;
		if (n.n_type == NT_FILE)
			read_files(m, at + name, n.n_descsz);
		else if (n.n_type == NT_AUXV)
			read_auxv(c, at + name, n.n_descsz);
		else if (n.n_type == NT_PRPSINFO && n.n_descsz >= 28)
			memcpy(&m->pid, at + name + 24, sizeof m->pid);
		at += name + desc < (size_t)(end - at) ? name + desc : (size_t)(end - at);
	}
}

/* ---- segments ---- */

static void add_segment(struct core *c, const Elf64_Phdr *p)
{
	struct segment s = {p->p_vaddr, p->p_filesz, p->p_offset};

	if (p->p_offset > c->size || p->p_filesz > c->size - p->p_offset) {
		c->truncated = true;
		s.size = p->p_offset < c->size ? c->size - p->p_offset : 0;
	}
	if (s.size > 0)
		c->segment[c->segments++] = s;
}

static const char *read_headers(struct memory *m, struct core *c)
{
	Elf64_Ehdr e;
	Elf64_Phdr p;
	size_t count;

	if (c->size < sizeof e)
		return "not a core file";
	memcpy(&e, c->bytes, sizeof e);
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_type != ET_CORE)
		return "not a core file of a 64-bit process";
	count = e.e_phnum;
	if (count == PN_XNUM) {	/* so many that the first section says it */
		Elf64_Shdr s;

		if (e.e_shoff > c->size || sizeof s > c->size - e.e_shoff)
			return "a core that ends within its headers";
		memcpy(&s, c->bytes + e.e_shoff, sizeof s);
		count = s.sh_info;
	}
	if (e.e_phentsize != sizeof p || e.e_phoff > c->size ||
	    count > (c->size - e.e_phoff) / sizeof p)
		return "a core that ends within its headers";
	if ((c->segment = calloc(count + 1, sizeof *c->segment)) == NULL)
		return "out of memory";
	for (size_t i = 0; i < count; i++) {
		memcpy(&p, c->bytes + e.e_phoff + i * sizeof p, sizeof p);
		if (p.p_type == PT_NOTE)
			read_notes(m, c, p.p_offset, p.p_filesz);
		else if (p.p_type == PT_LOAD && p.p_filesz > 0)
			add_segment(c, &p);
	}
	qsort(c->segment, c->segments, sizeof *c->segment, by_start);
	return NULL;
}

/* The given program stands for the file whose headers the process began with. */
static void place_program(struct memory *m, struct core *c, const char *program)
{
	const char *path = NULL;

	for (size_t i = 0; i < m->mappings; i++)
		if (c->entry_headers >= m->mapping[i].start && c->entry_headers < m->mapping[i].end)
			path = m->mapping[i].path;
	for (size_t i = 0; path != NULL && i < m->mappings; i++)
		if (strcmp(m->mapping[i].path, path) == 0 && m->mapping[i].path != path) {
			free(m->mapping[i].path);
			m->mapping[i].path = strdup(program);
		}
	for (size_t i = 0; path != NULL && i < m->mappings; i++)
		if (m->mapping[i].path == path) {
			free(m->mapping[i].path);
			m->mapping[i].path = strdup(program);
			path = NULL;
		}
}

const char *core_open(struct memory *m, const char *file, const char *program, char *why, size_t size)
{
	struct core *c = calloc(1, sizeof *c);
	const char *wrong = NULL;
	struct stat st;
	void *bytes;

	if (c == NULL)
		return "out of memory";
	m->core = c;
	c->program = program;
	c->fd = open(file, O_RDONLY | O_CLOEXEC);
	if (c->fd < 0 || fstat(c->fd, &st) != 0)
		wrong = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		wrong = "not a file";
	else if (st.st_size == 0)
		wrong = "the file is empty";
	else if ((bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, c->fd, 0)) == MAP_FAILED)
		wrong = strerror(errno);
	else {
		c->bytes = bytes;
		c->size = (size_t)st.st_size;
		wrong = read_headers(m, c);
	}
	if (wrong == NULL && program != NULL && access(program, R_OK) != 0) {
		snprintf(why, size, "%s: %s", program, strerror(errno));
		return why;
	}
	if (wrong != NULL) {
		snprintf(why, size, "%s: %s", file, wrong);
		return why;
	}
	if (program != NULL)
		place_program(m, c, program);
	return NULL;
}

/* ---- reading ---- */

static const struct segment *segment_of(const struct core *c, uint64_t address)
{
	size_t low = 0, high = c->segments;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (c->segment[middle].start + c->segment[middle].size <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->segments && c->segment[low].start <= address ? &c->segment[low] : NULL;
}

static const struct source *source_of(struct core *c, const char *path)
{
	struct source *more, s = {.path = path, .bytes = MAP_FAILED};
	struct stat st;
	int fd;

	for (size_t i = 0; i < c->sources; i++)
		if (strcmp(c->source[i].path, path) == 0)
			return &c->source[i];
	if ((more = realloc(c->source, (c->sources + 1) * sizeof *more)) == NULL)
		return NULL;
	c->source = more;
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) >= 0) {
		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
			s.bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
			s.size = (size_t)st.st_size;
		}
		close(fd);
	}
	more[c->sources] = s;
	return &more[c->sources++];
}

/* What is in a file and not in the core: how many bytes, 0: none. */
static size_t from_file(struct core *c, const struct memory *m, uint64_t address, void *to, size_t size)
{
	for (size_t i = 0; i < m->mappings; i++) {
		const struct mapping *g = &m->mapping[i];
		const struct source *s;
		uint64_t at;

		if (address < g->start || address >= g->end)
			continue;
		s = source_of(c, g->path);
		at = g->offset + (address - g->start);
		if (s == NULL || s->bytes == MAP_FAILED || at >= s->size)
			return 0;
		size = size < g->end - address ? size : g->end - address;
		size = size < s->size - at ? size : s->size - at;
		memcpy(to, s->bytes + at, size);
		return size;
	}
	return 0;
}

bool core_read(const struct core *c, const struct memory *m, uint64_t address, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		const struct segment *s = segment_of(c, address + done);
		size_t n;

		if (s != NULL) {
			const uint64_t within = address + done - s->start;

			n = size - done < s->size - within ? size - done : s->size - within;
			memcpy((char *)to + done, c->bytes + s->offset + within, n);
		} else if ((n = from_file(m->core, m, address + done, (char *)to + done, size - done)) == 0) {
			memset((char *)to + done, 0, size - done);
			return false;
		}
		done += n;
	}
	return true;
}

bool core_truncated(const struct core *c)
{
	return c->truncated;
}

int core_fd(const struct core *c)
{
	return c->fd;
}

void core_free(struct core *c)
{
	for (size_t i = 0; i < c->sources; i++)
		if (c->source[i].bytes != MAP_FAILED)
			munmap((void *)(uintptr_t)c->source[i].bytes, c->source[i].size);
	free(c->source);
	free(c->segment);
	if (c->bytes != NULL)
		munmap((void *)(uintptr_t)c->bytes, c->size);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}
