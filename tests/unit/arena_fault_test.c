/* arena_fault_test.c - ccc/arena.h when memory is refused: at every k-th call, again and
 * again, with several callers.  What fails says so, what was there stays, and at the end
 * nothing is held. */
#include "arenas.h"

#include <pthread.h>

struct outcome {
	unsigned allocated, refused;
};

static void count(struct outcome *o, const void *p)
{
	if (p != NULL)
		o->allocated++;
	else
		o->refused++;
}

/* Something of everything, a few blocks full; whatever fails is left out. */
static struct outcome script(CCArena *a)
{
	static struct filled f[600];
	CCArenaCursor c;
	CCArenaMark m;
	struct outcome o = {0};
	unsigned n = 0;
	void *p = NULL;
	bool marked;

	for (unsigned i = 0; i < 100; i++, n++) {
		count(&o, p = cc_arena_alloc(a, 20 * (i % 9)));
		f[n] = (struct filled){p, 0, 0};
		if (p != NULL)
			f[n] = fill(p, 20 * (i % 9), i);
		count(&o, p = cc_arena_alloc(a, i % 20 == 0 ? 9000 : 1));
	}
	marked = cc_arena_mark(a, &m) == 0;
	c = cc_arena_cursor(a);
	for (unsigned i = 0; i < 100; i++) {
		count(&o, p = cc_arena_take(&c, 90));
		if (p != NULL)
			memset(p, 0x33, 90);
	}
	cc_arena_done(c);
	if (marked)
		CHECK_EQ(cc_arena_restore(a, m), 0);
	check_all(f, n);
	for (unsigned i = 0; i < 100; i++) {
		const size_t size = i % 10 == 0 ? 7000 : 200;
		const int err = cc_arena_get(a, size, &p);

		CHECK(err == 0 || (err == ENOMEM && p == NULL));
		count(&o, p);
		if (p != NULL && i % 2 == 0)
			CHECK_EQ(cc_arena_put(a, p, size), 0);
	}
	check_all(f, n);
	stats_of(a);
	return o;
}

/* Twice the script, disturbed and not; the number of calls it took undisturbed. */
static uint64_t run(uint64_t at, uint64_t each, struct outcome *o)
{
	struct counted c;
	CCRuntime *rt = counted_runtime(&c);
	const uint64_t blocks = cc__load(&c.blocks, CC__RELAXED);
	const uint64_t calls = cc__load(&c.calls, CC__RELAXED);
	CCArenaOptions options = {.runtime = rt, .block = 4096};
	CCArena *a = NULL;
	int err;

	cc__store(&c.refuse_at, at == 0 ? 0 : calls + at, CC__RELAXED);
	*o = (struct outcome){0};
	if ((err = cc_arena_create(&a, &options)) == 0) {
		cc__store(&c.refuse_each, each, CC__RELAXED);
		*o = script(a);
		if (at + each == 0)
			at = cc__load(&c.calls, CC__RELAXED) - calls;
		cc__store(&c.refuse_each, 0, CC__RELAXED);
		CHECK_EQ(cc_arena_reset(a), 0);
		CHECK_EQ(script(a).refused, 0);	/* as if nothing had been */
		CHECK_EQ(cc_arena_free(a), 0);
	} else {
		CHECK_EQ(err, ENOMEM);
	}
	CHECK_EQ(cc__load(&c.blocks, CC__RELAXED), blocks);
	CHECK_EQ(cc_runtime_free(rt), 0);
	return at;
}

TEST(arena_survives_every_refusal)
{
	struct outcome o;
	const uint64_t calls = run(0, 0, &o);

	CHECK(calls > 20);
	CHECK_EQ(o.refused, 0);
	for (uint64_t k = 1; k <= calls; k++) {
		run(k, 0, &o);
		/* One call in vain: the next one asks again.  (The first is for the arena.) */
		CHECK(k == 1 || o.refused <= 1);
	}
}

TEST(arena_survives_refusals_at_a_steady_rate)
{
	struct outcome o;

	for (uint64_t each = 2; each <= 7; each++) {
		run(0, each, &o);
		CHECK(o.refused > 0 && o.allocated > 50 * o.refused / each);
	}
}

/* ---- several ---- */

static void *allocate_through(void *arg)
{
	CCArena *a = arg;
	CCArenaCursor c = cc_arena_cursor(a);
	struct filled last[8] = {{0}};

	for (unsigned i = 0; i < 3000; i++) {
		struct filled *f = &last[i % 8];
		void *p = i % 3 == 0 ? cc_arena_take(&c, 64) : cc_arena_alloc(a, 64);

		CHECK(is_intact(f));
		*f = (struct filled){0};
		if (p != NULL)
			*f = fill(p, 64, i);
	}
	cc_arena_done(c);
	return NULL;
}

TEST(arena_survives_refusals_with_several_users)
{
	struct counted c;
	CCRuntime *rt = counted_runtime(&c);
	const uint64_t blocks = cc__load(&c.blocks, CC__RELAXED);
	CCArena *a = arena_with((CCArenaOptions){.runtime = rt, .block = 4096});
	pthread_t t[3];

	cc__store(&c.refuse_each, 2, CC__RELAXED);
	for (int i = 0; i < 3; i++)
		REQUIRE_EQ(pthread_create(&t[i], NULL, allocate_through, a), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	CHECK(cc__load(&c.refused, CC__RELAXED) > 10);
	stats_of(a);
	CHECK_EQ(cc_arena_free(a), 0);
	CHECK_EQ(cc__load(&c.blocks, CC__RELAXED), blocks);
	cc__store(&c.refuse_each, 0, CC__RELAXED);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
