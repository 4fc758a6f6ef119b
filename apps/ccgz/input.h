/* input.h - the file that is read. */
#ifndef CCGZ_INPUT_H
#define CCGZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { INPUT_PEEK = 4096 };

struct input {
	int fd;
	const char *name;	/* for messages */
	struct stat stat;
	unsigned char ahead[INPUT_PEEK];	/* read, but not taken yet */
	size_t ahead_at, ahead_end;
};

/* Standard input. */
int input_open_stdin(struct input *input);

/* A file; a symbolic link is refused with ELOOP unless `follow`. */
int input_open(struct input *input, const char *path, bool follow);
void input_close(struct input *input);

/* Reads `size` bytes, fewer only at the end of the file, and stores how many in *length.
 * Reports an error and returns it.  In a fiber, other fibers run meanwhile. */
int input_read(struct input *input, void *data, size_t size, size_t *length);

/* Reads up to INPUT_PEEK bytes ahead: input->ahead from ahead_at to ahead_end are what the next
 * reads will return first.  Errors as input_read. */
int input_peek(struct input *input);

#endif
