/* chan.h - what the benchmarks of channels share.
 *
 * All channels here carry one long.  Those that are a rendezvous have the capacity
 * cap=N instead, if it is given, and the name of the case ends in _capN then: for
 * comparison with what has no rendezvous. */
#ifndef CCC_BENCH_CHAN_H
#define CCC_BENCH_CHAN_H

#include <stdbool.h>

#include "bench.h"

/* Both end the process unless they succeed. */
CCChan *bench_chan(long capacity);
void bench_chan_free(CCChan *c);

/* The capacity of what is a rendezvous, and the name of such a case, until the next call. */
long bench_rendezvous(void);
const char *bench_rendezvous_name(const char *name);

/* False: closed.  Whatever else goes wrong ends the process. */
static inline bool bench_send(CCChan *c, long v)
{
	const int err = cc_chan_send(c, &v, sizeof v);

	if (err != 0)
		bench_check(cc_chan_closed(c), "a send failed");
	return err == 0;
}

static inline bool bench_recv(CCChan *c, long *v)
{
	const int err = cc_chan_recv(c, v, sizeof *v);

	if (err != 0)
		bench_check(cc_chan_closed(c), "a receive failed");
	return err == 0;
}

/* Where the stream cannot have ended. */
static inline long bench_recv_one(CCChan *c)
{
	long v = 0;

	if (!bench_recv(c, &v))
		bench_check(0, "the stream has ended");
	return v;
}

/* 0 + 1 + ... + n - 1 */
static inline long bench_sum(long n)
{
	return n * (n - 1) / 2;
}

#endif
