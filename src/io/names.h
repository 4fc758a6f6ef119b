/* names.h - name lookups, which end at their deadlines.
 *
 * getaddrinfo cannot be stopped, and takes 10 s or more if no name server answers.  So a thread of
 * this module makes the call, in memory of the lookup's own, and a caller that leaves early leaves
 * that memory to it.  At most CC__NAME_THREADS of them run at a time, apart from the threads of
 * cc_blocking: lookups of a server that does not answer hold up other lookups, but nothing else.
 *
 * NAMES-1  A lookup is in the queue, or a thread runs it, or it is over.  Queue and number of
 *          threads change under one lock.  A thread ends when it finds the queue empty, in the
 *          same critical section, so a lookup in the queue has a thread that will come to it.
 * NAMES-2  A lookup has one reference of its caller and one of the queue, which passes to the thread
 *          that takes it.  The last reference gives the memory back.  A caller that leaves early
 *          takes the lookup out of the queue, if it is there. */
#ifndef CC__IO_NAMES_H
#define CC__IO_NAMES_H

#include "io/address.h"

#ifndef CC__NAME_THREADS
#define CC__NAME_THREADS 16
#endif

/* cc__address_look_up of list->host, waiting until `deadline` for the answer; an error of that;
 * ETIMEDOUT, EAGAIN (CC_NOW), ECANCELED; ENOMEM or EAGAIN: no memory or no thread.  May park. */
int cc__names_look_up(struct cc__addresses *list, cc_time deadline);

#endif
