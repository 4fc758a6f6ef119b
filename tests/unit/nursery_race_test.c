/* nursery_race_test.c - everything that can end a nursery, at once; and nurseries that are
 * deep, wide and old.
 *
 * From the environment: NURSERY_STORMS=N, so many rounds of the race in all.
 * ctest-label: race */
#include <stdlib.h>

#include "sleepers.h"
#include "tasks.h"

#include "task/frame.h"

static unsigned number_from(const char *variable, unsigned otherwise)
{
	const char *text = getenv(variable);
	const unsigned n = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 0;

	return n > 0 ? n : otherwise;
}

/* ---- completion, failure, cancel, spawn, close and timeout against each other ---- */

struct storm {
	CCNursery *n;
	CCChan *chan;
	uint64_t seed;			/* the owner's */
	cc__a32 started, finished, refused, failed, succeeded;
};

enum { CHILDREN = 6, KINDS_OF_CHILD = 8 };

struct child {
	struct storm *s;
	unsigned kind;
	unsigned spawns;		/* of it, by it */
};

static int child_main(void *arg);

/* Counted before it can run; a refusal is no start. */
static void spawn_child(struct child *c)
{
	int err;

	cc__add(&c->s->started, 1, CC__RELAXED);
	if ((err = cc_nursery_spawn(c->s->n, NULL, child_main, c)) != 0) {
		CHECK_EQ(err, ECANCELED);
		cc__sub(&c->s->started, 1, CC__RELAXED);
		cc__add(&c->s->refused, 1, CC__RELAXED);
	}
}

static int do_its_thing(struct child *c)
{
	struct storm *s = c->s;
	int v = 0;

	switch (c->kind) {
	case 0:
		return EIO;
	case 1:
		return cc_chan_recv(s->chan, &v, sizeof v);
	case 2:
		return cc_chan_send(s->chan, &v, sizeof v);
	case 3:
		return cc_sleep_until(cc_now() + CC_USEC);
	case 4:
		v = cc_chan_recv_until(s->chan, &v, sizeof v, cc_now() + 10 * CC_USEC);
		return v == ETIMEDOUT ? 0 : v;
	case 5:
		cc_nursery_cancel(s->n, 0);
		return 0;
	case 6:
		return cc_chan_close(s->chan);
	default:
		if (c->spawns-- > 0)
			spawn_child(c);
		return 0;
	}
}

static int child_main(void *arg)
{
	struct child *c = arg;
	struct storm *s = c->s;
	int err = do_its_thing(c);

	if (err == EPIPE)
		err = 0;
	if (err == 0)
		cc__add(&s->succeeded, 1, CC__RELAXED);
	else if (err != ECANCELED && err != ETIMEDOUT)
		cc__add(&s->failed, 1, CC__RELAXED);
	cc__add(&s->finished, 1, CC__RELAXED);
	return err;
}

static void one_storm(CCRuntime *rt, uint64_t *seed)
{
	const bool late = test_random(seed) % 4 == 0;
	const CCNurseryOptions o = {
	    .runtime = rt,
	    .policy = (CCNurseryPolicy)(test_random(seed) % 3),
	    .deadline = late ? cc_now() + (cc_time)(test_random(seed) % 50) * CC_USEC : 0,
	};
	struct storm s = {.chan = cc_chan_new(sizeof(int), test_random(seed) % 3)};
	struct child c[CHILDREN];
	uint32_t failed, succeeded, ended, refused;
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		s.n = n;
		for (int i = 0; i < CHILDREN; i++) {
			c[i] = (struct child){&s, (unsigned)(test_random(seed) % KINDS_OF_CHILD), 3};
			spawn_child(&c[i]);
		}
		/* Somebody has to end those who wait for each other. */
		if (test_random(seed) % 2 == 0)
			cc_nursery_cancel(n, 0);
		else
			cc_chan_close(s.chan);
	}
	failed = cc__load(&s.failed, CC__RELAXED);
	succeeded = cc__load(&s.succeeded, CC__RELAXED);
	ended = cc__load(&s.finished, CC__RELAXED);
	refused = cc__load(&s.refused, CC__RELAXED);
	CHECK_EQ(cc__load(&s.started, CC__RELAXED), ended);
	if (o.policy == CC_NURSERY_FIRST_SUCCESS && succeeded > 0)
		CHECK_EQ(err, 0);
	else if (failed > 0)
		CHECK_EQ(err, EIO);
	else if (succeeded == ended && refused == 0)
		CHECK_EQ(err, 0);
	else
		CHECK(err == ECANCELED || (late && err == ETIMEDOUT));
	CHECK_EQ(cc_chan_free(s.chan), 0);
}

