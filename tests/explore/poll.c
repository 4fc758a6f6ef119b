/* poll.c - waiting for a descriptor: waiters, events, deadlines, forget and kicks,
 * on the real io/poll.c.
 *
 * The kernel is one word: what its only descriptor is armed for and ready for, and
 * the bell.  It orders nothing but itself and what E3 promises (os/poller.h).  Waiters are threads, which cc__poll does
 * not tell from fibers.
 *
 * The descriptor is a foreign one: registered for one shot at each wait.  poll_edge.c has the others.
 *
 * defines: CC__FD_WORDS=4
 * sources: base/lock.c wait/wait.c wait/thread.c wait/cancel.c base/slab.c io/poll.c io/bell.c io/fd_word.c io/use.c io/wait_fd.c io/poll_case.c */
#include <errno.h>

#define SHIM_REAL_SLAB
#include "shim_pages.h"
#include "shim_wait.h"
#include "io/poll.h"
#include "io/poll_case.h"
#include "io/use.h"
#include "io/wait_fd.h"
#include "os/io.h"

#include <ccc/io.h>
#include <ccc/task.h>

static struct cc__poll *here;	/* of the cases of a select */

struct cc__poll *cc__poll_here(void)
{
	return here;
}

void cc__thread_detach(struct cc__os_thread t)
{
	(void)t;
	mc_fail("the poll of threads is not used");
}

struct cc__member **cc__member_slot(struct cc__parker *p)
{
	return &((struct cc__thread *)(void *)p)->member;
}

/* ---- the kernel ---- */

enum {
	ARMED = 3,	/* CC_FD_* */
	READY = 3 << 2,
	CLOSED = 1 << 4,
	RUNG = 1 << 5,
	FILE_ONLY = 1 << 6,	/* a regular file: not to be armed */
	TAG_SHIFT = 8,
	TAG = 0xff << TAG_SHIFT,	/* of the last registration */
};
enum { FD = 0 };
static cc__a32 kernel;
static cc__a32 arms;	/* how often somebody armed it */

/* What the descriptor would be reported for. */
static unsigned reports(uint32_t w)
{
	return (w & READY) >> 2 & (w & ARMED);
}

/* A system call: change the word, and wake who sleeps in cc__poller_wait. */
static uint32_t kernel_change(uint32_t clear, uint32_t set)
{
	uint32_t w = cc__load(&kernel, CC__RELAXED);
	const bool arms_it = (clear & ARMED) && (set & ARMED);

	/* Release: E3, to take_report. */
	while (!cc__cas(&kernel, &w, (w & ~clear) | set, arms_it ? CC__RELEASE : CC__RELAXED,
	                CC__RELAXED))
		continue;
	if (set & RUNG || reports((w & ~clear) | set) != 0)
		cc__futex_wake(&kernel, 1);
	return w;
}

/* The newest, as a system call sees it. */
static uint32_t kernel_look(void)
{
	return cc__or(&kernel, 0, CC__RELAXED);
}

int cc__bell_new(int *err)
{
	*err = 0;
	return 7;
}

void cc__bell_ring(int bell)
{
	MC_ASSERT(bell == 7);
	kernel_change(0, RUNG);
}

int cc__poller_open(struct cc__poller *p, int bell)
{
	p->bell = bell;
	return 0;
}

void cc__poller_close(struct cc__poller *p)
{
	(void)p;
}

int cc__poller_change(const struct cc__poller *p, int fd, unsigned events, uint32_t tag)
{
	const uint32_t w = kernel_look();

	(void)p;
	MC_ASSERT(fd == FD && !(events & CC__POLLER_EDGE));
	if (w & (CLOSED | FILE_ONLY))
		return w & CLOSED ? EBADF : EPERM;
	kernel_change(ARMED | TAG, events | tag << TAG_SHIFT);
	cc__add(&arms, 1, CC__RELAXED);
	return 0;
}

int cc__poller_add(const struct cc__poller *p, int fd, unsigned events, uint32_t tag)
{
	return cc__poller_change(p, fd, events, tag);
}

void cc__poller_forget(const struct cc__poller *p, int fd)
{
	(void)p, (void)fd;
	kernel_change(ARMED, 0);
}

