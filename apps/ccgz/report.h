/* report.h - messages to the user, and the exit status that follows from them.
 *
 * The status is gzip's: 0 all is well, 1 at least one error, 2 at least one warning and no
 * error.  Each message names the file that it is about and the reason. */
#ifndef CCGZ_REPORT_H
#define CCGZ_REPORT_H

enum status { STATUS_OK, STATUS_ERROR, STATUS_WARNING };

/* Warnings are not printed from now on; they still count for the exit status. */
void report_quiet(void);

/* Prints "ccgz: FILE: MESSAGE".  Any fiber or thread. */
void report_error(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_warning(const char *file, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reports the text of an error number.  ECANCELED is not reported: it is the consequence of
 * another error, which has been.  Returns `error`. */
int report_errno(const char *file, int error);

enum status report_status(void);

/* How many errors have been reported. */
unsigned report_errors(void);

#endif
