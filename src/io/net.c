/* net.c - listen, accept and dial.
 *
 * A shortage (of descriptors, or of room in a Unix listener's queue) makes no descriptor ready
 * when it ends, so accept and dial try again after a span that doubles. */
#include <ccc/net.h>

#include <ccc/blocking.h>
#include <ccc/fd.h>
#include <ccc/io.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>

#include "io/address.h"
#include "io/use.h"
#include "os/net.h"
#include "io/fd_word.h"

#define RETRY_FIRST CC_MSEC
#define RETRY_LAST (64 * CC_MSEC)

/* Sleeps for *span and doubles it.  0: try again.  The error `shortage` if the deadline has
 * passed; what ended the sleep otherwise. */
static int back_off(int fd, int shortage, cc_time *span, cc_time deadline, uint32_t generation)
{
	const cc_time now = cc_now(), rest = deadline - now;

	if (deadline <= now)
		return shortage;
	if (*span == 0)
		*span = RETRY_FIRST;
	else if (*span < RETRY_LAST)
		*span *= 2;
	return cc__use_sleep(fd, now + (*span < rest ? *span : rest), generation);
}

/* ---- options ---- */

static const CCNetOptions no_options = {0};

int cc_net_no_delay(int fd, int on)
{
	return cc__net_option(fd, IPPROTO_TCP, TCP_NODELAY, on != 0);
}

static int set_options(int fd, int family, const CCNetOptions *o, bool listens)
{
	int err = 0;

	if (family == AF_UNIX)
		return 0;
	if (listens)
		err = cc__net_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (err == 0 && listens && o->reuse_port != 0)
		err = cc__net_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (err == 0 && o->no_delay != 0)
		err = cc_net_no_delay(fd, 1);
	return err;
}

/* A socket that the library will close (FD-WORD-3). */
static int make_socket(int *fd, int family)
{
	const int err = cc__net_socket(fd, family);

	if (err == 0)
		cc__fd_made(*fd, family == AF_INET || family == AF_INET6 ? CC__FD_STREAM : 0);
	return err;
}

/* ---- listen ---- */

static int listen_at(int *listener, const struct cc__address *a, const CCNetOptions *o)
{
	const int family = a->any.sa_family;
	int fd, err;

	if ((err = make_socket(&fd, family)) != 0)
		return err;
	if ((err = set_options(fd, family, o, true)) == 0 && (err = cc__net_bind(fd, a)) == 0 &&
	    (err = cc__net_listen(fd, o->backlog > 0 ? o->backlog : SOMAXCONN)) == 0) {
		*listener = fd;
		return 0;
	}
	cc_fd_close(fd);
	return err;
}

int cc_net_listen(int *listener, const char *address, const CCNetOptions *options)
{
	struct cc__addresses list;
	int err;

	if (listener == NULL || address == NULL)
		return EINVAL;
	if ((err = cc__address_parse(address, &list)) != 0)
		return err;
	if (list.count == 0)
		return EINVAL;	/* a name */
	err = listen_at(listener, &list.at[0], options != NULL ? options : &no_options);
	/* A machine without IPv6: the second address is the IPv4 form of the first. */
	if ((err == EAFNOSUPPORT || err == EADDRNOTAVAIL) && list.count > 1)
		err = listen_at(listener, &list.at[1], options != NULL ? options : &no_options);
	return err;
}

/* ---- accept ---- */

/* The connection had failed before it was accepted: accept(2) reports its errors. */
static bool concerns_connection(int err)
{
	switch (err) {
	case ECONNABORTED:
	case EPROTO:
	case EPERM:
	case ENETDOWN:
	case ENETUNREACH:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENONET:
	case ENOPROTOOPT:
		return true;
	default:
		return false;
	}
}

static bool is_shortage(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM || err == ENOBUFS;
}

/* A connection of a listener that the program has made itself may be of any kind of socket. */
static int accept_one(int *fd, int listener)
{
	const int err = cc__net_accept(fd, listener);

	if (err == 0)
		cc__fd_made(*fd, cc__fd_word(listener) & CC__FD_STREAM);
	return err;
}

int cc_net_accept(int listener, int *fd, cc_time deadline)
{
	cc_time span = 0;
	uint32_t generation;
	int err;

	if (fd == NULL)
		return EINVAL;
	do {
		generation = cc__use_generation(listener);
		if ((err = accept_one(fd, listener)) == EAGAIN)
			err = cc__use_wait(listener, CC_FD_READ, deadline, generation);
		else if (err == 0)
			return 0;
		else if (concerns_connection(err))
			err = 0;
		if (is_shortage(err))
			err = back_off(listener, err, &span, deadline, generation);
	} while (err == 0);
	return err;
}

/* ---- dial ---- */

static int connect_to(int fd, const struct cc__address *a, cc_time deadline)
{
	cc_time span = 0;
	uint32_t generation;
	int err;

	do {
		generation = cc__use_generation(fd);
		if ((err = cc__net_connect(fd, a)) == EINPROGRESS)
			err = cc__use_wait(fd, CC_FD_WRITE, deadline, generation);
		else if (err == 0)
			return 0;
		else if (err == EAGAIN && deadline != CC_NOW)
			err = back_off(fd, ETIMEDOUT, &span, deadline, generation);
	} while (err == 0);
	return err;
}

static int dial_at(int *out, const struct cc__address *a, const CCNetOptions *o, cc_time deadline)
{
	int fd, err;

	if ((err = make_socket(&fd, a->any.sa_family)) != 0)
		return err;
	if ((err = set_options(fd, a->any.sa_family, o, false)) == 0 &&
	    (err = connect_to(fd, a, deadline)) == 0) {
		*out = fd;
		return 0;
	}
	cc_fd_close(fd);
	return err;
}

static int look_up(void *list)
{
	return cc__address_look_up(list);
}

static int addresses_of(const char *address, struct cc__addresses *list, cc_time deadline)
{
	int result = 0, err;

	if ((err = cc__address_parse(address, list)) != 0 || list->count > 0)
		return err;
	if (deadline == CC_NOW)
		return EAGAIN;
	err = cc_blocking(look_up, list, &result);
	return err != 0 ? err : result;
}

/* Another address of the same host does not help. */
static bool ends_dial(int err)
{
	return err == 0 || err == ECANCELED || err == ETIMEDOUT || err == EAGAIN ||
	       is_shortage(err);
}

int cc_net_dial(int *fd, const char *address, const CCNetOptions *options, cc_time deadline)
{
	struct cc__addresses list;
	int err;

	if (fd == NULL || address == NULL)
		return EINVAL;
	if ((err = addresses_of(address, &list, deadline)) != 0)
		return err;
	for (unsigned i = 0; i < list.count; i++) {
		err = dial_at(fd, &list.at[i], options != NULL ? options : &no_options, deadline);
		if (ends_dial(err))
			break;
	}
	return err;
}

/* ---- addresses ---- */

static int text_of(int fd, int (*which)(int fd, struct cc__address *a), char *text, size_t size)
{
	struct cc__address a;
	int err;

	if (text == NULL)
		return EINVAL;
	err = which(fd, &a);
	return err != 0 ? err : cc__address_text(&a, text, size);
}

int cc_net_local_address(int fd, char *text, size_t size)
{
	return text_of(fd, cc__net_local, text, size);
}

int cc_net_peer_address(int fd, char *text, size_t size)
{
	return text_of(fd, cc__net_peer, text, size);
}
