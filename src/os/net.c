/* net.c - sockets.  errno is read through <ccc/errno.h>, as in io.c. */
#include "os/net.h"

#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include <ccc/errno.h>

static int result_of(int result)
{
	return result < 0 ? errno : 0;
}

int cc__net_socket(int *fd, int family, int type)
{
	const int s = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (s >= 0)
		*fd = s;
	return result_of(s);
}

int cc__net_option(int fd, int level, int name, int value)
{
	return result_of(setsockopt(fd, level, name, &value, sizeof value));
}

int cc__net_bind(int fd, const struct cc__address *a)
{
	return result_of(bind(fd, &a->any, a->size));
}

int cc__net_listen(int fd, int backlog)
{
	return result_of(listen(fd, backlog));
}

int cc__net_accept(int *fd, int listener)
{
	int s, err;

	do {
		s = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		err = result_of(s);
	} while (err == EINTR);
	if (err == 0)
		*fd = s;
	return err;
}

/* An interrupted connect goes on in the kernel. */
int cc__net_connect(int fd, const struct cc__address *a)
{
	const int err = result_of(connect(fd, &a->any, a->size));

	switch (err) {
	case EISCONN:
		return 0;
	case EALREADY:
	case EINTR:
		return EINPROGRESS;
	default:
		return err;
	}
}

/* ---- datagrams and descriptors ---- */

static int send_message(int fd, const struct msghdr *m)
{
	int err;

	do
		err = result_of((int)sendmsg(fd, m, MSG_NOSIGNAL | MSG_DONTWAIT));
	while (err == EINTR);
	return err;
}

static int receive_message(int fd, struct msghdr *m, size_t *count)
{
	ssize_t n;
	int err;

	do {
		n = recvmsg(fd, m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		err = n < 0 ? errno : 0;
	} while (err == EINTR);
	*count = n > 0 ? (size_t)n : 0;
	return err;
}

int cc__net_send_to(int fd, const void *data, size_t size, const struct cc__address *to)
{
	struct iovec part = {(void *)(uintptr_t)data, size};
	const struct msghdr m = {.msg_name = to != NULL ? (void *)(uintptr_t)&to->any : NULL,
	                         .msg_namelen = to != NULL ? to->size : 0,
	                         .msg_iov = &part,
	                         .msg_iovlen = 1};

	return send_message(fd, &m);
}

int cc__net_receive_from(int fd, void *buffer, size_t size, size_t *count, struct cc__address *from)
{
	struct iovec part = {buffer, size};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	int err;

	if (from != NULL) {
		m.msg_name = &from->room;
		m.msg_namelen = sizeof from->room;
	}
	if ((err = receive_message(fd, &m, count)) != 0)
		return err;
	if (from != NULL)
		from->size = m.msg_namelen;
	return m.msg_flags & MSG_TRUNC ? EMSGSIZE : 0;
}

/* Room for one descriptor. */
union control {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr header;
};

int cc__net_send_fd(int fd, int passed)
{
	char byte = 0;
	struct iovec part = {&byte, 1};
	union control control = {.header = {.cmsg_len = CMSG_LEN(sizeof passed),
	                                    .cmsg_level = SOL_SOCKET,
	                                    .cmsg_type = SCM_RIGHTS}};
	const struct msghdr m = {.msg_iov = &part,
	                         .msg_iovlen = 1,
	                         .msg_control = control.room,
	                         .msg_controllen = sizeof control.room};

	memcpy(CMSG_DATA(&control.header), &passed, sizeof passed);
	return send_message(fd, &m);
}

int cc__net_receive_fd(int fd, int *passed)
{
	char byte;
	struct iovec part = {&byte, 1};
	union control control;
	struct msghdr m = {.msg_iov = &part,
	                   .msg_iovlen = 1,
	                   .msg_control = control.room,
	                   .msg_controllen = sizeof control.room};
	const struct cmsghdr *c;
	size_t n;
	int err;

	if ((err = receive_message(fd, &m, &n)) != 0)
		return err;
	c = CMSG_FIRSTHDR(&m);
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof *passed)) {
		memcpy(passed, CMSG_DATA(c), sizeof *passed);
		return 0;
	}
	if (m.msg_flags & MSG_CTRUNC)
		return EMFILE;
	return n > 0 ? ENOMSG : EPIPE;
}

int cc__net_local(int fd, struct cc__address *a)
{
	a->size = sizeof a->room;
	return result_of(getsockname(fd, &a->any, &a->size));
}

int cc__net_peer(int fd, struct cc__address *a)
{
	a->size = sizeof a->room;
	return result_of(getpeername(fd, &a->any, &a->size));
}
