/* nursery_unstarted_test.c - a child that could not be started is its nursery's error, so that
 * the result of a spawn may be dropped.
 *
 * link-wrap: mmap */
#include <stdlib.h>
#include <sys/mman.h>

#include "nurseries.h"
#include "scope/nursery.h"

/* clang's TSan calls what we wrap before it is ready to be called itself. */
#if defined(CC__TSAN) && defined(__clang__)
#define RAW __attribute__((disable_sanitizer_instrumentation))
#else
#define RAW
#endif

static cc__a32 no_pages;	/* mmap fails */

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
RAW void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (cc__load(&no_pages, CC__RELAXED) == 0)
		return __real_mmap(at, size, prot, flags, fd, offset);
	errno = ENOMEM;
	return MAP_FAILED;
}

/* A spawn that fails for want of memory, whoever calls. */
static void spawn_too_much(CCNursery *n)
{
	CHECK_EQ(cc_nursery_spawn_copy(n, NULL, nothing, "", SIZE_MAX), ENOMEM);
}

static CCNurseryOptions by_policy(CCRuntime *rt, CCNurseryPolicy policy)
{
	return (CCNurseryOptions){.runtime = rt, .policy = policy};
}

/* ---- each policy ---- */

static int fail_fast(void *rt)
{
	const CCNurseryOptions o = by_policy(rt, CC_NURSERY_FAIL_FAST);
	struct quiet q = quiet_new();
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		cc_nursery_spawn(n, NULL, receive, &q);
		spawn_too_much(n);
		CHECK_EQ(cc_cancel_reason(), ENOMEM);
		CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), ECANCELED);
	}
	CHECK_EQ(err, ENOMEM);
	CHECK_EQ(cc__load(&q.cancelled, CC__RELAXED), 1);
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(unstarted_child_cancels_the_others_if_the_nursery_fails_fast)
{
	for_fiber_and_thread(fail_fast);
}

static int supervise(void *rt)
{
	const CCNurseryOptions o = by_policy(rt, CC_NURSERY_SUPERVISE);
	cc__a32 ran = {0};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		spawn_too_much(n);
		CHECK_EQ(cc_cancel_reason(), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, yield_and_count, &ran), 0);
	}
	CHECK_EQ(err, ENOMEM);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 1);
	return 0;
}

TEST(unstarted_child_cancels_no_one_if_the_nursery_supervises)
{
	for_fiber_and_thread(supervise);
}

static int first_success(void *rt)
{
	const CCNurseryOptions o = by_policy(rt, CC_NURSERY_FIRST_SUCCESS);
	int err = -1;

	cc_nursery_scope_with(n, &err, &o)
		spawn_too_much(n);
	CHECK_EQ(err, ENOMEM);
	cc_nursery_scope_with(n, &err, &o) {
		spawn_too_much(n);
		CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), 0);
	}
	CHECK_EQ(err, 0);
	return 0;
}

TEST(unstarted_child_does_not_matter_after_a_success)
{
	for_fiber_and_thread(first_success);
}

/* ---- the first error stays ---- */

static int first_stays(void *rt)
{
	const CCNurseryOptions o = by_policy(rt, CC_NURSERY_SUPERVISE);
	struct quiet q = quiet_new();
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail, (void *)EIO), 0);
		while (cc__load(&cc__nursery_open(n)->error, CC__RELAXED) == 0)
			cc_yield();
		spawn_too_much(n);
	}
	CHECK_EQ(err, EIO);
	cc_nursery_scope_with(n, &err, &o) {
		spawn_too_much(n);
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail, (void *)EIO), 0);
	}
	CHECK_EQ(err, ENOMEM);
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(unstarted_child_is_one_error_of_several)
{
	for_fiber_and_thread(first_stays);
}

/* ---- refused by a cancellation ---- */

static int refused(void *rt)
{
	const CCNurseryOptions o = in(rt);
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), ECANCELED);
	}
	CHECK_EQ(err, ECANCELED);
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_cancel(n, EIO), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), ECANCELED);
	}
	CHECK_EQ(err, EIO);
	return 0;
}

TEST(child_refused_by_a_cancellation_was_cut_short)
{
	for_fiber_and_thread(refused);
}

/* A daemon learns by a refusal that the nursery is over. */
static int spawn_until_refused(void *arg)
{
	int err;

	while ((err = cc_nursery_spawn_daemon(arg, NULL, nothing, NULL)) == 0)
		cc_yield();
	CHECK_EQ(err, ECANCELED);
	CHECK_EQ(cc_nursery_spawn(arg, NULL, nothing, NULL), ECANCELED);
	return 0;
}

