/* nursery_stack_test.c - stacks of the size that a nursery asks for: children have them, others
 * keep theirs, and all come back. */
#include "nurseries.h"
#include "stack_sizes.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "stack/stack.h"

static CCNurseryOptions of_size(CCRuntime *rt, size_t size)
{
	return (CCNurseryOptions){.runtime = rt, .stack_size = size};
}

static CCStats stats(CCRuntime *rt)
{
	CCStats s = {0};

	CHECK_EQ(cc_stats(rt, &s), 0);
	return s;
}

/* ---- what a child does with it ---- */

/* More than ordinary stacks have many times over. */
static int use_a_megabyte(void *ran)
{
	cc_yield();
	CHECK_EQ(descend(M / FRAME), 0);
	cc_yield();
	return ran != NULL ? count(ran) : 0;
}

/* ---- it is there ---- */

static int children_use_a_megabyte(void *rt)
{
	const CCNurseryOptions o = of_size(rt, 2 * M);
	cc__a32 ran = {0};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o)
		for (int i = 0; i < 20; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, use_a_megabyte, &ran), 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 20);
	return err;
}

static void for_both_in_small(unsigned workers, int (*body)(void *rt))
{
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		const CCConfig c = small_stacks(workers);
		CCRuntime *rt = runtime_with(&c);
		struct sleeper s;

		sleeper_start(&s, rt, kind, body, rt);
		sleeper_join(&s);
		CHECK_EQ(s.result, 0);
		TEST_UNTIL(stats(rt).stacks_in_use == 0);	/* none is lost */
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

TEST(children_have_the_room_that_the_nursery_asked_for)
{
	for_both_in_small(1, children_use_a_megabyte);
	for_both_in_small(2, children_use_a_megabyte);
}

static int use_a_megabyte_for(void *arg)
{
	return use_a_megabyte(*(cc__a32 **)arg);
}

static int every_kind_of_child(void *rt)
{
	const CCNurseryOptions o = of_size(rt, 2 * M);
	cc__a32 ran = {0}, *where = &ran;
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn_daemon(n, NULL, use_a_megabyte, &ran), 0);
		CHECK_EQ(cc_nursery_spawn_copy(n, NULL, use_a_megabyte_for, &where, sizeof where),
		         0);
		CHECK_EQ(
		    cc_nursery_spawn_daemon_copy(n, NULL, use_a_megabyte_for, &where, sizeof where),
		    0);
		CHECK_EQ(cc_nursery_spawn(n, &(CCTaskOptions){.migration = CC_MIGRATE_PINNED},
		                          use_a_megabyte, &ran),
		         0);
	}
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 4);
	return err;
}

TEST(daemons_captures_and_pinned_children_have_it_too)
{
	for_both_in_small(2, every_kind_of_child);
}

/* A child's own nursery says what its children have. */
struct level {
	CCRuntime *rt;
	int left;
};

static int nest(void *arg)
{
	const struct level *l = arg;
	struct level below = {.rt = l->rt, .left = l->left - 1};
	const CCNurseryOptions o = of_size(l->rt, 2 * M), ordinary = in(l->rt);
	cc__a32 ran = {0};
	int err = -1;

	if (l->left == 0)
		return use_a_megabyte(NULL);
	cc_nursery_scope_with(n, &err, &ordinary)
		for (int i = 0; i < 3; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, yield_and_count, &ran), 0);
	CHECK_EQ(err, 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 3);
	cc_nursery_scope_with(n, &err, &o)
		for (int i = 0; i < 2; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, nest, &below), 0);
	return use_a_megabyte(NULL) + err;
}

static int nest_deep(void *rt)
{
	struct level l = {.rt = rt, .left = 4};
	const CCNurseryOptions o = of_size(rt, 2 * M);
	int err = -1;

	cc_nursery_scope_with(n, &err, &o)
		CHECK_EQ(cc_nursery_spawn(n, NULL, nest, &l), 0);
	return err;
}

/* Each joins the next: on one stack they would not all have room. */
TEST(joined_children_have_it_to_themselves)
{
	for_both_in_small(1, nest_deep);
}

/* ---- which size it is ---- */

static void check_size(CCRuntime *rt, size_t asked, size_t had)
{
	const CCNurseryOptions o = of_size(rt, asked);
	cc__a32 ran = {0};
	struct asked a = {.ran = &ran, .size = had};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o)
		for (int i = 0; i < 3; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, have_that_size, &a), 0);
	CHECK_EQ(err, 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 3);
}

