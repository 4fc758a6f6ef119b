/* input.c - see input.h. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <ccc/ccc.h>

#include "report.h"

static int opened(struct input *in, int fd, const char *name)
{
	in->fd = fd;
	in->name = name;
	in->ahead_at = in->ahead_end = 0;
	return fd >= 0 && fstat(fd, &in->stat) == 0 ? 0 : errno;
}

int input_open_stdin(struct input *in)
{
	return opened(in, STDIN_FILENO, "stdin");
}

int input_open(struct input *in, const char *path, bool follow)
{
	const int flags = O_RDONLY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
	/* O_NONBLOCK, for the open only: that of a FIFO would wait for a writer. */
	const int err = opened(in, open(path, flags | O_NONBLOCK), path);

	if (err == 0)
		fcntl(in->fd, F_SETFL, flags);
	return err;
}

void input_close(struct input *in)
{
	if (in->fd > STDIN_FILENO)
		close(in->fd);
}

struct request {
	struct input *in;
	unsigned char *data;
	size_t size, length;
};

/* Reads until `size` bytes are there or the file ends.  Runs on a thread that may block. */
static int read_fully(void *arg)
{
	struct request *r = arg;

	while (r->length < r->size) {
		const ssize_t n = read(r->in->fd, r->data + r->length, r->size - r->length);

		if (n == 0)
			break;
		if (n > 0)
			r->length += (size_t)n;
		else if (errno != EINTR)
			return errno;
	}
	return 0;
}

/* read_fully, while other fibers run. */
static int fetch(struct request *r)
{
	int result = 0;

	cc_try(cc_blocking(read_fully, r, &result));
	return result == 0 ? 0 : report_errno(r->in->name, result);
}

int input_read(struct input *in, void *data, size_t size, size_t *length)
{
	struct request r = {.in = in, .data = data, .size = size};
	const size_t ahead = in->ahead_end - in->ahead_at;

	r.length = ahead < size ? ahead : size;
	memcpy(data, in->ahead + in->ahead_at, r.length);
	in->ahead_at += r.length;
	if (r.length < size)
		cc_try(fetch(&r));
	*length = r.length;
	return 0;
}

int input_peek(struct input *in)
{
	struct request r = {.in = in, .data = in->ahead, .size = sizeof in->ahead};

	r.length = in->ahead_end - in->ahead_at;
	memmove(in->ahead, in->ahead + in->ahead_at, r.length);
	in->ahead_at = 0;
	in->ahead_end = r.length;
	cc_try(fetch(&r));
	in->ahead_end = r.length;
	return 0;
}
