/* fd_many_test.c - many descriptors, many fibers; an echo server. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "hosts.h"
#include "tasks.h"

/* ---- many ---- */

enum { PIPES = 1000 };

static bool room_for(rlim_t descriptors)
{
	struct rlimit limit;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < descriptors && limit.rlim_max >= descriptors) {
		limit.rlim_cur = descriptors;
		CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
	return limit.rlim_cur >= descriptors;
}

static int read_byte(void *arg)
{
	const int *end = arg;
	char c;

	while (read(end[0], &c, 1) != 1) {
		int err = errno == EAGAIN ? cc_wait_fd(end[0], CC_FD_READ, CC_FOREVER) : errno;

		if (err != 0)
			return err;
	}
	return 0;
}

TEST(fd_thousand_pipes_and_fibers)
{
	static int end[PIPES][2];
	static CCTask task[PIPES];
	uint64_t seed = test_seed();
	struct host h;

	if (!room_for(2 * PIPES + 64))
		SKIP("too few descriptors");
	host_begin(&h);
	for (int i = 0; i < PIPES; i++)
		new_pipe(end[i]);
	for (int round = 0; round < 3; round++) {
		const int start = (int)(test_random(&seed) % PIPES);

		for (int i = 0; i < PIPES; i++)
			task[i] = spawn(h.rt, read_byte, end[i]);
		if (round > 0)
			TEST_UNTIL(cc__poll_waiting(h.poll) == PIPES);
		for (int i = 0; i < PIPES; i++)
			put(end[(start + i * 7) % PIPES][1]);
		for (int i = 0; i < PIPES; i++)
			CHECK_EQ(join(task[i]), 0);
	}
	for (int i = 0; i < PIPES; i++)
		close_both(end[i]);
	host_end(&h);
}

/* Deadlines, data and forget at the same moment: each wait ends in one way. */
struct duel {
	int fd;
	cc_time deadline;
};

/* An event of the round before may still be on its way: a wake for no reason. */
static int duel_wait(void *arg)
{
	struct duel *d = arg;
	int err;

	do
		err = cc_wait_fd(d->fd, CC_FD_READ, d->deadline);
	while (err == 0 && cc_wait_fd(d->fd, CC_FD_READ, CC_NOW) == EAGAIN);
	return err;
}

TEST(fd_deadline_data_and_forget_race)
{
	struct duel d;
	struct host h;
	int ended[3] = {0};

	host_begin(&h);
	d.fd = h.end[0];
	for (int i = 0; i < 600; i++) {
		CCTask task;
		int err;

		d.deadline = cc_now() + 100 * CC_USEC;
		task = spawn(h.rt, duel_wait, &d);
		while (i % 3 != 0 && cc_now() < d.deadline - i % 50 * CC_USEC)
			continue;
		if (i % 3 == 1)
			put(h.end[1]);
		if (i % 3 == 2)
			cc__poll_forget(d.fd);
		err = join(task);
		CHECK(err == ETIMEDOUT || (err == 0 && i % 3 == 1) || (err == EBADF && i % 3 == 2));
		ended[err == 0 ? 0 : err == EBADF ? 1 : 2]++;
		drain(d.fd);
	}
	CHECK(ended[2] >= 200);
	host_end(&h);
}

/* ---- an echo server ---- */

enum { CONNECTIONS = 64, MESSAGES = 100, LENGTH = 32 };

static int transfer(int fd, char *bytes, size_t size, bool out)
{
	while (size > 0) {
		ssize_t n = out ? write(fd, bytes, size) : read(fd, bytes, size);

		if (n == 0)
			return EPIPE;
		if (n > 0) {
			bytes += n;
			size -= (size_t)n;
		} else if (errno != EAGAIN) {
			return errno;
		} else {
			int err = cc_wait_fd(fd, out ? CC_FD_WRITE : CC_FD_READ, CC_FOREVER);

			if (err != 0)
				return err;
		}
	}
	return 0;
}

static int echo(void *arg)
{
	const int fd = (int)(intptr_t)arg;
	char bytes[LENGTH];
	int err;

	do
		err = transfer(fd, bytes, sizeof bytes, false);
	while (err == 0 && (err = transfer(fd, bytes, sizeof bytes, true)) == 0);
	cc_fd_close(fd);
	return err == EPIPE ? 0 : err;
}

static int serve(void *arg)
{
	const int listener = *(int *)arg;
	CCTask task[CONNECTIONS];
	int err = 0;

	for (int n = 0; n < CONNECTIONS;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			task[n++] = spawn(NULL, echo, (void *)(intptr_t)fd);
		else if ((err = cc_wait_fd(listener, CC_FD_READ, CC_FOREVER)) != 0)
			return err;
	}
	for (int n = 0; n < CONNECTIONS; n++)
		err |= join(task[n]);
	return err;
}

static int connect_to(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err = 0;
	socklen_t size = sizeof err;

	if (connect(fd, (const struct sockaddr *)to, sizeof *to) == 0)
		return fd;
	CHECK_EQ(errno, EINPROGRESS);
	CHECK_EQ(cc_wait_fd(fd, CC_FD_WRITE, CC_FOREVER), 0);
	CHECK_EQ(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size), 0);
	CHECK_EQ(err, 0);
	return fd;
}

static int talk(void *arg)
{
	const int fd = connect_to(arg);
	char out[LENGTH], in[LENGTH];
	int err = 0;

	for (int i = 0; i < MESSAGES && err == 0; i++) {
		snprintf(out, sizeof out, "%d says %d", fd, i);
		if ((err = transfer(fd, out, sizeof out, true)) == 0 &&
		    (err = transfer(fd, in, sizeof in, false)) == 0)
			CHECK_STR(in, out);
	}
	cc_fd_close(fd);
	return err;
}

TEST(fd_echo_server)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CCTask server, client[CONNECTIONS];
	struct host h;

	if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0)
		SKIP("no loopback network");
	REQUIRE_EQ(listen(listener, CONNECTIONS), 0);
	REQUIRE_EQ(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	host_begin(&h);
	server = spawn(h.rt, serve, &listener);
	for (int i = 0; i < CONNECTIONS; i++)
		client[i] = spawn(h.rt, talk, &at);
	for (int i = 0; i < CONNECTIONS; i++)
		CHECK_EQ(join(client[i]), 0);
	CHECK_EQ(join(server), 0);
	CHECK_EQ(close(listener), 0);
	host_end(&h);
}

static int wait_for_ever(void *fd)
{
	return cc_wait_fd(*(int *)fd, CC_FD_READ, CC_FOREVER);
}

/* One list of so many: a wait must not walk through it. */
TEST(fd_many_waiters_of_one_descriptor)
{
	enum { WAITERS = 20000 };
	struct host h;
	CCNursery n;

	host_begin(&h);
	CHECK_EQ(cc_nursery_init(&n, &(CCNurseryOptions){.runtime = h.rt}), 0);
	for (int i = 0; i < WAITERS; i++)
		CHECK_EQ(cc_nursery_spawn(&n, NULL, wait_for_ever, &h.end[0]), 0);
	TEST_UNTIL(cc__poll_waiting(h.poll) == WAITERS);
	put(h.end[1]);
	CHECK_EQ(cc_nursery_join(&n), 0);
	CHECK_EQ(cc__poll_waiting(h.poll), 0);
	host_end(&h);
}