TEST(stack_sizes_of_a_nursery_are_doublings_of_the_runtime_s)
{
	static const size_t size[][2] = {
	    {0, 64 * K},           {1, 64 * K},        {64 * K, 64 * K},
	    {64 * K + 1, 128 * K}, {128 * K, 128 * K}, {1000000, M},
	    {2 * M, 2 * M},        {2 * M + 1, 4 * M}, {1024 * M, 1024 * M},
	};
	const CCConfig c = small_stacks(1);
	CCRuntime *rt = runtime_with(&c);

	for (size_t i = 0; i < sizeof size / sizeof *size; i++)
		check_size(rt, size[i][0], size[i][1]);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(absurd_stack_sizes_of_a_nursery_are_refused)
{
	static const size_t absurd[] = {1024 * M + 1, SIZE_MAX / 2, SIZE_MAX};
	const CCConfig c = small_stacks(1);
	CCRuntime *rt = runtime_with(&c);

	for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
		const CCNurseryOptions o = of_size(rt, absurd[i]);
		int err = -1, begun = 0;
		CCNursery n;

		CHECK_EQ(cc_nursery_init(&n, &o), EINVAL);
		CHECK_EQ(cc_nursery_spawn(&n, NULL, nothing, NULL), EINVAL);
		cc_nursery_scope_with(m, &err, &o)
			begun++;
		CHECK_EQ(begun, 0);
		CHECK_EQ(err, EINVAL);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* One after the other on one worker, so that each ends where the next begins. */
static int mix(void *arg)
{
	CCRuntime *rt = arg;
	const CCNurseryOptions o[] = {of_size(rt, 0), of_size(rt, 2 * M), of_size(rt, 256 * K)};
	static const size_t had[] = {64 * K, 2 * M, 256 * K};
	cc__a32 ran = {0};
	struct asked a[3];
	CCNursery n[3];

	for (int i = 0; i < 3; i++) {
		a[i] = (struct asked){.ran = &ran, .size = had[i]};
		CHECK_EQ(cc_nursery_init(&n[i], &o[i]), 0);
	}
	for (int i = 0; i < 300; i++)
		CHECK_EQ(cc_nursery_spawn(&n[i * 7 % 3], NULL, have_that_size, &a[i * 7 % 3]), 0);
	while (cc__load(&ran, CC__RELAXED) < 300)
		cc_yield();	/* not joined yet: that would run ordinary ones here */
	for (int i = 2; i >= 0; i--)
		CHECK_EQ(cc_nursery_join(&n[i]), 0);
	return 0;
}

TEST(children_of_several_sizes_take_turns_and_keep_theirs)
{
	const CCConfig c = small_stacks(1);
	CCRuntime *rt = runtime_with(&c);

	CHECK_EQ(join(spawn(rt, mix, rt)), 0);
	TEST_UNTIL(stats(rt).stacks_in_use == 0);
	CHECK(stats(rt).stacks <= 16);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- they come back ---- */

static int spawn_100k(void *rt)
{
	enum { TASKS = 100 * 1000, AT_ONCE = 500 };
	const CCNurseryOptions o = of_size(rt, 2 * M);
	const uint64_t before = stats(rt).stacks;
	cc__a32 ran = {0};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o)
		for (int i = 1; i <= TASKS; i++) {
			CHECK_EQ(
			    cc_nursery_spawn(n, NULL, i % 10 != 0 ? count : yield_and_count, &ran),
			    0);
			while (i % AT_ONCE == 0 && cc__load(&ran, CC__RELAXED) < (uint32_t)i)
				cc_yield();
		}
	CHECK_EQ(cc__load(&ran, CC__RELAXED), TASKS);
	CHECK(stats(rt).stacks <= before + AT_ONCE / 5);	/* some that yield, and a few */
	return err;
}

TEST(large_stacks_serve_one_child_after_another)
{
	for_both_in_small(1, spawn_100k);
	for_both_in_small(2, spawn_100k);
}

/* A look at all fibers meanwhile finds children that are being spawned: what it reads of one is
 * written before the child can be found.  (For ThreadSanitizer, which sees a write that comes
 * later.) */
static int visit(const CCFiberInfo *info, void *arg)
{
	(void)info;
	return cc__load((cc__a32 *)arg, CC__ACQUIRE) != 0;	/* that is enough */
}

static int look_around(void *arg)
{
	cc__a32 *over = arg;

	while (cc__load(over, CC__ACQUIRE) == 0)
		(void)cc_fiber_each(visit, over);
	return 0;
}

static int spawn_beside_a_look(void *rt)
{
	enum { CHILDREN = 2000 };
	const CCNurseryOptions o = of_size(rt, 2 * M);
	cc__a32 ran = {0}, over = {0};
	struct sleeper looking;
	int err = -1;

	sleeper_start(&looking, rt, THREAD, look_around, &over);
	cc_nursery_scope_with(n, &err, &o)
		for (int i = 0; i < CHILDREN; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, count, &ran), 0);
	cc__store(&over, 1, CC__RELEASE);
	sleeper_join(&looking);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), CHILDREN);
	return err;
}

