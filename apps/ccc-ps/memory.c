/* memory.c - reads with process_vm_readv, or from /proc/PID/mem, or from a core. */
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, BLOCK_PAGES = 4, BLOCK = BLOCK_PAGES * PAGE, BUCKETS = 1 << 15, PIECES = 256 };

/* Pages that lie side by side, read once. */
struct block {
	struct block *next;
	uint64_t address;
	bool there[BLOCK_PAGES];
	unsigned char bytes[BLOCK];
};

void memory_add_mapping(struct memory *m, uint64_t start, uint64_t end, uint64_t offset,
                        const char *path)
{
	struct mapping *more = realloc(m->mapping, (m->mappings + 1) * sizeof *more);

	if (more == NULL)
		return;
	m->mapping = more;
	more[m->mappings++] = (struct mapping){start, end, offset, strdup(path)};
}

/* ---- a process ---- */

static const char *read_maps(struct memory *m, char *why, size_t size)
{
	char path[64], line[4600];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)m->pid);
	if ((f = fopen(path, "r")) == NULL) {
		snprintf(why, size, errno == ENOENT ? "there is no process %d" : "process %d: no permission",
		         (int)m->pid);
		return why;
	}
	while (fgets(line, sizeof line, f) != NULL) {
		uint64_t start, end, offset;
		int name = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &start, &end,
		           &offset, &name) == 3 && name > 0 && line[name] == '/')
			memory_add_mapping(m, start, end, offset, line + name);
	}
	fclose(f);
	return NULL;
}

/* One read, of pages that are not there too: how many bytes came, or -1. */
static ssize_t read_now(struct memory *m, uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size}, remote[PIECES];
	unsigned n = 0;

	if (m->fd >= 0)
		return pread(m->fd, to, size, (off_t)address);
	/* A piece is copied whole or not at all, so none crosses a page. */
	for (uint64_t at = address; at < address + size && n < PIECES; n++) {
		const uint64_t next = (at / PAGE + 1) * PAGE;
		const uint64_t end = next < address + size ? next : address + size;

		remote[n] = (struct iovec){(void *)(uintptr_t)at, end - at};
		at = end;
	}
	return process_vm_readv(m->pid, &local, 1, remote, n, 0);
}

static bool read_process(struct memory *m, uint64_t address, char *to, size_t size)
{
	bool all = true;

	while (size > 0) {
		const size_t most = size < (PIECES - 1) * PAGE ? size : (PIECES - 1) * PAGE;
		ssize_t n = read_now(m, address, to, most);

		if (n <= 0) {	/* this page is not there: go on with the next */
			n = (ssize_t)(PAGE - address % PAGE);
			n = (size_t)n < size ? n : (ssize_t)size;
			memset(to, 0, (size_t)n);
			all = false;
		}
		address += (uint64_t)n;
		to += n;
		size -= (size_t)n;
	}
	return all;
}

static const char *refused(pid_t pid, char *why, size_t size)
{
	snprintf(why, size,
	         "process %d may not be read: the system does not allow it\n"
	         "  run ccc-ps as the user that runs the process, or as root\n"
	         "  if that does not help: sysctl kernel.yama.ptrace_scope=0 (as root); in a\n"
	         "  container: start it with --cap-add=SYS_PTRACE",
	         (int)pid);
	return why;
}

const char *memory_of_process(struct memory *m, pid_t pid, char *why, size_t size)
{
	const char *wrong;
	char path[64], byte;

	*m = (struct memory){.pid = pid, .fd = -1};
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	if (access(path, F_OK) != 0) {
		snprintf(why, size, "there is no process %d", (int)pid);
		return why;
	}
	wrong = read_maps(m, why, size);
	if (wrong != NULL || m->mappings == 0)
		return refused(pid, why, size);
	if (read_now(m, m->mapping[0].start, &byte, 1) == 1)
		return NULL;
	if (errno != EPERM && errno != EACCES && errno != ENOSYS)
		return NULL;	/* the process has changed: say so later, if need be */
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	m->fd = open(path, O_RDONLY | O_CLOEXEC);
	return m->fd < 0 ? refused(pid, why, size) : NULL;
}

const char *memory_of_core(struct memory *m, const char *file, const char *program, char *why,
                           size_t size)
{
	*m = (struct memory){.fd = -1};
	return core_open(m, file, program, why, size);
}

bool memory_read(struct memory *m, uint64_t address, void *to, size_t size)
{
	if (address + size < address) {
		memset(to, 0, size);
		return false;
	}
	return m->core != NULL ? core_read(m->core, m, address, to, size)
	                       : read_process(m, address, to, size);
}

bool memory_truncated(const struct memory *m)
{
	return m->core != NULL && core_truncated(m->core);
}

/* ---- the cache ---- */

static struct block **place_of(struct memory *m, uint64_t address)
{
	struct block **at = &m->cache[address / BLOCK * 0x9e3779b97f4a7c15u >> 49];

	while (*at != NULL && (*at)->address != address)
		at = &(*at)->next;
	return at;
}

static struct block *block_at(struct memory *m, uint64_t address)
{
	struct block **at, *b;
	bool all;

	if (m->cache == NULL && (m->cache = calloc(BUCKETS, sizeof *m->cache)) == NULL)
		return NULL;
	at = place_of(m, address);
	if (*at != NULL || (b = malloc(sizeof *b)) == NULL)
		return *at;
	b->next = NULL;
	b->address = address;
	all = memory_read(m, address, b->bytes, BLOCK);
	for (unsigned i = 0; i < BLOCK_PAGES; i++)
		b->there[i] = all || memory_read(m, address + i * PAGE, b->bytes + i * PAGE, PAGE);
	return *at = b;
}

bool memory_get(struct memory *m, uint64_t address, void *to, size_t size)
{
	bool all = address + size >= address;

	memset(to, 0, size);
	for (size_t done = 0; all && done < size;) {
		const uint64_t at = address + done;
		const size_t offset = at % BLOCK, page = PAGE - offset % PAGE;
		const size_t n = size - done < page ? size - done : page;
		const struct block *b = block_at(m, at - offset);

		all = b != NULL && b->there[offset / PAGE];
		if (all)
			memcpy((char *)to + done, b->bytes + offset, n);
		done += n;
	}
	return all;
}

void memory_forget(struct memory *m)
{
	for (size_t i = 0; m->cache != NULL && i < BUCKETS; i++)
		for (struct block *b = m->cache[i], *next; b != NULL; b = next) {
			next = b->next;
			free(b);
		}
	free(m->cache);
	m->cache = NULL;
}

void memory_free(struct memory *m)
{
	memory_forget(m);
	for (size_t i = 0; i < m->mappings; i++)
		free(m->mapping[i].path);
	free(m->mapping);
	if (m->fd >= 0)
		close(m->fd);
	if (m->core != NULL)
		core_free(m->core);
	*m = (struct memory){.fd = -1};
}
