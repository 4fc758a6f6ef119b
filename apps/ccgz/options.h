/* options.h - what the command line asks for. */
#ifndef CCGZ_OPTIONS_H
#define CCGZ_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum action { ACTION_COMPRESS, ACTION_DECOMPRESS, ACTION_TEST, ACTION_LIST };

struct options {
	enum action action;
	int level;		/* 0 to 9 */
	unsigned processes;	/* blocks that are worked on at the same time */
	size_t block_size;	/* 0: the codec's */
	bool independent;	/* blocks do not refer to the one before */
	bool to_stdout, keep, force, recursive, quiet, verbose;
	int name;	/* 1: save or restore name and time */
	const char *suffix;
	const struct codec *codec;
	const struct engine *engine;
};

/* Reads the command line.  The names of files begin at argv[*first].  Prints help, version or
 * a message and exits if there is nothing else to do. */
void options_read(struct options *options, int argc, char **argv, int *first);

#endif
