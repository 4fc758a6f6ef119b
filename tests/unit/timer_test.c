/* timer_test.c - the wheel of time/timer.h against a list of what is armed.
 * ctest-label: valgrind */
#include "test.h"

#include <limits.h>
#include <string.h>
#include <sys/wait.h>

#include "time/timer.h"

enum { UNIT = CC__TIMER_UNIT };

/* ---- what holds of a wheel at any time ---- */

/* The nodes of a list, or -1 if a link is broken. */
static long length(struct cc__timer *const *from)
{
	long n = 0;

	for (; *from != NULL; from = &(*from)->next, n++)
		if (cc__load(&(*from)->from, CC__RELAXED) != from)
			return -1;
	return n;
}

static uint64_t unit_of(cc_time deadline)
{
	return deadline <= 0 ? 0 : ((uint64_t)deadline + UNIT - 1) / UNIT;
}

/* All of a slot's are later than the wheel, for the first time in this digit. */
static bool slot_is_sound(const struct cc__timers *h, unsigned level, unsigned digit)
{
	const struct cc__timer_slot *slot = &h->slot[level * CC__TIMER_SLOTS + digit];
	const unsigned shift = level * 6;

	for (const struct cc__timer *t = slot->first; t != NULL; t = t->next) {
		const uint64_t unit = unit_of(t->deadline);

		if (unit >> shift >> 6 != h->at >> shift >> 6 || (unit >> shift) % 64 != digit ||
		    (h->at >> shift) % 64 >= digit || (uint64_t)slot->earliest > unit * UNIT)
			return false;
	}
	return (slot->first != NULL) == (h->slots[level] >> digit & 1);
}

static bool wheel_is_sound(const struct cc__timers *h, long nodes)
{
	long n = length(&h->reached.first), more;

	for (unsigned level = 0; level < CC__TIMER_LEVELS; level++) {
		if ((h->slots[level] != 0) != (h->levels >> level & 1))
			return false;
		for (unsigned digit = 0; digit < CC__TIMER_SLOTS; digit++) {
			more = length(&h->slot[level * CC__TIMER_SLOTS + digit].first);
			if (more < 0 || !slot_is_sound(h, level, digit))
				return false;
			n += more;
		}
	}
	return n == nodes && (n == 0 || cc__timers_earliest(h) != CC_FOREVER);
}

/* ---- many, at random ---- */

enum { NODES = 400, OPERATIONS = 60000 };

struct world {
	struct cc__timers wheel;
	struct cc__timer node[NODES];
	bool armed[NODES];
	bool was_late[NODES];	/* due when it was added: those have no order */
	long count;
	cc_time now, last;	/* what fired last was due then */
	cc_time until;		/* somebody who has looked, and was told since, sleeps (T4) */
};

static struct world world;

static cc_time due_of(const struct cc__timer *t)
{
	return (cc_time)unit_of(t->deadline) * UNIT;
}

static void fired(void *object, uint64_t i)
{
	struct world *w = object;
	const cc_time due = due_of(&w->node[i]);

	CHECK(w->armed[i] && !cc__timer_armed(&w->node[i]));
	CHECK(w->node[i].deadline <= w->now);
	if (!w->was_late[i]) {
		CHECK(due >= w->last);
		w->last = due;
	}
	w->armed[i] = false;
	w->count--;
}

/* Near and far, and now and then in the past: every level has its turn. */
static cc_time some_deadline(const struct world *w, uint64_t *random)
{
	const unsigned bits = (unsigned)(test_random(random) % 50);
	const cc_time span = (cc_time)(test_random(random) & (((uint64_t)1 << bits) - 1));

	return test_random(random) % 16 == 0 ? w->now - span / 2 : w->now + span;
}

static void flip(struct world *w, uint64_t *random)
{
	const unsigned i = (unsigned)(test_random(random) % NODES);
	struct cc__timer *t = &w->node[i];
	cc_time earliest = cc__timers_earliest(&w->wheel);
	bool first;

	CHECK_EQ(cc__timer_armed(t), w->armed[i]);
	if (w->armed[i]) {
		CHECK(cc__timers_remove(&w->wheel, t));
		w->count--;
	} else {
		*t = (struct cc__timer){some_deadline(w, random), NULL, {NULL}, w, i};
		first = cc__timers_add(&w->wheel, t, w->now);
		CHECK_EQ(first, due_of(t) < earliest);
		if (first && due_of(t) < w->until)
			w->until = due_of(t);
		CHECK(w->until <= due_of(t));
		w->was_late[i] = t->deadline <= w->now;
		w->count++;
	}
	w->armed[i] = !w->armed[i];
}

