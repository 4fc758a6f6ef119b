/* ready.c - cc_wait_fd and cc_fd_ready: a fiber waits through its runtime's poller, a thread in
 * poll(2), listed so that cc_fd_close finds it. */
#include <ccc/fd.h>

#include <errno.h>

#include "io/poll.h"
#include "io/use.h"
#include "os/fork.h"
#include "wait/host.h"

static bool are_events(unsigned events)
{
	return events != 0 && (events & ~(unsigned)(CC_FD_READ | CC_FD_WRITE)) == 0;
}

int cc_wait_fd(int fd, unsigned events, cc_time deadline)
{
	struct cc__poll *p;

	if (cc__forked())
		return ENOTSUP;
	if (!are_events(events))
		return EINVAL;
	if (fd < 0)
		return EBADF;
	if (deadline == CC_NOW)
		return cc__poller_block(fd, events, -1, CC_NOW);
	p = cc__poll_here();
	return p != NULL ? cc__poll_wait(p, fd, events, deadline)
	                 : cc__use_wait(fd, events, deadline, cc__use_generation(fd));
}

int cc_fd_ready(int fd, unsigned events, unsigned *ready, cc_time deadline)
{
	int err;

	if (ready == NULL || !are_events(events))
		return EINVAL;
	/* What was there for the wait and is gone has been taken by another caller. */
	do
		if ((err = cc__poller_look(fd, events, ready)) != EAGAIN || deadline == CC_NOW)
			return err;
	while ((err = cc_wait_fd(fd, events, deadline)) == 0);
	return err;
}
