/* ring_race_test.c - wake, timeout, cancellation, exit and unmap at the same waits: each ends
 * once, and all that was promised comes back.  RING_ROUNDS: rounds of each race. */
#include <errno.h>

#include "domains.h"

static int rounds(int usual)
{
	const char *text = getenv("RING_ROUNDS");

	return text != NULL ? atoi(text) : usual;
}

static bool go_on(void)
{
	return getenv("RING_ROUNDS") != NULL || test_has_time();
}

static const enum kind kinds[] = {FIBER, THREAD};

/* Written under `submitting`; what the domain has taken. */
static bool is_taken(CCDomain *d, uint32_t index)
{
	return (int32_t)(cc__load(cc__user_index(&d->ring.user->sq_head), CC__ACQUIRE) - index) > 0;
}

static int submit(CCDomain *d, const CCCapSubmission *e, uint32_t *index)
{
	int err;

	cc__lock(&submitting, CC__RANK_RUNTIME);
	*index = cc__load(cc__user_index(&d->ring.user->sq_tail), CC__RELAXED);
	err = cc_cap_push(d, e);
	cc__unlock(&submitting);
	return err;
}

/* ---- all five ends at one wait ---- */

enum { WAITERS = 4, PARTIES = 4, OTHERS = 7 };

struct storm {
	struct world w;
	uint32_t *word;			/* mapped and unmapped */
	cc__a32 mapped;			/* a hint: to begin when it is not makes no race */
	cc__a32 left;			/* waiters that go on */
	cc__a32 who;
	cc__a64 submitted, read;	/* waits; completions */
	cc__a64 results[OTHERS + 1];	/* of completions, by status; errors are the last */
	cc__a64 told;			/* what the wakes say that they woke */
	CC__ATOMIC(uint32_t) id[WAITERS];	/* who may be ended; 0: nobody */
	int rounds;
};

/* By whoever has time: one at a time. */
static void read_ring(struct storm *x)
{
	CCCapCompletion c;

	cc__lock(&submitting, CC__RANK_RUNTIME);
	while (cc_cap_pop(x->w.d, &c) == 0) {
		cc__add(&x->read, 1, CC__RELAXED);
		cc__add(&x->results[c.result >= 0 && c.result < OTHERS ? c.result : OTHERS], 1,
		        CC__RELAXED);
	}
	cc__unlock(&submitting);
}

/* One wait, until its entry is taken and ended, or the strand is.  False: it is. */
static bool wait_once(struct storm *x, CCStrand *s, uint32_t random)
{
	const CCCapSubmission e =
	    park_entry(x->w.space, s, x->word, 0,
	               random >> 30 == 0 ? random >> 8 & 0x3fff : CC_CAP_NEVER);
	uint32_t index = 0;
	int entered = 0;
	bool there = false;

	while (entered >= 0 && !(there && is_taken(x->w.d, index))) {
		if (!there && (there = submit(x->w.d, &e, &index) == 0))
			cc__add(&x->submitted, 1, CC__RELAXED);
		entered = cc_cap_enter(s, 0, 0);
		read_ring(x);
	}
	CHECK(entered >= 0 || entered == CC_CAP_E_GONE);
	return entered >= 0;
}

/* Waits that slept, or might have: what was refused is not among them. */
static uint64_t waited(struct storm *x)
{
	return cc__load(&x->read, CC__RELAXED) - cc__load(&x->results[OTHERS], CC__RELAXED) +
	       ledger(x->w.d).silent;
}

/* Over and over; who is ended comes back as another strand. */
static int storm_waiter(void *arg)
{
	struct storm *x = arg;
	const uint32_t me = cc__add(&x->who, 1, CC__RELAXED);
	uint32_t random = me * 2654435761u + 1;
	CCStrand *s = joined(x->w.d);

	while (waited(x) < (uint64_t)x->rounds && go_on()) {
		while (cc__load(&x->mapped, CC__RELAXED) == 0)
			cc_yield();
		cc__store(&x->id[me], cc_strand_id(s), CC__RELEASE);
		random = random * 1664525 + 1013904223;
		if (!wait_once(x, s, random)) {
			cc_domain_leave(s);
			s = joined(x->w.d);
		}
	}
	cc__store(&x->id[me], 0, CC__RELEASE);
	cc_domain_leave(s);
	cc__sub(&x->left, 1, CC__RELEASE);
	return 0;
}

