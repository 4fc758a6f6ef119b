/* fd_made_test.c - sockets that the library has made: registered once, drained by short reads, closed
 * under waiters, and their numbers used again.  link-wrap: read epoll_ctl */
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "hosts.h"
#include "io/use.h"
#include "raw.h"
#include "io/bell.h"
#include "io/fd_word.h"
#include "tasks.h"

/* ---- what is asked of the kernel ---- */

static cc__a32 reads, controls;

ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
	cc__add(&reads, 1, CC__RELAXED);
	return __real_read(fd, buffer, size);
}

int __real_epoll_ctl(int epoll, int how, int fd, struct epoll_event *e);
int __wrap_epoll_ctl(int epoll, int how, int fd, struct epoll_event *e);
RAW int __wrap_epoll_ctl(int epoll, int how, int fd, struct epoll_event *e)
{
	cc__add(&controls, 1, CC__RELAXED);
	return __real_epoll_ctl(epoll, how, fd, e);
}

/* ---- a connection ---- */

struct pair {
	int listener;
	int ours;	/* made by the library: accepted */
	int peer;	/* a blocking socket of the program */
};

static int plain_client(const char *at)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_port = htons((uint16_t)atoi(strrchr(at, ':') + 1));
	CHECK(fd >= 0);
	CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

static void pair_accept(struct pair *p)
{
	char at[CC_NET_ADDRESS_SIZE];

	CHECK_EQ(cc_net_local_address(p->listener, at, sizeof at), 0);
	p->peer = plain_client(at);
	CHECK_EQ(cc_net_accept(p->listener, &p->ours, CC_FOREVER), 0);
}

static void pair_begin(struct pair *p)
{
	CHECK_EQ(cc_net_listen(&p->listener, "127.0.0.1:0", NULL), 0);
	pair_accept(p);
}

static void pair_end(struct pair *p)
{
	CHECK_EQ(close(p->peer), 0);
	CHECK_EQ(cc_fd_close(p->listener), 0);
}

static int echo(void *arg)
{
	const int fd = *(int *)arg;
	char text[64];
	size_t n;
	int err;

	while ((err = cc_fd_read(fd, text, sizeof text, &n, CC_FOREVER)) == 0)
		if ((err = cc_fd_write_all(fd, text, n, NULL, CC_FOREVER)) != 0)
			return err;
	return err;
}

static void ask(int fd, int times)
{
	char c = 'x';

	while (times-- > 0) {
		CHECK_EQ(send(fd, &c, 1, MSG_NOSIGNAL), 1);
		CHECK_EQ(recv(fd, &c, 1, 0), 1);
	}
}

/* ---- system calls ---- */

/* The first requests register; afterwards a request is one read, and nothing is registered. */
TEST(request_to_a_made_socket_takes_one_read_and_no_registration)
{
	enum { REQUESTS = 200 };
	uint32_t reads_before, controls_before;
	struct host h;
	struct pair p;
	CCTask t;

	host_begin(&h);
	pair_begin(&p);
	t = spawn(h.rt, echo, &p.ours);
	ask(p.peer, 3);
	TEST_UNTIL(cc__poll_waiting(h.poll) == 1);
	reads_before = cc__load(&reads, CC__RELAXED);
	controls_before = cc__load(&controls, CC__RELAXED);
	ask(p.peer, REQUESTS);
	CHECK_EQ(cc__load(&controls, CC__RELAXED), controls_before);
	/* One that begins its next read before the report of this one was counted tries once more. */
	CHECK(cc__load(&reads, CC__RELAXED) - reads_before <= REQUESTS + REQUESTS / 10);
	CHECK_EQ(shutdown(p.peer, SHUT_WR), 0);
	CHECK_EQ(join(t), EPIPE);
	CHECK_EQ(cc_fd_close(p.ours), 0);
	pair_end(&p);
	host_end(&h);
}

/* ---- what a short read does not prove ---- */

static int read_to_the_end(void *arg)
{
	char text[64];
	size_t n, all = 0;
	int err;

	while ((err = cc_fd_read(*(int *)arg, text, sizeof text, &n, CC_FOREVER)) == 0)
		all += n;
	CHECK_EQ(err, EPIPE);
	return (int)all;
}

