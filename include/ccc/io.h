/* io.h - read and write descriptors with a deadline.
 *
 * The calls work on descriptors of the program: sockets, pipes, terminals, files.  Each call tries
 * the system call first and waits only if that would block, so a call that need not wait succeeds
 * even if its deadline has passed or the caller is cancelled.  Set O_NONBLOCK (cc_fd_nonblock):
 * without it the system call itself blocks the thread, and neither deadline nor cancellation ends
 * it.  A regular file is always ready, so a read of it blocks the thread for as long as the disk
 * takes.  For files that cc_fd_open has opened, cc_fd_read, cc_fd_read_all and cc_fd_write_all by
 * a fiber take what the system has in memory at once, and have the rest made by a thread of
 * cc_blocking, so the worker goes on; such a read is not ended by a deadline once it has begun.
 *
 * Any number of fibers and threads may use one descriptor.  Bytes of concurrent writes may mix,
 * because cc_fd_write_all may need several system calls.
 *
 * Errors are returned.  errno means nothing after these calls.
 *
 *	char text[512];
 *	size_t n;
 *	int err;
 *
 *	while ((err = cc_fd_read(fd, text, sizeof text, &n, cc_after(30 * CC_SEC))) == 0 &&
 *	       (err = cc_fd_write_all(fd, text, n, NULL, cc_after(5 * CC_SEC))) == 0)
 *		continue;
 *	cc_fd_close(fd); */
#ifndef CCC_IO_H
#define CCC_IO_H

#include <ccc/base.h>
#include <ccc/fd.h>

#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets O_NONBLOCK for the file that `fd` refers to.  Every duplicate of the descriptor has the
 * flag too, also in other processes: the terminal of a shell, for example.
 *
 * Returns 0, or
 *   EBADF   `fd` is not an open descriptor
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_fd_nonblock(int fd);

/* Opens the file at `path`, as open(2) does with `flags`, O_CLOEXEC and O_NONBLOCK, and stores the
 * descriptor in *fd: for the calls of this header, and to be closed with cc_fd_close.  `mode` is
 * the permissions of a file that O_CREAT makes.  If the caller is a fiber, a thread of cc_blocking
 * makes the call, because a path may lie on a slow file system.
 *
 * Returns 0, or
 *   EINVAL      `fd` or `path` is NULL, or `flags` are wrong
 *   ENOENT, EACCES, EISDIR, EEXIST   of open(2)
 *   EMFILE, ENFILE, ENOMEM   no descriptor or memory is left
 *   ECANCELED   the caller was cancelled while it waited for a thread
 *   ETIMEDOUT   the deadline of a nursery passed while the caller waited for a thread
 *   ENOTSUP     in a child of fork (runtime.h)
 *   (other)     of open(2)
 * After an error there is no descriptor and *fd is unchanged.
 *
 * Any thread.  May park.  Cancellation point while it waits for a thread. */
CC_API CC_MUST_CHECK int cc_fd_open(int *fd, const char *path, int flags, unsigned mode);

