/* trace_text.h - text to a descriptor through a small buffer, in any context: no memory is
 * allocated, no lock is taken, errno is left alone, and a signal handler may use it. */
#ifndef CC__MONITOR_TRACE_TEXT_H
#define CC__MONITOR_TRACE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct cc__trace_text {
	int fd;
	int err;	/* the first error of a write; nothing is written after it */
	size_t used;
	char buffer[2048];
};

void cc__text_init(struct cc__trace_text *t, int fd);
void cc__text_add(struct cc__trace_text *t, const char *text);
/* At most n characters, up to a 0: what JSON would not have in a string becomes '?'. */
void cc__text_add_name(struct cc__trace_text *t, const char *name, size_t n);
void cc__text_add_number(struct cc__trace_text *t, uint64_t n);
void cc__text_add_hex(struct cc__trace_text *t, uint64_t n);
/* Nanoseconds, as microseconds with three decimals. */
void cc__text_add_time(struct cc__trace_text *t, uint64_t ns);
/* Writes what is in the buffer.  Returns 0 or the error. */
int cc__text_end(struct cc__trace_text *t);

#endif
