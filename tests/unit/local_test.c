/* local_test.c - values of a task: its own, empty at first, destroyed before its end is seen. */
#include "nurseries.h"

#include "stack/stack.h"

static void ignore(void *value)
{
	(void)value;
}

static CCLocal key_with(void (*destructor)(void *value))
{
	CCLocal key = 0;

	CHECK_EQ(cc_local_new(&key, destructor), 0);
	CHECK(key != 0);
	return key;
}

/* ---- get and set ---- */

static CCLocal a, b;

static int set_and_get(void *rt)
{
	int x = 0, y = 0;

	(void)rt;
	CHECK(cc_local_get(a) == NULL);
	CHECK_EQ(cc_local_set(a, NULL), 0);
	CHECK_EQ(cc_local_set(a, &x), 0);
	CHECK(cc_local_get(a) == &x && cc_local_get(b) == NULL);
	CHECK_EQ(cc_local_set(b, &y), 0);
	CHECK_EQ(cc_local_set(a, &y), 0);
	CHECK(cc_local_get(a) == &y && cc_local_get(b) == &y);
	CHECK_EQ(cc_local_set(a, NULL), 0);
	CHECK(cc_local_get(a) == NULL && cc_local_get(b) == &y);
	return 0;
}

TEST(local_value_is_what_was_set)
{
	a = key_with(NULL);
	b = key_with(NULL);
	for_fiber_and_thread(set_and_get);
	CHECK_EQ(cc_local_delete(a), 0);
	CHECK_EQ(cc_local_delete(b), 0);
}

static int keep_own(void *arg)
{
	CHECK(cc_local_get(a) == NULL);	/* though the frame and the stack have been used */
	CHECK_EQ(cc_local_set(a, arg), 0);
	for (int i = 0; i < 10; i++) {
		cc_yield();
		CHECK(cc_local_get(a) == arg);
	}
	return 0;
}

static int many_keep_their_own(void *rt)
{
	const CCNurseryOptions o = in(rt);
	int mine, err = -1;

	CHECK_EQ(cc_local_set(a, &mine), 0);
	cc_nursery_scope_with(n, &err, &o) {
		for (uintptr_t i = 1; i <= 300; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, keep_own, (void *)i), 0);
		CHECK(cc_local_get(a) == &mine);
	}
	CHECK(cc_local_get(a) == &mine);	/* whoever ran in its place */
	return err;
}

TEST(local_value_is_its_tasks_own)
{
	a = key_with(ignore);
	for_fiber_and_thread(many_keep_their_own);
	CHECK_EQ(cc_local_delete(a), 0);
}

/* ---- keys ---- */

TEST(local_keys_are_many_but_not_endless)
{
	CCLocal key[CC_LOCAL_KEYS + 1];
	unsigned n = 0;

	while (n < CC_LOCAL_KEYS && cc_local_new(&key[n], NULL) == 0)
		n++;
	CHECK_EQ(n, CC_LOCAL_KEYS);
	CHECK_EQ(cc_local_new(&key[n], NULL), EAGAIN);
	for (uintptr_t i = 0; i < n; i++)
		CHECK_EQ(cc_local_set(key[i], (void *)(i + 1)), 0);
	for (uintptr_t i = 0; i < n; i++)
		CHECK(cc_local_get(key[i]) == (void *)(i + 1));
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(cc_local_delete(key[i]), 0);
}

/* The first domain of a process takes a key, by which its strands leave. */
static void domain_without_key(void *arg)
{
	CCLocal key[CC_LOCAL_KEYS];
	CCDomain *d = NULL;

	(void)arg;
	for (unsigned i = 0; i < CC_LOCAL_KEYS; i++)
		if (cc_local_new(&key[i], NULL) != 0)
			_exit(1);
	if (cc_domain_create(&d, NULL) != EAGAIN || d != NULL)
		_exit(2);
	if (cc_local_delete(key[7]) != 0 || cc_domain_create(&d, NULL) != 0)
		_exit(3);
	if (cc_local_new(&key[7], NULL) != EAGAIN || cc_domain_free(d) != 0)
		_exit(4);
	_exit(0);
}

TEST(local_keys_are_needed_for_domains)
{
	static struct test_death death;

	CHECK_EQ(test_dies(domain_without_key, NULL, &death), 0);
	CHECK_EQ(death.status, 0);
}

TEST(local_key_that_is_deleted_is_no_other)
{
	CCLocal old = key_with(NULL), new;
	int x;

	CHECK_EQ(cc_local_set(old, &x), 0);
	CHECK_EQ(cc_local_delete(old), 0);
	new = key_with(NULL);
	CHECK(new != old);
	CHECK(cc_local_get(new) == NULL);
	CHECK_EQ(cc_local_set(old, &x), EINVAL);
	CHECK_EQ(cc_local_delete(old), EINVAL);
	CHECK_EQ(cc_local_delete(0), EINVAL);
	CHECK_EQ(cc_local_set(0, &x), EINVAL);
	CHECK(cc_local_get(0) == NULL);
	CHECK_EQ(cc_local_new(NULL, NULL), EINVAL);
	CHECK_EQ(cc_local_delete(new), 0);
}

/* ---- destructors ---- */

static void count_out(void *value)
{
	cc__add((cc__a32 *)value, 1, CC__RELEASE);
}

static int leave_value(void *arg)
{
	CHECK_EQ(cc_local_set(a, arg), 0);
	return 0;
}

