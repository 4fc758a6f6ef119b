/* chan_fiber.c - fibers and threads on one channel, and a fiber that is cancelled while
 * somebody hands it an element.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c chan/ring.c chan/buffered.c chan/chan.c
 *          chan/locked.c */
#define SHIM_CANCEL
#define SHIM_SCHEDULER
#include "shim_wait.h"
#include "shim_fiber.h"
#include "shim_chan.h"

static void fibers_ended(void)
{
	balanced();
	check_at_rest();
}

#define CHAN_SCENARIO(name, ...) \
	SCENARIO(name, .conserve = queue_empty, .spurious = MC_NONE, __VA_ARGS__)

static void moved_one(void)
{
	fibers_ended();
	MC_ASSERT(total(true) == 1);
}

static void rendezvous_receiver(void)
{
	rendezvous();
	spawn(recv_one);
}

static void rendezvous_sender(void)
{
	rendezvous();
	spawn(send_one);
}

static void rendezvous_pair(void)
{
	rendezvous();
	spawn(send_one);
	spawn(recv_one);
}

static void buffered_pair(void)
{
	buffer_1();
	spawn(send_two);
	spawn(recv_two);
}

static void moved_two(void)
{
	fibers_ended();
	MC_ASSERT(total(true) == 2);
}
/* covers: RES-07/m, CHN-23/m, SCH-51/m, CHN-47/m */
CHAN_SCENARIO(fiber_receives_from_thread, .init = rendezvous_receiver, .body = {worker, send_one},
              .final = moved_one)
CHAN_SCENARIO(fiber_sends_to_thread, .init = rendezvous_sender, .body = {worker, recv_one},
              .final = moved_one)
CHAN_SCENARIO(fiber_meets_fiber, .init = rendezvous_pair, .body = {worker, worker},
              .final = moved_one)
CHAN_SCENARIO(fibers_share_a_buffer, .init = buffered_pair, .body = {worker}, .final = moved_two)
CHAN_SCENARIO(fibers_share_a_buffer_two_workers, .init = buffered_pair, .body = {worker, worker},
              .final = moved_two, .bound = 1)

/* ---- cancel against hand-over ----
 * Matched is seen through, unmatched withdraws: the element is in one place. */
static cc__a32 cancel;

const cc__a32 *shim_cancel_flag(struct cc__parker *p)
{
	return p == &fiber[0].parker ? &cancel : NULL;
}

static void cancel_fiber(void)
{
	cc__store(&cancel, 1, CC__RELAXED);
	cc__unpark(&fiber[0].parker);
}

enum { FIBER = MC_THREADS - FIBERS };	/* its place in did[] */

static void try_send_until_taken(void)
{
	begin_body();
	send_to(chan, CC_NOW);
}

static void try_recv_once(void)
{
	begin_body();
	recv_from(chan, CC_NOW);
}

static void matched_or_cancelled(void)
{
	fibers_ended();
	MC_ASSERT(did[FIBER].sends + did[FIBER].recvs == 1 || did[FIBER].refused == ECANCELED);
	MC_ASSERT(total(true) == total(false));
	mc_outcome("%d", total(true));
}
CHAN_SCENARIO(cancelled_receiver, .init = rendezvous_receiver,
              .body = {worker, cancel_fiber, try_send_until_taken}, .final = matched_or_cancelled,
              .outcomes = "0 1") /* covers: RES-19/m, SCH-59/m, RES-54/m */
CHAN_SCENARIO(cancelled_sender, .init = rendezvous_sender,
              .body = {worker, cancel_fiber, try_recv_once}, .final = matched_or_cancelled,
              .outcomes = "0 1") /* covers: RES-19/m, SCH-59/m */

/* On a buffer: who is cancelled with a signal passes it on. */
static void two_buffered_receivers(void)
{
	buffer_1();
	spawn(recv_one);
	spawn(recv_one);
}

static void one_got_it(void)
{
	balanced();
	check_conservation();
	MC_ASSERT(did[FIBER].recvs + did[FIBER + 1].recvs >= 1 && did[FIBER + 1].recvs <= 1);
	MC_ASSERT(did[FIBER].recvs == 1 || did[FIBER].refused == ECANCELED);
}

static void send_until_both_have(void)
{
	begin_body();
	send_to(chan, CC_FOREVER);
	send_to(chan, CC_FOREVER);
}
CHAN_SCENARIO(cancelled_with_a_signal, .init = two_buffered_receivers,
              .body = {worker, cancel_fiber, send_until_both_have}, .final = one_got_it,
              .bound = 1) /* covers: CHN-53/m, CHN-44/m */
