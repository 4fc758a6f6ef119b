/* files.h - the files of a directory, kept at hand: large ones open, small ones in memory.
 *
 * A file is loaded anew after half a second, so a changed one is noticed by then.  The cache has a
 * fixed number of places; the file that was loaded first gives way. */
#ifndef FILES_H
#define FILES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <ccc/ccc.h>

/* Files up to this size are kept in memory. */
enum { FILES_SMALL = 16 * 1024, FILES_BUCKETS = 64, FILES_PLACES = 4 };

struct file {
	atomic_uint references;	/* the cache's and those of files_get */
	char *path;
	int fd;			/* of a large file; -1 */
	uint64_t size;
	char *text;		/* of a small file: `head` bytes of an answer, and the contents */
	size_t head;
	cc_time loaded;
};

struct files {
	int root;	/* the directory */
	/* Writes the head of the answer to a usual request for a file, for the cache. */
	size_t (*write_head)(char *head, size_t room, const char *path, uint64_t size);
	struct bucket {
		CCMutex lock;
		struct file *file[FILES_PLACES];
	} bucket[FILES_BUCKETS];
};

/* The file at `path`, which begins with a slash, or the index of that directory.  ENOENT, EACCES,
 * EMFILE, EIO and the like. */
int files_get(struct files *f, const char *path, struct file **file);
void files_put(struct file *file);

#endif
