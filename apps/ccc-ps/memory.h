/* memory.h - the memory of another process, or of one that left a core.
 *
 * Nothing of the process runs and it is not stopped, so what is read may change meanwhile. */
#ifndef CCC_PS_MEMORY_H
#define CCC_PS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A part of a file that the process had mapped. */
struct mapping {
	uint64_t start, end, offset;
	char *path;
};

struct core;
struct block;

struct memory {
	pid_t pid;		/* of the process, or of the one that left the core; 0: not known */
	int fd;			/* /proc/PID/mem where process_vm_readv may not be called, or -1 */
	struct core *core;	/* NULL: a process */
	struct mapping *mapping;
	size_t mappings;
	struct block **cache;	/* by address */
};

/* Return NULL, or what is wrong as text that is constant or lies in `why`. */
const char *memory_of_process(struct memory *m, pid_t pid, char *why, size_t size);
/* `program` is the file of the program, or NULL: where it was. */
const char *memory_of_core(struct memory *m, const char *file, const char *program, char *why,
                           size_t size);
void memory_free(struct memory *m);

/* Copies memory as it is at the moment.  False: not all of it is there; the rest is zero. */
bool memory_read(struct memory *m, uint64_t address, void *to, size_t size);
/* The same by way of a cache, for small objects that lie side by side. */
bool memory_get(struct memory *m, uint64_t address, void *to, size_t size);
/* The core misses something that the process had. */
bool memory_truncated(const struct memory *m);
/* Forgets what memory_get has kept. */
void memory_forget(struct memory *m);

/* core.c */
bool core_read(const struct core *c, const struct memory *m, uint64_t address, void *to, size_t size);
const char *core_open(struct memory *m, const char *file, const char *program, char *why, size_t size);
void core_free(struct core *c);
bool core_truncated(const struct core *c);
int core_fd(const struct core *c);
void memory_add_mapping(struct memory *m, uint64_t start, uint64_t end, uint64_t offset,
                        const char *path);

#endif
