/* wait_group_test.c - waiting for the first of several: one winner, losers off
 * their lists before the sleeper runs on, and wakes that are bounded. */
#include "test.h"

#include <errno.h>
#include <stdio.h>

#include "sleepers.h"
#include "waitables.h"

enum { CASES = 3 };

static CCRuntime *rt;

#define FOR_EACH_KIND(kind) \
	for (enum kind kind = (rt = test_runtime(), FIBER); \
	     kind < KINDS || (CHECK_EQ(cc_runtime_free(rt), 0), false); kind++)

struct select {
	struct sem sem[CASES];
	struct cc__group g;
	struct cc__case cases[CASES];
	unsigned object[CASES];		/* of case i */
	cc_time deadline;
	cc__a32 cancel;
	bool give_up;
	cc__a32 go;			/* 1: the cases are listed; 2: go on */
	bool hold;			/* wait for go == 2 before sleeping */
	uint32_t winner;
	unsigned left;			/* nodes still listed when it returned */
	uint64_t ticket, word;
};

static struct select *init(struct select *s)
{
	*s = (struct select){.deadline = CC_FOREVER, .object = {0, 1, 2}, .winner = 99};
	return s;
}

static int select_one(void *arg)
{
	struct select *s = arg;
	int err;

	for (unsigned i = 0; i < CASES; i++) {
		s->cases[i] = (struct cc__case){.object = &s->sem[s->object[i]], .ops = &sem_ops};
		cc__init(&s->cases[i].w.reason, CC__REASON_SIGNAL);	/* as used before */
	}
	cc__init(&s->g.winner, 1);
	s->g.cancel = &s->cancel;
	CHECK_EQ(cc__group_begin(&s->g, s->cases, CASES), 0);
	s->ticket = s->cases[0].w.ticket;
	for (unsigned i = 0; i < CASES; i++)
		if (!sem_publish(s->cases[i].object, &s->cases[i].w))
			return cc__group_give_up(&s->g, s->cases, CASES, &s->winner);
	cc__store(&s->go, 1, CC__RELEASE);
	if (s->hold)
		TEST_UNTIL(cc__load(&s->go, CC__ACQUIRE) == 2);
	err = s->give_up ? cc__group_give_up(&s->g, s->cases, CASES, &s->winner)
	                 : cc__group_sleep(&s->g, s->cases, CASES, s->deadline, &s->winner);
	for (unsigned i = 0; i < CASES; i++)
		s->left += s->cases[i].w.next != NULL;
	s->word = word_of(cc__self());
	return err;
}

static void check_clean(struct select *s)
{
	CHECK_EQ(s->left, 0);
	for (unsigned i = 0; i < CASES; i++)
		CHECK(!on_list(&s->sem[i].q));
	CHECK_EQ(cc__word_state(s->word), CC__OWNED);
}

TEST(first_to_be_decided_wins_and_the_losers_are_off)	/* covers: SCH-46/u, SCH-45/u */
{
	FOR_EACH_KIND(kind)
		for (unsigned i = 0; i < CASES; i++) {
			struct select s;
			struct sleeper p;

			sleeper_start(&p, rt, kind, select_one, init(&s));
			until_parked(&p);
			sem_post(&s.sem[i]);
			CHECK_EQ(sleeper_join(&p), 0);
			CHECK_EQ(s.winner, i);
			CHECK_EQ(cc__load(&s.g.winner, CC__ACQUIRE), i + 1);
			CHECK_EQ(s.sem[i].count, 0);
			check_clean(&s);
		}
}

TEST(result_of_the_winner_is_the_result)
{
	FOR_EACH_KIND(kind) {
		struct select s;
		struct sleeper p;

		sleeper_start(&p, rt, kind, select_one, init(&s));
		until_parked(&p);
		sem_close(&s.sem[1]);
		CHECK_EQ(sleeper_join(&p), EPIPE);
		CHECK_EQ(s.winner, 1);
		check_clean(&s);
	}
}

