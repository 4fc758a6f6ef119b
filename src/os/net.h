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

/* A stream socket for addresses of that family. */
int cc__net_socket(int *fd, int family);
int cc__net_option(int fd, int level, int name, int value);
int cc__net_bind(int fd, const struct cc__address *a);
int cc__net_listen(int fd, int backlog);
int cc__net_accept(int *fd, int listener);

/* Begins to connect, or asks how that goes.  0: connected.  EINPROGRESS: not yet; wait until fd
 * can be written, and ask again.  EAGAIN: the queue of a Unix listener is full. */
int cc__net_connect(int fd, const struct cc__address *a);

int cc__net_local(int fd, struct cc__address *a);
int cc__net_peer(int fd, struct cc__address *a);

#endif
