/* stack_pool_test.c - each stack is guarded, over all of its guard, the pool's and those under
 * fibers; one that cannot be guarded does not count, is given to nobody, and is tried again.
 *
 * link-wrap: madvise mprotect */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ccc/ccc.h>

#include "os/atomic.h"
#include "os/pages.h"
#include "raw.h"
#include "stack/stack.h"

enum { GUARD_INSTALL = 102, SOME = 40 };

/* ---- guards that fail ---- */

static bool guards_fail;

RAW static int refused(void)
{
	errno = ENOMEM;
	return -1;
}

int __real_madvise(void *, size_t, int);
int __wrap_madvise(void *, size_t, int);
RAW int __wrap_madvise(void *p, size_t size, int advice)
{
	return guards_fail && advice == GUARD_INSTALL ? refused() : __real_madvise(p, size, advice);
}

int __real_mprotect(void *, size_t, int);
int __wrap_mprotect(void *, size_t, int);
RAW int __wrap_mprotect(void *p, size_t size, int prot)
{
	return guards_fail && prot == PROT_NONE ? refused() : __real_mprotect(p, size, prot);
}

/* ---- helpers ---- */

/* The kernel can read that byte. */
static bool is_there(const char *byte)
{
	int fds[2];
	bool read;

	CHECK_EQ(pipe(fds), 0);
	read = write(fds[1], byte, 1) == 1;
	close(fds[0]);
	close(fds[1]);
	return read;
}

static bool get_one(struct cc__stack_pool *p, unsigned order, struct cc__stack_list *all)
{
	struct cc__stack *s = cc__stack_get(p, order);

	if (s == NULL)
		return false;
	CHECK(is_there(cc__stack_bottom(s)));
	CHECK(!is_there(cc__stack_bottom(s) - 1));
	CHECK(!is_there(cc__stack_bottom(s) - p->shelf[order].guard_size));
	cc__stack_push(all, s);
	return true;
}

static void check_guards(CCGuard how)
{
	struct cc__stack_list all = {0};
	struct cc__stack_pool p;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	c.stack_size = 64 * 1024;
	c.guard = how;
	c.stacks_max = SOME;
	REQUIRE_EQ(cc__stack_pool_init(&p, &c), 0);
	for (unsigned i = 0; i < SOME / 2; i++)
		CHECK(get_one(&p, i % 2, &all));
	guards_fail = true;
	for (unsigned i = 0; i < SOME; i++)
		CHECK(!get_one(&p, i % 2, &all));
	CHECK(!cc__stack_pool_stock(&p, 2));
	CHECK_EQ(cc__stack_pool_made(&p), SOME / 2);
	guards_fail = false;
	CHECK(cc__stack_pool_stock(&p, 2));
	while (get_one(&p, all.count % 3, &all))
		continue;
	CHECK_EQ(all.count, SOME);
	CHECK_EQ(cc__stack_pool_made(&p), SOME);
	while (all.first != NULL)
		cc__stack_put(&p, cc__stack_pop(&all));
	cc__stack_pool_fini(&p);
}

TEST(stack_without_its_split_guard_does_not_count)
{
	check_guards(CC_GUARD_SPLIT);
}

TEST(stack_without_its_light_guard_does_not_count)
{
	if (cc__guard_best() != CC__GUARD_LIGHT)
		SKIP("MADV_GUARD_INSTALL does not work here (Linux before 6.13, or an emulator)");
	check_guards(CC_GUARD_LIGHT);
}

/* ---- each of many, and every page ---- */

/* Below so many stacks, in several regions, each twice as large as the one before. */
enum { MANY = 700 };

/* Tries to write to every page of the guards below stacks: the kernel writes for us, and says
 * EFAULT where we would be killed. */
struct prober {
	int zero;		/* /dev/zero */
	size_t guard;		/* bytes below a stack */
	unsigned number;	/* of stacks so far */
	unsigned unguarded;
};

static void prober_init(struct prober *p, size_t guard)
{
	*p = (struct prober){.zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), .guard = guard};
	CHECK(p->zero >= 0);
}

static bool is_writable(struct prober *p, char *byte)
{
	return read(p->zero, byte, 1) == 1;
}

