/* signal.c - waiting for signals: a descriptor for the time of the call.  Signals that come between
 * two calls stay pending, because they are blocked. */
#include <ccc/signal.h>

#include <ccc/fiber.h>
#include <ccc/io.h>

#include <errno.h>
#include <signal.h>

#include "io/fd_word.h"
#include "io/use.h"
#include "os/signal.h"

static int take_signal(int fd, cc_time deadline, int *which)
{
	uint32_t generation;
	int err;

	do {
		generation = cc__use_generation(fd);
		if ((err = cc__signal_take(fd, which)) != EAGAIN)
			return err;
	} while ((err = cc__use_wait(fd, CC_FD_READ, deadline, generation)) == 0);
	return err;
}

int cc_signal_wait(const sigset_t *set, cc_time deadline, int *which)
{
	int fd, taken = 0, err;

	if (set == NULL)
		return EINVAL;
	if ((err = cc__signal_open(&fd, set)) != 0)
		return err;
	cc__fd_made(fd, 0);
	err = take_signal(fd, deadline, &taken);
	cc_fd_close(fd);
	if (err == 0 && which != NULL)
		*which = taken;
	return err;
}

int cc_signal_open(int *signals, const sigset_t *set)
{
	int err;

	if (signals == NULL || set == NULL)
		return EINVAL;
	if ((err = cc__signal_open(signals, set)) == 0)
		cc__fd_made(*signals, 0);
	return err;
}

/* ---- the end of a nursery ---- */

struct cancel_on {
	CCNursery *nursery;
	int signal;
};

/* A daemon of the nursery: cancelled when the other children have ended. */
static int cancel_on_main(void *arg)
{
	const struct cancel_on *c = arg;
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, c->signal);
	if ((err = cc_signal_wait(&set, CC_FOREVER, NULL)) == 0)
		cc_nursery_cancel(c->nursery, EINTR);
	return err == ECANCELED || err == ETIMEDOUT ? 0 : err;
}

int cc_nursery_cancel_on(CCNursery *nursery, int signal)
{
	const struct cancel_on c = {nursery, signal};
	sigset_t set;
	int err = 0;

	sigemptyset(&set);
	if (sigaddset(&set, signal) != 0)
		return EINVAL;
	if (cc_fiber_id() == 0)
		err = cc__signal_block(signal);
	if (err != 0)
		return err;
	return cc_nursery_spawn_daemon_copy(nursery, NULL, cancel_on_main, &c, sizeof c);
}
