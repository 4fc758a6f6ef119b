/* buffer.h - bytes that wait to be read or sent, in memory that exists only while there are some.
 *
 * BUFFER-1  begin <= end <= room.  The bytes from begin to end are held.
 * BUFFER-2  `at` is NULL exactly if room is 0. */
#ifndef CC__IO_BUFFER_H
#define CC__IO_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer starts with FIRST bytes.  After a read that filled it the next one is twice as large, up
 * to LARGEST, and after a read that used less than a quarter half as large. */
enum { CC__BUFFER_FIRST = 4096, CC__BUFFER_LARGEST = 64 * 1024 };

/* All fields belong to the reader of a stream, or to its writer. */
struct cc__buffer {
	char *at;
	size_t room, begin, end;
	size_t next;	/* room of the next memory; 0: CC__BUFFER_FIRST */
};

static inline size_t cc__buffer_held(const struct cc__buffer *b)
{
	return b->end - b->begin;
}

static inline const char *cc__buffer_first(const struct cc__buffer *b)
{
	return b->at + b->begin;
}

/* Makes room for `want` bytes in all, those that are held included.  False: no memory; what is held
 * stays. */
bool cc__buffer_reserve(struct cc__buffer *b, size_t want);

/* The reader has stored `count` bytes behind the held ones. */
void cc__buffer_filled(struct cc__buffer *b, size_t count);

/* The first `count` held bytes are not wanted any more. */
void cc__buffer_drop(struct cc__buffer *b, size_t count);

/* Gives the memory back if nothing is held. */
void cc__buffer_release(struct cc__buffer *b);

/* Gives the memory back, and what is held is lost. */
void cc__buffer_fini(struct cc__buffer *b);

#endif
