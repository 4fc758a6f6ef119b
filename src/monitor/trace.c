/* trace.c - the recorder on and off, by the program and by the environment; what is written when
 * the process exits, or dies of a fault or of a broken invariant. */
#include "monitor/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/assert.h"
#include "base/lock.h"
#include "os/trace.h"
#include "monitor/trace_record.h"
#include "monitor/trace_rings.h"
#include "monitor/trace_text.h"
#include "monitor/trace_write.h"
#include "os/fault.h"
#include "os/fork.h"

/* What the first runtime found in the environment.  Written under the lock, constant after that. */
static struct {
	struct cc__lock lock;
	bool begun;
	uint64_t events;
	char path[PATH_MAX];	/* absolute; empty: no file */
} settings;

/* ---- the file ---- */

/* The path of the file, with %p replaced by the number of the process, from the directory that
 * the process is in now.  False: it is too long. */
static bool set_path(const char *file)
{
	char *path = settings.path, *end = path + sizeof settings.path - 24;

	if (*file != '/' && getcwd(path, sizeof settings.path - 24) != NULL) {
		path += strlen(path);
		*path++ = '/';
	}
	for (; *file != '\0' && path < end; file++)
		if (file[0] == '%' && file[1] == 'p') {
			char digits[20];
			int n = 0;

			for (long id = getpid(); id > 0; id /= 10)
				digits[n++] = (char)('0' + id % 10);
			while (n > 0)
				*path++ = digits[--n];
			file++;
		} else {
			*path++ = *file;
		}
	*path = '\0';
	return *file == '\0';
}

static int open_file(void)
{
	return open(settings.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

/* Any context: a fault's handler, too. */
static void write_file(void)
{
	const int before = errno;
	int fd, err;

	if (settings.path[0] == '\0' || cc__forked())
		return;
	if ((fd = open_file()) < 0) {
		err = errno;
	} else {
		err = cc__trace_write(fd);
		close(fd);
	}
	if (err != 0)
		cc__say("libccc: CC_TRACE: the trace cannot be written to '", settings.path, "'\n");
	errno = before;
}

/* ---- the end ---- */

/* The process dies of a fault, or of a broken invariant of the library. */
static void write_last(void)
{
	if (cc__trace_rings() == NULL)
		return;
	cc__trace_dump_last(STDERR_FILENO);
	write_file();
}

static void write_at_exit(void)
{
	cc__watch_not(CC__WATCH_RECORD); /* what follows is the end of the process, no more */
	write_file();
}

/* ---- the switch ---- */

static void switch_on(uint64_t events)
{
	cc__trace_rings_size(events != 0 ? events : CC__TRACE_EVENTS);
	cc__watch_record(cc__trace_record, CC__TRACE_WANTED);
	cc__fault_also(write_last);
	if (cc__panic_hook == NULL)
		cc__panic_hook = write_last;
	cc__watch_also(CC__WATCH_RECORD);
}

/* Under the lock.  The file is made at once, so that a wrong path is told at once. */
static int begin_file(const struct cc__trace_settings *s)
{
	int fd = -1;

	if (!set_path(s->file) || (fd = open_file()) < 0) {
		cc__say("libccc: CC_TRACE='", s->file, "' is not a file that can be written\n");
		settings.path[0] = '\0';
		return EINVAL;
	}
	close(fd);
	if (atexit(write_at_exit) != 0)
		return ENOMEM;
	switch_on(s->events);
	return 0;
}

int cc__trace_begin(const struct cc__trace_settings *s)
{
	int err = 0;

	cc__lock(&settings.lock, CC__RANK_POOL);
	if (!settings.begun) {
		settings.events = s->events;
		cc__watch_record(cc__trace_record, CC__TRACE_WANTED);	/* for probes that are armed */
		err = s->file != NULL && *s->file != '\0' ? begin_file(s) : 0;
		settings.begun = err == 0;
	}
	cc__unlock(&settings.lock);
	return err;
}

int cc_trace_start(size_t events)
{
	uint64_t wanted = events;

	if (cc__forked())
		return ENOTSUP;
	if (events > CC__TRACE_EVENTS_MOST)
		return EINVAL;
	if (wanted == 0) {
		cc__lock(&settings.lock, CC__RANK_POOL);
		wanted = settings.events;
		cc__unlock(&settings.lock);
	}
	switch_on(wanted);
	return 0;
}

void cc_trace_stop(void)
{
	cc__watch_not(CC__WATCH_RECORD);
}

int cc_trace_write(int fd)
{
	return cc__trace_write(fd);
}

void cc_trace_last(int fd)
{
	cc__trace_dump_last(fd);
}
