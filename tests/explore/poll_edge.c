/* poll_edge.c - descriptors that the library has made: registered once, as an edge, with tokens,
 * drained sockets and cc_fd_close, on the real io/poll.c and io/use.c.
 *
 * The kernel is one word: what its only number is ready for and registered for, whether a report
 * is queued, and the tag.  One shot is an edge here: a stale caller may register so.  It orders nothing but itself and what E3 promises (os/poller.h).  Callers are
 * threads that take themselves for fibers of one runtime.  A lost report is a deadlock, because
 * no second one comes.
 *
 * defines: CC__FD_WORDS=4
 * sources: base/lock.c wait/wait.c wait/thread.c wait/cancel.c base/slab.c io/poll.c io/bell.c io/fd_word.c io/use.c */
#include <errno.h>

#define SHIM_REAL_SLAB
#define SHIM_CANCEL
#include "shim_pages.h"
#include "shim_wait.h"
#include "io/use.h"
#include "os/io.h"
#include "io/fd_word.h"
#include "io/wait_fd.h"

#include <ccc/io.h>
#include <ccc/task.h>

/* ---- the kernel ---- */

enum {
	READY = 3,		/* CC_FD_* */
	ARMED = 3 << 2,		/* registered for; 0: not at all */
	QUEUED = 1 << 4,	/* a report */
	RUNG = 1 << 5,
	CLOSED = 1 << 6,
	ENDED = 1 << 7,	/* the peer sends no more */
	TAG_SHIFT = 8,
	TAG = 0xff << TAG_SHIFT,
};
enum { FD = 0 };
static cc__a32 kernel;

/* Seeded. */
static bool end_is_not_told;	/* no EPOLLRDHUP */
static bool tags_are_lost;	/* a report has the tag of the present */

