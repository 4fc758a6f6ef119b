/* runq_test.c - sched/runq.h: who comes out when, what a thief gets, growth.
 *
 * One thread is owner and thief in turn, but where the owner is asked; queue_race_test.c
 * has them at once.
 *
 * link-wrap: mmap munmap */
#include "test.h"

#include <pthread.h>

#include "frames.h"
#include "mappings.h"
#include "sched/runq.h"

/* ---- a queue and its frames ---- */

enum { FRAMES = 5000 };

static struct cc__fiber *frame;
static struct cc__runq *queue;
static struct cc__loot loot;

static void begin(void)
{
	cc__fence_heavy_start();
	mapped = 0;
	frame = frames_new(FRAMES);
	queue = calloc(1, sizeof *queue);
	cc__runq_init(queue);
}

static bool is_busy(void)
{
	return cc__load(&queue->busy, CC__RELAXED) != 0;
}

static void end(void)
{
	CHECK_EQ(cc__runq_length(queue), 0);
	CHECK(!is_busy());
	cc__runq_fini(queue);
	CHECK_EQ(mapped, 0);
	free(queue);
	free(frame);
}

/* Frames first to first + n - 1. */
static void push(int first, int n, enum cc__kind kind)
{
	for (int i = first; i < first + n; i++)
		CHECK(cc__runq_push(queue, &frame[i], kind));
}

static int number_of(const struct cc__fiber *f)
{
	return f != NULL ? (int)(f - frame) : -1;
}

static int pop(void)
{
	return number_of(cc__runq_pop(queue));
}

static int pop_kind(enum cc__kind kind)
{
	return number_of(cc__runq_pop_kind(queue, kind));
}

/* The owner is away: a thief without patience seizes. */
static unsigned steal(unsigned take)
{
	const bool any = cc__runq_steal(queue, take, 0, &loot);

	CHECK_EQ(any, loot.count > 0);
	return loot.count;
}

static void check_loot(enum cc__kind kind, int first, int n)
{
	CHECK_EQ(loot.kind, kind);
	CHECK_EQ(loot.count, n);
	for (int i = 0; i < n && i < (int)loot.count; i++)
		CHECK_EQ(number_of(loot.fiber[i]), first + i);
}

/* ---- the owner ---- */

TEST(started_fibers_come_out_oldest_first)	/* covers: SCH-20/u */
{
	begin();
	CHECK_EQ(pop(), -1);
	push(0, 100, CC__READY);
	CHECK_EQ(cc__runq_length(queue), 100);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(pop(), i);
	CHECK_EQ(pop(), -1);
	end();
}

TEST(unstarted_tasks_come_out_newest_first_and_after_started_fibers)
{
	begin();
	push(0, 3, CC__FRESH);
	push(10, 2, CC__READY);
	CHECK_EQ(pop(), 10);
	CHECK_EQ(pop(), 11);
	CHECK_EQ(pop(), 2);
	CHECK_EQ(pop_kind(CC__FRESH), 0);	/* whose turn it is by right */
	CHECK_EQ(pop(), 1);
	CHECK_EQ(pop_kind(CC__FRESH), -1);
	end();
}

TEST(urgent_fibers_come_out_when_asked_for)
{
	begin();
	push(0, 2, CC__URGENT);
	push(2, 1, CC__READY);
	CHECK_EQ(pop(), 2);
	CHECK_EQ(pop(), -1);
	CHECK_EQ(cc__runq_length(queue), 2);
	CHECK_EQ(pop_kind(CC__URGENT), 0);
	CHECK_EQ(pop_kind(CC__URGENT), 1);
	CHECK_EQ(pop_kind(CC__URGENT), -1);
	end();
}

/* ---- the owner's usual ways ---- */

TEST(append_and_oldest_are_for_the_usual_case)
{
	begin();
	CHECK(cc__runq_oldest(queue) == NULL);
	for (int i = 0; i < CC__LANE_FIRST; i++)
		CHECK(cc__runq_append(queue, &frame[i], CC__READY));
	CHECK(!cc__runq_append(queue, &frame[CC__LANE_FIRST], CC__READY));	/* no room */
	CHECK(cc__runq_append(queue, &frame[FRAMES - 1], CC__FRESH));
	CHECK_EQ(cc__runq_length(queue), CC__LANE_FIRST + 1);
	for (int i = 0; i < CC__LANE_FIRST; i++)
		CHECK_EQ(number_of(cc__runq_oldest(queue)), i);
	CHECK(cc__runq_oldest(queue) == NULL);
	CHECK_EQ(pop(), FRAMES - 1);
	end();
}

