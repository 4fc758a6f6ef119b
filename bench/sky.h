/* sky.h - a tree, ten children a node, by whatever means they are spawned: each leaf sends
 * its number up, each node the sum of what came from below. */
#ifndef BENCH_SKY_H
#define BENCH_SKY_H

#include "chan.h"

enum { SKY_CHILDREN = 10 };

struct sky {
	CCChan *up;
	long number, leaves;
};

/* True: it is one, and has sent its number. */
static inline bool sky_leaf(const struct sky *me)
{
	if (me->leaves == 1)
		bench_send(me->up, me->number);
	return me->leaves == 1;
}

static inline struct sky sky_child(const struct sky *me, CCChan *down, int i)
{
	const long leaves = me->leaves / SKY_CHILDREN;

	return (struct sky){down, me->number + i * leaves, leaves};
}

static inline long sky_sum(CCChan *down)
{
	long sum = 0;

	for (int i = 0; i < SKY_CHILDREN; i++)
		sum += bench_recv_one(down);
	return sum;
}

static inline struct sky sky_root(long leaves)
{
	return (struct sky){bench_chan(0), 0, bench_arg("n", leaves)};
}

static inline void sky_report(const char *name, const struct sky *root, long sum, cc_time ns)
{
	bench_check(sum == bench_sum(root->leaves), "the sum is wrong");
	bench_chan_free(root->up);
	bench_report(bench_rendezvous_name(name), root->leaves, ns, "\"op\":\"leaf\"");
}

#endif