/* Armed and ready: once, for one of those who ask (E1). */
static unsigned take_report(struct cc__poller_event *event)
{
	uint32_t w = kernel_look();

	do
		*event = (struct cc__poller_event){
		    .fd = FD, .tag = (w & TAG) >> TAG_SHIFT, .ready = reports(w)};
	while (reports(w) != 0 &&
	       /* Acquire: E3, from who armed it. */
	       !cc__cas(&kernel, &w, w & ~(uint32_t)ARMED, CC__ACQUIRE, CC__RELAXED));
	return event->ready != 0;
}

unsigned cc__poller_wait(const struct cc__poller *p, struct cc__poller_event *events, unsigned most,
                         cc_time deadline)
{
	uint32_t w;

	(void)p, (void)most;
	if (deadline == CC_NOW)
		return take_report(events);
	while (reports(w = kernel_look()) == 0 && !(w & RUNG))
		if (cc__futex_wait(&kernel, w, deadline) == ETIMEDOUT)
			return 0;
	if (w & RUNG)
		kernel_change(RUNG, 0);
	return take_report(events);
}

int cc__poller_block(int fd, unsigned events, int bell, cc_time deadline)
{
	uint32_t w;

	(void)fd;
	while (!((w = kernel_look()) & CLOSED) && !((w & READY) >> 2 & events)) {
		if (bell >= 0 && (w & RUNG)) {
			kernel_change(RUNG, 0);
			return EINTR;
		}
		if (deadline == CC_NOW)
			return EAGAIN;
		if (cc__futex_wait(&kernel, w, deadline) == ETIMEDOUT)
			return ETIMEDOUT;
	}
	return w & CLOSED ? EBADF : 0;
}

/* ---- the poll ---- */

static struct cc__poll *poll;

static void *alloc(void *context, size_t size)
{
	char *p = mc_alloc(size);

	(void)context;
	for (size_t i = 0; i < size / sizeof(uint64_t); i++)
		((uint64_t *)(void *)p)[i] = 0;
	return p;
}

static void release(void *context, void *p, size_t size)
{
	(void)context, (void)size;
	mc_free(p);
}

static const CCAllocator allocator = {alloc, release, NULL};

static void make(void)
{
	poll = alloc(NULL, sizeof *poll);
	cc__poll_init(poll, &allocator);
}

/* With its record: a first wait that ends at once. */
static void make_and_open(void)
{
	make();
	cc__init(&kernel, FILE_ONLY);
	MC_ASSERT(cc__poll_wait(poll, FD, CC_FD_READ, CC_FOREVER) == 0);
	cc__init(&kernel, 0);
}

static void look_after(void)
{
	for (;;)
		cc__poll_run(poll, CC_FOREVER);
}

static struct cc__waitq *record_of_fd(void)
{
	return &cc__peek(&poll->chunk[0])[FD].q;
}

static int got[MC_THREADS];	/* each waiter's own */

/* Where the waiter has been: who touches it now is found. */
static __attribute__((noinline)) void scribble(void)
{
	char waste[384];

	for (size_t i = 0; i < sizeof waste; i += 8)
		*(uint64_t *)(void *)(waste + i) = i;
	__asm__ __volatile__("" ::"r"(waste) : "memory");
}

/* A wake may come for no reason, of a file that is not ready. */
static void wait_for(unsigned events, cc_time deadline)
{
	int err;

	be_thread();
	do {
		err = cc__poll_wait(poll, FD, events, deadline);
		scribble();
	} while (err == 0 && !((kernel_look() & READY) >> 2 & events));
	got[mc_self()] = err;
}

static void read_for_ever(void)
{
	wait_for(CC_FD_READ, CC_FOREVER);
}

static void write_for_ever(void)
{
	wait_for(CC_FD_WRITE, CC_FOREVER);
}

static void read_a_second(void)
{
	wait_for(CC_FD_READ, cc__now() + CC_SEC);
}

static void become_readable(void)
{
	kernel_change(0, CC_FD_READ << 2);
}

/* Who makes it ready looks after it afterwards, which leaves room for another thread. */
static void become_readable_and_look(void)
{
	become_readable();
	look_after();
}

static void become_both_and_look(void)
{
	become_readable();
	kernel_change(0, CC_FD_WRITE << 2);
	look_after();
}

static void at_rest(void)
{
	MC_ASSERT(record_of_fd()->head == NULL && cc__poll_waiting(poll) == 0);
	check_threads_at_rest();
}

static void all_ready(void)
{
	at_rest();
	for (int i = 0; i < MC_THREADS; i++)
		MC_ASSERT(got[i] == 0);
}

static void outcome(void)
{
	at_rest();
	mc_outcome("%s", got[0] == 0 ? "ready" : got[0] == EBADF ? "forgotten" : "late");
}

