/* runq_test.c - sched/runq.h: who comes out when, what a thief gets, growth.
 *
 * One thread is owner and thief in turn; queue_race_test.c has them at once.
 *
 * link-wrap: mmap */
#include "test.h"

#include <sys/mman.h>

#include "frames.h"
#include "sched/runq.h"

/* ---- mmap, which may be told to fail ---- */

static bool mmap_fails;

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return mmap_fails ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
}

/* ---- a queue and its frames ---- */

enum { FRAMES = 5000 };

static struct cc__fiber *frame;
static struct cc__runq *queue;
static struct cc__loot loot;

static void begin(void)
{
	cc__fence_heavy_start();
	frame = frames_new(FRAMES);
	queue = calloc(1, sizeof *queue);
	cc__runq_init(queue);
}

static void end(void)
{
	CHECK_EQ(cc__runq_length(queue), 0);
	cc__runq_fini(queue);
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
	loot.count = 0;
	return cc__runq_steal(queue, take, 0, &loot) ? loot.count : 0;
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

/* ---- the offer ---- */

TEST(offer_is_for_the_first_who_asks)
{
	begin();
	push(0, 2, CC__FRESH);
	CHECK(cc__runq_offer(queue, &frame[10]));
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
