/* io.c - read, write and close.
 *
 * errno is read through <ccc/errno.h>, because link-time optimization may make these functions
 * part of one that parks. */
#include "os/io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* Not in every C library.  An offset of -1 means the position of the file. */
enum { NO_WAIT = 8 };	/* RWF_NOWAIT */

static int move_cached(long call, int fd, const void *buffer, size_t size, size_t *count)
{
	struct iovec part = {(void *)(uintptr_t)buffer, size};
	const long n = syscall(call, fd, &part, 1L, -1L, -1L, NO_WAIT);

	if (n >= 0) {
		*count = (size_t)n;
		return 0;
	}
	switch (errno) {
	case EINTR:
	case EOPNOTSUPP:
	case ENOSYS:
	case EPERM:	/* a sandbox */
	case EINVAL:	/* before Linux 4.14 */
		return EAGAIN;
	default:
		return errno;
	}
}

int cc__io_read_cached(int fd, void *buffer, size_t size, size_t *count)
{
	return move_cached(SYS_preadv2, fd, buffer, size, count);
}

int cc__io_write_cached(int fd, const void *buffer, size_t size, size_t *count)
{
	return move_cached(SYS_pwritev2, fd, buffer, size, count);
}

int cc__io_open(int *fd, const char *path, int flags, unsigned mode)
{
	int opened;

	while ((opened = open(path, flags | O_CLOEXEC, mode)) < 0)
		if (errno != EINTR)
			return errno;
	*fd = opened;
	return 0;
}

bool cc__io_is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

int cc__io_readv(int fd, const struct iovec *part, unsigned parts, size_t *count)
{
	ssize_t n;

	while ((n = readv(fd, part, (int)parts)) < 0)
		if (errno != EINTR)
			return errno;
	*count = (size_t)n;
	return 0;
}

static ssize_t writev_once(int fd, const struct iovec *part, unsigned parts)
{
	/* sendmsg only reads the pieces.  Their number is an int or a size_t, by C library. */
	const struct msghdr m = {.msg_iov = (struct iovec *)(uintptr_t)part,
	                         .msg_iovlen = (uint16_t)parts};
	const ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);

	return n < 0 && errno == ENOTSOCK ? writev(fd, part, (int)parts) : n;
}

int cc__io_writev(int fd, const struct iovec *part, unsigned parts, size_t *count)
{
	ssize_t n;

	while ((n = writev_once(fd, part, parts)) < 0)
		if (errno != EINTR)
			return errno;
	*count = (size_t)n;
	return 0;
}

static int sendfile_once(int fd, int file, int64_t *offset, size_t size, size_t *count)
{
	off_t at = (off_t)*offset;
	ssize_t n;

	while ((n = sendfile(fd, file, &at, size)) < 0)
		if (errno != EINTR)
			return errno;
	*offset = at;
	*count = (size_t)n;
	return 0;
}

/* sendfile(2) knows no MSG_NOSIGNAL.  So the signal is blocked meanwhile, and taken off again if it
 * was not pending before. */
static int sendfile_quietly(int fd, int file, int64_t *offset, size_t size, size_t *count)
{
	const struct timespec at_once = {0};
	sigset_t pipe, before, pending;
	int err, was_pending;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	err = sendfile_once(fd, file, offset, size, count);
	if (err == EPIPE && was_pending == 0)
		while (sigtimedwait(&pipe, NULL, &at_once) < 0 && errno == EINTR)
			continue;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

int cc__io_send_file(int fd, int file, int64_t *offset, size_t size, bool blocked, size_t *count)
{
	return (blocked ? sendfile_once : sendfile_quietly)(fd, file, offset, size, count);
}

int cc__io_shutdown(int fd, bool reading, bool writing)
{
	const int how = !reading ? SHUT_WR : !writing ? SHUT_RD : SHUT_RDWR;

	return shutdown(fd, how) < 0 ? errno : 0;
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
