/* domain_end_test.c - domains, strands and mappings that end, and who comes just then. */
#include <errno.h>

#include "domains.h"
#include "points.h"

/* ---- a mapping is revoked while all of them go ---- */

static int revoke_main(void *arg)
{
	struct world *w = arg;

	return cc_domain_revoke(w->d, w->word);
}

/* Whatever is taken away when all is cleared goes with the rest, and gives its object back. */
TEST(a_revoke_that_meets_the_end_keeps_nothing)	/* covers: PRK-75/u, PRK-22/u */
{
	NEED_POINTS();
	for (int end = 0; end < 2; end++) {
		const uint64_t before = cc__park_charged();
		struct world w;
		struct sleeper s;
		struct point *p;
		CCCapObject *o;
		uint32_t cap = 0;

		world_open(&w);
		CHECK_EQ(cc_domain_unmap(w.d, w.word), 0);
		CHECK_EQ(cc_cap_object_create(&o, sizeof w.word), 0);
		CHECK_EQ(cc_domain_grant_object(w.d, o, &cap), 0);
		CHECK_EQ(cc_domain_map_object(w.d, cap, 0, w.word, sizeof w.word, CC_CAP_READ), 0);
		p = point_hold("space.before_drain", &w.d->space);
		sleeper_start(&s, NULL, THREAD, revoke_main, &w);
		point_until_held(p);
		CHECK_EQ(end ? cc_domain_exit(w.d) : cc_domain_renew(w.d), 0);
		point_release(p);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(ledger(w.d).regions, 0);
		world_close(&w);
		cc_cap_object_drop(o);
		CHECK_EQ(cc__park_charged() - before, 0);
	}
}

/* ---- strands ---- */

TEST(a_strand_leaves_once)	/* covers: RES-29/u */
{
	struct world w;
	CCStrand *s;

	world_open(&w);
	s = joined(w.d);
	CHECK_EQ(cc_domain_leave(s), 0);
	CHECK_EQ(cc_domain_leave(s), EINVAL);
	CHECK_EQ(cc_cap_enter(s, 0, 0), CC_CAP_E_GONE);
	CHECK_EQ(ledger(w.d).strands, 0);
	world_close(&w);
}

TEST(a_strand_does_not_leave_while_it_waits)	/* covers: PRK-66/f */
{
	CCRuntime *rt = test_runtime_of(1);
	struct world w;
	struct waiting x;
	CCStrand *s;

	world_open(&w);
	s = joined(w.d);
	start_waiting(&x, rt, FIBER, w.d, park_entry(w.space, s, w.word, 0, CC_CAP_NEVER));
	CHECK_EQ(cc_domain_leave(x.strand), EBUSY);
	CHECK(is_waiting(w.d, x.entry.owner));
	CHECK_EQ(result_of(s, unpark_entry(w.space, &w.word[1], 1)), 0);
	push(w.d, unpark_entry(w.space, w.word, 1));
	CHECK_EQ(cc_cap_enter(s, 2, CC_CAP_NEVER), 2);
	sleeper_join(&x.s);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(who_has_been_ended_wakes_nobody)
{
	CCRuntime *rt = test_runtime_of(1);
	struct world w;
	struct waiting x;
	CCStrand *s;
	uint32_t woken = 77;

	world_open(&w);
	s = joined(w.d);
	start_waiting(&x, rt, FIBER, w.d, park_entry(w.space, s, w.word, 0, CC_CAP_NEVER));
	CHECK_EQ(cc_domain_end(w.d, cc_strand_id(s)), 0);
	CHECK_EQ(cc_park_wake(cc_strand_park_space(s), w.word, 1, &woken), ESHUTDOWN);
	CHECK_EQ(woken, 77);
	CHECK_EQ(cc_domain_interrupt(w.d, x.entry.owner), 0);
	sleeper_join(&x.s);
	CHECK_EQ(pop(w.d, NULL), CC_PARK_INTERRUPTED);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