/* The last body looks after descriptors, for ever. */
#define POLL_SCENARIO(name, ...) \
	SCENARIO(name, .init = make_and_open, .spurious = MC_NONE, .timeouts = 1, __VA_ARGS__)

/* ---- events ---- */

POLL_SCENARIO(poll_event_wakes, .body = {read_for_ever, become_readable, look_after}, .daemon = 4,
              .final = all_ready)
POLL_SCENARIO(poll_event_wakes_both, .weak = 1,
              .body = {read_for_ever, read_for_ever, become_readable_and_look}, .daemon = 4,
              .final = all_ready)

/* The writer's turn comes only after the reader's: it must still be armed for. */
static void read_then_let_write(void)
{
	read_for_ever();
	kernel_change(0, CC_FD_WRITE << 2);
}
POLL_SCENARIO(poll_directions, .weak = 1,
              .body = {read_then_let_write, write_for_ever, become_readable_and_look}, .daemon = 4,
              .final = all_ready)

/* The busy one looks, the other sleeps: an event belongs to one of them. */
static void look_once(void)
{
	cc__poll_run(poll, CC_NOW);
}
POLL_SCENARIO(poll_event_and_two_who_look,
              .body = {read_for_ever, look_once, become_readable_and_look}, .daemon = 4,
              .final = all_ready)

static void become_readable_and_look_once_open(void)
{
	become_readable();
	mc_wait_while(&poll->opened, 0);
	look_after();
}
SCENARIO(poll_first_wait_of_two, .init = make, .spurious = MC_NONE, .weak = MC_NONE,
         .body = {read_for_ever, read_for_ever, become_readable_and_look_once_open}, .daemon = 4,
         .final = all_ready)

/* ---- deadlines ---- */

POLL_SCENARIO(poll_deadline, .body = {read_a_second, become_readable, look_after}, .daemon = 4,
              .final = outcome, .outcomes = "ready late")
POLL_SCENARIO(poll_deadline_of_one_of_two, .weak = 1,
              .body = {read_a_second, write_for_ever, become_both_and_look}, .daemon = 4,
              .final = outcome, .outcomes = "ready late")

/* ---- forget ---- */

/* Once somebody is in: who comes later has no right to wait. */
static void forget_and_close(void)
{
	mc_wait_while(&arms, 0);
	cc__poll_forget(FD);
	kernel_change(ARMED, CLOSED);
}
POLL_SCENARIO(poll_forget, .body = {read_for_ever, forget_and_close, look_after}, .daemon = 4,
              .final = outcome, .outcomes = "forgotten")
POLL_SCENARIO(poll_forget_or_event,
              .body = {read_for_ever, forget_and_close, become_readable_and_look}, .daemon = 4,
              .final = outcome, .outcomes = "ready forgotten")
POLL_SCENARIO(poll_forget_or_deadline, .body = {read_a_second, forget_and_close, look_after},
              .daemon = 4, .final = outcome, .outcomes = "late forgotten")
POLL_SCENARIO(poll_forget_event_or_deadline, .weak = 1,
              .body = {read_a_second, forget_and_close, become_readable_and_look}, .daemon = 4,
              .final = outcome, .outcomes = "ready late forgotten")

/* Closed, and alive as a duplicate: the event takes the reader, and arming for the
 * writer is refused.  It is woken all the same, and finds out. */
static void write_beside_a_reader(void)
{
	mc_wait_while(&arms, 0);
	write_for_ever();
}

static void close_when_both_wait_and_look(void)
{
	mc_wait_while(&arms, 0);
	mc_wait_while(&arms, 1);
	kernel_change(0, CC_FD_READ << 2 | CLOSED);
	look_after();
}

static void both_told(void)
{
	at_rest();
	MC_ASSERT(got[0] == 0 && got[1] == EBADF);
}
POLL_SCENARIO(poll_closed_with_a_duplicate, .weak = 1,
              .body = {read_for_ever, write_beside_a_reader, close_when_both_wait_and_look},
              .daemon = 4, .final = both_told)

/* ---- kicks ---- */

static cc__a32 work;	/* what the kick is about */
static cc__a32 asleep;	/* the sleeper's announcement */

