/* io_test.c - reading, writing and closing descriptors.  link-wrap: read send */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "hosts.h"
#include "os/tools.h"
#include "tasks.h"

/* ---- a kernel that interrupts ---- */

static cc__a32 interrupts;	/* so many calls more report EINTR */

ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __real_send(int fd, const void *buffer, size_t size, int flags);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
ssize_t __wrap_send(int fd, const void *buffer, size_t size, int flags);

static bool interrupted(void)
{
	if (cc__load(&interrupts, CC__RELAXED) == 0)
		return false;
	cc__sub(&interrupts, 1, CC__RELAXED);
	errno = EINTR;
	return true;
}

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
	return interrupted() ? -1 : __real_read(fd, buffer, size);
}

ssize_t __wrap_send(int fd, const void *buffer, size_t size, int flags)
{
	return interrupted() ? -1 : __real_send(fd, buffer, size, flags);
}

static void new_pair(int end[2])
{
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, end), 0);
}

/* ---- one call ---- */

struct transfer {
	int fd;
	char *at;
	size_t size, count;
	struct sleeper s;
};

static int do_read(void *arg)
{
	struct transfer *t = arg;

	return cc_fd_read(t->fd, t->at, t->size, &t->count, CC_FOREVER);
}

static int do_read_all(void *arg)
{
	struct transfer *t = arg;

	return cc_fd_read_all(t->fd, t->at, t->size, &t->count, CC_FOREVER);
}

static int do_write_all(void *arg)
{
	struct transfer *t = arg;

	return cc_fd_write_all(t->fd, t->at, t->size, &t->count, CC_FOREVER);
}

static void begin(struct transfer *t, struct host *h, enum kind kind, int (*what)(void *arg))
{
	t->count = 12345;
	sleeper_start(&t->s, h->rt, kind, what, t);
}

TEST(read_waits_for_data_and_takes_what_is_there)
{
	struct host h;
	char text[8];
	struct transfer t = {.at = text, .size = sizeof text};

	host_begin(&h);
	t.fd = h.end[0];
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		memset(text, 0, sizeof text);
		begin(&t, &h, kind, do_read);
		if (kind == FIBER)
			until_parked(&t.s);
		CHECK_EQ(write(h.end[1], "abc", 3), 3);
		CHECK_EQ(sleeper_join(&t.s), 0);
		CHECK_EQ(t.count, 3);
		CHECK_STR(text, "abc");
	}
	host_end(&h);
}

TEST(read_all_collects_the_pieces)
{
	struct host h;
	char text[8] = "";
	struct transfer t = {.at = text, .size = 6};

	host_begin(&h);
	t.fd = h.end[0];
	begin(&t, &h, FIBER, do_read_all);
	until_parked(&t.s);
	CHECK_EQ(write(h.end[1], "abc", 3), 3);
	CHECK_EQ(write(h.end[1], "defg", 4), 4);
	CHECK_EQ(sleeper_join(&t.s), 0);
	CHECK_EQ(t.count, 6);
	CHECK_STR(text, "abcdef");
	drain(h.end[0]);
	host_end(&h);
}

TEST(end_of_file_is_epipe_and_tells_what_came_before)
{
	char text[8] = "";
	size_t n = 7;
	int end[2];

	new_pipe(end);
	CHECK_EQ(write(end[1], "abc", 3), 3);
	CHECK_EQ(close(end[1]), 0);
	CHECK_EQ(cc_fd_read_all(end[0], text, 4, &n, CC_FOREVER), EPIPE);
	CHECK_EQ(n, 3);
	CHECK_STR(text, "abc");
	CHECK_EQ(cc_fd_read(end[0], text, 4, &n, CC_FOREVER), EPIPE);
	CHECK_EQ(n, 0);
	CHECK_EQ(cc_fd_close(end[0]), 0);
}

/* Megabytes through a socket: many waits, in both directions. */
TEST(write_all_writes_more_than_the_socket_takes)
{
	enum { SIZE = 3 << 20 };
	static char sent[SIZE], received[SIZE];
	struct host h;
	int end[2];

	for (size_t i = 0; i < SIZE; i++)
		sent[i] = (char)(i * 31 + i / 256);
	host_begin(&h);
	new_pair(end);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		struct transfer out = {.fd = end[0], .at = sent, .size = SIZE};
		struct transfer in = {.fd = end[1], .at = received, .size = SIZE};

		memset(received, 0, SIZE);
		begin(&out, &h, kind, do_write_all);
		begin(&in, &h, kind, do_read_all);
		CHECK_EQ(sleeper_join(&out.s), 0);
		CHECK_EQ(sleeper_join(&in.s), 0);
		CHECK_EQ(out.count, SIZE);
		CHECK_EQ(in.count, SIZE);
		CHECK_EQ(memcmp(sent, received, SIZE), 0);
	}
	close_both(end);
	host_end(&h);
}

