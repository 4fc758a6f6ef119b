/* ring_enter_test.c - what an enter or a poll takes, and when it waits. */
#include <errno.h>

#include "domains.h"

/* However it ended: another may have read its completion, and would leave us waiting. */
TEST(enter_comes_back_after_a_park_of_its_own)
{
	const struct {
		uint32_t expected;
		uint64_t timeout;
	} wait[] = {{1, CC_CAP_NEVER}, {0, 0}};

	for (int i = 0; i < 2; i++) {
		struct own o;
		uint32_t timer = 0;

		own_open(&o);
		CHECK_EQ(cc_domain_grant_timer(o.w.d, &timer), 0);
		push(o.w.d, (CCCapSubmission){.opcode = CC_CAP_OP_TIMER,
		                              .cap = timer,
		                              .dependency = 10 * CC_MSEC});
		push(o.w.d, park_entry(o.w.space, o.s, o.w.word, wait[i].expected, wait[i].timeout));
		CHECK_EQ(cc_cap_enter(o.s, 2, CC_CAP_NEVER), 1);
		CHECK_EQ(cc_cap_enter(o.s, 2, CC_CAP_NEVER), 2);
		push(o.w.d, park_entry(o.w.space, o.s, o.w.word, 0, CC_MSEC));
		CHECK_EQ(cc_cap_enter(o.s, 4, CC_CAP_NEVER), 3);
		push(o.w.d, park_entry(12345, o.s, o.w.word, 0, CC_CAP_NEVER));
		CHECK_EQ(cc_cap_enter(o.s, 9, CC_CAP_NEVER), 4);
		own_close(&o);
	}
}

/* One who sleeps has a place, a completion that is there the other: what comes behind them can
 * only be taken when we have come back to read. */
TEST(enter_comes_back_when_it_has_to_be_read)	/* covers: PRK-59/u, PRK-92/u */
{
	CCRuntime *rt = test_runtime_of(1);
	struct waiting x;
	struct own o;

	world_open_with(&o.w, &(CCDomainOptions){.completions = 2});
	o.s = joined(o.w.d);
	start_waiting(&x, rt, FIBER, o.w.d, park_entry(o.w.space, o.s, o.w.word, 0, CC_CAP_NEVER));
	push(o.w.d, nop_entry(1));
	push(o.w.d, unpark_entry(o.w.space, o.w.word, 1));
	CHECK_EQ(cc_cap_enter(o.s, 2, CC_CAP_NEVER), 1);
	CHECK_EQ(pop(o.w.d, NULL), 0);
	CHECK_EQ(cc_cap_enter(o.s, 2, CC_CAP_NEVER), 2);
	sleeper_join(&x.s);
	own_close(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(nothing_is_taken_if_an_index_makes_no_sense)	/* covers: PRK-96/u */
{
	struct own o;
	CCCapRing *r;

	own_open(&o);
	r = cc_domain_ring(o.w.d);
	push(o.w.d, nop_entry(3));
	r->cq_head = 7;
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), CC_CAP_E_RING);
	CHECK_EQ(cc_cap_poll(o.w.d), CC_CAP_E_RING);
	CHECK_EQ(r->sq_head, 0);
	CHECK_EQ(r->cq_tail, 0);
	r->cq_head = 0;
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), 1);
	own_close(&o);
}

TEST(nothing_is_taken_when_the_domain_has_ended)
{
	struct own o;

	own_open(&o);
	push(o.w.d, nop_entry(3));
	CHECK_EQ(cc_domain_exit(o.w.d), 0);
	CHECK_EQ(cc_cap_poll(o.w.d), CC_CAP_E_GONE);
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), CC_CAP_E_GONE);
	CHECK_EQ(cc_domain_ring(o.w.d)->sq_head, 0);
	own_close(&o);
}

struct blocked {
	CCDomain *d;
	int entered;
	struct sleeper s;
};

static int blocked_main(void *arg)
{
	struct blocked *b = arg;
	CCStrand *s = joined(b->d);

	b->entered = cc_cap_enter(s, 1, CC_CAP_NEVER);
	return cc_domain_leave(s);
}

static void start_blocked(struct blocked *b, CCDomain *d)
{
	*b = (struct blocked){.d = d};
	sleeper_start(&b->s, NULL, THREAD, blocked_main, b);
	TEST_UNTIL(on_list(&d->ring.done));
}

/* Nobody else waits: only the exit itself can tell it. */
TEST(an_exit_tells_who_is_blocked)	/* covers: PRK-65/u */
{
	struct blocked b;
	struct world w;

	world_open(&w);
	start_blocked(&b, w.d);
	CHECK_EQ(cc_domain_exit(w.d), 0);
	CHECK_EQ(sleeper_join(&b.s), 0);
	CHECK_EQ(b.entered, CC_CAP_E_GONE);
	world_close(&w);
}

TEST(who_is_blocked_sees_to_timers_that_come_later)
{
	struct blocked b;
	struct own o;
	uint32_t timer = 0;

	own_open(&o);
	CHECK_EQ(cc_domain_grant_timer(o.w.d, &timer), 0);
	start_blocked(&b, o.w.d);
	push(o.w.d, (CCCapSubmission){
	                .opcode = CC_CAP_OP_TIMER, .cap = timer, .dependency = 10 * CC_MSEC});
	CHECK(cc_cap_enter(o.s, 0, 0) >= 0);
	CHECK_EQ(sleeper_join(&b.s), 0);
	CHECK_EQ(b.entered, 1);
	own_close(&o);
}
