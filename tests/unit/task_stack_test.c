/* task_stack_test.c - stacks of the size that a task asks for: it has the room, however it is
 * spawned and whoever waits for it, and tasks beside it keep theirs. */
#include "nurseries.h"
#include "stack_sizes.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "stack/stack.h"

static uint64_t stacks_in_use(CCRuntime *rt)
{
	CCStats s = {0};

	CHECK_EQ(cc_stats(rt, &s), 0);
	return s.stacks_in_use;
}

static const CCTaskOptions two_megabytes = {.name = "large", .stack_size = 2 * M};

/* ---- what a task does with it ---- */

/* More than ordinary stacks have many times over. */
static int use_a_megabyte(void *ran)
{
	CHECK_EQ(descend(M / FRAME), 0);
	cc_yield();
	CHECK_EQ(descend(M / FRAME), 0);
	return count(ran);
}

/* The body in a fiber and in a thread, with one worker and with two; no stack is lost. */
static void for_all(int (*body)(void *rt))
{
	for (int i = 0; i < 4; i++) {
		const CCConfig c = small_stacks(i % 2 == 0 ? 1 : 2);
		CCRuntime *rt = runtime_with(&c);
		struct sleeper s;

		sleeper_start(&s, rt, i < 2 ? FIBER : THREAD, body, rt);
		sleeper_join(&s);
		CHECK_EQ(s.result, 0);
		TEST_UNTIL(stacks_in_use(rt) == 0);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

/* ---- it is there ---- */

static int spawn_in_many_ways(void *rt)
{
	CCTaskOptions o[] = {two_megabytes, two_megabytes, two_megabytes, two_megabytes};
	enum { WAYS = sizeof o / sizeof *o };
	cc__a32 ran = {0};
	CCTask t[WAYS];

	o[1].migration = CC_MIGRATE_STICKY;
	o[2].migration = CC_MIGRATE_PINNED;
	o[3].start = cc_now() + CC_MSEC;
	for (int i = 0; i < WAYS; i++)
		CHECK_EQ(cc_task_spawn(rt, &t[i], &o[i], use_a_megabyte, &ran), 0);
	/* The newest first: that one the joiner would run in its own place. */
	for (int i = WAYS; i-- > 0;)
		CHECK_EQ(join(t[i]), 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), WAYS);
	return 0;
}

TEST(task_has_the_room_that_it_asked_for)
{
	for_all(spawn_in_many_ways);
}

static int join_what_was_just_spawned(void *rt)
{
	cc__a32 ran = {0};

	for (int i = 0; i < 50; i++) {
		struct asked small = {.ran = &ran, .size = 64 * K};
		CCTask large, ordinary;

		CHECK_EQ(cc_task_spawn(rt, &large, &two_megabytes, use_a_megabyte, &ran), 0);
		CHECK_EQ(cc_task_spawn(rt, &ordinary, NULL, have_that_size, &small), 0);
		CHECK_EQ(join(ordinary), 0);
		CHECK_EQ(join(large), 0);
	}
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 100);
	return 0;
}

TEST(joined_task_has_its_own_stack_and_not_the_joiner_s)
{
	for_all(join_what_was_just_spawned);
}

static int use_a_megabyte_for(void *arg)
{
	return use_a_megabyte(*(cc__a32 **)arg);
}

cc_task_fn(use_typed, cc__a32 *ran;)
{
	return use_a_megabyte(self->ran);
}