/* Who yields goes to the end, in the room of the next, and is inside until it is away. */
TEST(turn_goes_round)
{
	static const int lengths[] = {1, CC__AHEAD, CC__AHEAD + 1, CC__LANE_FIRST};

	for (unsigned k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
		const int n = lengths[k];

		begin();
		CHECK(cc__runq_turn(queue, &frame[0]) == NULL && !is_busy());
		push(1, n, CC__READY);
		for (int i = 0; i < 3 * n; i++) {
			CHECK_EQ(number_of(cc__runq_turn(queue, &frame[i % (n + 1)])), (i + 1) % (n + 1));
			CHECK_EQ(cc__runq_length(queue), n);
			CHECK(is_busy());
			cc__runq_leave(queue);
		}
		for (int i = 0; i < n; i++)
			CHECK_EQ(pop(), (3 * n + 1 + i) % (n + 1));
		end();
	}
}

TEST(usual_ways_leave_a_thief_to_be_met)
{
	begin();
	push(0, 2, CC__READY);
	cc__store(&queue->want, CC__ASKED | CC__TAKE_ANY << 4, CC__RELEASE);
	CHECK(!cc__runq_append(queue, &frame[2], CC__READY) && !is_busy());
	CHECK(cc__runq_oldest(queue) == NULL && !is_busy());
	CHECK(cc__runq_turn(queue, &frame[2]) == NULL && !is_busy());
	CHECK_EQ(cc__load(&queue->want, CC__ACQUIRE), CC__ASKED | CC__TAKE_ANY << 4);
	cc__store(&queue->want, CC__NOBODY, CC__RELEASE);
	CHECK_EQ(pop(), 0);
	CHECK_EQ(pop(), 1);
	end();
}

/* ---- that one ---- */

TEST(unstarted_task_is_taken_from_among_the_newest)
{
	enum { NEWEST = 8 };

	for (int n = 1; n <= 2 * NEWEST; n++)
		for (int i = 0; i <= n; i++) {	/* frame n is not there */
			const bool there = i < n && i >= n - NEWEST;

			begin();
			push(0, n, CC__FRESH);
			CHECK_EQ(cc__runq_take(queue, &frame[i]), there);
			CHECK(!is_busy());
			for (int k = 0; k < n; k++)	/* the others are in order */
				if (k != i || !there)
					CHECK_EQ(pop_kind(CC__FRESH), k);
			end();
		}
}

static void make_child(struct cc__fiber *f, void *nursery)
{
	f->payload.arg = &f->payload.child.what;
	f->payload.child.what.nursery = nursery;
}

TEST(newest_child_is_taken_if_it_is_of_that_nursery_and_free)
{
	int this, other;

	begin();
	CHECK(cc__runq_take_child(queue, &this, false) == NULL);
	for (int i = 0; i < 4; i++)
		make_child(&frame[i], i == 2 ? &other : &this);
	frame_migrates(&frame[1], CC_MIGRATE_STICKY);
	push(0, 4, CC__FRESH);
	CHECK_EQ(number_of(cc__runq_take_child(queue, &this, false)), 3);
	CHECK(cc__runq_take_child(queue, &this, false) == NULL);	/* another one's */
	CHECK_EQ(pop(), 2);
	CHECK(cc__runq_take_child(queue, &this, false) == NULL);	/* it would stay */
	CHECK_EQ(pop(), 1);
	CHECK_EQ(number_of(cc__runq_take_child(queue, &this, false)), 0);
	CHECK(cc__runq_take_child(queue, &this, false) == NULL);
	CHECK(!is_busy());
	end();
}

TEST(newest_child_is_next_if_nobody_started_waits_and_may_stay_then)
{
	int this;

	begin();
	make_child(&frame[0], &this);
	frame_migrates(&frame[0], CC_MIGRATE_STICKY);
	push(0, 1, CC__FRESH);
	push(1, 1, CC__READY);
	CHECK(cc__runq_take_child(queue, &this, true) == NULL);
	CHECK_EQ(pop(), 1);
	CHECK_EQ(number_of(cc__runq_take_child(queue, &this, true)), 0);
	CHECK(!is_busy());
	end();
}

/* ---- the offer ---- */

