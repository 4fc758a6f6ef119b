/* shared.h - words that several processes sleep on: the kernel's shared futexes.
 *
 * cc__futex_wait_either (os/atomic.h) is the wait of a thread; uring.h has the one that
 * puts no thread to sleep. */
#ifndef CC__OS_SHARED_H
#define CC__OS_SHARED_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/atomic.h"

/* The system can wait for two words at once (Linux 5.16). */
bool cc__futex_either_works(void);

/* The kernel says EFAULT of a word that it cannot read, and also of one whose page is taken
 * out of the object at that very moment: any peer may punch holes.  (Once in 147,000 sleeps
 * beside somebody who does nothing else.)  Asked again it finds the page that came instead,
 * so only so many refusals in a row are the end. */
enum { CC__FUTEX_FAULTS = 16 };

/* What the kernel said, 0 if no error.  True: nothing can be read there. */
static inline bool cc__futex_gone(unsigned *faults, int error)
{
	*faults = error == EFAULT ? *faults + 1 : 0;
	return *faults >= CC__FUTEX_FAULTS;
}

/* Wake up to `most` of those who sleep on that word, in any process: how many. */
uint32_t cc__futex_wake_shared(const cc__a32 *word, uint32_t most);

#endif
