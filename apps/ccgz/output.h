/* output.h - the file that is written: all of it, or nothing.
 *
 * A file is written under a temporary name in its own directory and gets its name when it is
 * complete.  If ccgz fails or is ended by a signal, the temporary file is removed.  One output is
 * open at a time, by the main thread. */
#ifndef CCGZ_OUTPUT_H
#define CCGZ_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct output {
	int fd;			/* -1: what is written is only counted */
	const char *name;	/* for messages */
	uint64_t written;
};

/* Installs the signal handlers that remove the temporary file. */
void output_init(void);

/* Begins a file, or standard output, or an output that only counts. */
int output_open(struct output *output, const char *path);
void output_open_stdout(struct output *output);
void output_open_none(struct output *output);

/* Writes all of it.  Reports an error and returns it. */
int output_write(struct output *output, const void *data, size_t length);

/* Completes the file: owner, mode and times are those of `like`, or `time` if it is not 0.  An
 * existing file is replaced only if `force`; EEXIST else.  Reports an error, removes the file
 * and returns the error.  For another output it does nothing. */
int output_commit(struct output *output, const struct stat *like, uint32_t time, bool force);

/* Removes what was written of a file. */
void output_discard(struct output *output);

#endif
