/* stack_pool_test.c - each stack that the pool gives is guarded; one that cannot be guarded
 * does not count, is given to nobody, and is tried again.
 *
 * link-wrap: madvise mprotect */
#include "test.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ccc/ccc.h>

#include "os/pages.h"
#include "raw.h"
#include "sched/stack.h"

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
