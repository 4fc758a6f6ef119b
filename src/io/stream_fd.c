/* stream_fd.c - streams over descriptors.  The object of the backend is the stream itself. */
#include <ccc/io.h>

#include <errno.h>

#include "io/stream.h"
#include "io/use.h"
#include "os/io.h"

static int read_fd(void *stream, void *buffer, size_t size, size_t *count)
{
	CCStream *s = stream;
	int err;

	s->read_generation = cc__use_generation(s->fd);
	if ((err = cc__io_read(s->fd, buffer, size, count)) != 0)
		return err;
	if (*count < size)
		cc__use_short(s->fd, s->read_generation);
	return *count == 0 ? EPIPE : 0;
}

bool cc__stream_drained(CCStream *s)
{
	if (s->fd < 0)
		return false;
	s->read_generation = cc__use_generation(s->fd);
	return cc__use_drained(s->fd, s->read_generation);
}

static int write_fd(void *stream, const void *buffer, size_t size, size_t *count)
{
	CCStream *s = stream;

	s->write_generation = cc__use_generation(s->fd);
	return cc__io_write(s->fd, buffer, size, count);
}

static int wait_fd(void *stream, unsigned event, cc_time deadline)
{
	const CCStream *s = stream;

	return cc__use_wait(s->fd, event, deadline,
	                    event == CC_FD_READ ? s->read_generation : s->write_generation);
}

static int shutdown_fd(void *stream)
{
	const CCStream *s = stream;

	return cc_fd_shutdown(s->fd, CC_FD_WRITE);
}

static int close_fd(void *stream)
{
	const CCStream *s = stream;

	return cc_fd_close(s->fd);
}

static const CCStreamBackend descriptor = {
    .read = read_fd,
    .write = write_fd,
    .wait = wait_fd,
    .shutdown = shutdown_fd,
    .close = close_fd,
};

int cc_stream_open(CCStream **stream, int fd)
{
	CCStream *s;
	int err;

	if (stream == NULL)
		return EINVAL;
	if ((err = cc_fd_nonblock(fd)) != 0 ||
	    (err = cc_stream_new(&s, &descriptor, stream)) != 0)
		return err;
	s->object = s;
	s->fd = fd;
	*stream = s;
	return 0;
}
