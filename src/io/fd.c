/* fd.c - reading and writing: the system call first, a wait only after EAGAIN, or before the system
 * call if the last read has left nothing behind. */
#include <ccc/fd.h>
#include <ccc/io.h>

#include <errno.h>

#include "io/file.h"
#include "io/use.h"
#include "os/io.h"
#include "io/fd_word.h"

int cc_fd_nonblock(int fd)
{
	bool changed;
	const int err = cc__io_nonblock(fd, &changed);

	/* What the library opens has the flag from the beginning: this is another file. */
	if (err == 0 && changed)
		cc__fd_foreign(fd);
	return err;
}

/* `size` is not 0. */
static int read_some(int fd, void *buffer, size_t size, size_t *n, cc_time deadline)
{
	bool first = deadline != CC_NOW;
	uint32_t generation;
	int err;

	if (__builtin_expect(cc__fd_is_file(fd), 0)) {
		err = cc__file_read(fd, buffer, size, n);
		return err == 0 && *n == 0 ? EPIPE : err;
	}
	do {
		generation = cc__use_generation(fd);
		/* Not after a wait: it may have ended at its deadline, and seen what no worker has
		 * reported yet. */
		if (first && cc__use_drained(fd, generation)) {
			first = false;
			continue;
		}
		if ((err = cc__io_read(fd, buffer, size, n)) == 0 && *n < size)
			cc__use_short(fd, generation);
		if (err != EAGAIN)
			return err == 0 && *n == 0 ? EPIPE : err;
	} while ((err = cc__use_wait(fd, CC_FD_READ, deadline, generation)) == 0);
	return err;
}

static int write_some(int fd, const void *buffer, size_t size, size_t *n, cc_time deadline)
{
	uint32_t generation;
	int err;

	if (__builtin_expect(cc__fd_is_file(fd), 0))
		return cc__file_write(fd, buffer, size, n);
	do {
		generation = cc__use_generation(fd);
		if ((err = cc__io_write(fd, buffer, size, n)) != EAGAIN)
			return err;
	} while ((err = cc__use_wait(fd, CC_FD_WRITE, deadline, generation)) == 0);
	return err;
}

static int count_is(size_t *count, size_t n, int err)
{
	if (count != NULL)
		*count = n;
	return err;
}

int cc_fd_read(int fd, void *buffer, size_t size, size_t *count, cc_time deadline)
{
	size_t n = 0;
	const int err = size > 0 ? read_some(fd, buffer, size, &n, deadline) : 0;

	return count_is(count, n, err);
}

int cc_fd_read_all(int fd, void *buffer, size_t size, size_t *count, cc_time deadline)
{
	size_t done = 0, n;
	int err = 0;

	for (; done < size; done += n) {
		n = 0;
		if ((err = read_some(fd, (char *)buffer + done, size - done, &n, deadline)) != 0)
			break;
	}
	return count_is(count, done, err);
}

int cc_fd_write_all(int fd, const void *buffer, size_t size, size_t *count, cc_time deadline)
{
	size_t done = 0, n;
	int err = 0;

	for (; done < size; done += n) {
		n = 0;
		if ((err = write_some(fd, (const char *)buffer + done, size - done, &n,
		                      deadline)) != 0)
			break;
	}
	return count_is(count, done, err);
}
