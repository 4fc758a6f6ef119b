/* client_room_test.c - the safe client when a queue is full, or somebody waits for long. */
#include <errno.h>

#include "domains.h"

#include "park/client.h"

static void shop_open(struct world *w, CCCapClient **c, CCStrand **s, const CCDomainOptions *o)
{
	world_open_with(w, o);
	CHECK_EQ(cc_cap_client_create(c, w->d), 0);
	*s = joined(w->d);
}

static void shop_close(struct world *w, CCCapClient *c, CCStrand *s)
{
	CHECK_EQ(cc_domain_leave(s), 0);
	cc_cap_client_free(c);
	world_close(w);
}

/* Completions that nobody has asked for yet are in the way of our own. */
TEST(client_reads_what_is_in_its_way)	/* covers: PRK-40/s */
{
	struct world w;
	CCCapClient *c;
	CCStrand *s;
	CCCapCompletion done;
	CCParkStatus status = (CCParkStatus)77;
	uint32_t woken = 9;

	shop_open(&w, &c, &s, &(CCDomainOptions){.completions = 2});
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < 2; i++)
			CHECK_EQ(cc_cap_client_submit(c, &(CCCapSubmission){.user_data = i}), 0);
		if (round == 0) {
			CHECK_EQ(cc_cap_client_park(c, s, w.space, w.word, 0, 0, &status), 0);
			CHECK_EQ(status, CC_PARK_TIMED_OUT);
		} else {
			CHECK_EQ(cc_cap_client_unpark(c, s, w.space, w.word, 1, &woken), 0);
			CHECK_EQ(woken, 0);
		}
		for (uint64_t i = 0; i < 2; i++) {
			CHECK_EQ(cc_cap_client_next(c, s, &done), 0);
			CHECK_EQ(done.user_data, i);
		}
	}
	shop_close(&w, c, s);
}

struct visitor {
	CCDomain *d;
	CCCapClient *c;
	uint32_t space;
	const uint32_t *word;		/* parks there; NULL: waits for a completion */
	CCParkStatus status;
	cc__a32 id;
	struct sleeper s;
};

static int visitor_main(void *arg)
{
	struct visitor *v = arg;
	CCStrand *s = joined(v->d);
	CCCapCompletion done;
	int err;

	cc__store(&v->id, cc_strand_id(s), CC__RELEASE);
	err = v->word == NULL ? cc_cap_client_next(v->c, s, &done)
	                      : cc_cap_client_park(v->c, s, v->space, v->word, 0, CC_CAP_NEVER,
	                                           &v->status);
	cc_domain_leave(s);
	return err;
}

/* Somebody who is blocked for a completion stands in nobody's way. */
TEST(client_wakes_while_another_waits_for_a_completion)	/* covers: PRK-37/s, PRK-45/u */
{
	struct world w;
	CCCapClient *c;
	CCStrand *s;
	struct visitor v[2];
	uint32_t timer = 0, woken = 9;

	shop_open(&w, &c, &s, NULL);
	CHECK_EQ(cc_domain_grant_timer(w.d, &timer), 0);
	CHECK_EQ(cc_cap_client_submit(c, &(CCCapSubmission){.opcode = CC_CAP_OP_TIMER,
	                                                    .cap = timer,
	                                                    .dependency = 3600 * CC_SEC}),
	         0);
	for (int i = 0; i < 2; i++) {
		v[i] = (struct visitor){.d = w.d, .c = c, .space = w.space};
		v[i].word = i == 0 ? NULL : w.word;
		sleeper_start(&v[i].s, NULL, THREAD, visitor_main, &v[i]);
		TEST_UNTIL(i == 0 ? on_list(&w.d->ring.done) : ledger(w.d).waits == 1);
	}
	CHECK_EQ(cc_cap_client_unpark(c, s, w.space, w.word, 1, &woken), 0);
	CHECK_EQ(woken, 1);
	CHECK_EQ(sleeper_join(&v[1].s), 0);
	CHECK_EQ(v[1].status, CC_PARK_WOKEN);
	CHECK_EQ(cc_domain_end(w.d, cc__load(&v[0].id, CC__ACQUIRE)), 0);
	CHECK_EQ(sleeper_join(&v[0].s), ESHUTDOWN);
	shop_close(&w, c, s);
}
