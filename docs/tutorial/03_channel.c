/* Step 3: results come through a channel. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include <ccc/ccc.h>

struct result {
	const char *path;
	long words;
};
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

static cc_task_fn(count, const char *path; ResultsTx out;)
{
	struct result r = {.path = self->path};

	cc_try(count_words(r.path, &r.words));
	return cc_send(self->out, r);
}

int main(int argc, char **argv)
{
	Results results = cc_chan_make(Results, 16);
	struct result r;
	long total = 0;
	int err = 0;

	cc_nursery_scope(n, &err) {
		if (cc_nursery_autoclose(n, results.chan) != 0)
			return 1;
		for (int i = 1; i < argc; i++)
			cc_spawn(n, count, .path = argv[i], .out = results.tx);
		cc_nursery_seal(n);
		while (cc_recv(results, &r) == 0) {	/* until the last task has ended */
			printf("%6ld %s\n", r.words, r.path);
			total += r.words;
		}
	}
	cc_free(results);
	printf("%6ld total\n", total);
	return err != 0;
}
