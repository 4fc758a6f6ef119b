/* word_test.c - the word and its transitions one by one, on bare parkers; and
 * the wrap of the ticket in a real fiber and thread. */
#include "test.h"

#include <string.h>

#include "sleepers.h"

/* ---- what it is made of ---- */

/* covers: SCH-07/a, LIF-62/a, LIF-63/a, RES-47/a, SCH-54/a */
_Static_assert(sizeof(((struct cc__parker *)0)->word) == 8, "the word has 64 bits");
_Static_assert(CC__IDLE != CC__ASSIGNED && CC__QUEUED != CC__OWNED && CC__PARKING != CC__PARKED &&
                   CC__NOTIFIED != CC__PARKING && CC__DONE != CC__IDLE && CC__DONE <= 7,
               "the states fit into three bits and differ");
_Static_assert((CC__TICKET_MASK >> 20) == ((uint64_t)1 << 44) - 1, "44 bits of ticket");
_Static_assert((CC__TICKET_MASK & CC__OWNER_MASK) == 0, "fields do not overlap");
_Static_assert(((CC__TICKET_MASK | CC__OWNER_MASK) & (CC__THREAD_BIT | 7)) == 0, "nor these");
_Static_assert(sizeof(((struct cc__waiter *)0)->ticket) == 8 &&
                   sizeof(((struct cc__waiter *)0)->who) == sizeof(void *),
               "a waiter names (who, ticket)");
_Static_assert(CC__REASON_NONE == 0 && CC__REASON_DATA == 1 && CC__REASON_CANCEL == 2 &&
                   CC__REASON_CLOSE == 3 && CC__REASON_SIGNAL == 4,
               "reasons");

/* covers: LIF-14/a
 * A constant of enum cc__state without a case here does not compile, by -Werror=switch; neither
 * does a case without its constant. */
#pragma GCC diagnostic error "-Wswitch"
static bool is_specified(enum cc__state state)
{
	switch (state) {
	case CC__IDLE:		/* init */
	case CC__ASSIGNED:	/* init */
	case CC__QUEUED:	/* runnable */
	case CC__OWNED:		/* running */
	case CC__PARKING:	/* parking */
	case CC__NOTIFIED:	/* waking */
	case CC__PARKED:	/* parked */
	case CC__DONE:		/* done, cancelled or not (RES-74) */
		return true;
	}
	return false;
}

static uint64_t word(uint64_t ticket, unsigned owner, bool thread, enum cc__state state)
{
	return ticket << 20 | (uint64_t)owner << 4 | (thread ? 8u : 0u) | (uint64_t)state;
}

static struct cc__parker parker(uint64_t w)
{
	struct cc__parker p;

	cc__init(&p.word, w);
	return p;
}

TEST(codes_are_those_of_the_requirements)	/* covers: SCH-07/u, RES-03/u */
{
	static const struct {
		enum cc__state state;
		int code;
	} table[] = {
	    {CC__IDLE, 0},     {CC__ASSIGNED, -1}, {CC__PARKED, -2},  {CC__PARKING, -3},
	    {CC__DONE, -4},    {CC__QUEUED, -5},   {CC__NOTIFIED, -6},
	};
	static const unsigned owners[] = {1, 2, 17, 0xffff};

	for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
		CHECK(is_specified(table[i].state));
		CHECK_EQ(cc__word_code(word(99, 3, false, table[i].state)), table[i].code);
	}
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(cc__word_code(word(7, owners[i], false, CC__OWNED)), owners[i]);
}

TEST(fields_are_read_back)
{
	const uint64_t w = word(0x123456789ab, 0xbeef, true, CC__PARKING);

	CHECK_EQ(cc__word_state(w), CC__PARKING);
	CHECK_EQ(cc__word_owner(w), 0xbeef);
	CHECK_EQ(cc__word_ticket(w) >> 20, 0x123456789ab);
	CHECK(cc__word_is_thread(w));
	CHECK(!cc__word_is_thread(word(1, 1, false, CC__PARKING)));
	CHECK_EQ(cc__word_with(w, CC__DONE), word(0x123456789ab, 0xbeef, true, CC__DONE));
}

