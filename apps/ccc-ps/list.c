/* list.c - the head, a table of what fibers and threads do, and stacks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

enum { COLUMNS = 6, CELL = 600 };

/* ---- the head ---- */

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void head_of_worker(const struct view *v, const struct worker *w)
{
	static const char *const lives[] = {"is active", "looks for work", "sleeps", "ends", "has ended"};

	fprintf(v->out, "  worker %u ", w->id);
	if (w->running != 0)
		fprintf(v->out, "runs fiber %" PRIu64, w->running);
	else
		fputs(lives[w->life < 5 ? w->life : 0], v->out);
	if (w->queued > 0)
		fprintf(v->out, ", %" PRIu64 " queued", w->queued);
	if (w->inbox > 0)
		fprintf(v->out, ", %" PRIu64 " in its inboxes", w->inbox);
	fputs(w->stuck ? ", has run one fiber for long\n" : "\n", v->out);
}

static void head_of_runtime(const struct view *v, const struct runtime *t)
{
	unsigned shown = 0, asleep = 0;

	fprintf(v->out, "runtime 0x%" PRIx64 ": %u worker%s, %" PRIu64 " stack%s", t->address, t->workers,
	        plural(t->workers), t->stacks, plural(t->stacks));
	if (t->global > 0)
		fprintf(v->out, ", %" PRIu64 " in the global queue", t->global);
	if (t->blocking > 0)
		fprintf(v->out, ", %u thread%s for blocking calls, %u calls wait", t->blocking,
		        plural(t->blocking), t->blocking_waiting);
	fputs(t->stopping ? ", is being stopped\n" : "\n", v->out);
	for (size_t i = 0; i < v->s->workers; i++) {
		const struct worker *w = &v->s->worker[i];

		if (w->runtime != t->address || w->life >= 4)
			continue;
		if (w->running == 0 && w->life == 2 && w->queued + w->inbox == 0)
			asleep++;
		else if (shown++ < 64)
			head_of_worker(v, w);
	}
	if (asleep > 0)
		fprintf(v->out, "  %u worker%s sleep%s\n", asleep, plural(asleep), asleep == 1 ? "s" : "");
}

void view_head(const struct view *v)
{
	size_t count[4] = {0};
	const char *comma = "";

	for (size_t i = 0; i < v->s->fibers; i++)
		count[v->s->fiber[i].state]++;
	fprintf(v->out, "%s, libccc %s: %zu fiber%s (", v->title, v->l->library, v->s->fibers,
	        plural(v->s->fibers));
	for (unsigned i = 0; i < 4; i++)
		if (count[i] > 0) {
			fprintf(v->out, "%s%zu %s", comma, count[i], state_names[i]);
			comma = ", ";
		}
	fprintf(v->out, "%s), %zu thread%s wait%s, %zu nurser%s\n", *comma == '\0' ? "none" : "",
	        v->s->threads, plural(v->s->threads), v->s->threads == 1 ? "s" : "", v->s->nurseries,
	        v->s->nurseries == 1 ? "y" : "ies");
	for (size_t i = 0; i < v->s->runtimes; i++)
		head_of_runtime(v, &v->s->runtime[i]);
}

/* ---- the table ---- */

struct row {
	char *cell[COLUMNS];
	const char *colour;
};

static const char *const titles[COLUMNS] = {"FIBER", "NAME", "STATE", "FOR", "WAITS", "RUNS"};

static bool make_row(const struct view *v, const struct group *g, struct row *row)
{
	const struct fiber *f = g->first;
	char text[COLUMNS][CELL] = {""};

	if (f->id == 0)
		snprintf(text[0], CELL, "thread");
	else
		snprintf(text[0], CELL, "%" PRIu64, f->id);
	if (g->count > 1) {
		const size_t n = strlen(text[0]);

		snprintf(text[0] + n, CELL - n, " +%" PRIu64 " more", g->count - 1);
	}
	text_name(v, f, text[1], CELL);
	snprintf(text[2], CELL, "%s", text_state(f));
	if (f->state == STATE_RUNNING && f->worker != 0)
		snprintf(text[2], CELL, "running on %u", f->worker);
	if (f->since != NO_TIME)
		text_time(v->s->now > f->since ? v->s->now - f->since : 0, text[3], CELL);
	text_wait(v, f, text[4], CELL);
	snprintf(text[5], CELL, "%s", text_function(v, f));
	row->colour = colour_of(v, f);
	for (unsigned c = 0; c < COLUMNS; c++)
		if ((row->cell[c] = strdup(text[c])) == NULL)
			return false;
	return true;
}

