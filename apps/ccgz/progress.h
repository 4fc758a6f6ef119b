/* progress.h - one line on the terminal that shows how far a file has come.
 *
 * It appears if standard error is a terminal and a file takes longer than a second, and it is
 * erased when the file is done.  Only the main thread begins, moves and ends it. */
#ifndef CCGZ_PROGRESS_H
#define CCGZ_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* `total` bytes of input are expected; 0: unknown. */
void progress_begin(const char *name, uint64_t total);
void progress_add(size_t bytes);
void progress_end(void);

/* Erases the line if there is one, before something else is printed.  Any thread: all that it
 * does is print. */
void progress_hide(void);

#endif
