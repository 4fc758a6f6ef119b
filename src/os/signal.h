/* signal.h - signals as a descriptor. */
#ifndef CC__OS_SIGNAL_H
#define CC__OS_SIGNAL_H

#include <signal.h>

/* A non-blocking descriptor that can be read when a signal of the set is pending. */
int cc__signal_open(int *fd, const sigset_t *set);

/* Takes one.  EAGAIN: none is pending. */
int cc__signal_take(int fd, int *which);

/* Blocks the signal in this thread.  EINVAL: there is no such signal. */
int cc__signal_block(int which);

#endif
