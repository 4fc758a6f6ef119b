/* net.h - what listen, accept and dial share. */
#ifndef CC__IO_NET_H
#define CC__IO_NET_H

#include <ccc/net.h>

#include <stdbool.h>

extern const CCNetOptions cc__net_no_options;

/* A socket that the library will close (FD-WORD-3); `type`: SOCK_STREAM or SOCK_DGRAM. */
int cc__net_make(int *fd, int family, int type);
/* `binds`: it will have an address of its own. */
int cc__net_set_options(int fd, int family, int type, const CCNetOptions *o, bool binds);

/* Of descriptors or memory: it passes. */
bool cc__net_is_shortage(int err);

/* Sleeps for *span, first 1 ms, and doubles it up to 64 ms.  0: try again.  The error `shortage` if
 * the deadline has passed; what ended the sleep otherwise.  `generation`: io/use.h. */
int cc__net_back_off(int fd, int shortage, cc_time *span, cc_time deadline, uint32_t generation);

#endif
