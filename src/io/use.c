/* use.c - the slots, waiting, and closing. */
#include "io/use.h"

#include <ccc/fd.h>
#include <ccc/fiber.h>
#include <ccc/io.h>
#include <ccc/task.h>

#include <errno.h>
#include <stdbool.h>

#include "base/lock.h"
#include "os/fork.h"
#include "os/io.h"

/* A call that waits, or a thread that closes: on its own stack. */
struct use {
	struct use *next, **from;	/* the slot's lock */
	int fd;				/* constant */
	bool in_poller;			/* constant: cc_fd_forget wakes it */
	bool closed;			/* the slot's lock; USE-3 */
};

enum { SLOTS = 64 };
struct slot {
	struct cc__lock lock;
	cc__a32 generation;	/* written under the lock */
	struct use *waiting;	/* the lock */
	struct use *closing;	/* the lock */
} __attribute__((aligned(64)));

static struct slot slots[SLOTS];

static struct slot *slot_of_fd(int fd)
{
	return &slots[(unsigned)fd % SLOTS];
}

/* ---- lists, under the slot's lock ---- */

static void use_push(struct use **list, struct use *u)
{
	u->next = *list;
	u->from = list;
	if (u->next != NULL)
		u->next->from = &u->next;
	*list = u;
}

static void use_remove(struct use *u)
{
	*u->from = u->next;
	if (u->next != NULL)
		u->next->from = u->from;
}

static bool being_closed(const struct slot *s, int fd)
{
	const struct use *u = s->closing;

	while (u != NULL && u->fd != fd)
		u = u->next;
	return u != NULL;
}

/* ---- waiting ---- */

uint32_t cc__use_generation(int fd)
{
	/* Acquire: the attempt comes after.  Pairs with the unlock in cc_fd_close: a call that reads
	 * the new value finds the number closed. */
	return cc__load(&slot_of_fd(fd)->generation, CC__ACQUIRE);
}

/* 0: u is listed.  EAGAIN: the attempt is to be repeated.  EBADF. */
static int use_enter(struct slot *s, struct use *u, uint32_t generation)
{
	int err = 0;

	cc__lock(&s->lock, CC__RANK_USES);
	if (being_closed(s, u->fd))
		err = EBADF;
	else if (cc__load(&s->generation, CC__RELAXED) != generation)	/* Relaxed: the lock */
		err = EAGAIN;
	else
		use_push(&s->waiting, u);
	cc__unlock(&s->lock);
	return err;
}

/* True: fd was closed meanwhile. */
static bool use_leave(struct slot *s, struct use *u)
{
	cc__lock(&s->lock, CC__RANK_USES);
	use_remove(u);
	cc__unlock(&s->lock);
	return u->closed;
}

int cc__use_wait(int fd, unsigned events, cc_time deadline, uint32_t generation)
{
	struct use u = {.fd = fd, .in_poller = cc_fiber_id() != 0};
	int err;

	if (fd < 0)
		return EBADF;
	if (deadline == CC_NOW)
		return EAGAIN;
	if (cc__forked())
		return ENOTSUP;
	if ((err = use_enter(slot_of_fd(fd), &u, generation)) != 0)
		return err == EAGAIN ? 0 : err;
	err = cc_wait_fd(fd, events, deadline);
	return use_leave(slot_of_fd(fd), &u) ? EBADF : err;
}

int cc__use_sleep(int fd, cc_time when, uint32_t generation)
{
	struct use u = {.fd = fd};
	int err;

	if (cc__forked())
		return ENOTSUP;
	if ((err = use_enter(slot_of_fd(fd), &u, generation)) != 0)
		return err == EAGAIN ? 0 : err;
	err = cc_sleep_until(when);
	return use_leave(slot_of_fd(fd), &u) ? EBADF : err;
}

/* ---- closing ---- */

/* Marks the calls that wait for fd.  True: one of them may be in the poller. */
static bool mark_waiting(struct slot *s, int fd)
{
	bool some = false;

	cc__lock(&s->lock, CC__RANK_USES);
	for (struct use *u = s->waiting; u != NULL; u = u->next)
		if (u->fd == fd) {
			u->closed = true;
			some |= u->in_poller;
		}
	cc__unlock(&s->lock);
	return some;
}

/* A marked call may have entered the list and not yet the poller, where a wake finds it.  So it
 * is woken again until it has left.  The caller may be cancelled, so that it does not sleep: it
 * yields in each round. */
static void end_uses(struct slot *s, int fd)
{
	enum { YIELDS = 64 };

	for (unsigned round = 0; mark_waiting(s, fd); round++) {
		cc_fd_forget(fd);
		cc_yield();
		if (round >= YIELDS)
			cc_sleep_until(cc_after(100 * CC_USEC));
	}
	cc_fd_forget(fd);	/* waits by cc_wait_fd, and the poller's own record */
}

static bool begin_close(struct slot *s, struct use *u)
{
	bool first;

	cc__lock(&s->lock, CC__RANK_USES);
	if ((first = !being_closed(s, u->fd)))
		use_push(&s->closing, u);
	cc__unlock(&s->lock);
	return first;
}

int cc_fd_close(int fd)
{
	struct slot *s = slot_of_fd(fd);
	struct use u = {.fd = fd};
	int err;

	/* A child has no other thread that could wait, and perhaps a lock that its parent held. */
	if (fd < 0 || cc__forked())
		return cc__io_close(fd);
	if (!begin_close(s, &u))
		return EBADF;
	end_uses(s, fd);
	err = cc__io_close(fd);
	cc__lock(&s->lock, CC__RANK_USES);
	use_remove(&u);
	/* Release: pairs with cc__use_generation, after the close. */
	cc__store(&s->generation, cc__load(&s->generation, CC__RELAXED) + 1, CC__RELEASE);
	cc__unlock(&s->lock);
	return err;
}
