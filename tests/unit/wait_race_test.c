/* wait_race_test.c - park and wake raced for real: one sleeper and many wakers,
 * timeout against wake against cancel, selects, joins, stacks.
 * ctest-label: race
 *
 * WAIT_RACE_ROUNDS=N asks for N rounds of each combination of the park race, as far as
 * there is time for them (test_has_time);
 * WAIT_DUEL_ROUNDS, WAIT_SELECT_ROUNDS, WAIT_JOIN_ROUNDS, WAIT_RING_ROUNDS and
 * WAIT_LITMUS_ROUNDS are those of the others.  Nothing here wakes a sleeper in time by
 * accident: idle workers sleep for ever, and a wake that is lost is waited for
 * until the watchdog of the test (TEST_TIMEOUT) has seen enough. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/point.h"
#include "sleepers.h"
#include "waitables.h"

static unsigned rounds_from(const char *variable, unsigned otherwise)
{
	const char *text = getenv(variable);
	const unsigned n = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 0;

	return n > 0 ? n : test_rounds(otherwise);
}

static unsigned below(uint64_t *seed, unsigned n)
{
	return (unsigned)(test_random(seed) % n);
}

/* ---- one core or all ---- */

static cpu_set_t all_cpus;

__attribute__((constructor)) static void learn_cpus(void)
{
	sched_getaffinity(0, sizeof all_cpus, &all_cpus);
}

/* For us, and for threads that are started from now on. */
static void pin(bool one)
{
	const cpu_set_t first = first_cpu(&all_cpus);

	CHECK_EQ(sched_setaffinity(0, sizeof first, one ? &first : &all_cpus), 0);
}

/* ---- what the race points see of the one sleeper ---- */

static struct {
	CC__ATOMIC(struct cc__parker *) who;
	cc__a64 commits, notified;	/* by the thread it runs on */
	cc__a64 claims, held;		/* by wakers */
	uint64_t seed;			/* that thread's */
} seen;

#ifdef CC__POINTS
static void at_point(const char *label, const void *object)
{
	if (object != cc__load(&seen.who, CC__ACQUIRE))
		return;
	if (strcmp(label, "park.after_commit") == 0)
		cc__add(&seen.commits, 1, CC__RELAXED);
	else if (strcmp(label, "park.notified") == 0)
		cc__add(&seen.notified, 1, CC__RELAXED);
	else if (strcmp(label, "wake.claimed") == 0)
		cc__add(&seen.claims, 1, CC__RELAXED);
	else if (strcmp(label, "park.before_commit") == 0 && below(&seen.seed, 4) == 0)
		sched_yield();		/* on one core a waker gets in here only so */
	else if (strcmp(label, "wake.before_claim") == 0 &&
	         cc__add(&seen.held, 1, CC__RELAXED) % 8 == 0)
		sched_yield();		/* another waker claims what this one has read */
}

__attribute__((constructor)) static void set_hook(void)
{
	cc__point_hook = at_point;
}
#endif

/* ---- park against unpark ---- */

enum { WAKERS_MAX = 8 };

struct race {
	unsigned rounds, wakers;	/* as many as were, in the end: the sleeper's */
	cc__a32 want;			/* the round that the sleeper is in */
	cc__a32 flag;			/* the last round that was ended */
	cc__a32 stop, done;
	cc__a64 changes;		/* of the flag */
	CC__ATOMIC(struct cc__parker *) who;
	unsigned parked, notified;	/* rounds in which it was; the sleeper's */
	uint64_t resumes;		/* after a commit; the sleeper's */
};

