/* peek.h - reads memory of this process that may be gone. */
#ifndef CC__OS_PEEK_H
#define CC__OS_PEEK_H

#include <stdbool.h>
#include <stddef.h>

/* Copies `size` bytes.  False: some of them are not mapped, or the system refuses; `to` is undefined.
 * They may change meanwhile. */
bool cc__copy_if_mapped(void *to, const void *from, size_t size);

#endif
