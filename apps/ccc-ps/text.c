/* text.c - fibers and waits in words. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "view.h"

enum { INSIDE_MOST = 8 };	/* frames of the library in a wait */

/* After "waits". */
static const char *const waits[WAIT_KINDS] = {
    [WAIT_NONE] = "",
    [WAIT_RECV] = "to receive from channel",
    [WAIT_SEND] = "to send to channel",
    [WAIT_SELECT] = "in a select",
    [WAIT_TASK] = "for the end of task",
    [WAIT_NURSERY] = "for the children of nursery",
    [WAIT_MUTEX] = "for mutex",
    [WAIT_RWLOCK] = "for rwlock",
    [WAIT_COND] = "for condition",
    [WAIT_SEMAPHORE] = "for semaphore",
    [WAIT_ONCE] = "for once",
    [WAIT_BARRIER] = "at barrier",
    [WAIT_WAIT_GROUP] = "for wait group",
    [WAIT_TOKEN] = "for token",
    [WAIT_PARK_WORD] = "on word",
    [WAIT_SLEEP] = "",
    [WAIT_FD] = "for a descriptor",
    [WAIT_BLOCKING] = "for a blocking call",
    [WAIT_OTHER] = "for something",
};

static size_t printable(const char *name, char *text, size_t size)
{
	size_t n = 0;

	for (; *name != '\0' && n + 1 < size; name++)
		text[n++] = isprint((unsigned char)*name) ? *name : '?';
	text[n] = '\0';
	return n;
}

void text_place(const struct view *v, uint64_t place, char *name, size_t name_size, char *line,
                size_t line_size)
{
	char text[256], *space;

	snprintf(name, name_size, "%s", "");
	snprintf(line, line_size, "%s", "");
	if (place == 0 || place == UINT64_MAX)
		return;
	if (place >> 63 == 0) {	/* a return address */
		if (v->symbols != NULL)
			snprintf(line, line_size, "%s", symbols_name(v->symbols, place, true));
		return;
	}
	memory_get(v->m, ~place, text, sizeof text - 1);	/* "NAME FILE:LINE" */
	text[sizeof text - 1] = '\0';
	if ((space = strchr(text, ' ')) == NULL)
		return;
	*space = '\0';
	printable(text, name, name_size < NAME - 1 ? name_size : NAME - 1);	/* cut as in dumps */
	printable(space + 1, line, line_size);
}

void text_name(const struct view *v, const struct fiber *f, char *text, size_t size)
{
	char name[64], line[8];

	if (f->name[0] != '\0')
		printable(f->name, name, sizeof name);
	else
		text_place(v, f->id != 0 ? f->place : 0, name, sizeof name, line, sizeof line);
	snprintf(text, size, *name != '\0' ? "'%s'" : "%s", name);
}

void text_time(int64_t span, char *text, size_t size)
{
	const double s = (double)span / 1e9;

	if (span < 0)
		snprintf(text, size, "%.1f s ago", -s);
	else if (s < 600)
		snprintf(text, size, "%.1f s", s);
	else if (s < 36000)
		snprintf(text, size, "%.0f min", s / 60);
	else
		snprintf(text, size, "%.1f h", s / 3600);
}

void text_wait(const struct view *v, const struct fiber *f, char *text, size_t size)
{
	const struct channel *c = NULL;
	char when[32], chan[40] = "", line[200] = "", name[64] = "";
	size_t n;

	snprintf(text, size, "%s", waits[f->wait]);
	if (f->wait == WAIT_NONE && f->state == STATE_QUEUED && f->deadline != NEVER)
		snprintf(text, size, "to begin");
	if (f->wait == WAIT_RECV || f->wait == WAIT_SEND)
		c = snapshot_channel(v->s, f->object);
	if (c != NULL) {
		text_place(v, c->place, chan, sizeof chan, line, sizeof line);
		if (c->name[0] != '\0')
			printable(c->name, chan, sizeof chan);
		if (chan[0] != '\0')
			snprintf(name, sizeof name, " '%s'", chan);
	}
	n = strlen(text);
	if (f->wait == WAIT_TASK)
		snprintf(text + n, size - n, " %" PRIu64, f->task);
	else if (f->object != 0)
		snprintf(text + n, size - n, " 0x%" PRIx64 "%s", f->object, name);
	n = strlen(text);
	if (line[0] != '\0')
		snprintf(text + n, size - n, ", created at %s", line);
	n = strlen(text);
	if (f->deadline != NEVER && (f->wait != WAIT_NONE || f->state == STATE_QUEUED)) {
		text_time(f->deadline - v->s->now, when, sizeof when);
		snprintf(text + n, size - n, "%suntil %s%s", n > 0 ? ", " : "", when,
		         f->deadline < v->s->now ? "" : " from now");
	}
}

const char *text_function(const struct view *v, const struct fiber *f)
{
	if (f->function == 0)
		return "";
	return v->symbols != NULL ? symbols_name(v->symbols, f->function, false) : "";
}

const char *text_state(const struct fiber *f)
{
	return state_names[f->state];
}

const char *colour_of(const struct view *v, const struct fiber *f)
{
	if (!v->colour)
		return "";
	switch (f->state) {
	case STATE_RUNNING:
		return "\033[32m";
	case STATE_QUEUED:
		return "\033[36m";
	case STATE_DONE:
		return "\033[2m";
	default:
		return f->since != NO_TIME && f->deadline == NEVER && v->s->now - f->since > 10000000000
		           ? "\033[33m"
		           : "";
	}
}

const char *colour_off(const struct view *v)
{
	return v->colour ? "\033[0m" : "";
}

/* ---- stacks ---- */

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static bool is_public(const char *name)
{
	return begins(name, "cc_") && !begins(name, "cc__");
}

static bool is_outermost(const char *name)
{
	return begins(name, "cc__context_base") || begins(name, "fiber_main ") ||
	       begins(name, "run_child ") || begins(name, "run_daemon ") || begins(name, "run ") ||
	       strcmp(name, "fiber_main") == 0 || strcmp(name, "run_child") == 0 ||
	       strcmp(name, "run_daemon") == 0 || strcmp(name, "run") == 0;
}

void text_frames(const struct view *v, const uint64_t *pc, unsigned frames, unsigned *from, unsigned *to)
{
	*from = 0;
	*to = frames;
	if (v->full || v->symbols == NULL)
		return;
	/* The call that the program has made comes after the library's own, perhaps behind one that has
	 * a name of its file. */
	for (unsigned i = 0; i + 1 < frames && i < INSIDE_MOST; i++)
		if (begins(symbols_name(v->symbols, pc[i], true), "cc__"))
			*from = i + 1;
	if (*from + 1 < frames && !is_public(symbols_name(v->symbols, pc[*from], true)) &&
	    is_public(symbols_name(v->symbols, pc[*from + 1], true)))
		++*from;
	/* Only from a fiber's own base: a task that runs in place has one, too. */
	if (frames > 0 && begins(symbols_name(v->symbols, pc[frames - 1], true), "cc__context_base"))
		while (*to > *from + 1 && is_outermost(symbols_name(v->symbols, pc[*to - 1], true)))
			--*to;
}
