/* use.c - waiting after an attempt, and closing. */
#include "io/use.h"

#include <ccc/fd.h>
#include <ccc/io.h>
#include <ccc/task.h>

#include <errno.h>
#include <stdbool.h>

#include "base/lock.h"
#include "os/fork.h"
#include "os/io.h"
#include "io/fd_word.h"
#include "io/wait_fd.h"
#include "wait/host.h"

/* A thread that waits, or a call that sleeps: on its own stack. */
struct use {
	struct use *next, **from;	/* the slot's lock */
	int fd;				/* constant */
	struct cc__bell *bell;		/* constant; NULL: it looks by itself */
	cc__a32 closed;			/* 1: USE-3; written under the slot's lock */
};

enum { SLOTS = 64 };
struct slot {
	struct cc__lock lock;
	struct use *uses;	/* the lock */
} __attribute__((aligned(64)));

static struct slot slots[SLOTS];

static struct slot *slot_of_fd(int fd)
{
	return &slots[(unsigned)fd % SLOTS];
}

/* ---- fibers ---- */

uint32_t cc__use_generation(int fd)
{
	struct cc__poll *p;

	if (fd < 0)
		return 0;
	p = cc__poll_here();
	return p != NULL ? cc__poll_token(p, fd) : cc__fd_word(fd);
}

void cc__use_short(int fd, uint32_t generation)
{
	struct cc__poll *p;

	if ((cc__fd_word(fd) & CC__FD_STREAM) && (p = cc__poll_here()) != NULL)
		cc__poll_short(p, fd, generation);
}

int cc__use_drained(int fd, uint32_t generation)
{
	struct cc__poll *p;

	return fd >= 0 && (cc__fd_word(fd) & CC__FD_STREAM) && (p = cc__poll_here()) != NULL &&
	       cc__poll_drained(p, fd, generation);
}

/* ---- threads and sleepers ---- */

/* 0: u is listed.  EAGAIN: the attempt is to be repeated.  EBADF.  `word` is that of the attempt. */
static int use_enter(struct slot *s, struct use *u, uint32_t word)
{
	uint32_t now;
	int err = 0;

	cc__lock(&s->lock, CC__RANK_USES);
	now = cc__fd_word(u->fd);
	if (now & CC__FD_CLOSING) {
		err = EBADF;
	} else if (now != word) {
		err = cc__fd_closed_since(u->fd, word) ? EBADF : EAGAIN;
	} else {
		u->next = s->uses;
		u->from = &s->uses;
		if (u->next != NULL)
			u->next->from = &u->next;
		s->uses = u;
	}
	cc__unlock(&s->lock);
	return err;
}

/* True: fd was closed meanwhile. */
static bool use_leave(struct slot *s, struct use *u)
{
	cc__lock(&s->lock, CC__RANK_USES);
	*u->from = u->next;
	if (u->next != NULL)
		u->next->from = u->from;
	cc__unlock(&s->lock);
	return cc__load(&u->closed, CC__RELAXED) != 0;	/* Relaxed: the lock */
}

static int block_listed(struct use *u, unsigned events, cc_time deadline, uint32_t word)
{
	int err = use_enter(slot_of_fd(u->fd), u, word);

	if (err != 0)
		return err == EAGAIN ? 0 : err;
	err = cc__block_fd(u->fd, events, deadline, u->bell, &u->closed);
	return use_leave(slot_of_fd(u->fd), u) ? EBADF : err;
}

static int use_block(int fd, unsigned events, cc_time deadline, uint32_t word)
{
	int err;
	struct use u = {.fd = fd, .bell = cc__bell_get(&err)};

	err = block_listed(&u, events, deadline, word);
	if (u.bell != NULL)
		cc__bell_put(u.bell);
	return err;
}

int cc__use_wait(int fd, unsigned events, cc_time deadline, uint32_t generation)
{
	struct cc__poll *p;

	if (fd < 0)
		return EBADF;
	if (deadline == CC_NOW)
		return EAGAIN;
	if (cc__forked())
		return ENOTSUP;
	p = cc__poll_here();
	return p != NULL ? cc__poll_wait_since(p, fd, events, deadline, generation)
	                 : use_block(fd, events, deadline, generation);
}

int cc__use_sleep(int fd, cc_time when, uint32_t generation)
{
	struct use u = {.fd = fd};
	int err;

	if (cc__forked())
		return ENOTSUP;
	if (cc__use_generation(fd) != generation)
		return 0;
	if ((err = use_enter(slot_of_fd(fd), &u, cc__fd_word(fd))) != 0)
		return err == EAGAIN ? 0 : err;
	err = cc_sleep_until(when);
	return use_leave(slot_of_fd(fd), &u) ? EBADF : err;
}

unsigned cc__use_count(int fd)
{
	struct slot *s = slot_of_fd(fd);
	unsigned count = 0;

	cc__lock(&s->lock, CC__RANK_USES);
	for (struct use *u = s->uses; u != NULL; u = u->next)
		count += u->fd == fd;
	cc__unlock(&s->lock);
	return count;
}

/* ---- closing ---- */

/* The bells are rung under the lock, because a call that has left gives its bell to another. */
static void end_uses(struct slot *s, int fd)
{
	cc__lock(&s->lock, CC__RANK_USES);
	for (struct use *u = s->uses; u != NULL; u = u->next)
		if (u->fd == fd) {
			/* Release: to the acquire in block_until. */
			cc__store(&u->closed, 1, CC__RELEASE);
			if (u->bell != NULL)
				cc__poll_ring(u->bell);
		}
	cc__unlock(&s->lock);
}

int cc_fd_close(int fd)
{
	uint32_t word;
	int err;

	/* A child has no other thread that could wait, and perhaps a lock that its parent held. */
	if (fd < 0 || cc__forked())
		return cc__io_close(fd);
	if (!cc__fd_close_begin(fd, &word))
		return EBADF;
	end_uses(slot_of_fd(fd), fd);
	cc__poll_forget(fd);
	err = cc__io_close(fd);
	cc__fd_close_end(fd, word);
	return err;
}
