/* report.c - see report.h.  Fibers on several workers report at once, so a mutex keeps
 * messages whole and guards the status. */
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <ccc/ccc.h>

#include "progress.h"

static CCMutex mutex;
static unsigned errors, warnings;	/* mutex */
static bool quiet;			/* constant once files are treated */

void report_quiet(void)
{
	quiet = true;
}

static void print(const char *file, const char *format, va_list arguments)
{
	progress_hide();
	fprintf(stderr, "ccgz: %s: ", file);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

void report_error(const char *file, const char *format, ...)
{
	va_list arguments;

	cc_mutex_lock_anyway(&mutex);
	errors++;
	va_start(arguments, format);
	print(file, format, arguments);
	va_end(arguments);
	cc_mutex_unlock(&mutex);
}

void report_warning(const char *file, const char *format, ...)
{
	va_list arguments;

	cc_mutex_lock_anyway(&mutex);
	warnings++;
	va_start(arguments, format);
	if (!quiet)
		print(file, format, arguments);
	va_end(arguments);
	cc_mutex_unlock(&mutex);
}

int report_errno(const char *file, int error)
{
	char text[128];

	if (error != ECANCELED)
		report_error(file, "%s", strerror_r(error, text, sizeof text));
	return error;
}

enum status report_status(void)
{
	enum status status;

	cc_mutex_lock_anyway(&mutex);
	status = errors != 0 ? STATUS_ERROR : warnings != 0 ? STATUS_WARNING : STATUS_OK;
	cc_mutex_unlock(&mutex);
	return status;
}

unsigned report_errors(void)
{
	unsigned count;

	cc_mutex_lock_anyway(&mutex);
	count = errors;
	cc_mutex_unlock(&mutex);
	return count;
}
