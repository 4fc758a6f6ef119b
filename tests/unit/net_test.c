/* net_test.c - listen, accept, dial, and addresses as text.
 * link-wrap: accept4 connect getaddrinfo freeaddrinfo */
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "hosts.h"
#include "io/address.h"
#include "tasks.h"

/* ---- a system with bad luck ---- */

static cc__a32 accept_error, accept_errors;	/* so many calls more report it */
static cc__a32 connect_interrupts;
static int look_up_error;
static struct addrinfo *look_up_found;

int __real_accept4(int fd, struct sockaddr *from, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *size, int flags);
int __real_connect(int fd, const struct sockaddr *to, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t size);
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *want,
                       struct addrinfo **found);
void __wrap_freeaddrinfo(struct addrinfo *list);

int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *size, int flags)
{
	if (cc__load(&accept_errors, CC__ACQUIRE) == 0)
		return __real_accept4(fd, from, size, flags);
	cc__sub(&accept_errors, 1, CC__RELEASE);
	errno = (int)cc__load(&accept_error, CC__ACQUIRE);
	return -1;
}

static void accept_fails(uint32_t times, int error)
{
	cc__store(&accept_error, (uint32_t)error, CC__RELEASE);
	cc__store(&accept_errors, times, CC__RELEASE);
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t size)
{
	const int result = __real_connect(fd, to, size);

	if (cc__load(&connect_interrupts, CC__ACQUIRE) == 0)
		return result;
	cc__sub(&connect_interrupts, 1, CC__RELEASE);
	errno = EINTR;
	return -1;
}

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *want,
                       struct addrinfo **found)
{
	CHECK_STR(host, "example.test");
	CHECK(service == NULL && want->ai_socktype == SOCK_STREAM);
	CHECK_EQ(cc_fiber_id(), 0);	/* it may block its thread */
	*found = look_up_found;
	return look_up_error;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
	CHECK(list == look_up_found);
}

/* ---- text ---- */

static void check_parse(const char *text, int expected, const char *again)
{
	struct cc__addresses list;
	char back[CC_NET_ADDRESS_SIZE] = "";

	CHECK_EQ(cc__address_parse(text, &list), expected);
	if (expected == 0 && again != NULL && CHECK(list.count > 0)) {
		CHECK_EQ(cc__address_text(&list.at[0], back, sizeof back), 0);
		CHECK_STR(back, again);
	}
}

TEST(addresses_are_parsed_and_printed)
{
	static const char *const same[] = {"127.0.0.1:80",     "0.0.0.0:0", "[::1]:65535",
	                                   "[fe80::1:2]:443",  "unix:/a",   "unix:@a b",
	                                   "255.255.255.255:1"};

	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		check_parse(same[i], 0, same[i]);
	check_parse("localhost:80", 0, "127.0.0.1:80");
	check_parse(":80", 0, "[::]:80");
	check_parse("[0:0:0:0:0:0:0:1]:080", 0, "[::1]:80");
	check_parse("unix:@", 0, "unix:@");
	check_parse("example.test:80", 0, NULL);
}

TEST(wrong_addresses_are_refused)
{
	static const char *const wrong[] = {
	    "",           "80",      "host",     "host:",       "host:-1",
	    "host:65536", "host:8o", "host:80x", "host: 80",    "::1:80",
	    "[::1]",      "[::1]80", "[::1:80",  "[1.2.3.4]:1", "[host]:80",
	    "a/b:80",     "unix:",   "[]:80",    "a b:80",      "host:99999999999999999999",
	    "user@host:1"};
	char text[400];

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		check_parse(wrong[i], EINVAL, NULL);
	memset(text, 'a', sizeof text);
	memcpy(text, "unix:/", 6);
	text[5 + 108] = 0;	/* one more than fits with its final 0 */
	check_parse(text, ENAMETOOLONG, NULL);
	text[5 + 107] = 0;
	check_parse(text, 0, text);
	memset(text, 'a', sizeof text);
	memcpy(text + 300, ":80", 4);
	check_parse(text, ENAMETOOLONG, NULL);
}

