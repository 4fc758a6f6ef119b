/* datagram.c - datagrams, and descriptors passed through a Unix socket. */
#include <ccc/fd.h>
#include <ccc/net.h>

#include <errno.h>

#include "io/address.h"
#include "io/fd_word.h"
#include "io/use.h"

int cc_net_send_to(int fd, const void *data, size_t size, const CCNetAddress *to, cc_time deadline)
{
	struct cc__address a;
	uint32_t generation;
	int err;

	if (to != NULL && !cc__address_take(to, &a))
		return EINVAL;
	do {
		generation = cc__use_generation(fd);
		if ((err = cc__net_send_to(fd, data, size, to != NULL ? &a : NULL)) != EAGAIN)
			return err;
	} while ((err = cc__use_wait(fd, CC_FD_WRITE, deadline, generation)) == 0);
	return err;
}

static int receive(int fd, void *buffer, size_t size, size_t *n, struct cc__address *from,
                   cc_time deadline)
{
	uint32_t generation;
	int err;

	do {
		generation = cc__use_generation(fd);
		if ((err = cc__net_receive_from(fd, buffer, size, n, from)) != EAGAIN)
			return err;
	} while ((err = cc__use_wait(fd, CC_FD_READ, deadline, generation)) == 0);
	return err;
}

int cc_net_receive_from(int fd, void *buffer, size_t size, size_t *count, CCNetAddress *from,
                        cc_time deadline)
{
	struct cc__address a;
	size_t n = 0;
	const int err = receive(fd, buffer, size, &n, &a, deadline);

	if (count != NULL)
		*count = n;
	if (from != NULL && (err == 0 || err == EMSGSIZE))
		cc__address_give(&a, from);
	return err;
}

int cc_net_send_fd(int socket, int fd, cc_time deadline)
{
	uint32_t generation;
	int err;

	do {
		generation = cc__use_generation(socket);
		if ((err = cc__net_send_fd(socket, fd)) != EAGAIN)
			return err;
	} while ((err = cc__use_wait(socket, CC_FD_WRITE, deadline, generation)) == 0);
	return err;
}

int cc_net_receive_fd(int socket, int *fd, cc_time deadline)
{
	uint32_t generation;
	int err;

	if (fd == NULL)
		return EINVAL;
	do {
		generation = cc__use_generation(socket);
		if ((err = cc__net_receive_fd(socket, fd)) == 0)
			cc__fd_foreign(*fd);	/* opened elsewhere */
		if (err != EAGAIN)
			return err;
	} while ((err = cc__use_wait(socket, CC_FD_READ, deadline, generation)) == 0);
	return err;
}