/* The clock goes on: by little, or by as much as the next needs, or by a lot. */
static void go_on(struct world *w, uint64_t *random)
{
	const cc_time earliest = cc__timers_earliest(&w->wheel);

	if (test_random(random) % 4 == 0 && earliest != CC_FOREVER && earliest > w->now)
		w->now = earliest;
	else
		w->now += (cc_time)(test_random(random) & (((uint64_t)1 << test_random(random) % 44) - 1));
	w->last = 0;
	cc__timers_run(&w->wheel, w->now, UINT_MAX, fired);
	w->until = cc__timers_earliest(&w->wheel);
	for (int i = 0; i < NODES; i++)
		CHECK(!w->armed[i] || unit_of(w->node[i].deadline) > (uint64_t)w->now / UNIT);
}

/* It goes on, nothing is due yet, and nobody looks: slots are reached by additions. */
static void pass(struct world *w, uint64_t *random)
{
	const cc_time left = cc__timers_earliest(&w->wheel) - w->now;

	if (left > 1)
		w->now += (cc_time)(test_random(random) % (uint64_t)left);
}

TEST(timers_agree_with_a_list)
{
	uint64_t random = test_seed();
	long most = 0;

	memset(&world, 0, sizeof world);
	cc__timers_init(&world.wheel);
	world.now = 1000 * CC_SEC;
	world.until = CC_FOREVER;
	for (unsigned i = 0; i < OPERATIONS / test_slowness(); i++) {
		if (test_random(&random) % 64 == 0)
			go_on(&world, &random);
		else if (test_random(&random) % 32 == 0 && world.count > 0)
			pass(&world, &random);
		else
			flip(&world, &random);
		most = world.count > most ? world.count : most;
		if (i % 50 == 0)
			REQUIRE(wheel_is_sound(&world.wheel, world.count));
	}
	CHECK(most > NODES / 4);
	world.now = CC_FOREVER - 2 * UNIT;
	world.last = 0;
	cc__timers_run(&world.wheel, world.now, UINT_MAX, fired);
	CHECK_EQ(world.count, 0);
	CHECK_EQ(cc__timers_earliest(&world.wheel), CC_FOREVER);
	REQUIRE(wheel_is_sound(&world.wheel, 0));
}

/* ---- one by one ---- */

struct fired {
	unsigned count;
	uint64_t values[64];
};

static void note(void *object, uint64_t value)
{
	struct fired *f = object;

	f->values[f->count++] = value;
}

/* In whatever order they were added: past, near, and on every level. */
TEST(timers_fire_in_order_what_has_expired)	/* covers: RES-39/u */
{
	enum { N = 40, FIRST = 34 };	/* more than one batch */
	struct fired f = {0};
	struct cc__timer t[N];
	struct cc__timers h;

	cc__timers_init(&h);
	CHECK_EQ(cc__timers_earliest(&h), CC_FOREVER);
	for (unsigned i = 0; i < N; i++) {
		const unsigned k = i * 7 % N;

		t[i] = (struct cc__timer){((cc_time)1 << k) * 2 * UNIT, NULL, {NULL}, &f, k};
		cc__timers_add(&h, &t[i], 0);
	}
	CHECK_EQ(cc__timers_earliest(&h), 2 * UNIT);
	CHECK(cc__timers_remove(&h, &t[0]));
	CHECK_EQ(cc__timers_earliest(&h), 2 * UNIT);	/* until somebody looks then */
	CHECK_EQ(cc__timers_run(&h, 4 * UNIT - 1, UINT_MAX, note), 0);
	CHECK_EQ(cc__timers_earliest(&h), 4 * UNIT);
	CHECK_EQ(cc__timers_run(&h, ((cc_time)1 << FIRST) * 2 * UNIT, UINT_MAX, note), FIRST);
	REQUIRE_EQ(f.count, FIRST);
	for (unsigned i = 0; i < f.count; i++)
		CHECK_EQ(f.values[i], i + 1);
	CHECK_EQ(cc__timers_earliest(&h), ((cc_time)1 << (FIRST + 1)) * 2 * UNIT);
	CHECK_EQ(cc__timers_run(&h, CC_FOREVER - 2 * UNIT, UINT_MAX, note), N - 1 - FIRST);
	CHECK_EQ(cc__timers_earliest(&h), CC_FOREVER);
}