TEST(address_text_needs_room)
{
	struct cc__addresses list;
	char text[13];

	CHECK_EQ(cc__address_parse("127.0.0.1:80", &list), 0);
	CHECK_EQ(cc__address_text(&list.at[0], text, 12), ERANGE);
	CHECK_EQ(cc__address_text(&list.at[0], text, 13), 0);
	CHECK_STR(text, "127.0.0.1:80");
}

/* ---- a connection ---- */

struct server {
	int listener;
	char at[CC_NET_ADDRESS_SIZE];
};

static int listen_at(struct server *s, const char *address, const CCNetOptions *o)
{
	const int err = cc_net_listen(&s->listener, address, o);

	if (err == 0)
		CHECK_EQ(cc_net_local_address(s->listener, s->at, sizeof s->at), 0);
	return err;
}

static int serve_one(void *arg)
{
	const struct server *s = arg;
	char text[6] = "";
	int fd = -1, err;

	if ((err = cc_net_accept(s->listener, &fd, CC_FOREVER)) != 0)
		return err;
	CHECK_EQ(cc_fd_read_all(fd, text, 5, NULL, CC_FOREVER), 0);
	CHECK_EQ(cc_fd_write_all(fd, text, 5, NULL, CC_FOREVER), 0);
	CHECK_EQ(cc_fd_close(fd), 0);
	return 0;
}

static int ask_one(void *arg)
{
	const struct server *s = arg;
	char text[6] = "", peer[CC_NET_ADDRESS_SIZE] = "";
	int fd = -1, err;

	if ((err = cc_net_dial(&fd, s->at, NULL, CC_FOREVER)) != 0)
		return err;
	CHECK_EQ(cc_net_peer_address(fd, peer, sizeof peer), 0);
	CHECK_STR(peer, s->at);
	CHECK_EQ(cc_fd_write_all(fd, "hello", 5, NULL, CC_FOREVER), 0);
	CHECK_EQ(cc_fd_read_all(fd, text, 5, NULL, CC_FOREVER), 0);
	CHECK_STR(text, "hello");
	CHECK_EQ(cc_fd_close(fd), 0);
	return 0;
}

