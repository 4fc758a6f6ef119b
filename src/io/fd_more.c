/* fd_more.c - pieces of memory, files to sockets, and ending a direction. */
#include <ccc/fiber.h>
#include <ccc/io.h>

#include <errno.h>

#include "io/use.h"
#include "os/io.h"

/* So many pieces go to the system at once. */
enum { PARTS_MOST = 1024, WINDOW = 16 };

static int set_count(size_t *count, size_t n, int err)
{
	if (count != NULL)
		*count = n;
	return err;
}

/* ---- readv ---- */

static bool all_empty(const struct iovec *part, unsigned parts)
{
	while (parts > 0 && part[parts - 1].iov_len == 0)
		parts--;
	return parts == 0;
}

static int readv_some(int fd, const struct iovec *part, unsigned parts, size_t *n, cc_time deadline)
{
	uint32_t generation;
	int err;

	do {
		generation = cc__use_generation(fd);
		if ((err = cc__io_readv(fd, part, parts, n)) != EAGAIN)
			return err == 0 && *n == 0 ? EPIPE : err;
	} while ((err = cc__use_wait(fd, CC_FD_READ, deadline, generation)) == 0);
	return err;
}

int cc_fd_readv(int fd, const struct iovec *part, unsigned parts, size_t *count, cc_time deadline)
{
	size_t n = 0;
	int err = 0;

	if (parts > PARTS_MOST)
		err = EINVAL;
	else if (!all_empty(part, parts))
		err = readv_some(fd, part, parts, &n, deadline);
	return set_count(count, n, err);
}

/* ---- writev ---- */

/* What is left of the pieces: from byte `from` of the first on. */
struct rest {
	const struct iovec *part;
	unsigned parts;
	size_t from;
};

static void rest_advance(struct rest *r, size_t n)
{
	n += r->from;
	while (r->parts > 0 && n >= r->part->iov_len) {
		n -= r->part->iov_len;
		r->part++;
		r->parts--;
	}
	r->from = n;
}

/* The first pieces of it, in `window`.  Their number. */
static unsigned rest_window(const struct rest *r, struct iovec window[WINDOW])
{
	const unsigned parts = r->parts < WINDOW ? r->parts : WINDOW;

	for (unsigned i = 0; i < parts; i++)
		window[i] = r->part[i];
	window[0].iov_base = (char *)window[0].iov_base + r->from;
	window[0].iov_len -= r->from;
	return parts;
}

static int writev_some(int fd, const struct rest *r, size_t *n, cc_time deadline)
{
	struct iovec window[WINDOW];
	const unsigned parts = rest_window(r, window);
	uint32_t generation;
	int err;

	do {
		generation = cc__use_generation(fd);
		if ((err = cc__io_writev(fd, window, parts, n)) != EAGAIN)
			return err;
	} while ((err = cc__use_wait(fd, CC_FD_WRITE, deadline, generation)) == 0);
	return err;
}

int cc_fd_writev_all(int fd, const struct iovec *part, unsigned parts, size_t *count,
                     cc_time deadline)
{
	struct rest r = {part, parts, 0};
	size_t done = 0, n;
	int err = 0;

	for (rest_advance(&r, 0); err == 0 && r.parts > 0; done += n, rest_advance(&r, n)) {
		n = 0;
		err = writev_some(fd, &r, &n, deadline);
	}
	return set_count(count, done, err);
}

/* ---- files ---- */

static int send_file_some(int fd, int file, int64_t *offset, size_t size, size_t *n,
                          cc_time deadline)
{
	uint32_t generation;
	int err;

	do {
		generation = cc__use_generation(fd);
		/* Threads of a runtime block SIGPIPE (docs/signals.md). */
		err = cc__io_send_file(fd, file, offset, size, cc_fiber_id() != 0, n);
		if (err != EAGAIN)
			return err == 0 && *n == 0 ? ENODATA : err;
	} while ((err = cc__use_wait(fd, CC_FD_WRITE, deadline, generation)) == 0);
	return err;
}

int cc_fd_send_file(int fd, int file, int64_t offset, size_t size, size_t *count, cc_time deadline)
{
	size_t done = 0, n;
	int err = 0;

	for (; err == 0 && done < size; done += n) {
		n = 0;
		err = send_file_some(fd, file, &offset, size - done, &n, deadline);
	}
	return set_count(count, done, err);
}

/* ---- one direction ---- */

int cc_fd_shutdown(int fd, unsigned directions)
{
	if (directions == 0 || (directions & ~(unsigned)(CC_FD_READ | CC_FD_WRITE)) != 0)
		return EINVAL;
	return cc__io_shutdown(fd, (directions & CC_FD_READ) != 0, (directions & CC_FD_WRITE) != 0);
}
