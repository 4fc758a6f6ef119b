/* chan_guard.c - a receive that may be in vain: it ends with an element or with the end of all
 * hope, and nobody sleeps beside either.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c chan/ring.c chan/buffered.c chan/chan.c
 *          chan/locked.c */
#include "shim_wait.h"
#include "shim_chan.h"

static cc__a32 hopeless;

static bool in_vain(struct cc__guard *g, struct cc__parker *who)
{
	(void)g;
	MC_ASSERT(who == thread_parker(0));
	return cc__load(&hopeless, CC__SEQ_CST) != 0;
}

static struct cc__guard guard = {in_vain};

static void guarded_buffer(void)
{
	buffer_1();
	cc__chan_guard(chan, &guard);
}

static void guarded_rendezvous(void)
{
	rendezvous();
	cc__chan_guard(chan, &guard);
}

static void end_hope(void)
{
	cc__store(&hopeless, 1, CC__SEQ_CST);
	cc__unpark(thread_parker(0));
}

static void try_send(void)
{
	begin_body();
	send_to(chan, CC_NOW);
}

static void got_it_or_was_told(void)
{
	check_at_rest();
	MC_ASSERT(did[0].recvs == 1 || did[0].refused == EDEADLK);
	mc_outcome("%d", did[0].recvs);
}

SCENARIO(guarded_buffer_in_vain, .init = guarded_buffer, .body = {recv_one, send_one, end_hope},
         .final = got_it_or_was_told, .spurious = MC_NONE, .outcomes = "0 1", .weak = 1)
SCENARIO(guarded_rendezvous_in_vain, .init = guarded_rendezvous,
         .body = {recv_one, try_send, end_hope}, .final = got_it_or_was_told, .spurious = MC_NONE,
         .outcomes = "0 1")

/* The guard leaves while somebody comes to wait. */
static void leave(void)
{
	cc__chan_unguard(chan, &guard);
	send_one();
}

static void moved(void)
{
	check_at_rest();
	MC_ASSERT(did[0].recvs == 1 && chan->guard == NULL);
}
SCENARIO(guard_leaves, .init = guarded_rendezvous, .body = {recv_one, leave}, .final = moved,
         .spurious = MC_NONE)
