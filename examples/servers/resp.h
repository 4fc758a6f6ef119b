/* resp.h - commands of the Redis protocol: arrays of bulk strings, and lines of words. */
#ifndef RESP_H
#define RESP_H

#include <stddef.h>

/* A command with more arguments, a longer argument, a longer line or more bytes is refused. */
enum {
	RESP_ARGS = 128,
	RESP_ARG_MAX = 1024 * 1024,
	RESP_LINE_MAX = 4096,
	RESP_COMMAND_MAX = 4 * 1024 * 1024,
};

/* The arguments lie in the input that was parsed. */
struct resp_command {
	unsigned count;	/* 0: an empty line */
	struct resp_arg {
		const char *at;
		size_t size;
	} arg[RESP_ARGS];
};

enum { RESP_COMPLETE = 0, RESP_MORE = 1, RESP_WRONG = 2 };

/* Parses the command at the beginning of `size` bytes.  RESP_COMPLETE: *used bytes are the command.
 * RESP_MORE: its end is not there yet; it has at least *used bytes. */
int resp_parse(const char *data, size_t size, struct resp_command *c, size_t *used);

#endif