TEST(children_with_large_stacks_are_whole_when_they_are_seen)
{
	for_both_in_small(2, spawn_beside_a_look);
}

/* Here and there, and back to the pool from wherever they end. */
static int wander(void *ran)
{
	for (int i = 0; i < 200; i++) {
		cc_yield();
		if (i % 50 == 0)
			CHECK_EQ(descend(M / FRAME), 0);
	}
	return count(ran);
}

static int children_wander(void *rt)
{
	cc__a32 ran = {0};

	for (int round = 0; round < 20; round++) {
		const CCNurseryOptions o = of_size(rt, 2 * M);
		int err = -1;

		cc_nursery_scope_with(n, &err, &o)
			for (int i = 0; i < 8; i++)
				CHECK_EQ(cc_nursery_spawn(n, NULL, wander, &ran), 0);
		CHECK_EQ(err, 0);
		CHECK(stats(rt).stacks <= 16 + 16);
	}
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 160);
	return 0;
}

TEST(children_on_large_stacks_move_between_workers)
{
	for_both_in_small(3, children_wander);
}

/* ---- the pool ---- */

static void get_many(struct cc__stack_pool *p, unsigned order, struct cc__stack_list *to, int n)
{
	for (int i = 0; i < n; i++) {
		struct cc__stack *s = cc__stack_get(p, order);

		REQUIRE(s != NULL);
		CHECK_EQ(cc__stack_order(s), order);
		CHECK_EQ(cc__stack_usable(p, s), (64 * K << order) / 4 * 3);
		memset(cc__stack_bottom(s), 1, FRAME);
		memset((char *)cc__stack_top(p, s) - FRAME, 1, FRAME);
		cc__stack_push(to, s);
	}
}

TEST(free_stacks_of_one_order_make_room_for_another)
{
	CCConfig c = small_stacks(1);
	struct cc__stack_list all = {0};
	struct cc__stack_pool p;

	c.stacks_max = 8;
	REQUIRE_EQ(cc__stack_pool_init(&p, &c), 0);
	for (int round = 0; round < 3; round++)
		for (unsigned order = 0; order < 4; order++) {
			get_many(&p, order, &all, 5);
			get_many(&p, order + 1, &all, 3);
			CHECK(cc__stack_get(&p, order) == NULL);
			CHECK(!cc__stack_pool_stock(&p, 7));
			CHECK_EQ(cc__stack_pool_made(&p), 8);
			cc__stack_put_list(&p, &all);
		}
	CHECK(cc__stack_pool_stock(&p, 7));
	CHECK_EQ(cc__stack_pool_made(&p), 8);
	CHECK_EQ(p.shelf[7].made, 1);
	cc__stack_pool_fini(&p);
}

TEST(idle_stacks_of_every_order_give_their_pages_back)	/* covers: RES-33/u */
{
	enum { IDLE = 1000 };
	const CCConfig c = small_stacks(1);
	struct cc__stack_list all = {0};
	struct cc__stack_pool p;
	cc_time now = 5 * IDLE;

	REQUIRE_EQ(cc__stack_pool_init(&p, &c), 0);
	get_many(&p, 0, &all, 20);
	get_many(&p, 5, &all, 20);
	cc__stack_put_list(&p, &all);
	for (int period = 0; period < 3; period++, now += IDLE)
		while (cc__stack_pool_age(&p, now, IDLE) == now)
			continue;
	CHECK_EQ(p.shelf[0].free[CC__STACK_COLD].count, 20);
	CHECK_EQ(p.shelf[5].free[CC__STACK_COLD].count, 20);
	for (const struct cc__stack *s = p.shelf[5].free[CC__STACK_COLD].first; s != NULL;
	     s = s->next)
		CHECK_EQ(*(volatile char *)cc__stack_bottom(s), 0);
	CHECK_EQ(cc__stack_pool_age(&p, now, IDLE), CC_FOREVER);
	cc__stack_pool_fini(&p);
}

/* ---- there are none ---- */

static void ignore_line(void *context, const char *line)
{
	(void)line;
	cc__add((cc__a32 *)context, 1, CC__RELEASE);
}

