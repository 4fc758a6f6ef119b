/* arena_share_test.c - ccc/arena.h with many callers: fibers on two workers, threads, more
 * threads than there are stretches, and who may go back. */
#include "arenas.h"

#include <pthread.h>

#include "environment.h"
#include "os/context.h"
#include "tasks.h"

/* ---- users of one arena ---- */

enum { MANY = 400, USERS = 12 };

struct user {
	CCArena *arena;
	bool yields;	/* a fiber: goes on elsewhere in between */
	unsigned number;
	uint64_t random;
	size_t asked;	/* what it still has */
	struct filled f[MANY];
};

/* One allocation of any kind. */
static struct filled one_of_any(struct user *u, CCArenaCursor *c, unsigned i)
{
	const size_t size = test_random(&u->random) % (i % 64 == 0 ? 30000 : 200);
	void *p = NULL;

	switch (test_random(&u->random) % 5) {
	case 0:
		p = cc_arena_take(c, size);
		break;
	case 1:
		CHECK_EQ(cc_arena_get(u->arena, size, &p), 0);
		if (i % 2 == 0 && p != NULL) {
			memset(p, 0x11, size);
			CHECK_EQ(cc_arena_put(u->arena, p, size), 0);
			return (struct filled){0};
		}
		break;
	case 2:
		CHECK_EQ(cc_arena_alloc_aligned(u->arena, size, 64, &p), 0);
		CHECK_EQ((uintptr_t)p % 64, 0);
		break;
	default:
		p = cc_arena_alloc(u->arena, size);
	}
	u->asked += size;
	return fill(p, size, u->number * 17 + i);
}

static int use(void *arg)
{
	struct user *u = arg;
	CCArenaCursor c = cc_arena_cursor(u->arena);

	for (unsigned i = 0; i < MANY; i++) {
		u->f[i] = one_of_any(u, &c, i);
		if (u->yields && i % 3 == 0)
			cc_yield();
	}
	cc_arena_done(c);
	check_all(u->f, MANY);
	return 0;
}

static void *use_in_thread(void *arg)
{
	use(arg);
	return NULL;
}

static void begin(struct user *u, CCArena *a, unsigned number, bool yields, uint64_t *random)
{
	memset(u, 0, sizeof *u);
	*u = (struct user){
	    .arena = a, .yields = yields, .number = number, .random = test_random(random)};
}

/* Nothing is lost, nothing is two's. */
static void check_users(const struct user *u, unsigned n, CCArena *a)
{
	size_t asked = 0;

	for (unsigned i = 0; i < n; i++) {
		check_all(u[i].f, MANY);
		asked += u[i].asked;
	}
	CHECK_EQ(stats_of(a).asked, asked);
}

static struct user user[USERS];