static int race_sleeper(void *arg)
{
	struct race *r = arg;
	struct cc__parker *self = cc__self();
	uint64_t seed = test_seed();
	uint32_t round;

	cc__store(&seen.who, self, CC__SEQ_CST);
	cc__store(&r->who, self, CC__SEQ_CST);
	for (round = 1; round <= r->rounds && test_has_time(); round++) {
		const uint64_t commits = cc__load(&seen.commits, CC__RELAXED);
		const uint64_t notified = cc__load(&seen.notified, CC__RELAXED);

		cc__store(&r->want, round, CC__SEQ_CST);
		for (unsigned n = below(&seed, 64); n > 0; n--)
			cc__relax();
		while (cc__load(&r->flag, CC__SEQ_CST) != round) {
			const uint64_t before = cc__load(&seen.commits, CC__RELAXED);

			cc__park_if(&r->flag, round - 1);
			r->resumes += cc__load(&seen.commits, CC__RELAXED) - before;
		}
		r->parked += cc__load(&seen.commits, CC__RELAXED) != commits;
		r->notified += cc__load(&seen.notified, CC__RELAXED) != notified;
	}
	r->rounds = round - 1;
	cc__store(&r->done, 1, CC__SEQ_CST);
	cc__futex_wake(&r->done, 1);
	return 0;
}

struct waker {
	struct race *race;
	unsigned number;
	pthread_t thread;
};

/* Whoever is first to see that a round is on ends it and unparks; the others
 * unpark for nothing now and then. */
static void *race_waker(void *arg)
{
	struct waker *k = arg;
	struct race *r = k->race;
	uint64_t seed = test_seed() + k->number + 1;

	while (cc__load(&r->stop, CC__RELAXED) == 0) {
		struct cc__parker *who = cc__load(&r->who, CC__ACQUIRE);
		const uint32_t want = cc__load(&r->want, CC__ACQUIRE);
		uint32_t flag = want - 1;
		bool ours = false;

		if (who == NULL || cc__load(&r->flag, CC__RELAXED) == want) {
			if (who != NULL && below(&seed, 4) == 0)
				cc__unpark(who);
			sched_yield();
			continue;
		}
		if (below(&seed, 8) == 0)
			sched_yield();
		for (unsigned n = below(&seed, 128); n > 0; n--)
			cc__relax();
		ours = cc__cas(&r->flag, &flag, want, CC__SEQ_CST, CC__RELAXED);
		if (ours)
			cc__add(&r->changes, 1, CC__RELAXED);
		if (ours || below(&seed, 2) == 0)
			cc__unpark(who);
	}
	return NULL;
}

/* Until the sleeper is through; the number of wakes it had to be given. */
static unsigned watch_over(struct race *r)
{
	unsigned lost = 0;

	while (cc__load(&r->done, CC__ACQUIRE) == 0) {
		const uint32_t before = cc__load(&r->want, CC__ACQUIRE);
		const cc_time patience = 10 * CC_SEC * test_slowness();

		if (cc__futex_wait(&r->done, 0, cc_now() + patience) != ETIMEDOUT ||
		    cc__load(&r->want, CC__ACQUIRE) != before)
			continue;
		lost++;
		printf("      round %u: lost, code %d\n", before, cc__word_code(word_of(r->who.raw)));
		cc__unpark(cc__load(&r->who, CC__ACQUIRE));
	}
	return lost;
}

static void report(const struct race *r, const char *name, unsigned lost)
{
	const unsigned long long claims = cc__load(&seen.claims, CC__RELAXED);

#ifdef CC__POINTS
	/* How often they met in few rounds depends on what else the machine does. */
	const unsigned enough = r->rounds < 10000 ? 0 : r->rounds / 100;

	printf("race %-24s rounds %u parked %.1f%% notified %.1f%% lost %u enqueues %llu "
	       "resumes %llu\n", name, r->rounds, 100.0 * r->parked / r->rounds,
	       100.0 * r->notified / r->rounds, lost, claims, (unsigned long long)r->resumes);
	CHECK_EQ(claims, r->resumes);
	CHECK_EQ(cc__load(&seen.commits, CC__RELAXED), r->resumes);
	CHECK(r->parked > enough);
	CHECK(r->notified > enough);
#else
	printf("race %-24s rounds %u lost %u (no race points in this build: nothing counted)\n",
	       name, r->rounds, lost);
	(void)claims;
#endif
}

