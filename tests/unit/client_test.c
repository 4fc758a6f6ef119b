/* client_test.c - many strands at one ring through the safe client. */
#include <errno.h>

#include "domains.h"

#include "os/trace.h"
#include "park/client.h"

static const enum kind kinds[] = {FIBER, THREAD};

struct site {
	struct world w;
	CCCapClient *c;
	CCStrand *s;		/* the test's */
};

static void site_open_with(struct site *x, const CCDomainOptions *o)
{
	world_open_with(&x->w, o);
	CHECK_EQ(cc_cap_client_create(&x->c, x->w.d), 0);
	x->s = joined(x->w.d);
}

static void site_close(struct site *x)
{
	CHECK_EQ(cc_domain_leave(x->s), 0);
	cc_cap_client_free(x->c);
	world_close(&x->w);
}

static uint32_t unpark(struct site *x, const uint32_t *word, uint32_t most)
{
	uint32_t woken = 999;

	CHECK_EQ(cc_cap_client_unpark(x->c, x->s, x->w.space, word, most, &woken), 0);
	return woken;
}

struct parker {
	struct site *site;
	const uint32_t *word;
	uint64_t timeout;
	CCParkStatus status;
	struct sleeper s;
};

static int parker_main(void *arg)
{
	struct parker *p = arg;
	CCStrand *s = joined(p->site->w.d);
	const int err = cc_cap_client_park(p->site->c, s, p->site->w.space, p->word, 0, p->timeout,
	                                   &p->status);

	cc_domain_leave(s);
	return err;
}

static void start(struct parker *p, CCRuntime *rt, enum kind kind, struct site *x,
                  const uint32_t *word)
{
	*p = (struct parker){.site = x, .word = word, .timeout = CC_CAP_NEVER, .status = 77};
	sleeper_start(&p->s, rt, kind, parker_main, p);
}