static int be_a_child_in_many_ways(void *rt)
{
	const CCNurseryOptions in_rt = in(rt);
	cc__a32 ran = {0}, *where = &ran;
	struct asked small = {.ran = &ran, .size = 64 * K};
	int err = -1;

	cc_nursery_scope_with(n, &err, &in_rt)
		for (int i = 0; i < 4; i++) {	/* with ordinary ones between them */
			CHECK_EQ(cc_nursery_spawn(n, &two_megabytes, use_a_megabyte, &ran), 0);
			CHECK_EQ(cc_nursery_spawn(n, NULL, have_that_size, &small), 0);
			CHECK_EQ(cc_nursery_spawn_daemon(n, &two_megabytes, use_a_megabyte, &ran),
			         0);
			CHECK_EQ(cc_nursery_spawn_copy(n, &two_megabytes, use_a_megabyte_for,
			                               &where, sizeof where),
			         0);
			CHECK_EQ(cc_nursery_spawn(n, NULL, have_that_size, &small), 0);
			CHECK_EQ(cc_spawn_with(n, &two_megabytes, use_typed, .ran = &ran), 0);
		}
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 24);
	return err;
}

TEST(child_has_the_room_that_it_asked_for)
{
	for_all(be_a_child_in_many_ways);
}

static int send_tasks(void *arg)
{
	const CCChanOptions ordered = {.kind = CC_CHAN_KIND_ORDERED};
	cc__a32 ran = {0};
	CCChan *c = NULL;

	(void)arg;
	CHECK_EQ(cc_chan_create(&c, sizeof(CCTask), 4, &ordered), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(cc_chan_spawn(c, &two_megabytes, use_a_megabyte, &ran, CC_FOREVER), 0);
	for (int i = 0; i < 3; i++) {
		CCTask t;

		CHECK_EQ(cc_chan_recv(c, &t, sizeof t), 0);
		CHECK_EQ(join(t), 0);
	}
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 3);
	CHECK_EQ(cc_chan_close(c), 0);
	CHECK_EQ(cc_chan_free(c), 0);
	return 0;
}