TEST(offer_is_for_the_first_who_asks)
{
	begin();
	push(0, 2, CC__FRESH);
	CHECK(cc__runq_offer(queue, &frame[10]));
	CHECK_EQ(cc__load(&queue->offers, CC__RELAXED), 1);
	CHECK_EQ(cc__runq_length(queue), 3);
	CHECK_EQ(cc__runq_started(queue), 1);
	CHECK_EQ(steal(CC__TAKE_STARTED), 1);	/* before all others */
	check_loot(CC__READY, 10, 1);
	CHECK(cc__runq_take_offer(queue) == NULL);
	CHECK(cc__runq_offer(queue, &frame[11]));
	CHECK_EQ(number_of(cc__runq_take_offer(queue)), 11);
	CHECK_EQ(steal(CC__TAKE_STARTED), 0);
	CHECK_EQ(pop(), 1);
	CHECK_EQ(pop(), 0);
	end();
}

TEST(nobody_is_offered_before_those_who_wait_longer)
{
	begin();
	push(0, 1, CC__READY);
	CHECK(!cc__runq_offer(queue, &frame[10]));
	CHECK_EQ(pop(), 0);
	CHECK(cc__runq_offer(queue, &frame[10]));
	CHECK(!cc__runq_offer(queue, &frame[11]));
	CHECK_EQ(number_of(cc__runq_take_offer(queue)), 10);
	end();
}

/* ---- thieves ---- */

TEST(thief_gets_the_older_half)	/* covers: SCH-20/u */
{
	static const enum cc__kind kinds[] = {CC__URGENT, CC__READY, CC__FRESH};

	begin();
	CHECK_EQ(steal(CC__TAKE_ANY), 0);
	for (int k = 0; k < 3; k++)
		for (int n = 1; n < 9; n++) {
			push(0, n, kinds[k]);
			CHECK_EQ(steal(CC__TAKE_ANY), (n + 1) / 2);
			check_loot(kinds[k], 0, (n + 1) / 2);
			for (int i = (n + 1) / 2; i < n; i++)
				CHECK_EQ(pop_kind(kinds[k]), i);
		}
	end();
}

TEST(thief_gets_one_kind_the_urgent_before_the_unstarted_before_the_started)
{
	begin();
	push(0, 2, CC__READY);
	push(2, 2, CC__FRESH);
	push(4, 2, CC__URGENT);
	steal(CC__TAKE_ANY);
	check_loot(CC__URGENT, 4, 1);
	steal(CC__TAKE_STARTED);
	check_loot(CC__URGENT, 5, 1);
	steal(CC__TAKE_STARTED);
	check_loot(CC__READY, 0, 1);
	steal(CC__TAKE_ANY);
	check_loot(CC__FRESH, 2, 1);
	steal(CC__TAKE_ANY);
	check_loot(CC__FRESH, 3, 1);
	steal(CC__TAKE_ANY);
	check_loot(CC__READY, 1, 1);
	CHECK_EQ(steal(CC__TAKE_ANY), 0);
	end();
}

TEST(thief_gets_no_more_than_it_can_carry)
{
	begin();
	push(0, FRAMES, CC__READY);
	CHECK_EQ(steal(CC__TAKE_ANY), CC__STEAL_MAX);
	check_loot(CC__READY, 0, CC__STEAL_MAX);
	for (int i = CC__STEAL_MAX; i < FRAMES; i++)
		CHECK_EQ(pop(), i);
	end();
}

/* The oldest of them runs first where they came to, and nothing grows for them. */
TEST(loot_of_unstarted_tasks_goes_in_at_once)
{
	begin();
	push(0, 2 * CC__STEAL_MAX, CC__FRESH);
	while (pop_kind(CC__FRESH) < CC__STEAL_MAX)
		continue;
	push(0, 3, CC__FRESH);
	CHECK_EQ(steal(CC__TAKE_ANY), (CC__STEAL_MAX + 3) / 2);
	CHECK(cc__runq_push_stolen(queue, &loot));
	CHECK(!is_busy());
	for (int i = 0; i < (int)loot.count; i++)
		CHECK_EQ(pop(), CC__STEAL_MAX + 1 + i);
	while (pop() >= 0)
		continue;
	end();
	begin();
	push(0, CC__LANE_FIRST - 4, CC__FRESH);
	loot = (struct cc__loot){.kind = CC__FRESH, .count = 5};
	for (int i = 0; i < 5; i++)
		loot.fiber[i] = &frame[CC__LANE_FIRST + i];
	CHECK(!cc__runq_push_stolen(queue, &loot));
	CHECK_EQ(cc__runq_length(queue), CC__LANE_FIRST - 4);
	loot.count = 4;
	CHECK(cc__runq_push_stolen(queue, &loot));
	CHECK_EQ(pop(), CC__LANE_FIRST);
	CHECK_EQ(mapped, 0);
	while (pop() >= 0)
		continue;
	end();
}

