/* file.c - reading, writing and opening files. */
#include "io/file.h"

#include <ccc/blocking.h>
#include <ccc/io.h>

#include <errno.h>
#include <fcntl.h>

#include "io/fd_word.h"
#include "os/io.h"
#include "wait/host.h"

struct file_job {
	int fd;
	void *into;
	const void *from;
	size_t size, count;
	const char *path;
	int flags;
	unsigned mode;
};

static int in_pool(int (*job)(void *), struct file_job *j)
{
	int result = 0;
	const int err = cc_blocking(job, j, &result);

	return err != 0 ? err : result;
}

static bool called_by_fiber(void)
{
	return cc__poll_here() != NULL;
}

/* ---- reading and writing ---- */

static int read_job(void *arg)
{
	struct file_job *j = arg;

	return cc__io_read(j->fd, j->into, j->size, &j->count);
}

static int write_job(void *arg)
{
	struct file_job *j = arg;

	return cc__io_write(j->fd, j->from, j->size, &j->count);
}

int cc__file_read(int fd, void *buffer, size_t size, size_t *count)
{
	struct file_job j = {.fd = fd, .into = buffer, .size = size};
	int err;

	if (!called_by_fiber())
		return cc__io_read(fd, buffer, size, count);
	if ((err = cc__io_read_cached(fd, buffer, size, count)) != EAGAIN)
		return err;
	err = in_pool(read_job, &j);
	*count = j.count;
	return err;
}

int cc__file_write(int fd, const void *buffer, size_t size, size_t *count)
{
	struct file_job j = {.fd = fd, .from = buffer, .size = size};
	int err;

	if (!called_by_fiber())
		return cc__io_write(fd, buffer, size, count);
	if ((err = cc__io_write_cached(fd, buffer, size, count)) != EAGAIN)
		return err;
	err = in_pool(write_job, &j);
	*count = j.count;
	return err;
}

/* ---- opening ---- */

static int open_job(void *arg)
{
	struct file_job *j = arg;

	return cc__io_open(&j->fd, j->path, j->flags, j->mode);
}

int cc_fd_open(int *fd, const char *path, int flags, unsigned mode)
{
	struct file_job j = {.path = path, .flags = flags | O_NONBLOCK, .mode = mode};
	int err;

	if (fd == NULL || path == NULL)
		return EINVAL;
	if ((err = in_pool(open_job, &j)) != 0)
		return err;
	cc__fd_made(j.fd, cc__io_is_regular(j.fd) ? CC__FD_FILE : 0);
	*fd = j.fd;
	return 0;
}
