/* chan_lines.h - what child processes print with the debug switches of channels, line by line.  The
 * switches are read once, so each run is a process of its own. */
#ifndef TEST_CHAN_LINES_H
#define TEST_CHAN_LINES_H

#include "environment.h"
#include "test.h"

#include <ccc/ccc.h>

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>

/* In the child: what is not so ends it with a status that the parent checks. */
#define MUST(x) \
	do { \
		if (!(x)) { \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			_exit(9); \
		} \
	} while (0)

/* A channel for numbers. */
static inline CCChan *chan_named(const char *name, size_t capacity)
{
	const CCChanOptions o = {.name = name};
	CCChan *c = NULL;

	MUST(cc_chan_create(&c, sizeof(int), capacity, &o) == 0);
	return c;
}

/* Tasks: one send, one receive. */
static inline int send_one(void *c)
{
	const int v = 1;

	return cc_chan_send(c, &v, sizeof v);
}

static inline int recv_one(void *c)
{
	int v;

	return cc_chan_recv(c, &v, sizeof v);
}

/* One line for the parent: the id of a task under a name. */
static inline void tell_id(const char *name, uint64_t id)
{
	char line[64];

	snprintf(line, sizeof line, "id %s %llu\n", name, (unsigned long long)id);
	MUST(write(STDERR_FILENO, line, strlen(line)) == (ssize_t)strlen(line));
}

static struct test_death death;

/* What fn(arg) writes to standard error in a child, which has to end well. */
static inline const char *printed(void (*fn)(void *), void *arg)
{
	CHECK_EQ(test_dies(fn, arg, &death), 0);
	if (!CHECK_EQ(death.status, 0))
		printf("%s", death.text);
	return death.text;
}

static inline unsigned id_of(const char *text, const char *name)
{
	char key[32];
	const char *at;

	snprintf(key, sizeof key, "id %s ", name);
	return (at = strstr(text, key)) != NULL ? (unsigned)strtoul(at + strlen(key), NULL, 10) : 0;
}

/* The line at *text without its end, into `line`; *text is the next one then.  False: none. */
static inline bool next_line(const char **text, char *line, size_t size)
{
	const char *end = strchr(*text, '\n');

	if (end == NULL)
		return false;
	snprintf(line, size, "%.*s", (int)(end - *text), *text);
	*text = end + 1;
	return true;
}

/* Lines that match the glob, whole and behind "libccc: chan: "; *first is the number of the first
 * one. */
static inline unsigned match_lines(const char *text, const char *glob, int *first)
{
	static const char prefix[] = "libccc: chan: ";
	unsigned n = 0;
	char line[512];

	for (int i = 0; next_line(&text, line, sizeof line); i++)
		if (strncmp(line, prefix, strlen(prefix)) == 0 &&
		    fnmatch(glob, line + strlen(prefix), 0) == 0 && n++ == 0)
			*first = i;
	return n;
}

/* How many lines have that form, which may have `*` for an address. */
__attribute__((format(printf, 2, 3))) static inline unsigned lines(const char *text,
                                                                   const char *format, ...)
{
	char glob[256];
	va_list args;
	int first = -1;

	va_start(args, format);
	vsnprintf(glob, sizeof glob, format, args);
	va_end(args);
	return match_lines(text, glob, &first);
}

/* Checks that there is one line of that form and that it stands after line *after, which becomes
 * its number. */
__attribute__((format(printf, 3, 4))) static inline void check_next(const char *text, int *after,
                                                                    const char *format, ...)
{
	char glob[256];
	va_list args;
	int first = -1;

	va_start(args, format);
	vsnprintf(glob, sizeof glob, format, args);
	va_end(args);
	if (!CHECK_EQ(match_lines(text, glob, &first), 1) || !CHECK(first > *after))
		printf("\tnot there, or not after line %d: '%s' in:\n%s", *after, glob, text);
	*after = first;
}

#endif
