/* branch_task.h - the array of a fiber that forks, for the calls of parallel.h. */
#ifndef CC__SCHED_BRANCH_TASK_H
#define CC__SCHED_BRANCH_TASK_H

#include "sched/branch.h"

/* The array of the calling fiber.  `nested`: it has had one, which ends with an outer call; else the
 * caller ends it.  NULL: the caller is a thread, or there is no memory. */
struct cc__branches *cc__branches_begin(bool *nested);
void cc__branches_end(struct cc__branches *p);

#endif
