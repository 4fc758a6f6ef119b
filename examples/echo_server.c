/* echo_server.c - a server that sends every line back: a task for each connection, with limits.  Its
 * clients are in here as well, so that it can run by itself; when they have ended, it does.
 *
 * cc_serve accepts, waits if descriptors are used up, and keeps one client's error from the others.
 * A client has 5 s to send a line once it has begun one, and 30 s between two lines. */
#include <stdio.h>
#include <string.h>

#include <ccc/ccc.h>

enum { CLIENTS = 20, LINE_MAX_SIZE = 256 };

struct limits {
	cc_time line, between;
};

/* Echoes one line.  A longer one ends the connection with EMSGSIZE. */
static int echo_line(CCStream *stream, cc_time deadline)
{
	char line[LINE_MAX_SIZE];
	size_t n;

	cc_try(cc_stream_read_line(stream, line, sizeof line, &n, deadline));
	cc_try(cc_stream_write(stream, line, n, NULL, deadline));
	return cc_stream_write(stream, "\n", 1, NULL, deadline);
}

/* cc_serve_next sends what has been written, waits for the next line and ends the loop when the
 * server stops. */
static cc_serve_fn(echo, struct limits *limits)
{
	int err = 0;

	while (err == 0 && (err = cc_serve_next(stream, cc_after(limits->between))) == 0)
		err = echo_line(stream, cc_after(limits->line));
	return err;
}

static cc_task_fn(serve, int listener;)
{
	struct limits limits = {.line = 5 * CC_SEC, .between = 30 * CC_SEC};
	const CCServeOptions options = {.connections = 1000, .idle = 30 * CC_SEC, .grace = CC_SEC};

	return cc_serve_on(self->listener, echo, &limits, &options);
}

static cc_task_fn(ask, const char *address; int *right;)
{
	char answer[16] = "";
	CCStream *s;
	int fd, err;

	cc_try(cc_net_dial(&fd, self->address, NULL, cc_after(5 * CC_SEC)));
	if ((err = cc_stream_open(&s, fd)) != 0) {
		cc_fd_close(fd);
		return err;
	}
	if ((err = cc_stream_write(s, "hello?\n", 7, NULL, cc_after(5 * CC_SEC))) == 0 &&
	    (err = cc_stream_flush(s, cc_after(5 * CC_SEC))) == 0)
		err = cc_stream_read_line(s, answer, sizeof answer, NULL, cc_after(5 * CC_SEC));
	*self->right = strcmp(answer, "hello?") == 0;
	cc_stream_close(s, CC_NOW);
	return err;
}

int main(void)
{
	char address[CC_NET_ADDRESS_SIZE];
	int listener, right[CLIENTS] = {0}, sum = 0, err = 0;

	cc_try(cc_net_listen(&listener, "127.0.0.1:0", NULL));
	cc_try(cc_net_local_address(listener, address, sizeof address));
	cc_nursery_scope(n, &err) {
		cc_spawn_daemon(n, serve, .listener = listener);
		for (int i = 0; i < CLIENTS; i++)
			cc_spawn(n, ask, .address = address, .right = &right[i]);
	}
	cc_fd_close(listener);
	for (int i = 0; i < CLIENTS; i++)
		sum += right[i];
	printf("%d of %d clients have their answer\n", sum, CLIENTS);
	return err;
}
