/* file_test.c - files through cc_fd_read and cc_fd_write_all: what is in memory at once, the rest by
 * another thread.
 * link-wrap: syscall read send
 * mutate: src/io/file.c */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "hosts.h"
#include "tasks.h"

/* ---- a slow disk ---- */

static cc__a32 cold;	/* 1: nothing is in memory */
static cc__a32 by_threads, by_fibers;	/* plain calls on the file */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
ssize_t __real_send(int fd, const void *buffer, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *buffer, size_t size, int flags);

long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if ((number == SYS_preadv2 || number == SYS_pwritev2) && cc__load(&cold, CC__ACQUIRE)) {
		errno = EAGAIN;
		return -1;
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void count_call(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		cc__add(cc_fiber_id() != 0 ? &by_fibers : &by_threads, 1, CC__RELAXED);
}

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
	count_call(fd);
	return __real_read(fd, buffer, size);
}

ssize_t __wrap_send(int fd, const void *buffer, size_t size, int flags)
{
	count_call(fd);
	return __real_send(fd, buffer, size, flags);
}

/* ---- the tests ---- */

struct job {
	char path[64];
};

static int write_and_read(void *arg)
{
	const struct job *j = arg;
	char text[16] = "";
	size_t n = 9;
	int fd;

	CHECK_EQ(cc_fd_open(&fd, j->path, O_WRONLY | O_CREAT | O_TRUNC, 0600), 0);
	CHECK_EQ(cc_fd_write_all(fd, "hello ", 6, NULL, CC_FOREVER), 0);
	CHECK_EQ(cc_fd_write_all(fd, "world", 5, &n, CC_FOREVER), 0);
	CHECK_EQ(n, 5);
	CHECK_EQ(cc_fd_read(fd, text, 1, &n, CC_FOREVER), EBADF);
	CHECK_EQ(n, 0);
	CHECK_EQ(cc_fd_close(fd), 0);
	CHECK_EQ(cc_fd_open(&fd, j->path, O_RDONLY, 0), 0);
	CHECK_EQ(cc_fd_read(fd, text, 5, &n, CC_FOREVER), 0);
	CHECK_EQ(n, 5);
	CHECK_EQ(cc_fd_read_all(fd, text + 5, 6, &n, CC_FOREVER), 0);
	CHECK_STR(text, "hello world");
	CHECK_EQ(cc_fd_read(fd, text, sizeof text, &n, CC_FOREVER), EPIPE);
	CHECK_EQ(n, 0);
	CHECK_EQ(cc_fd_write_all(fd, "x", 1, NULL, CC_FOREVER), EBADF);
	return cc_fd_close(fd);
}

static struct job new_job(void)
{
	struct job j = {.path = "/tmp/ccc-file-test-XXXXXX"};
	const int fd = mkstemp(j.path);

	CHECK(fd >= 0 && close(fd) == 0);
	cc__store(&by_fibers, 0, CC__RELEASE);
	cc__store(&by_threads, 0, CC__RELEASE);
	return j;
}

static void end_job(struct job *j)
{
	cc__store(&cold, 0, CC__RELEASE);
	CHECK_EQ(unlink(j->path), 0);
}

TEST(file_is_read_and_written_without_blocking_a_worker)
{
	CCRuntime *rt = test_runtime_of(1);
	struct job j = new_job();

	for (uint32_t is_cold = 0; is_cold < 2; is_cold++) {
		cc__store(&cold, is_cold, CC__RELEASE);
		CHECK_EQ(join(spawn(rt, write_and_read, &j)), 0);
		CHECK_EQ(cc__load(&by_fibers, CC__ACQUIRE), 0);
	}
	CHECK(cc__load(&by_threads, CC__ACQUIRE) >= 5);
	end_job(&j);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(thread_reads_a_file_itself)
{
	struct job j = new_job();

	cc__store(&cold, 1, CC__RELEASE);
	CHECK_EQ(write_and_read(&j), 0);
	CHECK(cc__load(&by_threads, CC__ACQUIRE) >= 5);
	end_job(&j);
}

static int open_wrongly(void *arg)
{
	int fd = 77;

	(void)arg;
	CHECK_EQ(cc_fd_open(&fd, "/nowhere/at/all", O_RDONLY, 0), ENOENT);
	CHECK_EQ(cc_fd_open(&fd, "/tmp", O_WRONLY, 0), EISDIR);
	CHECK_EQ(cc_fd_open(NULL, "/tmp", O_RDONLY, 0), EINVAL);
	CHECK_EQ(cc_fd_open(&fd, NULL, O_RDONLY, 0), EINVAL);
	CHECK_EQ(fd, 77);
	return 0;
}

TEST(open_tells_why_not)
{
	CCRuntime *rt = test_runtime_of(1);

	CHECK_EQ(join(spawn(rt, open_wrongly, NULL)), 0);
	CHECK_EQ(open_wrongly(NULL), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* No file on a disk: readiness counts, as for any other descriptor. */
TEST(pipe_that_is_opened_by_path_can_be_waited_for)
{
	char path[64], c;
	size_t n;
	int in, out;

	snprintf(path, sizeof path, "/tmp/ccc-file-test-fifo-%d", (int)getpid());
	REQUIRE_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(cc_fd_open(&in, path, O_RDONLY, 0), 0);
	CHECK_EQ(cc_fd_open(&out, path, O_WRONLY, 0), 0);
	CHECK_EQ(cc_fd_read(in, &c, 1, &n, cc_after(CC_MSEC)), ETIMEDOUT);
	CHECK_EQ(cc_fd_write_all(out, "f", 1, NULL, CC_NOW), 0);
	CHECK_EQ(cc_fd_read(in, &c, 1, &n, CC_NOW), 0);
	CHECK_EQ(c, 'f');
	CHECK_EQ(cc_fd_close(in), 0);
	CHECK_EQ(cc_fd_close(out), 0);
	CHECK_EQ(unlink(path), 0);
}
