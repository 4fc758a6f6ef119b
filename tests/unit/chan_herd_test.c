/* chan_herd_test.c - many wait on one channel: a send wakes one of them, and the others
 * are not run to find out that it was not for them. */
#include "chans.h"
#include "sched/worker.h"

enum { HERD = 1000, SENDS = 50 };

static const struct setting herds[] = {
    {.name = "rendezvous", .capacity = 0},	{.name = "mailbox", .capacity = 1},
    {.name = "locked", .capacity = 3},		{.name = "ring", .capacity = 64},
    {.name = "sync", .kind = CC_CHAN_KIND_SYNC, .capacity = 1},
};

/* Both workers sleep, and neither is on its way there or back. */
static bool at_rest(CCRuntime *rt)
{
	const struct cc__idle *i = ((struct cc__sched *)(void *)rt)->idle;
	CCStats s;

	CHECK_EQ(cc_stats(rt, &s), 0);
	return s.workers_sleeping == 2 && cc__load(&i->sleepers, CC__ACQUIRE) == 2 &&
	       cc__load(&i->searching, CC__ACQUIRE) == 0;
}

static uint64_t switches(CCRuntime *rt)
{
	CCStats s;

	TEST_UNTIL(at_rest(rt));
	CHECK_EQ(cc_stats(rt, &s), 0);
	return s.switches;
}

/* From a thread: a sender that is a fiber is picked, too. */
static void wakes_one(const struct setting *s, struct actor *herd)
{
	CCChan *c = chan_of(s);
	uint64_t before;
	int got = 0;

	for (int i = 0; i < HERD; i++)
		start_recv(&herd[i], s, c, 1, CC_FOREVER);
	until_waiting(c, CC__RECV, HERD);
	before = switches(s->rt);
	for (int i = 1; i <= SENDS; i++) {
		CHECK_EQ(send_number(c, i, CC_FOREVER), 0);
		if (!CHECK_EQ(switches(s->rt) - before, (uint64_t)i))
			printf("\t%s\n", s->name);
		CHECK_EQ(waiting(c, CC__RECV), HERD - i);
	}
	CHECK_EQ(cc_chan_close(c), 0);
	for (int i = 0; i < HERD; i++)
		got += finish(&herd[i]) == 0;
	CHECK_EQ(got, SENDS);
	CHECK_EQ(switches(s->rt) - before, (uint64_t)HERD);
	CHECK_EQ(cc_chan_free(c), 0);
}

TEST(chan_send_runs_one_of_a_thousand_receivers)
{
	struct actor *herd = calloc(HERD, sizeof *herd);

	for (size_t i = 0; i < sizeof herds / sizeof *herds; i++) {
		struct setting s = herds[i];

		s.rt = chan_runtime();
		wakes_one(&s, herd);
		CHECK_EQ(cc_runtime_free(s.rt), 0);
	}
	free(herd);
}
