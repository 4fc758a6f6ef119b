/* ccsum.h - what the files of ccsum share. */
#ifndef CCSUM_H
#define CCSUM_H

#include <stdbool.h>
#include <stddef.h>

enum { HEX = 64, BUFFER = 128 << 10 };

/* One file.  Whatever hashes it writes sum and error, and the main thread reads them then. */
struct entry {
	char *name;
	char expected[HEX + 1];	/* by the list that is checked */
	char sum[HEX + 1];
	int error;	/* why there is no sum; 0: there is */
	bool done;	/* guarded by the mutex of threads.c */
};

struct list {
	struct entry *entries;
	size_t count, room;
};

/* Adds a file; all files below a directory; the files of a list of sums, whose lines that are no
 * sums are counted and with `warn` reported.  list_sums returns 0, the error number of the
 * list, or ENOMSG if no line is a sum; then none is counted. */
void list_file(struct list *list, const char *path);
void list_tree(struct list *list, char *path);
int list_sums(struct list *list, const char *path, bool warn, unsigned long *malformed);
void list_free(struct list *list);

struct hasher;
struct hasher *hasher_new(void);	/* NULL: no memory */
void hasher_free(struct hasher *hasher);

/* Hashes a file.  Any thread; one file at a time with each hasher. */
void hash_entry(struct hasher *hasher, struct entry *entry);

/* Prints the sum, or whether it is as expected.  The main thread. */
void print_entry(const struct entry *entry);

/* Hashes and prints all files of a list with plain threads (threads.c), for comparison. */
int run_on_threads(struct list *list, unsigned processes);

#endif
