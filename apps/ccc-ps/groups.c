/* groups.c - fibers that are alike, found by a hash of what they do. */
#include <stdlib.h>
#include <string.h>

#include "view.h"

static uint64_t mix(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t hash_of(const struct fiber *f)
{
	uint64_t h = mix((uint64_t)f->state << 8 | f->wait, f->object);

	h = mix(h, f->task);
	h = mix(h, f->nursery);
	h = mix(h, f->function);
	h = mix(h, (f->id == 0 ? 2u : 0) + (f->deadline == NEVER));
	h = mix(h, f->place);
	for (const char *c = f->name; *c != '\0'; c++)
		h = mix(h, (unsigned char)*c);
	return h;
}

static bool alike(const struct fiber *a, const struct fiber *b)
{
	return a->state == b->state && a->wait == b->wait && a->object == b->object &&
	       a->task == b->task && a->nursery == b->nursery && a->function == b->function &&
	       a->place == b->place && (a->id == 0) == (b->id == 0) &&
	       (a->deadline == NEVER) == (b->deadline == NEVER) && strcmp(a->name, b->name) == 0;
}

static bool same_stack(const struct group *g, const struct fiber *f, const uint64_t *pc, unsigned n)
{
	return g->first->state == f->state && g->first->wait == f->wait && g->frames == n &&
	       (g->first->id == 0) == (f->id == 0) && (n == 0 || memcmp(g->pc, pc, n * sizeof *pc) == 0);
}

static bool add(struct groups *g, const struct fiber *f, uint64_t hash, const uint64_t *pc, unsigned n,
                bool stacks)
{
	size_t at = hash & (g->buckets - 1);
	uint64_t *copy = NULL;

	for (; g->bucket[at] != 0; at = (at + 1) & (g->buckets - 1)) {
		struct group *old = &g->group[g->bucket[at] - 1];

		if (old->hash == hash && (stacks ? same_stack(old, f, pc, n) : alike(old->first, f))) {
			old->count++;
			return true;
		}
	}
	if (n > 0 && (copy = malloc(n * sizeof *copy)) == NULL)
		return false;
	if (n > 0)
		memcpy(copy, pc, n * sizeof *copy);
	g->group[g->count] = (struct group){.first = f, .count = 1, .hash = hash, .pc = copy, .frames = n};
	g->bucket[at] = ++g->count;
	return true;
}

bool groups_make(struct groups *g, const struct view *v, const struct fiber *const *fiber,
                 size_t count, bool stacks)
{
	bool good;

	*g = (struct groups){.buckets = 16};
	while (g->buckets < count * 2)
		g->buckets *= 2;
	g->bucket = calloc(g->buckets, sizeof *g->bucket);
	g->group = calloc(count + 1, sizeof *g->group);
	good = g->bucket != NULL && g->group != NULL;
	for (size_t i = 0; good && i < count; i++) {
		const struct fiber *f = fiber[i];
		uint64_t pc[FRAMES], hash;
		unsigned n = 0;

		if (stacks && f->sp != 0 && v->symbols != NULL)
			n = symbols_unwind(v->symbols, v->l, f->sp, pc, FRAMES);
		hash = stacks ? mix((uint64_t)f->state << 8 | f->wait, f->id == 0) : hash_of(f);
		for (unsigned k = 0; k < n; k++)
			hash = mix(hash, pc[k]);
		if (v->all)
			hash = mix(hash, i + 1);
		good = add(g, f, hash, pc, n, stacks);
	}
	if (!good)
		groups_free(g);
	return good;
}

void groups_free(struct groups *g)
{
	for (size_t i = 0; g->group != NULL && i < g->count; i++)
		free((void *)(uintptr_t)g->group[i].pc);
	free(g->group);
	free(g->bucket);
	*g = (struct groups){.count = 0};
}
