/* file.h - files that a fiber reads and writes without blocking its worker.
 *
 * Readiness says nothing about a disk.  A fiber first asks for what the system has in memory; what
 * it has not is read by a thread of cc_blocking.  Threads make the plain call. */
#ifndef CC__IO_FILE_H
#define CC__IO_FILE_H

#include <stddef.h>

/* `fd` is CC__FD_FILE.  As cc__io_read and cc__io_write, and the errors of cc_blocking. */
int cc__file_read(int fd, void *buffer, size_t size, size_t *count);
int cc__file_write(int fd, const void *buffer, size_t size, size_t *count);

#endif
