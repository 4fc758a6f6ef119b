/* net.h - listen, accept and dial by text; datagrams; descriptors through a Unix socket.
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
	/* A connection on which nothing has arrived for so long (rounded up to seconds) is checked,
	 * three times with a third of that span between, 75 s at most, and ends with ETIMEDOUT if
	 * the peer does not answer: SO_KEEPALIVE.  0: never checked.  A listener passes it on. */
	cc_time keep_alive;
	/* 1: cc_net_dial opens a datagram socket (UDP, or a Unix datagram socket). */
	int datagram;
} CCNetOptions;

/* An address in the form that the system uses.  All zero: none.  The fields are private. */
typedef struct CCNetAddress {
	uint32_t size;
	uint64_t storage[16];
} CCNetAddress;

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
 * NULL.  If a name has several addresses, IPv6 and IPv4 take turns, and after 250 ms without an
 * answer the next one is tried beside those before it; the first connection wins.
 *
 * A name is looked up with getaddrinfo(3) by a thread that the library keeps for that, at most 16 at
 * a time.  The call does not wait longer than until `deadline` and ends by cancellation, although
 * that thread goes on until the C library gives up, which takes 10 s or more if no name server
 * answers (resolv.conf(5)).  Numbers, "localhost" and Unix sockets need no lookup.
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
 *   (other)        of socket(2) and connect(2), as EMFILE or ENETUNREACH; of the last address that
 *                  failed
 * After an error there is no socket and *fd is unchanged.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_net_dial(int *fd, const char *address, const CCNetOptions *options,
                                     cc_time deadline);

/* ---- datagrams ---- */

/* Opens a datagram socket (UDP, or a Unix datagram socket) that receives what is sent to `address`,
 * and stores it in *fd.  `options` may be NULL; of them only `reuse_port` counts.
 *
 *	cc_try(cc_net_bind(&fd, "0.0.0.0:5353", NULL));
 *	while (cc_net_receive_from(fd, text, sizeof text, &n, &peer, CC_FOREVER) == 0)
 *		cc_try(cc_net_send_to(fd, text, n, &peer, CC_FOREVER));
 *
 * Returns 0, or the errors of cc_net_listen.
 * After an error there is no socket and *fd is unchanged.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_net_bind(int *fd, const char *address, const CCNetOptions *options);

/* Sends `size` bytes of `data` as one datagram to the address `to`, waiting until `deadline` for room.
 * `to` is NULL for the peer of a connected socket (cc_net_dial with the option `datagram`).
 *
 * Returns 0, or
 *   EMSGSIZE       the datagram is too long for the socket
 *   ECONNREFUSED   the socket is connected, and nothing receives an earlier datagram there
 *   ENOENT         no socket has that path
 *   EDESTADDRREQ, ENOTCONN   `to` is NULL and the socket is not connected
 *   EINVAL         `to` is not an address
 *   ETIMEDOUT      the deadline passed, of the call or of a nursery; EAGAIN if it was CC_NOW
 *   ECANCELED      a nursery around the caller was cancelled, or the caller's runtime is ending
 *   EBADF, ENOTSOCK   `fd` is not a socket, or cc_fd_close closed it during the call
 *   ENOTSUP        the call would have to wait, in a child of fork (runtime.h)
 *   (other)        of sendmsg(2), as ENETUNREACH
 * After an error nothing was sent.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_net_send_to(int fd, const void *data, size_t size,
                                        const CCNetAddress *to, cc_time deadline);

/* Receives one datagram into `buffer`, waiting until `deadline` for it.  Stores its length in *count,
 * which may be 0, and the sender's address in *from, unless they are NULL.
 *
 * Returns 0, or
 *   EMSGSIZE       the datagram was longer than `size`; its first `size` bytes are in `buffer`, the
 *                  others are lost
 *   ECONNREFUSED   the socket is connected, and nothing receives an earlier datagram there
 *   ETIMEDOUT      the deadline passed, of the call or of a nursery; EAGAIN if it was CC_NOW
 *   ECANCELED      a nursery around the caller was cancelled, or the caller's runtime is ending
 *   EBADF, ENOTSOCK   `fd` is not a socket, or cc_fd_close closed it during the call
 *   ENOTSUP        the call would have to wait, in a child of fork (runtime.h)
 *   (other)        of recvmsg(2)
 * After an error other than EMSGSIZE nothing was received, *count is 0 and *from is unchanged.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_net_receive_from(int fd, void *buffer, size_t size, size_t *count,
                                             CCNetAddress *from, cc_time deadline);

/* Stores the first address that `text` stands for in *address, for cc_net_send_to.  A name is looked
 * up until `deadline`, as by cc_net_dial.
 *
 * Returns 0, or
 *   EINVAL         `text` is not an address, or an argument is NULL
 *   ENOENT         the name has no address
 *   EHOSTUNREACH   no name server answers
 *   ENAMETOOLONG   the path or the name is too long
 *   ETIMEDOUT      the deadline passed, of the call or of a nursery; EAGAIN if it was CC_NOW
 *   ECANCELED      a nursery around the caller was cancelled, or the caller's runtime is ending
 *   ENOMEM, EAGAIN no memory or no thread for the lookup
 *   ENOTSUP        a lookup in a child of fork (runtime.h)
 * After an error *address is unchanged.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_net_address(CCNetAddress *address, const char *text, cc_time deadline);

/* Stores `address` as text in `text`, of `size` bytes, like cc_net_local_address.
 *
 * Returns 0, or
 *   EINVAL         an argument is NULL, or *address is none
 *   ERANGE         `text` is too small; CC_NET_ADDRESS_SIZE is enough
 *   EAFNOSUPPORT   an address of another family
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_net_address_text(const CCNetAddress *address, char *text, size_t size);

/* ---- passing descriptors ---- */

