/* address.c - parsing and printing. */
#include "io/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

static const char unix_prefix[] = "unix:";
enum { UNIX_PREFIX = sizeof unix_prefix - 1, UNIX_HEAD = offsetof(struct sockaddr_un, sun_path) };

/* ---- from text ---- */

static struct sockaddr_in *add_ipv4(struct cc__addresses *list, uint16_t port)
{
	struct cc__address *a = &list->at[list->count++];
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&a->room;

	*in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
	a->size = sizeof *in;
	return in;
}

static struct sockaddr_in6 *add_ipv6(struct cc__addresses *list, uint16_t port)
{
	struct cc__address *a = &list->at[list->count++];
	struct sockaddr_in6 *in = (struct sockaddr_in6 *)(void *)&a->room;

	*in = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
	a->size = sizeof *in;
	return in;
}

/* An abstract name begins with a 0 in the address, and has no final one. */
static int parse_unix(const char *path, struct cc__addresses *list)
{
	struct cc__address *a = &list->at[0];
	struct sockaddr_un *un = (struct sockaddr_un *)(void *)&a->room;
	const size_t length = strlen(path);
	const int abstract = path[0] == '@';

	if (length == 0)
		return EINVAL;
	if (length >= sizeof un->sun_path)
		return ENAMETOOLONG;
	*un = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(un->sun_path, path, length);
	if (abstract)
		un->sun_path[0] = 0;
	a->size = (socklen_t)(UNIX_HEAD + length + (abstract ? 0 : 1));
	list->count = 1;
	return 0;
}

/* Digits only, up to 65535.  In network byte order. */
static int parse_port(const char *text, uint16_t *port)
{
	unsigned n = 0;

	if (*text == 0)
		return EINVAL;
	for (; *text != 0; text++) {
		if (*text < '0' || *text > '9' || (n = n * 10 + (unsigned)(*text - '0')) > 65535)
			return EINVAL;
	}
	*port = htons((uint16_t)n);
	return 0;
}

/* A number in brackets, and what follows has been parsed. */
static int add_bracketed(struct cc__addresses *list, uint16_t port)
{
	return inet_pton(AF_INET6, list->host, &add_ipv6(list, port)->sin6_addr) == 1 ? 0 : EINVAL;
}

/* The host is in list->host, which stays there if it is a name. */
static int add_host(struct cc__addresses *list, uint16_t port)
{
	struct in_addr number;

	if (list->host[0] == 0) {
		add_ipv6(list, port)->sin6_addr = in6addr_any;
		add_ipv4(list, port)->sin_addr.s_addr = htonl(INADDR_ANY);
	} else if (strcmp(list->host, "localhost") == 0) {
		add_ipv4(list, port)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		add_ipv6(list, port)->sin6_addr = in6addr_loopback;
	} else if (inet_pton(AF_INET, list->host, &number) == 1) {
		add_ipv4(list, port)->sin_addr = number;
	} else {
		list->port = port;
		return strpbrk(list->host, ":[]/@% \t\n") == NULL ? 0 : EINVAL;
	}
	list->host[0] = 0;
	return 0;
}

int cc__address_parse(const char *text, struct cc__addresses *list)
{
	const char *colon;
	size_t length;
	uint16_t port;
	int bracketed;

	list->count = 0;
	list->host[0] = 0;
	if (strncmp(text, unix_prefix, UNIX_PREFIX) == 0)
		return parse_unix(text + UNIX_PREFIX, list);
	if ((colon = strrchr(text, ':')) == NULL || parse_port(colon + 1, &port) != 0)
		return EINVAL;
	length = (size_t)(colon - text);
	bracketed = length >= 2 && text[0] == '[' && text[length - 1] == ']';
	if (bracketed) {
		text++;
		length -= 2;
	}
	if (length >= sizeof list->host)
		return ENAMETOOLONG;
	memcpy(list->host, text, length);
	list->host[length] = 0;
	if (!bracketed)
		return add_host(list, port);
	if (add_bracketed(list, port) != 0)
		return EINVAL;
	list->host[0] = 0;
	return 0;
}

/* ---- to text ---- */

static int printed(int length, size_t size)
{
	return length >= 0 && (size_t)length < size ? 0 : ERANGE;
}

static int unix_text(const struct cc__address *a, char *text, size_t size)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)&a->room;
	const size_t length = a->size > UNIX_HEAD ? a->size - UNIX_HEAD : 0;

	if (length > 0 && un->sun_path[0] == 0)
		return printed(
		    snprintf(text, size, "%s@%.*s", unix_prefix, (int)length - 1, un->sun_path + 1),
		    size);
	return printed(snprintf(text, size, "%s%.*s", unix_prefix, (int)length, un->sun_path),
	               size);
}

int cc__address_text(const struct cc__address *a, char *text, size_t size)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)&a->room;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)&a->room;
	char host[INET6_ADDRSTRLEN];

	switch (a->any.sa_family) {
	case AF_UNIX:
		return unix_text(a, text, size);
	case AF_INET:
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
		return printed(snprintf(text, size, "%s:%u", host, ntohs(in->sin_port)), size);
	case AF_INET6:
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
		return printed(snprintf(text, size, "[%s]:%u", host, ntohs(in6->sin6_port)), size);
	default:
		return EAFNOSUPPORT;
	}
}

/* ---- the public form ---- */

_Static_assert(sizeof((CCNetAddress *)0)->storage == sizeof(struct sockaddr_storage),
               "any address has room");

void cc__address_give(const struct cc__address *from, CCNetAddress *to)
{
	*to = (CCNetAddress){.size = from->size};
	memcpy(to->storage, &from->room, from->size);
}

bool cc__address_take(const CCNetAddress *from, struct cc__address *to)
{
	if (from->size == 0 || from->size > sizeof from->storage)
		return false;
	to->size = from->size;
	memcpy(&to->room, from->storage, from->size);
	return true;
}

int cc_net_address_text(const CCNetAddress *address, char *text, size_t size)
{
	struct cc__address a;

	if (address == NULL || text == NULL || !cc__address_take(address, &a))
		return EINVAL;
	return cc__address_text(&a, text, size);
}
