/* trace.c - reading a trace file. */
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

/* All fields of an event that are looked at. */
struct event {
	struct slice slice;
	char phase[4];
	char track_name[40];
};

/* Room for one more of `size` bytes each.  Without memory the program ends. */
static void *one_more(void *array, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return array;
	*room = *room == 0 ? 1024 : 2 * *room;
	array = realloc(array, *room * size);
	if (array == NULL) {
		fputs("ccc-trace: no memory\n", stderr);
		exit(2);
	}
	return array;
}

static void read_args(struct json *j, struct event *e)
{
	char key[24];
	double number;

	if (!json_enter(j, '{'))
		return;
	while (json_key(j, key, sizeof key)) {
		if (strcmp(key, "name") == 0) {
			json_text(j, e->track_name, sizeof e->track_name);
		} else if (strcmp(key, "object") == 0) {
			json_text(j, e->slice.object, sizeof e->slice.object);
		} else if (strcmp(key, "descriptor") == 0 || strcmp(key, "task") == 0 ||
		           strcmp(key, "cases") == 0) {
			json_number(j, &number);
			snprintf(e->slice.object, sizeof e->slice.object, "%.0f", number);
		} else if (strcmp(key, "end") == 0) {
			e->slice.unended = true;
			json_skip(j);
		} else {
			json_skip(j);
		}
	}
}

static void read_event(struct json *j, struct event *e)
{
	char key[16];
	double process = 0;

	*e = (struct event){0};
	if (!json_enter(j, '{'))
		return;
	while (json_key(j, key, sizeof key)) {
		if (strcmp(key, "ph") == 0)
			json_text(j, e->phase, sizeof e->phase);
		else if (strcmp(key, "pid") == 0)
			json_number(j, &process);
		else if (strcmp(key, "tid") == 0)
			json_number(j, &e->slice.track);
		else if (strcmp(key, "ts") == 0)
			json_number(j, &e->slice.begin);
		else if (strcmp(key, "dur") == 0)
			json_number(j, &e->slice.length);
		else if (strcmp(key, "name") == 0)
			json_text(j, e->slice.name, sizeof e->slice.name);
		else if (strcmp(key, "cat") == 0)
			json_text(j, e->slice.category, sizeof e->slice.category);
		else if (strcmp(key, "args") == 0)
			read_args(j, e);
		else
			json_skip(j);
	}
	e->slice.process = (unsigned)process;
}

static void keep_event(struct trace *t, const struct event *e)
{
	if (strcmp(e->phase, "X") == 0) {
		t->slice = one_more(t->slice, t->slices, &t->slice_room, sizeof *t->slice);
		t->slice[t->slices++] = e->slice;
	} else if (strcmp(e->phase, "M") == 0 && strcmp(e->slice.name, "thread_name") == 0) {
		struct track *track;

		t->track = one_more(t->track, t->tracks, &t->track_room, sizeof *t->track);
		track = &t->track[t->tracks++];
		*track = (struct track){.process = e->slice.process, .number = e->slice.track};
		memcpy(track->name, e->track_name, sizeof track->name);
	}
}

static void read_other(struct json *j, struct trace *t)
{
	char key[24], text[16];

	if (!json_enter(j, '{'))
		return;
	while (json_key(j, key, sizeof key)) {
		if (strcmp(key, "library") == 0)
			t->ours = json_text(j, text, sizeof text) && strcmp(text, "libccc") == 0;
		else if (strcmp(key, "events") == 0)
			json_number(j, &t->events);
		else if (strcmp(key, "lost") == 0)
			json_number(j, &t->lost);
		else
			json_skip(j);
	}
}

static void read_events(struct json *j, struct trace *t)
{
	struct event e;

	if (!json_enter(j, '['))
		return;
	while (json_element(j)) {
		read_event(j, &e);
		if (j->wrong == NULL)
			keep_event(t, &e);
	}
}

static int by_track(const void *a, const void *b)
{
	const struct track *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

const char *trace_read(struct trace *t, const char *text, size_t *line)
{
	struct json j;
	char key[24];

	*t = (struct trace){0};
	json_init(&j, text);
	if (json_enter(&j, '{'))
		while (json_key(&j, key, sizeof key)) {
			if (strcmp(key, "traceEvents") == 0)
				read_events(&j, t);
			else if (strcmp(key, "otherData") == 0)
				read_other(&j, t);
			else
				json_skip(&j);
		}
	if (t->tracks > 0)
		qsort(t->track, t->tracks, sizeof *t->track, by_track);
	for (*line = 1; text < j.at; text++)
		*line += *text == '\n';
	return j.wrong;
}

void trace_free(struct trace *t)
{
	free(t->slice);
	free(t->track);
}

const char *trace_track_name(const struct trace *t, unsigned process, double number)
{
	const struct track wanted = {.process = process, .number = number}, *found = NULL;

	if (t->tracks > 0)
		found = bsearch(&wanted, t->track, t->tracks, sizeof *t->track, by_track);
	return found != NULL ? found->name : "?";
}
