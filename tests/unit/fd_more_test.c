/* fd_more_test.c - pieces of memory, files to sockets, and ending a direction.
 * link-wrap: readv sendmsg sendfile */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "hosts.h"
#include "tasks.h"

/* ---- a kernel that interrupts, and takes a few bytes at a time ---- */

static cc__a32 breaks;		/* so many calls more report EINTR */
static cc__a32 most;		/* bytes a call moves; 0: as many as it likes */

ssize_t __real_readv(int fd, const struct iovec *part, int parts);
ssize_t __wrap_readv(int fd, const struct iovec *part, int parts);
ssize_t __real_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __real_sendfile(int fd, int file, off_t *offset, size_t size);
ssize_t __wrap_sendfile(int fd, int file, off_t *offset, size_t size);

static bool broken_off(void)
{
	if (cc__load(&breaks, CC__RELAXED) == 0)
		return false;
	cc__sub(&breaks, 1, CC__RELAXED);
	errno = EINTR;
	return true;
}

ssize_t __wrap_readv(int fd, const struct iovec *part, int parts)
{
	return broken_off() ? -1 : __real_readv(fd, part, parts);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
	const uint32_t few = cc__load(&most, CC__RELAXED);
	struct iovec one = *m->msg_iov;
	struct msghdr less = {.msg_iov = &one, .msg_iovlen = 1};

	CHECK(flags & MSG_NOSIGNAL);
	if (broken_off())
		return -1;
	if (few == 0 || one.iov_len == 0)
		return __real_sendmsg(fd, m, flags);
	one.iov_len = one.iov_len < few ? one.iov_len : few;
	return __real_sendmsg(fd, &less, flags);
}

ssize_t __wrap_sendfile(int fd, int file, off_t *offset, size_t size)
{
	const uint32_t few = cc__load(&most, CC__RELAXED);

	if (broken_off())
		return -1;
	return __real_sendfile(fd, file, offset, few != 0 && few < size ? few : size);
}

static void socket_pair(int end[2])
{
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, end), 0);
}

static int file_of(const char *text, size_t size)
{
	char name[] = "/tmp/ccc-file-XXXXXX";
	const int fd = mkstemp(name);

	CHECK(fd >= 0);
	unlink(name);
	CHECK_EQ(write(fd, text, size), size);
	return fd;
}

/* ---- pieces ---- */

TEST(readv_fills_the_pieces_in_order)
{
	char a[2] = "", b[4] = "", c[4] = "";
	const struct iovec part[] = {{a, 2}, {NULL, 0}, {b, 3}, {c, 3}};
	size_t n = 9;
	int end[2];

	socket_pair(end);
	CHECK_EQ(write(end[1], "abcdef", 6), 6);
	cc__store(&breaks, 2, CC__RELAXED);
	CHECK_EQ(cc_fd_readv(end[0], part, 4, &n, CC_NOW), 0);
	CHECK_EQ(n, 6);
	CHECK(memcmp(a, "ab", 2) == 0 && memcmp(b, "cde", 3) == 0 && c[0] == 'f');
	CHECK_EQ(cc__load(&breaks, CC__RELAXED), 0);
	CHECK_EQ(cc_fd_readv(end[0], part, 4, &n, CC_NOW), EAGAIN);
	CHECK_EQ(n, 0);
	CHECK_EQ(cc_fd_readv(end[0], part + 1, 1, &n, CC_NOW), 0);
	CHECK_EQ(cc_fd_readv(end[0], part, 1025, &n, CC_NOW), EINVAL);
	CHECK_EQ(close(end[1]), 0);
	CHECK_EQ(cc_fd_readv(end[0], part, 4, NULL, CC_FOREVER), EPIPE);
	CHECK_EQ(cc_fd_close(end[0]), 0);
	CHECK_EQ(cc_fd_readv(end[0], part, 4, NULL, CC_FOREVER), EBADF);
}

