/* cancel_test.c - wait/cancel.h without nurseries: who is inside of whom, what is asked for
 * twice, and more members than are woken at a time. */
#include "test.h"

#include <errno.h>

#include "wait/cancel.h"

enum { HOW = CC__CANCEL | EIO << CC__CANCEL_REASON_SHIFT, LATER = CC__CANCEL | CC__CANCEL_LATE };

static struct cc__root root;
static struct cc__scope outer, inner, other;

/* root ( outer ( inner ) other ), and nothing cancelled. */
static void plant(void)
{
	outer = inner = other = (struct cc__scope){0};
	cc__root_init(&root);
	cc__scope_open(&outer, &root.scope);
	cc__scope_open(&inner, &outer);
	cc__scope_open(&other, &root.scope);
}

TEST(scope_is_within_itself_and_what_is_around_it)
{
	plant();
	CHECK(cc__scope_within(&inner, &inner));
	CHECK(cc__scope_within(&inner, &outer));
	CHECK(cc__scope_within(&inner, &root.scope));
	CHECK(cc__scope_within(&outer, &root.scope));
	CHECK(!cc__scope_within(&inner, &other));
	CHECK(!cc__scope_within(&outer, &inner));
	CHECK(!cc__scope_within(&root.scope, &outer));
}

/* ---- what a look costs ---- */

static bool up_to_date(const struct cc__scope *s)
{
	return cc__load(&s->looked, CC__RELAXED) == cc__load(&cc__cancels, CC__RELAXED);
}

TEST(who_has_looked_need_not_look_again)
{
	plant();
	cc__scope_cancel(&other, HOW, false);
	CHECK(!up_to_date(&outer) && !up_to_date(&inner));
	CHECK(!cc__scope_cancelled(&inner));
	CHECK(up_to_date(&outer) && up_to_date(&inner));
	cc__scope_cancel(&outer, HOW, false);
	CHECK(cc__scope_cancelled(&inner));
}

TEST(new_scope_knows_what_the_one_around_it_knows)
{
	struct cc__scope s = {0};

	plant();
	cc__scope_cancel(&other, HOW, false);
	CHECK(!cc__scope_cancelled(&outer));
	cc__scope_open(&s, &outer);
	CHECK(up_to_date(&s));
}

/* ---- the walk ---- */

TEST(what_came_first_stays_below_it_too)
{
	struct cc__parker who = {0};
	struct cc__member m, *slot = NULL;

	plant();
	cc__member_enter(&m, &inner, &who, &slot);
	cc__member_flag(&m);
	cc__scope_cancel(&outer, HOW, true);
	cc__scope_cancel(&outer, LATER, false);
	CHECK_EQ(cc__load(&outer.flag, CC__RELAXED), HOW);
	CHECK_EQ(cc__load(&inner.flag, CC__RELAXED), HOW);
	cc__member_leave(&m, &slot);
}

enum { CROWD = 67 };

/* A thread that sleeps, as far as its word says. */
static void put_to_sleep(struct cc__parker *who)
{
	cc__init(&who->word, CC__THREAD_BIT | CC__PARKED);
}

static unsigned asleep(const struct cc__parker *who, unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += cc__word_state(cc__load(&who[i].word, CC__RELAXED)) == CC__PARKED;
	return sum;
}

/* `n` sleep in `inner`, and one in `other`. */
static void cancel_crowd(unsigned n)
{
	struct cc__parker who[CROWD + 1];
	struct cc__member m[CROWD + 1], *slot[CROWD + 1] = {NULL};

	plant();
	for (unsigned i = 0; i <= n; i++) {
		cc__member_enter(&m[i], i < n ? &inner : &other, &who[i], &slot[i]);
		cc__member_flag(&m[i]);
		put_to_sleep(&who[i]);
	}
	cc__scope_cancel(&outer, HOW, false);
	CHECK_EQ(asleep(who, n), 0);
	CHECK_EQ(asleep(&who[n], 1), 1);
	for (unsigned i = 0; i <= n; i++)
		cc__member_leave(&m[i], &slot[i]);
	CHECK(inner.members == NULL && other.members == NULL);
}

TEST(crowd_of_any_size_is_woken)
{
	for (unsigned n = 0; n <= CROWD; n++)
		cancel_crowd(n);
}
