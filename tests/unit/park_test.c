/* park_test.c - the direct door to park words, for fibers and for threads. */
#include <errno.h>
#include <sys/mman.h>

#include "sleepers.h"

#include "park/engine.h"

static const enum kind kinds[] = {FIBER, THREAD};

struct wait {
	const uint32_t *word;
	uint32_t expected;
	cc_time deadline;
	CCParkStatus status;
	cc__a32 *order;		/* counts those who went on */
	uint32_t place;		/* and which this one was */
	struct sleeper s;
};

static int wait_main(void *arg)
{
	struct wait *w = arg;
	int err = cc_park_wait(cc_park_space(), w->word, w->expected, w->deadline, &w->status);

	if (w->order != NULL)
		w->place = cc__add(w->order, 1, CC__RELAXED);
	return err;
}

static void start(struct wait *w, CCRuntime *rt, enum kind kind, const uint32_t *word)
{
	w->word = word;
	w->deadline = CC_FOREVER;
	w->status = (CCParkStatus)77;
	sleeper_start(&w->s, rt, kind, wait_main, w);
}

static bool nobody_sleeps_on(const uint32_t *word)
{
	const struct cc__park_key key = cc__park_trusted_key(word);
	struct cc__bucket *b = cc__park_hold(&cc__park_trusted, &key);
	const bool nobody = cc__park_first(b, &key) == NULL;

	cc__park_drop(b);
	return nobody;
}

static uint32_t wake(const uint32_t *word, uint32_t max)
{
	uint32_t woken = 99;

	CHECK_EQ(cc_park_wake(cc_park_space(), word, max, &woken), 0);
	return woken;
}

TEST(park_bad_input_is_refused)
{
	union {
		uint32_t word[2];
		char byte[8];
	} u = {{0, 0}};
	CCParkSpace *space = cc_park_space();
	CCParkStatus status = (CCParkStatus)77;
	uint32_t woken = 77;

	for (int i = 1; i <= 3; i++) {
		const uint32_t *odd = (const uint32_t *)(uintptr_t)(u.byte + i);

		CHECK_EQ(cc_park_wait(space, odd, 0, CC_NOW, &status), EINVAL);
		CHECK_EQ(cc_park_wake(space, odd, 1, &woken), EINVAL);
	}
	CHECK_EQ(cc_park_wait(NULL, u.word, 0, CC_NOW, &status), EINVAL);
	CHECK_EQ(cc_park_wait(space, NULL, 0, CC_NOW, &status), EINVAL);
	CHECK_EQ(cc_park_wake(NULL, u.word, 1, &woken), EINVAL);
	CHECK_EQ(cc_park_wake(space, NULL, 1, &woken), EINVAL);
	CHECK_EQ(cc_park_wake(space, u.word, 0, &woken), EINVAL);
	CHECK_EQ(status, 77);
	CHECK_EQ(woken, 77);
}

TEST(park_statuses_have_their_values)
{
	CHECK_EQ(CC_PARK_WOKEN, 0);
	CHECK_EQ(CC_PARK_VALUE_MISMATCH, 1);
	CHECK_EQ(CC_PARK_TIMED_OUT, 2);
	CHECK_EQ(CC_PARK_INTERRUPTED, 3);
}

/* What need not sleep, in the order of the contract: value, then time. */
TEST(park_a_wait_that_need_not_sleep)
{
	const uint32_t word = 5;
	CCParkStatus status;

	CHECK_EQ(cc_park_wait(cc_park_space(), &word, 4, CC_FOREVER, &status), 0);
	CHECK_EQ(status, CC_PARK_VALUE_MISMATCH);
	CHECK_EQ(cc_park_wait(cc_park_space(), &word, 4, CC_NOW, &status), 0);
	CHECK_EQ(status, CC_PARK_VALUE_MISMATCH);
	CHECK_EQ(cc_park_wait(cc_park_space(), &word, 5, CC_NOW, &status), 0);
	CHECK_EQ(status, CC_PARK_TIMED_OUT);
	CHECK_EQ(cc_park_wait(cc_park_space(), &word, 5, cc_after(CC_MSEC), &status), 0);
	CHECK_EQ(status, CC_PARK_TIMED_OUT);
	CHECK_EQ(cc_park_wait(cc_park_space(), &word, 4, CC_FOREVER, NULL), 0);
	CHECK(nobody_sleeps_on(&word));
}