TEST(client_smoke)	/* covers: PRK-90/u, PRK-42/u */
{
	CCRuntime *rt = test_runtime_of(2);
	struct parker p[6];
	struct site x;
	CCParkStatus status = (CCParkStatus)77;

	site_open_with(&x, NULL);
	CHECK_EQ(cc_cap_client_park(x.c, x.s, x.w.space, x.w.word, 1, CC_CAP_NEVER, &status), 0);
	CHECK_EQ(status, CC_PARK_VALUE_MISMATCH);
	CHECK_EQ(cc_cap_client_park(x.c, x.s, x.w.space, x.w.word, 0, 0, &status), 0);
	CHECK_EQ(status, CC_PARK_TIMED_OUT);
	CHECK_EQ(cc_cap_client_park(x.c, x.s, x.w.space, x.w.word, 0, CC_MSEC, &status), 0);
	CHECK_EQ(status, CC_PARK_TIMED_OUT);
	CHECK_EQ(unpark(&x, x.w.word, 9), 0);
	for (int i = 0; i < 6; i++)
		start(&p[i], rt, kinds[i % 2], &x, x.w.word);
	TEST_UNTIL(ledger(x.w.d).waits == 6);
	CHECK_EQ(unpark(&x, x.w.word, 1), 1);
	CHECK_EQ(unpark(&x, x.w.word, 3), 3);
	TEST_UNTIL(ledger(x.w.d).waits == 2);
	CHECK_EQ(cc_domain_exit(x.w.d), 0);
	for (int i = 0, gone = 0; i < 6; i++) {
		const int err = sleeper_join(&p[i].s);

		gone += err == ESHUTDOWN;
		CHECK(err == 0 ? p[i].status == CC_PARK_WOKEN : err == ESHUTDOWN);
		CHECK(i < 5 || gone == 2);
	}
	site_close(&x);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(client_tells_errors)
{
	struct site x;
	uint32_t away = 0, woken = 7;
	CCParkStatus status = (CCParkStatus)77;

	site_open_with(&x, NULL);
	CHECK_EQ(cc_cap_client_park(x.c, x.s, 1, x.w.word, 0, 0, &status), EBADF);
	CHECK_EQ(cc_cap_client_park(x.c, x.s, x.w.space, &away, 0, 0, &status), EFAULT);
	CHECK_EQ(cc_cap_client_unpark(x.c, x.s, 1, x.w.word, 1, &woken), EBADF);
	CHECK_EQ(cc_cap_client_unpark(x.c, x.s, x.w.space, x.w.word, 0, &woken), EINVAL);
	CHECK_EQ(cc_cap_client_park(NULL, x.s, x.w.space, x.w.word, 0, 0, &status), EINVAL);
	CHECK_EQ(status, 77);
	CHECK_EQ(woken, 7);
	site_close(&x);
}

TEST(client_keeps_its_user_data_to_itself)	/* covers: PRK-39/u */
{
	struct site x;
	CCCapSubmission e = nop_entry(CC_CAP_CLIENT_DATA);
	CCCapCompletion c;

	site_open_with(&x, NULL);
	CHECK_EQ(cc_cap_client_submit(x.c, &e), EINVAL);
	e.user_data = CC_CAP_CLIENT_DATA | 1 << 24;
	CHECK_EQ(cc_cap_client_submit(x.c, &e), EINVAL);
	e.user_data = CC_CAP_CLIENT_DATA + ((UINT64_C(1) << 56) - 1);
	CHECK_EQ(cc_cap_client_submit(x.c, &e), EINVAL);
	e.user_data = CC_CAP_CLIENT_DATA + (UINT64_C(1) << 56);	/* the next byte is not reserved */
	CHECK_EQ(cc_cap_client_submit(x.c, &e), 0);
	CHECK_EQ(unpark(&x, x.w.word, 1), 0);
	CHECK_EQ(cc_cap_client_next(x.c, x.s, &c), 0);
	CHECK_EQ(c.user_data, e.user_data);
	e.user_data = CC_CAP_CLIENT_DATA - 1;
	CHECK_EQ(cc_cap_client_submit(x.c, &e), 0);
	/* Theirs wait on the shelf, whoever reads them. */
	CHECK_EQ(unpark(&x, x.w.word, 1), 0);
	CHECK_EQ(cc_cap_client_next(x.c, x.s, &c), 0);
	CHECK(c.user_data == e.user_data && c.result == 0);
	CHECK_EQ(cc_cap_client_next(x.c, x.s, &c), ENOENT);
	e = park_entry(x.w.space, x.s, x.w.word, 0, 0);
	CHECK_EQ(cc_cap_client_submit(x.c, &e), EINVAL);
	site_close(&x);
}

/* So many, and no more than their completions have room for. */
TEST(client_bounds_what_is_on_its_way)
{
	const CCDomainOptions options = {.completions = 8, .submissions = 32};
	struct site x;
	CCCapSubmission e = nop_entry(3);
	CCCapCompletion c;
	CCParkStatus status = (CCParkStatus)77;

	site_open_with(&x, &options);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(cc_cap_client_submit(x.c, &e), 0);
	CHECK_EQ(cc_cap_client_submit(x.c, &e), EAGAIN);
	/* The ring is full of them, and who comes behind makes room. */
	CHECK_EQ(cc_cap_client_park(x.c, x.s, x.w.space, x.w.word, 0, 0, &status), 0);
	CHECK_EQ(status, CC_PARK_TIMED_OUT);
	CHECK_EQ(unpark(&x, x.w.word, 1), 0);
	CHECK_EQ(cc_cap_client_submit(x.c, &e), EAGAIN);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(cc_cap_client_next(x.c, x.s, &c), 0);
	CHECK_EQ(cc_cap_client_submit(x.c, &e), 0);
	CHECK_EQ(cc_cap_client_next(x.c, x.s, &c), 0);
	site_close(&x);
}

/* A sibling reads a completion before its owner comes back: it is found in the slot. */
TEST(client_finds_what_a_sibling_has_read)	/* covers: PRK-41/f, PRK-40/s, PRK-37/s */
{
	enum { SLEEPERS = 20 };
	CCRuntime *rt = test_runtime_of(2);
	struct parker p[SLEEPERS];
	struct site x;

	site_open_with(&x, NULL);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < SLEEPERS; i++)
			start(&p[i], rt, kinds[i % 2], &x, &x.w.word[i % 4]);
		TEST_UNTIL(ledger(x.w.d).waits == SLEEPERS);
		/* Each wake reads all that is there, its waiters' completions first. */
		for (int i = 0; i < 4; i++)
			CHECK_EQ(unpark(&x, &x.w.word[i], SLEEPERS), SLEEPERS / 4);
		for (int i = 0; i < SLEEPERS; i++) {
			CHECK_EQ(sleeper_join(&p[i].s), 0);
			CHECK_EQ(p[i].status, CC_PARK_WOKEN);
		}
	}
	site_close(&x);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- no lock is held while one sleeps ---- */

