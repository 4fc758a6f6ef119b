/* Connections: <ccc/net.h>. */
#include <assert.h>
#include <string.h>

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

int main(void)
{
	listen_and_accept();
	return 0;
}