static bool anyone_is_listed(const struct cc__park_table *t)
{
	bool any = false;

	for (unsigned i = 0; i < 1u << t->bits; i++) {
		cc__lock(&t->bucket[i].lock, CC__RANK_WAITQ);
		any |= t->bucket[i].first != NULL;
		cc__unlock(&t->bucket[i].lock);
	}
	return any;
}

static void do_harm(struct storm *x, uint32_t party, uint32_t random)
{
	const uint32_t id = cc__load(&x->id[random >> 16 & 3], CC__ACQUIRE);

	switch (party) {
	case 0:
		cc__add(&x->told, (uint64_t)cc__space_wake(&x->w.d->space, NULL, 0, (uintptr_t)x->word,
		                                           1 + (random >> 20 & 1)),
		        CC__RELAXED);
		break;
	case 1:
		if (id != 0 && random >> 30 == 0)
			cc_domain_interrupt(x->w.d, id);
		break;
	case 2:
		if (id != 0 && random >> 29 == 0)
			cc_domain_end(x->w.d, id);
		break;
	default:
		if (random >> 27 == 0) {
			CHECK_EQ(cc_domain_unmap(x->w.d, x->word), 0);
			/* Nobody waits there whom a wake after the next map could reach. */
			CHECK(!anyone_is_listed(&x->w.d->space.table));
			cc__store(&x->mapped, 0, CC__RELAXED);
			CHECK_EQ(cc_domain_map(x->w.d, x->word, 4, CC_CAP_READ), 0);
			cc__store(&x->mapped, 1, CC__RELAXED);
		}
	}
}

static int storm_party(void *arg)
{
	struct storm *x = arg;
	const uint32_t me = cc__add(&x->who, 1, CC__RELAXED) - WAITERS;
	uint32_t random = me + 7;

	while (cc__load(&x->left, CC__ACQUIRE) > 0) {
		random = random * 1664525 + 1013904223;
		do_harm(x, me, random);
		read_ring(x);
		CHECK(ledger(x->w.d).waits <= WAITERS);
		sched_yield();
	}
	return 0;
}

/* Entries that their strands left behind. */
static void clear_ring(struct storm *x)
{
	CCStrand *s = joined(x->w.d);

	while (cc_cap_enter(s, 0, 0) > 0)
		read_ring(x);
	read_ring(x);
	CHECK_EQ(x->w.d->ring.user->sq_head, x->w.d->ring.user->sq_tail);
	cc_domain_leave(s);
}

