/* hosts.h - a runtime with a pipe, and sleepers that wait for a descriptor. */
#ifndef TEST_HOSTS_H
#define TEST_HOSTS_H

#include "sleepers.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sched/sched.h"

#ifndef HOST_WORKERS
#define HOST_WORKERS 2
#endif

struct host {
	CCRuntime *rt;
	struct cc__sched *sched;
	struct cc__poll *poll;
	int end[2];		/* of a pipe, that nothing else uses */
};

/* ---- descriptors ---- */

static inline void nonblocking(int fd)
{
	CHECK_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static inline void new_pipe(int end[2])
{
	CHECK_EQ(pipe(end), 0);
	nonblocking(end[0]);
	nonblocking(end[1]);
}

static inline void close_both(int end[2])
{
	CHECK_EQ(close(end[0]), 0);
	CHECK_EQ(close(end[1]), 0);
}

static inline void put(int fd)
{
	CHECK_EQ(write(fd, "x", 1), 1);
}

static inline void fill(int fd)
{
	static char much[4096];

	while (write(fd, much, sizeof much) > 0)
		continue;
	CHECK_EQ(errno, EAGAIN);
}

static inline void drain(int fd)
{
	char much[4096];

	while (read(fd, much, sizeof much) > 0)
		continue;
}

/* ---- the host ---- */

/* Nobody looks around by himself: what is not woken sleeps. */
static inline void host_begin(struct host *h)
{
	CCConfig c;

	*h = (struct host){.rt = NULL};
	CHECK_EQ(cc_config_init(&c), 0);
	only_workers(&c, HOST_WORKERS);
	c.idle_wait = c.stack_idle = CC_FOREVER;
	CHECK_EQ(cc_runtime_new(&h->rt, &c), 0);
	h->sched = (struct cc__sched *)(void *)h->rt;
	h->poll = &h->sched->poll;
	new_pipe(h->end);
}

static inline void host_end(struct host *h)
{
	CHECK_EQ(cc__poll_waiting(h->poll), 0);
	CHECK_EQ(cc_runtime_free(h->rt), 0);
	close_both(h->end);
}

/* ---- one who waits ---- */

struct wait {
	int fd;
	unsigned events;
	cc_time span;	/* from when it begins; CC_FOREVER, CC_NOW as they are */
	int tries;	/* how often it has woken */
	struct sleeper s;
};

static inline int wait_once(void *arg)
{
	struct wait *w = arg;
	const cc_time deadline = w->span == CC_NOW || w->span == CC_FOREVER ? w->span
	                                                                    : cc_now() + w->span;

	return cc_wait_fd(w->fd, w->events, deadline);
}

/* Until it is so: 0 may come for no reason. */
static inline int wait_until_ready(void *arg)
{
	struct wait *w = arg;
	int err;

	do {
		err = wait_once(w);
		w->tries++;
	} while (err == 0 && cc_wait_fd(w->fd, w->events, CC_NOW) == EAGAIN);
	return err;
}

static inline void wait_begin(struct wait *w, struct host *h, enum kind kind, int fd,
                              unsigned events, cc_time span)
{
	w->fd = fd;
	w->events = events;
	w->span = span;
	w->tries = 0;
	sleeper_start(&w->s, h->rt, kind, wait_until_ready, w);
}

/* Asleep, and the kernel told: a fiber is PARKED; of a thread one cannot tell. */
static inline void until_asleep(struct wait *w)
{
	if (w->s.kind == FIBER)
		until_parked(&w->s);
	else
		sleeper_who(&w->s);
}

/* For something in the host's pipe, and asleep; then it comes. */
static inline void wait_for_data(struct wait *w, struct host *h, enum kind kind)
{
	wait_begin(w, h, kind, h->end[0], CC_FD_READ, CC_FOREVER);
	until_asleep(w);
}

static inline void data_wakes(struct wait *w, struct host *h)
{
	put(h->end[1]);
	CHECK_EQ(sleeper_join(&w->s), 0);
}

#endif
