/* Descriptors, datagrams and signals as events: <ccc/fd.h>, <ccc/net.h>, <ccc/signal.h>. */
#define _GNU_SOURCE
#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ccc/ccc.h>

/* Which of the events hold, as one wait and as a case. */
static void wait_for_a_descriptor(void)
{
	unsigned ready = 0;
	int fd[2], err;
	size_t which;

	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0);
	assert(cc_fd_ready(fd[0], CC_FD_READ | CC_FD_WRITE, &ready, CC_FOREVER) == 0);
	assert(ready == CC_FD_WRITE);
	assert(cc_fd_write_all(fd[1], "x", 1, NULL, CC_FOREVER) == 0);
	CCCase cases[] = {cc_case_fd(fd[0], CC_FD_READ, &ready), cc_case_timeout(CC_FOREVER)};
	assert(cc_select(cases, 2, CC_FOREVER, &which) == 0 && which == 0 && ready == CC_FD_READ);
	cc_match(&err) {
	cc_on_fd(fd[0], CC_FD_READ, &ready)
		assert(ready == CC_FD_READ);
	}
	assert(err == 0);
	assert(cc_fd_close(fd[0]) == 0 && cc_fd_close(fd[1]) == 0);
}

/* A signal as a case among others. */
static void wait_for_a_signal_among_others(void)
{
	int signals, which = 0, err;
	sigset_t set;
	size_t index;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	assert(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	assert(cc_signal_open(&signals, &set) == 0);
	assert(kill(getpid(), SIGHUP) == 0);
	CCCase cases[] = {cc_case_signal(signals, &which), cc_case_timeout(CC_FOREVER)};
	assert(cc_select(cases, 2, CC_FOREVER, &index) == 0 && index == 0 && which == SIGHUP);
	assert(kill(getpid(), SIGHUP) == 0);
	which = 0;
	cc_match(&err) {
	cc_on_signal(signals, &which)
		assert(which == SIGHUP);
	}
	assert(err == 0 && which == SIGHUP);
	assert(cc_fd_close(signals) == 0);
}

/* Datagrams: each carries the address to which the answer goes. */
static void exchange_datagrams(void)
{
	char name[CC_NET_ADDRESS_SIZE], again[CC_NET_ADDRESS_SIZE], text[16];
	CCNetAddress server, peer;
	int here, there;
	size_t n;

	assert(cc_net_bind(&here, "127.0.0.1:0", NULL) == 0);
	assert(cc_net_bind(&there, "127.0.0.1:0", NULL) == 0);
	assert(cc_net_local_address(here, name, sizeof name) == 0);
	assert(cc_net_address(&server, name, CC_FOREVER) == 0);
	assert(cc_net_address_text(&server, again, sizeof again) == 0 && strcmp(name, again) == 0);
	assert(cc_net_send_to(there, "ping", 4, &server, CC_FOREVER) == 0);
	assert(cc_net_receive_from(here, text, sizeof text, &n, &peer, CC_FOREVER) == 0 && n == 4);
	assert(cc_net_send_to(here, "pong", 4, &peer, CC_FOREVER) == 0);
	assert(cc_net_receive_from(there, text, sizeof text, &n, NULL, CC_FOREVER) == 0 && n == 4);
	assert(cc_fd_close(here) == 0 && cc_fd_close(there) == 0);
}

/* Another process gets a descriptor of the same file. */
static void pass_a_descriptor(void)
{
	int pair[2], pipe_ends[2], got;
	char c;

	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	assert(pipe(pipe_ends) == 0);
	assert(cc_net_send_fd(pair[0], pipe_ends[1], CC_FOREVER) == 0);
	assert(cc_net_receive_fd(pair[1], &got, CC_FOREVER) == 0);
	assert(write(got, "x", 1) == 1 && read(pipe_ends[0], &c, 1) == 1 && c == 'x');
	close(got);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	assert(cc_fd_close(pair[0]) == 0 && cc_fd_close(pair[1]) == 0);
}

struct greeting {
	char address[CC_NET_ADDRESS_SIZE];
};

static int greet(void *arg)
{
	const struct greeting *g = arg;
	CCStream *s;

	cc_try(cc_stream_dial(&s, g->address, NULL, cc_after(5 * CC_SEC)));
	cc_try(cc_stream_print(s, cc_after(5 * CC_SEC), "hello %d\n", 42));
	return cc_stream_close(s, cc_after(5 * CC_SEC));
}

/* A connection as a stream, and formatted output. */
static void dial_a_stream(void)
{
	struct greeting g;
	char line[32];
	CCStream *s;
	int listener, fd, err;

	assert(cc_net_listen(&listener, "127.0.0.1:0", NULL) == 0);
	assert(cc_net_local_address(listener, g.address, sizeof g.address) == 0);
	cc_nursery_scope(n, &err) {
		cc_nursery_spawn(n, NULL, greet, &g);
		assert(cc_net_accept(listener, &fd, CC_FOREVER) == 0);
		assert(cc_stream_open(&s, fd) == 0);
		assert(cc_stream_read_line(s, line, sizeof line, NULL, CC_FOREVER) == 0);
		assert(strcmp(line, "hello 42") == 0);
		assert(cc_stream_close(s, CC_FOREVER) == 0);
	}
	assert(err == 0);
	assert(cc_fd_close(listener) == 0);
}

int main(void)
{
	wait_for_a_descriptor();
	wait_for_a_signal_among_others();
	exchange_datagrams();
	pass_a_descriptor();
	dial_a_stream();
	return 0;
}
