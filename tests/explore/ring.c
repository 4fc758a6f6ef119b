/* ring.c - waits in a space and in a ring, and everybody who may end them.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c park/engine.c park/space.c park/cap.c
 *	park/ring.c */
#include <errno.h>

#define SHIM_CANCEL
#include "shim_wait.h"

#include "park/ring.h"
#include "park/user.h"

static struct cc__bucket buckets[2];
static struct cc__region regions[1];
static struct cc__space space;
static cc__a32 word;
static cc__a32 cancel;	/* of thread 0 */

const cc__a32 *shim_cancel_flag(struct cc__parker *who)
{
	return who == thread_parker(0) ? &cancel : NULL;
}

static uint64_t at(void)
{
	return (uintptr_t)&word;
}

static int map(void)
{
	const struct cc__region r = {.base = at(), .length = 4, .access = CC_CAP_READ};

	return cc__space_map(&space, &r);
}

static void open_space(void)
{
	const struct cc__space_memory m = {regions, 1, buckets, 1};

	cc__space_init(&space, 1, UINT64_MAX - 7, &m);
	MC_ASSERT(map() == 0);
}

static void at_rest(void)
{
	MC_ASSERT(buckets[0].first == NULL && buckets[1].first == NULL);
	check_threads_at_rest();
}

/* ---- one wait, and who ends it ---- */

enum { NONE = 99 };
static struct cc__node node;
static cc__a32 ends, last;	/* calls of `ended`; its result */
static int result = NONE, woken;

static struct cc__wake note_end(struct cc__node *n, int how)
{
	(void)n;
	cc__add(&ends, 1, CC__RELAXED);
	cc__store(&last, (uint32_t)how, CC__RELAXED);
	return (struct cc__wake){NULL, 0};
}

static void node_init(void)
{
	open_space();
	node.space = &space;
	node.ended = note_end;
	cc__node_open(&node, 7);
}

static void wait_until(cc_time deadline)
{
	const struct cc__node_wait w = {.address = at(), .deadline = deadline};

	be_thread();
	result = cc__node_wait(&node, &w);
}

static void wait_for_ever(void)
{
	wait_until(CC_FOREVER);
}

static void wait_a_second(void)
{
	wait_until(cc__now() + CC_SEC);
}

static void wake(void)
{
	woken += cc__space_wake(&space, NULL, 0, at(), 1);
}

static void change_and_wake(void)
{
	cc__store(&word, 1, CC__RELAXED);
	wake();
}

static void close_node(void)
{
	MC_ASSERT(cc__node_close(&node, 7));
}

static void interrupt(void)
{
	cc__node_interrupt(&node, 7);
}

static void cancel_first(void)
{
	cc__store(&cancel, CC__CANCEL, CC__SEQ_CST);
	cc__unpark(thread_parker(0));
}

/* The address is used again at once: what waits there later is another wait. */
static void unmap(void)
{
	MC_ASSERT(cc__space_unmap(&space, at()) == 0);
	MC_ASSERT(map() == 0);
}

static void renew(void)
{
	MC_ASSERT(cc__space_renew(&space) == 0);
	MC_ASSERT(map() == 0);
	wake();
}

/* One end, the sleeper knows it, and a wake that counts is one that woke. */
static void ended_once(void)
{
	at_rest();
	MC_ASSERT(!node.waits && !node.sleeper.listed);
	MC_ASSERT(cc__peek(&ends) == 1);
	MC_ASSERT((int)cc__peek(&last) == result);
	MC_ASSERT(woken == (result == CC_PARK_WOKEN));
	mc_outcome("%d", result);
}

SCENARIO(node_no_wake_is_lost, .init = node_init, .body = {wait_for_ever, change_and_wake},
         .final = ended_once, .outcomes = "0 1") /* covers: PRK-54/m */
/* covers: PRK-63/m */
SCENARIO(node_wake_and_time, .init = node_init, .body = {wait_a_second, wake},
         .final = ended_once, .spurious = MC_NONE, .outcomes = "0 2")
SCENARIO(node_wake_and_exit, .init = node_init, .body = {wait_for_ever, wake, close_node},
         .final = ended_once, .spurious = MC_NONE, .weak = 1, .outcomes = "0 -14")
SCENARIO(node_wake_and_cancel, .init = node_init, .body = {wait_for_ever, wake, cancel_first},
         .final = ended_once, .spurious = MC_NONE, .weak = 1, .outcomes = "0 3")
SCENARIO(node_time_and_exit, .init = node_init, .body = {wait_a_second, close_node},
         .final = ended_once, .spurious = MC_NONE, .outcomes = "2 -14")
SCENARIO(node_time_and_interrupt, .init = node_init, .body = {wait_a_second, interrupt},
         .final = ended_once, .spurious = MC_NONE, .outcomes = "2 3")
SCENARIO(node_cancel_and_exit, .init = node_init,
         .body = {wait_for_ever, cancel_first, close_node}, .final = ended_once,
         .spurious = MC_NONE, .weak = 1, .outcomes = "3 -14")
/* FAULT: it came while nothing was mapped.  covers: PRK-68/m, PRK-63/m */
SCENARIO(node_time_and_unmap, .init = node_init, .body = {wait_a_second, unmap},
         .final = ended_once, .spurious = MC_NONE, .outcomes = "2 3 -8")
