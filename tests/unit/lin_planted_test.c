/* lin_planted_test.c - histories that no channel may have, by name: the checker rejects
 * each, and accepts the same history without what was planted. */
#include "test.h"

#include "lin/check.h"

enum { ENOUGH = 24 };

/* A few lines of a history, an actor for each. */
struct line {
	enum lin_what what;
	uint32_t value;
	int result;
	cc_time begin, end;
};

static enum lin_verdict verdict(const struct line *line, unsigned count, unsigned capacity,
                                bool ring)
{
	const struct lin_channel is = {.capacity = capacity, .ring = ring};
	struct lin_log log = {0};
	enum lin_verdict v;

	for (unsigned i = 0; i < count; i++)
		lin_add(&log, &(struct lin_op){.what = line[i].what,
		                               .actor = i,
		                               .value = line[i].value,
		                               .result = line[i].result,
		                               .begin = line[i].begin,
		                               .end = line[i].end,
		                               .send_error = EPIPE,
		                               .recv_error = EPIPE});
	v = lin_check(&log, &is, false);
	lin_free(&log);
	return v;
}

/* With `wrong` in the place of line `at` it is rejected, as a ring and as any other. */
static void check_planted(const struct line *good, unsigned count, unsigned capacity, unsigned at,
                          struct line wrong)
{
	struct line planted[ENOUGH];

	REQUIRE(count <= ENOUGH && at < count);
	memcpy(planted, good, count * sizeof *good);
	planted[at] = wrong;
	for (int ring = 0; ring < 2; ring++) {
		CHECK_EQ(verdict(good, count, capacity, ring != 0), LIN_GOOD);
		CHECK_EQ(verdict(planted, count, capacity, ring != 0), LIN_WRONG);
	}
}

#define COUNT(array) ((unsigned)(sizeof(array) / sizeof *(array)))

TEST(lin_rejects_a_lost_element)
{
	const struct line good[] = {
	    {LIN_SEND, 1, 0, 0, 10},  {LIN_SEND, 2, 0, 20, 30},      {LIN_RECV, 1, 0, 40, 50},
	    {LIN_RECV, 2, 0, 60, 70}, {LIN_RECV, 0, EAGAIN, 80, 90},
	};

	check_planted(good, COUNT(good), 2, 3, (struct line){LIN_RECV, 0, EAGAIN, 60, 70});
}

TEST(lin_rejects_an_element_received_twice)
{
	const struct line good[] = {
	    {LIN_SEND, 1, 0, 0, 10},
	    {LIN_SEND, 2, 0, 5, 30},
	    {LIN_RECV, 1, 0, 40, 50},
	    {LIN_RECV, 2, 0, 60, 70},
	};

	check_planted(good, COUNT(good), 2, 3, (struct line){LIN_RECV, 1, 0, 60, 70});
}

TEST(lin_rejects_elements_out_of_order)
{
	/* The sends do not overlap, so their order is known; the receives do. */
	const struct line good[] = {
	    {LIN_SEND, 1, 0, 0, 10},
	    {LIN_SEND, 2, 0, 20, 30},
	    {LIN_RECV, 2, 0, 40, 60},
	    {LIN_RECV, 1, 0, 40, 50},
	};

	check_planted(good, COUNT(good), 2, 2, (struct line){LIN_RECV, 2, 0, 32, 38});
}

TEST(lin_rejects_an_element_that_nobody_sent)
{
	const struct line good[] = {
	    {LIN_SEND, 1, 0, 0, 10},
	    {LIN_RECV, 0, EAGAIN, 0, 5},
	    {LIN_RECV, 1, 0, 40, 50},
	};

	check_planted(good, COUNT(good), 2, 1, (struct line){LIN_RECV, 7, 0, 0, 5});
}

TEST(lin_rejects_a_send_accepted_after_close_returned)
{
	/* Before its return it may have been accepted first. */
	const struct line good[] = {
	    {LIN_CLOSE, 0, 0, 10, 20},
	    {LIN_SEND, 1, 0, 15, 40},
	    {LIN_RECV, 1, 0, 50, 60},
	    {LIN_RECV, 0, EPIPE, 70, 80},
	};

	check_planted(good, COUNT(good), 2, 1, (struct line){LIN_SEND, 1, 0, 21, 40});
}

