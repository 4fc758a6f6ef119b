/* global_test.c - sched/global.h: the ring, what it has no room for, and order. */
#include "test.h"

#include "frames.h"
#include "sched/global.h"

enum { CAPACITY = CC_FIBER_QUEUE_INITIAL, FRAMES = 10 * CAPACITY };

static struct cc__fiber *frame;
static struct cc__global *global;

static void begin(void)
{
	frame = frames_new(FRAMES);
	global = calloc(1, sizeof *global);
	cc__global_init(global);
}

static void end(void)
{
	CHECK(cc__global_pop(global) == NULL);
	CHECK_EQ(cc__global_length(global), 0);
	CHECK_EQ(cc__load(&global->listed, CC__RELAXED), 0);
	CHECK(global->first == NULL);
	free(global);
	free(frame);
}

static void push(int first, int n)
{
	for (int i = first; i < first + n; i++)
		cc__global_push(global, &frame[i]);
}

static void check_pops(int first, int n)
{
	for (int i = first; i < first + n; i++)
		if (!CHECK(cc__global_pop(global) == &frame[i]))
			return;
}

TEST(global_queue_is_first_in_first_out)
{
	begin();
	CHECK(cc__global_pop(global) == NULL);
	for (int lap = 0; lap < 10; lap++) {	/* round the ring more than once */
		push(0, CAPACITY / 3);
		CHECK_EQ(cc__global_length(global), CAPACITY / 3);
		check_pops(0, CAPACITY / 3);
	}
	CHECK_EQ(cc__load(&global->listed, CC__RELAXED), 0);
	end();
}

TEST(ten_times_the_capacity_comes_out_once_each)	/* covers: SCH-22/u, SCH-23/u */
{
	begin();
	push(0, FRAMES);
	CHECK_EQ(cc__global_length(global), FRAMES);
	CHECK_EQ(cc__load(&global->listed, CC__RELAXED), FRAMES - CAPACITY);
	check_pops(0, FRAMES);	/* nobody pushed meanwhile: in order */
	end();
}

/* With the ring in use again the list's turn comes whenever the ring is empty. */
TEST(overflow_is_not_stranded_behind_new_pushes)	/* covers: SCH-23/u */
{
	unsigned char seen[CAPACITY + 100] = {0};
	struct cc__fiber *f;

	begin();
	push(0, CAPACITY + 50);
	check_pops(0, 100);
	push(CAPACITY + 50, 50);	/* into the ring, though the list is older */
	CHECK_EQ(cc__load(&global->listed, CC__RELAXED), 50);
	while ((f = cc__global_pop(global)) != NULL)
		seen[f - frame]++;
	for (int i = 100; i < CAPACITY + 100; i++)
		CHECK_EQ(seen[i], 1);
	end();
}

/* A slot that is reserved and not written stops the ring, not the list. */
TEST(reserved_slot_is_waited_for_by_nobody)
{
	const uint64_t at = 0;

	begin();
	push(0, 1);
	cc__store(&global->ring[0].stamp, at, CC__RELAXED);	/* as before its push */
	CHECK(cc__global_pop(global) == NULL);
	push(1, CAPACITY);	/* one of them into the list */
	CHECK_EQ(cc__load(&global->listed, CC__RELAXED), 1);
	check_pops(CAPACITY, 1);
	CHECK(cc__global_pop(global) == NULL);
	cc__store(&global->ring[0].stamp, at + 1, CC__RELAXED);
	check_pops(0, CAPACITY);
	end();
}
