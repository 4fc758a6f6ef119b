/* datagram_test.c - datagrams over UDP and Unix sockets, and passed descriptors.
 * mutate: src/io/datagram.c */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "hosts.h"
#include "tasks.h"

/* ---- datagrams ---- */

/* Sends each datagram back, until one of 0 bytes. */
static int echo(void *arg)
{
	const int fd = *(int *)arg;
	CCNetAddress from;
	char text[64];
	size_t n;
	int err;

	while ((err = cc_net_receive_from(fd, text, sizeof text, &n, &from, CC_FOREVER)) == 0 && n > 0)
		CHECK_EQ(cc_net_send_to(fd, text, n, &from, CC_FOREVER), 0);
	return err;
}

static void check_echo(int fd, const char *server)
{
	char text[64] = "", at[CC_NET_ADDRESS_SIZE];
	CCNetAddress to, from;
	size_t n;

	CHECK_EQ(cc_net_address(&to, server, CC_NOW), 0);
	CHECK_EQ(cc_net_send_to(fd, "hello", 5, &to, CC_FOREVER), 0);
	CHECK_EQ(cc_net_receive_from(fd, text, sizeof text, &n, &from, CC_FOREVER), 0);
	CHECK_EQ(n, 5);
	CHECK_STR(text, "hello");
	CHECK_EQ(cc_net_address_text(&from, at, sizeof at), 0);
	CHECK_STR(at, server);
	CHECK_EQ(cc_net_send_to(fd, "", 0, &to, CC_FOREVER), 0);
}