/* Reads at least one byte and at most `size` bytes into `buffer`, waiting until `deadline` if
 * there is none.  Stores the number of bytes in *count, unless `count` is NULL.
 *
 * Returns 0, or
 *   EPIPE       the end: of the file, or of what the peer sends
 *   ETIMEDOUT   the deadline passed, of the call or of a nursery; EAGAIN if it was CC_NOW
 *   ECANCELED   a nursery around the caller was cancelled, or the caller's runtime is ending
 *   EBADF       `fd` is not open for reading, or cc_fd_close closed it during the call
 *   ENOTSUP     the call would have to wait, in a child of fork (runtime.h)
 *   (other)     of read(2), as ECONNRESET, and of cc_wait_fd, as ENOMEM
 * After an error *count is 0.  A `size` of 0 returns 0 at once.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_fd_read(int fd, void *buffer, size_t size, size_t *count,
                                    cc_time deadline);

/* Reads exactly `size` bytes into `buffer`, waiting until `deadline` for all of them.  Stores the
 * number of bytes in *count, unless `count` is NULL.
 *
 * Returns 0, or an error of cc_fd_read; EPIPE if the end comes before `size` bytes.
 * After an error the first *count bytes of `buffer` have been read.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_fd_read_all(int fd, void *buffer, size_t size, size_t *count,
                                        cc_time deadline);

/* Writes all `size` bytes of `buffer`, waiting until `deadline` for room.  Stores the number of
 * bytes in *count, unless `count` is NULL.
 *
 * A write to a socket raises no SIGPIPE.  A write to a pipe without a reader raises it in the
 * calling thread: threads of a runtime block the signal (docs/signals.md), and a program that
 * writes to pipes in its own threads ignores it.
 *
 * Returns 0, or
 *   EPIPE       the peer has closed, or no process reads the pipe
 *   ETIMEDOUT   the deadline passed, of the call or of a nursery; EAGAIN if it was CC_NOW
 *   ECANCELED   a nursery around the caller was cancelled, or the caller's runtime is ending
 *   EBADF       `fd` is not open for writing, or cc_fd_close closed it during the call
 *   ENOTSUP     the call would have to wait, in a child of fork (runtime.h)
 *   (other)     of write(2) and send(2), as ECONNRESET or ENOSPC, and of cc_wait_fd, as ENOMEM
 * After an error the first *count bytes of `buffer` have been written.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_fd_write_all(int fd, const void *buffer, size_t size, size_t *count,
                                         cc_time deadline);

/* Reads at least one byte into the `parts` pieces of memory that `part` lists, filling one after
 * another, and waits until `deadline` if there is none.  Stores the number of bytes in *count,
 * unless `count` is NULL.
 *
 * Returns 0, or an error of cc_fd_read; EINVAL if `parts` is above IOV_MAX (1,024).
 * After an error *count is 0.  Pieces that are empty in all return 0 at once.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_fd_readv(int fd, const struct iovec *part, unsigned parts,
                                     size_t *count, cc_time deadline);

/* Writes all bytes of the `parts` pieces of memory that `part` lists, in order, waiting until
 * `deadline` for room.  Stores the number of bytes in *count, unless `count` is NULL.  SIGPIPE: as
 * for cc_fd_write_all.
 *
 * Returns 0, or an error of cc_fd_write_all.
 * After an error the first *count bytes of the pieces have been written.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_fd_writev_all(int fd, const struct iovec *part, unsigned parts,
                                          size_t *count, cc_time deadline);

/* Sends `size` bytes of the regular file `file`, from `offset` on, to `fd`, waiting until `deadline`
 * for room: sendfile(2), without a copy through the program.  The position of `file` is neither
 * used nor changed, so many callers may send one file.  Stores the number of bytes in *count,
 * unless `count` is NULL.  No SIGPIPE is raised.
 *
 * A part of the file that is not in memory is read from the disk meanwhile, which keeps the thread.
 *
 * Returns 0, or
 *   EPIPE       the peer has closed
 *   ENODATA     the file ends before `size` bytes
 *   ETIMEDOUT   the deadline passed, of the call or of a nursery; EAGAIN if it was CC_NOW
 *   ECANCELED   a nursery around the caller was cancelled, or the caller's runtime is ending
 *   EBADF       `fd` is not open for writing, cc_fd_close closed it during the call, or `file` is
 *               not open for reading
 *   ESPIPE      `file` is a pipe or a socket
 *   EINVAL      `file` cannot be sent from, or `offset` is negative
 *   ENOTSUP     the call would have to wait, in a child of fork (runtime.h)
 *   (other)     of sendfile(2), as ECONNRESET or EIO, and of cc_wait_fd, as ENOMEM
 * After an error the first *count bytes have been sent.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_fd_send_file(int fd, int file, int64_t offset, size_t size,
                                         size_t *count, cc_time deadline);

/* Ends one direction of the connected socket `fd`, or both: CC_FD_WRITE, so that the peer reads the
 * end after what was sent, CC_FD_READ, so that reads return EPIPE once what has arrived is read.
 * The descriptor stays open.
 *
 * Returns 0, or
 *   EINVAL              `directions` is 0 or has unknown bits
 *   EBADF, ENOTSOCK     `fd` is not a socket
 *   ENOTCONN            the socket is not connected, or the peer has reset it
 *
 * Any thread.  Never parks. */
CC_API int cc_fd_shutdown(int fd, unsigned directions);

#ifdef __cplusplus
}
#endif
#endif
