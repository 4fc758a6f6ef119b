/* process.h - starting, observing and signalling one child process: the system calls. */
#ifndef CC__OS_PROCESS_H
#define CC__OS_PROCESS_H

#include <ccc/process.h>

/* Start a process; its number into *pid.  0 or an error number: then there is none. */
int cc__process_start(const CCProcessOptions *o, char *const argv[], int *pid);

/* A descriptor that can be read once the process has ended; -1: the system has none. */
int cc__process_descriptor(int pid);
void cc__process_descriptor_close(int fd);

/* 0: it has ended, and *status is known; its number is free.  EAGAIN: it has not.  ECHILD:
 * some other code has taken its status. */
int cc__process_reap(int pid, int *status);

/* By its descriptor, or if that is -1, by number: then it must not have been reaped. */
int cc__process_signal(int pid, int fd, int sig);

#endif
