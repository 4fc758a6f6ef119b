/* parallel_race_test.c - trees of forks whose nodes compute, yield, sleep, talk to their siblings or open
 * nurseries, with thieves around: every branch ends once, and an error ends all of them.
 *
 * ctest-label: race */
#include <ccc/parallel.h>

#include "environment.h"
#include "nurseries.h"
#include "os/tools.h"

static CCRuntime *four_workers(void)
{
	CCConfig config;

	CHECK_EQ(cc_config_init(&config), 0);
	config.workers = config.workers_max = 4;
	return runtime_with(&config);
}

static uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352d;
	x ^= x >> 15;
	x *= 0x846ca68b;
	return x ^ x >> 16;
}

static int rounds(void)
{
	return cc__tools != 0 ? 20 : 100;
}

struct forest {
	cc__a32 begun, ended;
	uint32_t fails;	/* the seed of the node that fails; 0: none does */
};

/* ---- nodes ---- */

static cc_par_fn(say, CCChan *chan;)
{
	return cc_chan_send(self->chan, &(int){1}, sizeof(int));
}

static cc_par_fn(hear, CCChan *chan;)
{
	int v;

	return cc_chan_recv(self->chan, &v, sizeof v);
}

static int talk(CCPar *cc_par_context)
{
	CCChan *c = cc_chan_new(sizeof(int), 0);
	const int err = cc_par2((hear, .chan = c), (say, .chan = c));

	CHECK_EQ(cc_chan_free(c), 0);
	return err;
}

static int nest(void)
{
	int err = 0;

	cc_nursery_scope(n, &err)
		cc_nursery_spawn(n, NULL, nothing, NULL);
	return err;
}

static int do_something(uint32_t seed, CCPar *par)
{
	switch (seed % 16) {
	case 0:
		return cc_sleep_until(cc_after(seed % 64 * CC_USEC));
	case 1:
		return cc_yield();
	case 2:
		return talk(par);
	case 3:
		return nest();
	default:
		for (uint32_t i = seed % 512; i > 0; i--)
			seed = mix(seed);
		return seed == 1;
	}
}

static cc_par_fn(grow, uint32_t seed; int depth; struct forest * forest;)
{
	struct forest *f = self->forest;
	int err = 0;

	cc__add(&f->begun, 1, CC__RELAXED);
	if (self->seed == f->fails)
		err = EIO;
	else if (self->depth == 0)
		err = do_something(self->seed, cc_par_context);
	else if ((err = self->seed % 8 == 0 ? do_something(self->seed >> 3, cc_par_context) : 0) ==
	         0)
		err = cc_par2(
		    (grow, .seed = mix(2 * self->seed), .depth = self->depth - 1, .forest = f),
		    (grow, .seed = mix(2 * self->seed + 1), .depth = self->depth - 1, .forest = f));
	cc__add(&f->ended, 1, CC__RELAXED);
	return err;
}

/* ---- forests ---- */

static int grow_many(void *arg)
{
	(void)arg;
	for (uint32_t i = 1; i <= (uint32_t)rounds(); i++) {
		struct forest f = {0};

		CHECK_EQ(cc_par2((grow, .seed = mix(i), .depth = 7, .forest = &f),
		                 (grow, .seed = mix(i + 1000), .depth = 7, .forest = &f)),
		         0);
		CHECK_EQ(cc__load(&f.begun, CC__RELAXED), 2 * 255);
		CHECK_EQ(cc__load(&f.ended, CC__RELAXED), 2 * 255);
	}
	return 0;
}

TEST(every_branch_of_every_tree_ends_once)
{
	CCRuntime *rt = four_workers();
	CCTask t[3];

	for (int i = 0; i < 3; i++)
		t[i] = spawn(rt, grow_many, NULL);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(join(t[i]), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* The seed of a leaf below the root. */
static uint32_t some_leaf(uint32_t seed, uint32_t path)
{
	for (int i = 0; i < 7; i++)
		seed = mix(2 * seed + (path >> i & 1));
	return seed;
}

static int fail_many(void *arg)
{
	(void)arg;
	for (uint32_t i = 1; i <= (uint32_t)rounds(); i++) {
		struct forest f = {.fails = some_leaf(mix(i), i * 7)};

		CHECK_EQ(cc_par2((grow, .seed = mix(i), .depth = 7, .forest = &f),
		                 (grow, .seed = mix(i + 1000), .depth = 7, .forest = &f)),
		         EIO);
		CHECK_EQ(cc__load(&f.begun, CC__RELAXED), cc__load(&f.ended, CC__RELAXED));
	}
	return 0;
}

TEST(failing_leaf_ends_its_tree_with_its_error)
{
	CCRuntime *rt = four_workers();
	CCTask t[2] = {spawn(rt, fail_many, NULL), spawn(rt, fail_many, NULL)};

	CHECK_EQ(join(t[0]), 0);
	CHECK_EQ(join(t[1]), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Cancelled at any time from outside: all that began has ended when the nursery has. */
static int grow_one(void *arg)
{
	struct forest *f = arg;

	return cc_par2((grow, .seed = 77, .depth = 8, .forest = f),
	               (grow, .seed = 78, .depth = 8, .forest = f));
}

static int cancel_many(void *arg)
{
	(void)arg;
	for (uint32_t i = 1; i <= (uint32_t)rounds(); i++) {
		struct forest f = {0};
		int err = 0;

		cc_nursery_scope(n, &err) {
			cc_nursery_spawn(n, NULL, grow_one, &f);
			cc_ignore(cc_sleep_until(cc_after(mix(i) % 300 * CC_USEC)));
			cc_nursery_cancel(n, 0);
		}
		CHECK(err == 0 || err == ECANCELED);
		CHECK_EQ(cc__load(&f.begun, CC__RELAXED), cc__load(&f.ended, CC__RELAXED));
	}
	return 0;
}

TEST(cancelled_tree_leaves_no_branch_behind)
{
	CCRuntime *rt = four_workers();

	CHECK_EQ(join(spawn(rt, cancel_many, NULL)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
