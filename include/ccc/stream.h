/* stream.h - buffered reading and writing, over a descriptor or in memory.
 *
 * A stream reads from its backend in large pieces and hands out lines, fixed sizes or whatever is
 * there; it collects small writes until cc_stream_flush.  The backend is a small table of
 * functions (CCStreamBackend): a descriptor (cc_stream_open), a pipe in memory (cc_stream_pair),
 * or the program's own, as a TLS session.  Code for a protocol is written once and tested without
 * a network.
 *
 * One fiber or thread at a time reads from a stream, and one at a time writes to it; the two may
 * be different.  Buffers exist only while they hold bytes: a stream that waits for input without
 * unread bytes has no buffer, and neither has one whose output is flushed.
 *
 * An operation that need not wait succeeds even if its deadline has passed or the caller is
 * cancelled.  Nothing is lost by an error: input that a failed call has not handed out, and output
 * that it has not sent, are still in the stream.  Errors are returned; errno means nothing after
 * these calls.
 *
 *      char line[256];
 *
 *      while (cc_stream_read_line(s, line, sizeof line, NULL, cc_after(30 * CC_SEC)) == 0) {
 *              cc_try(cc_stream_write(s, line, strlen(line), NULL, cc_after(5 * CC_SEC)));
 *              cc_try(cc_stream_write(s, "\n", 1, NULL, cc_after(5 * CC_SEC)));
 *              cc_try(cc_stream_flush(s, cc_after(5 * CC_SEC)));
 *      } */
#ifndef CCC_STREAM_H
#define CCC_STREAM_H

#include <ccc/base.h>
#include <ccc/fd.h>
#include <ccc/net.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CCStream CCStream;

/* What a stream stands on.  `object` is the argument of cc_stream_new.  The functions return 0 or
 * an error number, which the calls of the stream pass on.  At most one read and one write are
 * called at a time. */
typedef struct CCStreamBackend {
	/* Reads 1 to `size` bytes into `buffer` without waiting; their number into *count.
	 * EAGAIN: there are none yet.  EPIPE: the end. */
	int (*read)(void *object, void *buffer, size_t size, size_t *count);
	/* Writes 1 to `size` bytes without waiting; their number into *count.  EAGAIN: there is
	 * no room yet.  EPIPE: the peer does not read any more. */
	int (*write)(void *object, const void *buffer, size_t size, size_t *count);
	/* Waits until the operation that returned EAGAIN should be tried again: a read
	 * (CC_FD_READ) or a write (CC_FD_WRITE), at most until `deadline`, which is not CC_NOW.
	 * May return 0 spuriously.  Must end by cancellation, as the calls of this library do. */
	int (*wait)(void *object, unsigned event, cc_time deadline);
	/* Ends what is written: the peer reads the end.  NULL: the backend has no such thing. */
	int (*shutdown)(void *object);
	/* Releases the object.  Called once, last. */
	int (*close)(void *object);
} CCStreamBackend;

/* ---- making and closing ---- */

/* Opens a stream over the descriptor `fd` and stores it in *stream.  The descriptor belongs to the
 * stream, which closes it, and gets O_NONBLOCK (cc_fd_nonblock).
 *
 * Returns 0, or
 *   EINVAL   `stream` is NULL
 *   EBADF    `fd` is not an open descriptor
 *   ENOMEM   no memory
 * After an error `fd` still belongs to the caller.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_stream_open(CCStream **stream, int fd);

/* Connects to `address` as cc_net_dial does, and opens a stream over the socket.  `options` may be
 * NULL.
 *
 *      cc_try(cc_stream_dial(&s, "localhost:7", NULL, cc_after(5 * CC_SEC)));
 *
 * Returns 0, or the errors of cc_net_dial and cc_stream_open.
 * After an error there is neither a stream nor a socket.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_stream_dial(CCStream **stream, const char *address,
                                        const CCNetOptions *options, cc_time deadline);

/* Makes two streams that are connected in memory and stores them in ends[0] and ends[1]: what is
 * written to one is read from the other.  `size` bytes in each direction are stored before a writer
 * has to wait; 0 means 4,096.
 *
 * Returns 0, or
 *   EINVAL   `ends` is NULL
 *   ENOMEM   no memory
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_stream_pair(CCStream *ends[2], size_t size);

/* Makes a stream over a backend of the program and stores it in *stream.  `backend` must outlive
 * the stream.
 *
 * Returns 0, or
 *   EINVAL   an argument is NULL, or a function of the backend other than `shutdown` is NULL
 *   ENOMEM   no memory
 * After an error `object` still belongs to the caller.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_stream_new(CCStream **stream, const CCStreamBackend *backend,
                                       void *object);

/* Limits every single wait of the stream to `span` nanoseconds, beside the deadline of the call: a
 * peer that neither sends nor takes a byte for so long ends the call with ETIMEDOUT.  0, the
 * initial value, and CC_FOREVER mean no limit.
 *
 * Any thread that no call on the stream runs beside.  Never parks. */
CC_API void cc_stream_idle_limit(CCStream *stream, cc_time span);

/* Returns the descriptor of a stream of cc_stream_open, or -1.  It still belongs to the stream.
 * Flush before using it for output, because the stream's buffer would be overtaken.
 *
 * Any thread.  Never parks. */
CC_API int cc_stream_fd(const CCStream *stream);

/* Flushes the stream, waiting until `deadline`, then closes and frees it in any case.
 *
 * Returns 0, or
 *   (error)   of cc_stream_flush: some output is lost; or of the backend, as EIO
 *
 * The caller, after all other calls on the stream.  May park.  Cancellation point, but the stream
 * is closed in any case. */
CC_API int cc_stream_close(CCStream *stream, cc_time deadline);