TEST(timer_never_fires_early_and_at_most_a_unit_late)
{
	for (cc_time d = 5 * UNIT - 3; d <= 5 * UNIT + 3; d++) {
		struct fired f = {0};
		struct cc__timer t = {d, NULL, {NULL}, &f, 1};
		struct cc__timers h;

		cc__timers_init(&h);
		cc__timers_add(&h, &t, 0);
		CHECK(cc__timers_earliest(&h) >= d && cc__timers_earliest(&h) < d + UNIT);
		CHECK_EQ(cc__timers_run(&h, cc__timers_earliest(&h) - 1, 1, note), 0);
		CHECK_EQ(cc__timers_run(&h, cc__timers_earliest(&h), 1, note), 1);
	}
}

TEST(timers_of_the_past_and_of_the_end_of_time)
{
	const cc_time last = CC_FOREVER / UNIT * UNIT;	/* a unit begins */
	static const cc_time in[] = {INT64_MIN, -1, 0, 1, CC_FOREVER - 1};
	struct fired f = {0};
	struct cc__timer t[5];
	struct cc__timers h;

	cc__timers_init(&h);
	for (unsigned i = 0; i < 5; i++) {
		t[i] = (struct cc__timer){in[i], NULL, {NULL}, &f, i};
		cc__timers_add(&h, &t[i], 0);
	}
	CHECK_EQ(cc__timers_run(&h, UNIT, UINT_MAX, note), 4);
	CHECK(cc__timers_earliest(&h) < CC_FOREVER);
	CHECK(wheel_is_sound(&h, 1));
	CHECK(cc__timers_remove(&h, &t[4]));
	t[0] = (struct cc__timer){last, NULL, {NULL}, &f, 0};
	CHECK(cc__timers_add(&h, &t[0], 0));
	CHECK_EQ(cc__timers_run(&h, last - 1, UINT_MAX, note), 0);
	CHECK_EQ(cc__timers_earliest(&h), last);
}

/* Not all at once (T3): who asks for one gets about a batch, the rest stays due. */
TEST(timers_with_one_deadline_come_out_by_and_by)
{
	enum { N = 64 };
	struct fired f = {0};
	struct cc__timer t[N];
	struct cc__timers h;
	unsigned n;

	cc__timers_init(&h);
	for (unsigned i = 0; i < N; i++) {
		t[i] = (struct cc__timer){100 * UNIT, NULL, {NULL}, &f, i};
		cc__timers_add(&h, &t[i], 0);
	}
	for (unsigned all = 0; all < N; all += n) {
		n = cc__timers_run(&h, 200 * UNIT, 1, note);
		REQUIRE(n >= 1 && n < N / 2);
		if (all == 0) {
			CHECK_EQ(cc__timers_run(&h, 200 * UNIT, n, note), n);	/* not another one */
			n += n;
		}
		CHECK_EQ(f.count, all + n);
		CHECK_EQ(cc__timers_earliest(&h) <= 200 * UNIT, all + n < N);
		REQUIRE(wheel_is_sound(&h, N - (long)f.count));
	}
}

/* First, middle and last of a slot; alone in it; of a slot that is being taken apart. */
TEST(timers_are_removed_from_any_place)
{
	enum { MOST = 40 };
	static struct fired f;

	for (unsigned n = 1; n <= MOST; n++)
		for (unsigned out = 0; out < n; out++)
			for (unsigned run = 0; run < 2; run++) {
				struct cc__timer t[MOST];
				struct cc__timers h;
				long left = (long)n;

				f.count = 0;
				cc__timers_init(&h);
				for (unsigned i = 0; i < n; i++) {
					t[i] = (struct cc__timer){(100 + i % 3) * UNIT, NULL, {NULL}, &f, i};
					cc__timers_add(&h, &t[i], 0);
				}
				if (run)
					left -= (long)cc__timers_run(&h, 101 * UNIT, 1, note);
				left -= cc__timer_armed(&t[out]);
				CHECK_EQ(cc__timers_remove(&h, &t[out]), left + f.count < n);
				REQUIRE(!cc__timer_armed(&t[out]) && wheel_is_sound(&h, left));
			}
}

