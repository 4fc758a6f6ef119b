/* poller.c - epoll, an eventfd for the bell, and poll(2). */
#include "os/poller.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/atomic.h"
#include "os/tools.h"

/* Not in every C library (Linux 5.11). */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* What the kernel gives back with an event: tag << 32 | descriptor, or this, which is none. */
#define THE_BELL UINT64_MAX

enum { EVENTS_MAX = 128 };

/* The time left until deadline, in the form that system calls take; NULL: no end. */
static struct timespec *left_until(cc_time deadline, struct timespec *t)
{
	cc_time left;

	if (deadline == CC_FOREVER)
		return NULL;
	left = deadline == CC_NOW ? 0 : deadline - cc__now();
	if (left < 0)
		left = 0;
	t->tv_sec = (time_t)(left / CC_SEC);
	t->tv_nsec = (long)(left % CC_SEC);
	return t;
}

/* ---- the bell ---- */

int cc__bell_new(int *err)
{
	int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	*err = bell < 0 ? errno : 0;
	return bell;
}

void cc__bell_ring(int bell)
{
	const uint64_t one = 1;

	ssize_t written;

	/* EAGAIN: it has been rung so often that it is sure to be heard. */
	cc__quiet_begin();
	written = write(bell, &one, sizeof one);
	cc__quiet_end();
	(void)written;
}

static void silence(int bell)
{
	uint64_t count;
	ssize_t n;

	cc__quiet_begin();
	n = read(bell, &count, sizeof count);
	cc__quiet_end();
	(void)n;	/* an error: silent already */
}

/* ---- the set ---- */

int cc__poller_open(struct cc__poller *p, int bell)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = THE_BELL};
	int err;

	p->bell = bell;
	if ((p->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
		return errno;
	if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, bell, &e) == 0)
		return 0;
	err = errno;
	close(p->epoll);
	return err == ENOSPC ? ENOMEM : err;
}

void cc__poller_close(struct cc__poller *p)
{
	cc__quiet_begin();
	close(p->epoll);
	cc__quiet_end();
}

/* An edge is reported for urgent data too, and for the end of what the peer sends: a report tells
 * whether a short read is the last word (CC__POLLER_LAST). */
static uint32_t mask_of(unsigned events)
{
	const bool edge = (events & CC__POLLER_EDGE) != 0;
	uint32_t mask = edge ? EPOLLET : EPOLLONESHOT;

	if (events & CC_FD_READ)
		mask |= edge ? EPOLLIN | EPOLLRDHUP | EPOLLPRI : EPOLLIN;
	if (events & CC_FD_WRITE)
		mask |= EPOLLOUT;
	return mask;
}

static int control(const struct cc__poller *p, int how, int fd, unsigned events, uint32_t tag)
{
	struct epoll_event e = {.events = mask_of(events),
	                        .data.u64 = (uint64_t)tag << 32 | (uint32_t)fd};
	int err;

	cc__quiet_begin();
	err = epoll_ctl(p->epoll, how, fd, &e) == 0 ? 0 : errno;
	cc__quiet_end();
	return err == ENOSPC ? ENOMEM : err;
}

int cc__poller_add(const struct cc__poller *p, int fd, unsigned events, uint32_t tag)
{
	return control(p, EPOLL_CTL_ADD, fd, events, tag);
}

int cc__poller_change(const struct cc__poller *p, int fd, unsigned events, uint32_t tag)
{
	return control(p, EPOLL_CTL_MOD, fd, events, tag);
}

void cc__poller_forget(const struct cc__poller *p, int fd)
{
	struct epoll_event unused = {0};

	/* What was closed already is not there any more, which is as good. */
	cc__quiet_begin();
	(void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, fd, &unused);
	cc__quiet_end();
}

/* ---- wait ---- */

