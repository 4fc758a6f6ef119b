/* Step 6: a limit of time for everything. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include <ccc/ccc.h>

/* Counts as before, but waits as a fiber does: a pipe may be slow, and the wait can be ended. */
static int count_words(int fd, long *words)
{
	char text[4096];
	int err, inside = 0;
	size_t n;

	while ((err = cc_fd_read(fd, text, sizeof text, &n, CC_FOREVER)) == 0)
		for (size_t i = 0; i < n; i++) {
			*words += !isspace((unsigned char)text[i]) && !inside;
			inside = !isspace((unsigned char)text[i]);
		}
	return err == EPIPE ? 0 : err;		/* EPIPE: the end of the file */
}

static cc_task_fn(count, const char *path; long *words;)
{
	const int fd = open(self->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int err;

	if (fd < 0)
		return errno;
	err = count_words(fd, self->words);
	cc_fd_close(fd);
	return err;
}

int main(int argc, char **argv)
{
	const cc_time limit = argc > 1 ? (cc_time)(atof(argv[1]) * CC_SEC) : 0;
	long *words = calloc((size_t)argc, sizeof *words);
	int err = 0;

	cc_nursery_scope(n, &err) {
		if (cc_nursery_deadline(n, cc_after(limit)) != 0)
			return 1;
		for (int i = 2; i < argc; i++)
			cc_spawn(n, count, .path = argv[i], .words = &words[i]);
	}
	for (int i = 2; i < argc; i++)
		printf("%6ld %s\n", words[i], argv[i]);
	if (err == ETIMEDOUT)
		puts("out of time: some counts are not complete");
	free(words);
	return err != 0;
}
