/* Step 8: a server that counts the words of each line. */
#include <ctype.h>
#include <errno.h>
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

static int answer_lines(CCStream *s)
{
	char line[1024], text[32];
	int err;

	while ((err = cc_stream_read_line(s, line, sizeof line, NULL, CC_FOREVER)) == 0) {
		const int length = snprintf(text, sizeof text, "%ld\n", words_of(line));

		cc_try(cc_stream_write(s, text, (size_t)length, NULL, CC_FOREVER));
		cc_try(cc_stream_flush(s, CC_FOREVER));
	}
	return err == EPIPE ? 0 : err;		/* EPIPE: the client has sent everything */
}

static cc_task_fn(serve, int fd;)
{
	CCStream *s;

	if (cc_stream_open(&s, self->fd) != 0)
		return cc_fd_close(self->fd);
	answer_lines(s);			/* an error of one client is not the server's */
	cc_stream_close(s, cc_after(CC_SEC));
	return 0;
}

int main(int argc, char **argv)
{
	char address[CC_NET_ADDRESS_SIZE];
	int listener, fd, err;

	err = cc_net_listen(&listener, argc > 1 ? argv[1] : "127.0.0.1:0", NULL);
	if (err != 0 || cc_net_local_address(listener, address, sizeof address) != 0)
		return 1;
	printf("listening on %s\n", address);
	fflush(stdout);
	cc_nursery_scope(n, &err)
		while (cc_net_accept(listener, &fd, CC_FOREVER) == 0)
			cc_spawn(n, serve, .fd = fd);
	cc_fd_close(listener);
	return err != 0;
}
