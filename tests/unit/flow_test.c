/* flow_test.c - long runs of channels: nothing is lost, nothing comes twice, nothing is out
 * of order, nothing gets in after the close (flows.h).
 *
 * FLOW_ELEMENTS=N: elements that each sender tries to send in a long run.
 * SOAK_SECONDS=N: how long the soak takes. */
#include "test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/point.h"
#include "environment.h"
#include "flows.h"
#include "tasks.h"

enum { WORKERS = 4 };

static unsigned number_from(const char *variable, unsigned otherwise)
{
	const char *text = getenv(variable);

	return text != NULL ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

/* Its sleep has no end of its own; when it is freed, those who still wait are cancelled soon. */
static CCRuntime *runtime(void)
{
	CCRuntime *rt = NULL;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	only_workers(&c, WORKERS);
	c.idle_wait = c.stack_idle = CC_FOREVER;
	c.shutdown_timeout = 10 * CC_MSEC;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

/* ---- long runs ---- */

static void run_long(CCRuntime *rt, CCChanKind kind, CCChanMode mode, size_t capacity)
{
	const struct flow_way one = {kind, mode, capacity}, way[FLOW_CHANS] = {one, one, one};
	uint32_t most = number_from("FLOW_ELEMENTS", 1000 / test_slowness());
	struct flow f = {.rt = rt, .senders = 8, .receivers = 8};

	for (; most > 0; most -= f.most) {
		f.most = most < FLOW_MAX ? most : FLOW_MAX;
		flow_begin(&f, way, test_seed() + most);
		flow_join_senders(&f);
		for (int i = 0; i < FLOW_CHANS; i++)
			flow_close(&f.c[i]);
		flow_join_receivers(&f);
		for (int i = 0; i < FLOW_CHANS; i++)
			CHECK_EQ(cc_chan_len(f.c[i].chan), 0);
		CHECK(flow_end(&f) > 0);
	}
}

TEST(long_runs_keep_every_element_and_its_order)
{
	static const size_t capacities[] = {0, 1, 2, 7, 8, 64};
	CCRuntime *rt = runtime();

	for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
		run_long(rt, CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_BLOCK, capacities[i]);
		run_long(rt, CC_CHAN_KIND_SYNC, CC_CHAN_MODE_BLOCK, capacities[i]);
		run_long(rt, CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_DROP_NEW, capacities[i]);
		if (capacities[i] == 0)
			continue;
		run_long(rt, CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_DROP_OLD, capacities[i]);
		run_long(rt, CC_CHAN_KIND_SYNC, CC_CHAN_MODE_DROP_OLD, capacities[i]);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- pools ---- */

enum { POOL = 5, BATHERS = 64 };

/* Items are their numbers. */
static struct pool {
	CCChan *chan;
	cc__a32 created, destroyed, taken;
	cc__a32 used[POOL];	/* 1: somebody has it */
	cc__a32 shared;		/* two had one at once */
	cc__a32 enough;		/* 1: the bathers go */
} pool;

/* Fails now and then. */
static int create(void *context, void *item)
{
	struct pool *p = context;
	uint32_t number;

	if (cc_now() % 8 == 0)
		return ENOSPC;
	number = cc__add(&p->created, 1, CC__RELAXED);
	memcpy(item, &number, sizeof number);
	return 0;
}

static void destroy(void *context, void *item)
{
	(void)item;
	cc__add(&((struct pool *)context)->destroyed, 1, CC__RELAXED);
}

struct bather {
	uint64_t seed;
	struct sleeper s;
};

static int take_item(struct bather *b, uint32_t *number)
{
	const cc_time deadline = flow_deadline(&b->seed, true);
	CCCase c = cc_case_recv(pool.chan, number, sizeof *number);

	return flow_below(&b->seed, 2)
	           ? cc_select(&c, 1, deadline, NULL)
	           : cc_chan_recv_until(pool.chan, number, sizeof *number, deadline);
}

/* Until the pool is closed or the test has seen enough: take one, use it alone, give it back. */
static int bathe(void *arg)
{
	struct bather *b = arg;
	uint32_t number = 0;
	int err;

	while (cc__load(&pool.enough, CC__RELAXED) == 0 && (err = take_item(b, &number)) != EPIPE) {
		if (err != 0)
			continue;
		cc__add(&pool.taken, 1, CC__RELAXED);
		if (!CHECK(number < POOL))
			break;
		cc__add(&pool.shared, cc__add(&pool.used[number], 1, CC__RELAXED) != 0,
		        CC__RELAXED);
		if (flow_below(&b->seed, 4) == 0)
			cc_yield();
		cc__sub(&pool.used[number], 1, CC__RELAXED);
		err = cc_chan_send(pool.chan, &number, sizeof number);
		if (err != 0 && !CHECK_EQ(err, EPIPE))
			break;
	}
	return 0;
}

/* Closed, the items go as they come back; else all are in the pool when it is freed. */
static void bathe_together(bool close)
{
	const CCChanOptions o = {
	    .kind = CC_CHAN_KIND_OWNED, .create = create, .destroy = destroy, .context = &pool};
	static struct bather bather[BATHERS];
	CCRuntime *rt = runtime();
	uint64_t seed = test_seed();

	memset(&pool, 0, sizeof pool);
	REQUIRE_EQ(cc_chan_create(&pool.chan, sizeof(uint32_t), POOL, &o), 0);
	for (int i = 0; i < BATHERS; i++) {
		bather[i] = (struct bather){.seed = test_random(&seed)};
		sleeper_start(&bather[i].s, rt, i % 8 == 7 ? THREAD : FIBER, bathe, &bather[i]);
	}
	TEST_UNTIL(cc__load(&pool.taken, CC__RELAXED) > 20000 / test_slowness());
	if (close)
		CHECK_EQ(cc_chan_close(pool.chan), 0);
	else
		cc__store(&pool.enough, 1, CC__RELAXED);
	for (int i = 0; i < BATHERS; i++)
		CHECK_EQ(sleeper_join(&bather[i].s), 0);
	CHECK_EQ(cc__load(&pool.destroyed, CC__RELAXED),
	         close ? cc__load(&pool.created, CC__RELAXED) : 0);
	CHECK_EQ(cc_chan_free(pool.chan), 0);
	CHECK_EQ(cc__load(&pool.shared, CC__RELAXED), 0);
	CHECK(cc__load(&pool.created, CC__RELAXED) <= POOL);
	CHECK_EQ(cc__load(&pool.created, CC__RELAXED), cc__load(&pool.destroyed, CC__RELAXED));
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(a_pool_has_each_item_once)	/* covers: CHN-37/u */
{
	bathe_together(true);
	bathe_together(false);
}

/* ---- the soak ---- */

static struct pauser {
	cc__a32 on;
	pthread_t thread;
} pauser;

/* Keeps a processor for itself every now and then. */
static void *pauser_main(void *arg)
{
	uint64_t seed = test_seed();

	while (cc__load(&pauser.on, CC__ACQUIRE) != 0) {
		const cc_time until = cc_after((cc_time)flow_below(&seed, 4000) * CC_USEC);

		while (cc_now() < until)
			continue;
		usleep((useconds_t)flow_below(&seed, 4000));
	}
	return arg;
}

#ifdef CC__POINTS
/* And holds whoever comes to a bad place, for a while. */
static void hold_somebody(const char *label, const void *object)
{
	static cc__a64 turn;
	uint64_t r = cc__add(&turn, 1, CC__RELAXED);

	(void)label, (void)object;
	if (cc__load(&pauser.on, CC__RELAXED) != 0 && test_random(&r) % 4096 == 0)
		usleep((useconds_t)(r % 2000));
}

__attribute__((constructor)) static void set_hook(void)
{
	cc__point_hook = hold_somebody;
}
#endif

static void begin_pausing(void)
{
	cc__store(&pauser.on, 1, CC__RELEASE);
	CHECK_EQ(pthread_create(&pauser.thread, NULL, pauser_main, NULL), 0);
}

static void end_pausing(void)
{
	cc__store(&pauser.on, 0, CC__RELEASE);
	CHECK_EQ(pthread_join(pauser.thread, NULL), 0);
}

static struct flow_way some_way(uint64_t *seed)
{
	static const size_t capacities[] = {0, 0, 1, 1, 2, 3, 7, 8, 8, 9, 16, 64, 1000};
	struct flow_way w = {CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_BLOCK, 0};

	w.capacity = capacities[flow_below(seed, sizeof capacities / sizeof *capacities)];
	if (flow_below(seed, 3) == 0)
		w.kind = CC_CHAN_KIND_SYNC;
	if (flow_below(seed, 4) == 0)
		w.mode = w.capacity > 0 && flow_below(seed, 2) ? CC_CHAN_MODE_DROP_OLD
		                                               : CC_CHAN_MODE_DROP_NEW;
	return w;
}

static int count_parked(const CCFiberInfo *info, void *arg)
{
	*(unsigned *)arg += info->state == CC_FIBER_PARKED;
	return 0;
}

static unsigned parked(void)
{
	unsigned n = 0;

	CHECK_EQ(cc_fiber_each(count_parked, &n), 0);
	return n;
}

/* One flow: its channels are closed at some time, each; or its fibers are cancelled
 * before that.  How many elements were accepted. */
static uint64_t soak_once(uint64_t *seed)
{
	const bool cancel = flow_below(seed, 4) == 0;
	struct flow_way way[FLOW_CHANS];
	struct flow f = {.rt = runtime(),
	                 .senders = FLOW_SENDERS,
	                 .receivers = FLOW_RECEIVERS,
	                 .most = FLOW_MAX};

	for (int i = 0; i < FLOW_CHANS; i++)
		way[i] = some_way(seed);
	flow_begin(&f, way, test_random(seed));
	usleep((useconds_t)flow_below(seed, 50000));
	if (cancel)
		free_until_done(f.rt);
	for (int i = 0; i < FLOW_CHANS; i++) {
		usleep((useconds_t)flow_below(seed, 5000));
		flow_close(&f.c[i]);
	}
	flow_join_senders(&f);
	flow_join_receivers(&f);
	CHECK_EQ(parked(), 0);
	if (!cancel)
		CHECK_EQ(cc_runtime_free(f.rt), 0);
	return flow_end(&f);
}

TEST(soak_of_many_producers_and_consumers)
{
	const cc_time end = cc_after(number_from("SOAK_SECONDS", 2) * CC_SEC);
	uint64_t seed = test_seed(), accepted = 0;
	unsigned flows = 0;

	begin_pausing();
	do {
		accepted += soak_once(&seed);
		flows++;
	} while (cc_now() < end || accepted == 0);
	end_pausing();
	printf("soak flows %u accepted %llu\n", flows, (unsigned long long)accepted);
}