static void talk_by_datagrams(const char *server_at, const char *client_at)
{
	char server[CC_NET_ADDRESS_SIZE];
	CCRuntime *rt = test_runtime_of(2);
	int fd, client;
	CCTask t;

	REQUIRE_EQ(cc_net_bind(&fd, server_at, NULL), 0);
	REQUIRE_EQ(cc_net_bind(&client, client_at, NULL), 0);
	CHECK_EQ(cc_net_local_address(fd, server, sizeof server), 0);
	t = spawn(rt, echo, &fd);
	check_echo(client, server);
	CHECK_EQ(join(t), 0);
	CHECK_EQ(cc_fd_close(client), 0);
	CHECK_EQ(cc_fd_close(fd), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(udp_sockets_talk)
{
	talk_by_datagrams("127.0.0.1:0", "127.0.0.1:0");
}

TEST(unix_datagram_sockets_talk)
{
	char server[64], client[64];

	snprintf(server, sizeof server, "unix:@ccc-datagram-%d", (int)getpid());
	snprintf(client, sizeof client, "unix:@ccc-datagram-%d-client", (int)getpid());
	talk_by_datagrams(server, client);
}

TEST(connected_datagram_socket_needs_no_address)
{
	const CCNetOptions datagram = {.datagram = 1};
	char at[CC_NET_ADDRESS_SIZE], text[8];
	int fd, client;
	size_t n = 9;

	REQUIRE_EQ(cc_net_bind(&fd, "127.0.0.1:0", NULL), 0);
	CHECK_EQ(cc_net_local_address(fd, at, sizeof at), 0);
	REQUIRE_EQ(cc_net_dial(&client, at, &datagram, CC_NOW), 0);
	CHECK_EQ(cc_net_send_to(client, "abc", 3, NULL, CC_NOW), 0);
	CHECK_EQ(cc_net_receive_from(fd, text, sizeof text, &n, NULL, CC_FOREVER), 0);
	CHECK_EQ(n, 3);
	CHECK_EQ(cc_net_receive_from(fd, text, sizeof text, &n, NULL, CC_NOW), EAGAIN);
	CHECK_EQ(n, 0);
	CHECK_EQ(cc_net_receive_from(fd, text, sizeof text, NULL, NULL, cc_after(CC_MSEC)), ETIMEDOUT);
	CHECK_EQ(cc_net_send_to(fd, "abc", 3, NULL, CC_NOW), EDESTADDRREQ);
	CHECK_EQ(cc_net_send_to(fd, "abc", 3, &(CCNetAddress){0}, CC_NOW), EINVAL);
	CHECK_EQ(cc_fd_close(fd), 0);
	CHECK_EQ(cc_net_send_to(client, "abc", 3, NULL, CC_NOW), 0);	/* nothing is there */
	CHECK_EQ(cc_net_receive_from(client, text, sizeof text, NULL, NULL, CC_FOREVER),
	         ECONNREFUSED);
	CHECK_EQ(cc_fd_close(client), 0);
}

TEST(datagram_that_is_too_long_is_told)
{
	static char much[70000];
	char text[4];
	CCNetAddress at;
	char name[CC_NET_ADDRESS_SIZE];
	size_t n = 0;
	int fd;

	REQUIRE_EQ(cc_net_bind(&fd, "127.0.0.1:0", NULL), 0);
	CHECK_EQ(cc_net_local_address(fd, name, sizeof name), 0);
	CHECK_EQ(cc_net_address(&at, name, CC_NOW), 0);
	CHECK_EQ(cc_net_send_to(fd, "abcdef", 6, &at, CC_NOW), 0);
	CHECK_EQ(cc_net_receive_from(fd, text, sizeof text, &n, NULL, CC_FOREVER), EMSGSIZE);
	CHECK_EQ(n, sizeof text);
	CHECK(memcmp(text, "abcd", 4) == 0);
	CHECK_EQ(cc_net_send_to(fd, much, sizeof much, &at, CC_NOW), EMSGSIZE);
	CHECK_EQ(cc_fd_close(fd), 0);
	CHECK_EQ(cc_net_bind(&fd, "example.test:0", NULL), EINVAL);
	CHECK_EQ(cc_net_bind(NULL, "127.0.0.1:0", NULL), EINVAL);
}

/* ---- passing descriptors ---- */

struct passing {
	int pair[2];
	int file;
};

static int receive_file(void *arg)
{
	struct passing *p = arg;

	return cc_net_receive_fd(p->pair[1], &p->file, CC_FOREVER);
}

TEST(descriptor_is_passed)
{
	CCRuntime *rt = test_runtime_of(2);
	struct passing p = {.file = -1};
	struct sleeper s;
	int end[2];
	char c = 0;

	REQUIRE_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p.pair), 0);
	new_pipe(end);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		sleeper_start(&s, rt, kind, receive_file, &p);
		if (kind == FIBER)
			until_parked(&s);
		CHECK_EQ(cc_net_send_fd(p.pair[0], end[1], CC_FOREVER), 0);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK((fcntl(p.file, F_GETFD) & FD_CLOEXEC) != 0);
		CHECK_EQ(cc_fd_write_all(p.file, "p", 1, NULL, CC_NOW), 0);
		CHECK_EQ(cc_fd_read(end[0], &c, 1, NULL, CC_FOREVER), 0);
		CHECK_EQ(c, 'p');
		CHECK_EQ(cc_fd_close(p.file), 0);
	}
	close_both(end);
	CHECK_EQ(close(p.pair[0]), 0);
	CHECK_EQ(receive_file(&p), EPIPE);
	CHECK_EQ(cc_net_send_fd(p.pair[1], 0, CC_NOW), EPIPE);
	CHECK_EQ(close(p.pair[1]), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(bytes_without_a_descriptor_and_no_room_for_one_are_told)
{
	struct rlimit limit, none;
	struct passing p = {.file = -1};

	REQUIRE_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p.pair), 0);
	CHECK_EQ(cc_net_receive_fd(p.pair[1], &p.file, CC_NOW), EAGAIN);
	CHECK_EQ(write(p.pair[0], "x", 1), 1);
	CHECK_EQ(cc_net_receive_fd(p.pair[1], &p.file, CC_NOW), ENOMSG);
	CHECK_EQ(cc_net_receive_fd(p.pair[1], NULL, CC_NOW), EINVAL);
	CHECK_EQ(cc_net_send_fd(p.pair[0], -1, CC_NOW), EBADF);

	CHECK_EQ(cc_net_send_fd(p.pair[0], 0, CC_NOW), 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_EQ(cc_net_receive_fd(p.pair[1], &p.file, CC_NOW), EMFILE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQ(p.file, -1);
	close_both(p.pair);
}

/* ---- options ---- */

static int option(int fd, int level, int name)
{
	socklen_t size = sizeof(int);
	int value = -1;

	CHECK_EQ(getsockopt(fd, level, name, &value, &size), 0);
	return value;
}

TEST(keep_alive_reaches_the_connections_of_a_listener)
{
	const CCNetOptions o = {.keep_alive = 20 * CC_SEC + 1}, rare = {.keep_alive = 3600 * CC_SEC};
	char at[CC_NET_ADDRESS_SIZE];
	int listener, client, fd;

	REQUIRE_EQ(cc_net_listen(&listener, "127.0.0.1:0", &o), 0);
	CHECK_EQ(cc_net_local_address(listener, at, sizeof at), 0);
	REQUIRE_EQ(cc_net_dial(&client, at, &rare, CC_FOREVER), 0);
	REQUIRE_EQ(cc_net_accept(listener, &fd, CC_FOREVER), 0);
	CHECK_EQ(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	CHECK_EQ(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 21);
	CHECK_EQ(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 7);
	CHECK_EQ(option(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
	CHECK_EQ(option(client, IPPROTO_TCP, TCP_KEEPIDLE), 3600);
	CHECK_EQ(option(client, IPPROTO_TCP, TCP_KEEPINTVL), 75);
	CHECK_EQ(cc_fd_close(client), 0);
	CHECK_EQ(cc_fd_close(fd), 0);
	CHECK_EQ(cc_fd_close(listener), 0);
}