/* ---- the matrix ---- */

/* What may follow what, written down a second time: a letter for each state,
 * I A Q O P N S(leeps) D. */
static const char letter[] = {
    [CC__IDLE] = 'I',    [CC__ASSIGNED] = 'A', [CC__QUEUED] = 'Q', [CC__OWNED] = 'O',
    [CC__PARKING] = 'P', [CC__NOTIFIED] = 'N', [CC__PARKED] = 'S', [CC__DONE] = 'D',
};
static const char *const allowed[] = {
    "IA", "AQ", "AD", "QO", "OQ", "OP", "OD", "PO", "PS", "PN", "NO", "NQ", "SQ", "DI",
};

static bool in_matrix(enum cc__state from, enum cc__state to)
{
	for (unsigned i = 0; i < sizeof allowed / sizeof *allowed; i++)
		if (allowed[i][0] == letter[from] && allowed[i][1] == letter[to])
			return true;
	return false;
}

TEST(matrix_allows_what_it_lists_and_nothing_else)	/* covers: LIF-67/u, RES-02/u, RES-06/u */
{
	unsigned legal = 0;

	for (int from = 0; from < 8; from++)
		for (int to = 0; to < 8; to++) {
			const uint64_t a = word(5, 1, false, (enum cc__state)from);
			const uint64_t b = word(5, 1, false, (enum cc__state)to);

			CHECK_EQ(cc__word_legal(a, b), in_matrix((enum cc__state)from,
			                                         (enum cc__state)to));
			legal += cc__word_legal(a, b);
		}
	CHECK_EQ(legal, sizeof allowed / sizeof *allowed);
	/* What only threads do: they take themselves back at their deadline. */
	CHECK(cc__word_legal(word(5, 1, true, CC__PARKED), word(5, 1, true, CC__OWNED)));
}

TEST(matrix_lets_a_ticket_change_only_when_a_wait_begins)	/* covers: LIF-67/u, RES-61/u */
{
	const uint64_t last = ((uint64_t)1 << 44) - 1;

	for (int from = 0; from < 8; from++)
		for (int to = 0; to < 8; to++) {
			const bool begins = from == CC__OWNED && to == CC__PARKING;
			const uint64_t a = word(5, 1, false, (enum cc__state)from);

			CHECK_EQ(cc__word_legal(a, word(6, 1, false, (enum cc__state)to)), begins);
			CHECK(!cc__word_legal(a, word(4, 1, false, (enum cc__state)to)));
			CHECK(!cc__word_legal(a, word(7, 1, false, (enum cc__state)to)));
			CHECK(!cc__word_legal(a, word(5, 1, true, (enum cc__state)to)));
		}
	CHECK(cc__word_legal(word(last, 1, false, CC__OWNED), word(0, 1, false, CC__PARKING)));
	CHECK(!cc__word_legal(word(last, 1, false, CC__OWNED), word(1, 1, false, CC__PARKING)));
}

/* ---- one function a row ---- */

TEST(spawn_run_and_end_walk_through_their_states)
{
	struct cc__parker p = parker(word(3, 2, false, CC__IDLE));

	cc__word_assign(&p);
	CHECK_EQ(word_of(&p), word(3, 2, false, CC__ASSIGNED));
	cc__word_publish(&p);
	CHECK_EQ(word_of(&p), word(3, 2, false, CC__QUEUED));
	cc__word_claim(&p, 9);
	CHECK_EQ(word_of(&p), word(3, 9, false, CC__OWNED));
	cc__word_yield(&p);
	CHECK_EQ(word_of(&p), word(3, 9, false, CC__QUEUED));
	cc__word_claim(&p, 9);
	cc__word_done(&p);
	CHECK_EQ(word_of(&p), word(3, 9, false, CC__DONE));
	cc__word_recycle(&p);
	CHECK_EQ(word_of(&p), word(3, 0, false, CC__IDLE));
}

