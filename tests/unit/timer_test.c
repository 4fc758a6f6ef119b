/* timer_test.c - the pairing heap of sched/timer.h against a sorted array.
 * ctest-label: valgrind */
#include "test.h"

#include <string.h>
#include <sys/wait.h>

#include "sched/timer.h"

enum { NODES = 500, OPERATIONS = 100000, DEADLINES = 200 };

/* The model: the deadlines of all armed timers, ascending. */
struct model {
	cc_time sorted[NODES];
	size_t count;
};

/* The first place whose deadline is not before d. */
static size_t place_of(const struct model *m, cc_time d)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (m->sorted[middle] < d)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void model_add(struct model *m, cc_time d)
{
	size_t at = place_of(m, d);

	memmove(&m->sorted[at + 1], &m->sorted[at], (m->count - at) * sizeof *m->sorted);
	m->sorted[at] = d;
	m->count++;
}

static bool model_remove(struct model *m, cc_time d)
{
	size_t at = place_of(m, d);

	if (at == m->count || m->sorted[at] != d)
		return false;
	m->count--;
	memmove(&m->sorted[at], &m->sorted[at + 1], (m->count - at) * sizeof *m->sorted);
	return true;
}

/* Nodes below and beside t, or -1 if a link or the order is broken. */
static long walk(struct cc__timer *const *from, cc_time parent)
{
	long nodes = 0;

	for (; *from != NULL; from = &(*from)->sibling) {
		long below;

		if ((*from)->from != from || (*from)->deadline < parent)
			return -1;
		if ((below = walk(&(*from)->child, (*from)->deadline)) < 0)
			return -1;
		nodes += below + 1;
	}
	return nodes;
}

static bool heap_is_sound(const struct cc__timers *h, size_t nodes)
{
	if (h->first != NULL && h->first->sibling != NULL)
		return false;
	return walk(&h->first, INT64_MIN) == (long)nodes;
}

static cc_time pop(struct cc__timers *h)
{
	struct cc__timer *t = h->first;

	cc__timers_remove(h, t);
	return t->deadline;
}

static struct cc__timer node[NODES];
static struct cc__timers heap;
static struct model model;

static bool agree(void)
{
	if (model.count == 0)
		return CHECK(heap.first == NULL);
	return CHECK(heap.first != NULL) && CHECK_EQ(heap.first->deadline, model.sorted[0]) &&
	       CHECK(cc__timer_armed(heap.first));
}

/* A timer that is armed is removed wherever it stands; another one is added,
 * with one deadline in four that many others have too. */
static bool step(uint64_t *random, bool prefer_add)
{
	struct cc__timer *t = &node[test_random(random) % NODES];
	const uint64_t dice = test_random(random) % 8;

	if (dice == 0 && heap.first != NULL)
		t = heap.first;
	if (cc__timer_armed(t) && prefer_add && dice > 2)
		return true;
	if (cc__timer_armed(t)) {
		cc__timers_remove(&heap, t);
		return CHECK(!cc__timer_armed(t)) && CHECK(model_remove(&model, t->deadline));
	}
	if (!prefer_add && dice > 2)
		return true;
	t->deadline = dice < 2 ? 7 : (cc_time)(test_random(random) % DEADLINES);
	cc__timers_add(&heap, t);
	model_add(&model, t->deadline);
	return CHECK(cc__timer_armed(t));
}

TEST(timers_agree_with_a_sorted_array)
{
	uint64_t random = test_seed();
	unsigned largest = 0;

	memset(node, 0, sizeof node);
	heap.first = NULL;
	model.count = 0;
	for (unsigned i = 0; i < OPERATIONS; i++) {
		/* Tides: the heap fills and empties by turns. */
		REQUIRE(step(&random, i / 5000 % 2 == 0));
		REQUIRE(agree());
		largest = model.count > largest ? (unsigned)model.count : largest;
		if (i % 100 == 0)
			REQUIRE(heap_is_sound(&heap, model.count));
	}
	CHECK(largest > NODES / 2);
	for (cc_time before = INT64_MIN; heap.first != NULL;) {
		cc_time d = pop(&heap);

		REQUIRE(d >= before && model_remove(&model, d));
		before = d;
	}
	CHECK_EQ(model.count, 0);
}

TEST(timers_come_out_in_order)
{
	static const cc_time in[] = {5, 3, 9, 1, 7, 3, CC_FOREVER - 1, INT64_MIN, 0, 5};
	static const cc_time out[] = {INT64_MIN, 0, 1, 3, 3, 5, 5, 7, 9, CC_FOREVER - 1};
	struct cc__timer t[10] = {{0}};
	struct cc__timers h = {0};

	for (int i = 0; i < 10; i++) {
		t[i].deadline = in[i];
		cc__timers_add(&h, &t[i]);
	}
	CHECK(heap_is_sound(&h, 10));
	for (int i = 0; i < 10; i++)
		CHECK_EQ(pop(&h), out[i]);
	CHECK(h.first == NULL);
}

