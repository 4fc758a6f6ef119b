/* timer.h - the clock of the kernel: a tick each millisecond.
 *
 * Between two ticks the clock stands still, so it may be behind by as much as one. */
#ifndef KERNEL_TIMER_H
#define KERNEL_TIMER_H

#include "os/atomic.h"

#define TIMER_TICK CC_MSEC

void timer_start(void);
/* The interrupt. */
void timer_tick(void);

cc_time timer_now(void);
uint64_t timer_ticks(void);

#endif
