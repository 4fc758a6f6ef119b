/* chan_several.c - several elements in one call: one signal for all of them, and whoever
 * got it sees to the rest; a call that is half done when the close comes.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c chan/ring.c chan/buffered.c chan/chan.c chan/locked.c */
#include "shim_wait.h"
#include "shim_chan.h"

enum { BATCH = 3 };

static int send_several(size_t count)
{
	const int me = actor();
	int v[BATCH], err;
	size_t moved;

	begin_body();
	for (size_t i = 0; i < count; i++)
		v[i] = 10 * (me + 1) + did[me].next++;
	err = cc_chan_send_many(chan, v, sizeof *v, count, CC_FOREVER, &moved);
	MC_ASSERT((err == 0) == (moved > 0));
	for (size_t i = 0; i < moved; i++)
		did[me].sent[did[me].sends++] = v[i];
	return did[me].refused = err;
}

/* At most so many, in one call. */
static int recv_several(size_t count)
{
	const int me = actor();
	int v[BATCH], err;
	size_t moved;

	begin_body();
	err = cc_chan_recv_many(chan, v, sizeof *v, count, CC_FOREVER, &moved);
	MC_ASSERT((err == 0) == (moved > 0));
	for (size_t i = 0; i < moved; i++)
		did[me].got[did[me].recvs++] = v[i];
	return did[me].refused = err;
}

static void send_batch_of_two(void)
{
	send_several(2);
}

static void send_batch(void)
{
	send_several(BATCH);
}

static void recv_two_by_batches(void)
{
	while (did[actor()].recvs < 2)
		recv_several((size_t)(2 - did[actor()].recvs));
}

static void recv_three_by_batches(void)
{
	while (did[actor()].recvs < 3)
		recv_several((size_t)(3 - did[actor()].recvs));
}

static void recv_batches_to_the_end(void)
{
	while (recv_several(BATCH) == 0)
		continue;
}

static void all_moved(void)
{
	check_at_rest();
	MC_ASSERT(chan->kind->length(chan) == 0);
}

static void buffer_3(void)
{
	make(&cc__buffered, 3);
}

/* ---- one wakes many ---- */

SCENARIO(batch_to_three, .init = buffer_3, .body = {send_batch, recv_one, recv_one, recv_one},
         .final = all_moved, .spurious = MC_NONE, .bound = 1, .weak = 1)
/* covers: CHN-29/m, CHN-53/m, RES-51/m */
SCENARIO(batch_to_batch, .init = buffer_2, .body = {send_batch_of_two, recv_two_by_batches},
         .final = all_moved, .spurious = MC_NONE)
SCENARIO(batch_and_one_to_batch, .init = buffer_2,
         .body = {send_batch_of_two, send_one, recv_three_by_batches}, .final = all_moved,
         .spurious = MC_NONE, .bound = 1)
SCENARIO(batch_and_one_to_batch_locked, .init = locked_1,
         .body = {send_batch_of_two, send_one, recv_three_by_batches}, .final = all_moved,
         .spurious = MC_NONE)

/* ---- half done at the close ---- */

/* What was moved is received, and the count says how many that were. */
static void ended(void)
{
	check_at_rest();
	MC_ASSERT(did[1].refused == EPIPE && chan->kind->length(chan) == 0);
	mc_outcome("%d", total(true));
}
SCENARIO(batch_close, .init = buffer_2, .body = {send_batch, recv_batches_to_the_end, close_chan},
         .final = ended, .spurious = MC_NONE, .bound = 1, .outcomes = "0 2 3")
SCENARIO(batch_close_locked, .init = locked_1,
         .body = {send_batch, recv_batches_to_the_end, close_chan}, .final = ended,
         .spurious = MC_NONE, .bound = 1, .outcomes = "0 1 2 3") /* covers: CHN-04/m, CHN-33/m */
