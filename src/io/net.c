/* net.c - listen and accept; addresses.
 *
 * A shortage of descriptors makes no descriptor ready when it ends, so accept tries again after a
 * span that doubles. */
#include <ccc/net.h>

#include <ccc/fd.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "io/address.h"
#include "io/net.h"
#include "io/use.h"
#include "os/net.h"
#include "io/fd_word.h"

#define RETRY_FIRST CC_MSEC
#define RETRY_LAST (64 * CC_MSEC)

int cc__net_back_off(int fd, int shortage, cc_time *span, cc_time deadline, uint32_t generation)
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

const CCNetOptions cc__net_no_options = {0};

int cc_net_no_delay(int fd, int on)
{
	return cc__net_option(fd, IPPROTO_TCP, TCP_NODELAY, on != 0);
}

/* In whole seconds, which is what the system takes. */
static int set_keep_alive(int fd, cc_time span)
{
	enum { PROBES = 3 };
	const cc_time seconds = span / CC_SEC + (span % CC_SEC != 0);
	const int idle = seconds < 32767 ? (int)seconds : 32767;	/* the most it takes */
	const int apart = idle < 3 * 75 ? (idle + PROBES - 1) / PROBES : 75;
	int err;

	if ((err = cc__net_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1)) == 0 &&
	    (err = cc__net_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle)) == 0 &&
	    (err = cc__net_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, apart)) == 0)
		err = cc__net_option(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
	return err;
}

static int set_stream_options(int fd, const CCNetOptions *o)
{
	int err = 0;

	if (o->no_delay != 0)
		err = cc_net_no_delay(fd, 1);
	if (err == 0 && o->keep_alive > 0)
		err = set_keep_alive(fd, o->keep_alive);
	return err;
}

int cc__net_set_options(int fd, int family, int type, const CCNetOptions *o, bool binds)
{
	int err = 0;

	if (family == AF_UNIX)
		return 0;
	if (binds && type == SOCK_STREAM)
		err = cc__net_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (err == 0 && binds && o->reuse_port != 0)
		err = cc__net_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	return err == 0 && type == SOCK_STREAM ? set_stream_options(fd, o) : err;
}

int cc__net_make(int *fd, int family, int type)
{
	const bool tcp = type == SOCK_STREAM && (family == AF_INET || family == AF_INET6);
	const int err = cc__net_socket(fd, family, type);

	if (err == 0)
		cc__fd_made(*fd, tcp ? CC__FD_STREAM : 0);
	return err;
}

/* ---- listen ---- */

/* `type` SOCK_DGRAM: it only has the address. */
static int listen_at(int *listener, int type, const struct cc__address *a, const CCNetOptions *o)
{
	const int family = a->any.sa_family;
	int fd, err;

	if ((err = cc__net_make(&fd, family, type)) != 0)
		return err;
	if ((err = cc__net_set_options(fd, family, type, o, true)) == 0 &&
	    (err = cc__net_bind(fd, a)) == 0 &&
	    (type != SOCK_STREAM ||
	     (err = cc__net_listen(fd, o->backlog > 0 ? o->backlog : SOMAXCONN)) == 0)) {
		*listener = fd;
		return 0;
	}
	cc_fd_close(fd);
	return err;
}

static int listen_by_text(int *listener, int type, const char *address, const CCNetOptions *options)
{
	const CCNetOptions *o = options != NULL ? options : &cc__net_no_options;
	struct cc__addresses list;
	int err;

	if (listener == NULL || address == NULL)
		return EINVAL;
	if ((err = cc__address_parse(address, &list)) != 0)
		return err;
	if (list.count == 0)
		return EINVAL;	/* a name */
	err = listen_at(listener, type, &list.at[0], o);
	/* A machine without IPv6: the second address is the IPv4 form of the first. */
	if ((err == EAFNOSUPPORT || err == EADDRNOTAVAIL) && list.count > 1)
		err = listen_at(listener, type, &list.at[1], o);
	return err;
}

int cc_net_listen(int *listener, const char *address, const CCNetOptions *options)
{
	return listen_by_text(listener, SOCK_STREAM, address, options);
}

int cc_net_bind(int *fd, const char *address, const CCNetOptions *options)
{
	return listen_by_text(fd, SOCK_DGRAM, address, options);
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

bool cc__net_is_shortage(int err)
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
		if (cc__net_is_shortage(err))
			err = cc__net_back_off(listener, err, &span, deadline, generation);
	} while (err == 0);
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
