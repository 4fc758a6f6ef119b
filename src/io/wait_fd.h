/* wait_fd.h - a wait for a descriptor by a thread. */
#ifndef CC__IO_WAIT_FD_H
#define CC__IO_WAIT_FD_H

#include "io/poll.h"

/* Blocks the calling thread in poll(2) until one of `events` holds.  ETIMEDOUT; ECANCELED; EBADF: fd
 * is not open, or *ended is not 0; a thread that sets that rings `bell` (NULL: none is to be
 * had). */
int cc__block_fd(int fd, unsigned events, cc_time deadline, struct cc__bell *bell,
                 const cc__a32 *ended);

#endif
