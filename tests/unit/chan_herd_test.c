/* chan_herd_test.c - many wait on one channel: a send wakes one of them, and the others
 * are not run to find out that it was not for them; and nobody who could run waits for
 * one who cannot.
 * mutate: src/chan */
#include "chans.h"
#include "sched/worker.h"
#include "tasks.h"

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

/* ---- who cannot run holds up nobody ---- */

struct busy {
	CCChan *chan;
	cc__a32 received;	/* by the thread */
};

static int receive_one(void *arg)
{
	int v = 0;

	return recv_number(((struct busy *)arg)->chan, &v, CC_FOREVER);
}

static void *receive_in_thread(void *arg)
{
	struct busy *b = arg;

	CHECK_EQ(receive_one(b), 0);
	cc__store(&b->received, 1, CC__RELEASE);
	return NULL;
}

/* Two elements, and the worker is not free before the second one was received. */
static int send_and_stay(void *arg)
{
	struct busy *b = arg;

	CHECK_EQ(send_number(b->chan, 1, CC_FOREVER), 0);
	CHECK_EQ(send_number(b->chan, 2, CC_FOREVER), 0);
	TEST_UNTIL(cc__load(&b->received, CC__ACQUIRE) == 1);
	return 0;
}

static void thread_behind_a_fiber(CCRuntime *rt, size_t capacity)
{
	struct setting s = {.kind = CC_CHAN_KIND_PLAIN, .capacity = capacity, .rt = rt};
	struct busy b = {.chan = chan_of(&s)};
	CCTask first = spawn(rt, receive_one, &b), sender;
	pthread_t thread;

	until_waiting(b.chan, CC__RECV, 1);
	CHECK_EQ(pthread_create(&thread, NULL, receive_in_thread, &b), 0);
	until_waiting(b.chan, CC__RECV, 2);
	sender = spawn(rt, send_and_stay, &b);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	join(sender);
	join(first);
	CHECK_EQ(cc_chan_free(b.chan), 0);
}

TEST(chan_thread_does_not_wait_for_a_fiber_that_cannot_run)
{
	CCRuntime *rt = NULL;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	only_workers(&c, 1);
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	for (size_t capacity = 2; capacity <= 64; capacity *= 2)
		thread_behind_a_fiber(rt, capacity);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
