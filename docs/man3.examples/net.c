/* Connections: <ccc/net.h>. */
#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#include <ccc/ccc.h>

struct client {
	char address[CC_NET_ADDRESS_SIZE];
};

static int ask(void *arg)
{
	struct client *c = arg;
	int fd;

	cc_try(cc_net_dial(&fd, c->address, NULL, cc_after(5 * CC_SEC)));
	cc_try(cc_net_no_delay(fd, 1));		/* small writes are sent at once */
	cc_try(cc_fd_write_all(fd, "hello", 5, NULL, cc_after(5 * CC_SEC)));
	return cc_fd_close(fd);
}

/* Port 0: the system chooses a free one, which the socket knows. */
static void listen_and_accept(void)
{
	char peer[CC_NET_ADDRESS_SIZE], text[5];
	struct client client;
	int listener, fd, err;

	assert(cc_net_listen(&listener, "127.0.0.1:0", NULL) == 0);
	assert(cc_net_local_address(listener, client.address, sizeof client.address) == 0);
	cc_nursery_scope(n, &err) {
		cc_nursery_spawn(n, NULL, ask, &client);
		assert(cc_net_accept(listener, &fd, cc_after(5 * CC_SEC)) == 0);
		assert(cc_net_peer_address(fd, peer, sizeof peer) == 0);
		assert(strncmp(peer, "127.0.0.1:", 10) == 0);
		assert(cc_fd_read_all(fd, text, 5, NULL, cc_after(5 * CC_SEC)) == 0);
		assert(cc_fd_close(fd) == 0);
	}
	assert(err == 0);
	assert(cc_fd_close(listener) == 0);
}

/* Each socket has an address of its own; the datagram says from which it comes. */
static void send_datagrams(void)
{
	char name[CC_NET_ADDRESS_SIZE], text[16];
	CCNetAddress to, from;
	int server, client;
	size_t n;

	assert(cc_net_bind(&server, "127.0.0.1:0", NULL) == 0);
	assert(cc_net_bind(&client, "127.0.0.1:0", NULL) == 0);
	assert(cc_net_local_address(server, name, sizeof name) == 0);
	assert(cc_net_address(&to, name, cc_after(5 * CC_SEC)) == 0);
	assert(cc_net_send_to(client, "hello", 5, &to, cc_after(5 * CC_SEC)) == 0);
	assert(cc_net_receive_from(server, text, sizeof text, &n, &from, cc_after(5 * CC_SEC)) == 0);
	assert(n == 5);
	assert(cc_net_address_text(&from, name, sizeof name) == 0);	/* the client's */
	assert(cc_fd_close(client) == 0);
	assert(cc_fd_close(server) == 0);
}

static void pass_a_descriptor(void)
{
	int fd[2], passed;

	assert(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	assert(cc_net_send_fd(fd[0], 1, cc_after(5 * CC_SEC)) == 0);
	assert(cc_net_receive_fd(fd[1], &passed, cc_after(5 * CC_SEC)) == 0);	/* of stdout */
	assert(cc_fd_close(passed) == 0);
	assert(cc_fd_close(fd[0]) == 0);
	assert(cc_fd_close(fd[1]) == 0);
}

int main(void)
{
	listen_and_accept();
	send_datagrams();
	pass_a_descriptor();
	return 0;
}
