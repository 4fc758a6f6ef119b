/* combine_test.c - one job, all, the first success, the first end: by a fiber and by a thread. */
#include "nurseries.h"

/* ---- jobs ---- */

/* A job that waits until it is cancelled, or for ever. */
static CCJob waits_for(struct quiet *q)
{
	return (CCJob){.main = receive, .arg = q};
}

static CCJob returns(int result)
{
	return (CCJob){.main = fail, .arg = (void *)(intptr_t)result};
}

static CCJob fails_when_three_wait(struct quiet *q)
{
	return (CCJob){.main = fail_when_three_wait, .arg = q};
}

static int succeed_when_three_wait(void *arg)
{
	fail_when_three_wait(arg);
	return 0;
}

static void check_end(struct quiet *q, unsigned cut)
{
	CHECK_EQ(cc__load(&q->ended, CC__RELAXED), cc__load(&q->waiting, CC__RELAXED));
	CHECK_EQ(cc__load(&q->cancelled, CC__RELAXED), cut);
	CHECK_EQ(cc_chan_free(q->chan), 0);
}

/* ---- one ---- */

static int own_id(void *arg)
{
	*(uint64_t *)arg = cc_fiber_id();
	return 17;
}

static int one(void *rt)
{
	const CCNurseryOptions o = in(rt);
	uint64_t id = 0;

	CHECK_EQ(cc_block_on(own_id, &id, &o), 17);
	CHECK(id != 0 && id != cc_fiber_id());
	CHECK_EQ(cc_block_on(nothing, NULL, &o), 0);
	CHECK_EQ(cc_block_on(NULL, NULL, &o), EINVAL);
	return 0;
}

TEST(block_on_returns_what_the_fiber_does)
{
	for_fiber_and_thread(one);
}

static int one_late(void *rt)
{
	const CCNurseryOptions soon = {.runtime = rt, .deadline = cc_now() + CC_MSEC};
	const CCNurseryOptions passed = {.runtime = rt, .deadline = 1};
	struct quiet q = quiet_new();
	CCJob job = waits_for(&q);

	CHECK_EQ(cc_block_on(receive, &q, &soon), ETIMEDOUT);
	CHECK_EQ(cc_block_on(receive, &q, &passed), ETIMEDOUT);
	/* Too late to begin at all: what it was given stays the caller's. */
	job.ran = 17;
	CHECK_EQ(cc_block_all(&job, 1, &passed), ETIMEDOUT);
	CHECK_EQ(job.ran, 0);
	CHECK_EQ(job.result, ECANCELED);
	check_end(&q, 0);
	return 0;
}

TEST(block_on_ends_at_its_deadline)
{
	for_fiber_and_thread(one_late);
}

/* ---- all ---- */

static int all(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct quiet q = quiet_new();
	cc__a32 ran = {0};
	CCJob good[100];
	CCJob bad[] = {waits_for(&q), waits_for(&q), fails_when_three_wait(&q), waits_for(&q)};

	for (int i = 0; i < 100; i++)
		good[i] = (CCJob){.main = yield_and_count, .arg = &ran, .result = -1};
	CHECK_EQ(cc_block_all(good, 100, &o), 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 100);
	for (int i = 0; i < 100; i++)
		CHECK(good[i].ran == 1 && good[i].result == 0);
	CHECK_EQ(cc_block_all(bad, 4, &o), EIO);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(bad[i].result, i == 2 ? EIO : ECANCELED);
	check_end(&q, 3);
	CHECK_EQ(cc_block_all(NULL, 0, &o), 0);
	return 0;
}

TEST(block_all_waits_for_all_and_the_first_error_ends_them)
{
	for_fiber_and_thread(all);
}

static int misused(void *rt)
{
	const CCNurseryOptions o = in(rt);
	const CCNurseryOptions policy = {.runtime = rt, .policy = CC_NURSERY_SUPERVISE};
	cc__a32 ran = {0};
	CCJob job[] = {{.main = count, .arg = &ran}, {.main = NULL}};
	size_t winner = 17;

	CHECK_EQ(cc_block_all(job, 2, &o), EINVAL);
	CHECK_EQ(cc_block_all(NULL, 1, &o), EINVAL);
	CHECK_EQ(cc_block_all(job, 1, &policy), EINVAL);
	CHECK_EQ(cc_block_any(job, 2, &o, &winner), EINVAL);
	CHECK_EQ(winner, 2);
	CHECK_EQ(cc_block_any(job, 0, &o, NULL), EINVAL);
	CHECK_EQ(cc_block_race(job, 2, &o, &winner), EINVAL);
	CHECK_EQ(winner, 2);
	CHECK_EQ(cc_block_race(job, 0, &o, NULL), EINVAL);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 0);
	return 0;
}

TEST(block_refuses_before_anything_runs)
{
	for_fiber_and_thread(misused);
}

/* ---- the first success ---- */

