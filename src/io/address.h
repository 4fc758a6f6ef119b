/* address.h - addresses as text, and back. */
#ifndef CC__IO_ADDRESS_H
#define CC__IO_ADDRESS_H

#include <ccc/net.h>

#include <stdbool.h>

#include "os/net.h"

/* The addresses that one text stands for are tried in this order. */
enum { CC__ADDRESSES = 16, CC__HOST_SIZE = 256 };
struct cc__addresses {
	unsigned count;
	struct cc__address at[CC__ADDRESSES];
	/* Not "": a name to be looked up, and its port in network byte order; count is 0. */
	char host[CC__HOST_SIZE];
	uint16_t port;
};

/* Without asking any server.  An empty host: all addresses of this machine.  EINVAL: the text is
 * not an address.  ENAMETOOLONG: a path or a host is too long. */
int cc__address_parse(const char *text, struct cc__addresses *list);

/* Looks list->host up and fills the list.  Keeps the thread: for io/names.  ENOENT: the name
 * has no address.  EHOSTUNREACH: no name server answers.  ENOMEM, EMFILE and the like. */
int cc__address_look_up(struct cc__addresses *list);

/* The text with its final 0.  ERANGE: it does not fit.  EAFNOSUPPORT: another family. */
int cc__address_text(const struct cc__address *a, char *text, size_t size);

/* Between the library's form and the public one.  False: *from is not an address. */
void cc__address_give(const struct cc__address *from, CCNetAddress *to);
bool cc__address_take(const CCNetAddress *from, struct cc__address *to);

#endif