/* Frames 1, 4, 7 ... stay. */
TEST(thief_leaves_those_that_stay)
{
	begin();
	for (int i = 0; i < 12; i++) {
		frame_start(&frame[i]);
		frame_migrates(&frame[i], i % 3 != 1 ? CC_MIGRATE_FREE
		                          : i % 2   ? CC_MIGRATE_PINNED
		                                    : CC_MIGRATE_STICKY);
	}
	push(0, 12, CC__READY);
	CHECK_EQ(steal(CC__TAKE_ANY), 4);	/* of the first six, without 1 and 4 */
	for (unsigned i = 0; i < loot.count; i++)
		CHECK(!cc__fiber_stays(loot.fiber[i]));
	for (int i = 6; i < 12; i++)
		CHECK_EQ(pop(), i);
	CHECK_EQ(pop(), 1);	/* they went to the back */
	CHECK_EQ(pop(), 4);
	push(1, 1, CC__READY);
	CHECK_EQ(steal(CC__TAKE_ANY), 0);
	CHECK_EQ(pop(), 1);
	end();
}

TEST(thief_gets_unstarted_tasks_that_will_stay)
{
	begin();
	frame_migrates(&frame[0], CC_MIGRATE_STICKY);
	push(0, 1, CC__FRESH);
	CHECK_EQ(steal(CC__TAKE_ANY), 1);
	end();
}

/* Pinned ones stay, and only for those are the frames looked at. */
TEST(thief_leaves_unstarted_tasks_that_are_pinned)
{
	begin();
	frame_migrates(&frame[0], CC_MIGRATE_PINNED);
	push(0, 1, CC__READY);
	push(1, 2, CC__FRESH);
	CHECK(!queue->pinned);
	CHECK_EQ(pop(), 0);
	CHECK_EQ(pop(), 2);
	push(0, 1, CC__FRESH);
	push(2, 1, CC__FRESH);
	CHECK(queue->pinned);
	CHECK_EQ(steal(CC__TAKE_ANY), 1);	/* of 1 and 0 */
	check_loot(CC__FRESH, 1, 1);
	CHECK_EQ(pop_kind(CC__FRESH), 2);
	CHECK_EQ(steal(CC__TAKE_ANY), 0);
	CHECK_EQ(pop(), 0);
	end();
}

/* A thief that waits until it is given something. */
static struct {
	struct cc__loot loot;
	struct cc__fiber *behind;
	bool any;
} asker;

static void *ask(void *arg)
{
	asker.any = cc__runq_steal(queue, CC__TAKE_ANY, UINT32_MAX, &asker.loot);
	return arg;
}

/* The owner comes by. */
static unsigned give(void)
{
	pthread_t thief;

	CHECK_EQ(pthread_create(&thief, NULL, ask, NULL), 0);
	TEST_UNTIL(cc__load(&queue->want, CC__ACQUIRE) != CC__NOBODY);
	cc__runq_enter(queue);
	cc__runq_leave(queue);
	pthread_join(thief, NULL);
	CHECK_EQ(cc__load(&queue->want, CC__ACQUIRE), CC__NOBODY);
	CHECK_EQ(asker.any, asker.loot.count > 0);
	return asker.loot.count;
}

TEST(owner_gives_when_asked)
{
	begin();
	CHECK_EQ(give(), 0);
	push(0, FRAMES, CC__READY);
	asker.behind = &frame[0];
	CHECK_EQ(give(), CC__STEAL_MAX);
	CHECK(asker.behind == &frame[0]);
	loot = asker.loot;
	check_loot(CC__READY, 0, CC__STEAL_MAX);
	for (int i = CC__STEAL_MAX; i < FRAMES; i++)
		CHECK_EQ(pop(), i);
	end();
}

TEST(open_queue_is_seized_at_once_until_its_owner_comes)
{
	begin();
	push(0, 4, CC__READY);
	cc__runq_open(queue);
	CHECK_EQ(cc__load(&queue->want, CC__ACQUIRE), CC__OPEN);
	CHECK_EQ(steal(CC__TAKE_ANY), 2);
	check_loot(CC__READY, 0, 2);
	CHECK_EQ(cc__load(&queue->want, CC__ACQUIRE), CC__NOBODY);
	cc__runq_open(queue);
	/* The usual ways leave it as it is, the slow ones close it. */
	CHECK(cc__runq_oldest(queue) == NULL && !is_busy());
	CHECK_EQ(cc__load(&queue->want, CC__ACQUIRE), CC__OPEN);
	CHECK_EQ(pop(), 2);
	CHECK_EQ(cc__load(&queue->want, CC__ACQUIRE), CC__NOBODY);
	/* A thief that asks is not disturbed. */
	cc__store(&queue->want, CC__ASKED | CC__TAKE_ANY << 4, CC__RELEASE);
	cc__runq_open(queue);
	CHECK_EQ(cc__load(&queue->want, CC__ACQUIRE), CC__ASKED | CC__TAKE_ANY << 4);
	cc__store(&queue->want, CC__NOBODY, CC__RELEASE);
	CHECK_EQ(pop(), 3);
	end();
}