static void race(const char *name, enum kind kind, unsigned wakers, bool one_core)
{
	struct race r = {.rounds = rounds_from("WAIT_RACE_ROUNDS", 20000), .wakers = wakers};
	struct waker k[WAKERS_MAX];
	struct sleeper s;
	unsigned lost;
	CCRuntime *rt;

	cc__store(&seen.who, NULL, CC__RELAXED);
	cc__store(&seen.commits, 0, CC__RELAXED);
	cc__store(&seen.notified, 0, CC__RELAXED);
	cc__store(&seen.claims, 0, CC__RELAXED);
	seen.seed = test_seed();
	pin(one_core);
	rt = test_runtime();
	sleeper_start(&s, rt, kind, race_sleeper, &r);
	for (unsigned i = 0; i < wakers; i++) {
		k[i] = (struct waker){.race = &r, .number = i};
		CHECK_EQ(pthread_create(&k[i].thread, NULL, race_waker, &k[i]), 0);
	}
	lost = watch_over(&r);
	cc__store(&r.stop, 1, CC__RELAXED);
	for (unsigned i = 0; i < wakers; i++)
		pthread_join(k[i].thread, NULL);
	CHECK_EQ(sleeper_join(&s), 0);
	cc__store(&seen.who, NULL, CC__RELEASE);
	CHECK_EQ(cc_runtime_free(rt), 0);
	pin(false);
	CHECK_EQ(lost, 0);
	CHECK_EQ(cc__load(&r.changes, CC__RELAXED), r.rounds);
	report(&r, name, lost);
}

