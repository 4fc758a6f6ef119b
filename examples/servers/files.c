/* files.c - looking up, checking and loading. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRESH (500 * CC_MSEC)

enum { NAME_SIZE = 4096, HEAD_SIZE = 512 };

void files_put(struct file *file)
{
	if (atomic_fetch_sub(&file->references, 1) > 1)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->text);
	free(file->path);
	free(file);
}

/* ---- loading: system calls that do not wait, apart from the disk ---- */

/* Errno is read in functions that do not wait, which the compiler must not merge with others
 * (ccc/errno.h). */
static __attribute__((noinline)) int open_at(int root, const char *path, int *fd, struct stat *st)
{
	/* O_NONBLOCK: a named pipe does not keep the thread. */
	if ((*fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
		return errno;
	if (fstat(*fd, st) == 0)
		return 0;
	close(*fd);
	return EIO;
}

/* The dot in front keeps "//etc" below the root. */
static int open_file(int root, const char *path, int *fd, struct stat *st)
{
	char name[NAME_SIZE];
	int err;

	snprintf(name, sizeof name, ".%s", path);
	err = open_at(root, name, fd, st);
	if (err == 0 && S_ISDIR(st->st_mode)) {
		close(*fd);
		snprintf(name, sizeof name, ".%s/index.html", path);
		err = open_at(root, name, fd, st);
	}
	if (err == 0 && !S_ISREG(st->st_mode)) {
		close(*fd);
		err = ENOENT;
	}
	return err;
}

/* Reads a small file behind its head and closes it. */
static int load_text(struct files *f, struct file *file)
{
	ssize_t n;

	if ((file->text = malloc(HEAD_SIZE + file->size)) == NULL)
		return ENOMEM;
	file->head = f->write_head(file->text, HEAD_SIZE, file->path, file->size);
	n = pread(file->fd, file->text + file->head, file->size, 0);
	close(file->fd);
	file->fd = -1;
	return n == (ssize_t)file->size ? 0 : EIO;	/* cut off meanwhile */
}

static int load_file(struct files *f, const char *path, struct file **out)
{
	struct file *file = calloc(1, sizeof *file);
	struct stat st;
	int err;

	if (file == NULL || (file->path = strdup(path)) == NULL) {
		free(file);
		return ENOMEM;
	}
	file->references = 1;
	if ((err = open_file(f->root, path, &file->fd, &st)) != 0) {
		file->fd = -1;
	} else {
		file->size = (uint64_t)st.st_size;
		file->loaded = cc_now();
		err = file->size <= FILES_SMALL ? load_text(f, file) : 0;
	}
	if (err == 0)
		*out = file;
	else
		files_put(file);
	return err;
}

/* ---- the cache ---- */

static struct bucket *bucket_of(struct files *f, const char *path)
{
	uint32_t hash = 2166136261u;	/* FNV */

	while (*path != 0)
		hash = (hash ^ (uint8_t)*path++) * 16777619u;
	return &f->bucket[hash % FILES_BUCKETS];
}

/* Under the bucket's lock: the place of that path, or the one to be given up. */
static struct file **place_of(struct bucket *b, const char *path)
{
	struct file **oldest = &b->file[0];

	for (int i = 0; i < FILES_PLACES; i++) {
		struct file **at = &b->file[i];

		if (*at != NULL && strcmp((*at)->path, path) == 0)
			return at;
		if (*oldest != NULL && (*at == NULL || (*at)->loaded < (*oldest)->loaded))
			oldest = at;
	}
	return oldest;
}

/* NULL: it is not there, or was loaded too long ago. */
static struct file *find_fresh(struct bucket *b, const char *path)
{
	struct file *found;

	cc_mutex_lock_anyway(&b->lock);	/* held for a moment */
	found = *place_of(b, path);
	if (found != NULL && strcmp(found->path, path) == 0 && cc_now() - found->loaded < FRESH)
		atomic_fetch_add(&found->references, 1);
	else
		found = NULL;
	cc_mutex_unlock(&b->lock);
	return found;
}

/* The cache gets a reference of its own; the file that gives way loses one. */
static void keep(struct bucket *b, struct file *file)
{
	struct file **place, *former;

	atomic_fetch_add(&file->references, 1);
	cc_mutex_lock_anyway(&b->lock);
	place = place_of(b, file->path);
	former = *place;
	*place = file;
	cc_mutex_unlock(&b->lock);
	if (former != NULL)
		files_put(former);
}

int files_get(struct files *f, const char *path, struct file **file)
{
	struct bucket *b = bucket_of(f, path);
	int err;

	if ((*file = find_fresh(b, path)) != NULL)
		return 0;
	if ((err = load_file(f, path, file)) == 0)
		keep(b, *file);
	return err;
}
