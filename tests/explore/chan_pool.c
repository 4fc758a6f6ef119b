/* chan_pool.c - a pool: never more items than it may have, none is lost, and who waits for
 * one that could not be made after all gets his turn.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c chan/ring.c chan/buffered.c chan/chan.c
 *          chan/locked.c chan/owned.c */
#include "shim_wait.h"
#include "shim_chan.h"

static cc__a32 fails;	/* so many creates to come */
static cc__a32 out;	/* items that somebody has */

static int create(void *context, void *item)
{
	(void)context;
	if (cc__load(&fails, CC__RELAXED) > 0 && cc__sub(&fails, 1, CC__RELAXED) > 0)
		return ENOSPC;
	*(int *)item = 7;
	return 0;
}

static void pool_of_one(void)
{
	make(&cc__owned, 1);
	chan->options.kind = CC_CHAN_KIND_OWNED;
	chan->options.create = create;
}

static void pool_that_fails_once(void)
{
	pool_of_one();
	cc__init(&fails, 1);
}

static void use_until(cc_time deadline)
{
	int v = 0, *refused = &did[mc_self()].refused;

	if ((*refused = cc_chan_recv_until(chan, &v, sizeof v, deadline)) != 0)
		return;
	MC_ASSERT(v == 7 && cc__add(&out, 1, CC__RELAXED) == 0);
	cc__sub(&out, 1, CC__RELAXED);
	MC_ASSERT(cc_chan_send(chan, &v, sizeof v) == 0);
}

static void use(void)
{
	begin_body();
	use_until(CC_FOREVER);
}

static void use_a_second(void)
{
	begin_body();
	use_until(cc__now() + CC_SEC);
}

/* How many of them met each error. */
static int refused_with(int error)
{
	int n = 0;

	for (int t = 0; t < MC_THREADS; t++)
		n += did[t].refused == error;
	return n;
}

static void all_are_back(void)
{
	check_threads_at_rest();
	MC_ASSERT(chan->out == 0 && chan->made == chan->count && chan->made <= 1);
	MC_ASSERT(chan->wait[CC__RECV].head == NULL);
	mc_outcome("%d", refused_with(ENOSPC));
}
SCENARIO(pool_is_shared, .init = pool_of_one, .body = {use, use, use}, .final = all_are_back,
         .spurious = MC_NONE, .outcomes = "0")
SCENARIO(pool_fails_once, .init = pool_that_fails_once, .body = {use, use, use},
         .final = all_are_back, .spurious = MC_NONE, .outcomes = "1")
SCENARIO(pool_fails_and_one_is_late, .init = pool_that_fails_once,
         .body = {use, use_a_second, use}, .final = all_are_back, .spurious = MC_NONE,
         .timeouts = 1, .outcomes = "1") /* covers: CHN-53/m, CHN-44/m */

/* Whoever waits is told, and what is out comes back to nobody. */
static void closed_while_out(void)
{
	check_threads_at_rest();
	MC_ASSERT(chan->out == 0 && chan->made == chan->count);
	MC_ASSERT(refused_with(EPIPE) + refused_with(0) == MC_THREADS);
}

static void use_a_closing_one(void)
{
	int v = 0, err;

	begin_body();
	if ((did[mc_self()].refused = cc_chan_recv(chan, &v, sizeof v)) != 0)
		return;
	err = cc_chan_send(chan, &v, sizeof v);
	MC_ASSERT(err == 0 || err == EPIPE);
}
SCENARIO(pool_is_closed, .init = pool_of_one,
         .body = {use_a_closing_one, use_a_closing_one, close_chan}, .final = closed_while_out,
         .spurious = MC_NONE) /* covers: LIF-46/m, RES-11/m */