/* Sends the descriptor `fd` and a byte of 0 through the Unix socket `socket`, waiting until `deadline`
 * for room.  The receiver gets a descriptor of the same file; `fd` still belongs to the caller.
 *
 * Returns 0, or
 *   EBADF       `fd` or `socket` is not open, or cc_fd_close closed `socket` during the call
 *   EINVAL, ENOTSOCK, EOPNOTSUPP   `socket` is not a Unix socket
 *   EPIPE, ENOTCONN   the peer has closed, or there is none
 *   ETIMEDOUT   the deadline passed, of the call or of a nursery; EAGAIN if it was CC_NOW
 *   ECANCELED   a nursery around the caller was cancelled, or the caller's runtime is ending
 *   ETOOMANYREFS   too many descriptors are on their way
 *   ENOTSUP     the call would have to wait, in a child of fork (runtime.h)
 *   (other)     of sendmsg(2)
 * After an error nothing was sent.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_net_send_fd(int socket, int fd, cc_time deadline);

/* Receives a descriptor and its byte through the Unix socket `socket`, waiting until `deadline`, and
 * stores the descriptor in *fd.  It has FD_CLOEXEC and belongs to the caller.
 *
 * Returns 0, or
 *   EPIPE       the peer has closed
 *   ENOMSG      the next byte came without a descriptor; the byte is lost
 *   EMFILE      the process may have no more descriptors; the descriptor is lost
 *   EINVAL      `fd` is NULL
 *   EBADF, ENOTSOCK   `socket` is not a socket, or cc_fd_close closed it during the call
 *   ETIMEDOUT   the deadline passed, of the call or of a nursery; EAGAIN if it was CC_NOW
 *   ECANCELED   a nursery around the caller was cancelled, or the caller's runtime is ending
 *   ENOTSUP     the call would have to wait, in a child of fork (runtime.h)
 *   (other)     of recvmsg(2), as ECONNRESET
 * After an error *fd is unchanged.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_net_receive_fd(int socket, int *fd, cc_time deadline);

/* ---- options and addresses of sockets ---- */

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