/* In milliseconds, rounded up: late by less than one, never early. */
static int wait_coarsely(int epoll, struct epoll_event *e, int most, const struct timespec *left)
{
	const cc_time max = (cc_time)INT32_MAX * CC_MSEC;
	cc_time ns;

	if (left == NULL)
		return epoll_wait(epoll, e, most, -1);
	ns = left->tv_sec >= max / CC_SEC ? max - CC_MSEC : left->tv_sec * CC_SEC + left->tv_nsec;
	return epoll_wait(epoll, e, most, (int)((ns + CC_MSEC - 1) / CC_MSEC));
}

static int wait_for_events(int epoll, struct epoll_event *e, int most, cc_time deadline)
{
	static cc__a32 coarse;	/* 1: the kernel has nothing better */
	struct timespec t, *left = left_until(deadline, &t);
	long n;

	if (cc__load(&coarse, CC__RELAXED) == 0) {	/* Relaxed: a hint */
		n = syscall(SYS_epoll_pwait2, epoll, e, most, left, NULL, (size_t)0);
		if (n >= 0 || errno == EINTR)
			return (int)n;
		/* ENOSYS, or whatever a sandbox says to calls it does not know. */
		cc__store(&coarse, 1, CC__RELAXED);	/* Relaxed: as above */
	}
	return wait_coarsely(epoll, e, most, left);
}

static unsigned ready_of(uint32_t events)
{
	unsigned ready = 0;

	if (events & (EPOLLRDHUP | EPOLLPRI))
		ready |= CC_FD_READ | CC__POLLER_LAST;
	if (events & EPOLLIN)
		ready |= CC_FD_READ;
	if (events & EPOLLOUT)
		ready |= CC_FD_WRITE;
	return events & (EPOLLERR | EPOLLHUP) ? CC_FD_READ | CC_FD_WRITE | CC__POLLER_LAST : ready;
}

unsigned cc__poller_wait(const struct cc__poller *p, struct cc__poller_event *events, unsigned most,
                         cc_time deadline)
{
	struct epoll_event e[EVENTS_MAX];
	const int n = wait_for_events(p->epoll, e, most < EVENTS_MAX ? (int)most : EVENTS_MAX,
	                              deadline);
	unsigned count = 0;

	for (int i = 0; i < n; i++)	/* n is -1 after a signal */
		if (e[i].data.u64 != THE_BELL)
			events[count++] = (struct cc__poller_event){
			    .fd = (int)(uint32_t)e[i].data.u64,
			    .tag = (uint32_t)(e[i].data.u64 >> 32),
			    .ready = ready_of(e[i].events)};
		else if (deadline != CC_NOW)
			silence(p->bell);
	return count;
}

static struct pollfd polled(int fd, unsigned events)
{
	struct pollfd p = {.fd = fd};

	if (events & CC_FD_READ)
		p.events |= POLLIN;
	if (events & CC_FD_WRITE)
		p.events |= POLLOUT;
	return p;
}

int cc__poller_look(int fd, unsigned events, unsigned *ready)
{
	struct pollfd p = polled(fd, events);
	int n;

	do
		n = fd >= 0 ? poll(&p, 1, 0) : -1;
	while (fd >= 0 && n < 0 && errno == EINTR);
	if (fd < 0 || (n > 0 && (p.revents & POLLNVAL)))
		return EBADF;
	if (n <= 0)
		return n == 0 ? EAGAIN : errno;
	*ready = 0;
	if (p.revents & POLLIN)
		*ready |= CC_FD_READ;
	if (p.revents & POLLOUT)
		*ready |= CC_FD_WRITE;
	if (p.revents & (POLLERR | POLLHUP))
		*ready |= events;
	return 0;
}

int cc__poller_block(int fd, unsigned events, int bell, cc_time deadline)
{
	struct pollfd p[] = {polled(fd, events), {.fd = bell, .events = POLLIN}};
	struct timespec left;
	int n;

	do
		n = ppoll(p, 2, left_until(deadline, &left), NULL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	if (n == 0)
		return deadline == CC_NOW ? EAGAIN : ETIMEDOUT;
	if (p[0].revents != 0)
		return p[0].revents & POLLNVAL ? EBADF : 0;
	silence(bell);
	return EINTR;
}
