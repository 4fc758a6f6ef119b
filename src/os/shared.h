/* shared.h - words that several processes sleep on: the kernel's shared futexes.
 *
 * cc__futex_wait_either (base/atomic.h) is the wait of a thread; uring.h has the one that
 * puts no thread to sleep. */
#ifndef CC__OS_SHARED_H
#define CC__OS_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

/* The system can wait for two words at once (Linux 5.16). */
bool cc__futex_either_works(void);

/* Wake up to `most` of those who sleep on that word, in any process: how many. */
uint32_t cc__futex_wake_shared(const cc__a32 *word, uint32_t most);

#endif
