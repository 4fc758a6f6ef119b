/* where.h - an address of code, in words. */
#ifndef CC__OS_WHERE_H
#define CC__OS_WHERE_H

#include <stddef.h>

/* As the system knows it: "0x... (file+0x..., function+0x...)", the second for addr2line.
 * Cut off at `size`. */
void cc__where(const void *code, char *text, size_t size);

#endif