TEST(park_wake_of_nobody_is_zero)
{
	uint32_t word = 0;
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK_EQ(wake(&word, 1), 0);
	CHECK_EQ(wake(&word, UINT32_MAX), 0);
	CHECK_EQ(cc_park_wake(cc_park_space(), &word, 1, NULL), 0);
	CHECK_EQ(munmap(page, 4096), 0);
	CHECK_EQ(wake(page, 1), 0);	/* nothing is read there */
}

TEST(park_word_may_be_read_only)	/* covers: PRK-55/u */
{
	uint32_t *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CCRuntime *rt = test_runtime_of(2);

	for (int k = 0; k < 2; k++) {
		struct wait w = {0};

		start(&w, rt, kinds[k], page);
		until_parked(&w.s);
		CHECK_EQ(wake(page, 1), 1);
		CHECK_EQ(sleeper_join(&w.s), 0);
		CHECK_EQ(w.status, CC_PARK_WOKEN);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(munmap(page, 4096), 0);
}

enum { MANY = 40 };

/* On one worker those who are woken go on in the order in which they were. */
TEST(park_wakes_in_the_order_of_coming)
{
	CCRuntime *rt = test_runtime_of(1);
	uint32_t word = 0;
	cc__a32 order = {0};
	struct wait w[MANY];

	memset(w, 0, sizeof w);
	for (int i = 0; i < MANY; i++) {
		w[i].order = &order;
		start(&w[i], rt, FIBER, &word);
		until_parked(&w[i].s);
	}
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(wake(&word, 1), 1);
		sleeper_join(&w[i].s);
		CHECK_EQ(w[i].place, i);
	}
	CHECK_EQ(wake(&word, 20), 20);
	for (int i = 3; i < 23; i++) {
		sleeper_join(&w[i].s);
		CHECK_EQ(w[i].place, i);
	}
	CHECK_EQ(wake(&word, UINT32_MAX), MANY - 23);
	for (int i = 23; i < MANY; i++)
		sleeper_join(&w[i].s);
	CHECK_EQ(wake(&word, 1), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* More keys than buckets: some share one, and none is taken for another. */
TEST(park_words_are_not_taken_for_each_other)
{
	enum { WORDS = 60 };
	static struct cc__bucket one[2];
	const struct cc__park_table t = {one, 1};
	struct cc__park_key key[WORDS];

	for (uint64_t i = 0; i < WORDS; i++)
		key[i] = (struct cc__park_key){i % 2, i / 2 % 3, i * 4};
	for (int i = 0; i < WORDS; i++) {
		struct cc__bucket *b = cc__park_hold(&t, &key[i]);

		CHECK(b == &one[0] || b == &one[1]);
		CHECK(cc__park_first(b, &key[i]) == NULL);
		cc__park_drop(b);
		CHECK_EQ(cc__park_wake(&t, &key[i], 1, 0), 0);
	}
}

struct shared_bucket {
	const struct cc__park_table *table;
	struct cc__sleeper sleeper;
	struct sleeper s;
};

static int sleep_in_table(void *arg)
{
	struct shared_bucket *x = arg;

	return cc__park_sleep(cc__park_hold(x->table, &x->sleeper.key), &x->sleeper, CC_FOREVER);
}

/* All in one bucket of two: each wake finds its own, in whatever order it comes. */
TEST(park_one_bucket_holds_many_words)
{
	static struct cc__bucket some[2];
	static const struct cc__park_table t = {some, 1};
	enum { WORDS = 12, EACH = 3 };
	struct shared_bucket x[WORDS][EACH];
	CCRuntime *rt = test_runtime_of(2);

	memset(x, 0, sizeof x);
	for (int e = 0; e < EACH; e++)
		for (int i = 0; i < WORDS; i++) {
			x[i][e].table = &t;
			x[i][e].sleeper.key = (struct cc__park_key){1, 1, (uint64_t)i * 4};
			sleeper_start(&x[i][e].s, rt, kinds[i % 2], sleep_in_table, &x[i][e]);
			until_parked(&x[i][e].s);
		}
	for (int n = 0; n < WORDS; n++) {
		const int i = n * 5 % WORDS;
		const struct cc__park_key key = x[i][0].sleeper.key;

		CHECK_EQ(cc__park_wake(&t, &key, 1, 0), 1);
		CHECK_EQ(sleeper_join(&x[i][0].s), 0);
		CHECK_EQ(state_of(sleeper_who(&x[i][1].s)), CC__PARKED);
		CHECK_EQ(cc__park_wake(&t, &key, 9, 0), EACH - 1);
		for (int e = 1; e < EACH; e++)
			CHECK_EQ(sleeper_join(&x[i][e].s), 0);
		CHECK_EQ(cc__park_wake(&t, &key, 9, 0), 0);
	}
	CHECK(some[0].first == NULL && some[1].first == NULL);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- what else ends a wait ---- */

struct cut {
	uint32_t word;
	CCParkStatus status;
	cc_time deadline;	/* of the nursery, from now */
	int err, reason;
};

static int park_in_nursery(void *arg)
{
	struct cut *c = arg;

	c->err = cc_park_wait(cc_park_space(), &c->word, 0, CC_FOREVER, &c->status);
	c->reason = cc_cancel_reason();
	return 0;
}

static int cancel_a_parked_child(void *arg)
{
	struct cut *c = arg;
	const CCNurseryOptions options = {.deadline = c->deadline != 0 ? cc_after(c->deadline) : 0};
	int err = 0;

	cc_nursery_scope_with(n, &err, &options)
	{
		CHECK_EQ(cc_nursery_spawn(n, NULL, park_in_nursery, c), 0);
		if (c->deadline == 0) {
			TEST_UNTIL(!nobody_sleeps_on(&c->word));
			CHECK_EQ(cc_nursery_cancel(n, EIO), 0);
		}
	}
	return err;
}

TEST(park_cancellation_interrupts)
{
	struct cut canceled = {.status = CC_PARK_WOKEN}, late = {.deadline = CC_MSEC};

	cancel_a_parked_child(&canceled);
	CHECK_EQ(canceled.err, ECANCELED);
	CHECK_EQ(canceled.status, CC_PARK_INTERRUPTED);
	CHECK_EQ(canceled.reason, EIO);
	CHECK_EQ(cancel_a_parked_child(&late), 0);
	CHECK_EQ(late.err, ETIMEDOUT);
	CHECK_EQ(late.status, CC_PARK_INTERRUPTED);
	CHECK(nobody_sleeps_on(&late.word));
}

/* WOKEN is never for no reason, however often somebody is unparked. */
TEST(park_woken_means_woken)	/* covers: PRK-100/f, RES-28/f */
{
	CCRuntime *rt = test_runtime_of(2);
	uint32_t word = 0;

	ghost_begin();
	for (int i = 0; i < 200; i++) {
		struct wait w = {0};

		start(&w, rt, kinds[i % 2], &word);
		TEST_UNTIL(!nobody_sleeps_on(&word));
		for (int k = 0; k < 20; k++)
			CHECK(!nobody_sleeps_on(&word));
		CHECK_EQ(wake(&word, 2), 1);
		CHECK_EQ(sleeper_join(&w.s), 0);
		CHECK_EQ(w.status, CC_PARK_WOKEN);
	}
	ghost_end();
	CHECK_EQ(cc_runtime_free(rt), 0);
}
