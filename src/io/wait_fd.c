/* wait_fd.c - a thread waits for a descriptor in poll(2).
 *
 * A thread that can be woken from outside, because its nursery is cancelled or its descriptor
 * closed, has a bell beside the descriptor.  If no descriptor is left for a bell, the thread looks
 * by itself, every SLICE: a shortage of descriptors is when a server most needs to wait. */
#include "io/wait_fd.h"

#include <errno.h>

#include "os/fork.h"
#include "wait/host.h"
#include "wait/thread.h"

#define SLICE (10 * CC_MSEC)

/* ---- threads ---- */

/* Until one of the two flags is set.  EINTR: one is. */
static int block_until(int fd, unsigned events, cc_time deadline, struct cc__bell *bell,
                       const cc__a32 *cancelled, const cc__a32 *ended)
{
	int err;

	/* Acquire, both: what was done before it was cancelled, or closed.  The bell may have been
	 * rung for a thread that had it before. */
	while (cc__load(cancelled, CC__ACQUIRE) == 0 && cc__load(ended, CC__ACQUIRE) == 0) {
		const cc_time slice = bell != NULL ? CC_FOREVER : cc__from_now(SLICE);

		err = cc__poller_block(fd, events, bell != NULL ? bell->fd : -1,
		                       cc__earlier(deadline, slice));
		if (err == EINTR)
			cc__bell_heard(bell);
		else if (err != ETIMEDOUT || slice >= deadline)
			return err;
	}
	return EINTR;
}

static int block_here(struct cc__member *m, int fd, unsigned events, cc_time deadline,
                      struct cc__bell *bell, const cc__a32 *ended)
{
	const cc__a32 *cancelled = m != NULL ? cc__member_bell(m, bell) : &cc__uncancelled;
	int err = block_until(fd, events, deadline, bell, cancelled, ended);
	uint32_t how;

	if (m != NULL)
		cc__member_bell(m, NULL);
	if (err != EINTR)
		return err;
	/* Acquire, both: as in block_until. */
	if (cc__load(ended, CC__ACQUIRE) != 0)
		return EBADF;
	how = cc__load(cancelled, CC__ACQUIRE);
	return cc__poll_last_look(fd, events, cc__cancel_error(how));
}

int cc__block_fd(int fd, unsigned events, cc_time deadline, struct cc__bell *bell,
                 const cc__a32 *ended)
{
	struct cc__parker *self = cc__self();
	struct cc__member *m = self != NULL ? *cc__member_slot(self) : NULL;
	int err;

	CC__EVENT(CC__EV_FOR, self, CC__FOR_FD_HERE, (unsigned)fd);
	err = block_here(m, fd, events, deadline, bell, ended);
	CC__EVENT(CC__EV_FOR, self, CC__FOR_NOTHING, 0);
	return err;
}