/* A system call.  Something that happens queues a report if it is registered. */
static uint32_t kernel_change(uint32_t clear, uint32_t set, int order)
{
	uint32_t w = cc__load(&kernel, CC__RELAXED), next;

	do {
		next = (w & ~clear) | set;
		if ((set & (READY | ENDED)) && (next & ARMED))
			next |= QUEUED;
		/* Registering what is ready reports it. */
		if ((set & ARMED) && ((next & READY & next >> 2) || (next & ENDED)))
			next |= QUEUED;
		/* Release: E3, to take_report. */
	} while (!cc__cas(&kernel, &w, next, order, CC__RELAXED));
	if (next & (QUEUED | RUNG))
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
	(void)bell;
	kernel_change(0, RUNG, CC__RELAXED);
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

static int register_as(unsigned events, uint32_t tag)
{
	kernel_change(ARMED | TAG, (events & READY) << 2 | tag << TAG_SHIFT, CC__RELEASE);
	return 0;
}

int cc__poller_add(const struct cc__poller *p, int fd, unsigned events, uint32_t tag)
{
	const uint32_t w = kernel_look();

	(void)p, (void)fd;
	if (w & (CLOSED | ARMED))
		return w & CLOSED ? EBADF : EEXIST;
	return register_as(events, tag);
}

int cc__poller_change(const struct cc__poller *p, int fd, unsigned events, uint32_t tag)
{
	(void)p, (void)fd;
	return kernel_look() & ARMED ? register_as(events, tag) : ENOENT;
}

void cc__poller_forget(const struct cc__poller *p, int fd)
{
	(void)p, (void)fd;
	kernel_change(ARMED | QUEUED, 0, CC__RELAXED);
}

static unsigned report_of(uint32_t w, struct cc__poller_event *event)
{
	*event = (struct cc__poller_event){
	    .fd = FD, .tag = (w & TAG) >> TAG_SHIFT, .ready = w & READY & w >> 2};
	if (w & ENDED)
		event->ready |= CC_FD_READ | (end_is_not_told ? 0 : CC__POLLER_LAST);
	return event->ready != 0;
}

static unsigned take_report(struct cc__poller_event *event)
{
	/* Acquire: E3, from register_as. */
	const uint32_t w = cc__and(&kernel, ~(uint32_t)QUEUED, CC__ACQUIRE);

	return w & QUEUED ? report_of(w, event) : 0;
}

unsigned cc__poller_wait(const struct cc__poller *p, struct cc__poller_event *events, unsigned most,
                         cc_time deadline)
{
	uint32_t w;

	(void)p, (void)most;
	while (!((w = kernel_look()) & (QUEUED | RUNG)))
		if (deadline == CC_NOW || cc__futex_wait(&kernel, w, deadline) == ETIMEDOUT)
			return 0;
	if (w & RUNG)
		kernel_change(RUNG, 0, CC__RELAXED);
	return take_report(events);
}

/* The last look of a wait that was ended, and the first at a number. */
int cc__poller_block(int fd, unsigned events, int bell, cc_time deadline)
{
	const uint32_t w = kernel_look();

	(void)fd, (void)bell;
	MC_ASSERT(deadline == CC_NOW);
	return w & CLOSED ? EBADF : w & events || w & ENDED ? 0 : EAGAIN;
}

static cc__a32 closers;

/* Two at once would close the file and whatever gets its number. */
int cc__io_close(int fd)
{
	(void)fd;
	MC_ASSERT(cc__add(&closers, 1, CC__RELAXED) == 0);
	kernel_change(READY | ARMED | QUEUED | ENDED, CLOSED, CC__RELAXED);
	cc__sub(&closers, 1, CC__RELAXED);
	return 0;
}

/* ---- what use.c needs for threads, of which there are none ---- */

int cc__block_fd(int fd, unsigned events, cc_time deadline, struct cc__bell *bell,
                 const cc__a32 *ended)
{
	(void)fd, (void)events, (void)deadline, (void)bell, (void)ended;
	mc_fail("poll_edge: a thread blocks");
}

int cc_sleep_until(cc_time when)
{
	(void)when;
	mc_fail("poll_edge: a shortage");
}

struct cc__member **cc__member_slot(struct cc__parker *p)
{
	return &((struct cc__thread *)(void *)p)->member;
}

static cc__a32 cancelled;
static bool cancel_is_due;	/* .init's */

const cc__a32 *shim_cancel_flag(struct cc__parker *who)
{
	(void)who;
	return cancel_is_due ? &cancelled : NULL;
}

/* ---- the poll ---- */

static struct cc__poll *poll;

struct cc__poll *cc__poll_here(void)
{
	return poll;
}

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

/* With its record and nothing registered: a wait that ends before it begins. */
static void make(void)
{
	poll = alloc(NULL, sizeof *poll);
	cc__poll_init(poll, &allocator);
	cc__fd_made(FD, CC__FD_STREAM);
	MC_ASSERT(cc__poll_wait_since(poll, FD, CC_FD_READ, CC_FOREVER, 12345) == 0);
}

static void look_after(void)
{
	for (;;)
		cc__poll_run(poll, CC_FOREVER);
}

/* ---- calls ---- */

static int got[MC_THREADS];	/* each caller's own; -1: it has not returned */
static bool token_is_late;	/* seeded: taken after the attempt */
static bool takes;		/* .init's: a read takes what is there */

/* 0, EAGAIN, EPIPE or EBADF. */
static int attempt(unsigned event)
{
	const uint32_t w = takes && event == CC_FD_READ
	                       ? cc__and(&kernel, ~(uint32_t)CC_FD_READ, CC__RELAXED)
	                       : kernel_look();

	return w & CLOSED ? EBADF : w & event ? 0 : w & ENDED ? EPIPE : EAGAIN;
}

static int call(unsigned event, cc_time deadline)
{
	bool first = event == CC_FD_READ;
	uint32_t token;
	int err;

	do {
		token = cc__use_generation(FD);
		if (first && cc__use_drained(FD, token)) {
			first = false;
			continue;
		}
		if ((err = attempt(event)) == 0 && takes)
			cc__use_short(FD, token);
		if (err != EAGAIN)
			return err;
		if (token_is_late)
			token = cc__use_generation(FD);
	} while ((err = cc__use_wait(FD, event, deadline, token)) == 0);
	return err;
}

static void read_for_ever(void)
{
	be_thread();
	got[mc_self()] = call(CC_FD_READ, CC_FOREVER);
}

static void write_for_ever(void)
{
	be_thread();
	got[mc_self()] = call(CC_FD_WRITE, CC_FOREVER);
}

static void read_a_second(void)
{
	be_thread();
	got[mc_self()] = call(CC_FD_READ, cc__now() + CC_SEC);
}

static void become_readable(void)
{
	kernel_change(0, CC_FD_READ, CC__RELAXED);
}

static void become_readable_and_look(void)
{
	become_readable();
	look_after();
}

static void at_rest(void)
{
	MC_ASSERT(cc__peek(&poll->chunk[0])[FD].q.head == NULL && cc__poll_waiting(poll) == 0);
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
	mc_outcome("%s", got[0] == 0           ? "ready"
	                 : got[0] == EBADF     ? "closed"
	                 : got[0] == ECANCELED ? "cancelled"
	                                       : "late");
}

#define EDGE_SCENARIO(name, ...) SCENARIO(name, .spurious = MC_NONE, .timeouts = 1, __VA_ARGS__)

/* ---- readiness against wait ---- */

EDGE_SCENARIO(edge_report_wakes, .init = make, .body = {read_for_ever, become_readable, look_after},
              .daemon = 4, .final = all_ready)
EDGE_SCENARIO(edge_report_wakes_both_readers, .init = make, .weak = 1,
              .body = {read_for_ever, read_for_ever, become_readable_and_look}, .daemon = 4,
              .final = all_ready)

static void make_to_take(void)
{
	make();
	takes = true;
}

/* Not a stream: each wait follows an attempt. */
static void make_to_try(void)
{
	make_to_take();
	cc__fd_made(FD, 0);
}

static void make_with_late_tokens(void)
{
	make_to_try();
	token_is_late = true;
}

/* The reader is registered already: its first wait has ended. */
static void read_twice(void)
{
	be_thread();
	MC_ASSERT(call(CC_FD_READ, CC_FOREVER) == 0);
	got[mc_self()] = call(CC_FD_READ, CC_FOREVER);
}

static void be_readable_twice(void)
{
	uint32_t w;

	become_readable();
	while ((w = kernel_look()) & CC_FD_READ)
		mc_wait_while(&kernel, w);
	become_readable();
}
EDGE_SCENARIO(edge_second_wait, .init = make_to_take, .weak = 1,
              .body = {read_twice, be_readable_twice, look_after}, .daemon = 4, .final = all_ready)
EDGE_SCENARIO(edge_second_wait_after_an_attempt, .init = make_to_try, .weak = 1,
              .body = {read_twice, be_readable_twice, look_after}, .daemon = 4, .final = all_ready)
EDGE_SCENARIO(edge_token_taken_too_late, .init = make_with_late_tokens, .weak = 1,
              .body = {read_twice, be_readable_twice, look_after}, .daemon = 4,
              .expect = "deadlock")

/* ---- two directions ---- */

static void read_then_let_write(void)
{
	read_for_ever();
	kernel_change(0, CC_FD_WRITE, CC__RELAXED);
}
EDGE_SCENARIO(edge_directions, .init = make, .weak = 1,
              .body = {read_then_let_write, write_for_ever, become_readable_and_look}, .daemon = 4,
              .final = all_ready)

/* ---- the end of what the peer sends ---- */

static void read_to_the_end(void)
{
	int err;

	be_thread();
	while ((err = call(CC_FD_READ, CC_FOREVER)) == 0)
		continue;
	got[mc_self()] = err;
}

static void send_and_end(void)
{
	become_readable();
	kernel_change(0, ENDED, CC__RELAXED);
}

static void make_without_end(void)
{
	make_to_take();
	end_is_not_told = true;
}

static void end_was_seen(void)
{
	at_rest();
	MC_ASSERT(got[0] == EPIPE);
}
EDGE_SCENARIO(edge_short_read_before_the_end, .init = make_to_take, .weak = 1,
              .body = {read_to_the_end, send_and_end, look_after}, .daemon = 4,
              .final = end_was_seen)
EDGE_SCENARIO(edge_end_is_not_told, .init = make_without_end, .weak = 1,
              .body = {read_to_the_end, send_and_end, look_after}, .daemon = 4,
              .expect = "deadlock")

/* ---- deadline and cancellation against readiness ---- */

EDGE_SCENARIO(edge_deadline, .init = make, .body = {read_a_second, become_readable, look_after},
              .daemon = 4, .final = outcome, .outcomes = "ready late")

static void make_to_cancel(void)
{
	make();
	cancel_is_due = true;
}

static void cancel(void)
{
	cc__store(&cancelled, CC__CANCEL, CC__RELEASE);
	cc__unpark(&record[0].parker);
}
EDGE_SCENARIO(edge_cancelled_or_ready, .init = make_to_cancel, .weak = 1,
              .body = {read_for_ever, cancel, become_readable_and_look}, .daemon = 4,
              .final = outcome, .outcomes = "cancelled ready")

/* ---- close against wait ---- */

static void close_it(void)
{
	MC_ASSERT(cc_fd_close(FD) == 0);
}

/* Seeded: the word is as before, so a reader that comes between the two is not found. */
static void close_without_word(void)
{
	cc__poll_forget(FD);
	cc__io_close(FD);
}
EDGE_SCENARIO(edge_close, .init = make, .body = {read_for_ever, close_it, look_after}, .daemon = 4,
              .final = outcome, .outcomes = "closed")
EDGE_SCENARIO(edge_close_or_report, .init = make, .weak = 1,
              .body = {read_for_ever, close_it, become_readable_and_look}, .daemon = 4,
              .final = outcome, .outcomes = "closed ready")
EDGE_SCENARIO(edge_close_or_deadline, .init = make, .weak = 1,
              .body = {read_a_second, close_it, look_after}, .daemon = 4, .final = outcome,
              .outcomes = "closed late")
EDGE_SCENARIO(edge_close_without_word, .init = make,
              .body = {read_for_ever, close_without_word, look_after}, .daemon = 4,
              .expect = "deadlock")

/* Two that close: one of them does. */
static cc__a32 closes;

static void try_to_close(void)
{
	if (cc_fd_close(FD) == 0)
		cc__add(&closes, 1, CC__RELAXED);
}

/* Each successful call has closed the file once; the second may come after the first. */
static void closed_at_least_once(void)
{
	MC_ASSERT(cc__peek(&closes) >= 1);
	MC_ASSERT(!(cc__fd_word(FD) & CC__FD_CLOSING));
}
EDGE_SCENARIO(edge_two_close, .init = make, .body = {try_to_close, try_to_close},
              .final = closed_at_least_once)

/* ---- a number that is used again ---- */

static cc__a32 opened;

/* Another file has the number.  A report that is on its way means the former one. */
static void close_and_open(void)
{
	MC_ASSERT(cc_fd_close(FD) == 0);
	kernel_change(CLOSED, 0, CC__RELAXED);
	cc__fd_made(FD, CC__FD_STREAM);
	cc__store(&opened, 1, CC__RELEASE);
}

/* As in poll.c. */
enum { REGISTERED = 16 };

/* Registers the former file, so that there is a report of it. */
static void make_registered(void)
{
	make();
	MC_ASSERT(cc__poller_add(&poll->poller, FD, CC_FD_READ | CC__POLLER_EDGE, 1) == 0);
	cc__peek(&poll->chunk[0])[FD].tag = 1;
	cc__peek(&poll->chunk[0])[FD].q.user = REGISTERED | CC_FD_READ | CC__POLLER_EDGE;
	cc__peek(&poll->chunk[0])[FD].file = cc__fd_word(FD);
	become_readable();
}

static void make_without_tags(void)
{
	make_registered();
	tags_are_lost = true;
}

/* A wait for the new file, which is ready in the end, does not end before. */
static void read_the_new_one(void)
{
	uint32_t token;

	be_thread();
	mc_wait_while(&opened, 0);
	token = cc__use_generation(FD);
	while (attempt(CC_FD_READ) != 0) {
		MC_ASSERT(cc__use_wait(FD, CC_FD_READ, CC_FOREVER, token) == 0);
		MC_ASSERT(kernel_look() & CC_FD_READ);
		token = cc__use_generation(FD);
	}
}

static void new_one_becomes_readable(void)
{
	close_and_open();
	become_readable();
}

/* As the poller's own loop, with the seeded mistake between report and wake. */
static void look_after_by_tag(void)
{
	struct cc__poll_found found;

	for (;;) {
		while (!cc__poll_claim(poll))
			mc_wait_while(&poll->claimed, 1);
		cc__poll_sleep(poll, CC_FOREVER, &found);
		for (unsigned i = 0; tags_are_lost && i < found.count; i++)
			found.event[i].tag = (kernel_look() & TAG) >> TAG_SHIFT;
		cc__poll_wake(poll, &found);
	}
}
EDGE_SCENARIO(edge_number_used_again, .init = make_registered, .weak = 1,
              .body = {new_one_becomes_readable, read_the_new_one, look_after_by_tag}, .daemon = 4,
              .final = at_rest)
EDGE_SCENARIO(edge_stale_report, .init = make_without_tags, .weak = 1,
              .body = {new_one_becomes_readable, read_the_new_one, look_after_by_tag}, .daemon = 4,
              .expect = "assert")

/* A reader of the former file is told, or reads what the number means by then; it does not sleep. */
static void told_or_read(void)
{
	at_rest();
	MC_ASSERT(got[0] == EBADF || got[0] == 0);
}
EDGE_SCENARIO(edge_reader_of_a_number_used_again, .init = make, .weak = 1,
              .body = {read_for_ever, new_one_becomes_readable, look_after}, .daemon = 4,
              .final = told_or_read)
