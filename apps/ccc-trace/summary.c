/* summary.c - sums over the slices of a trace. */
#include "summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 10, REASONS = 32 };

/* A line of the table: run, queued, or what tasks waited for. */
struct row {
	char name[40];
	double sum;
	size_t count;
};

static bool is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static bool is_wait(const struct slice *s)
{
	return is(s->category, "parked");
}

/* In a unit that leaves one to three digits in front of the point. */
static const char *span(double us, char text[24])
{
	if (us < 1000)
		snprintf(text, 24, "%.1f us", us);
	else if (us < 1000000)
		snprintf(text, 24, "%.1f ms", us / 1000);
	else
		snprintf(text, 24, "%.2f s", us / 1000000);
	return text;
}

/* ---- totals ---- */

static void count(struct row *rows, size_t *used, const char *name, double length)
{
	size_t i = 0;

	while (i < *used && !is(rows[i].name, name))
		i++;
	if (i == REASONS)
		return;
	if (i == *used) {
		rows[(*used)++] = (struct row){0};
		snprintf(rows[i].name, sizeof rows[i].name, "%s", name);
	}
	rows[i].sum += length;
	rows[i].count++;
}

static int by_sum(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->sum < y->sum ? 1 : x->sum > y->sum ? -1 : strcmp(x->name, y->name);
}

static void print_totals(const struct trace *t)
{
	struct row rows[REASONS];
	size_t used = 0;
	double all = 0;
	char name[40], text[24];

	for (size_t i = 0; i < t->slices; i++) {
		const struct slice *s = &t->slice[i];

		if (s->process != TASKS)
			continue;
		snprintf(name, sizeof name, "%s%s", is_wait(s) ? "parked: " : "", s->name);
		count(rows, &used, name, s->length);
		all += s->length;
	}
	qsort(rows, used, sizeof *rows, by_sum);
	puts("\nwhere the time of tasks went");
	for (size_t i = 0; i < used; i++)
		printf("  %-24s %10s %6.1f %%  %8zu times\n", rows[i].name, span(rows[i].sum, text),
		       all > 0 ? 100 * rows[i].sum / all : 0, rows[i].count);
}

/* ---- wakes ---- */

static int by_number(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print_latency(const struct trace *t)
{
	double *latency = malloc((t->slices + 1) * sizeof *latency);
	char a[24], b[24], c[24];
	size_t n = 0;

	if (latency == NULL)
		return;
	for (size_t i = 0; i < t->slices; i++)
		if (is(t->slice[i].category, "woken") && !t->slice[i].unended)
			latency[n++] = t->slice[i].length;
	qsort(latency, n, sizeof *latency, by_number);
	puts("\nfrom a spawn or a wake to the run");
	if (n > 0)
		printf("  %zu times: p50 %s, p99 %s, longest %s\n", n, span(latency[n / 2], a),
		       span(latency[n * 99 / 100], b), span(latency[n - 1], c));
	else
		puts("  none");
	free(latency);
}

/* ---- the longest waits ---- */

static int by_length(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	if (is_wait(x) != is_wait(y))
		return is_wait(x) ? -1 : 1;
	return x->length < y->length ? 1 : x->length > y->length ? -1 : x->begin > y->begin;
}

/* Sorts the slices. */
static void print_longest(struct trace *t)
{
	char a[24], b[24];

	qsort(t->slice, t->slices, sizeof *t->slice, by_length);
	puts("\nlongest waits");
	for (size_t i = 0; i < t->slices && i < LONGEST && is_wait(&t->slice[i]); i++) {
		const struct slice *s = &t->slice[i];

		printf("  %10s  %-20s %s%s%s, from %s%s\n", span(s->length, a),
		       trace_track_name(t, s->process, s->track), s->name, *s->object ? " " : "",
		       s->object, span(s->begin, b),
		       s->unended ? ", still waiting at the end" : "");
	}
}

/* ---- threads ---- */

static void print_thread(const struct trace *t, const struct track *track, double length)
{
	double busy = 0, asleep = 0;
	char text[24];

	for (size_t i = 0; i < t->slices; i++) {
		const struct slice *s = &t->slice[i];

		if (s->process != THREADS || s->track < track->number || s->track > track->number)
			continue;
		busy += is(s->category, "worker") ? s->length : 0;
		asleep += is(s->category, "asleep") || is_wait(s) ? s->length : 0;
	}
	printf("  %-24s ran tasks for %10s (%5.1f %%), slept %5.1f %%\n", track->name,
	       span(busy, text), length > 0 ? 100 * busy / length : 0,
	       length > 0 ? 100 * asleep / length : 0);
}

static double length_of(const struct trace *t)
{
	double end = 0;

	for (size_t i = 0; i < t->slices; i++)
		if (t->slice[i].begin + t->slice[i].length > end)
			end = t->slice[i].begin + t->slice[i].length;
	return end;
}

void summary_print(struct trace *t)
{
	const double length = length_of(t);
	size_t tasks = 0;
	char text[24];

	for (size_t i = 0; i < t->tracks; i++)
		tasks += t->track[i].process == TASKS;
	printf("%s, %zu tasks, %zu threads, %.0f events\n", span(length, text), tasks,
	       t->tracks - tasks, t->events);
	if (t->lost > 0)
		printf("%.0f earlier events were lost; CC_TRACE_EVENTS keeps more\n", t->lost);
	print_totals(t);
	print_latency(t);
	puts("\nthreads");
	for (size_t i = 0; i < t->tracks; i++)
		if (t->track[i].process == THREADS)
			print_thread(t, &t->track[i], length);
	print_longest(t);
}