TEST(local_destructor_comes_before_who_joins)
{
	CCRuntime *rt = test_runtime();
	struct sleeper s;

	a = key_with(count_out);
	for (int i = 0; i < 200; i++) {
		cc__a32 ended = {0};

		CHECK_EQ(join(spawn(rt, leave_value, &ended)), 0);
		CHECK_EQ(cc__load(&ended, CC__RELAXED), 1);
	}
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		cc__a32 ended = {0};

		sleeper_start(&s, rt, kind, leave_value, &ended);
		sleeper_join(&s);
		CHECK_EQ(cc__load(&ended, CC__RELAXED), 1);
	}
	CHECK_EQ(cc_local_delete(a), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int children_leave_values(void *rt)
{
	const CCNurseryOptions o = in(rt);
	cc__a32 ended = {0};
	int err = -1;

	for (int i = 0; i < 20; i++) {
		cc_nursery_scope_with(n, &err, &o)
			for (int k = 0; k < 10; k++)
				CHECK_EQ(cc_nursery_spawn(n, NULL, leave_value, &ended), 0);
		CHECK_EQ(cc__load(&ended, CC__RELAXED), 10 * (i + 1));
	}
	return err;
}

TEST(local_destructor_comes_before_the_nursery_counts)
{
	a = key_with(count_out);
	for_fiber_and_thread(children_leave_values);
	CHECK_EQ(cc_local_delete(a), 0);
}

/* A destructor is still the task: it may wait, is cancelled with it, and has its values. */
static void wait_and_count(void *value)
{
	struct quiet *q = value;

	CHECK(cc_local_get(a) == NULL && cc_local_get(b) == q);
	CHECK(cc_fiber_id() != 0);
	receive(q);
}

static int leave_and_wait(void *arg)
{
	CHECK_EQ(cc_local_set(b, arg), 0);
	CHECK_EQ(cc_local_set(a, arg), 0);
	return 0;
}

static int destructors_wait(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct quiet q = quiet_new();
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		for (int i = 0; i < 3; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, leave_and_wait, &q), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail_when_three_wait, &q), 0);
	}
	CHECK_EQ(err, EIO);
	CHECK_EQ(cc__load(&q.cancelled, CC__RELAXED), 3);
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(local_destructor_may_wait)
{
	a = key_with(wait_and_count);
	b = key_with(NULL);
	for_fiber_and_thread(destructors_wait);
	CHECK_EQ(cc_local_delete(a), 0);
	CHECK_EQ(cc_local_delete(b), 0);
}

static void set_again(void *value)
{
	count_out(value);
	CHECK_EQ(cc_local_set(a, value), 0);
}

TEST(local_destructors_are_called_a_few_rounds)
{
	CCRuntime *rt = test_runtime();
	cc__a32 ended = {0};

	a = key_with(set_again);
	CHECK_EQ(join(spawn(rt, leave_value, &ended)), 0);
	CHECK_EQ(cc__load(&ended, CC__RELAXED), CC_LOCAL_ROUNDS);
	CHECK_EQ(cc_local_delete(a), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int leave_and_delete(void *arg)
{
	leave_value(arg);
	return cc_local_delete(a);
}

TEST(local_without_key_has_no_destructor)
{
	CCRuntime *rt = test_runtime();
	cc__a32 ended = {0};

	a = key_with(count_out);
	CHECK_EQ(join(spawn(rt, leave_and_delete, &ended)), 0);
	CHECK_EQ(cc__load(&ended, CC__RELAXED), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int leave_value_in_a_call(void *arg)
{
	CHECK_EQ(cc_blocking(leave_value, arg, NULL), 0);
	CHECK(cc_local_get(a) == NULL);
	return 0;
}

/* A call is made by a thread like any other. */
TEST(local_value_of_a_blocking_call_ends_with_its_thread)
{
	CCRuntime *rt = test_runtime();
	cc__a32 ended = {0};

	a = key_with(count_out);
	join(spawn(rt, leave_value_in_a_call, &ended));
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&ended, CC__RELAXED), 1);
	CHECK_EQ(cc_local_delete(a), 0);
}

/* ---- beside the nursery that the task is in ---- */

static int scopes_around(void *rt)
{
	const CCNurseryOptions o = in(rt);
	cc__a32 ended = {0};
	int err = -1, inner = -1;

	cc_nursery_scope_with(n, &err, &o) {
		leave_value(&ended);
		CHECK_EQ(cc_cancel_reason(), 0);
		cc_nursery_scope_with(m, &inner, &o) {
			CHECK_EQ(cc_nursery_join(n), EBUSY);
			CHECK_EQ(cc_nursery_cancel(n, EIO), 0);
			CHECK_EQ(cc_cancel_reason(), EIO);
			CHECK_EQ(cc_sleep_until(CC_FOREVER), ECANCELED);
		}
		CHECK_EQ(inner, 0);
		CHECK(cc_local_get(a) == &ended);
	}
	CHECK_EQ(err, EIO);
	CHECK_EQ(cc__load(&ended, CC__RELAXED), 0);
	CHECK_EQ(cc_local_set(a, NULL), 0);
	return 0;
}

TEST(local_values_and_nurseries_do_not_meet)
{
	a = key_with(count_out);
	for_fiber_and_thread(scopes_around);
	CHECK_EQ(cc_local_delete(a), 0);
}

TEST(local_costs_nothing_to_who_has_none)
{
	CHECK_EQ(sizeof(struct cc__stack), 96);
}