/* By a thread of the program, whose SIGPIPE would end it. */
TEST(write_to_a_closed_socket_raises_no_signal)
{
	int end[2];
	size_t n = 7;

	CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	new_pair(end);
	CHECK_EQ(close(end[1]), 0);
	CHECK_EQ(cc_fd_write_all(end[0], "abc", 3, &n, CC_FOREVER), EPIPE);
	CHECK_EQ(n, 0);
	CHECK_EQ(cc_fd_close(end[0]), 0);
}

TEST(interrupted_calls_go_on)
{
	int end[2];
	char text[4] = "";
	size_t n;

	new_pair(end);
	cc__store(&interrupts, 3, CC__RELAXED);
	CHECK_EQ(cc_fd_write_all(end[0], "abc", 3, &n, CC_NOW), 0);
	CHECK_EQ(cc__load(&interrupts, CC__RELAXED), 0);
	cc__store(&interrupts, 3, CC__RELAXED);
	CHECK_EQ(cc_fd_read(end[1], text, sizeof text, &n, CC_NOW), 0);
	CHECK_EQ(cc__load(&interrupts, CC__RELAXED), 0);
	CHECK_STR(text, "abc");
	close_both(end);
}

TEST(now_does_not_wait)
{
	int end[2];
	char c;
	size_t n = 7;

	new_pipe(end);
	CHECK_EQ(cc_fd_read(end[0], &c, 1, &n, CC_NOW), EAGAIN);
	CHECK_EQ(n, 0);
	CHECK_EQ(cc_fd_read(end[0], &c, 0, &n, CC_NOW), 0);
	fill(end[1]);
	CHECK_EQ(cc_fd_write_all(end[1], "x", 1, &n, CC_NOW), EAGAIN);
	CHECK_EQ(n, 0);
	close_both(end);
}

static int use_what_is_ready(void *arg)
{
	const int *end = arg;
	char text[2] = "";

	cc_nursery_scope(n, NULL) {
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		CHECK_EQ(cc_fd_write_all(end[1], "x", 1, NULL, 1), 0);
		CHECK_EQ(cc_fd_read(end[0], text, 1, NULL, 1), 0);
		CHECK_EQ(cc_fd_read(end[0], text, 1, NULL, CC_FOREVER), ECANCELED);
	}
	return text[0];
}

TEST(what_need_not_wait_succeeds_though_late_and_cancelled)
{
	struct host h;

	host_begin(&h);
	CHECK_EQ(join(spawn(h.rt, use_what_is_ready, h.end)), 'x');
	host_end(&h);
}

TEST(wrong_descriptors_are_refused)
{
	int end[2];
	char c = 0;
	size_t n = 7;

	new_pipe(end);
	CHECK_EQ(cc_fd_read(-1, &c, 1, &n, CC_FOREVER), EBADF);
	CHECK_EQ(n, 0);
	CHECK_EQ(cc_fd_read(end[1], &c, 1, NULL, CC_FOREVER), EBADF);
	CHECK_EQ(cc_fd_write_all(end[0], &c, 1, NULL, CC_FOREVER), EBADF);
	CHECK_EQ(cc_fd_nonblock(-1), EBADF);
	CHECK_EQ(cc_fd_close(-1), EBADF);
	CHECK_EQ(cc_fd_close(end[0]), 0);
	CHECK_EQ(cc_fd_close(end[0]), EBADF);
	CHECK_EQ(cc_fd_read(end[0], &c, 1, NULL, CC_FOREVER), EBADF);
	CHECK_EQ(cc_fd_close(end[1]), 0);
}

TEST(nonblock_sets_the_flag_and_keeps_others)
{
	int end[2];

	CHECK_EQ(pipe(end), 0);
	CHECK_EQ(fcntl(end[1], F_SETFL, O_APPEND), 0);
	CHECK_EQ(cc_fd_nonblock(end[1]), 0);
	CHECK_EQ(cc_fd_nonblock(end[1]), 0);
	CHECK_EQ(fcntl(end[1], F_GETFL) & (O_NONBLOCK | O_APPEND), O_NONBLOCK | O_APPEND);
	CHECK_EQ(cc_fd_nonblock(end[0]), 0);
	close_both(end);
}

