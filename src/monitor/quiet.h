/* quiet.h - the moment at which no thread of the process can run again by itself.
 *
 * QUIET-1  The process is quiet if every thread that the kernel counts is one of ours or waits in a
 *          call of the library, none of them has a deadline, and nothing outside is waited for.  A
 *          wake is made by a thread that runs, so while the process is quiet no wake is on its way,
 *          and none will ever be.
 * QUIET-2  Threads are looked at one after another, so all are looked at twice, and the kernel's count
 *          is read in between.  What a thread's word says names one wait (its ticket) or one sleep
 *          (a count of wakes), and numbers only grow: if the sums of both looks are equal, every
 *          thread has slept from its first look to its second, and at the moment of the count all
 *          of them did:
 *
 *              look 1: A B C ... all asleep, numbers summed
 *              the kernel's count == threads seen
 *              look 2: A B C ... all asleep, the same sum
 *
 * QUIET-3  A thread that is outside of the library, or that has never called it, may still call in:
 *          it is counted by the kernel and not by us, so the counts differ.  In doubt the process is
 *          not quiet: only kinds of waits that are known to be ended from inside count as sleep.
 * QUIET-4  The look costs nothing while anything happens: each monitor makes it once when its
 *          runtime has come to rest, and each thread once when a wait has lasted for CC__PATIENCE.
 *          The last one to fall asleep looks after all others have. */
#ifndef CC__MONITOR_QUIET_H
#define CC__MONITOR_QUIET_H

#include "sched/sched.h"

/* The list of schedulers, through `next`; for the description of the process. */
extern struct cc__sched *cc__quiet_first;

/* A scheduler that has started; one that is about to stop. */
void cc__quiet_add(struct cc__sched *s);
void cc__quiet_remove(struct cc__sched *s);

/* Does nothing: whoever calls it has this module in the program, and looks are made from its start. */
void cc__quiet_watch(void);

/* True: the process is quiet, and *signature tells this moment from every other one. */
bool cc__quiet_now(uint64_t *signature);

/* For tests: how many looks were made. */
uint64_t cc__quiet_looks(void);

/* config.c: what the environment says. */
enum { CC__DEADLOCK_ABORTS = 1, CC__DEADLOCK_RUNTIME = 2, CC__DEADLOCK_INBOXES = 4 };
unsigned cc__deadlock_settings(void);

/* verdict.c: the process is quiet.  Says so, and ends it unless it is to go on. */
void cc__deadlock(uint64_t signature);
/* Inboxes and run queues of all schedulers, a line each, to standard error. */
void cc__quiet_print_inboxes(void);

#endif
