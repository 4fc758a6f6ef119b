/* Step 4: four workers share the files. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include <ccc/ccc.h>

struct result {
	const char *path;
	long words;
};
cc_chan_type(Paths, const char *);
cc_chan_type(Results, struct result);

static int count_words(const char *path, long *words)
{
	FILE *file = fopen(path, "r");
	int c, inside = 0;

	if (file == NULL)
		return errno;
	while ((c = getc(file)) != EOF) {
		*words += !isspace(c) && !inside;
		inside = !isspace(c);
	}
	fclose(file);
	return 0;
}

static cc_task_fn(work, PathsRx in; ResultsTx out;)
{
	struct result r;

	while (cc_recv(self->in, &r.path) == 0) {
		r.words = 0;
		cc_try(count_words(r.path, &r.words));
		cc_try(cc_send(self->out, r));
	}
	return 0;
}

static cc_task_fn(feed, char **paths; PathsTx out;)
{
	for (; *self->paths != NULL; self->paths++)
		cc_try(cc_send(self->out, *self->paths));
	return cc_close(self->out);
}

int main(int argc, char **argv)
{
	Paths paths = cc_chan_make(Paths, 4);
	Results results = cc_chan_make(Results, 16);
	struct result r;
	long total = 0;
	int err = 0;

	(void)argc;
	cc_nursery_scope(n, &err) {
		if (cc_nursery_autoclose(n, results.chan) != 0)
			return 1;
		cc_spawn(n, feed, .paths = argv + 1, .out = paths.tx);
		for (int i = 0; i < 4; i++)
			cc_spawn(n, work, .in = paths.rx, .out = results.tx);
		cc_nursery_seal(n);
		while (cc_recv(results, &r) == 0)
			total += r.words;
	}
	cc_free(paths);
	cc_free(results);
	printf("%6ld total\n", total);
	return err != 0;
}