#define RACE(kind, word, wakers) \
	TEST(park_of_a_##word##_against_##wakers##_wakers) \
	{ \
		race(#word " " #wakers " two cores", kind, wakers, false); \
	} \
	TEST(park_of_a_##word##_against_##wakers##_wakers_on_one_core) \
	{ \
		race(#word " " #wakers " one core", kind, wakers, true); \
	}

/* covers: SCH-30/s, SCH-40/s, LIF-18/s, LIF-36/s, SCH-10/s */
RACE(FIBER, fiber, 2)
RACE(FIBER, fiber, 4)
RACE(FIBER, fiber, 8)
RACE(THREAD, thread, 2)
RACE(THREAD, thread, 4)
RACE(THREAD, thread, 8)

/* ---- timeout, wake and cancel ---- */

struct duel {
	unsigned rounds;
	struct cc__waitq q;
	cc__a32 cancel;
	cc__a64 deadline;
	cc__a32 favoured;		/* the dueller whose round it is; above 3: everybody's */
	cc__a32 round;			/* that is on; ~0: it is all over */
	CC__ATOMIC(struct cc__parker *) who;
	unsigned data, cancelled, timed_out, wrong;	/* the sleeper's */
	uint64_t sum;			/* of what it got */
	unsigned taken;			/* the waker's */
	uint64_t sum_taken;
};

enum { TOKENS = 1000 };			/* results from here on are data */
enum { DUEL_WAKER = 1, DUEL_CANCELLER, DUEL_TIMER };

static int duel_sleeper(void *arg)
{
	struct duel *d = arg;
	uint64_t seed = test_seed();
	uint32_t round;

	cc__store(&d->who, cc__self(), CC__RELEASE);
	for (round = 1; round <= d->rounds && test_has_time(); round++) {
		/* Some rounds are one party's alone, so that each kind of end is seen
		 * however the machine schedules; the others are raced for. */
		const uint32_t favoured = below(&seed, 16) + 1;
		const cc_time deadline =
		    favoured < DUEL_TIMER ? CC_FOREVER : cc_now() + below(&seed, 20000);
		struct cc__waiter w = {.cancel = &d->cancel};
		int result;

		cc__store(&d->cancel, 0, CC__SEQ_CST);
		cc__store(&d->favoured, favoured, CC__RELAXED);
		cc__store(&d->deadline, (uint64_t)deadline, CC__RELAXED);
		cc__store(&d->round, round, CC__SEQ_CST);
		cc__lock(&d->q.lock, CC__RANK_WAITQ);
		result = cc__wait(&d->q, &w, deadline);
		d->wrong += w.next != NULL;
		if (result >= TOKENS) {
			d->data++;
			d->sum += (unsigned)result;
			d->wrong += cc__load(&w.reason, CC__ACQUIRE) != CC__REASON_DATA;
			continue;
		}
		d->wrong += cc__load(&w.reason, CC__ACQUIRE) != CC__REASON_NONE;
		if (result == ECANCELED)
			d->wrong += cc__load(&d->cancel, CC__SEQ_CST) == 0;
		else if (result == ETIMEDOUT)
			d->wrong += cc_now() < deadline;
		else
			d->wrong++;
		d->cancelled += result == ECANCELED;
		d->timed_out += result == ETIMEDOUT;
	}
	d->rounds = round - 1;
	cc__store(&d->round, UINT32_MAX, CC__SEQ_CST);
	return 0;
}

struct dueller {
	struct duel *duel;
	unsigned number;
};

/* The next round that is `number`'s too, a random moment in it; false: none. */
static bool next_round(struct duel *d, unsigned number, uint32_t *last, uint64_t *seed)
{
	uint32_t round, favoured;

	do {
		while ((round = cc__load(&d->round, CC__ACQUIRE)) == *last || round == 0)
			sched_yield();
		*last = round;
		favoured = cc__load(&d->favoured, CC__RELAXED);
	} while (round != UINT32_MAX && favoured <= DUEL_TIMER && favoured != number);
	if (below(seed, 4) == 0)
		sched_yield();
	for (unsigned n = below(seed, 512); n > 0; n--)
		cc__relax();
	return round != UINT32_MAX;
}

static void *duel_waker(void *arg)
{
	struct dueller *me = arg;
	struct duel *d = me->duel;
	uint64_t seed = test_seed() + me->number;
	uint32_t round = 0;

	while (next_round(d, me->number, &round, &seed)) {
		const int token = TOKENS + (int)below(&seed, 1000000);
		bool taken;

		/* Alone, it comes back until the sleeper is listed. */
		while (!(taken = cc__wake_one(&d->q, CC__REASON_DATA, token)) &&
		       cc__load(&d->favoured, CC__RELAXED) == DUEL_WAKER &&
		       cc__load(&d->round, CC__RELAXED) == round)
			sched_yield();
		if (taken) {
			d->taken++;
			d->sum_taken += (unsigned)token;
		}
	}
	return NULL;
}

static void *duel_canceller(void *arg)
{
	struct dueller *me = arg;
	struct duel *d = me->duel;
	uint64_t seed = test_seed() + me->number;
	uint32_t round = 0;

	while (next_round(d, me->number, &round, &seed)) {
		cc__store(&d->cancel, 1, CC__SEQ_CST);
		cc__unpark(cc__load(&d->who, CC__ACQUIRE));
	}
	return NULL;
}

/* Plays the timer: wakes that wait when its time has come. */
static void *duel_timer(void *arg)
{
	struct dueller *me = arg;
	struct duel *d = me->duel;
	uint64_t seed = test_seed() + me->number;
	uint32_t round = 0;

	while (next_round(d, me->number, &round, &seed)) {
		struct cc__parker *who = NULL;
		uint64_t ticket = 0;

		cc__lock(&d->q.lock, CC__RANK_WAITQ);
		if (d->q.head != NULL) {
			who = d->q.head->who;
			ticket = d->q.head->ticket;
		}
		cc__unlock(&d->q.lock);
		while (cc_now() < (cc_time)cc__load(&d->deadline, CC__RELAXED) &&
		       cc__load(&d->round, CC__RELAXED) == round)
			sched_yield();
		if (who != NULL)
			cc__fiber_wake(who, ticket);
	}
	return NULL;
}

static void duel(enum kind kind, const char *name)
{
	static void *(*const mains[])(void *) = {duel_waker, duel_canceller, duel_timer};
	struct duel d = {.rounds = rounds_from("WAIT_DUEL_ROUNDS", 20000)};
	struct dueller k[3];
	pthread_t thread[3];
	struct sleeper s;
	CCRuntime *rt = test_runtime();

	test_seed();
	sleeper_start(&s, rt, kind, duel_sleeper, &d);
	for (unsigned i = 0; i < 3; i++) {
		k[i] = (struct dueller){&d, i + 1};
		CHECK_EQ(pthread_create(&thread[i], NULL, mains[i], &k[i]), 0);
	}
	CHECK_EQ(sleeper_join(&s), 0);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	printf("duel %-7s rounds %u data %u cancelled %u timed out %u taken %u wrong %u\n", name,
	       d.rounds, d.data, d.cancelled, d.timed_out, d.taken, d.wrong);
	CHECK_EQ(d.data + d.cancelled + d.timed_out, d.rounds);
	CHECK_EQ(d.data, d.taken);
	CHECK_EQ(d.sum, d.sum_taken);
	CHECK_EQ(d.wrong, 0);
	CHECK(d.data > 0 && d.cancelled > 0 && d.timed_out > 0);
	CHECK(d.q.head == NULL);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(timeout_wake_and_cancel_of_a_fiber)	/* covers: SCH-13/sz, LIF-36/s */
{
	duel(FIBER, "fiber");
}

TEST(timeout_wake_and_cancel_of_a_thread)	/* covers: SCH-13/sz */
{
	duel(THREAD, "thread");
}

/* ---- select ---- */

enum { OBJECTS = 3, SELECTORS = 4 };

struct bazaar {
	unsigned rounds;		/* a selector */
	struct sem sem[OBJECTS];
	cc__a32 left;			/* selectors at work */
	cc__a32 early;			/* of them, in their first round: nothing is sold yet */
	cc__a64 posts;
};

struct selector {
	struct bazaar *b;
	unsigned number;
	unsigned wins, timeouts, wrong;
	struct sleeper s;
};

static int select_once(struct selector *me, cc_time deadline, uint32_t *winner)
{
	struct cc__case cases[OBJECTS];
	struct cc__group g = {0};
	int err = 0;
	bool listed = true;

	for (unsigned i = 0; i < OBJECTS; i++)
		cases[i] = (struct cc__case){.object = &me->b->sem[i], .ops = &sem_ops};
	CHECK_EQ(cc__group_begin(&g, cases, OBJECTS), 0);
	for (unsigned i = 0; i < OBJECTS && listed; i++)
		listed = sem_publish(cases[i].object, &cases[i].w);
	err = listed ? cc__group_sleep(&g, cases, OBJECTS, deadline, winner)
	             : cc__group_give_up(&g, cases, OBJECTS, winner);
	for (unsigned i = 0; i < OBJECTS; i++)
		me->wrong += cases[i].w.next != NULL;
	return err;
}

static int selector_main(void *arg)
{
	struct selector *me = arg;
	uint64_t seed = test_seed() + me->number;

	for (unsigned i = 0; i == 0 || (i < me->b->rounds && test_has_time()); i++) {
		const bool hurry = i == 0 || below(&seed, 4) == 0;
		uint32_t winner = 99;
		int err = select_once(me, hurry ? cc_now() + below(&seed, 5000) : CC_FOREVER,
		                      &winner);

		me->wins += err == 0;
		me->timeouts += err == ETIMEDOUT;
		me->wrong += err == 0 ? winner >= OBJECTS : err != ETIMEDOUT || winner != OBJECTS;
		if (i == 0)
			cc__sub(&me->b->early, 1, CC__RELEASE);
	}
	cc__sub(&me->b->left, 1, CC__RELEASE);
	return 0;
}

/* Keeps the stalls from running empty, whatever the selectors do. */
static void *merchant(void *arg)
{
	struct bazaar *b = arg;
	uint64_t seed = test_seed() ^ (uintptr_t)&seed;

	while (cc__load(&b->early, CC__ACQUIRE) != 0)
		sched_yield();
	while (cc__load(&b->left, CC__ACQUIRE) != 0) {
		sem_post(&b->sem[below(&seed, OBJECTS)]);
		cc__add(&b->posts, 1, CC__RELAXED);
		for (unsigned n = below(&seed, 256); n > 0; n--)
			cc__relax();
		sched_yield();
	}
	return NULL;
}

TEST(selects_leave_no_node_behind_and_lose_no_post)	/* covers: SCH-46/sz, LIF-66/z */
{
	struct bazaar b = {.rounds = rounds_from("WAIT_SELECT_ROUNDS", 10000) / SELECTORS,
	                   .left = {SELECTORS}, .early = {SELECTORS}};
	struct selector s[SELECTORS] = {{0}};
	pthread_t thread[2];
	CCRuntime *rt = test_runtime();
	unsigned long long wins = 0, timeouts = 0, left = 0;

	test_seed();
	for (unsigned i = 0; i < SELECTORS; i++) {
		s[i] = (struct selector){.b = &b, .number = i};
		sleeper_start(&s[i].s, rt, (enum kind)(i % KINDS), selector_main, &s[i]);
	}
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, merchant, &b), 0);
	for (unsigned i = 0; i < SELECTORS; i++) {
		CHECK_EQ(sleeper_join(&s[i].s), 0);
		CHECK_EQ(s[i].wrong, 0);
		wins += s[i].wins;
		timeouts += s[i].timeouts;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < OBJECTS; i++) {
		CHECK(b.sem[i].q.head == NULL);
		left += (unsigned)b.sem[i].count;
	}
	printf("select won %llu timed out %llu posts left %llu\n", wins, timeouts, left);
	CHECK_EQ(wins + left, cc__load(&b.posts, CC__RELAXED));
	CHECK(wins > 0 && timeouts >= SELECTORS);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- join ---- */

enum { JOINERS = 6 };

struct finish {
	unsigned rounds;
	CCTask task;			/* of this round, as the next two */
	unsigned crowd;			/* joiners to wait for before it ends, ... */
	unsigned spin;			/* ... and how long after that */
	cc__a32 round, coming, arrived, told;
	cc__a32 over;			/* there is no such round */
};

static int finish_soon(void *arg)
{
	struct finish *f = arg;

	while (cc__load(&f->coming, CC__RELAXED) < f->crowd)
		cc_yield();
	for (unsigned n = f->spin; n > 0; n--)
		cc__relax();
	return 42;
}

static int join_each(void *arg)
{
	struct finish *f = arg;

	for (uint32_t round = 1;; round++) {
		int result = -1, err;

		TEST_UNTIL(cc__load(&f->round, CC__ACQUIRE) >= round || (cc_yield(), false));
		if (cc__load(&f->over, CC__RELAXED) != 0)
			return 0;
		cc__add(&f->coming, 1, CC__RELAXED);
		err = cc_task_join(f->task, CC_FOREVER, &result);
		CHECK(err == 0 || err == EINVAL);
		CHECK_EQ(result, err == 0 ? 42 : -1);
		cc__add(&f->told, err == 0, CC__RELAXED);
		cc__add(&f->arrived, 1, CC__ACQ_REL);
	}
}

/* Whoever is listed before the end gets the result; who comes after the frame
 * was given back finds a stale handle; and somebody gets it. */
TEST(joiners_against_the_end)	/* covers: SCH-48/s, SCH-50/s, RES-14/s, RES-60/s */
{
	struct finish f = {.rounds = rounds_from("WAIT_JOIN_ROUNDS", 1500)};
	struct sleeper s[JOINERS];
	CCRuntime *rt = test_runtime(), *other = test_runtime();
	uint64_t seed = test_seed();
	unsigned long long told = 0;
	uint32_t round;

	for (unsigned i = 0; i < JOINERS; i++)
		sleeper_start(&s[i], other, (enum kind)(i % KINDS), join_each, &f);
	for (round = 1; round <= f.rounds && test_has_time(); round++) {
		uint32_t n;

		f.crowd = below(&seed, JOINERS + 1);
		f.spin = below(&seed, 2000);
		cc__store(&f.coming, 0, CC__RELAXED);
		CHECK_EQ(cc_task_spawn(rt, &f.task, NULL, finish_soon, &f), 0);
		cc__store(&f.round, round, CC__RELEASE);
		TEST_UNTIL(cc__load(&f.arrived, CC__ACQUIRE) == JOINERS);
		cc__store(&f.arrived, 0, CC__RELAXED);
		n = cc__xchg(&f.told, 0, CC__RELAXED);
		CHECK(n >= 1);
		told += n;
		CHECK_EQ(cc_task_join(f.task, CC_FOREVER, NULL), EINVAL);
	}
	f.rounds = round - 1;
	cc__store(&f.over, 1, CC__RELAXED);
	cc__store(&f.round, round, CC__RELEASE);
	for (unsigned i = 0; i < JOINERS; i++)
		CHECK_EQ(sleeper_join(&s[i]), 0);
	printf("join rounds %u joiners %u told %.2f a round\n", f.rounds, JOINERS,
	       (double)told / f.rounds);
	CHECK(told > f.rounds);		/* both kinds of joiner were there */
	CHECK(told < (unsigned long long)f.rounds * JOINERS);
	CHECK_EQ(cc_runtime_free(other), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- one thread on one stack ---- */

enum { RING = 16, BATONS = 4 };

struct ring {
	unsigned laps;
	cc__a32 over;			/* this is the last one */
	struct sem sem[RING];
};

struct runner {
	struct ring *ring;
	unsigned number;
	unsigned wrong;
	struct sleeper s;
};

/* The stamp stands on the runner's stack: 0 while it is away. */
static int runner_main(void *arg)
{
	struct runner *me = arg;
	cc__a32 stamp = {(uint32_t)gettid()};

	for (unsigned i = 0; i < me->ring->laps && cc__load(&me->ring->over, CC__RELAXED) == 0; i++) {
		if (!test_has_time())
			cc__store(&me->ring->over, 1, CC__RELAXED);
		me->wrong += cc__xchg(&stamp, 0, CC__ACQ_REL) != (uint32_t)gettid();
		me->wrong += sem_wait(&me->ring->sem[me->number], CC_FOREVER) != 0;
		me->wrong += cc__xchg(&stamp, (uint32_t)gettid(), CC__ACQ_REL) != 0;
		sem_post(&me->ring->sem[(me->number + 1) % RING]);
	}
	sem_post(&me->ring->sem[(me->number + 1) % RING]);	/* or it waits for us */
	return 0;
}

/* Two runtimes, so that each wake crosses from one worker to the other. */
TEST(nobody_else_runs_on_a_fibers_stack)	/* covers: SCH-08/s */
{
	struct ring ring = {.laps = rounds_from("WAIT_RING_ROUNDS", 20000) / RING};
	struct runner r[RING];
	CCRuntime *rt[2] = {test_runtime(), test_runtime()};

	for (unsigned i = 0; i < RING; i++) {
		r[i] = (struct runner){.ring = &ring, .number = i};
		sleeper_start(&r[i].s, rt[i % 2], FIBER, runner_main, &r[i]);
	}
	for (unsigned i = 0; i < BATONS; i++)
		sem_post(&ring.sem[i * (RING / BATONS)]);
	for (unsigned i = 0; i < RING; i++) {
		CHECK_EQ(sleeper_join(&r[i].s), 0);
		CHECK_EQ(r[i].wrong, 0);
	}
	CHECK_EQ(cc_runtime_free(rt[0]), 0);
	CHECK_EQ(cc_runtime_free(rt[1]), 0);
}

/* ---- the store buffer ---- */

enum { PAIRS = 256 };

struct pair {
	_Alignas(64) cc__a32 x;
	_Alignas(64) cc__a32 y;
	uint32_t saw[2];		/* thread i's */
};

struct litmus {
	unsigned rounds;		/* done; thread 0's, between two meetings, as is the next */
	bool over;
	bool strong;
	cc__a32 here;			/* arrivals, ever */
	unsigned missed;		/* pairs in which neither saw the other; thread 0's */
	struct pair pair[PAIRS];
};

struct half {
	struct litmus *l;
	unsigned number;
};

/* Both have arrived `n` times. */
static void meet(struct litmus *l, uint32_t n)
{
	unsigned turns = 0;

	cc__add(&l->here, 1, CC__ACQ_REL);
	while (cc__load(&l->here, CC__ACQUIRE) < 2 * n)
		if (++turns % 1024 == 0)
			sched_yield();
		else
			cc__relax();
}

static void store_and_look(const struct litmus *l, struct pair *p, unsigned number)
{
	cc__a32 *mine = number == 0 ? &p->x : &p->y, *other = number == 0 ? &p->y : &p->x;

	if (l->strong) {
		cc__store(mine, 1, CC__SEQ_CST);
		p->saw[number] = cc__load(other, CC__SEQ_CST);
	} else {
		cc__store(mine, 1, CC__RELEASE);
		p->saw[number] = cc__load(other, CC__ACQUIRE);
	}
}

static unsigned litmus_rounds(void)
{
	return rounds_from("WAIT_LITMUS_ROUNDS", 1000);
}

static void *litmus_half(void *arg)
{
	struct half *h = arg;
	struct litmus *l = h->l;

	for (uint32_t round = 0; !l->over; round++) {
		meet(l, 3 * round + 1);
		for (unsigned i = 0; i < PAIRS; i++)
			store_and_look(l, &l->pair[i], h->number);
		meet(l, 3 * round + 2);
		for (unsigned i = 0; i < PAIRS && h->number == 0; i++) {
			l->missed += l->pair[i].saw[0] == 0 && l->pair[i].saw[1] == 0;
			cc__store(&l->pair[i].x, 0, CC__RELAXED);
			cc__store(&l->pair[i].y, 0, CC__RELAXED);
		}
		if (h->number == 0)
			l->over = ++l->rounds == litmus_rounds() || !test_has_time();
		meet(l, 3 * round + 3);
	}
	return NULL;
}

/* "Store mine, then read the other's" wants seq_cst on both sides. */
TEST(store_buffer_litmus)	/* covers: SCH-18/s */
{
	static struct litmus l;

	for (int strong = 0; strong < 2; strong++) {
		struct half h[2] = {{&l, 0}, {&l, 1}};
		pthread_t thread[2];

		l = (struct litmus){.strong = strong != 0};
		for (int i = 0; i < 2; i++)
			CHECK_EQ(pthread_create(&thread[i], NULL, litmus_half, &h[i]), 0);
		for (int i = 0; i < 2; i++)
			pthread_join(thread[i], NULL);
		printf("store buffer %s: %u of %u missed\n",
		       strong ? "seq_cst" : "release/acquire", l.missed, l.rounds * PAIRS);
		/* An emulator may let the CPU below reorder what it must not. */
		if (strong && getenv("TEST_EMULATED") == NULL)
			CHECK_EQ(l.missed, 0);
	}
}