static int over(void *rt)
{
	const CCNurseryOptions o = in(rt);

	for (int i = 0; i < 50; i++) {
		int err = -1;

		cc_nursery_scope_with(n, &err, &o) {
			CHECK_EQ(cc_nursery_spawn_daemon(n, NULL, spawn_until_refused, n), 0);
			CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), 0);
		}
		CHECK_EQ(err, 0);
	}
	return 0;
}

TEST(child_refused_to_a_daemon_at_the_end_was_not)
{
	for_fiber_and_thread(over);
}

/* ---- by others than the owner ---- */

struct other {
	CCNursery *n;
	struct gate gate;
};

static int spawn_too_much_here(void *arg)
{
	spawn_too_much(((struct other *)arg)->n);
	return 0;
}

static int spawn_at_gate(void *arg)
{
	struct other *other = arg;

	wait_at(&other->gate);
	return cc_nursery_spawn(other->n, NULL, NULL, NULL);
}

static int by_others(void *rt)
{
	const CCNurseryOptions o = in(rt);
	CCTask outsider = {0};
	struct other other;
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		other = (struct other){.n = n};
		CHECK_EQ(cc_nursery_spawn(n, NULL, spawn_too_much_here, &other), 0);
	}
	CHECK_EQ(err, ENOMEM);
	cc_nursery_scope_with(n, &err, &o) {
		other = (struct other){.n = n};
		outsider = spawn(rt, spawn_too_much_here, &other);
		while (cc_cancel_reason() != ENOMEM)
			cc_yield();
	}
	CHECK_EQ(err, ENOMEM);
	CHECK_EQ(join(outsider), 0);
	/* It is sealed, and an outsider must not touch it: it may end at any time. */
	cc_nursery_scope_with(n, &err, &o) {
		other = (struct other){.n = n};
		outsider = spawn(rt, spawn_at_gate, &other);
		CHECK_EQ(cc_nursery_seal(n), 0);
		cc__store(&other.gate.open, 1, CC__RELEASE);
		CHECK_EQ(join(outsider), EINVAL);
		CHECK_EQ(cc_cancel_reason(), 0);
	}
	CHECK_EQ(err, 0);
	return 0;
}

TEST(unstarted_child_of_a_sibling_or_an_outsider_counts)
{
	for_fiber_and_thread(by_others);
}

/* ---- what the system refuses ---- */

static void *no_memory(void *context, size_t size)
{
	return cc__load((cc__a32 *)context, CC__RELAXED) != 0 ? NULL : calloc(1, size);
}

static void give_back(void *context, void *p, size_t size)
{
	(void)context, (void)size;
	free(p);
}

TEST(captures_without_memory_are_the_nurserys_error)
{
	unsigned char captures[CC_CAPTURES_SMALL + 1] = {0};
	cc__a32 refuses = {0};
	CCRuntime *rt = NULL;
	CCNurseryOptions o;
	int err = -1;
	CCConfig c;

	REQUIRE_EQ(cc_config_init(&c), 0);
	c.allocator = (CCAllocator){no_memory, give_back, &refuses};
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	o = in(rt);
	cc_nursery_scope_with(n, &err, &o) {
		cc__store(&refuses, 1, CC__RELAXED);
		cc_nursery_spawn_copy(n, NULL, nothing, captures, sizeof captures);
		cc__store(&refuses, 0, CC__RELAXED);
	}
	CHECK_EQ(err, ENOMEM);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Until all frames of a chunk are used up, and there is no memory for another. */
static int spawn_until_full(CCNursery *n, bool copies)
{
	int err = 0;

	cc__store(&no_pages, 1, CC__RELAXED);
	for (int i = 0; err == 0 && i < 1000000; i++)
		err = copies ? cc_nursery_spawn_copy(n, NULL, nothing, &i, sizeof i)
		             : cc_nursery_spawn(n, NULL, nothing, NULL);
	cc__store(&no_pages, 0, CC__RELAXED);
	return err;
}

TEST(child_without_a_frame_is_the_nurserys_error)
{
	CCRuntime *rt = NULL;
	struct gate gate;
	CCNurseryOptions o;
	CCTask holder;
	CCConfig c;

	REQUIRE_EQ(cc_config_init(&c), 0);
	only_workers(&c, 1);
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	o = in(rt);
	for (int copies = 0; copies < 2; copies++) {
		int err = -1;

		gate = (struct gate){.open = {0}};
		holder = spawn(rt, hold_worker_at, &gate);	/* so none ends meanwhile */
		TEST_UNTIL(cc__load(&gate.arrived, CC__ACQUIRE) != 0);
		cc_nursery_scope_with(n, &err, &o) {
			CHECK_EQ(spawn_until_full(n, copies != 0), ENOMEM);
			cc__store(&gate.open, 1, CC__RELEASE);
		}
		CHECK_EQ(err, ENOMEM);
		CHECK_EQ(join(holder), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}
