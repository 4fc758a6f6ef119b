/* Step 5: the first error ends all the work. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

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
	int err = count_words(r.path, &r.words);

	if (err != 0) {
		fprintf(stderr, "%s: %s\n", r.path, strerror(err));
		return err;			/* cancels the other tasks */
	}
	return cc_send(self->out, r);		/* returns ECANCELED in those that wait */
}

int main(int argc, char **argv)
{
	Results results = cc_chan_make(Results, 0);
	struct result r;
	long total = 0;
	int err = 0;

	cc_nursery_scope(n, &err) {
		if (cc_nursery_autoclose(n, results.chan) != 0)
			return 1;
		for (int i = 1; i < argc; i++)
			cc_spawn(n, count, .path = argv[i], .out = results.tx);
		cc_nursery_seal(n);
		while (cc_recv(results, &r) == 0)	/* this wait ends by the error, too */
			total += r.words;
	}
	cc_free(results);
	if (err != 0)
		return 1;
	printf("%6ld total\n", total);
	return 0;
}
