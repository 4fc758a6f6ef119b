/* domain_end_test.c - domains, strands and mappings that end, and who comes just then. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

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

static void free_record(void *strand)
{
	cc__strand_free(((CCStrand *)strand)->strand);
}

TEST(a_strand_that_waits_is_not_made_to_leave)	/* covers: PRK-66/f */
{
	static struct test_death death;
	CCRuntime *rt = test_runtime_of(1);
	struct world w;
	struct waiting x;
	CCStrand *s;

	world_open(&w);
	s = joined(w.d);
	start_waiting(&x, rt, FIBER, w.d, park_entry(w.space, s, w.word, 0, CC_CAP_NEVER));
	CHECK_EQ(cc_domain_leave(x.strand), EPERM);
	CHECK(is_waiting(w.d, x.entry.owner));
	CHECK_EQ(test_dies(free_record, x.strand, &death), 0);
	CHECK(WIFSIGNALED(death.status) && WTERMSIG(death.status) == SIGABRT &&
	      strstr(death.text, "freed in a call of its own") != NULL);
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
	/* It is gone, whatever else is wrong. */
	CHECK_EQ(cc_park_wait(cc_strand_park_space(s), &woken, 0, CC_FOREVER, NULL), ESHUTDOWN);
	CHECK_EQ(cc_domain_interrupt(w.d, x.entry.owner), 0);
	sleeper_join(&x.s);
	CHECK_EQ(pop(w.d, NULL), CC_PARK_INTERRUPTED);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- who ends without leaving ---- */

struct ending {
	struct world *w;
	uint32_t id;	/* of the strand that has submitted */
};

/* In two domains three times, and of one of them has submitted what nobody else can take. */
static int end_joined(void *arg)
{
	struct ending *e = arg;
	CCStrand *s[3];

	for (int i = 0; i < 3; i++)
		s[i] = joined(e->w[i / 2].d);
	CHECK_EQ(ledger(e->w[0].d).strands, 3);
	CHECK_EQ(ledger(e->w[1].d).strands, 2);
	CHECK_EQ(cc_domain_leave(s[0]), 0);
	CHECK_EQ(ledger(e->w[0].d).strands, 2);
	e->id = cc_strand_id(s[1]);
	push(e->w[0].d, park_entry(e->w[0].space, s[1], e->w[0].word, 0, CC_CAP_NEVER));
	return 0;
}

static int in_a_call(void *arg)
{
	return cc_blocking(end_joined, arg, NULL);
}

static int in_place(void *arg)
{
	CCTask t;

	CHECK_EQ(cc_task_spawn(NULL, &t, NULL, end_joined, arg), 0);
	return cc_task_join(t, CC_FOREVER, NULL);
}

/* (A thread of the pool ends with its runtime.) */
static void run(enum kind kind, int (*main)(void *), struct ending *e)
{
	CCRuntime *rt = test_runtime_of(1);
	struct sleeper s;

	sleeper_start(&s, rt, kind, main, e);
	CHECK_EQ(sleeper_join(&s), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(who_ends_leaves_his_domains)	/* covers: PRK-93/u, RES-31/u */
{
	static const struct {
		enum kind kind;
		int (*main)(void *);
	} who[] = {{FIBER, end_joined}, {THREAD, end_joined}, {FIBER, in_a_call}, {FIBER, in_place}};

	for (size_t i = 0; i < sizeof who / sizeof *who; i++) {
		struct world w[2];
		struct ending e = {.w = w};
		CCStrand *s[2];

		for (int k = 0; k < 2; k++) {
			world_open(&w[k]);
			s[k] = joined(w[k].d);
		}
		run(who[i].kind, who[i].main, &e);
		CHECK_EQ(ledger(w[0].d).strands, 1);
		CHECK_EQ(ledger(w[1].d).strands, 1);
		CHECK_EQ(cc_domain_end(w[0].d, e.id), ESRCH);
		/* Retired, although no strand has entered since. */
		CHECK_EQ(pop(w[0].d, NULL), CC_CAP_E_OWNER);
		push(w[0].d, nop_entry(3));
		CHECK_EQ(cc_cap_enter(s[0], 0, 0), 1);
		CHECK_EQ(pop(w[0].d, NULL), 0);
		for (int k = 0; k < 2; k++) {
			CHECK_EQ(cc_domain_leave(s[k]), 0);
			world_close(&w[k]);
		}
	}
}

/* ---- strangers ---- */

struct stranger {
	struct own *o;
	CCCapClient *client;
};

static int use_anothers(void *arg)
{
	const struct stranger *x = arg;
	CCStrand *s = x->o->s;
	const struct world *w = &x->o->w;
	CCParkSpace *space = cc_strand_park_space(s);
	CCParkStatus status = CC_PARK_WOKEN;
	CCCapCompletion done;
	uint32_t woken = 77;

	CHECK_EQ(cc_cap_enter(s, 0, 0), CC_CAP_E_CALLER);
	CHECK_EQ(cc_cap_enter(s, 1, CC_CAP_NEVER), CC_CAP_E_CALLER);
	CHECK_EQ(cc_domain_leave(s), EPERM);
	CHECK_EQ(cc_park_wait(space, w->word, 0, CC_FOREVER, &status), EPERM);
	CHECK_EQ(cc_park_wake(space, w->word, 1, &woken), EPERM);
	CHECK_EQ(woken, 77);
	CHECK_EQ(cc_cap_client_park(x->client, s, w->space, w->word, 0, CC_CAP_NEVER, NULL), EPERM);
	CHECK_EQ(cc_cap_client_unpark(x->client, s, w->space, w->word, 1, NULL), EPERM);
	CHECK_EQ(cc_cap_client_next(x->client, s, &done), EPERM);
	return 0;
}

TEST(a_strand_is_no_strangers)
{
	CCRuntime *rt = test_runtime_of(1);
	struct own o;
	struct stranger x = {.o = &o};

	own_open(&o);
	CHECK_EQ(cc_cap_client_create(&x.client, o.w.d), 0);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		struct sleeper s;

		sleeper_start(&s, rt, kind, use_anothers, &x);
		CHECK_EQ(sleeper_join(&s), 0);
	}
	/* Nothing has come of it. */
	CHECK_EQ(cc_domain_ring(o.w.d)->sq_tail, 0);
	CHECK_EQ(ledger(o.w.d).strands, 1);
	CHECK_EQ(result_of(o.s, nop_entry(4)), 0);
	cc_cap_client_free(x.client);
	own_close(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- many, and at the same address ---- */

enum { CROWD = 40 };

/* More than are woken in one go, and all of them before the call returns. */
TEST(all_of_a_crowd_are_told_before_the_addresses_are_free)	/* covers: PRK-22/u, PRK-98/u */
{
	CCRuntime *rt = test_runtime_of(2);
	static struct waiting x[CROWD];
	struct world w;
	CCStrand *s;

	world_open_with(&w, &(CCDomainOptions){.completions = 64});
	s = joined(w.d);
	for (int i = 0; i < CROWD; i++)
		start_waiting(&x[i], rt, FIBER, w.d,
		              park_entry(w.space, s, w.word, 0, CC_CAP_NEVER));
	CHECK_EQ(cc_domain_unmap(w.d, w.word), 0);
	for (int i = 0; i < CROWD; i++)
		CHECK_EQ(pop(w.d, NULL), CC_PARK_INTERRUPTED);
	for (int i = 0; i < CROWD; i++)
		sleeper_join(&x[i].s);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Two domains see an object at the same address; one of them does no more. */
TEST(an_unmap_ends_nobody_of_another_domain)	/* covers: PRK-17/u */
{
	CCRuntime *rt = test_runtime_of(1);
	struct world w[2];
	struct waiting x[2];
	CCCapObject *o;
	CCStrand *s[2];

	CHECK_EQ(cc_cap_object_create(&o, sizeof w->word), 0);
	for (int i = 0; i < 2; i++) {
		uint32_t cap = 0, shared = 0;

		world_open(&w[i]);
		s[i] = joined(w[i].d);
		CHECK_EQ(cc_domain_unmap(w[i].d, w[i].word), 0);
		CHECK_EQ(cc_domain_grant_object(w[i].d, o, &cap), 0);
		CHECK_EQ(cc_domain_derive(w[i].d, cap, &shared), 0);
		CHECK_EQ(cc_domain_map_object(w[i].d, cap, 0, w[0].word, sizeof w->word,
		                              CC_CAP_READ),
		         0);
		start_waiting(&x[i], rt, FIBER, w[i].d,
		              park_entry(shared, s[i], w[0].word, 0, CC_CAP_NEVER));
	}
	CHECK_EQ(cc_domain_unmap(w[0].d, w[0].word), 0);
	CHECK_EQ(pop(w[0].d, NULL), CC_PARK_INTERRUPTED);
	CHECK_EQ(pop(w[1].d, NULL), NOTHING);
	CHECK_EQ(cc_domain_unmap(w[1].d, w[0].word), 0);
	CHECK_EQ(pop(w[1].d, NULL), CC_PARK_INTERRUPTED);
	for (int i = 0; i < 2; i++) {
		sleeper_join(&x[i].s);
		CHECK_EQ(cc_domain_leave(s[i]), 0);
		world_close(&w[i]);
	}
	cc_cap_object_drop(o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- what an exit finds ---- */

TEST(an_exit_gives_back_what_timers_were_promised)	/* covers: PRK-78/u */
{
	struct world w;
	CCStrand *s;
	uint32_t timer = 0;

	world_open(&w);
	s = joined(w.d);
	CHECK_EQ(cc_domain_grant_timer(w.d, &timer), 0);
	push(w.d, (CCCapSubmission){
	              .opcode = CC_CAP_OP_TIMER, .cap = timer, .dependency = 3600 * CC_SEC});
	CHECK_EQ(cc_cap_enter(s, 0, 0), 0);
	CHECK_EQ(ledger(w.d).promised, 1);
	CHECK_EQ(cc_domain_exit(w.d), 0);
	CHECK_EQ(ledger(w.d).promised, 0);
	CHECK_EQ(ledger(w.d).timers, 0);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
}