struct storms {
	CCRuntime *rt;
	uint64_t seed;
	unsigned rounds;
	unsigned done;
};

static int many_storms(void *arg)
{
	struct storms *s = arg;

	for (; s->done < s->rounds && test_has_time(); s->done++)
		one_storm(s->rt, &s->seed);
	return 0;
}

/* covers: LIF-08/s, LIF-10/s, LIF-69/s */
TEST(whatever_ends_it_all_that_began_has_ended)
{
	const unsigned rounds = number_from("NURSERY_STORMS", test_rounds(20000)) / 4;
	CCRuntime *rt = test_runtime();
	struct storms s[4];
	struct sleeper owner[4];

	for (unsigned i = 0; i < 4; i++) {
		s[i] = (struct storms){rt, test_seed() + i, rounds, 0};
		sleeper_start(&owner[i], rt, i % 2 == 0 ? FIBER : THREAD, many_storms, &s[i]);
	}
	for (unsigned i = 0; i < 4; i++)
		sleeper_join(&owner[i]);
	CHECK_EQ(cc_runtime_free(rt), 0);
	printf("nursery storms %u\n", s[0].done + s[1].done + s[2].done + s[3].done);
}

/* ---- deep ---- */

struct deep {
	unsigned depth, most;
	cc__a32 *reached;
	int (*bottom)(void *arg);
	void *arg;
};

static int go_down(void *arg)
{
	struct deep *above = arg, here = *above;
	int err = -1;

	cc__add(here.reached, 1, CC__RELAXED);
	if (++here.depth >= here.most)
		return here.bottom(here.arg);
	cc_nursery_scope(n, &err)
		CHECK_EQ(cc_nursery_spawn(n, NULL, go_down, &here), 0);
	return err;
}

static int fail(void *arg)
{
	(void)arg;
	return EIO;
}

static int all_the_way_down(CCRuntime *rt, unsigned most, int (*bottom)(void *), void *arg)
{
	const CCNurseryOptions o = {.runtime = rt};
	cc__a32 reached = {0};
	struct deep d = {.most = most, .reached = &reached, .bottom = bottom, .arg = arg};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o)
		CHECK_EQ(cc_nursery_spawn(n, NULL, go_down, &d), 0);
	CHECK_EQ(cc__load(&reached, CC__RELAXED), most);
	return err;
}

TEST(ten_thousand_nested)
{
	const unsigned most = test_rounds(10000);
	CCRuntime *rt = test_runtime();

	CHECK_EQ(all_the_way_down(rt, most, nothing, NULL), 0);
	CHECK_EQ(all_the_way_down(rt, most, fail, NULL), EIO);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

struct waits {
	cc__a32 waiting;
	CCChan *chan;
};

static int wait_there(void *arg)
{
	struct waits *w = arg;
	int v;

	cc__add(&w->waiting, 1, CC__RELEASE);
	return cc_chan_recv(w->chan, &v, sizeof v);
}

static int fail_when_there(void *arg)
{
	struct waits *w = arg;

	while (cc__load(&w->waiting, CC__ACQUIRE) == 0)
		cc_yield();
	return EIO;
}

TEST(cancel_goes_all_the_way_down)
{
	CCRuntime *rt = test_runtime();
	const CCNurseryOptions o = {.runtime = rt};
	struct waits w = {.chan = cc_chan_new(sizeof(int), 0)};
	cc__a32 reached = {0};
	struct deep d = {.most = test_rounds(10000), .reached = &reached, .bottom = wait_there, .arg = &w};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, go_down, &d), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail_when_there, &w), 0);
	}
	CHECK_EQ(err, EIO);
	CHECK_EQ(cc_chan_free(w.chan), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- wide ---- */

static int count(void *arg)
{
	cc__add((cc__a32 *)arg, 1, CC__RELAXED);
	return 0;
}

struct wide {
	CCRuntime *rt;
	unsigned most;
};

static int spawn_wide(void *arg)
{
	struct wide *w = arg;
	const CCNurseryOptions o = {.runtime = w->rt};
	cc__a32 ran = {0};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o)
		for (unsigned i = 0; i < w->most; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, count, &ran), 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), w->most);
	return err;
}

