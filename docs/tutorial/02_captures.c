/* Step 2: a task for each file. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <ccc/ccc.h>

/* Adds the number of words in the file to *words. */
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

static cc_task_fn(count, const char *path; long *words;)
{
	return count_words(self->path, self->words);
}

int main(int argc, char **argv)
{
	long *words = calloc((size_t)argc, sizeof *words);
	int err = 0;

	cc_nursery_scope(n, &err)
		for (int i = 1; i < argc; i++)
			cc_spawn(n, count, .path = argv[i], .words = &words[i]);
	for (int i = 1; i < argc; i++)
		printf("%6ld %s\n", words[i], argv[i]);
	free(words);
	return err != 0;
}