/* ---- closing ---- */

/* In two runtimes, in both directions, and by cc_wait_fd. */
TEST(close_ends_all_waits_of_fibers)
{
	enum { EACH = 20 };
	static struct transfer r[EACH], w[EACH];
	static char much[1 << 20];
	struct host h[2];
	struct wait plain;
	int end[2];

	host_begin(&h[0]);
	host_begin(&h[1]);
	new_pair(end);
	fill(end[0]);
	for (int i = 0; i < EACH; i++) {
		r[i] = (struct transfer){.fd = end[0], .at = much, .size = 1};
		w[i] = (struct transfer){.fd = end[0], .at = much, .size = sizeof much};
		begin(&r[i], &h[i % 2], FIBER, do_read);
		begin(&w[i], &h[i % 2], FIBER, do_write_all);
	}
	wait_begin(&plain, &h[0], FIBER, end[0], CC_FD_READ, CC_FOREVER);
	until_asleep(&plain);
	for (int i = 0; i < EACH; i++) {
		until_parked(&r[i].s);
		until_parked(&w[i].s);
	}
	CHECK_EQ(cc_fd_close(end[0]), 0);
	CHECK_EQ(sleeper_join(&plain.s), EBADF);
	for (int i = 0; i < EACH; i++) {
		CHECK_EQ(sleeper_join(&r[i].s), EBADF);
		CHECK_EQ(sleeper_join(&w[i].s), EBADF);
	}
	CHECK_EQ(cc_fd_close(end[1]), 0);
	host_end(&h[1]);
	host_end(&h[0]);
}

static int close_cancelled(void *arg)
{
	int err = -1;

	cc_nursery_scope(n, NULL) {
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		err = cc_fd_close(*(int *)arg);
	}
	return err;
}

/* On one worker, which the reader needs as well. */
TEST(close_by_a_cancelled_caller_ends_readers)
{
	CCRuntime *rt = test_runtime_of(1);
	struct transfer t = {.at = (char[1]){0}, .size = 1};
	int end[2];

	new_pipe(end);
	t.fd = end[0];
	sleeper_start(&t.s, rt, FIBER, do_read, &t);
	until_parked(&t.s);
	CHECK_EQ(join(spawn(rt, close_cancelled, &end[0])), 0);
	CHECK_EQ(sleeper_join(&t.s), EBADF);
	CHECK_EQ(close(end[1]), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* A reader begins its wait while the descriptor is closed, and the number gets a new meaning at
 * once: a pipe that stays open and has no data at first. */
struct race {
	int fd;
	cc__a32 reading, closed;
};

static int race_to_wait(void *arg)
{
	struct race *r = arg;
	char c = 0;
	int err;

	cc__store(&r->reading, 1, CC__RELEASE);
	err = cc_fd_read(r->fd, &c, 1, NULL, CC_FOREVER);
	/* One that comes after the close reads what the number means by then. */
	CHECK(err == EBADF || (err == 0 && c == 'n' && cc__load(&r->closed, CC__ACQUIRE) != 0));
	return 0;
}

TEST(close_ends_a_wait_that_is_about_to_begin)
{
	struct host h;

#ifdef CC__TSAN
	SKIP("an attempt to read beside close(2) is what it reports");
#endif
	host_begin(&h);
	for (unsigned i = test_rounds(2000); i > 0 && test_has_time(); i--) {
		struct race r = {0};
		int old[2], new[2], moved;
		CCTask t;

		new_pipe(old);
		new_pipe(new);
		r.fd = old[0];
		t = spawn(h.rt, race_to_wait, &r);
		TEST_UNTIL(cc__load(&r.reading, CC__ACQUIRE) != 0);
		for (unsigned spin = i % 64 * 16; spin > 0; spin--)
			cc__load(&r.reading, CC__ACQUIRE);
		cc__store(&r.closed, 1, CC__RELEASE);
		CHECK_EQ(cc_fd_close(old[0]), 0);
		moved = dup(new[0]);
		CHECK_EQ(moved, old[0]);
		if (cc_task_join(t, cc_after(CC_MSEC), NULL) != 0) {
			CHECK_EQ(write(new[1], "n", 1), 1); /* it came late, and waits */
			CHECK_EQ(join(t), 0);
		}
		CHECK_EQ(cc_fd_close(moved), 0);
		close_both(new);
		CHECK_EQ(close(old[1]), 0);
	}
	host_end(&h);
}
