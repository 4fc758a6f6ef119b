/* poller_test.c - what os/poller.c asks of the kernel, and what it makes of the answers: spans in
 * milliseconds where there is nothing finer, the rest of a span after a signal, hang-ups.
 *
 * link-wrap: syscall epoll_wait ppoll */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "hosts.h"
#include "os/poller.h"
#include "syscalls.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* ---- the kernel ---- */

enum { SIGNALS = 3 };

static _Thread_local struct {
	bool old;			/* it is older than epoll_pwait2, and sleeps never end */
	int timeout;			/* what epoll_wait was called with */
	cc_time at;			/* and when */
	unsigned signals;		/* so many more come during ppoll */
	unsigned calls;			/* of ppoll */
	cc_time span[SIGNALS + 1];	/* what they were called with */
} kernel;

RAW static long on_syscall(long number, const long *a)
{
	if (number == SYS_epoll_pwait2 && kernel.old) {
		errno = ENOSYS;
		return -1;
	}
	return real_syscall(number, a);
}

int __real_epoll_wait(int epoll, struct epoll_event *e, int most, int timeout);
int __wrap_epoll_wait(int epoll, struct epoll_event *e, int most, int timeout);
RAW int __wrap_epoll_wait(int epoll, struct epoll_event *e, int most, int timeout)
{
	if (!kernel.old)
		return __real_epoll_wait(epoll, e, most, timeout);
	kernel.timeout = timeout;
	kernel.at = cc__now();
	return __real_epoll_wait(epoll, e, most, 0);
}

int __real_ppoll(struct pollfd *p, nfds_t n, const struct timespec *span, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *p, nfds_t n, const struct timespec *span, const sigset_t *mask);
RAW int __wrap_ppoll(struct pollfd *p, nfds_t n, const struct timespec *span, const sigset_t *mask)
{
	if (kernel.calls <= SIGNALS && span != NULL)
		kernel.span[kernel.calls] = span->tv_sec * CC_SEC + span->tv_nsec;
	kernel.calls++;
	if (kernel.signals == 0)
		return __real_ppoll(p, n, span, mask);
	kernel.signals--;
	usleep(1000);
	errno = EINTR;
	return -1;
}

/* ---- a poller ---- */

struct set {
	struct cc__poller poller;
	int bell;
};

static void set_begin(struct set *s)
{
	int err;

	s->bell = cc__bell_new(&err);
	CHECK_EQ(err, 0);
	CHECK_EQ(cc__poller_open(&s->poller, s->bell), 0);
}

static void set_end(struct set *s)
{
	cc__poller_close(&s->poller);
	CHECK_EQ(close(s->bell), 0);
}

static unsigned wait_in(struct set *s, struct cc__poller_event *e, cc_time deadline)
{
	return cc__poller_wait(&s->poller, e, 1, deadline);
}

/* ---- milliseconds ---- */

/* A span that is rounded down ends before the deadline: the caller then asks again and again, with
 * a span of 0, until the deadline has passed. */
TEST(poller_rounds_spans_of_milliseconds_up)
{
	struct cc__poller_event e;
	struct set s;

	set_begin(&s);
	kernel.old = true;
	for (int i = 0; i < 20; i++) {
		const cc_time deadline = cc__now() + 3600 * CC_SEC + 50 * i * CC_USEC;

		CHECK_EQ(wait_in(&s, &e, deadline), 0);
		CHECK(kernel.timeout * CC_MSEC >= deadline - kernel.at);
		CHECK(kernel.timeout * CC_MSEC <= deadline - cc__now() + 3600 * CC_SEC);
	}
	kernel.old = false;
	set_end(&s);
}

TEST(poller_knows_spans_without_an_end_and_of_nothing_in_milliseconds)
{
	struct cc__poller_event e;
	struct set s;

	set_begin(&s);
	kernel.old = true;
	CHECK_EQ(wait_in(&s, &e, CC_FOREVER), 0);
	CHECK_EQ(kernel.timeout, -1);
	CHECK_EQ(wait_in(&s, &e, CC_NOW), 0);
	CHECK_EQ(kernel.timeout, 0);
	CHECK_EQ(wait_in(&s, &e, cc__now() - CC_SEC), 0);
	CHECK_EQ(kernel.timeout, 0);
	CHECK_EQ(wait_in(&s, &e, CC_FOREVER - 1), 0);
	CHECK(kernel.timeout > 3600 * 1000);
	kernel.old = false;
	set_end(&s);
}

TEST(poller_reports_in_milliseconds_too)
{
	struct cc__poller_event e = {0};
	struct set s;
	int end[2];

	set_begin(&s);
	new_pipe(end);
	kernel.old = true;
	CHECK_EQ(cc__poller_add(&s.poller, end[0], CC_FD_READ, 7), 0);
	CHECK_EQ(wait_in(&s, &e, CC_FOREVER), 0);
	put(end[1]);
	CHECK_EQ(wait_in(&s, &e, CC_FOREVER), 1);
	CHECK_EQ(e.fd, end[0]);
	CHECK_EQ(e.tag, 7);
	CHECK_EQ(e.ready, CC_FD_READ);
	kernel.old = false;
	close_both(end);
	set_end(&s);
}

/* ---- signals ---- */

/* Each signal takes 1 ms or more of the span.  If the span began anew, signals that come often
 * enough would put the deadline off for ever. */
TEST(poller_block_has_the_rest_of_its_span_after_a_signal)
{
	int end[2];

	new_pipe(end);
	put(end[1]);
	kernel.calls = 0;
	kernel.signals = SIGNALS;
	CHECK_EQ(cc__poller_block(end[0], CC_FD_READ, -1, cc__now() + 3600 * CC_SEC), 0);
	CHECK_EQ(kernel.calls, SIGNALS + 1);
	for (unsigned i = 0; i < SIGNALS; i++)
		CHECK(kernel.span[i + 1] <= kernel.span[i] - CC_MSEC);
	close_both(end);
}

TEST(poller_block_that_is_late_after_a_signal_times_out)
{
	int end[2];

	new_pipe(end);
	kernel.calls = 0;
	kernel.signals = SIGNALS;
	CHECK_EQ(cc__poller_block(end[0], CC_FD_READ, -1, cc__now() + CC_MSEC), ETIMEDOUT);
	CHECK_EQ(kernel.calls, SIGNALS + 1);
	CHECK_EQ(kernel.span[SIGNALS], 0);
	close_both(end);
}

/* ---- hang-ups ---- */

/* The reader of a pipe without a writer finds its end, so it has to be told; the writer of a pipe
 * without a reader finds EPIPE. */
TEST(poller_reports_a_hang_up_as_ready_both_ways)
{
	for (int closed = 0; closed < 2; closed++) {
		struct cc__poller_event e = {0};
		struct set s;
		int end[2];

		set_begin(&s);
		new_pipe(end);
		if (closed == 0)
			fill(end[1]);
		CHECK_EQ(cc__poller_add(&s.poller, end[1 - closed],
		                        closed == 0 ? CC_FD_WRITE : CC_FD_READ, 7),
		         0);
		CHECK_EQ(wait_in(&s, &e, CC_NOW), 0);
		CHECK_EQ(close(end[closed]), 0);
		CHECK_EQ(wait_in(&s, &e, CC_NOW), 1);
		CHECK_EQ(e.fd, end[1 - closed]);
		CHECK_EQ(e.ready, CC_FD_READ | CC_FD_WRITE | CC__POLLER_LAST);
		CHECK_EQ(close(end[1 - closed]), 0);
		set_end(&s);
	}
}