/* ---- reading ---- */

/* Reads at least one byte and at most `size` bytes into `buffer`, waiting until `deadline` if there
 * is none.  Stores their number in *count, unless `count` is NULL.
 *
 * Returns 0, or
 *   EPIPE       the end of what the peer sends
 *   ETIMEDOUT   the deadline passed, of the call or of a nursery, or the idle limit was reached;
 *               EAGAIN if the deadline was CC_NOW
 *   ECANCELED   a nursery around the caller was cancelled, or the caller's runtime is ending
 *   ENOMEM      no memory for a buffer
 *   (other)     of the backend: for a descriptor those of cc_fd_read
 * After an error *count is 0.  A `size` of 0 returns 0 at once.
 *
 * One reader at a time.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_stream_read(CCStream *stream, void *buffer, size_t size, size_t *count,
                                        cc_time deadline);

/* Reads exactly `size` bytes into `buffer`, waiting until `deadline` for all of them.  Stores the
 * number of bytes in *count, unless `count` is NULL.
 *
 * Returns 0, or an error of cc_stream_read; EPIPE if the end comes before `size` bytes.
 * After an error the first *count bytes of `buffer` have been read.
 *
 * One reader at a time.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_stream_read_all(CCStream *stream, void *buffer, size_t size,
                                            size_t *count, cc_time deadline);

/* Reads up to and including the byte `delimiter` into `buffer`, waiting until `deadline` for it.
 * Stores the number of bytes in *count, unless `count` is NULL.
 *
 * Returns 0, or
 *   EMSGSIZE   the first `size` bytes have no delimiter among them
 *   EPIPE      the end comes before the delimiter
 *   (other)    the errors of cc_stream_read
 * After an error nothing was read: the bytes are still in the stream, and *count is 0.
 *
 * One reader at a time.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_stream_read_until(CCStream *stream, char delimiter, void *buffer,
                                              size_t size, size_t *count, cc_time deadline);

/* Reads a line into `text`, of `size` bytes, without its line feed (and the carriage return before
 * that) and with a final 0, waiting until `deadline` for all of it.  Stores the length in *count,
 * unless `count` is NULL.
 *
 * Returns 0, or
 *   EMSGSIZE   the line has more than `size` - 1 characters
 *   EPIPE      the end comes before a line feed
 *   EINVAL     `size` is 0
 *   (other)    the errors of cc_stream_read
 * After an error nothing was read: the bytes are still in the stream, and *count is 0.
 *
 * One reader at a time.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_stream_read_line(CCStream *stream, char *text, size_t size,
                                             size_t *count, cc_time deadline);

/* Waits until `deadline` for at least `size` unread bytes, and stores the address of all unread
 * bytes in *data and their number in *count.  Nothing is read: cc_stream_consume does that.  With a
 * `size` of 0 the call shows what is in the buffer and asks the backend for nothing.
 *
 * A parser asks for one byte more than it has seen until it has enough:
 *
 *      while ((used = parse(data, count)) == 0)
 *              cc_try(cc_stream_peek(s, count + 1, &data, &count, deadline));
 *      cc_stream_consume(s, used);
 *
 * Returns 0, or an error of cc_stream_read.
 * After an error *data and *count show the unread bytes, fewer than `size`.  *data is valid until
 * the next call that reads from the stream.
 *
 * One reader at a time.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_stream_peek(CCStream *stream, size_t size, const char **data,
                                        size_t *count, cc_time deadline);

/* Discards the first `size` unread bytes of those that cc_stream_peek has shown.
 *
 * Returns 0, or
 *   EINVAL   there are fewer; nothing was discarded
 *
 * One reader at a time.  Never parks. */
CC_API int cc_stream_consume(CCStream *stream, size_t size);

/* ---- writing ---- */

/* Writes `size` bytes, which are sent with later ones when the buffer is full or at the next
 * cc_stream_flush, waiting until `deadline` for room.  Stores the number of accepted bytes in
 * *count, unless `count` is NULL.
 *
 * Returns 0, or
 *   EPIPE       the peer does not read any more
 *   ETIMEDOUT   the deadline passed, of the call or of a nursery, or the idle limit was reached;
 *               EAGAIN if the deadline was CC_NOW
 *   ECANCELED   a nursery around the caller was cancelled, or the caller's runtime is ending
 *   ENOMEM      no memory for a buffer
 *   (other)     of the backend: for a descriptor those of cc_fd_write_all
 * After an error the first *count bytes of `buffer` have been accepted.
 *
 * One writer at a time.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_stream_write(CCStream *stream, const void *buffer, size_t size,
                                         size_t *count, cc_time deadline);

/* Writes the text that printf(3) makes of `format`, as cc_stream_write does.
 *
 * Returns 0, or an error of cc_stream_write; EINVAL if printf refuses the format.
 * After an error a part of the text may have been accepted.
 *
 * One writer at a time.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_stream_print(CCStream *stream, cc_time deadline, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sends what earlier writes have left in the buffer, waiting until `deadline` for room.
 *
 * Returns 0, or an error of cc_stream_write.
 * After an error the bytes that were not sent are still in the buffer, in order.
 *
 * One writer at a time.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_stream_flush(CCStream *stream, cc_time deadline);

/* Flushes the stream, waiting until `deadline`, and ends its output: the peer reads the end.
 * Reading goes on.
 *
 * Returns 0, or
 *   ENOTSUP   the backend cannot end its output alone
 *   (other)   the errors of cc_stream_flush, and of shutdown(2), as ENOTCONN or ENOTSOCK
 *
 * One writer at a time.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_stream_shutdown(CCStream *stream, cc_time deadline);

#ifdef __cplusplus
}
#endif
#endif
