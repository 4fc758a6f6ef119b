/* look_up.c - names, by getaddrinfo of the C library. */
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include "io/address.h"

#include <ccc/errno.h>

static int error_of(int failed)
{
	switch (failed) {
	case 0:
		return 0;
	case EAI_MEMORY:
		return ENOMEM;
	case EAI_SYSTEM:
		return errno != 0 ? errno : EIO;
	case EAI_AGAIN:
	case EAI_FAIL:
		return EHOSTUNREACH;
	default:
		return ENOENT;
	}
}

static void add_found(struct cc__addresses *list, const struct addrinfo *found)
{
	struct cc__address *a = &list->at[list->count];

	if (found->ai_addrlen > sizeof a->room ||
	    (found->ai_family != AF_INET && found->ai_family != AF_INET6))
		return;
	memcpy(&a->room, found->ai_addr, found->ai_addrlen);
	a->size = found->ai_addrlen;
	if (found->ai_family == AF_INET)
		((struct sockaddr_in *)(void *)&a->room)->sin_port = list->port;
	else
		((struct sockaddr_in6 *)(void *)&a->room)->sin6_port = list->port;
	list->count++;
}

int cc__address_look_up(struct cc__addresses *list)
{
	const struct addrinfo want = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int err;

	errno = 0;
	if ((err = error_of(getaddrinfo(list->host, NULL, &want, &found))) != 0)
		return err;
	for (const struct addrinfo *i = found; i != NULL && list->count < CC__ADDRESSES;
	     i = i->ai_next)
		add_found(list, i);
	freeaddrinfo(found);
	return list->count > 0 ? 0 : ENOENT;
}
