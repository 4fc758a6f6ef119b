/* net.c - sockets.  errno is read through <ccc/errno.h>, as in io.c. */
#include "os/net.h"

#include <ccc/errno.h>

static int result_of(int result)
{
	return result < 0 ? errno : 0;
}

int cc__net_socket(int *fd, int family)
{
	const int s = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

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
