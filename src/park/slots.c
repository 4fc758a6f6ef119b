/* slots.c - the pool of slots, and the server. */
#include "park/slots.h"

#include <errno.h>

#include "os/fork.h"
#include "os/shared.h"
#include "os/uring.h"

/* ---- the pool ---- */

static struct cc__slot slots[CC__SLOTS];

static struct {
	struct cc__lock lock;
	struct cc__slot *free;	/* lock; given back */
	uint32_t fresh;		/* lock; so many have ever been taken */
	uint32_t used;		/* lock */
} pool;

struct cc__slot *cc__slot_get(void)
{
	struct cc__slot *s;

	cc__lock(&pool.lock, CC__RANK_POOL);
	if ((s = pool.free) != NULL)
		pool.free = s->next;
	else if (pool.fresh < CC__SLOTS)
		s = &slots[pool.fresh++];
	if (s != NULL)
		pool.used++;
	cc__unlock(&pool.lock);
	return s;
}

void cc__slot_put(struct cc__slot *s)
{
	cc__lock(&pool.lock, CC__RANK_POOL);
	s->next = pool.free;
	pool.free = s;
	pool.used--;
	cc__unlock(&pool.lock);
}

uint32_t cc__slots_used(void)
{
	uint32_t used;

	cc__lock(&pool.lock, CC__RANK_POOL);
	used = pool.used;
	cc__unlock(&pool.lock);
	return used;
}

/* ---- the server ---- */

/* Its name for the wait on the bell; slots go by their numbers. */
#define THE_BELL ((uint64_t)CC__SLOTS)

enum { REPORTS = 64 };

static struct cc__uring ring;		/* the server's, once it runs */

/* 1: the server sleeps, or is about to, and has to be woken for what is left for it.
 *
 *      who asks                         the server
 *      leave it          (lock)         bell = 1
 *      bell: was 1?  =0                 take what was left   (lock)
 *      wake the bell                    wait on bell == 1, among others
 *
 * Who leaves something after the server has taken finds the 1, by the lock.  If he is
 * faster than the wait, the kernel finds 0 there, and the wait is over at once. */
static cc__a32 bell;

static struct {
	struct cc__lock lock;
	struct cc__slot *first, *last;	/* lock; to be looked at */
} left;

/* Under the lock. */
static void queue(struct cc__slot *s)
{
	if (s->queued)
		return;
	s->queued = true;
	s->after = NULL;
	if (left.first == NULL)
		left.first = s;
	else
		left.last->after = s;
	left.last = s;
}

/* A cancel of the slot's former wait may still be queued: it is this one's from here on,
 * unless the server has taken it, and then it meets nothing. */
static void leave(struct cc__slot *s, bool cancel)
{
	cc__lock(&left.lock, CC__RANK_POOL);
	s->cancel = cancel;
	if (!cancel)
		s->wait = true;
	queue(s);
	cc__unlock(&left.lock);
	/* Acq_rel: ordered by the lock; whoever finds 0 left it to who found the 1. */
	if (cc__xchg(&bell, 0, CC__ACQ_REL) == 1)
		cc__futex_wake(&bell, 1);
}

void cc__server_wait(struct cc__slot *s)
{
	leave(s, false);
}

void cc__server_cancel(struct cc__slot *s)
{
	leave(s, true);
}

/* What is wanted of the next slot; it is off the list. */
static struct cc__slot *take(bool *wait, bool *cancel)
{
	struct cc__slot *s;

	cc__lock(&left.lock, CC__RANK_POOL);
	if ((s = left.first) != NULL) {
		left.first = s->after;
		*wait = s->wait;
		*cancel = s->cancel;
		s->queued = s->wait = false;
	}
	cc__unlock(&left.lock);
	return s;
}

static bool cancelled(struct cc__slot *s)
{
	bool cancel;

	cc__lock(&left.lock, CC__RANK_POOL);
	cancel = s->cancel;
	cc__unlock(&left.lock);
	return cancel;
}

