/* Step 7: data that tasks share, and a daemon that reports it. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include <ccc/ccc.h>

static struct totals {
	CCMutex lock;
	long files, words;	/* under `lock` */
} totals;

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

static cc_task_fn(count, const char *path;)
{
	long words = 0;

	cc_try(count_words(self->path, &words));
	cc_try(cc_mutex_lock(&totals.lock));	/* cancelled: the lock is not held */
	totals.files++;
	totals.words += words;
	return cc_mutex_unlock(&totals.lock);
}

static cc_task_fn(report)
{
	while (cc_sleep_ms(100) == 0) {
		cc_try(cc_mutex_lock(&totals.lock));
		fprintf(stderr, "%ld files\n", totals.files);
		cc_mutex_unlock(&totals.lock);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int err = 0;

	cc_nursery_scope(n, &err) {
		cc_spawn_daemon(n, report);	/* cancelled when the others have ended */
		for (int i = 1; i < argc; i++)
			cc_spawn(n, count, .path = argv[i]);
	}
	printf("%ld files, %ld words\n", totals.files, totals.words);
	return err != 0;
}
