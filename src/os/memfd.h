/* memfd.h - memory with a descriptor: made, judged, mapped, passed on.
 *
 * Sealed against shrinking, growing and further seals, it has one size for ever: whoever
 * has mapped it can read what he mapped, whatever the others do. */
#ifndef CC__OS_MEMFD_H
#define CC__OS_MEMFD_H

#include <ccc/park.h>

/* All: 0 or an error number. */

/* A sealed one, all zero. */
int cc__memfd_new(size_t size, int *fd);
/* Its size and identity, found by the kernel.  EBADF; EINVAL: not such memory; EPERM: not
 * sealed. */
int cc__memfd_judge(int fd, size_t *size, CCMemoryIdentity *identity);
/* Another descriptor of the same. */
int cc__memfd_copy(int fd, int *copy);
void cc__memfd_close(int fd);

int cc__memfd_map(int fd, size_t size, void **at);
void cc__memfd_unmap(void *at, size_t size);

/* Over a Unix socket, without blocking: EAGAIN.  EPROTO: something else came. */
int cc__memfd_send(int socket, int fd);
int cc__memfd_receive(int socket, int *fd);

#endif
