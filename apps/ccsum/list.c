/* list.c - the files that ccsum works on: those of the command line and below them, or those of a
 * list of sums that sha256sum or ccsum has printed. */
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ccsum.h"

static struct entry *add(struct list *l, const char *name)
{
	if (l->count == l->room) {
		l->room = l->room * 2 + 64;
		l->entries = realloc(l->entries, l->room * sizeof *l->entries);
		if (l->entries == NULL)
			abort();
	}
	l->entries[l->count] = (struct entry){.name = strdup(name)};
	return &l->entries[l->count++];
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

void list_tree(struct list *l, char *path)
{
	FTS *tree = fts_open((char *const[]){path, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	const FTSENT *f;

	while (tree != NULL && (f = fts_read(tree)) != NULL)
		if (f->fts_info == FTS_DNR || f->fts_info == FTS_ERR || f->fts_info == FTS_NS)
			add(l, f->fts_path)->error = f->fts_errno;
		else if (f->fts_info == FTS_F ||
		         (f->fts_level == 0 && f->fts_info != FTS_D && f->fts_info != FTS_DP))
			add(l, f->fts_path);
	fts_close(tree);
}

/* Undoes the escapes of a name.  False: no name is escaped like that. */
static bool unescape(char *name)
{
	char *to = name;

	for (; *name != '\0'; name++, to++)
		if ((*to = *name) == '\\') {
			const char *known = strchr("\\\\n\nr\r", *++name);

			if (*name == '\0' || known == NULL)
				return false;
			*to = known[1];
		}
	*to = '\0';
	return true;
}

/* Adds the file of a line "SUM  NAME" or "SUM *NAME".  Empty lines and comments do not count.
 * False: the line is neither. */
static bool add_line(struct list *l, char *line)
{
	const bool escaped = *line == '\\';
	char *sum = line + escaped, *name = sum + HEX + 2;

	sum[strcspn(sum, "\n")] = '\0';
	if (*line == '\0' || *line == '#')
		return true;
	if (strspn(sum, "0123456789abcdefABCDEF") != HEX || sum[HEX] != ' ' ||
	    (sum[HEX + 1] != ' ' && sum[HEX + 1] != '*') || *name == '\0' ||
	    (escaped && !unescape(name)))
		return false;
	memcpy(add(l, name)->expected, sum, HEX);
	return true;
}

int list_sums(struct list *l, const char *path, bool warn, unsigned long *malformed)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	const size_t before = l->count;
	unsigned long bad = 0;
	char *line = NULL;
	size_t size = 0;
	int err;

	for (unsigned long number = 1; f != NULL && getline(&line, &size, f) > 0; number++)
		if (!add_line(l, line)) {
			bad++;
			if (warn)
				fprintf(
				    stderr,
				    "ccsum: %s: %lu: improperly formatted SHA256 checksum line\n",
				    path, number);
		}
	err = f == NULL || ferror(f) ? errno : l->count == before ? ENOMSG : 0;
	if (err == 0)
		*malformed += bad;
	free(line);
	if (f != NULL && f != stdin)
		fclose(f);
	return err;
}

void list_file(struct list *l, const char *path)
{
	add(l, path);
}

void list_free(struct list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->entries[i].name);
	free(l->entries);
}
