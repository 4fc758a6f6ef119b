/* Servers and signals: <ccc/serve.h>, <ccc/signal.h>. */
#define _GNU_SOURCE
#include <assert.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <ccc/ccc.h>

struct app {
	int requests;
	char address[CC_NET_ADDRESS_SIZE];
};

/* Answers each line with the same line. */
static cc_serve_fn(echo, struct app *app)
{
	char line[64];
	size_t n;
	int err;

	while ((err = cc_serve_next(stream, CC_FOREVER)) == 0) {
		cc_try(cc_stream_read_line(stream, line, sizeof line - 1, &n, cc_after(5 * CC_SEC)));
		line[n] = '\n';
		cc_try(cc_stream_write(stream, line, n + 1, NULL, cc_after(5 * CC_SEC)));
		app->requests++;
	}
	return err;
}

static int client(void *arg)
{
	struct app *app = arg;
	char answer[6];
	int fd;

	cc_try(cc_net_dial(&fd, app->address, NULL, cc_after(5 * CC_SEC)));
	cc_try(cc_fd_write_all(fd, "hello\n", 6, NULL, cc_after(5 * CC_SEC)));
	cc_try(cc_fd_read_all(fd, answer, 6, NULL, cc_after(5 * CC_SEC)));
	assert(memcmp(answer, "hello\n", 6) == 0);
	cc_try(cc_fd_close(fd));
	return kill(getpid(), SIGTERM);
}

/* Serves until SIGTERM, and lets the requests that have begun end. */
static void serve_until_a_signal(void)
{
	const CCServeOptions limits = {.connections = 100, .idle = 30 * CC_SEC, .grace = CC_SEC};
	struct app app = {0, ""};
	int listener, err = 0;

	assert(cc_net_listen(&listener, "127.0.0.1:0", NULL) == 0);
	assert(cc_net_local_address(listener, app.address, sizeof app.address) == 0);
	cc_nursery_scope(n, &err) {
		cc_nursery_cancel_on(n, SIGTERM);
		cc_nursery_spawn(n, NULL, client, &app);
		assert(cc_serve_on(listener, echo, &app, &limits) == ECANCELED);
	}
	assert(err == EINTR && app.requests == 1);
	assert(cc_fd_close(listener) == 0);
}

/* A handler that is an ordinary function, and a server that ends with its listener. */
static int hang_up(CCStream *stream, void *user)
{
	(void)stream;
	return cc_fd_close(*(int *)user);
}

static int dial(void *arg)
{
	int fd;

	cc_try(cc_net_dial(&fd, arg, NULL, cc_after(5 * CC_SEC)));
	return cc_fd_close(fd);
}

static void serve_until_closed(void)
{
	char address[CC_NET_ADDRESS_SIZE];
	int listener, err = 0;

	assert(cc_net_listen(&listener, "127.0.0.1:0", NULL) == 0);
	assert(cc_net_local_address(listener, address, sizeof address) == 0);
	cc_nursery_scope(n, &err) {
		cc_nursery_spawn(n, NULL, dial, address);
		assert(cc_serve(listener, hang_up, &listener, NULL) == 0);
	}
	assert(err == 0);
}

/* A thread of the program blocks the signal before other threads start. */
static void wait_for_a_signal(void)
{
	sigset_t set;
	int which = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	assert(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	assert(kill(getpid(), SIGHUP) == 0);
	assert(cc_signal_wait(&set, cc_after(5 * CC_SEC), &which) == 0);
	assert(which == SIGHUP);
}

int main(void)
{
	serve_until_a_signal();
	serve_until_closed();
	wait_for_a_signal();
	return 0;
}
