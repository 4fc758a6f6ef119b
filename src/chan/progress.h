/* progress.h - tells a fiber that uses channels from one that only keeps its worker.
 *
 * PROGRESS-1  The fast paths of channels count nothing.  While a monitor asks, every channel has the
 *             bit CC__CHAN_PROBED and no fast path, and each operation that succeeds adds one to the
 *             `operations` of the thread that makes it.
 * PROGRESS-2  The bit and the ways change together, under the channel's lock, and only in a head that
 *             is a channel: so a head that is freed, or made again, gets neither of them by mistake.
 *             An operation may have read the old ones: both ways do the same.
 * PROGRESS-3  A channel that is made while a monitor asks sees that under its own lock, or is found by
 *             the walk, which takes that lock later. */
#ifndef CC__CHAN_PROGRESS_H
#define CC__CHAN_PROGRESS_H

#include "chan/chan.h"

/* Under the lock of a channel that has just been made, or that is asked about: its bit and its ways. */
void cc__chan_choose_way(CCChan *c);

/* For tests: so many monitors ask; so often one has begun to. */
uint32_t cc__chan_probes(void);
uint32_t cc__chan_probed(void);

#endif