/* As a worker does: claim, announce, look, sleep. */
static void sleep_until_work(void)
{
	struct cc__poll_found found;

	for (;;) {
		while (!cc__poll_claim(poll))
			mc_wait_while(&poll->claimed, 1);
		cc__store(&asleep, 1, CC__SEQ_CST);
		if (cc__load(&work, CC__SEQ_CST) != 0)
			break;
		cc__poll_sleep(poll, CC_FOREVER, &found);
		cc__poll_wake(poll, &found);
		cc__store(&asleep, 0, CC__RELAXED);
		if (cc__load(&work, CC__RELAXED) != 0)
			return;
	}
	cc__poll_release(poll);
}

static void bring_work(void)
{
	cc__store(&work, 1, CC__SEQ_CST);
	if (cc__load(&asleep, CC__SEQ_CST) != 0)
		cc__poll_ring(poll->bell);
}

static void kick_and_look(void)
{
	cc__poll_ring(poll->bell);
	cc__poll_run(poll, CC_NOW);
}

static void kick_and_sleep(void)
{
	cc__poll_ring(poll->bell);
	cc__poll_run(poll, cc__now() + CC_SEC);
}

/* Without the announcement: the kick alone brings the work along. */
static void sleep_once(void)
{
	cc__poll_run(poll, CC_FOREVER);
	MC_ASSERT(cc__load(&work, CC__RELAXED) != 0);
}

static void work_and_kick(void)
{
	cc__store(&work, 1, CC__RELAXED);
	cc__poll_ring(poll->bell);
}
POLL_SCENARIO(poll_kick_ends_sleep, .body = {sleep_until_work, bring_work})
POLL_SCENARIO(poll_kicked_twice, .body = {sleep_until_work, bring_work, bring_work})
POLL_SCENARIO(poll_kick_brings_work, .body = {sleep_once, work_and_kick, work_and_kick})
POLL_SCENARIO(poll_kick_is_not_taken_by_a_look,
              .body = {sleep_until_work, bring_work, kick_and_look})
POLL_SCENARIO(poll_kick_is_not_taken_by_the_sleeper_before,
              .body = {sleep_until_work, bring_work, kick_and_sleep})

/* The runtime has ended. */
static struct cc__bell *bell;

static void make_for_late_ring(void)
{
	make_and_open();
	bell = poll->bell;
}

static void ring_late(void)
{
	cc__poll_ring(bell);
}

static void end(void)
{
	cc__poll_fini(poll);
	mc_free(poll);
}
SCENARIO(poll_ring_after_the_end, .init = make_for_late_ring, .body = {end, ring_late},
         .leaks = true)

/* ---- a thread in a scope that is cancelled ---- */

static struct cc__root root;
static const cc__a32 never;

/* A bell is there, and who rang it last may do so again. */
static void make_root(void)
{
	make_for_late_ring();
	end();
	cc__root_init(&root);
}

static void read_in_a_scope(void)
{
	struct cc__thread *t = &record[mc_self()];
	struct cc__member *m = mc_alloc(sizeof *m);

	be_thread();
	cc__member_enter(m, &root.scope, &t->parker, &t->member);
	got[mc_self()] = cc__block_fd(FD, CC_FD_READ, CC_FOREVER, bell, &never);
	MC_ASSERT(m->bell == NULL);
	cc__member_leave(m, &t->member);
	mc_free(m);
}

static void cancel(void)
{
	cc__scope_cancel(&root.scope, CC__CANCEL, false);
}

/* It is armed for nobody. */
static void become_readable_in_poll2(void)
{
	become_readable();
	cc__futex_wake(&kernel, 1);
}

static void cancelled_or_ready(void)
{
	check_threads_at_rest();
	mc_outcome("%s", got[0] == 0 ? "ready" : got[0] == ECANCELED ? "cancelled" : "wrong");
}

#define THREAD_SCENARIO(name, ...) \
	SCENARIO(name, .init = make_root, .final = cancelled_or_ready, .leaks = true, __VA_ARGS__)
THREAD_SCENARIO(poll_thread_is_cancelled, .body = {read_in_a_scope, cancel, ring_late},
                .outcomes = "cancelled")
THREAD_SCENARIO(poll_thread_is_cancelled_or_ready, .weak = 1,
                .body = {read_in_a_scope, cancel, become_readable_in_poll2},
                .outcomes = "cancelled ready")

/* ---- a thread, and a close by the library ---- */

int cc__io_close(int fd)
{
	(void)fd;
	kernel_change(ARMED, CLOSED);
	return 0;
}

int cc_sleep_until(cc_time when)
{
	(void)when;
	mc_fail("poll: a shortage");
}

