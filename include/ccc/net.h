/* net.h - listen, accept and dial by text.
 *
 * Addresses:
 *	"127.0.0.1:80"   IPv4 and port; port 0 lets the system choose a free one for a listener
 *	"[::1]:80"       IPv6 and port
 *	"localhost:80"   127.0.0.1, and for a dial then ::1; no server is asked
 *	":80"            for a listener: all addresses of this machine; for a dial: this machine
 *	"host:80"        a name, for a dial only
 *	"unix:/path"     a Unix socket in the file system, which must not exist when listening
 *	"unix:@name"     a Unix socket in the abstract name space
 * Ports are numbers.
 *
 * The sockets are plain descriptors, with O_NONBLOCK and FD_CLOEXEC set, and belong to the caller:
 * <ccc/io.h> reads, writes and closes them.  Close them with cc_fd_close.  After close(2) the
 * library takes the next file with that number for the socket, and a call of <ccc/io.h> may wait
 * for it in vain, unless the number was given out by this header again, or the file is first given
 * to cc_fd_nonblock, which sets the flag, or to cc_wait_fd.
 *
 *	int listener, fd;
 *
 *	cc_try(cc_net_listen(&listener, "127.0.0.1:8080", NULL));
 *	while (cc_net_accept(listener, &fd, CC_FOREVER) == 0)
 *		cc_spawn(n, serve, .fd = fd); */
#ifndef CCC_NET_H
#define CCC_NET_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a socket is set up.  All zero: the defaults of the system. */
typedef struct CCNetOptions {
	/* Connections that may wait to be accepted; 0: as many as the system allows. */
	int backlog;
	/* 1: other listeners with this option may have the same address (SO_REUSEPORT). */
	int reuse_port;
	/* 1: small writes are sent at once (TCP_NODELAY).  A listener passes it on to the
	 * connections that it accepts. */
	int no_delay;
} CCNetOptions;

/* Size of a buffer that any address fits into. */
#define CC_NET_ADDRESS_SIZE 128

/* Opens a stream socket that listens at `address`, and stores it in *listener.  `options` may be
 * NULL.  A TCP port that was in use by an ended server can be used at once (SO_REUSEADDR).
 *
 * Returns 0, or
 *   EINVAL         `address` is not an address, or has a name instead of a number
 *   ENAMETOOLONG   the path of a Unix socket is too long
 *   EADDRINUSE     another socket listens there, or the path exists
 *   (other)        of socket(2), bind(2) and listen(2), as EACCES, EADDRNOTAVAIL or EMFILE
 * After an error there is no socket and *listener is unchanged.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_net_listen(int *listener, const char *address,
                                       const CCNetOptions *options);

/* Accepts a connection, waiting until `deadline` for one, and stores its socket in *fd.
 *
 * A connection that failed before it was accepted is skipped.  If descriptors or memory are
 * used up, the call tries again after 1 ms, then after longer spans up to 64 ms, until `deadline`.
 *
 * Returns 0, or
 *   ETIMEDOUT   the deadline passed, of the call or of a nursery; EAGAIN if it was CC_NOW
 *   ECANCELED   a nursery around the caller was cancelled, or the caller's runtime is ending
 *   EMFILE, ENFILE, ENOMEM, ENOBUFS   there was this shortage until the deadline
 *   EBADF       `listener` is not open, or cc_fd_close closed it during the call
 *   EINVAL      `listener` does not listen, or `fd` is NULL
 *   ENOTSOCK    `listener` is not a socket
 *   ENOTSUP     the call would have to wait, in a child of fork (runtime.h)
 * After an error *fd is unchanged.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_net_accept(int listener, int *fd, cc_time deadline);

/* Connects to `address`, waiting until `deadline`, and stores the socket in *fd.  `options` may be
 * NULL.  The addresses of a name are tried one after another, so one that does not answer uses up
 * the time of the others.
 *
 * A name is looked up with getaddrinfo(3) in a thread of cc_blocking.  Once that has begun,
 * neither `deadline` nor a cancellation ends it before the C library gives up, which takes 10 s or
 * more if no name server answers (resolv.conf(5)), and it occupies one of the runtime's threads for
 * blocking calls meanwhile.  Numbers, "localhost" and Unix sockets need no lookup.
 *
 * Returns 0, or
 *   ETIMEDOUT      the deadline passed, of the call or of a nursery, or the peer does not answer
 *   EAGAIN         the deadline is CC_NOW, and the call would have to wait
 *   ECANCELED      a nursery around the caller was cancelled, or the caller's runtime is ending
 *   ECONNREFUSED   nothing listens there
 *   ENOENT         the name has no address, or the path does not exist
 *   EHOSTUNREACH   no route to the host, or no name server answers
 *   EINVAL         `address` is not an address, or `fd` is NULL
 *   ENAMETOOLONG   the path or the name is too long
 *   ENOTSUP        the call would have to wait, in a child of fork (runtime.h)
 *   (other)        of socket(2) and connect(2), as EMFILE or ENETUNREACH; of the last address tried
 * After an error there is no socket and *fd is unchanged.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_net_dial(int *fd, const char *address, const CCNetOptions *options,
                                     cc_time deadline);

/* Sends small writes to a TCP socket at once (`on` is 1), or collects them (0): TCP_NODELAY.
 *
 * Returns 0, or EBADF, ENOTSOCK, or EOPNOTSUPP: `fd` is not a TCP socket.
 *
 * Any thread.  Never parks. */
CC_API int cc_net_no_delay(int fd, int on);

/* Stores the address of the socket `fd` as text in `text`, of `size` bytes.  The text can be given
 * to cc_net_dial; a Unix socket without an address is "unix:".
 *
 * Returns 0, or
 *   EBADF, ENOTSOCK   `fd` is not a socket
 *   ERANGE            `text` is too small; CC_NET_ADDRESS_SIZE is enough
 *   EAFNOSUPPORT      a socket of another family
 *   EINVAL            `text` is NULL
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_net_local_address(int fd, char *text, size_t size);

/* Stores the address of the peer of the socket `fd` as text, like cc_net_local_address.
 *
 * Returns 0, an error of cc_net_local_address, or
 *   ENOTCONN   the socket is not connected
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_net_peer_address(int fd, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