TEST(arena_is_shared_by_fibers_of_two_workers)
{
	CCConfig config_two = config();
	uint64_t random = test_seed();
	CCArena *a = cc_arena_new();
	CCRuntime *rt;
	CCTask t[USERS];

	only_workers(&config_two, 2);
	REQUIRE(a != NULL && CHECK_EQ(cc_runtime_new(&rt, &config_two), 0));
	for (int round = 0; round < 5; round++) {
		for (unsigned i = 0; i < USERS; i++) {
			begin(&user[i], a, i, true, &random);
			t[i] = spawn(rt, use, &user[i]);
		}
		for (unsigned i = 0; i < USERS; i++)
			CHECK_EQ(join(t[i]), 0);
		check_users(user, USERS, a);
		CHECK_EQ(cc_arena_reset(a), 0);
	}
	CHECK_EQ(cc_arena_free(a), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* More than have a stretch of their own; somebody looks at the figures meanwhile. */
TEST(arena_is_shared_by_many_threads)
{
	uint64_t random = test_seed();
	CCArena *a = arena_with((CCArenaOptions){.block = 16 << 10});
	CCArenaStats s;
	pthread_t t[USERS];

	for (int round = 0; round < 5; round++) {
		for (unsigned i = 0; i < USERS; i++) {
			begin(&user[i], a, i, false, &random);
			REQUIRE_EQ(pthread_create(&t[i], NULL, use_in_thread, &user[i]), 0);
		}
		for (unsigned i = 0; i < USERS; i++) {
			CHECK_EQ(cc_arena_stats(a, &s), 0);
			CHECK_EQ(cc_arena_trim(a), 0);
			pthread_join(t[i], NULL);
		}
		check_users(user, USERS, a);
		CHECK_EQ(cc_arena_reset(a), 0);
	}
	CHECK_EQ(cc_arena_free(a), 0);
}

struct race {
	CCArena *arena;
	cc__a32 ready, go;
	cc__a32 got;
};

static void *take_until_empty(void *arg)
{
	struct race *r = arg;
	void *p;

	cc__add(&r->ready, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(&r->go, CC__ACQUIRE) != 0);
	while ((p = cc_arena_alloc(r->arena, 16)) != NULL) {
		memset(p, 1, 16);
		cc__add(&r->got, 1, CC__RELAXED);
	}
	return NULL;
}

TEST(arena_in_a_buffer_gives_several_exactly_what_is_there)
{
	static _Alignas(16) unsigned char memory[8000];

	for (int round = 0; round < 20; round++) {
		struct race r = {.arena = arena_with((CCArenaOptions){
				     .buffer = memory, .buffer_size = sizeof memory})};
		pthread_t t[3];

		for (int i = 0; i < 3; i++)
			REQUIRE_EQ(pthread_create(&t[i], NULL, take_until_empty, &r), 0);
		TEST_UNTIL(cc__load(&r.ready, CC__ACQUIRE) == 3);
		cc__store(&r.go, 1, CC__RELEASE);
		for (int i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
		CHECK_EQ(cc__load(&r.got, CC__RELAXED), sizeof memory / 16);
		CHECK_EQ(cc_arena_free(r.arena), 0);
	}
}

/* ---- a cursor goes where its fiber goes ---- */

static int take_and_move_on(void *arg)
{
	struct user *u = arg;
	CCArenaCursor c = cc_arena_cursor(u->arena);

	for (unsigned i = 0; i < MANY; i++) {
		u->f[i] = fill(cc_arena_take(&c, 40), 40, u->number + i);
		cc_yield();
	}
	cc_arena_done(c);
	return 0;
}

TEST(arena_cursor_goes_where_its_fiber_goes)
{
	CCConfig config_two = config();
	uint64_t random = test_seed();
	CCArena *a = cc_arena_new();
	CCRuntime *rt;
	CCTask t[USERS];

	only_workers(&config_two, 2);
	REQUIRE(a != NULL && CHECK_EQ(cc_runtime_new(&rt, &config_two), 0));
	for (unsigned i = 0; i < USERS; i++) {
		begin(&user[i], a, i, true, &random);
		t[i] = spawn(rt, take_and_move_on, &user[i]);
	}
	for (unsigned i = 0; i < USERS; i++)
		CHECK_EQ(join(t[i]), 0);
	for (unsigned i = 0; i < USERS; i++)
		check_all(user[i].f, MANY);
	CHECK_EQ(stats_of(a).asked, USERS * MANY * 40);
	CHECK_EQ(cc_arena_free(a), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- a stretch outlives its thread ---- */

static void *allocate_a_little(void *arg)
{
	CHECK(cc_arena_alloc(arg, 16) != NULL);
	return NULL;
}

/* Their records are used again, and so are their stretches. */
TEST(arena_is_not_used_up_by_threads_that_come_and_go)
{
	CCArena *a = cc_arena_new();

	REQUIRE(a != NULL);
	for (int i = 0; i < 500; i++) {
		pthread_t t;

		REQUIRE_EQ(pthread_create(&t, NULL, allocate_a_little, a), 0);
		pthread_join(t, NULL);
	}
	CHECK_EQ(stats_of(a).asked, 500 * 16);
	CHECK_EQ(stats_of(a).blocks, 1);
	CHECK_EQ(cc_arena_free(a), 0);
}

/* ---- whose mark it is ---- */

struct stranger {
	CCArena *arena;
	CCArenaMark mark;
};

static int try_to_go_back(void *arg)
{
	struct stranger *s = arg;
	CCArenaMark own;

	CHECK_EQ(cc_arena_restore(s->arena, s->mark), EPERM);
	CHECK_EQ(cc_arena_keep(s->arena, s->mark), EPERM);
	CHECK_EQ(cc_arena_reset(s->arena), EPERM);
	CHECK_EQ(cc_arena_mark(s->arena, &own), 0);
	CHECK_EQ(cc_arena_restore(s->arena, own), 0);
	CHECK_EQ(cc_arena_mark(s->arena, &own), 0);	/* and leaves it */
	return 0;
}

static void *try_in_thread(void *arg)
{
	try_to_go_back(arg);
	return NULL;
}

TEST(arena_mark_is_restored_by_who_made_it)
{
	struct stranger s = {.arena = cc_arena_new()};
	CCRuntime *rt = cc_runtime_current();
	pthread_t t;

	REQUIRE(s.arena != NULL && rt != NULL);
	CHECK(cc_arena_alloc(s.arena, 16) != NULL);
	CHECK_EQ(cc_arena_mark(s.arena, &s.mark), 0);
	CHECK_EQ(join(spawn(rt, try_to_go_back, &s)), 0);
	/* Above it there is one of somebody else's, who may still want it. */
	CHECK_EQ(cc_arena_restore(s.arena, s.mark), EPERM);
	CHECK_EQ(cc_arena_reset(s.arena), EPERM);
	CHECK_EQ(cc_arena_free(s.arena), 0);

	s.arena = cc_arena_new();
	CHECK_EQ(cc_arena_mark(s.arena, &s.mark), 0);
	REQUIRE_EQ(pthread_create(&t, NULL, try_in_thread, &s), 0);
	pthread_join(t, NULL);
	CHECK_EQ(cc_arena_free(s.arena), 0);
	CHECK_EQ(cc_shutdown(), 0);
}

/* Others may allocate while a mark is open; what they have goes with it. */
TEST(arena_restore_undoes_what_tasks_have_allocated)
{
	CCConfig config_two = config();
	uint64_t random = test_seed();
	CCArena *a = cc_arena_new();
	struct filled before;
	CCArenaMark m;
	CCRuntime *rt;
	CCTask t[USERS];

	only_workers(&config_two, 2);
	REQUIRE(a != NULL && CHECK_EQ(cc_runtime_new(&rt, &config_two), 0));
	before = fill(cc_arena_alloc(a, 1000), 1000, 99);
	for (int round = 0; round < 3; round++) {
		REQUIRE_EQ(cc_arena_mark(a, &m), 0);
		for (unsigned i = 0; i < USERS; i++) {
			begin(&user[i], a, i, true, &random);
			t[i] = spawn(rt, use, &user[i]);
		}
		for (unsigned i = 0; i < USERS; i++)
			CHECK_EQ(join(t[i]), 0);
		CHECK_EQ(cc_arena_restore(a, m), 0);
		CHECK(is_intact(&before));
		CHECK_EQ(stats_of(a).asked, 1000);
	}
	CHECK_EQ(cc_arena_free(a), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