static void ask(struct cc__slot *s)
{
	cc__uring_wait(&ring, s->other.word, s->other.expected, true, (uint64_t)(s - slots));
}

/* The last touch of s (S2). */
static void tell(struct cc__slot *s, enum cc__futex_end end)
{
	struct cc__wake wake;

	cc__lock(s->lock, CC__RANK_WAITQ);
	s->other.end = end;
	wake = cc__waitq_tell_first(&s->sleeper, CC__REASON_DATA, 0);
	cc__unlock(s->lock);
	cc__wake(wake);
}

static void report(struct cc__slot *s, int result)
{
	if (cc__futex_gone(&s->other.faults, result)) {
		tell(s, CC__FUTEX_GONE);
		return;
	}
	switch (result) {
	case 0:
		tell(s, CC__FUTEX_WOKEN);
		break;
	case EAGAIN:
		tell(s, CC__FUTEX_DIFFERS);
		break;
	case EFAULT:
	case ECANCELED:
	case EINTR:
	case ENOMEM:	/* for no reason that is the sleeper's, unless he wants out */
		if (cancelled(s))
			tell(s, CC__FUTEX_CANCELLED);
		else
			ask(s);
		break;
	default:
		tell(s, CC__FUTEX_GONE);
	}
}

static void look(void)
{
	struct cc__slot *s;
	bool wait, cancel;

	while ((s = take(&wait, &cancel)) != NULL) {
		if (wait && cancel)
			tell(s, CC__FUTEX_CANCELLED);
		else if (wait)
			ask(s);
		else
			cc__uring_cancel(&ring, (uint64_t)(s - slots));
	}
}

static void serve(void *unused)
{
	struct cc__uring_report reports[REPORTS];
	bool listening = false;

	(void)unused;
	for (;;) {
		unsigned n;

		cc__store(&bell, 1, CC__RELAXED);	/* Relaxed: the lock in take orders */
		CC_POINT("server.before_look", &bell);
		look();
		if (!listening)
			cc__uring_wait(&ring, &bell, 1, false, THE_BELL);
		listening = true;
		n = cc__uring_run(&ring, reports, REPORTS);
		for (unsigned i = 0; i < n; i++)
			if (reports[i].name == THE_BELL)
				listening = false;
			else
				report(&slots[reports[i].name], reports[i].result);
	}
}

/* ---- open and start ---- */

enum { CLOSED, OPEN, RUNNING };

static cc__a32 state;
static struct cc__lock state_lock;	/* who changes it */

static int open_ring(void)
{
	int err;

	if (!cc__futex_either_works())
		return ENOTSUP;
	/* And the one on the bell. */
	if ((err = cc__uring_open(&ring, CC__SLOTS + 1)) != 0)
		return err;
	/* Release: the ring, to the acquire in has_come_to. */
	cc__store(&state, OPEN, CC__RELEASE);
	return 0;
}

static int start(void)
{
	struct cc__os_thread thread;

	cc__fork_watch();	/* a child would have no server */
	if (cc__thread_start(&thread, serve, NULL, "cc-shared") != 0) {
		cc__fork_unwatch();
		return ENOMEM;
	}
	/* Release: as above. */
	cc__store(&state, RUNNING, CC__RELEASE);
	return 0;
}

static bool has_come_to(uint32_t wanted)
{
	/* Acquire: pairs with the releases above. */
	return cc__load(&state, CC__ACQUIRE) >= wanted;
}

static int come_to(uint32_t wanted, int (*step)(void))
{
	int err;

	if (has_come_to(wanted))
		return 0;
	cc__lock(&state_lock, CC__RANK_RUNTIME);
	err = has_come_to(wanted) ? 0 : step();
	cc__unlock(&state_lock);
	return err;
}

int cc__server_open(void)
{
	return come_to(OPEN, open_ring);
}

int cc__server_start(void)
{
	return come_to(RUNNING, start);
}
