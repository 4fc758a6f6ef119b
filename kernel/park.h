/* park.h - park words of processes. */
#ifndef KERNEL_PARK_H
#define KERNEL_PARK_H

#include "process.h"

/* A status of the contract, or a negative error.  May park. */
int64_t park_wait(struct process *p, uint64_t address, uint32_t expected, uint64_t nanoseconds);
/* How many were woken, or a negative error. */
int64_t park_wake(struct process *p, uint64_t address, uint32_t most);

#endif
