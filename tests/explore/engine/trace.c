/* trace.c - the story of one execution, told when it is run again. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mc.h"

bool tracing;

void trace(const char *format, ...)
{
	va_list args;

	if (!tracing)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

void mc_note(const char *format, ...)
{
	char text[256];
	va_list args;

	if (!tracing)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	trace("  %s -- %s\n", thread_name(me), text);
}

void trace_op(const struct mc_site *site, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	trace("%4llu %*s%s %-60s %s\n", (unsigned long long)tick, me == MAIN ? 0 : 2 * me, "",
	      thread_name(me), text, site_place(site, &threads[me]));
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

const char *thread_name(int thread)
{
	static const char *const name[] = {"T0", "T1", "T2", "T3", "T4", "T5", "T6", "T7", "main"};

	return name[thread];
}

/* Small numbers as they are, others in hexadecimal. */
const char *number(uint64_t value)
{
	static char ring[4][24];
	static unsigned next;
	char *text = ring[next++ % 4];

	snprintf(text, sizeof ring[0], value < 100000 ? "%llu" : "%#llx",
	         (unsigned long long)value);
	return text;
}

/* A code address as file:line, by addr2line where there is one. */
static const char *code_place(uintptr_t pc)
{
	static char text[256];
	char command[128];
	FILE *f;

	snprintf(text, sizeof text, "%#lx", (unsigned long)pc);
	snprintf(command, sizeof command, "addr2line -s -e /proc/%d/exe %#lx 2>/dev/null",
	         (int)getpid(), (unsigned long)pc - 1);
	if (pc != 0 && (f = popen(command, "r")) != NULL) {
		char line[256];

		if (fgets(line, sizeof line, f) != NULL && line[0] != '?') {
			line[strcspn(line, " \n")] = '\0';
			snprintf(text, sizeof text, "%s", line);
		}
		pclose(f);
	}
	return text;
}

const char *site_place(const struct mc_site *site, const struct thread *t)
{
	static char text[256];

	if (site->line == 0)
		return code_place(t->pc);
	snprintf(text, sizeof text, "%s:%d", base_name(site->file), site->line);
	return text;
}

const char *where_text(uintptr_t where, unsigned kind)
{
	static char text[256];
	const struct mc_site *site = (const struct mc_site *)where;

	if (!(kind & ATOMIC))
		return code_place(where);
	snprintf(text, sizeof text, "%s (%s:%d)", site->text, base_name(site->file), site->line);
	return text;
}
