/* inbox_test.c - sched/inbox.h: order, taking whole, closing. */
#include "test.h"

#include "frames.h"
#include "sched/inbox.h"

enum { FRAMES = 64 };

static struct cc__fiber *frame;

/* A chain of frames first to first + n - 1, oldest first. */
static void check_chain(const struct cc__fiber *f, int first, int n)
{
	for (int i = 0; i < n; i++, f = f->next) {
		REQUIRE(f != NULL);
		CHECK_EQ(f - frame, first + i);
	}
	CHECK(f == NULL);
}

static void push(struct cc__inbox *b, int first, int n)
{
	for (int i = first; i < first + n; i++)
		CHECK(cc__inbox_push(b, &frame[i]));
}

TEST(inbox_is_taken_whole_and_oldest_first)	/* covers: SCH-21/u */
{
	struct cc__inbox b = {0};

	frame = frames_new(FRAMES);
	CHECK(!cc__inbox_any(&b));
	CHECK(cc__inbox_take(&b) == NULL);
	for (int n = 1; n < 5; n++) {
		push(&b, 0, n);
		CHECK(cc__inbox_any(&b));
		CHECK_EQ(cc__inbox_length(&b), n);
		check_chain(cc__inbox_take(&b), 0, n);
		CHECK(!cc__inbox_any(&b));
		CHECK_EQ(cc__inbox_length(&b), 0);
		CHECK(cc__inbox_take(&b) == NULL);
	}
	free(frame);
}

TEST(closed_inbox_refuses_and_gives_up_what_it_had)	/* covers: SCH-21/u */
{
	struct cc__inbox b = {0};

	frame = frames_new(FRAMES);
	push(&b, 0, 3);
	check_chain(cc__inbox_close(&b), 0, 3);
	CHECK(!cc__inbox_push(&b, &frame[3]));	/* still ours */
	CHECK(!cc__inbox_any(&b));
	CHECK(cc__inbox_take(&b) == NULL);
	CHECK(!cc__inbox_push(&b, &frame[3]));	/* taking does not open it */
	CHECK(cc__inbox_close(&b) == NULL);
	cc__inbox_open(&b);
	push(&b, 3, 2);
	check_chain(cc__inbox_take(&b), 3, 2);
	free(frame);
}
