/* signal.c - signalfd.  errno is read through <ccc/errno.h>, as in io.c. */
#include "os/signal.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <ccc/errno.h>

int cc__signal_open(int *fd, const sigset_t *set)
{
	const int s = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);

	if (s < 0)
		return errno;
	*fd = s;
	return 0;
}

int cc__signal_take(int fd, int *which)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
		if (errno != EINTR)
			return errno;
	*which = (int)info.ssi_signo;
	return 0;
}

int cc__signal_block(int which)
{
	sigset_t set;

	sigemptyset(&set);
	if (sigaddset(&set, which) != 0)
		return EINVAL;
	return pthread_sigmask(SIG_BLOCK, &set, NULL);
}