static void talk(struct server *s)
{
	CCRuntime *rt = test_runtime_of(2);

	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		struct sleeper server, client;

		sleeper_start(&server, rt, kind, serve_one, s);
		sleeper_start(&client, rt, kind, ask_one, s);
		CHECK_EQ(sleeper_join(&client), 0);
		CHECK_EQ(sleeper_join(&server), 0);
	}
	CHECK_EQ(cc_fd_close(s->listener), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(ipv4_client_and_server_talk)
{
	struct server s;

	REQUIRE_EQ(listen_at(&s, "127.0.0.1:0", NULL), 0);
	talk(&s);
}

TEST(ipv6_client_and_server_talk)
{
	struct server s;
	const int err = listen_at(&s, "[::1]:0", NULL);

	if (err == EADDRNOTAVAIL || err == EAFNOSUPPORT)
		SKIP("no IPv6");
	REQUIRE_EQ(err, 0);
	talk(&s);
}

TEST(unix_client_and_server_talk)
{
	char path[64];
	struct server s;

	snprintf(path, sizeof path, "unix:@ccc-net-test-%d", (int)getpid());
	REQUIRE_EQ(listen_at(&s, path, NULL), 0);
	CHECK_STR(s.at, path);
	talk(&s);
	snprintf(path, sizeof path, "unix:net-test-%d", (int)getpid());
	REQUIRE_EQ(listen_at(&s, path, NULL), 0);
	CHECK_STR(s.at, path);
	CHECK_EQ(cc_net_listen(&(int){0}, path, NULL), EADDRINUSE);
	talk(&s);
	CHECK_EQ(unlink(path + 5), 0);
}

TEST(all_addresses_include_this_machine)
{
	struct server s;
	const char *port;

	REQUIRE_EQ(listen_at(&s, ":0", NULL), 0);
	port = strrchr(s.at, ':');
	memmove(s.at + 9, port, strlen(port) + 1);
	memcpy(s.at, "127.0.0.1", 9);
	talk(&s);
}

/* ---- errors ---- */

TEST(listen_and_dial_tell_why_not)
{
	struct server s;
	int fd = -7;

	REQUIRE_EQ(listen_at(&s, "127.0.0.1:0", NULL), 0);
	CHECK_EQ(cc_net_listen(&fd, s.at, NULL), EADDRINUSE);
	CHECK_EQ(cc_net_accept(s.listener, &fd, CC_NOW), EAGAIN);
	CHECK_EQ(cc_net_accept(s.listener, NULL, CC_NOW), EINVAL);
	CHECK_EQ(cc_fd_close(s.listener), 0);
	CHECK_EQ(cc_net_dial(&fd, s.at, NULL, CC_FOREVER), ECONNREFUSED);
	CHECK_EQ(cc_net_dial(&fd, "unix:/no/such/socket", NULL, CC_FOREVER), ENOENT);
	CHECK_EQ(cc_net_dial(&fd, "nonsense", NULL, CC_FOREVER), EINVAL);
	CHECK_EQ(cc_net_dial(NULL, s.at, NULL, CC_FOREVER), EINVAL);
	CHECK_EQ(cc_net_dial(&fd, NULL, NULL, CC_FOREVER), EINVAL);
	CHECK_EQ(cc_net_listen(&fd, "example.test:80", NULL), EINVAL);
	CHECK_EQ(cc_net_accept(-1, &fd, CC_FOREVER), EBADF);
	CHECK_EQ(cc_net_local_address(-1, s.at, sizeof s.at), EBADF);
	CHECK_EQ(fd, -7);
}

TEST(options_reach_the_sockets)
{
	const CCNetOptions o = {.no_delay = 1, .reuse_port = 1, .backlog = 4};
	socklen_t size = sizeof(int);
	struct server s, second;
	int client, fd, on = 0;

	REQUIRE_EQ(listen_at(&s, "127.0.0.1:0", &o), 0);
	CHECK_EQ(listen_at(&second, s.at, &o), 0);
	CHECK_EQ(cc_fd_close(second.listener), 0);
	CHECK_EQ(cc_net_dial(&client, s.at, &o, CC_FOREVER), 0);
	CHECK_EQ(cc_net_accept(s.listener, &fd, CC_FOREVER), 0);
	CHECK_EQ(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
	CHECK(on != 0);
	on = 0;
	CHECK_EQ(getsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
	CHECK(on != 0);
	CHECK_EQ(cc_net_no_delay(client, 0), 0);
	CHECK_EQ(getsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
	CHECK_EQ(on, 0);
	CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	CHECK_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	CHECK_EQ(cc_fd_close(client), 0);
	CHECK_EQ(cc_fd_close(fd), 0);
	CHECK_EQ(cc_fd_close(s.listener), 0);
}

/* ---- accept under difficulties ---- */

TEST(accept_skips_failed_connections_and_waits_out_a_shortage)
{
	static const int errors[] = {ECONNABORTED, EPROTO, EMFILE, ENFILE, ENOBUFS, ENOMEM, EINTR};
	struct server s;
	int client, fd;

	REQUIRE_EQ(listen_at(&s, "127.0.0.1:0", NULL), 0);
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		CHECK_EQ(cc_net_dial(&client, s.at, NULL, CC_FOREVER), 0);
		accept_fails(3, errors[i]);
		CHECK_EQ(cc_net_accept(s.listener, &fd, CC_FOREVER), 0);
		CHECK_EQ(cc__load(&accept_errors, CC__ACQUIRE), 0);
		CHECK_EQ(cc_fd_close(client), 0);
		CHECK_EQ(cc_fd_close(fd), 0);
	}
	CHECK_EQ(cc_fd_close(s.listener), 0);
}

TEST(accept_returns_the_shortage_that_lasts_until_its_deadline)
{
	struct server s;
	int fd;

	REQUIRE_EQ(listen_at(&s, "127.0.0.1:0", NULL), 0);
	accept_fails(UINT32_MAX, EMFILE);
	CHECK_EQ(cc_net_accept(s.listener, &fd, CC_NOW), EMFILE);
	CHECK_EQ(cc_net_accept(s.listener, &fd, cc_after(5 * CC_MSEC)), EMFILE);
	/* It does not spin: about 1, 3, 7, 15, 31, 63 and then every 64 ms. */
	accept_fails(1000, EMFILE);
	CHECK_EQ(cc_net_accept(s.listener, &fd, cc_after(100 * CC_MSEC)), EMFILE);
	CHECK(cc__load(&accept_errors, CC__ACQUIRE) >= 1000 - 10);
	accept_fails(0, 0);
	CHECK_EQ(cc_fd_close(s.listener), 0);
}

static int accept_one(void *arg)
{
	int fd;

	return cc_net_accept(*(int *)arg, &fd, CC_FOREVER);
}

/* While it waits, and while it sleeps for a shortage to end. */
TEST(close_of_the_listener_ends_accept)
{
	CCRuntime *rt = test_runtime_of(2);

	for (int shortage = 0; shortage < 2; shortage++) {
		struct sleeper sleeper;
		struct server s;

		REQUIRE_EQ(listen_at(&s, "127.0.0.1:0", NULL), 0);
		accept_fails(shortage ? UINT32_MAX : 0, EMFILE);
		sleeper_start(&sleeper, rt, FIBER, accept_one, &s.listener);
		until_parked(&sleeper);
		CHECK_EQ(cc_fd_close(s.listener), 0);
		CHECK_EQ(sleeper_join(&sleeper), EBADF);
	}
	accept_fails(0, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(interrupted_connect_goes_on)
{
	struct server s;

	REQUIRE_EQ(listen_at(&s, "127.0.0.1:0", NULL), 0);
	cc__store(&connect_interrupts, 1, CC__RELEASE);
	talk(&s);
	CHECK_EQ(cc__load(&connect_interrupts, CC__ACQUIRE), 0);
}

/* ---- names ---- */

static int dial_name(void *arg)
{
	int fd;
	const int err = cc_net_dial(&fd, arg, NULL, CC_FOREVER);

	return err == 0 ? cc_fd_close(fd) : err;
}

/* The first address refuses. */
TEST(addresses_of_a_name_are_tried_in_turn)
{
	CCRuntime *rt = test_runtime_of(2);
	struct sockaddr_in at[2] = {{.sin_family = AF_INET}, {.sin_family = AF_INET}};
	struct addrinfo found[2] = {0};
	char name[64];
	struct server s;
	int fd;

	at[0].sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	at[1].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < 2; i++)
		found[i] = (struct addrinfo){.ai_family = AF_INET,
		                             .ai_addr = (struct sockaddr *)&at[i],
		                             .ai_addrlen = sizeof at[i],
		                             .ai_next = i == 0 ? &found[1] : NULL};
	look_up_found = found;
	REQUIRE_EQ(listen_at(&s, "127.0.0.1:0", NULL), 0);
	snprintf(name, sizeof name, "example.test%s", strrchr(s.at, ':'));
	CHECK_EQ(join(spawn(rt, dial_name, name)), 0);
	CHECK_EQ(dial_name(name), 0);
	CHECK_EQ(cc_net_dial(&fd, name, NULL, CC_NOW), EAGAIN);
	found[0].ai_next = NULL;
	CHECK_EQ(join(spawn(rt, dial_name, name)), ECONNREFUSED);
	CHECK_EQ(cc_fd_close(s.listener), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(lookup_that_fails_tells_why)
{
	static const struct {
		int failed, err;
	} rows[] = {{EAI_NONAME, ENOENT},
	            {EAI_AGAIN, EHOSTUNREACH},
	            {EAI_FAIL, EHOSTUNREACH},
	            {EAI_MEMORY, ENOMEM}};
	CCRuntime *rt = test_runtime_of(1);

	look_up_found = NULL;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		look_up_error = rows[i].failed;
		CHECK_EQ(join(spawn(rt, dial_name, "example.test:80")), rows[i].err);
	}
	look_up_error = 0;
	CHECK_EQ(cc_runtime_free(rt), 0);
}