static int any(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct quiet q = quiet_new();
	CCJob some[] = {waits_for(&q), returns(EIO), waits_for(&q),
	                {.main = succeed_when_three_wait, .arg = &q}, waits_for(&q)};
	CCJob none[] = {returns(EIO), returns(ENOENT), returns(EACCES)};
	size_t winner = 17;
	int err;

	CHECK_EQ(cc_block_any(some, 5, &o, &winner), 0);
	CHECK_EQ(winner, 3);
	CHECK_EQ(some[1].result, EIO);
	check_end(&q, 3);
	err = cc_block_any(none, 3, &o, &winner);
	CHECK(err == EIO || err == ENOENT || err == EACCES);
	CHECK_EQ(winner, 3);
	CHECK_EQ(none[0].result, EIO);
	CHECK_EQ(none[1].result, ENOENT);
	CHECK_EQ(none[2].result, EACCES);
	return 0;
}

TEST(block_any_takes_the_first_success_and_ends_the_losers)
{
	for_fiber_and_thread(any);
}

/* ---- the first end ---- */

static int race(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct quiet q = quiet_new(), p = quiet_new();
	CCJob bad[] = {waits_for(&q), waits_for(&q), waits_for(&q), fails_when_three_wait(&q)};
	CCJob good[] = {waits_for(&p), {.main = succeed_when_three_wait, .arg = &p}, waits_for(&p),
	                waits_for(&p)};
	size_t winner = 17;

	CHECK_EQ(cc_block_race(bad, 4, &o, &winner), EIO);
	CHECK_EQ(winner, 3);
	CHECK_EQ(bad[0].result, ECANCELED);
	check_end(&q, 3);
	CHECK_EQ(cc_block_race(good, 4, &o, &winner), 0);
	CHECK_EQ(winner, 1);
	check_end(&p, 3);
	return 0;
}

TEST(block_race_takes_the_first_end_and_ends_the_losers)
{
	for_fiber_and_thread(race);
}

/* ---- from outside ---- */

struct outside {
	CCRuntime *rt;
	struct quiet q;
	int answer[4];
	size_t winner[2];
};

/* As if it were three jobs of one scope: each call ends, and nobody is left behind. */
static int call_all_of_them(void *arg)
{
	struct outside *o = arg;
	CCJob job[] = {waits_for(&o->q), waits_for(&o->q), waits_for(&o->q)};

	o->answer[0] = cc_block_all(job, 3, NULL);
	for (int i = 0; i < 3; i++)
		CHECK(job[i].ran == 1 && job[i].result == ECANCELED);
	o->answer[1] = cc_block_any(job, 3, NULL, &o->winner[0]);
	for (int i = 0; i < 3; i++)
		CHECK(job[i].ran == 0 && job[i].result == ECANCELED);
	o->answer[2] = cc_block_race(job, 3, NULL, &o->winner[1]);
	o->answer[3] = cc_block_on(nothing, NULL, NULL);
	return 0;
}

static int cancelled(void *rt)
{
	const CCNurseryOptions in_rt = in(rt);
	struct outside o = {.rt = rt, .q = quiet_new()};
	int err = -1;

	cc_nursery_scope_with(n, &err, &in_rt) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, call_all_of_them, &o), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail_when_three_wait, &o.q), 0);
	}
	CHECK_EQ(err, EIO);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(o.answer[i], ECANCELED);
	CHECK_EQ(o.winner[0], 3);
	CHECK_EQ(o.winner[1], 0);
	check_end(&o.q, 3);
	return 0;
}

TEST(cancel_from_outside_ends_what_a_call_has_begun)
{
	for_fiber_and_thread(cancelled);
}

/* A shield lets a call of clean-up through. */
static int clean_up(void *arg)
{
	const CCNurseryOptions shield = {.shield = 1};
	struct quiet *q = arg;

	receive(q);
	CHECK_EQ(cc_block_on(nothing, NULL, NULL), ECANCELED);
	CHECK_EQ(cc_block_on(nothing, NULL, &shield), 0);
	return 0;
}

static int shielded(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct quiet q = quiet_new();
	CCJob job[] = {{.main = clean_up, .arg = &q}, {.main = clean_up, .arg = &q},
	               {.main = clean_up, .arg = &q}, fails_when_three_wait(&q)};

	CHECK_EQ(cc_block_all(job, 4, &o), EIO);
	check_end(&q, 3);
	return 0;
}

TEST(a_call_behind_a_shield_is_seen_through)
{
	for_fiber_and_thread(shielded);
}

/* ---- together ---- */

static int end_at_once(void *arg)
{
	return (int)((uintptr_t)arg & 1) != 0 ? EIO : 0;
}

static int many_races(void *rt)
{
	const CCNurseryOptions o = in(rt);

	for (unsigned i = 0; i < 300 && test_has_time(); i++) {
		CCJob job[8];
		size_t winner = 17;
		int err;

		for (uintptr_t k = 0; k < 8; k++)
			job[k] = (CCJob){.main = end_at_once, .arg = (void *)(k + i)};
		err = cc_block_race(job, 8, &o, &winner);
		CHECK(winner < 8 && job[winner].ran == 1 && job[winner].result == err);
		CHECK_EQ(cc_block_any(job, 8, &o, &winner), 0);
		CHECK(winner < 8 && job[winner].result == 0 && job[winner].ran == 1);
		CHECK_EQ(cc_block_all(job, 8, &o), EIO);
	}
	return 0;
}

TEST(one_wins_however_many_end_together)
{
	for_fiber_and_thread(many_races);
}