TEST(second_thief_is_sent_away)
{
	begin();
	push(0, 4, CC__READY);
	cc__store(&queue->want, CC__ASKED | CC__TAKE_ANY << 4, CC__RELEASE);
	CHECK_EQ(steal(CC__TAKE_ANY), 0);
	CHECK_EQ(cc__load(&queue->want, CC__ACQUIRE), CC__ASKED | CC__TAKE_ANY << 4);
	/* The owner comes by, and hands out to the first. */
	CHECK_EQ(pop(), 2);
	CHECK_EQ(cc__load(&queue->want, CC__ACQUIRE), CC__GIVEN);
	loot = queue->gift;
	check_loot(CC__READY, 0, 2);
	/* It is not collected yet: the owner works on. */
	push(4, 1, CC__READY);
	CHECK_EQ(pop(), 3);
	CHECK_EQ(steal(CC__TAKE_ANY), 0);
	CHECK_EQ(cc__load(&queue->want, CC__ACQUIRE), CC__GIVEN);
	cc__store(&queue->want, CC__NOBODY, CC__RELEASE);
	CHECK_EQ(pop(), 4);
	end();
}

/* ---- growth ---- */

TEST(ring_grows_in_order_from_wherever_it_stands)
{
	static const enum cc__kind kinds[] = {CC__URGENT, CC__READY, CC__FRESH};

	for (int k = 0; k < 3; k++) {
		begin();
		/* Positions in the middle of a lap, and just before they wrap. */
		cc__store(&queue->lane[kinds[k]].head, UINT32_MAX - 100, CC__RELAXED);
		cc__store(&queue->lane[kinds[k]].tail, UINT32_MAX - 100, CC__RELAXED);
		push(0, FRAMES, kinds[k]);
		CHECK_EQ(cc__runq_length(queue), FRAMES);
		CHECK(queue->lane[kinds[k]].mask >= FRAMES - 1);
		for (int i = 0; i < FRAMES; i++)
			CHECK_EQ(pop_kind(kinds[k]), i);
		end();
	}
}

TEST(trim_gives_back_what_is_empty_and_nothing_else)
{
	begin();
	push(0, 1000, CC__READY);
	push(1000, 1000, CC__FRESH);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(pop(), i);
	cc__runq_trim(queue);
	CHECK(queue->lane[CC__READY].slot == queue->first_slots[CC__READY]);
	CHECK_EQ(queue->lane[CC__READY].mask, CC__LANE_FIRST - 1);
	CHECK_EQ(queue->lane[CC__FRESH].mask, 1023);
	push(0, 300, CC__READY);
	for (int i = 0; i < 300; i++)
		CHECK_EQ(pop(), i);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(pop_kind(CC__FRESH), 1000 + i);
	cc__runq_trim(queue);
	CHECK(queue->lane[CC__FRESH].slot == queue->first_slots[CC__FRESH]);
	end();
}

/* As if it had grown that far. */
TEST(ring_does_not_grow_for_ever)
{
	enum { MOST = 1 << 20 };
	struct cc__lane *r;

	begin();
	r = &queue->lane[CC__READY];
	r->mask = MOST - 1;
	cc__store(&r->tail, MOST, CC__RELAXED);
	CHECK(!cc__runq_push(queue, &frame[0], CC__READY));
	CHECK_EQ(mapped, 0);
	r->mask = CC__LANE_FIRST - 1;
	cc__store(&r->tail, 0, CC__RELAXED);
	end();
}

TEST(push_without_memory_leaves_the_fiber_to_the_caller)
{
	begin();
	push(0, CC__LANE_FIRST, CC__READY);
	mmap_fails = true;
	CHECK(!cc__runq_push(queue, &frame[CC__LANE_FIRST], CC__READY));
	CHECK_EQ(cc__runq_length(queue), CC__LANE_FIRST);
	CHECK(cc__runq_push(queue, &frame[FRAMES - 1], CC__FRESH));	/* another ring */
	CHECK_EQ(pop(), 0);
	push(CC__LANE_FIRST, 1, CC__READY);	/* there is room again */
	mmap_fails = false;
	for (int i = 1; i <= CC__LANE_FIRST; i++)
		CHECK_EQ(pop(), i);
	CHECK_EQ(pop(), FRAMES - 1);
	end();
}
