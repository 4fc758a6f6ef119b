/* Fetch many files over HTTP, four at a time.  The server of this test is a part of the program. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <ccc/ccc.h>

struct fetch {
	const char *server;
	char path[32];
	size_t size;	/* of what has come */
};
cc_chan_type(Fetches, struct fetch *);

/* Reads the head up to its empty line, then the body up to the end. */
static int read_answer(CCStream *s, size_t *size, cc_time deadline)
{
	char line[1024];
	size_t n;
	int err;

	cc_try(cc_stream_read_line(s, line, sizeof line, &n, deadline));
	if (strncmp(line, "HTTP/1.", 7) != 0 || strncmp(line + 8, " 200", 4) != 0)
		return EPROTO;
	do
		cc_try(cc_stream_read_line(s, line, sizeof line, &n, deadline));
	while (n > 0);
	while ((err = cc_stream_read(s, line, sizeof line, &n, deadline)) == 0)
		*size += n;
	return err == EPIPE ? 0 : err;
}

static int fetch(struct fetch *f)
{
	const cc_time deadline = cc_after(10 * CC_SEC);
	char request[64];
	CCStream *s;
	int fd, err;
	const int n = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", f->path);

	cc_try(cc_net_dial(&fd, f->server, NULL, deadline));
	if ((err = cc_stream_open(&s, fd)) != 0) {
		cc_fd_close(fd);
		return err;
	}
	if ((err = cc_stream_write(s, request, (size_t)n, NULL, deadline)) == 0 &&
	    (err = cc_stream_flush(s, deadline)) == 0)
		err = read_answer(s, &f->size, deadline);
	cc_stream_close(s, deadline);
	return err;
}

static cc_task_fn(fetch_some, FetchesRx in;)
{
	struct fetch *f;

	while (cc_recv(self->in, &f) == 0)
		cc_try(fetch(f));	/* the first error ends all */
	return 0;
}

/* Fetches all; four at a time. */
static int fetch_all(struct fetch *fetches, size_t count)
{
	Fetches queue = cc_chan_make(Fetches, 4);
	int err = 0;

	cc_nursery_scope(n, &err) {
		for (int i = 0; i < 4; i++)
			cc_spawn(n, fetch_some, .in = queue.rx);
		for (size_t i = 0; i < count && cc_send(queue, &fetches[i]) == 0; i++)
			continue;
		cc_close(queue);
	}
	cc_free(queue);
	return err;
}

/* ---- the server: a path is the number of bytes that are wanted ---- */

static cc_serve_fn(answer, const char *unused)
{
	char line[128];
	size_t size = 0, n;

	(void)unused;
	cc_try(cc_stream_read_line(stream, line, sizeof line, &n, cc_after(10 * CC_SEC)));
	if (sscanf(line, "GET /%zu", &size) != 1)
		return EPROTO;
	cc_try(cc_stream_write(stream, "HTTP/1.0 200 OK\r\n\r\n", 19, NULL, CC_FOREVER));
	for (; size > 0; size--)
		cc_try(cc_stream_write(stream, "x", 1, NULL, CC_FOREVER));
	return 0;
}

static cc_task_fn(serve, int listener;)
{
	return cc_serve_on(self->listener, answer, NULL, NULL);
}

int main(void)
{
	struct fetch fetches[50] = {0};
	char address[CC_NET_ADDRESS_SIZE];
	int listener, err = 0;

	assert(cc_net_listen(&listener, "127.0.0.1:0", NULL) == 0);
	assert(cc_net_local_address(listener, address, sizeof address) == 0);
	for (int i = 0; i < 50; i++) {
		fetches[i].server = address;
		snprintf(fetches[i].path, sizeof fetches[i].path, "/%d", 1000 * i);
	}
	cc_nursery_scope(n, &err) {
		cc_spawn_daemon(n, serve, .listener = listener);
		assert(fetch_all(fetches, 50) == 0);
	}
	assert(err == 0);
	for (int i = 0; i < 50; i++)
		assert(fetches[i].size == 1000 * (size_t)i);
	cc_fd_close(listener);
	return 0;
}