TEST(timer_is_armed_from_add_to_remove)
{
	struct cc__timer a = {.deadline = UNIT}, b = {.deadline = 2 * UNIT};
	struct cc__timers h;

	cc__timers_init(&h);
	CHECK(!cc__timer_armed(&a));
	cc__timers_add(&h, &a, 0);
	cc__timers_add(&h, &b, 0);
	CHECK(cc__timer_armed(&a) && cc__timer_armed(&b));
	cc__timers_remove(&h, &a);
	CHECK(!cc__timer_armed(&a) && cc__timer_armed(&b));
	a.deadline = 3 * UNIT;
	cc__timers_add(&h, &a, 0);	/* again, elsewhere */
	CHECK(cc__timer_armed(&a));
	CHECK(cc__timers_earliest(&h) <= 2 * UNIT);
	cc__timers_remove(&h, &a);
	cc__timers_remove(&h, &b);
	CHECK(!cc__timer_armed(&a) && !cc__timer_armed(&b));
	CHECK_EQ(cc__timers_run(&h, 10 * UNIT, UINT_MAX, note), 0);
	CHECK_EQ(cc__timers_earliest(&h), CC_FOREVER);
	CHECK(!cc__timers_remove(&h, &a));
}

TEST(timer_add_tells_the_earliest)
{
	struct cc__timer a = {.deadline = 5 * UNIT}, b = {.deadline = 7 * UNIT};
	struct cc__timer c = {.deadline = 3 * UNIT};
	struct cc__timers h;

	cc__timers_init(&h);
	CHECK(cc__timers_add(&h, &a, 0));
	CHECK(!cc__timers_add(&h, &b, 0));
	CHECK(cc__timers_add(&h, &c, 0));
	CHECK_EQ(cc__timers_earliest(&h), 3 * UNIT);
}

/* What is due soon lies low, however late it is: it is not moved again and again. */
TEST(timer_add_takes_the_wheel_along)
{
	const cc_time now = 3600 * CC_SEC / UNIT * UNIT;
	struct cc__timer a = {.deadline = now + 3 * UNIT}, b = {.deadline = now + 2 * UNIT};
	struct cc__timers h;

	cc__timers_init(&h);
	cc__timers_add(&h, &a, now);
	CHECK_EQ(h.at, (uint64_t)now / UNIT);
	CHECK_EQ(h.levels, 1);
	cc__timers_add(&h, &b, now + UNIT);
	CHECK_EQ(h.at, (uint64_t)now / UNIT + 1);
	CHECK_EQ(h.levels, 1);
	CHECK(wheel_is_sound(&h, 2));
}

/* T4.  In a slot that was reached by an addition all are due later than it begins. */
TEST(timer_add_tells_it_while_a_slot_is_taken_apart)
{
	enum { SLOT = 64 * UNIT };
	struct cc__timer a = {.deadline = SLOT + 50 * UNIT}, b = {.deadline = SLOT + 60 * UNIT};
	struct cc__timer c = {.deadline = 3 * SLOT}, d = {.deadline = SLOT + 10 * UNIT};
	struct cc__timers h;

	cc__timers_init(&h);
	CHECK(cc__timers_add(&h, &a, 0));
	CHECK(!cc__timers_add(&h, &b, 0));
	CHECK(!cc__timers_add(&h, &c, SLOT + UNIT));
	CHECK(cc__timers_remove(&h, &b));
	CHECK_EQ(cc__timers_earliest(&h), SLOT + 50 * UNIT);
	CHECK(cc__timers_add(&h, &d, SLOT + UNIT));
	CHECK_EQ(cc__timers_earliest(&h), SLOT + 10 * UNIT);
	CHECK(cc__timers_remove(&h, &a));
	CHECK_EQ(cc__timers_earliest(&h), SLOT + 10 * UNIT);
	CHECK(wheel_is_sound(&h, 2));
}

#ifdef CC__DEBUG
static void add_twice(void *arg)
{
	struct cc__timer t = {.deadline = 1};
	struct cc__timers h;

	(void)arg;
	cc__timers_init(&h);
	cc__timers_add(&h, &t, 0);
	cc__timers_add(&h, &t, 0);
}
#endif

TEST(timer_misuse_is_caught_in_debug_builds)
{
#ifdef CC__DEBUG
	static struct test_death d;

	REQUIRE_EQ(test_dies(add_twice, NULL, &d), 0);
	CHECK(WIFSIGNALED(d.status) && strstr(d.text, "timer: armed twice") != NULL);
#else
	SKIP("no internal checks in this build");
#endif
}