enum { PIECES = 40 };	/* more than one window */

static void check_pieces(int end[2], uint32_t few)
{
	char text[PIECES][3], got[PIECES * 3 + 1] = "", expected[PIECES * 3 + 1] = "";
	struct iovec part[PIECES];
	size_t n = 0;

	for (unsigned i = 0; i < PIECES; i++) {
		memset(text[i], 'A' + (int)i, 3);
		part[i] = (struct iovec){text[i], i % 4};
		memcpy(expected + strlen(expected), text[i], i % 4);
	}
	cc__store(&most, few, CC__RELAXED);
	CHECK_EQ(cc_fd_writev_all(end[1], part, PIECES, &n, cc_after(CC_SEC)), 0);
	cc__store(&most, 0, CC__RELAXED);
	CHECK_EQ(n, strlen(expected));
	CHECK_EQ(read(end[0], got, sizeof got), n);
	CHECK_STR(got, expected);
}

TEST(writev_all_writes_every_piece_however_few_bytes_a_call_takes)
{
	int end[2];

	socket_pair(end);
	check_pieces(end, 0);
	check_pieces(end, 1);
	check_pieces(end, 2);
	cc__store(&breaks, 2, CC__RELAXED);
	check_pieces(end, 0);
	close_both(end);
	new_pipe(end);		/* not a socket: writev(2) */
	check_pieces(end, 0);
	close_both(end);
}

TEST(writev_all_tells_what_was_written_before_the_error)
{
	static char much[1 << 20];
	const struct iovec part[] = {{much, 10}, {much, sizeof much}};
	size_t n = 0, got = 0;
	int end[2];

	socket_pair(end);
	CHECK_EQ(cc_fd_writev_all(end[1], part, 2, &n, CC_NOW), EAGAIN);
	for (ssize_t m; (m = read(end[0], much, sizeof much)) > 0;)
		got += (size_t)m;
	CHECK_EQ(n, got);
	CHECK(n > 10);
	CHECK_EQ(close(end[0]), 0);
	CHECK_EQ(cc_fd_writev_all(end[1], part, 2, &n, CC_NOW), EPIPE);	/* and no SIGPIPE */
	CHECK_EQ(n, 0);
	CHECK_EQ(close(end[1]), 0);
}

/* ---- files ---- */

TEST(send_file_sends_a_part_and_leaves_the_position_alone)
{
	const int file = file_of("0123456789", 10);
	char got[16] = "";
	size_t n = 0;
	int end[2];

	socket_pair(end);
	CHECK_EQ(lseek(file, 3, SEEK_SET), 3);
	for (uint32_t few = 0; few < 3; few++) {
		cc__store(&most, few, CC__RELAXED);
		cc__store(&breaks, few, CC__RELAXED);
		CHECK_EQ(cc_fd_send_file(end[1], file, 2, 5, &n, cc_after(CC_SEC)), 0);
		CHECK_EQ(n, 5);
		CHECK_EQ(read(end[0], got, sizeof got), 5);
		CHECK(memcmp(got, "23456", 5) == 0);
	}
	cc__store(&most, 0, CC__RELAXED);
	CHECK_EQ(lseek(file, 0, SEEK_CUR), 3);
	CHECK_EQ(cc_fd_send_file(end[1], file, 8, 5, &n, CC_NOW), ENODATA);
	CHECK_EQ(n, 2);
	CHECK_EQ(cc_fd_send_file(end[1], file, 0, 0, &n, CC_NOW), 0);
	CHECK_EQ(cc_fd_send_file(end[1], file, -1, 1, &n, CC_NOW), EINVAL);
	CHECK_EQ(cc_fd_send_file(end[1], end[0], 0, 1, &n, CC_NOW), ESPIPE);
	CHECK_EQ(cc_fd_send_file(end[1], -1, 0, 1, &n, CC_NOW), EBADF);
	close_both(end);
	close(file);
}