TEST(lin_rejects_the_end_of_a_stream_with_an_element_left)
{
	const struct line good[] = {
	    {LIN_SEND, 1, 0, 0, 10},
	    {LIN_CLOSE, 0, 0, 20, 30},
	    {LIN_RECV, 0, EPIPE, 40, 80},
	    {LIN_RECV, 1, 0, 60, 70},
	};

	check_planted(good, COUNT(good), 2, 2, (struct line){LIN_RECV, 0, EPIPE, 40, 50});
}

TEST(lin_rejects_two_receivers_of_one_element)
{
	/* Both at the same time, each with a success. */
	const struct line good[] = {
	    {LIN_SEND, 1, 0, 0, 10},
	    {LIN_RECV, 1, 0, 5, 30},
	    {LIN_RECV, 0, ETIMEDOUT, 5, 30},
	};
	const struct line both = {LIN_RECV, 1, 0, 5, 30};

	check_planted(good, COUNT(good), 2, 2, both);
	/* At a rendezvous too, where a receive needs a send of its own. */
	check_planted(good, COUNT(good), 0, 2, both);
}

TEST(lin_rejects_a_send_that_timed_out_and_arrives)
{
	const struct line good[] = {
	    {LIN_SEND, 1, 0, 0, 10},
	    {LIN_SEND, 2, 0, 11, 35},
	    {LIN_RECV, 1, 0, 20, 30},
	    {LIN_RECV, 2, 0, 40, 50},
	};

	check_planted(good, COUNT(good), 1, 1, (struct line){LIN_SEND, 2, ETIMEDOUT, 11, 35});
}

/* ---- the model has edges of its own ---- */

TEST(lin_rejects_a_rendezvous_of_two_who_were_not_there_together)
{
	const struct line good[] = {{LIN_SEND, 1, 0, 0, 10}, {LIN_RECV, 1, 0, 5, 30}};

	check_planted(good, COUNT(good), 0, 1, (struct line){LIN_RECV, 1, 0, 11, 30});
	check_planted(good, COUNT(good), 0, 0, (struct line){LIN_SEND, 1, ETIMEDOUT, 0, 10});
}

TEST(lin_rejects_more_elements_than_there_is_room_for)
{
	const struct line good[] = {
	    {LIN_SEND, 1, 0, 0, 10},
	    {LIN_SEND, 2, 0, 11, 25},
	    {LIN_RECV, 1, 0, 20, 30},
	    {LIN_RECV, 2, 0, 40, 50},
	};

	check_planted(good, COUNT(good), 1, 1, (struct line){LIN_SEND, 2, 0, 11, 15});
}

/* What holds others up in a ring (M5) does so while it runs, and nowhere else. */
TEST(lin_lets_a_ring_be_held_up)
{
	const struct line late_recv[] = {
	    {LIN_SEND, 1, 0, 0, 50},  {LIN_SEND, 2, 0, 10, 20}, {LIN_RECV, 0, EAGAIN, 30, 40},
	    {LIN_RECV, 1, 0, 60, 70}, {LIN_RECV, 2, 0, 80, 90},
	};
	const struct line late_send[] = {
	    {LIN_SEND, 1, 0, 0, 10},  {LIN_SEND, 2, 0, 20, 30},      {LIN_RECV, 1, 0, 35, 70},
	    {LIN_RECV, 2, 0, 40, 50}, {LIN_SEND, 3, EAGAIN, 55, 60},
	};

	CHECK_EQ(verdict(late_recv, COUNT(late_recv), 2, true), LIN_GOOD);
	CHECK_EQ(verdict(late_recv, COUNT(late_recv), 2, false), LIN_WRONG);
	CHECK_EQ(verdict(late_send, COUNT(late_send), 2, true), LIN_GOOD);
	CHECK_EQ(verdict(late_send, COUNT(late_send), 2, false), LIN_WRONG);
}