SCENARIO(node_wake_and_unmap, .init = node_init, .body = {wait_a_second, wake, unmap},
         .final = ended_once, .spurious = MC_NONE, .weak = 1, .outcomes = "0 2 3 -8")
SCENARIO(node_exit_and_unmap, .init = node_init, .body = {wait_for_ever, close_node, unmap},
         .final = ended_once, .spurious = MC_NONE, .weak = 1, .outcomes = "3 -8 -14")
SCENARIO(node_time_and_renew, .init = node_init, .body = {wait_a_second, renew},
         .final = ended_once, .spurious = MC_NONE, .outcomes = "0 2 3 -8")

/* ---- promises of a ring with two places ---- */

static struct {
	CCCapRing ring;
	CCCapSubmission sq[2];
	CCCapCompletion cq[2];
} user;
static struct cc__cap cap[3];
static struct cc__caps caps;
static struct cc__strand strand[2];
static struct cc__strands strands;
static struct cc__capring ring;
static int entered[2];

static uint32_t id_of(int i)
{
	return cc__strand_id(&strand[i]);
}

static void submit_park(int i, uint64_t timeout)
{
	const CCCapSubmission e = {.opcode = CC_CAP_OP_PARK,
	                           .flags = CC_CAP_THREAD_OWNED,
	                           .cap = cc__caps_find(&caps, CC_CAP_PARK_SPACE),
	                           .owner = id_of(i),
	                           .address = at(),
	                           .dependency = timeout};

	MC_ASSERT(cc__user_push(&user.ring, 2, &e) == 0);
}

static void submit_unpark(void)
{
	const CCCapSubmission e = {.opcode = CC_CAP_OP_UNPARK,
	                           .cap = cc__caps_find(&caps, CC_CAP_PARK_SPACE),
	                           .address = at(),
	                           .length = 1};

	MC_ASSERT(cc__user_push(&user.ring, 2, &e) == 0);
}

static void ring_init(void)
{
	int err;

	open_space();
	cc__caps_init(&caps, cap, 3);
	MC_ASSERT(cc__caps_mint(&caps) == 0);
	cc__strands_init(&strands, &space, strand, 2);
	cc__capring_init(&ring, &user.ring, 2, 2);
	ring.space = &space;
	ring.caps = &caps;
	ring.strands = &strands;
	for (int i = 0; i < 2; i++)
		MC_ASSERT(cc__strand_join(&strands, &err) == &strand[i]);
}

static void park_and_unpark(void)
{
	ring_init();
	submit_park(0, CC_SEC);
	submit_unpark();
}

static void one_parks(void)
{
	ring_init();
	submit_park(0, CC_CAP_NEVER);
}

static void two_park(void)
{
	ring_init();
	submit_park(0, CC_CAP_NEVER);
	submit_park(1, CC_CAP_NEVER);
}

static void enter(void)
{
	const int i = mc_self();

	be_thread();
	entered[i] = cc__capring_enter(&ring, &strand[i], 0, 0);
}

static void enter_for_two(void)
{
	be_thread();
	entered[1] = cc__capring_enter(&ring, &strand[1], 2, CC_CAP_NEVER);
}

static void end_first(void)
{
	MC_ASSERT(cc__capring_strand_end(&ring, id_of(0)));
}

static void end_both(void)
{
	MC_ASSERT(cc__capring_strand_end(&ring, id_of(0)));
	MC_ASSERT(cc__capring_strand_end(&ring, id_of(1)));
}

static void leave_process(void)
{
	cc__capring_exit(&ring);
}

/* All promises are kept, and each entry that was taken has ended once. */
static void settled(void)
{
	at_rest();
	MC_ASSERT(ring.promised == 0 && ring.kept == 0 && !ring.entering);
	MC_ASSERT(ring.cq_tail + ring.silent == ring.sq_head);
	MC_ASSERT(user.ring.cq_tail == ring.cq_tail && user.ring.sq_head == ring.sq_head);
}

static void both_told(void)
{
	settled();
	MC_ASSERT(ring.sq_head == 2 && entered[1] == 2);
	mc_outcome("%d,%d", user.cq[0].result, user.cq[1].result);
}

static void told_or_silent(void)
{
	settled();
	mc_outcome("%u,%u", ring.cq_tail, (unsigned)ring.silent);
}

/* The wake stands behind the wait, and who wants it is blocked until the head moves. */
SCENARIO(ring_blocked_behind_a_wait, .init = park_and_unpark, .body = {enter, enter_for_two},
         .final = both_told, .spurious = MC_NONE, .weak = MC_NONE, .bound = 2,
         .outcomes = "0,1 0,2 2,0")
SCENARIO(ring_exit_of_a_strand, .init = one_parks, .body = {enter, wake, end_first},
         .final = told_or_silent, .spurious = MC_NONE, .weak = MC_NONE, .outcomes = "1,0 0,1")
SCENARIO(ring_exit_of_a_process, .init = one_parks, .body = {enter, leave_process},
         .final = told_or_silent, .spurious = MC_NONE, .weak = MC_NONE)
/* Two places: one sleeps at most, and one is left to say so. */
SCENARIO(ring_two_want_one_place, .init = two_park, .body = {enter, enter, end_both},
         .final = settled, .spurious = MC_NONE, .weak = MC_NONE, .bound = 1)