static int send_to_closed(void *arg)
{
	const int *fd = arg;

	return cc_fd_send_file(fd[0], fd[1], 0, 4, NULL, CC_NOW);
}

TEST(send_file_to_a_closed_peer_raises_no_signal)
{
	int end[2], fd[2];
	sigset_t pending;
	struct host h;
	struct sleeper s;

	host_begin(&h);
	socket_pair(end);
	CHECK_EQ(close(end[0]), 0);
	fd[0] = end[1];
	fd[1] = file_of("text", 4);
	CHECK_EQ(signal(SIGPIPE, SIG_DFL) == SIG_ERR, 0);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		sleeper_start(&s, h.rt, kind, send_to_closed, fd);
		CHECK_EQ(sleeper_join(&s), EPIPE);
	}
	CHECK_EQ(send_to_closed(fd), EPIPE);
	sigpending(&pending);
	CHECK_EQ(sigismember(&pending, SIGPIPE), 0);
	close(fd[0]);
	close(fd[1]);
	host_end(&h);
}

struct sending {
	int fd, file;
	size_t size, count;
	struct sleeper s;
};

static int send_all(void *arg)
{
	struct sending *t = arg;

	return cc_fd_send_file(t->fd, t->file, 0, t->size, &t->count, CC_FOREVER);
}

TEST(send_file_waits_for_room_and_sends_all)
{
	static char text[1 << 20], got[1 << 20];
	struct sending t = {.size = sizeof text};
	size_t have = 0;
	struct host h;
	int end[2];

	host_begin(&h);
	socket_pair(end);
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(i * 7 >> 5);
	t.fd = end[1];
	t.file = file_of(text, sizeof text);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		sleeper_start(&t.s, h.rt, kind, send_all, &t);
		if (kind == FIBER)
			until_parked(&t.s);
		for (have = 0; have < sizeof got;) {
			const ssize_t n = read(end[0], got + have, sizeof got - have);

			have += n > 0 ? (size_t)n : 0;
		}
		CHECK_EQ(sleeper_join(&t.s), 0);
		CHECK_EQ(t.count, sizeof text);
		CHECK(memcmp(text, got, sizeof got) == 0);
	}
	close_both(end);
	close(t.file);
	host_end(&h);
}

/* ---- one direction ---- */

TEST(shutdown_ends_the_direction_it_names)
{
	char c;
	int end[2];

	socket_pair(end);
	CHECK_EQ(cc_fd_shutdown(end[0], 0), EINVAL);
	CHECK_EQ(cc_fd_shutdown(end[0], 4), EINVAL);
	CHECK_EQ(cc_fd_shutdown(end[0], CC_FD_WRITE), 0);
	CHECK_EQ(cc_fd_read(end[1], &c, 1, NULL, CC_NOW), EPIPE);
	CHECK_EQ(cc_fd_write_all(end[1], "x", 1, NULL, CC_NOW), 0);
	CHECK_EQ(cc_fd_shutdown(end[0], CC_FD_READ), 0);
	CHECK_EQ(cc_fd_read(end[0], &c, 1, NULL, CC_NOW), 0);	/* it was there before */
	CHECK_EQ(cc_fd_read(end[0], &c, 1, NULL, CC_NOW), EPIPE);
	close_both(end);
	socket_pair(end);
	CHECK_EQ(cc_fd_shutdown(end[0], CC_FD_READ | CC_FD_WRITE), 0);
	CHECK_EQ(cc_fd_read(end[1], &c, 1, NULL, CC_NOW), EPIPE);
	CHECK_EQ(cc_fd_write_all(end[1], "x", 1, NULL, CC_NOW), EPIPE);
	close_both(end);
	new_pipe(end);
	CHECK_EQ(cc_fd_shutdown(end[0], CC_FD_READ), ENOTSOCK);
	close_both(end);
	CHECK_EQ(cc_fd_shutdown(end[0], CC_FD_READ), EBADF);
}