static void storm(enum kind kind)
{
	static struct storm x;
	CCRuntime *rt = test_runtime_of(2);
	struct sleeper waiter[WAITERS], party[PARTIES];
	uint32_t word = 0;

	memset(&x, 0, sizeof x);
	world_open(&x.w);
	x.word = &word;
	x.rounds = rounds(2000);
	cc__store(&x.left, WAITERS, CC__RELEASE);
	CHECK_EQ(cc_domain_map(x.w.d, x.word, 4, CC_CAP_READ), 0);
	cc__store(&x.mapped, 1, CC__RELAXED);
	for (int i = 0; i < WAITERS; i++)
		sleeper_start(&waiter[i], rt, kind, storm_waiter, &x);
	TEST_UNTIL(cc__load(&x.who, CC__RELAXED) == WAITERS);
	for (int i = 0; i < PARTIES; i++)
		sleeper_start(&party[i], rt, THREAD, storm_party, &x);
	for (int i = 0; i < WAITERS; i++)
		CHECK_EQ(sleeper_join(&waiter[i]), 0);
	for (int i = 0; i < PARTIES; i++)
		CHECK_EQ(sleeper_join(&party[i]), 0);
	clear_ring(&x);
	CHECK_EQ(cc__peek(&x.submitted), cc__peek(&x.read) + ledger(x.w.d).silent);
	CHECK_EQ(cc__peek(&x.told), cc__peek(&x.results[CC_PARK_WOKEN]));
	CHECK_EQ(ledger(x.w.d).promised, 0);
	CHECK_EQ(ledger(x.w.d).strands, 0);
	printf("\t%llu waits: %llu woken, %llu late, %llu interrupted, %llu silent; %llu refused\n",
	       (unsigned long long)waited(&x),
	       (unsigned long long)cc__peek(&x.results[CC_PARK_WOKEN]),
	       (unsigned long long)cc__peek(&x.results[CC_PARK_TIMED_OUT]),
	       (unsigned long long)cc__peek(&x.results[CC_PARK_INTERRUPTED]),
	       (unsigned long long)ledger(x.w.d).silent,
	       (unsigned long long)cc__peek(&x.results[OTHERS]));
	world_close(&x.w);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(all_ends_race_fibers)	/* covers: PRK-63/s, PRK-64/s, PRK-68/s, PRK-69/s */
{
	storm(FIBER);
}

TEST(all_ends_race_threads)	/* covers: PRK-63/s, PRK-64/s, PRK-68/s, PRK-69/s */
{
	storm(THREAD);
}

/* ---- and the end of the whole domain ---- */

struct doom {
	struct world w;
	cc__a32 arrived;
};

static int doomed_waiter(void *arg)
{
	struct doom *x = arg;
	CCStrand *s = NULL;
	int entered = 0;

	if (cc_domain_join(x->w.d, &s) != 0)
		return 0;
	while (entered >= 0) {
		const CCCapSubmission e = park_entry(x->w.space, s, x->w.word, 0, CC_CAP_NEVER);
		uint32_t index = 0;

		if (submit(x->w.d, &e, &index) == 0)
			cc__add(&x->arrived, 1, CC__RELAXED);
		entered = cc_cap_enter(s, 0, 0);
		cc__lock(&submitting, CC__RANK_RUNTIME);
		while (pop(x->w.d, NULL) != NOTHING)
			continue;
		cc__unlock(&submitting);
	}
	CHECK_EQ(entered, CC_CAP_E_GONE);
	return cc_domain_leave(s);
}

TEST(exit_races_waits_and_wakes)	/* covers: PRK-63/s */
{
	CCRuntime *rt = test_runtime_of(2);

	for (int i = 0; i < rounds(200) && go_on(); i++) {
		struct doom x;
		struct sleeper s[WAITERS];

		memset(&x, 0, sizeof x);
		world_open(&x.w);
		for (int k = 0; k < WAITERS; k++)
			sleeper_start(&s[k], rt, kinds[k % 2], doomed_waiter, &x);
		while (cc__load(&x.arrived, CC__RELAXED) < (uint32_t)(i % 8))
			cc__space_wake(&x.w.d->space, NULL, 0, (uintptr_t)x.w.word, 1);
		CHECK_EQ(cc_domain_exit(x.w.d), 0);
		for (int k = 0; k < WAITERS; k++)
			CHECK_EQ(sleeper_join(&s[k]), 0);
		CHECK_EQ(ledger(x.w.d).strands, 0);
		world_close(&x.w);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- no wake is lost ---- */

/* Two strands hand a number to and fro, each asleep until it is its own turn. */
struct rally {
	struct world w;
	cc__a32 number;		/* mapped */
	cc__a32 who;
	uint32_t end;
};

static int rally_main(void *arg)
{
	struct rally *x = arg;
	const uint32_t me = cc__add(&x->who, 1, CC__RELAXED);
	CCStrand *s = joined(x->w.d);
	uint32_t n;

	while ((n = cc__load(&x->number, CC__ACQUIRE)) < x->end) {
		CCCapSubmission e = park_entry(x->w.space, s, &x->number.raw, n, CC_CAP_NEVER);
		uint32_t index = 0;

		if (n % 2 == me) {
			cc__store(&x->number, n + 1, CC__RELEASE);
			e = unpark_entry(x->w.space, &x->number.raw, 9);
		}
		CHECK_EQ(submit(x->w.d, &e, &index), 0);
		while (!is_taken(x->w.d, index))
			CHECK(cc_cap_enter(s, 0, 0) >= 0);
		cc__lock(&submitting, CC__RANK_RUNTIME);
		while (pop(x->w.d, NULL) != NOTHING)
			continue;
		cc__unlock(&submitting);
	}
	return cc_domain_leave(s);
}

TEST(no_wake_is_lost)	/* covers: PRK-54/s, PRK-83/s */
{
	CCRuntime *rt = test_runtime_of(2);

	for (int k = 0; k < 3; k++) {
		static struct rally x;
		struct sleeper s[2];

		memset(&x, 0, sizeof x);
		world_open(&x.w);
		CHECK_EQ(cc_domain_map(x.w.d, &x.number, 4, CC_CAP_READ), 0);
		x.end = (uint32_t)rounds(1000);
		for (int i = 0; i < 2; i++)
			sleeper_start(&s[i], rt, kinds[k == 2 ? i : k], rally_main, &x);
		for (int i = 0; i < 2; i++)
			CHECK_EQ(sleeper_join(&s[i]), 0);
		world_close(&x.w);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- first come, first served ---- */

enum { LINE = 5 };

struct line {
	struct world w;
	cc__a32 over;
	uint64_t wakes;
};

static int line_main(void *arg)
{
	struct line *x = arg;
	CCStrand *s = joined(x->w.d);
	CCCapSubmission e = park_entry(x->w.space, s, x->w.word, 0, CC_CAP_NEVER);

	e.user_data = cc_strand_id(s);
	while (cc__load(&x->over, CC__ACQUIRE) == 0) {
		uint32_t index = 0;
		int entered;

		CHECK_EQ(submit(x->w.d, &e, &index), 0);
		while ((entered = cc_cap_enter(s, 0, 0)) >= 0 && !is_taken(x->w.d, index))
			sched_yield();
		if (entered < 0)
			break;
	}
	return cc_domain_leave(s);
}

static uint64_t arrivals(const struct line *x)
{
	const struct cc__park_key key = {x->w.d->space.id, 1, (uintptr_t)x->w.word};
	struct cc__bucket *b = cc__park_hold(&x->w.d->space.table, &key);
	const uint64_t n = b->arrivals;

	cc__park_drop(b);
	return n;
}

/* All stand in line at each wake, and who is woken goes to its end: so they take turns. */
TEST(waiters_take_turns)	/* covers: PRK-56/s */
{
	CCRuntime *rt = test_runtime_of(2);
	struct line x = {0};
	struct sleeper s[LINE];
	uint64_t order[LINE] = {0};

	world_open(&x.w);
	for (int i = 0; i < LINE; i++)
		sleeper_start(&s[i], rt, kinds[i % 2], line_main, &x);
	for (uint64_t n = 0; n < (uint64_t)rounds(1000) && go_on(); n++) {
		uint64_t user_data = 0;

		TEST_UNTIL(arrivals(&x) == LINE + n);
		CHECK_EQ(cc__space_wake(&x.w.d->space, NULL, 0, (uintptr_t)x.w.word, 1), 1);
		CHECK_EQ(pop(x.w.d, &user_data), CC_PARK_WOKEN);
		if (n < LINE)
			order[n] = user_data;
		else
			CHECK(user_data == order[n % LINE]);
	}
	for (int i = 0; i < LINE; i++)
		for (int k = 0; k < i; k++)
			CHECK(order[i] != order[k]);
	cc__store(&x.over, 1, CC__RELEASE);
	CHECK_EQ(cc_domain_exit(x.w.d), 0);
	for (int i = 0; i < LINE; i++)
		CHECK_EQ(sleeper_join(&s[i]), 0);
	CHECK_EQ(ledger(x.w.d).strands, 0);
	world_close(&x.w);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