/* Ordinary tasks have all that may be; a large one waits until they are gone. */
TEST(child_without_a_stack_waits_for_whatever_comes_back)
{
	enum { HOLDERS = 6 };
	CCConfig c = small_stacks(1);
	cc__a32 ran = {0}, lines = {0};
	struct gate gate = {.open = {0}};
	CCTask holder[HOLDERS];
	CCNurseryOptions o;
	CCRuntime *rt;
	CCNursery n;

	c.stacks_max = HOLDERS;
	c.log = ignore_line;
	c.log_context = &lines;
	rt = runtime_with(&c);
	o = of_size(rt, 2 * M);
	o.policy = CC_NURSERY_SUPERVISE;
	CHECK_EQ(cc_nursery_init(&n, &o), 0);	/* makes one, and room for another */
	for (int i = 0; i < HOLDERS; i++)
		holder[i] = spawn(rt, wait_at, &gate);
	TEST_UNTIL(cc__load(&gate.arrived, CC__ACQUIRE) == HOLDERS);
	CHECK_EQ(cc_nursery_spawn(&n, NULL, use_a_megabyte, &ran), 0);
	TEST_UNTIL(stats(rt).starved > 0);
	TEST_UNTIL(cc_nursery_spawn(&n, NULL, nothing, NULL) == EAGAIN); /* told right after */
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 0);
	TEST_UNTIL(cc__load(&lines, CC__ACQUIRE) > 0);
	cc__store(&gate.open, 1, CC__RELEASE);
	for (int i = 0; i < HOLDERS; i++)
		CHECK_EQ(join(holder[i]), 17);
	CHECK_EQ(cc_nursery_join(&n), EAGAIN);	/* of the child that was not started */
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 1);
	CHECK(stats(rt).stacks <= HOLDERS);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* A program's own, which has no more than so many bytes at once. */
struct hooks {
	size_t most;				/* constant; of one */
	unsigned acquired, released, large;	/* the pool's lock */
};

static void *hook_acquire(void *context, size_t size)
{
	struct hooks *h = context;
	void *p;

	if (size > h->most)
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	h->acquired += p != MAP_FAILED;
	h->large += size > 64 * K;
	return p != MAP_FAILED ? p : NULL;
}

static void hook_release(void *context, void *stack, size_t size)
{
	struct hooks *h = context;

	CHECK_EQ(munmap(stack, size), 0);
	h->released++;
}

TEST(stack_hooks_give_large_ones_or_the_nursery_is_refused)
{
	struct hooks h = {.most = 2 * M};
	CCConfig c = small_stacks(1);
	CCRuntime *rt;
	CCNurseryOptions o;
	CCNursery n;

	c.stacks = (CCStackHooks){hook_acquire, hook_release, &h};
	rt = runtime_with(&c);
	CHECK_EQ(children_use_a_megabyte(rt), 0);
	CHECK(h.large >= 1 && h.large <= 20);
	o = of_size(rt, 2 * M + 1);
	CHECK_EQ(cc_nursery_init(&n, &o), ENOMEM);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(h.acquired, h.released);
}

/* ---- overflow ---- */

static int run_off(void *arg)
{
	(void)arg;
	return descend(INT32_MAX);
}

static void overflow_child(void *size)
{
	const CCConfig c = small_stacks(1);
	CCRuntime *rt = runtime_with(&c);
	const CCNurseryOptions o = of_size(rt, *(size_t *)size);

	cc_nursery_scope_with(n, NULL, &o)
		cc_nursery_spawn(n, &(CCTaskOptions){.name = "parser"}, run_off, NULL);
	_exit(5);
}

static void megabyte_child(void *size)
{
	const CCConfig c = small_stacks(1);
	CCRuntime *rt = runtime_with(&c);
	const CCNurseryOptions o = of_size(rt, *(size_t *)size);

	cc_nursery_scope_with(n, NULL, &o)
		cc_nursery_spawn(n, &(CCTaskOptions){.name = "parser"}, use_a_megabyte, NULL);
	_exit(5);
}

static void check_overflow(void (*child)(void *), size_t size, const char *size_text)
{
	static struct test_death death;
	const char *text;

	REQUIRE_EQ(test_dies(child, &size, &death), 0);
	CHECK(!death.timed_out && WIFSIGNALED(death.status));
	CHECK_EQ(WTERMSIG(death.status), SIGSEGV);
	text = strstr(death.text, "'parser' overflowed its ");
	if (CHECK(text != NULL))
		CHECK(strncmp(text + strlen("'parser' overflowed its "), size_text,
		              strlen(size_text)) == 0);
}

TEST(overflow_of_a_large_stack_names_the_child_and_the_size)	/* covers: SCH-04/d */
{
	check_overflow(overflow_child, 2 * M, "2048 KB stack; ");
	check_overflow(megabyte_child, M, "1024 KB stack; ");
	check_overflow(megabyte_child, 0, "64 KB stack; ");
}
