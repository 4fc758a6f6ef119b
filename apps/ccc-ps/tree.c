/* tree.c - fibers below the nurseries that they are children of, nurseries below their owners. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

enum { DEPTH = 200, LINE = 700 };

struct tree {
	const struct view *v;
	const struct fiber **child;		/* by nursery; those without one first */
	size_t children;
	const struct nursery **owned;		/* by owner */
	bool *printed;				/* nurseries, in that order */
};

static int by_nursery(const void *a, const void *b)
{
	const struct fiber *p = *(const struct fiber *const *)a, *q = *(const struct fiber *const *)b;

	if (p->nursery != q->nursery)
		return p->nursery < q->nursery ? -1 : 1;
	return p < q ? -1 : p > q;	/* by their ids */
}

static int by_owner(const void *a, const void *b)
{
	const struct nursery *p = *(const struct nursery *const *)a;
	const struct nursery *q = *(const struct nursery *const *)b;

	if (p->owner != q->owner)
		return p->owner < q->owner ? -1 : 1;
	return p->address > q->address ? -1 : p->address < q->address;	/* the outer one first */
}

static size_t first_child(const struct tree *t, uint64_t nursery)
{
	size_t low = 0, high = t->children;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (t->child[middle]->nursery < nursery)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t first_owned(const struct tree *t, uint64_t owner)
{
	size_t low = 0, high = t->v->s->nurseries;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (t->owned[middle]->owner < owner)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool owns(const struct tree *t, uint64_t owner)
{
	const size_t i = first_owned(t, owner);

	return i < t->v->s->nurseries && t->owned[i]->owner == owner;
}

static void print_fiber(const struct tree *t, const struct group *g, unsigned depth)
{
	const struct fiber *f = g->first;
	char name[64], wait[LINE], since[32] = "";

	text_name(t->v, f, name, sizeof name);
	text_wait(t->v, f, wait, sizeof wait);
	if (f->since != NO_TIME)
		text_time(t->v->s->now > f->since ? t->v->s->now - f->since : 0, since, sizeof since);
	fprintf(t->v->out, "%*s%s", (int)depth * 2, "", colour_of(t->v, f));
	if (f->id == 0)
		fprintf(t->v->out, "thread 0x%" PRIx64, f->address);
	else
		fprintf(t->v->out, "fiber %" PRIu64, f->id);
	fprintf(t->v->out, "%s%s%s", *name != '\0' ? " " : "", name, f->daemon ? ", a daemon" : "");
	if (*text_function(t->v, f) != '\0')
		fprintf(t->v->out, " runs %s", text_function(t->v, f));
	fprintf(t->v->out, ": %s", text_state(f));
	if (*since != '\0')
		fprintf(t->v->out, " for %s", since);
	if (*wait != '\0')
		fprintf(t->v->out, ", waits %s", wait);
	if (g->count > 1)
		fprintf(t->v->out, " (and %" PRIu64 " more like this)", g->count - 1);
	fprintf(t->v->out, "%s\n", colour_off(t->v));
}

static void print_owned(struct tree *t, uint64_t owner, unsigned depth);

/* Those from `first` to `end`: with what they own one by one, the others folded. */
static void print_children(struct tree *t, size_t first, size_t end, unsigned depth)
{
	const struct fiber **plain = calloc(end - first + 1, sizeof *plain);
	struct groups g;
	size_t n = 0;

	if (plain == NULL)
		return;
	for (size_t i = first; i < end; i++) {
		const struct fiber *f = t->child[i];
		const struct group one = {.first = f, .count = 1};

		if (!owns(t, f->address)) {
			plain[n++] = f;
			continue;
		}
		print_fiber(t, &one, depth);
		print_owned(t, f->address, depth + 1);
	}
	if (n > 0 && groups_make(&g, t->v, plain, n, false)) {
		for (size_t i = 0; i < g.count; i++)
			print_fiber(t, &g.group[i], depth);
		groups_free(&g);
	}
	free(plain);
}

static void print_nursery(struct tree *t, const struct nursery *n, unsigned depth)
{
	static const char *const policies[] = {"the first error cancels it", "supervises",
	                                       "the first success ends it"};
	size_t first = first_child(t, n->address), end = first;
	char name[40], line[200];

	fprintf(t->v->out, "%*snursery 0x%" PRIx64 ": %" PRIu64 " child%s, %s", (int)depth * 2, "",
	        n->address, n->children, n->children == 1 ? "" : "ren", policies[n->policy]);
	if (n->cancelled)
		fputs(", cancelled", t->v->out);
	if (n->error != 0)
		fprintf(t->v->out, ", error: %s", strerror(n->error));
	if (n->sealed)
		fputs(", is being joined", t->v->out);
	text_place(t->v, n->place, name, sizeof name, line, sizeof line);
	if (line[0] != '\0')
		fprintf(t->v->out, ", created at %s", line);
	fputc('\n', t->v->out);
	while (end < t->children && t->child[end]->nursery == n->address)
		end++;
	print_children(t, first, end, depth + 1);
}

static void print_owned(struct tree *t, uint64_t owner, unsigned depth)
{
	for (size_t i = first_owned(t, owner); i < t->v->s->nurseries && t->owned[i]->owner == owner; i++)
		if (depth < DEPTH && !t->printed[i]) {	/* what changes could lead in a circle */
			t->printed[i] = true;
			print_nursery(t, t->owned[i], depth);
		}
}

/* Threads that own nurseries, or wait. */
static void print_threads(struct tree *t)
{
	const struct snapshot *s = t->v->s;

	for (size_t i = s->fibers; i < s->fibers + s->threads; i++) {
		const struct group one = {.first = &s->fiber[i], .count = 1};

		print_fiber(t, &one, 0);
		print_owned(t, s->fiber[i].address, 1);
	}
	for (size_t i = 0; i < s->nurseries; i++)
		if (!t->printed[i] && t->owned[i]->owner_id == 0) {
			fprintf(t->v->out, "thread 0x%" PRIx64 ": outside of any wait\n", t->owned[i]->owner);
			print_owned(t, t->owned[i]->owner, 1);
		}
}

void view_tree(const struct view *v)
{
	const struct snapshot *s = v->s;
	struct tree t = {.v = v, .children = s->fibers};
	size_t end = 0;

	t.child = calloc(s->fibers + 1, sizeof *t.child);
	t.owned = calloc(s->nurseries + 1, sizeof *t.owned);
	t.printed = calloc(s->nurseries + 1, sizeof *t.printed);
	view_head(v);
	if (t.child != NULL && t.owned != NULL && t.printed != NULL) {
		for (size_t i = 0; i < s->fibers; i++)
			t.child[i] = &s->fiber[i];
		for (size_t i = 0; i < s->nurseries; i++)
			t.owned[i] = &s->nursery[i];
		if (s->fibers > 1)
			qsort(t.child, s->fibers, sizeof *t.child, by_nursery);
		if (s->nurseries > 1)
			qsort(t.owned, s->nurseries, sizeof *t.owned, by_owner);
		fputc('\n', v->out);
		while (end < t.children && t.child[end]->nursery == 0)
			end++;
		print_threads(&t);
		print_children(&t, 0, end, 0);
		/* What was not reached: its owner has moved on. */
		for (size_t i = 0; i < s->nurseries; i++)
			if (!t.printed[i]) {
				t.printed[i] = true;
				print_nursery(&t, t.owned[i], 0);
			}
	}
	free(t.child);
	free(t.owned);
	free(t.printed);
}
