/* idle_poll.c - a worker that falls asleep while descriptors are waited for, on the
 * real sched/idle.c: it sleeps in the poller or on its word, and whoever has something
 * for it ends that sleep.
 *
 * The poller is a word that stands for the kernel: an event, the bell.  Claim, release
 * and the count of those who wait are as in io/poll.c (P5), which has its own
 * scenarios.  Workers never time out: a lost wake is a deadlock.
 *
 * sources: sched/idle.c */
#include <errno.h>

#define SHIM_NO_WAITS
#define SHIM_POLLER
#include "shim_wait.h"
#include "sched/idle.h"
#include "io/poll.h"

static struct cc__idle idle;
static struct cc__poll poll;
static struct cc__bell bell;
enum { EVENT = 1, RUNG = 2 };
static cc__a32 kernel;
static cc__a32 work;	/* queued fibers */
static cc__a32 served;	/* fibers run, and events found */

struct cc__thread *cc__thread_self(void)
{
	return &record[mc_self()];
}

/* ---- the poller ---- */

static void kernel_set(uint32_t bit)
{
	cc__or(&kernel, bit, CC__RELAXED);
	cc__futex_wake(&kernel, 1);
}

void cc__poll_ring(struct cc__bell *b)
{
	MC_ASSERT(b == &bell);
	kernel_set(RUNG);
}

static bool unattended(void *arg)
{
	(void)arg;
	return cc__poll_unattended(&poll);
}

static struct cc__bell *claim(void *arg)
{
	uint32_t nobody = 0;

	return unattended(arg) && cc__cas(&poll.claimed, &nobody, 1, CC__ACQUIRE, CC__RELAXED)
	           ? &bell
	           : NULL;
}

static void release(void *arg)
{
	(void)arg;
	cc__store(&poll.claimed, 0, CC__SEQ_CST);
}

/* True: it found the event, and one fewer waits. */
static bool take_event(void)
{
	if (!(cc__and(&kernel, ~(uint32_t)EVENT, CC__RELAXED) & EVENT))
		return false;
	cc__sub(&poll.waiting, 1, CC__RELAXED);
	cc__add(&served, 1, CC__RELAXED);
	return true;
}

static bool await(void *arg, cc_time deadline)
{
	MC_ASSERT(deadline == CC_FOREVER);
	while (cc__or(&kernel, 0, CC__RELAXED) == 0)
		cc__futex_wait(&kernel, 0, CC_FOREVER);
	cc__and(&kernel, ~(uint32_t)RUNG, CC__RELAXED);
	release(arg);
	if (!take_event())
		return false;
	if (arg != NULL)
		*(bool *)arg = true;
	return true;
}

static const struct cc__idle_poller poller = {unattended, claim, release, await};

/* ---- the workers ---- */

static bool left(void *arg)
{
	(void)arg;
	return cc__load(&work, CC__RELAXED) != 0;
}

static bool stay(void *arg)
{
	(void)arg;
	return false;
}

static cc_time no_timer(void *arg)
{
	(void)arg;
	return CC_FOREVER;
}

static const struct cc__idle_ops ops = {left, stay, no_timer, &poller};

static bool take_work(void)
{
	uint32_t n = cc__load(&work, CC__RELAXED);

	while (n != 0)
		if (cc__cas(&work, &n, n - 1, CC__ACQUIRE, CC__RELAXED)) {
			cc__add(&served, 1, CC__RELAXED);
			return true;
		}
	return false;
}

/* Search and sleep until there is nothing more to come. */
static void serve(unsigned number, uint32_t due)
{
	cc__idle_search(&idle);
	while (cc__load(&served, CC__RELAXED) < due) {
		const uint64_t snapshot = cc__idle_generations(&idle);

		if (!take_work())
			cc__idle_sleep(&idle, number, snapshot, &ops, NULL, CC_FOREVER, CC_FOREVER);
	}
	cc__idle_give_up(&idle);
}

static uint32_t due = 1;

static void worker_1(void)
{
	serve(0, due);
}

static void all_served(void)
{
	MC_ASSERT(cc__peek(&served) == due);
	MC_ASSERT(cc__peek(&idle.sleepers) == 0 && cc__peek(&idle.searching) == 0);
	MC_ASSERT(cc__peek(&idle.keeper) == 0 && cc__peek(&poll.claimed) == 0);
}

/* ---- something to run, while it falls asleep in the poller ---- */

static void one_waits(void)
{
	cc__init(&idle.count, 1);
	cc__init(&poll.waiting, 1);
}

static void push(void)
{
	cc__add(&work, 1, CC__RELEASE);
	cc__idle_pushed_outside(&idle, CC__ANY);
}
SCENARIO(idle_poll_push, .init = one_waits, .body = {worker_1, push}, .final = all_served)

static void event(void)
{
	kernel_set(EVENT);
}

static void one_waits_two_due(void)
{
	one_waits();
	due = 2;
}
SCENARIO(idle_poll_push_and_event, .init = one_waits_two_due, .body = {worker_1, push, event},
         .bound = 2, .final = all_served)

/* ---- a wait that begins while it falls asleep on its word ---- */

static void nobody_waits(void)
{
	cc__init(&idle.count, 1);
}

/* Another worker, which is busy from then on. */
static void begin_to_wait(void)
{
	cc__add(&poll.waiting, 1, CC__SEQ_CST);
	if (cc__poll_unattended(&poll))
		cc__idle_poll(&idle);
	kernel_set(EVENT);
}
SCENARIO(idle_poll_first_wait, .init = nobody_waits, .body = {worker_1, begin_to_wait},
         .final = all_served)

/* ---- whoever leaves the poller leaves it to another ---- */

static void two_workers(void)
{
	cc__init(&idle.count, 2);
	cc__init(&idle.searching, 2);
	cc__init(&poll.waiting, 2);
	cc__init(&kernel, EVENT);
	due = 2;
}

/* Both: who finds an event runs that fiber, and never comes back. */
static void poll_and_leave(void)
{
	bool mine = false;

	while (!mine && cc__load(&served, CC__RELAXED) < due) {
		const uint64_t snapshot = cc__idle_generations(&idle);

		cc__idle_sleep(&idle, (unsigned)mc_self(), snapshot, &ops, &mine, CC_FOREVER,
		               CC_FOREVER);
	}
	cc__idle_found(&idle, &ops, &mine);
	if (mine && cc__load(&poll.waiting, CC__RELAXED) > 0)
		kernel_set(EVENT);
}
SCENARIO(idle_poll_left_to_another, .init = two_workers,
         .body = {poll_and_leave, poll_and_leave}, .final = all_served)
