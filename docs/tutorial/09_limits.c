/* Step 9: limits, so that no client can use up the server. */
#include <ctype.h>
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
	cc_time patience;	/* for the rest of a line that has begun */
};

static cc_serve_fn(answer_lines, struct server *server)
{
	char line[1024], text[32];
	int err;

	while ((err = cc_serve_next(stream, CC_FOREVER)) == 0) {	/* the next line begins */
		const cc_time deadline = cc_after(server->patience);

		cc_try(cc_stream_read_line(stream, line, sizeof line, NULL, deadline));
		const int length = snprintf(text, sizeof text, "%ld\n", words_of(line));
		cc_try(cc_stream_write(stream, text, (size_t)length, NULL, deadline));
	}
	return err;
}

int main(int argc, char **argv)
{
	const CCServeOptions limits = {
		.connections = 1000,		/* further ones wait in the queue of the system */
		.idle = 2 * CC_SEC,		/* a silent client is closed */
		.total = 3600 * CC_SEC,		/* and so is one that never ends */
	};
	struct server server = {.patience = 5 * CC_SEC};
	char address[CC_NET_ADDRESS_SIZE];
	int listener, err;

	err = cc_net_listen(&listener, argc > 1 ? argv[1] : "127.0.0.1:0", NULL);
	if (err != 0 || cc_net_local_address(listener, address, sizeof address) != 0)
		return 1;
	printf("listening on %s\n", address);
	fflush(stdout);
	err = cc_serve_on(listener, answer_lines, &server, &limits);
	cc_fd_close(listener);
	return err != 0;
}
