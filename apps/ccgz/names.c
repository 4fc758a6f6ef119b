/* names.c - see names.h. */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What a suffix becomes. */
static const struct {
	const char *suffix, *instead;
} known[] = {{".gz", ""}, {".tgz", ".tar"}, {".taz", ".tar"}, {"-gz", ""}, {".z", ""}, {"-z", ""}};

/* Whether path ends with suffix and has something before it. */
static bool ends_with(const char *path, const char *suffix)
{
	const char *slash = strrchr(path, '/');
	const size_t length = strlen(slash != NULL ? slash + 1 : path), end = strlen(suffix);

	return length > end && strcasecmp(path + strlen(path) - end, suffix) == 0;
}

static char *joined(const char *first, size_t first_length, const char *second)
{
	char *text = malloc(first_length + strlen(second) + 1);

	if (text != NULL)
		sprintf(text, "%.*s%s", (int)first_length, first, second);
	return text;
}

bool name_is_compressed(const char *path, const char *suffix)
{
	if (ends_with(path, suffix))
		return true;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (ends_with(path, known[i].suffix))
			return true;
	return false;
}

char *name_compressed(const char *path, const char *suffix)
{
	return joined(path, strlen(path), suffix);
}

char *name_decompressed(const char *path, const char *suffix)
{
	const size_t length = strlen(path);

	if (ends_with(path, suffix))
		return joined(path, length - strlen(suffix), "");
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (ends_with(path, known[i].suffix))
			return joined(path, length - strlen(known[i].suffix), known[i].instead);
	return NULL;
}

char *name_beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/'), *base = strrchr(name, '/');

	return joined(path, slash == NULL ? 0 : (size_t)(slash - path) + 1,
	              base == NULL ? name : base + 1);
}
