/* chan_trace_test.c - which steps an operation takes, from the event log: who is listed,
 * who is decided with which reason, and that the fast path leaves no trace at all.
 * mutate: src/chan */
#include "chans.h"

#include "os/trace.h"

/* ---- the log ---- */

static struct record {
	enum cc__event kind;
	const void *who;
	uint64_t a, b;
} records[4096];
static cc__a32 recorded;

static void record(enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	const uint32_t i = cc__add(&recorded, 1, CC__ACQ_REL);

	if (i < sizeof records / sizeof *records)
		records[i] = (struct record){kind, who, a, b};
}

static void begin_log(void)
{
	cc__watch_log(record);
	cc__store(&recorded, 0, CC__RELEASE);
}

/* The first event of that kind about `who` (NULL: anybody), at or after place `from`; -1: none. */
static int find(enum cc__event kind, const void *who, int from)
{
	const int end = (int)cc__load(&recorded, CC__ACQUIRE);

	for (int i = from; i < end; i++)
		if (records[i].kind == kind && (who == NULL || records[i].who == who))
			return i;
	return -1;
}

static int find_move(const void *who, enum cc__state to, int from)
{
	for (int i = from; (i = find(CC__EV_MOVE, who, i)) >= 0; i++)
		if (cc__word_state(records[i].b) == to)
			return i;
	return -1;
}

static int count_decided(enum cc__reason reason)
{
	int n = 0;

	for (int i = 0; (i = find(CC__EV_DECIDE, NULL, i)) >= 0; i++)
		n += (records[i].b & 0xff) == (uint64_t)reason;
	return n;
}

static int count_events(enum cc__event kind, const void *who)
{
	int n = 0;

	for (int i = 0; (i = find(kind, who, i)) >= 0; i++)
		n++;
	return n;
}

/* ---- */

static const struct setting threads = {.sender = THREAD, .receiver = THREAD};

TEST(a_fast_path_leaves_no_trace)	/* covers: SCH-52/t, CHN-13/t, CHN-20/t */
{
	CCChan *c = cc_chan_new(sizeof(int), 8);
	int v = 1;

	begin_log();
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
		CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0);
	}
	CHECK_EQ(cc_chan_try_recv(c, &v, sizeof v), EAGAIN);
	CHECK_EQ(cc_chan_close(c), 0);
	CHECK_EQ(cc_chan_send(c, &v, sizeof v), EPIPE);	/* closed is looked at first */
	CHECK_EQ(cc__load(&recorded, CC__ACQUIRE), 0);
	CHECK_EQ(cc_chan_free(c), 0);
}

/* What it waits for is told before, and once: PARKING before it is listed, PARKED only after;
 * one decision, one wake. */
static void check_steps(const void *who, const CCChan *c)
{
	const int told = find(CC__EV_FOR, who, 0);
	const int parking = find_move(who, CC__PARKING, 0);
	const int listed = find(CC__EV_LIST, who, 0);
	const int parked = find_move(who, CC__PARKED, 0);

	CHECK(told >= 0 && told < parking && parking < listed && listed < parked);
	CHECK(records[told].a == CC__FOR_CHAN && records[told].b == (uintptr_t)c);
	CHECK_EQ(count_events(CC__EV_FOR, who), 1);
	CHECK_EQ(count_events(CC__EV_LIST, who), 1);
	CHECK_EQ(count_events(CC__EV_DECIDE, who), 1);
	CHECK(find(CC__EV_DECIDE, who, 0) > listed);
	CHECK_EQ(records[find(CC__EV_DECIDE, who, 0)].b >> 8, (uintptr_t)&c->lock);
	CHECK(find_move(who, CC__QUEUED, 0) > find(CC__EV_DECIDE, who, 0));
	CHECK_EQ(find_move(who, CC__QUEUED, find_move(who, CC__QUEUED, 0) + 1), -1);
}

/* A buffered channel signals; only a locked one hands over. */
/* covers: LIF-38/t, CHN-42/t, RES-12/t, RES-21/t, CHN-20/t, LIF-50/t */
TEST(who_waits_is_told_as_his_kind_does)
{
	const void *self = cc__self();

	for (int ring = 0; ring < 2; ring++) {
		CCChan *c = cc_chan_new(sizeof(int), ring ? 8 : 0);
		struct actor receiver;

		begin_log();
		start_recv(&receiver, &threads, c, 1, CC_FOREVER);
		until_waiting(c, CC__RECV, 1);
		until_parked(&receiver.s);
		CHECK_EQ(send_number(c, 4, CC_FOREVER), 0);
		CHECK_EQ(finish(&receiver), 0);
		check_steps(cc__load(&receiver.s.who, CC__ACQUIRE), c);
		CHECK_EQ(count_decided(ring ? CC__REASON_SIGNAL : CC__REASON_DATA), 1);
		CHECK_EQ(count_events(CC__EV_LIST, self), 0);	/* the sender was not */
		free_chan(c);
	}
}

/* Who takes it sees whether there is more, and there is not: the other is not woken for
 * nothing, which would list itself again and be signalled once more. */
TEST(one_element_signals_one_of_two)
{
	CCChan *c = cc_chan_new(sizeof(int), 8);
	struct actor receiver[2];

	begin_log();
	for (int i = 0; i < 2; i++) {
		start_recv(&receiver[i], &threads, c, 1, CC_FOREVER);
		until_waiting(c, CC__RECV, i + 1);
	}
	CHECK_EQ(send_number(c, 4, CC_FOREVER), 0);
	CHECK_EQ(finish(&receiver[0]), 0);
	CHECK_EQ(waiting(c, CC__RECV), 1);
	CHECK_EQ(send_number(c, 5, CC_FOREVER), 0);
	CHECK_EQ(finish(&receiver[1]), 0);
	CHECK_EQ(count_decided(CC__REASON_SIGNAL), 2);
	free_chan(c);
}

TEST(close_decides_for_everybody_once)	/* covers: CHN-32/t, LIF-50/t, RES-12/t */
{
	enum { MANY = 20 };

	for (int ring = 0; ring < 2; ring++) {
		CCChan *c = cc_chan_new(sizeof(int), ring ? 8 : 0);
		struct actor receiver[MANY];

		begin_log();
		for (int i = 0; i < MANY; i++)
			start_recv(&receiver[i], &threads, c, 1, CC_FOREVER);
		until_waiting(c, CC__RECV, MANY);
		for (int i = 0; i < MANY; i++)
			until_parked(&receiver[i].s);
		CHECK_EQ(cc_chan_close(c), 0);
		CHECK_EQ(cc_chan_close(c), 0);
		for (int i = 0; i < MANY; i++)
			CHECK_EQ(finish(&receiver[i]), EPIPE);
		CHECK_EQ(count_decided(CC__REASON_CLOSE), MANY);
		for (int i = 0; i < MANY; i++)
			check_steps(cc__load(&receiver[i].s.who, CC__ACQUIRE), c);
		free_chan(c);
	}
}
