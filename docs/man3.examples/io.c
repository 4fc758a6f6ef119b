/* Descriptors: <ccc/io.h> and <ccc/fd.h>. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ccc/ccc.h>
#include <ccc/errno.h>

/* Two connected sockets that do not block their thread. */
static void connect_two(int fd[2])
{
	assert(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	assert(cc_fd_nonblock(fd[0]) == 0);
	assert(cc_fd_nonblock(fd[1]) == 0);
}

static void write_and_read(void)
{
	char text[16];
	size_t n;
	int fd[2];

	connect_two(fd);
	assert(cc_fd_write_all(fd[0], "hello, world", 12, NULL, cc_after(5 * CC_SEC)) == 0);
	assert(cc_fd_read_all(fd[1], text, 5, NULL, cc_after(5 * CC_SEC)) == 0);
	assert(memcmp(text, "hello", 5) == 0);			/* exactly 5 bytes */
	assert(cc_fd_read(fd[1], text, sizeof text, &n, cc_after(5 * CC_SEC)) == 0);
	assert(n == 7);						/* what is there */
	assert(cc_fd_read(fd[1], text, sizeof text, &n, cc_after(CC_MSEC)) == ETIMEDOUT);
	assert(cc_fd_close(fd[0]) == 0);
	assert(cc_fd_read(fd[1], text, sizeof text, &n, CC_FOREVER) == EPIPE);	/* the end */
	assert(cc_fd_close(fd[1]) == 0);
}

/* A head and a body that lie in different places. */
static void write_pieces(void)
{
	char head[] = "head ", body[] = "body", first[5], second[8];
	const struct iovec out[] = {{head, 5}, {body, 4}};
	const struct iovec in[] = {{first, sizeof first}, {second, sizeof second}};
	size_t n;
	int fd[2];

	connect_two(fd);
	assert(cc_fd_writev_all(fd[0], out, 2, &n, CC_FOREVER) == 0 && n == 9);
	assert(cc_fd_readv(fd[1], in, 2, &n, CC_FOREVER) == 0 && n == 9);
	assert(memcmp(second, "body", 4) == 0);
	assert(cc_fd_close(fd[0]) == 0 && cc_fd_close(fd[1]) == 0);
}

static void send_a_file(void)
{
	FILE *file = tmpfile();
	char text[8];
	size_t n;
	int fd[2];

	assert(file != NULL && fputs("0123456789", file) >= 0 && fflush(file) == 0);
	connect_two(fd);
	assert(cc_fd_send_file(fd[0], fileno(file), 3, 4, &n, cc_after(5 * CC_SEC)) == 0);
	assert(n == 4);
	assert(cc_fd_read_all(fd[1], text, 4, NULL, CC_FOREVER) == 0);
	assert(memcmp(text, "3456", 4) == 0);
	assert(cc_fd_close(fd[0]) == 0 && cc_fd_close(fd[1]) == 0);
	fclose(file);
}

/* In a fiber the open is made by another thread, because a path may lie on a slow file system. */
static int read_a_file(void *arg)
{
	char text[4];
	int fd;

	cc_try(cc_fd_open(&fd, arg, O_RDONLY, 0));
	cc_try(cc_fd_read_all(fd, text, sizeof text, NULL, cc_after(5 * CC_SEC)));
	assert(memcmp(text, "0123", 4) == 0);
	return cc_fd_close(fd);
}

static void open_a_file(void)
{
	char path[] = "/tmp/example.XXXXXX";
	const int fd = mkstemp(path);

	assert(fd >= 0 && write(fd, "0123456789", 10) == 10 && close(fd) == 0);
	assert(cc_block_on(read_a_file, path, NULL) == 0);
	assert(unlink(path) == 0);
}

/* "I have sent everything": the peer reads the end and can still answer. */
static void end_one_direction(void)
{
	char text[8];
	size_t n;
	int fd[2];

	connect_two(fd);
	assert(cc_fd_shutdown(fd[0], CC_FD_WRITE) == 0);
	assert(cc_fd_read(fd[1], text, sizeof text, &n, CC_FOREVER) == EPIPE);
	assert(cc_fd_write_all(fd[1], "answer", 6, NULL, CC_FOREVER) == 0);
	assert(cc_fd_read_all(fd[0], text, 6, NULL, CC_FOREVER) == 0);
	assert(cc_fd_close(fd[0]) == 0 && cc_fd_close(fd[1]) == 0);
}

/* A library that reads by itself is told when it can: the descriptor has O_NONBLOCK. */
static void wait_and_read(void)
{
	char text[8];
	ssize_t n;
	int fd[2];

	connect_two(fd);
	assert(cc_wait_fd(fd[1], CC_FD_READ, CC_NOW) == EAGAIN);
	assert(cc_fd_write_all(fd[0], "x", 1, NULL, CC_FOREVER) == 0);
	while ((n = read(fd[1], text, sizeof text)) < 0 && errno == EAGAIN)
		assert(cc_wait_fd(fd[1], CC_FD_READ, CC_FOREVER) == 0);
	assert(n == 1);
	assert(cc_fd_close(fd[0]) == 0 && cc_fd_close(fd[1]) == 0);
}

int main(void)
{
	write_and_read();
	write_pieces();
	send_a_file();
	open_a_file();
	end_one_direction();
	wait_and_read();
	return 0;
}