static void print_row(const struct view *v, const char *const *cell, const size_t *width,
                      const char *colour)
{
	char line[COLUMNS * CELL];
	size_t n = 0, end;

	for (unsigned c = 0; c < COLUMNS; c++)
		if (width[c] > 0)
			n += (size_t)snprintf(line + n, sizeof line - n, "%-*s  ", (int)width[c], cell[c]);
	for (end = n < sizeof line ? n : sizeof line - 1; end > 0 && line[end - 1] == ' '; end--)
		continue;
	if (v->columns > 0 && end > (size_t)v->columns)
		end = (size_t)v->columns;
	fprintf(v->out, "%s%.*s%s\n", colour, (int)end, line, *colour != '\0' ? colour_off(v) : "");
}

static void print_rows(const struct view *v, const struct row *row, size_t count)
{
	size_t width[COLUMNS] = {0};

	for (size_t i = 0; i < count; i++)
		for (unsigned c = 0; c < COLUMNS; c++)
			if (width[c] < strlen(row[i].cell[c]))
				width[c] = strlen(row[i].cell[c]);
	for (unsigned c = 0; c < COLUMNS; c++)
		if (width[c] > 0 && width[c] < strlen(titles[c]))
			width[c] = strlen(titles[c]);
	print_row(v, titles, width, v->colour ? "\033[1m" : "");
	for (size_t i = 0; i < count; i++)
		print_row(v, (const char *const *)row[i].cell, width, row[i].colour);
}

static const struct fiber **everything(const struct view *v, size_t *count)
{
	const struct fiber **all;

	*count = v->s->fibers + v->s->threads;
	if ((all = calloc(*count + 1, sizeof *all)) != NULL)
		for (size_t i = 0; i < *count; i++)
			all[i] = &v->s->fiber[i];
	return all;
}

static bool all_groups(struct groups *g, const struct view *v, bool stacks)
{
	size_t count;
	const struct fiber **all = everything(v, &count);
	const bool good = all != NULL && groups_make(g, v, all, count, stacks);

	free(all);
	return good;
}

void view_list(const struct view *v)
{
	struct groups g;
	struct row *row;
	bool good;

	view_head(v);
	if (v->s->fibers + v->s->threads == 0 || !all_groups(&g, v, false))
		return;
	good = (row = calloc(g.count + 1, sizeof *row)) != NULL;
	for (size_t i = 0; good && i < g.count; i++)
		good = make_row(v, &g.group[i], &row[i]);
	fputc('\n', v->out);
	if (good)
		print_rows(v, row, g.count);
	for (size_t i = 0; row != NULL && i < g.count; i++)
		for (unsigned c = 0; c < COLUMNS; c++)
			free(row[i].cell[c]);
	free(row);
	groups_free(&g);
}

/* ---- stacks ---- */

static int most_first(const void *a, const void *b)
{
	const struct group *p = a, *q = b;

	if (p->count != q->count)
		return p->count > q->count ? -1 : 1;
	return p->first < q->first ? -1 : p->first > q->first;
}

static void print_stack(const struct view *v, const struct group *g)
{
	char name[64], wait[CELL];
	unsigned from, to;

	text_name(v, g->first, name, sizeof name);
	text_wait(v, g->first, wait, sizeof wait);
	fprintf(v->out, "\n%s", colour_of(v, g->first));
	if (g->first->id == 0)
		fprintf(v->out, "thread 0x%" PRIx64, g->first->address);
	else
		fprintf(v->out, "fiber %" PRIu64, g->first->id);
	fprintf(v->out, "%s%s", *name != '\0' ? " " : "", name);
	if (g->count > 1)
		fprintf(v->out, " and %" PRIu64 " more like this", g->count - 1);
	fprintf(v->out, ": %s%s%s%s\n", text_state(g->first), *wait != '\0' ? ", waits " : "", wait,
	        colour_off(v));
	text_place(v, g->count == 1 ? g->first->place : 0, name, sizeof name, wait, sizeof wait);
	if (*wait != '\0')
		fprintf(v->out, "    (spawned at %s)\n", wait);
	text_frames(v, g->pc, g->frames, &from, &to);
	for (unsigned i = from; i < to; i++)
		fprintf(v->out, "    %s\n", symbols_name(v->symbols, g->pc[i], true));
	if (g->frames == 0 && g->first->id != 0)
		fprintf(v->out, "    (%s)\n",
		        g->first->state == STATE_RUNNING ? "runs: its registers are in the CPU"
		        : g->first->stack == 0 ? "has not begun, or has ended"
		                               : "has moved on");
}

void view_stacks(const struct view *v)
{
	struct groups g;

	view_head(v);
	if (!symbols_there())
		fputs("(built without libdw: one address a fiber, and no names)\n", v->out);
	if (v->s->fibers + v->s->threads == 0 || !all_groups(&g, v, true))
		return;
	if (!v->all)
		qsort(g.group, g.count, sizeof *g.group, most_first);
	for (size_t i = 0; i < g.count; i++)
		print_stack(v, &g.group[i]);
	groups_free(&g);
}
