/* where.h - an address of code, in words; an address of a stack. */
#ifndef CC__OS_WHERE_H
#define CC__OS_WHERE_H

#include <stdbool.h>
#include <stddef.h>

/* As the system knows it: "0x... (file+0x..., function+0x...)", the second for addr2line.
 * Cut off at `size`. */
void cc__where(const void *code, char *text, size_t size);

/* p lies on the calling thread's own stack, below the caller's frame: in one that has returned. */
bool cc__frame_returned(const void *p);

#endif
