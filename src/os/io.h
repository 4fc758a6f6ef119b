/* io.h - system calls on descriptors: each returns 0 or an error number, and repeats after EINTR.
 *
 * None waits: a descriptor without O_NONBLOCK may block the thread in cc__io_read, and in
 * cc__io_write unless it is a socket. */
#ifndef CC__OS_IO_H
#define CC__OS_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Bytes moved into *count, which is unchanged after an error. */
int cc__io_read(int fd, void *buffer, size_t size, size_t *count);
/* Without SIGPIPE if fd is a socket. */
int cc__io_write(int fd, const void *buffer, size_t size, size_t *count);

/* From and to a regular file's position.  EAGAIN: it would wait for a disk, or the file system cannot
 * tell. */
int cc__io_read_cached(int fd, void *buffer, size_t size, size_t *count);
int cc__io_write_cached(int fd, const void *buffer, size_t size, size_t *count);
/* With O_CLOEXEC. */
int cc__io_open(int *fd, const char *path, int flags, unsigned mode);
bool cc__io_is_regular(int fd);

/* The same for pieces, at most IOV_MAX. */
int cc__io_readv(int fd, const struct iovec *part, unsigned parts, size_t *count);
int cc__io_writev(int fd, const struct iovec *part, unsigned parts, size_t *count);
/* 0 bytes: the file ends at *offset.  Advances *offset.  No SIGPIPE; `blocked`: this thread blocks
 * that signal, so that nothing need be done about it. */
int cc__io_send_file(int fd, int file, int64_t *offset, size_t size, bool blocked, size_t *count);
/* Both false: nothing to do. */
int cc__io_shutdown(int fd, bool reading, bool writing);

/* *changed: the flag was not set. */
int cc__io_nonblock(int fd, bool *changed);
/* The descriptor is gone after any error but EBADF. */
int cc__io_close(int fd);

#endif