static int look_at_kernel(void)
{
	const uint32_t w = kernel_look();

	return w & CLOSED ? EBADF : (w & READY) >> 2 & CC_FD_READ ? 0 : EAGAIN;
}

static void thread_reads_until(cc_time deadline)
{
	uint32_t token;
	int err;

	be_thread();
	do {
		token = cc__use_generation(FD);
		if ((err = look_at_kernel()) != EAGAIN)
			break;
	} while ((err = cc__use_wait(FD, CC_FD_READ, deadline, token)) == 0);
	got[mc_self()] = err;
}

static void thread_reads(void)
{
	thread_reads_until(CC_FOREVER);
}

static void thread_reads_a_second(void)
{
	thread_reads_until(cc__now() + CC_SEC);
}

static void close_by_library(void)
{
	MC_ASSERT(cc_fd_close(FD) == 0);
}

static void thread_outcome(void)
{
	check_threads_at_rest();
	mc_outcome("%s", got[0] == 0       ? "ready"
	                 : got[0] == EBADF ? "closed"
	                                   : "late");
}

#define USE_SCENARIO(name, ...) \
	SCENARIO(name, .init = make_for_late_ring, .spurious = MC_NONE, .timeouts = 1, \
	         .final = thread_outcome, __VA_ARGS__)

USE_SCENARIO(poll_thread_close, .body = {thread_reads, close_by_library}, .outcomes = "closed")
USE_SCENARIO(poll_thread_close_or_ready, .weak = 1,
             .body = {thread_reads, close_by_library, become_readable_in_poll2},
             .outcomes = "closed ready")
USE_SCENARIO(poll_thread_close_or_deadline, .weak = 1,
             .body = {thread_reads_a_second, close_by_library}, .outcomes = "closed late")

/* ---- two cases of one select ---- */

static void make_to_select(void)
{
	make_and_open();
	here = poll;
}

/* What wait_once of chan/select.c does with descriptors: list, sleep, withdraw. */
static int select_once(const unsigned events[2], cc_time deadline, uint32_t *won)
{
	static const int fd = FD;
	struct cc__case cases[2] = {{.object = (void *)(uintptr_t)&fd, .ops = &cc__fd_case_ops},
	                            {.object = (void *)(uintptr_t)&fd, .ops = &cc__fd_case_ops}};
	struct cc__group g = {0};
	bool listed = true;

	MC_ASSERT(cc__group_begin(&g, cases, 2) == 0);
	for (int i = 0; i < 2; i++) {
		cases[i].w.io = (void *)(uintptr_t)events[i];
		listed = listed && cases[i].ops->publish(cases[i].object, &cases[i].w);
	}
	return listed ? cc__group_sleep(&g, cases, 2, deadline, won)
	              : cc__group_give_up(&g, cases, 2, won);
}

/* The event of the case that won holds: nothing takes it. */
static void select_until(cc_time deadline)
{
	const unsigned events[2] = {CC_FD_READ, CC_FD_WRITE};
	uint32_t won;
	int err;

	be_thread();
	do {
		err = select_once(events, deadline, &won);
		scribble();
	} while (err == 0 && !((kernel_look() & READY) >> 2 & events[won]));
	got[mc_self()] = err;
}

static void select_for_ever(void)
{
	select_until(CC_FOREVER);
}

static void select_a_second(void)
{
	select_until(cc__now() + CC_SEC);
}

#define CASE_SCENARIO(name, ...) \
	SCENARIO(name, .init = make_to_select, .spurious = MC_NONE, .timeouts = 1, __VA_ARGS__)

CASE_SCENARIO(poll_case_wakes, .body = {select_for_ever, become_readable, look_after}, .daemon = 4,
              .final = all_ready)
CASE_SCENARIO(poll_case_both_directions, .weak = 1, .body = {select_for_ever, become_both_and_look},
              .daemon = 2, .final = all_ready)
/* The select's waiter for the other direction is dropped; the reader's stays armed for. */
CASE_SCENARIO(poll_case_beside_a_reader, .weak = 1,
              .body = {select_for_ever, read_for_ever, become_both_and_look}, .daemon = 4,
              .final = all_ready)
CASE_SCENARIO(poll_case_deadline, .weak = 1,
              .body = {select_a_second, become_readable, look_after}, .daemon = 4,
              .final = outcome, .outcomes = "ready late")
CASE_SCENARIO(poll_case_close, .body = {select_for_ever, forget_and_close, look_after}, .daemon = 4,
              .final = outcome, .outcomes = "forgotten")