static void probe(struct prober *p, char *bottom)
{
	const size_t page = cc__page_size();
	char text[128];

	p->number++;
	/* One that is there, or the prober says nothing about the others. */
	CHECK(is_writable(p, bottom));
	for (size_t below = 1; below <= p->guard; below += page) {
		if (!is_writable(p, bottom - below))
			continue;
		snprintf(text, sizeof text,
		         "stack %u at %p has no guard: %p, %zu bytes below, can be written",
		         p->number, (void *)bottom, (void *)(bottom - below), below);
		test_check(false, text, __FILE__, __LINE__);
		p->unguarded++;
		return;
	}
}

static void probe_pool(CCGuard how, unsigned order)
{
	struct cc__stack_list all = {0};
	struct cc__stack_pool pool;
	struct cc__stack *s;
	struct prober p;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	c.stack_size = 64 * 1024;
	c.guard = how;
	REQUIRE_EQ(cc__stack_pool_init(&pool, &c), 0);
	prober_init(&p, pool.shelf[order].guard_size);
	CHECK_EQ(p.guard, pool.shelf[order].size / 4);
	while (all.count < MANY && (s = cc__stack_get(&pool, order)) != NULL) {
		probe(&p, cc__stack_bottom(s));
		cc__stack_push(&all, s);
	}
	CHECK_EQ(all.count, MANY);
	while (all.first != NULL)
		cc__stack_put(&pool, cc__stack_pop(&all));
	cc__stack_pool_fini(&pool);
	close(p.zero);
}

static int probe_fiber(const CCFiberInfo *info, void *arg)
{
	struct prober *p = arg;

	if (info->stack != NULL)
		probe(p, (char *)(uintptr_t)info->stack);
	return 0;
}

static uint64_t stacks_in_use(CCRuntime *rt)
{
	CCStats stats = {0};

	CHECK_EQ(cc_stats(rt, &stats), 0);
	return stats.stacks_in_use;
}

struct crowd {
	CCChan *end;	/* closed when they may go */
	cc__a32 arrived;
};

static int wait_in_crowd(void *arg)
{
	struct crowd *crowd = arg;
	char none;

	cc__add(&crowd->arrived, 1, CC__RELEASE);
	return cc_chan_recv(crowd->end, &none, sizeof none);
}

/* Those that fibers have at the same time, and the next ones on the same stacks. */
static void probe_fibers(CCGuard how)
{
	struct crowd crowd[2] = {{.end = cc_chan_new(1, 0)}, {.end = cc_chan_new(1, 0)}};
	struct prober p;
	CCRuntime *rt;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	c.stack_size = 64 * 1024;
	c.guard = how;
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < MANY; i++)
			CHECK_EQ(cc_task_spawn(rt, NULL, NULL, wait_in_crowd, &crowd[round]), 0);
		TEST_UNTIL(cc__load(&crowd[round].arrived, CC__ACQUIRE) == MANY);
		prober_init(&p, c.stack_size / 4);
		CHECK_EQ(cc_fiber_each(probe_fiber, &p), 0);
		CHECK_EQ(p.number, MANY);
		close(p.zero);
		CHECK_EQ(cc_chan_close(crowd[round].end), 0);
		TEST_UNTIL(stacks_in_use(rt) == 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
	for (int round = 0; round < 2; round++)
		CHECK_EQ(cc_chan_free(crowd[round].end), 0);
}

TEST(every_stack_of_many_has_its_split_guard)	/* covers: SCH-04/d */
{
	probe_pool(CC_GUARD_SPLIT, 0);
	probe_pool(CC_GUARD_SPLIT, 1);
}

TEST(every_stack_of_many_has_its_light_guard)	/* covers: SCH-04/d */
{
	if (cc__guard_best() != CC__GUARD_LIGHT)
		SKIP("MADV_GUARD_INSTALL does not work here (Linux before 6.13, or an emulator)");
	probe_pool(CC_GUARD_LIGHT, 0);
	probe_pool(CC_GUARD_LIGHT, 1);
}

TEST(every_fiber_of_many_has_a_guard_below_it)	/* covers: SCH-04/d */
{
	probe_fibers(CC_GUARD_SPLIT);
	probe_fibers(CC_GUARD_AUTO);
}
