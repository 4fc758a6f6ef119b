/* io.c - read, write and close.
 *
 * errno is read through <ccc/errno.h>, because link-time optimization may make these functions
 * part of one that parks. */
#include "os/io.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ccc/errno.h>

int cc__io_read(int fd, void *buffer, size_t size, size_t *count)
{
	ssize_t n;

	while ((n = read(fd, buffer, size)) < 0)
		if (errno != EINTR)
			return errno;
	*count = (size_t)n;
	return 0;
}

/* Only send(2) can be told not to raise SIGPIPE, and only for a socket. */
static ssize_t write_once(int fd, const void *buffer, size_t size)
{
	const ssize_t n = send(fd, buffer, size, MSG_NOSIGNAL | MSG_DONTWAIT);

	return n < 0 && errno == ENOTSOCK ? write(fd, buffer, size) : n;
}

int cc__io_write(int fd, const void *buffer, size_t size, size_t *count)
{
	ssize_t n;

	while ((n = write_once(fd, buffer, size)) < 0)
		if (errno != EINTR)
			return errno;
	*count = (size_t)n;
	return 0;
}

int cc__io_nonblock(int fd, bool *changed)
{
	const int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return errno;
	*changed = (flags & O_NONBLOCK) == 0;
	if (!*changed)
		return 0;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? errno : 0;
}

/* Linux has freed the number when close reports EINTR: a second close might hit another file. */
int cc__io_close(int fd)
{
	return close(fd) < 0 && errno != EINTR ? errno : 0;
}