TEST(one_object_twice_is_decided_once)
{
	FOR_EACH_KIND(kind) {
		struct select s;
		struct sleeper p;

		init(&s)->object[1] = 0;
		sleeper_start(&p, rt, kind, select_one, &s);
		until_parked(&p);
		sem_post(&s.sem[0]);
		CHECK_EQ(sleeper_join(&p), 0);
		CHECK_EQ(s.winner, 0);
		CHECK_EQ(s.sem[0].count, 0);
		check_clean(&s);
	}
}

TEST(two_posts_are_not_both_spent_on_one_select)	/* covers: SCH-45/u */
{
	FOR_EACH_KIND(kind) {
		struct select s;
		struct sleeper p;

		init(&s)->hold = true;
		sleeper_start(&p, rt, kind, select_one, &s);
		TEST_UNTIL(cc__load(&s.go, CC__ACQUIRE) == 1);
		sem_post(&s.sem[2]);	/* while it is PARKING: decided now */
		CHECK_EQ(cc__load(&s.g.winner, CC__ACQUIRE), 3);
		CHECK_EQ(state_of(sleeper_who(&p)), CC__NOTIFIED);
		sem_post(&s.sem[0]);	/* so this one is kept */
		CHECK_EQ(s.sem[0].count, 1);
		cc__store(&s.go, 2, CC__RELEASE);
		CHECK_EQ(sleeper_join(&p), 0);
		CHECK_EQ(s.winner, 2);
		CHECK_EQ(s.sem[2].count, 0);
		check_clean(&s);
	}
}

static int wait_alone(void *arg)
{
	return sem_wait(arg, CC_FOREVER);
}

TEST(loser_that_is_still_listed_is_passed_over)
{
	FOR_EACH_KIND(kind) {
		struct select s;
		struct sleeper p, other;

		init(&s)->hold = true;
		sleeper_start(&p, rt, kind, select_one, &s);
		TEST_UNTIL(cc__load(&s.go, CC__ACQUIRE) == 1);
		sleeper_start(&other, rt, THREAD, wait_alone, &s.sem[0]);
		until_parked(&other);
		sem_post(&s.sem[1]);
		/* The select is decided; its node stands in front of the other. */
		CHECK(s.sem[0].q.head == &s.cases[0].w);
		sem_post(&s.sem[0]);
		CHECK_EQ(sleeper_join(&other), 0);
		CHECK_EQ(cc__load(&s.cases[0].w.reason, CC__ACQUIRE), CC__REASON_NONE);
		CHECK_EQ(s.sem[0].count, 0);
		cc__store(&s.go, 2, CC__RELEASE);
		CHECK_EQ(sleeper_join(&p), 0);
		CHECK_EQ(s.winner, 1);
		check_clean(&s);
	}
}

TEST(deadline_of_a_group)
{
	FOR_EACH_KIND(kind) {
		struct select s;
		struct sleeper p;

		init(&s)->deadline = cc_now() + CC_MSEC;
		sleeper_start(&p, rt, kind, select_one, &s);
		CHECK_EQ(sleeper_join(&p), ETIMEDOUT);
		CHECK_EQ(s.winner, CASES);
		CHECK_EQ(cc__load(&s.g.winner, CC__ACQUIRE), CC__GROUP_NONE);
		check_clean(&s);
		sem_post(&s.sem[0]);	/* finds nobody */
		CHECK_EQ(s.sem[0].count, 1);
	}
}

TEST(cancel_of_a_group)
{
	FOR_EACH_KIND(kind) {
		struct select s;
		struct sleeper p;
		struct cc__parker *who;

		sleeper_start(&p, rt, kind, select_one, init(&s));
		who = until_parked(&p);
		cc__store(&s.cancel, 1, CC__SEQ_CST);
		cc__unpark(who);
		CHECK_EQ(sleeper_join(&p), ECANCELED);
		CHECK_EQ(s.winner, CASES);
		check_clean(&s);
	}
}

TEST(give_up_withdraws_all)
{
	FOR_EACH_KIND(kind) {
		struct select s;
		struct sleeper p;

		init(&s)->give_up = true;
		sleeper_start(&p, rt, kind, select_one, &s);
		CHECK_EQ(sleeper_join(&p), EAGAIN);
		CHECK_EQ(s.winner, CASES);
		check_clean(&s);
	}
}