TEST(a_million_children_in_one)	/* covers: LIF-08/s, LIF-10/s, LIF-69/s */
{
	CCRuntime *rt = test_runtime();
	struct wide w = {rt, test_rounds(1000000)};

	CHECK_EQ(join(spawn(rt, spawn_wide, &w)), 0);
	w.most /= 10;
	CHECK_EQ(spawn_wide(&w), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Those who waited for it and those it is about to cancel are the same, some thousands. */
TEST(cancel_wakes_a_crowd)
{
	enum { CROWD = 3000 };
	CCRuntime *rt = test_runtime();
	const CCNurseryOptions o = {.runtime = rt};
	struct waits w = {.chan = cc_chan_new(sizeof(int), 0)};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		for (unsigned i = 0; i < CROWD; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, wait_there, &w), 0);
		while (cc__load(&w.waiting, CC__ACQUIRE) < CROWD)
			cc_yield();
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
	}
	CHECK_EQ(err, ECANCELED);
	CHECK_EQ(cc_chan_free(w.chan), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- a tree, torn down from the top ---- */

enum { WIDTH = 6, LEAVES = WIDTH * WIDTH * WIDTH };

struct tree {
	CCChan *empty, *full;
	cc__a32 parked, cut;
	unsigned level;
};

static int leaf(void *arg)
{
	struct tree *t = arg;
	const unsigned number = cc__add(&t->parked, 1, CC__RELEASE);
	int v = 0, err;

	if (number % 3 == 0)
		err = cc_chan_recv(t->empty, &v, sizeof v);
	else if (number % 3 == 1)
		err = cc_chan_send(t->full, &v, sizeof v);
	else
		err = cc_chan_recv_until(t->empty, &v, sizeof v, cc_now() + 3600 * CC_SEC);
	if (err == ECANCELED)
		cc__add(&t->cut, 1, CC__RELAXED);
	return err;
}

static int branch_of_leaves(void *arg)
{
	int err = -1;

	cc_nursery_scope(n, &err)
		for (unsigned i = 0; i < WIDTH; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, leaf, arg), 0);
	return err;
}

static int branch_of_branches(void *arg)
{
	int err = -1;

	cc_nursery_scope(n, &err)
		for (unsigned i = 0; i < WIDTH; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, branch_of_leaves, arg), 0);
	return err;
}

TEST(tree_is_torn_down_from_the_top)	/* covers: RES-36/u, RES-54/u */
{
	CCRuntime *rt = test_runtime();
	const CCNurseryOptions o = {.runtime = rt};
	struct tree t = {.empty = cc_chan_new(sizeof(int), 1), .full = cc_chan_new(sizeof(int), 1)};
	int err = -1, v = 0;

	CHECK_EQ(cc_chan_send(t.full, &v, sizeof v), 0);
	cc_nursery_scope_with(n, &err, &o) {
		for (unsigned i = 0; i < WIDTH; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, branch_of_branches, &t), 0);
		while (cc__load(&t.parked, CC__ACQUIRE) < LEAVES)
			cc_yield();
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
	}
	CHECK_EQ(err, ECANCELED);
	CHECK_EQ(cc__load(&t.cut, CC__RELAXED), LEAVES);
	CHECK_EQ(cc_chan_len(t.full), 1);
	CHECK_EQ(cc_chan_free(t.empty), 0);
	CHECK_EQ(cc_chan_free(t.full), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- old ---- */

enum { AT_ONCE = 64 };

static int wait_a_little(void *arg)
{
	CCChan *c = arg;
	int v;

	return cc_chan_recv(c, &v, sizeof v);	/* so it is listed, once in its life */
}

static void live_on(CCNursery *n, CCChan *c, unsigned waves)
{
	const int v = 0;

	for (unsigned i = 0; i < waves; i++) {
		for (unsigned k = 0; k < AT_ONCE; k++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, wait_a_little, c), 0);
		for (unsigned k = 0; k < AT_ONCE; k++)
			CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
	}
}

TEST(old_nursery_does_not_grow)
{
	CCRuntime *rt = test_runtime();
	const CCNurseryOptions o = {.runtime = rt};
	CCChan *c = cc_chan_new(sizeof(int), 0);
	size_t frames;
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		live_on(n, c, test_rounds(100));
		frames = cc__frames_made();
		live_on(n, c, test_rounds(2000));
		/* Those that are about to end may be a few more than before. */
		CHECK(cc__frames_made() <= frames + 4096);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