TEST(timers_with_one_deadline_all_come_out)
{
	struct cc__timer t[64] = {{0}};
	struct cc__timers h = {0};

	for (int i = 0; i < 64; i++) {
		t[i].deadline = 42;
		cc__timers_add(&h, &t[i]);
	}
	for (int i = 0; i < 64; i++) {
		struct cc__timer *first = h.first;

		REQUIRE(first >= t && first < t + 64 && cc__timer_armed(first));
		CHECK_EQ(pop(&h), 42);
		CHECK(!cc__timer_armed(first));
	}
	CHECK(h.first == NULL);
}

/* Every node of heaps of every shape up to 12 nodes: root, only child, first,
 * middle and last of several, leaf and inner ones. */
TEST(timers_are_removed_from_any_place)
{
	enum { MOST = 12 };

	for (unsigned n = 1; n <= MOST; n++)
		for (unsigned pops = 0; pops < n; pops++)
			for (unsigned out = pops; out < n; out++) {
				struct cc__timer t[MOST] = {{0}};
				struct cc__timers h = {0};

				/* Popping first gives the rest a shape. */
				for (unsigned i = 0; i < n; i++) {
					t[i].deadline = (cc_time)((i * 7) % n);
					cc__timers_add(&h, &t[i]);
				}
				for (unsigned i = 0; i < pops; i++)
					pop(&h);
				if (!cc__timer_armed(&t[out]))
					continue;
				cc__timers_remove(&h, &t[out]);
				REQUIRE(!cc__timer_armed(&t[out]));
				REQUIRE(heap_is_sound(&h, n - pops - 1));
			}
}

TEST(timer_is_armed_from_add_to_remove)
{
	struct cc__timer a = {.deadline = 1}, b = {.deadline = 2};
	struct cc__timers h = {0};

	CHECK(!cc__timer_armed(&a));
	cc__timers_add(&h, &a);
	cc__timers_add(&h, &b);
	CHECK(cc__timer_armed(&a) && cc__timer_armed(&b));
	cc__timers_remove(&h, &a);
	CHECK(!cc__timer_armed(&a) && cc__timer_armed(&b));
	a.deadline = 3;
	cc__timers_add(&h, &a);	/* again, elsewhere */
	CHECK(cc__timer_armed(&a) && h.first == &b);
	cc__timers_remove(&h, &a);
	cc__timers_remove(&h, &b);
	CHECK(h.first == NULL && !cc__timer_armed(&a) && !cc__timer_armed(&b));
	CHECK(!cc__timers_remove(&h, &a));
}

struct fired {
	unsigned count;
	uint64_t values[64];
};

static void note(void *object, uint64_t value)
{
	struct fired *f = object;

	f->values[f->count++] = value;
}

TEST(timers_fire_in_order_what_has_expired)	/* covers: RES-39/u */
{
	enum { N = 40 };	/* more than one batch */
	struct fired f = {0};
	struct cc__timer t[N] = {{0}};
	struct cc__timers h;

	cc__timers_init(&h);
	CHECK_EQ(cc__timers_earliest(&h), CC_FOREVER);
	for (unsigned i = 0; i < N; i++) {
		t[i] = (struct cc__timer){.deadline = (cc_time)(i * 7 % N),
		                          .fire = note, .object = &f, .value = i * 7 % N};
		cc__timers_add(&h, &t[i]);
	}
	CHECK_EQ(cc__timers_earliest(&h), 0);
	CHECK(cc__timers_remove(&h, &t[0]));
	CHECK_EQ(cc__timers_earliest(&h), 1);
	CHECK(cc__timers_run(&h, 34));
	CHECK_EQ(f.count, 34);
	for (unsigned i = 0; i < f.count; i++)
		CHECK_EQ(f.values[i], i + 1);
	CHECK_EQ(cc__timers_earliest(&h), 35);
	CHECK(!cc__timers_run(&h, 34));
	CHECK(cc__timers_run(&h, CC_FOREVER - 1));
	CHECK_EQ(f.count, N - 1);
	CHECK_EQ(cc__timers_earliest(&h), CC_FOREVER);
}

TEST(timer_add_tells_the_earliest)
{
	struct cc__timer a = {.deadline = 5}, b = {.deadline = 7}, c = {.deadline = 3};
	struct cc__timers h;

	cc__timers_init(&h);
	CHECK(cc__timers_add(&h, &a));
	CHECK(!cc__timers_add(&h, &b));
	CHECK(cc__timers_add(&h, &c));
	CHECK_EQ(cc__timers_earliest(&h), 3);
}

#ifdef CC__DEBUG
static void add_twice(void *arg)
{
	struct cc__timer t = {.deadline = 1};
	struct cc__timers h = {0};

	(void)arg;
	cc__timers_add(&h, &t);
	cc__timers_add(&h, &t);
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
