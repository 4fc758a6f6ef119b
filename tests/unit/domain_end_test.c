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