TEST(park_takes_a_new_ticket_and_repark_keeps_it)	/* covers: LIF-62/u, RES-61/u */
{
	struct cc__parker p = parker(word(41, 1, false, CC__OWNED));

	CHECK_EQ(cc__word_park(&p) >> 20, 42);
	CHECK_EQ(word_of(&p), word(42, 1, false, CC__PARKING));
	cc__word_abort(&p);
	CHECK_EQ(word_of(&p), word(42, 1, false, CC__OWNED));
	CHECK_EQ(cc__word_repark(&p) >> 20, 42);
	CHECK_EQ(word_of(&p), word(42, 1, false, CC__PARKING));
	cc__word_abort(&p);
	CHECK_EQ(cc__word_park(&p) >> 20, 43);
}

TEST(commit_succeeds_once_and_the_one_waker_enqueues)	/* covers: RES-06/u */
{
	struct cc__parker p = parker(word(0, 1, false, CC__OWNED));
	const uint64_t ticket = cc__word_park(&p);

	CHECK(cc__word_commit(&p));
	CHECK_EQ(word_of(&p), word(1, 1, false, CC__PARKED));
	CHECK(cc__word_wake(&p, ticket));
	CHECK_EQ(word_of(&p), word(1, 1, false, CC__QUEUED));
	CHECK(!cc__word_wake(&p, ticket));
	CHECK_EQ(word_of(&p), word(1, 1, false, CC__QUEUED));
}

TEST(wake_that_comes_first_makes_the_commit_fail)	/* covers: RES-01/u, RES-18/u, RES-63/u */
{
	struct cc__parker p = parker(word(0, 1, false, CC__OWNED));
	uint64_t ticket = cc__word_park(&p);

	CHECK(!cc__word_wake(&p, ticket));	/* nobody enqueues a PARKING fiber */
	CHECK_EQ(word_of(&p), word(1, 1, false, CC__NOTIFIED));
	CHECK(!cc__word_wake(&p, ticket));
	CHECK(!cc__word_commit(&p));
	CHECK_EQ(word_of(&p), word(1, 1, false, CC__NOTIFIED));
	cc__word_requeue(&p);
	CHECK_EQ(word_of(&p), word(1, 1, false, CC__QUEUED));

	cc__word_claim(&p, 1);
	ticket = cc__word_park(&p);
	CHECK(!cc__word_wake(&p, ticket));
	CHECK(!cc__word_commit(&p));
	cc__word_resume(&p);
	CHECK_EQ(word_of(&p), word(2, 1, false, CC__OWNED));
}

TEST(abort_swallows_a_wake_that_came_first)
{
	struct cc__parker p = parker(word(0, 1, false, CC__OWNED));
	const uint64_t ticket = cc__word_park(&p);

	CHECK(!cc__word_wake(&p, ticket));
	cc__word_abort(&p);
	CHECK_EQ(word_of(&p), word(1, 1, false, CC__OWNED));
	CHECK(!cc__word_wake(&p, ticket));
	CHECK_EQ(word_of(&p), word(1, 1, false, CC__OWNED));
}

TEST(a_thread_takes_itself_back_unless_it_is_claimed)
{
	struct cc__parker p = parker(word(0, 0, true, CC__OWNED));
	uint64_t ticket = cc__word_park(&p);

	CHECK(cc__word_commit(&p));
	CHECK(!cc__word_unpark(&p, ticket + CC__TICKET_ONE));
	CHECK(cc__word_unpark(&p, ticket));
	CHECK_EQ(word_of(&p), word(1, 0, true, CC__OWNED));
	CHECK(!cc__word_unpark(&p, ticket));

	ticket = cc__word_park(&p);
	CHECK(cc__word_commit(&p));
	CHECK(cc__word_wake(&p, ticket));
	CHECK(!cc__word_unpark(&p, ticket));
	CHECK_EQ(word_of(&p), word(2, 0, true, CC__QUEUED));
	cc__word_release(&p);
	CHECK_EQ(word_of(&p), word(2, 0, true, CC__OWNED));
}

