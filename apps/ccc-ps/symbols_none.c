/* symbols_none.c - built without libdw. */
#include "symbols.h"

#include <stdlib.h>
#include <string.h>

struct symbols {
	struct memory *m;
	struct name_table *names;
};

bool symbols_there(void)
{
	return false;
}

struct symbols *symbols_open(struct memory *m, const char *core, const char *program)
{
	struct symbols *s = calloc(1, sizeof *s);

	(void)core, (void)program;
	if (s == NULL || (s->names = names_new()) == NULL) {
		free(s);
		return NULL;
	}
	s->m = m;
	return s;
}

void symbols_close(struct symbols *s)
{
	names_free(s->names);
	free(s);
}

const char *symbols_name(struct symbols *s, uint64_t address, bool call)
{
	char **at = names_place(s->names, address), text[512];

	(void)call;
	if (at != NULL && *at == NULL) {
		symbols_plain(s->m, address, text, sizeof text);
		*at = strdup(text);
	}
	return at != NULL && *at != NULL ? *at : "?";
}

unsigned symbols_unwind(struct symbols *s, const struct layout *l, uint64_t sp, uint64_t *pc,
                        unsigned most)
{
	uint64_t value[LAYOUT_REGISTERS];

	return most > 0 && symbols_start(s->m, l, sp, value, pc);
}