/* Data and the end in one report, and in two. */
TEST(end_after_a_short_read_is_seen)
{
	struct host h;

	host_begin(&h);
	for (unsigned i = test_rounds(400); i > 0 && test_has_time(); i--) {
		struct pair p;
		CCTask t;

		pair_begin(&p);
		t = spawn(h.rt, read_to_the_end, &p.ours);
		CHECK_EQ(send(p.peer, "abc", 3, 0), 3);
		for (unsigned spin = i % 64 * 64; spin > 0; spin--)
			cc__load(&reads, CC__ACQUIRE);
		CHECK_EQ(send(p.peer, "defg", 4, 0), 4);
		if (i % 3 == 0)
			cc_sleep_until(cc_after(50 * CC_USEC));
		CHECK_EQ(shutdown(p.peer, SHUT_WR), 0);
		CHECK_EQ(join(t), 7);
		CHECK_EQ(cc_fd_close(p.ours), 0);
		pair_end(&p);
	}
	host_end(&h);
}

/* A read stops at urgent data, and leaves what comes after it. */
TEST(data_after_urgent_data_is_read)
{
	struct host h;
	struct pair p;
	CCTask t;

	host_begin(&h);
	pair_begin(&p);
	t = spawn(h.rt, echo, &p.ours);
	ask(p.peer, 3);
	CHECK_EQ(send(p.peer, "a", 1, MSG_MORE), 1);
	CHECK_EQ(send(p.peer, "u", 1, MSG_OOB | MSG_MORE), 1);
	CHECK_EQ(send(p.peer, "b", 1, 0), 1);
	for (int i = 0; i < 2; i++) {
		char c;

		CHECK_EQ(recv(p.peer, &c, 1, 0), 1);
		CHECK_EQ(c, i == 0 ? 'a' : 'b');
	}
	CHECK_EQ(shutdown(p.peer, SHUT_WR), 0);
	CHECK_EQ(join(t), EPIPE);
	CHECK_EQ(cc_fd_close(p.ours), 0);
	pair_end(&p);
	host_end(&h);
}

/* On the only worker, so that nothing can be reported meanwhile. */
static int read_late(void *arg)
{
	const int fd = *(int *)arg;
	char c;

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(cc_fd_read(fd, &c, sizeof c, NULL, CC_FOREVER), 0);
		CHECK_EQ(cc_fd_write_all(fd, &c, 1, NULL, CC_FOREVER), 0);
	}
	CHECK_EQ(cc_fd_read(fd, (char[64]){0}, 64, NULL, CC_FOREVER), 0);	/* drained */
	CHECK_EQ(cc_fd_write_all(fd, "x", 1, NULL, CC_FOREVER), 0);
	while (recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
		continue;
	return cc_fd_read(fd, &c, 1, NULL, 1);
}

