/* symbols.c - what needs no library. */
#include "symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, SAVED_MOST = 4096 };

struct name {
	struct name *next;
	uint64_t address;
	char *text;
};

struct name_table {
	struct name *bucket[BUCKETS];
};

struct name_table *names_new(void)
{
	return calloc(1, sizeof(struct name_table));
}

void names_free(struct name_table *t)
{
	for (unsigned i = 0; t != NULL && i < BUCKETS; i++)
		for (struct name *n = t->bucket[i], *next; n != NULL; n = next) {
			next = n->next;
			free(n->text);
			free(n);
		}
	free(t);
}

char **names_place(struct name_table *t, uint64_t address)
{
	struct name **at = &t->bucket[address * 0x9e3779b97f4a7c15u >> 52];

	while (*at != NULL && (*at)->address != address)
		at = &(*at)->next;
	if (*at == NULL && (*at = calloc(1, sizeof **at)) == NULL)
		return NULL;
	(*at)->address = address;
	return &(*at)->text;
}

void symbols_plain(const struct memory *m, uint64_t address, char *text, size_t size)
{
	for (size_t i = 0; i < m->mappings; i++) {
		const struct mapping *g = &m->mapping[i];
		const char *slash = strrchr(g->path, '/');

		if (address >= g->start && address < g->end) {
			snprintf(text, size, "%s+0x%" PRIx64, slash != NULL ? slash + 1 : g->path,
			         address - g->start + g->offset);
			return;
		}
	}
	snprintf(text, size, "0x%" PRIx64, address);
}

bool symbols_start(struct memory *m, const struct layout *l, uint64_t sp,
                   uint64_t value[LAYOUT_REGISTERS], uint64_t *pc)
{
	unsigned char saved[SAVED_MOST];
	const uint64_t size = l->context_size.value;

	if (sp == 0 || sp % 8 != 0 || size > sizeof saved || l->context_pc.value + 8 > size ||
	    l->context_sp_register.value >= LAYOUT_REGISTERS || !memory_read(m, sp, saved, size))
		return false;
	memset(value, 0, LAYOUT_REGISTERS * sizeof *value);
	for (unsigned i = 0; i < LAYOUT_REGISTERS; i++)
		if (l->saved[i] >= 0 && (uint64_t)l->saved[i] + 8 <= size)
			memcpy(&value[i], saved + l->saved[i], sizeof *value);
	memcpy(pc, saved + l->context_pc.value, sizeof *pc);
	value[l->context_sp_register.value] = sp + size;
	return true;
}
