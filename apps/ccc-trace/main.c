/* main.c - ccc-trace: what a trace of libccc says, in words.
 *
 *	ccc-trace summary FILE
 *
 * Exit status: 0; 1 if the file cannot be read or is no trace of libccc; 2 for wrong arguments. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "summary.h"

static const char usage[] =
    "usage: ccc-trace summary FILE\n"
    "Prints where the time of a trace went.  A program that uses libccc writes the trace when it\n"
    "runs with CC_TRACE=FILE in its environment.\n";

/* All of a file, with a 0 at its end; NULL: errno says why not. */
static char *text_of_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t room = 1 << 16, n = 0, got;
	char *text = f != NULL ? malloc(room) : NULL, *more;

	while (text != NULL && (got = fread(text + n, 1, room - n - 1, f)) > 0) {
		n += got;
		if (n + 1 < room)
			continue;
		if ((more = realloc(text, room *= 2)) == NULL)
			free(text);
		text = more;
	}
	if (f != NULL && ferror(f)) {
		free(text);
		text = NULL;
	}
	if (f != NULL)
		fclose(f);
	if (text != NULL)
		text[n] = '\0';
	return text;
}

static int summary(const char *path)
{
	char *text = text_of_file(path);
	struct trace t;
	const char *wrong;
	size_t line;

	if (text == NULL) {
		fprintf(stderr, "ccc-trace: %s: %s\n", path, strerror(errno));
		return 1;
	}
	wrong = trace_read(&t, text, &line);
	free(text);
	if (wrong == NULL && t.ours)
		summary_print(&t);
	else if (wrong != NULL)
		fprintf(stderr, "ccc-trace: %s: line %zu: not a trace: %s was expected\n", path,
		        line, wrong);
	else
		fprintf(stderr, "ccc-trace: %s: not a trace that libccc has written\n", path);
	wrong = wrong == NULL && !t.ours ? "" : wrong;
	trace_free(&t);
	return wrong != NULL;
}

int main(int argc, char **argv)
{
	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc != 3 || strcmp(argv[1], "summary") != 0) {
		fputs(usage, stderr);
		return 2;
	}
	return summary(argv[2]);
}