TEST(what_has_come_is_read_though_late_and_not_yet_reported)
{
	CCRuntime *rt = test_runtime_of(1);
	struct pair p;
	CCTask t;

	pair_begin(&p);
	t = spawn(rt, read_late, &p.ours);
	ask(p.peer, 4);
	CHECK_EQ(send(p.peer, "y", 1, 0), 1);
	CHECK_EQ(join(t), 0);
	CHECK_EQ(cc_fd_close(p.ours), 0);
	pair_end(&p);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- both directions ---- */

enum { MUCH = 4 << 20 };

static int send_much(void *arg)
{
	static const char much[MUCH];

	return cc_fd_write_all(*(int *)arg, much, sizeof much, NULL, CC_FOREVER);
}

static int receive_much(void *arg)
{
	static char much[MUCH];

	return cc_fd_read_all(*(int *)arg, much, sizeof much, NULL, CC_FOREVER);
}

TEST(reader_and_writer_of_one_made_socket_both_go_on)
{
	char at[CC_NET_ADDRESS_SIZE];
	struct host h;
	int listener, a, b;
	CCTask t[4];

	host_begin(&h);
	CHECK_EQ(cc_net_listen(&listener, "127.0.0.1:0", NULL), 0);
	CHECK_EQ(cc_net_local_address(listener, at, sizeof at), 0);
	CHECK_EQ(cc_net_dial(&a, at, NULL, CC_FOREVER), 0);
	CHECK_EQ(cc_net_accept(listener, &b, CC_FOREVER), 0);
	t[0] = spawn(h.rt, send_much, &a);
	t[1] = spawn(h.rt, receive_much, &b);
	CHECK_EQ(join(t[0]), 0);
	CHECK_EQ(join(t[1]), 0);
	t[0] = spawn(h.rt, send_much, &a);
	t[1] = spawn(h.rt, send_much, &b);
	t[2] = spawn(h.rt, receive_much, &a);
	CHECK_EQ(join(t[1]), 0);
	CHECK_EQ(join(t[2]), 0);
	t[3] = spawn(h.rt, receive_much, &b);
	CHECK_EQ(join(t[0]), 0);
	CHECK_EQ(join(t[3]), 0);
	CHECK_EQ(cc_fd_close(a), 0);
	CHECK_EQ(cc_fd_close(b), 0);
	CHECK_EQ(cc_fd_close(listener), 0);
	host_end(&h);
}

/* ---- closing ---- */

static int read_one(void *arg)
{
	char c;

	return cc_fd_read(*(int *)arg, &c, 1, NULL, CC_FOREVER);
}

/* Fibers of two runtimes, more than a batch, and threads. */
TEST(close_ends_readers_of_a_made_socket_everywhere)
{
	enum { EACH = 20, THREADS = 3 };
	static struct sleeper fiber[2 * EACH], thread[THREADS];
	struct host h[2];
	struct pair p;

	host_begin(&h[0]);
	host_begin(&h[1]);
	pair_begin(&p);
	for (int i = 0; i < 2 * EACH; i++)
		sleeper_start(&fiber[i], h[i % 2].rt, FIBER, read_one, &p.ours);
	for (int i = 0; i < THREADS; i++)
		sleeper_start(&thread[i], NULL, THREAD, read_one, &p.ours);
	for (int i = 0; i < 2 * EACH; i++)
		until_parked(&fiber[i]);
	TEST_UNTIL(cc__use_count(p.ours) == THREADS);
	CHECK_EQ(cc_fd_close(p.ours), 0);
	for (int i = 0; i < 2 * EACH; i++)
		CHECK_EQ(sleeper_join(&fiber[i]), EBADF);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(sleeper_join(&thread[i]), EBADF);
	pair_end(&p);
	host_end(&h[1]);
	host_end(&h[0]);
}

/* ---- numbers that are used again ---- */

static int echo_thrice(void *arg)
{
	char text[64];
	size_t n;
	int err = 0;

	for (int i = 0; i < 3 && err == 0; i++)
		if ((err = cc_fd_read(*(int *)arg, text, sizeof text, &n, CC_FOREVER)) == 0)
			err = cc_fd_write_all(*(int *)arg, text, n, NULL, CC_FOREVER);
	return err;
}

/* Registered and drained, and then closed as the library cannot see it. */
static void leave_drained(struct host *h, struct pair *p)
{
	CCTask t;

	pair_begin(p);
	t = spawn(h->rt, echo_thrice, &p->ours);
	TEST_UNTIL(cc__poll_waiting(h->poll) == 1);
	ask(p->peer, 3);
	CHECK_EQ(join(t), 0);
	CHECK_EQ(close(p->ours), 0);
}

TEST(made_socket_with_the_number_of_one_that_was_closed_behind_our_back)
{
	struct host h;
	struct pair p;
	CCTask t;

	host_begin(&h);
	for (int i = 0; i < 10; i++) {
		int old;

		leave_drained(&h, &p);
		old = p.ours;
		CHECK_EQ(close(p.peer), 0);
		p.ours = p.peer = -1;
		pair_accept(&p);
		CHECK(p.ours == old || p.peer == old);
		t = spawn(h.rt, echo, &p.ours);
		ask(p.peer, 10);
		CHECK_EQ(shutdown(p.peer, SHUT_WR), 0);
		CHECK_EQ(join(t), EPIPE);
		CHECK_EQ(cc_fd_close(p.ours), 0);
		pair_end(&p);
	}
	host_end(&h);
}

/* The program's own file has the number, and is told to the library by one of two calls. */
TEST(file_with_the_number_of_a_made_socket_that_was_closed_behind_our_back)
{
	for (int by_wait = 0; by_wait < 2; by_wait++) {
		struct sleeper s;
		struct host h;
		struct pair p;
		struct wait w;
		int end[2], moved;

		host_begin(&h);
		leave_drained(&h, &p);
		CHECK_EQ(pipe(end), 0);
		moved = end[0];
		if (moved != p.ours) {
			CHECK_EQ(dup2(end[0], p.ours), p.ours);
			CHECK_EQ(close(end[0]), 0);
			moved = p.ours;
		}
		if (by_wait == 0) {
			CHECK_EQ(cc_fd_nonblock(moved), 0);
		} else {
			nonblocking(moved);
			wait_begin(&w, &h, FIBER, moved, CC_FD_READ, CC_FOREVER);
			until_asleep(&w);
			put(end[1]);
			CHECK_EQ(sleeper_join(&w.s), 0);
			drain(moved);
		}
		CHECK_EQ(cc__fd_word(moved) & CC__FD_MADE, 0);
		sleeper_start(&s, h.rt, FIBER, read_one, &moved);
		until_parked(&s);
		put(end[1]);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(cc_fd_close(moved), 0);
		CHECK_EQ(close(end[1]), 0);
		pair_end(&p);
		host_end(&h);
	}
}

/* ---- the words ---- */

TEST(word_changes_with_each_file_and_tells_a_close)
{
	enum { NUMBER = 1000 };
	const int beyond = CC__FD_WORDS + 5;
	uint32_t first = cc__fd_word(NUMBER), made, closing, other;

	cc__fd_made(NUMBER, CC__FD_STREAM);
	made = cc__fd_word(NUMBER);
	CHECK_EQ(made & 7, CC__FD_MADE | CC__FD_STREAM);
	CHECK(cc__fd_closed_since(NUMBER, first));
	CHECK(cc__fd_close_begin(NUMBER, &closing));
	CHECK_EQ(cc__fd_word(NUMBER) & 7, CC__FD_CLOSING);
	CHECK(cc__fd_closed_since(NUMBER, made));
	CHECK(!cc__fd_close_begin(NUMBER, &other));
	cc__fd_close_end(NUMBER, closing);
	CHECK_EQ(cc__fd_word(NUMBER) & 7, 0);
	CHECK(cc__fd_closed_since(NUMBER, made));

	/* Opened again before the close has ended: the new word stays. */
	CHECK(cc__fd_close_begin(NUMBER, &closing));
	cc__fd_made(NUMBER, 0);
	made = cc__fd_word(NUMBER);
	cc__fd_close_end(NUMBER, closing);
	CHECK_EQ(cc__fd_word(NUMBER), made);
	cc__fd_foreign(NUMBER);
	CHECK_EQ(cc__fd_word(NUMBER) & 7, 0);
	CHECK(!cc__fd_closed_since(NUMBER, made));	/* only found to be foreign */

	/* Beyond the table: generations, and nothing else. */
	first = cc__fd_word(beyond);
	cc__fd_made(beyond, CC__FD_STREAM);
	CHECK(cc__fd_word(beyond) != first);
	CHECK_EQ(cc__fd_word(beyond) & 7, 0);
	CHECK(cc__fd_close_begin(beyond, &closing));
	CHECK(cc__fd_close_begin(beyond, &other));
	CHECK_EQ(cc__fd_word(beyond) & 7, 0);
}

/* ---- no descriptor is left ---- */

static int cancel_soon(void *nursery)
{
	cc_sleep_until(cc_after(20 * CC_MSEC));
	return cc_nursery_cancel(nursery, 0);
}

static void use_up_descriptors(void)
{
	const struct rlimit few = {64, 64};
	int err;

	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (dup(0) >= 0)
		continue;
	CHECK_EQ(errno, EMFILE);
	while (cc__bell_get(&err) != NULL)	/* those left by tests before */
		continue;
	CHECK_EQ(err, EMFILE);
}

/* In a child, which exits with the number of the step that went wrong. */
static void child_waits_without_descriptors(void *arg)
{
	struct sleeper s;
	int end[2];

	(void)arg;
	new_pipe(end);
	use_up_descriptors();
	cc_nursery_scope(n, NULL) {
		if (cc_wait_fd(end[0], CC_FD_READ, cc_after(30 * CC_MSEC)) != ETIMEDOUT)
			_exit(1);
		sleeper_start(&s, NULL, THREAD, cancel_soon, n);
		if (cc_wait_fd(end[0], CC_FD_READ, CC_FOREVER) != ECANCELED)
			_exit(2);
		sleeper_join(&s);
	}
	cc_nursery_scope(n, NULL) {
		put(end[1]);
		if (cc_wait_fd(end[0], CC_FD_READ, CC_FOREVER) != 0)
			_exit(3);
	}
	drain(end[0]);
	sleeper_start(&s, NULL, THREAD, read_one, &end[0]);
	sleeper_who(&s);
	cc_sleep_until(cc_after(20 * CC_MSEC));
	if (cc_fd_close(end[0]) != 0 || sleeper_join(&s) != EBADF)
		_exit(4);
	_exit(0);
}

TEST(threads_wait_when_descriptors_are_used_up)
{
	static struct test_death d;

	REQUIRE_EQ(test_dies(child_waits_without_descriptors, NULL, &d), 0);
	CHECK(WIFEXITED(d.status));
	CHECK_EQ(WEXITSTATUS(d.status), 0);
}