static CCCapClient *watched;
static cc__a32 lists, held;

/* Somebody is listed, about to sleep: by whom is not known here, so the client's lock is
 * looked at when only one strand uses it. */
static void on_event(enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	(void)who, (void)a, (void)b;
	if (kind != CC__EV_LIST || watched == NULL)
		return;
	cc__add(&lists, 1, CC__RELAXED);
	if (cc__load(&watched->lock.word, CC__RELAXED) != 0)
		cc__add(&held, 1, CC__RELAXED);
}

TEST(client_lets_go_before_it_enters)	/* covers: PRK-38/t */
{
	struct site x;

	site_open_with(&x, NULL);
	watched = x.c;
	cc__watch_log(on_event);
	cc__watch(CC__WATCH_LOG);
	for (int i = 0; i < 20; i++) {
		CCParkStatus status = (CCParkStatus)77;

		CHECK_EQ(cc_cap_client_park(x.c, x.s, x.w.space, x.w.word, 0, 1000, &status), 0);
		CHECK_EQ(status, CC_PARK_TIMED_OUT);
	}
	cc__watch(0);
	watched = NULL;
	CHECK_EQ(cc__load(&lists, CC__RELAXED), 20);
	CHECK_EQ(cc__load(&held, CC__RELAXED), 0);
	site_close(&x);
}

/* ---- a crowd ---- */

enum { ROUNDS = 300, WAITERS = 6, WAKERS = 2 };

struct crowd {
	struct site site;
	cc__a32 word[2];	/* mapped; counts up */
	cc__a32 done;		/* waiters that are through */
	cc__a32 number;
};

/* Waits for each number. */
static int crowd_waiter(void *arg)
{
	struct crowd *c = arg;
	CCStrand *s = joined(c->site.w.d);
	cc__a32 *word = &c->word[cc__add(&c->number, 1, CC__RELAXED) % 2];
	int err = 0;

	for (uint32_t seen; (seen = cc__load(word, CC__ACQUIRE)) < ROUNDS && err == 0;) {
		CCParkStatus status = CC_PARK_TIMED_OUT;

		err = cc_cap_client_park(c->site.c, s, c->site.w.space, &word->raw, seen,
		                         seen % 3 == 0 ? (uint64_t)CC_MSEC : CC_CAP_NEVER, &status);
		if (err == EAGAIN)
			err = 0;
	}
	cc__add(&c->done, 1, CC__RELEASE);
	cc_domain_leave(s);
	return err;
}

/* After the last number is out, wakes until all are through. */
static int crowd_waker(void *arg)
{
	struct crowd *c = arg;
	CCStrand *s = joined(c->site.w.d);
	int err = 0;

	while (cc__load(&c->done, CC__ACQUIRE) < WAITERS && err == 0)
		for (int i = 0; i < 2 && err == 0; i++) {
			if (cc__load(&c->word[i], CC__RELAXED) < ROUNDS)
				cc__add(&c->word[i], 1, CC__RELEASE);
			err = cc_cap_client_unpark(c->site.c, s, c->site.w.space, &c->word[i].raw, 9,
			                           NULL);
		}
	cc_domain_leave(s);
	return err;
}

TEST(client_crowd)	/* covers: PRK-37/s, PRK-38/s, PRK-40/s, PRK-83/s, PRK-28/s */
{
	static struct crowd c;
	CCRuntime *rt = test_runtime_of(2);
	struct sleeper s[WAITERS + WAKERS];

	memset(&c, 0, sizeof c);
	site_open_with(&c.site, NULL);
	CHECK_EQ(cc_domain_map(c.site.w.d, c.word, sizeof c.word, CC_CAP_READ), 0);
	for (int i = 0; i < WAITERS + WAKERS; i++)
		sleeper_start(&s[i], rt, kinds[i % 2], i < WAITERS ? crowd_waiter : crowd_waker, &c);
	for (int i = 0; i < WAITERS + WAKERS; i++)
		CHECK_EQ(sleeper_join(&s[i]), 0);
	site_close(&c.site);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