TEST(task_of_an_ordered_channel_has_the_room_that_it_asked_for)
{
	const CCConfig c = small_stacks(2);
	CCRuntime *rt = runtime_with(&c);

	CHECK_EQ(join(spawn(rt, send_tasks, NULL)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- which size it is ---- */

/* In a nursery whose children have `nursery` bytes; what a child has that asks for `asked`. */
static void check_size(CCRuntime *rt, size_t nursery, size_t asked, size_t had)
{
	const CCNurseryOptions n_options = {.runtime = rt, .stack_size = nursery};
	const CCTaskOptions o = {.stack_size = asked};
	cc__a32 ran = {0};
	struct asked a = {.ran = &ran, .size = had};
	int err = -1;

	if (nursery == 0) {
		CCTask t;

		CHECK_EQ(cc_task_spawn(rt, &t, &o, have_that_size, &a), 0);
		CHECK_EQ(join(t), 0);
		cc__store(&ran, 0, CC__RELAXED);
	}
	cc_nursery_scope_with(n, &err, &n_options)
		for (int i = 0; i < 3; i++)
			CHECK_EQ(cc_nursery_spawn(n, &o, have_that_size, &a), 0);
	CHECK_EQ(err, 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 3);
}

TEST(stack_size_of_a_task_is_a_doubling_of_the_runtime_s_and_no_less_than_the_nursery_s)
{
	static const size_t size[][3] = {
	    {0, 0, 64 * K},
	    {0, 1, 64 * K},
	    {0, 64 * K, 64 * K},
	    {0, 64 * K + 1, 128 * K},
	    {0, 1000000, M},
	    {0, 2 * M, 2 * M},
	    {0, 2 * M + 1, 4 * M},
	    {0, 1024 * M, 1024 * M},
	    {M, 0, M},
	    {M, 64 * K, M},
	    {M, M, M},
	    {M, M + 1, 2 * M},
	};
	const CCConfig c = small_stacks(1);
	CCRuntime *rt = runtime_with(&c);

	for (size_t i = 0; i < sizeof size / sizeof *size; i++)
		check_size(rt, size[i][0], size[i][1], size[i][2]);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(absurd_stack_size_of_a_task_is_refused)
{
	static const size_t absurd[] = {1024 * M + 1, SIZE_MAX / 2, SIZE_MAX};
	const CCConfig c = small_stacks(1);
	CCRuntime *rt = runtime_with(&c);
	const CCNurseryOptions in_rt = in(rt);
	int err = -1;

	for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
		const CCTaskOptions o = {.stack_size = absurd[i]};
		CCTask t;

		CHECK_EQ(cc_task_spawn(rt, &t, &o, nothing, NULL), EINVAL);
		cc_nursery_scope_with(n, &err, &in_rt)
			CHECK_EQ(cc_nursery_spawn(n, &o, nothing, NULL), EINVAL);
		CHECK_EQ(err, EINVAL);	/* a child that is not started is its error */
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* A program's own stacks, of a megabyte at most. */
static void *small_acquire(void *context, size_t size)
{
	void *p;

	(void)context;
	if (size > M)
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p != MAP_FAILED ? p : NULL;
}

static void small_release(void *context, void *stack, size_t size)
{
	(void)context;
	CHECK_EQ(munmap(stack, size), 0);
}

TEST(task_is_refused_if_not_one_stack_of_its_size_can_be_had)
{
	CCConfig c = small_stacks(1);
	CCNurseryOptions in_rt;
	cc__a32 ran = {0};
	int err = -1;
	CCRuntime *rt;
	CCTask t;

	c.stacks = (CCStackHooks){small_acquire, small_release, NULL};
	rt = runtime_with(&c);
	in_rt = in(rt);
	CHECK_EQ(cc_task_spawn(rt, &t, &two_megabytes, count, &ran), ENOMEM);
	cc_nursery_scope_with(n, &err, &in_rt)
		CHECK_EQ(cc_nursery_spawn(n, &two_megabytes, count, &ran), ENOMEM);
	CHECK_EQ(err, ENOMEM);
	/* Others are not held up by it. */
	CHECK_EQ(cc_task_spawn(rt, &t, &(CCTaskOptions){.stack_size = M}, count, &ran), 0);
	CHECK_EQ(join(t), 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 1);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- a frame's next life ---- */

TEST(frame_of_a_recalled_task_forgets_the_size)
{
	const CCConfig c = small_stacks(1);
	CCRuntime *rt = runtime_with(&c);
	CCTaskOptions later = two_megabytes;
	cc__a32 ran = {0};
	struct asked small = {.ran = &ran, .size = 64 * K};
	CCTask first, t;

	later.start = cc_now() + 3600 * CC_SEC;
	CHECK_EQ(cc_task_spawn(rt, &first, &later, nothing, NULL), 0);
	CHECK_EQ(cc_task_recall(first), 0);
	/* (From a thread they come straight from the slab, the last one first.) */
	CHECK_EQ(cc_task_spawn(rt, &t, NULL, have_that_size, &small), 0);
	CHECK(t.frame == first.frame);
	CHECK_EQ(join(t), 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 1);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- overflow ---- */

static int run_off(void *arg)
{
	(void)arg;
	return descend(INT32_MAX);
}

static void overflow_child(void *arg)
{
	const CCConfig c = small_stacks(1);
	CCRuntime *rt = runtime_with(&c);
	CCTask t;

	(void)arg;
	if (cc_task_spawn(rt, &t, &two_megabytes, run_off, NULL) != 0 ||
	    cc_task_join(t, CC_FOREVER, NULL) != 0)
		_exit(4);
	_exit(5);
}

TEST(overflow_of_a_task_s_large_stack_names_it_and_the_remedy)	/* covers: SCH-04/d */
{
	static struct test_death death;

	REQUIRE_EQ(test_dies(overflow_child, NULL, &death), 0);
	CHECK(WIFSIGNALED(death.status) && WTERMSIG(death.status) == SIGSEGV);
	CHECK(strstr(death.text, " 'large' overflowed its 2048 KB stack; give it a larger one: "
	                         "stack_size in CCTaskOptions") != NULL);
}
