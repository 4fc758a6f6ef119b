/* net.h - system calls on sockets: each returns 0 or an error number.  Sockets are non-blocking and
 * are closed by exec. */
#ifndef CC__OS_NET_H
#define CC__OS_NET_H

#include <stdbool.h>
#include <sys/socket.h>

struct cc__address {
	union {
		struct sockaddr any;
		struct sockaddr_storage room;
	};
	socklen_t size;
};

/* A socket for addresses of that family; `type`: SOCK_STREAM or SOCK_DGRAM. */
int cc__net_socket(int *fd, int family, int type);
int cc__net_option(int fd, int level, int name, int value);
int cc__net_bind(int fd, const struct cc__address *a);
int cc__net_listen(int fd, int backlog);
int cc__net_accept(int *fd, int listener);

/* Begins to connect, or asks how that goes.  0: connected.  EINPROGRESS: not yet; wait until fd
 * can be written, and ask again.  EAGAIN: the queue of a Unix listener is full. */
int cc__net_connect(int fd, const struct cc__address *a);

/* A datagram, whole; `to` NULL: to the peer that the socket is connected to. */
int cc__net_send_to(int fd, const void *data, size_t size, const struct cc__address *to);
/* One datagram.  EMSGSIZE: it was longer, and the first `size` bytes are there.  *count, *from: also
 * then; `from` may be NULL. */
int cc__net_receive_from(int fd, void *buffer, size_t size, size_t *count,
                         struct cc__address *from);

/* A byte and a descriptor through a Unix socket. */
int cc__net_send_fd(int fd, int passed);
/* EPIPE: the end.  ENOMSG: a byte without a descriptor.  EMFILE: there was one, and the process has no
 * number for it. */
int cc__net_receive_fd(int fd, int *passed);

int cc__net_local(int fd, struct cc__address *a);
int cc__net_peer(int fd, struct cc__address *a);

#endif
