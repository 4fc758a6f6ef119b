/* host.h - what the kernel sees of host.c beyond src/os/atomic.h. */
#ifndef KERNEL_HOST_H
#define KERNEL_HOST_H

#include <stdint.h>

/* So many the park engine has woken from words of the kernel's own. */
uint64_t host_woken(void);

#endif
