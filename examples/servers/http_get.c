/* http_get.c - fetches a page over HTTP/1.1, with one deadline for name, connection and answer.
 *
 *      http_get www.example.org:80 /index.html
 *
 * Without arguments it asks a server of its own, which is its test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <ccc/ccc.h>

/* The status, and the length of the body: -1 if the server ends it by closing. */
static int read_head(CCStream *s, int *status, long *length, cc_time deadline)
{
	char line[1024];
	size_t n;

	*length = -1;
	cc_try(cc_stream_read_line(s, line, sizeof line, &n, deadline));
	if (sscanf(line, "HTTP/1.%*d %d", status) != 1)
		return EPROTO;
	do {
		cc_try(cc_stream_read_line(s, line, sizeof line, &n, deadline));
		if (strncasecmp(line, "Content-Length:", 15) == 0)
			*length = strtol(line + 15, NULL, 10);
	} while (n > 0);
	return 0;
}

static int copy_body(CCStream *s, long length, cc_time deadline)
{
	char text[4096];
	size_t n, most;
	int err = 0;

	for (; length != 0 && err == 0; length -= length > 0 ? (long)n : 0) {
		most = length > 0 && length < (long)sizeof text ? (size_t)length : sizeof text;
		if ((err = cc_stream_read(s, text, most, &n, deadline)) == 0)
			fwrite(text, 1, n, stdout);
	}
	return err == EPIPE && length < 0 ? 0 : err;
}

static int ask(CCStream *s, const char *host, const char *path, cc_time deadline)
{
	int status;
	long length;

	cc_try(cc_stream_print(s, deadline, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
	                       path, host));
	cc_try(cc_stream_flush(s, deadline));
	cc_try(read_head(s, &status, &length, deadline));
	printf("%d\n", status);
	return copy_body(s, length, deadline);
}

static int get(const char *host, const char *path)
{
	const cc_time deadline = cc_after(30 * CC_SEC);
	CCStream *s;
	int err;

	cc_try(cc_stream_dial(&s, host, NULL, deadline));
	err = ask(s, host, path, deadline);
	cc_stream_close(s, CC_NOW);
	return err;
}

static cc_serve_fn(answer, int *unused)
{
	char line[200];
	size_t n;

	(void)unused;
	do
		cc_try(cc_stream_read_line(stream, line, sizeof line, &n, cc_after(5 * CC_SEC)));
	while (n > 0);
	return cc_stream_print(stream, cc_after(5 * CC_SEC),
	                       "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n");
}

static cc_task_fn(serve, int listener;)
{
	return cc_serve_on(self->listener, answer, (int *)NULL, NULL);
}

int main(int argc, char **argv)
{
	char address[CC_NET_ADDRESS_SIZE];
	int listener, err = 0, got = 0;

	if (argc == 3)
		return get(argv[1], argv[2]);
	cc_try(cc_net_listen(&listener, "127.0.0.1:0", NULL));
	cc_try(cc_net_local_address(listener, address, sizeof address));
	cc_nursery_scope(n, &err) {
		cc_spawn(n, serve, .listener = listener);
		got = get(address, "/");
		cc_fd_close(listener);
	}
	return err != 0 ? err : got;
}