TEST(give_up_that_comes_too_late_returns_the_winner)
{
	FOR_EACH_KIND(kind) {
		struct select s;
		struct sleeper p;

		init(&s)->give_up = true;
		s.hold = true;
		sleeper_start(&p, rt, kind, select_one, &s);
		TEST_UNTIL(cc__load(&s.go, CC__ACQUIRE) == 1);
		sem_post(&s.sem[1]);
		cc__store(&s.go, 2, CC__RELEASE);
		CHECK_EQ(sleeper_join(&p), 0);
		CHECK_EQ(s.winner, 1);
		check_clean(&s);
	}
}

TEST(case_that_can_be_completed_ends_the_publication)
{
	FOR_EACH_KIND(kind) {
		struct select s;
		struct sleeper p;

		init(&s)->sem[1].count = 1;
		sleeper_start(&p, rt, kind, select_one, &s);
		CHECK_EQ(sleeper_join(&p), 0);
		CHECK_EQ(s.winner, 1);
		CHECK_EQ(s.sem[1].count, 0);
		CHECK_EQ(s.left, 0);
		for (unsigned i = 0; i < CASES; i++)
			CHECK(!on_list(&s.sem[i].q));
	}
}

static unsigned publications(const struct select *s)
{
	return counted(&s->sem[0].publications) + counted(&s->sem[1].publications) +
	       counted(&s->sem[2].publications);
}

static int unparked_then_select(void *arg)
{
	struct select *s = arg;
	struct cc__waiter w = {0};
	struct cc__waitq nobody = {0};

	/* An earlier wait, whose wakes are meant to come late. */
	cc__lock(&nobody.lock, CC__RANK_WAITQ);
	CHECK_EQ(cc__wait(&nobody, &w, cc_now() + 1), ETIMEDOUT);
	s->word = w.ticket;
	for (int i = 0; i < 10; i++)
		cc__unpark(cc__self());		/* of one who runs */
	return select_one(arg);
}

/* A stale wake costs nothing; one that was meant for nobody in particular costs
 * one look at each case. */
TEST(stale_wakes_before_and_in_a_select_are_bounded)	/* covers: SCH-36/u, RES-27/u, RES-61/u */
{
	enum { WAKES = 100 };

	FOR_EACH_KIND(kind) {
		struct select s;
		struct sleeper p;
		struct cc__parker *who;
		uint64_t asleep;

		sleeper_start(&p, rt, kind, unparked_then_select, init(&s));
		TEST_UNTIL(cc__load(&s.go, CC__ACQUIRE) == 1);
		who = until_parked(&p);
		CHECK_EQ(publications(&s), CASES);
		asleep = word_of(who);
		for (int i = 0; i < WAKES; i++)
			cc__fiber_wake(who, s.word);
		CHECK_EQ(word_of(who), asleep);
		CHECK_EQ(publications(&s), CASES);
		for (unsigned i = 1; i <= WAKES; i++) {
			cc__unpark(who);
			TEST_UNTIL(publications(&s) == CASES * (i + 1));
			until_state(who, CC__PARKED);
			CHECK_EQ(cc__word_ticket(word_of(who)), cc__word_ticket(asleep));
		}
		sem_post(&s.sem[2]);
		CHECK_EQ(sleeper_join(&p), 0);
		CHECK_EQ(s.winner, 2);
		CHECK_EQ(publications(&s), CASES * (WAKES + 1));
		check_clean(&s);
	}
}

TEST(wakes_for_no_reason_change_no_select)	/* covers: SCH-31/f */
{
	static void (*const tests[])(void) = {
	    test_first_to_be_decided_wins_and_the_losers_are_off,
	    test_result_of_the_winner_is_the_result,
	    test_one_object_twice_is_decided_once,
	    test_deadline_of_a_group,
	    test_cancel_of_a_group,
	    test_give_up_withdraws_all,
	    test_give_up_that_comes_too_late_returns_the_winner,
	    test_case_that_can_be_completed_ends_the_publication,
	};

	ghost_begin();
	for (int round = 0; round < 10; round++)
		for (unsigned i = 0; i < sizeof tests / sizeof *tests; i++)
			tests[i]();
	ghost_end();
	CHECK(cc__load(&ghost.wakes, CC__RELAXED) > 0);
}
