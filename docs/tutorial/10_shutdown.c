/* Step 10: a server that shuts down gracefully. */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include <ccc/ccc.h>

static long words_of(const char *line)
{
	long words = 0;

	for (int inside = 0; *line != 0; line++) {
		words += !isspace((unsigned char)*line) && !inside;
		inside = !isspace((unsigned char)*line);
	}
	return words;
}

struct server {
	cc_time patience;
	CCMutex lock;
	long lines, words;	/* under `lock` */
};

static int add(struct server *server, long words)
{
	cc_try(cc_mutex_lock(&server->lock));
	server->lines++;
	server->words += words;
	return cc_mutex_unlock(&server->lock);
}

static cc_serve_fn(answer_lines, struct server *server)
{
	char line[1024], text[32];
	int err;

	while ((err = cc_serve_next(stream, CC_FOREVER)) == 0) {	/* ends when the server stops */
		const cc_time deadline = cc_after(server->patience);

		cc_try(cc_stream_read_line(stream, line, sizeof line, NULL, deadline));
		const int length = snprintf(text, sizeof text, "%ld\n", words_of(line));
		cc_try(cc_stream_write(stream, text, (size_t)length, NULL, deadline));
		cc_try(add(server, words_of(line)));
	}
	return err;
}

int main(int argc, char **argv)
{
	const CCServeOptions limits = {
		.connections = 1000,
		.idle = 30 * CC_SEC,
		.grace = 5 * CC_SEC,		/* for lines that have begun when the signal comes */
	};
	struct server server = {.patience = 5 * CC_SEC};
	char address[CC_NET_ADDRESS_SIZE];
	int listener, err;

	err = cc_net_listen(&listener, argc > 1 ? argv[1] : "127.0.0.1:0", NULL);
	if (err != 0 || cc_net_local_address(listener, address, sizeof address) != 0)
		return 1;
	cc_nursery_scope(n, &err) {
		cc_nursery_cancel_on(n, SIGTERM);
		cc_nursery_cancel_on(n, SIGINT);
		printf("listening on %s\n", address);
		fflush(stdout);
		cc_ignore(cc_serve_on(listener, answer_lines, &server, &limits));
	}
	cc_fd_close(listener);
	printf("%ld lines, %ld words\n", server.lines, server.words);
	return err == EINTR ? 0 : 1;		/* EINTR: a signal has ended the nursery */
}