TEST(wake_in_any_other_state_or_for_another_wait_changes_nothing)	/* covers: LIF-37/u */
{
	for (int state = 0; state < 8; state++)
		for (uint64_t ticket = 0; ticket < 10; ticket++) {
			const uint64_t w = word(5, 1, false, (enum cc__state)state);
			const bool due = ticket == 5;
			struct cc__parker p = parker(w);
			bool won = cc__word_wake(&p, ticket << 20);

			CHECK_EQ(won, due && state == CC__PARKED);
			if (due && state == CC__PARKED)
				CHECK_EQ(word_of(&p), cc__word_with(w, CC__QUEUED));
			else if (due && state == CC__PARKING)
				CHECK_EQ(word_of(&p), cc__word_with(w, CC__NOTIFIED));
			else
				CHECK_EQ(word_of(&p), w);
		}
}

/* ---- the wrap ---- */

TEST(ticket_wraps_in_a_bare_word)	/* covers: LIF-62/u, RES-47/u */
{
	const uint64_t last = ((uint64_t)1 << 44) - 1;
	struct cc__parker p = parker(word(last - 1, 7, false, CC__OWNED));
	const uint64_t before = cc__word_park(&p);
	uint64_t after;

	CHECK_EQ(before >> 20, last);
	cc__word_abort(&p);
	after = cc__word_park(&p);
	CHECK_EQ(after, 0);
	CHECK_EQ(word_of(&p), word(0, 7, false, CC__PARKING));
	CHECK(cc__word_commit(&p));
	CHECK(!cc__word_wake(&p, before));
	CHECK(cc__word_wake(&p, after));
	CHECK_EQ(word_of(&p), word(0, 7, false, CC__QUEUED));
}

struct wrap {
	cc__a32 flag;
	struct cc__waitq q;
	cc__a64 tickets[4];
};

/* Four waits: the last two tickets there are, and the first two. */
static int wait_across_the_wrap(void *arg)
{
	struct wrap *r = arg;
	struct cc__parker *self = cc__self();
	const uint64_t w = word_of(self);

	/* Nobody else knows us yet. */
	cc__store(&self->word, word(((uint64_t)1 << 44) - 3, cc__word_owner(w),
	                            cc__word_is_thread(w), CC__OWNED), CC__SEQ_CST);
	for (unsigned i = 0; i < 4; i++) {
		struct cc__waiter node = {0};

		if (i % 2 == 0) {
			while (cc__load(&r->flag, CC__SEQ_CST) == i)
				cc__park_if(&r->flag, i);
			continue;
		}
		cc__lock(&r->q.lock, CC__RANK_WAITQ);
		if (cc__wait(&r->q, &node, CC_FOREVER) != (int)i)
			return -1;
		cc__store(&r->flag, i + 1, CC__SEQ_CST);
	}
	return 0;
}

TEST(ticket_wraps_in_a_fiber_and_a_thread)	/* covers: LIF-62/u */
{
	CCRuntime *rt = test_runtime();

	for (int kind = 0; kind < KINDS; kind++) {
		struct wrap r = {0};
		struct sleeper s;

		sleeper_start(&s, rt, (enum kind)kind, wait_across_the_wrap, &r);
		for (unsigned i = 0; i < 4; i++) {
			struct cc__parker *who;

			TEST_UNTIL(cc__load(&r.flag, CC__ACQUIRE) == i);
			who = sleeper_who(&s);
			/* Asleep in wait i, not in the one before. */
			TEST_UNTIL(state_of(who) == CC__PARKED &&
			           cc__word_ticket(word_of(who)) >> 20 ==
			               (((uint64_t)1 << 44) - 2 + i) % ((uint64_t)1 << 44));
			if (i % 2 == 0) {
				cc__store(&r.flag, i + 1, CC__SEQ_CST);
				cc__unpark(who);
			} else {
				CHECK(cc__wake_one(&r.q, CC__REASON_DATA, (int)i));
			}
		}
		CHECK_EQ(sleeper_join(&s), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}
