/* domain_test.c - strict domains: whose word an address is, what is mapped and unmapped, and
 * what may be granted. */
#include <errno.h>
#include <sys/mman.h>

#include "domains.h"

static const enum kind kinds[] = {FIBER, THREAD};

enum { PAGE = 4096 };

/* Two views of one page. */
struct views {
	uint32_t *a, *b;
};

static struct views two_views(void)
{
	const int fd = memfd_create("views", 0);
	struct views v;

	CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0);
	v.a = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	v.b = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(v.a != MAP_FAILED && v.b != MAP_FAILED && v.a != v.b);
	close(fd);
	return v;
}

static void close_views(struct views v)
{
	CHECK_EQ(munmap(v.a, PAGE), 0);
	CHECK_EQ(munmap(v.b, PAGE), 0);
}

/* ---- capabilities ---- */

TEST(domain_is_born_with_three_capabilities)	/* covers: PRK-04/u, PRK-01/u */
{
	struct world w;

	world_open(&w);
	CHECK_EQ(cc_domain_cap_kind(w.d, cc_domain_cap(w.d, CC_CAP_THREAD_CONTROL)),
	         CC_CAP_THREAD_CONTROL);
	CHECK_EQ(cc_domain_cap_kind(w.d, cc_domain_cap(w.d, CC_CAP_THREAD_SPAWNER)),
	         CC_CAP_THREAD_SPAWNER);
	CHECK_EQ(cc_domain_cap_kind(w.d, cc_domain_cap(w.d, CC_CAP_PARK_SPACE)), CC_CAP_PARK_SPACE);
	/* And nothing else: there is no kind for measuring that could be granted. */
	CHECK_EQ(ledger(w.d).caps, 3);
	CHECK_EQ(cc_domain_cap(w.d, CC_CAP_SHARED_PARK_SPACE), 0);
	CHECK_EQ(cc_domain_cap(w.d, CC_CAP_MEMORY_OBJECT), 0);
	CHECK_EQ(cc_domain_cap(w.d, CC_CAP_TIMER), 0);
	CHECK_EQ(cc_domain_cap(w.d, CC_CAP_NONE), 0);
	world_close(&w);
}

TEST(park_space_is_not_passed_on)	/* covers: PRK-05/u */
{
	struct world a, b;
	CCStrand *s;
	uint32_t copy = 77;

	world_open(&a);
	world_open(&b);
	for (CCCapKind kind = CC_CAP_THREAD_CONTROL; kind <= CC_CAP_PARK_SPACE; kind++)
		CHECK_EQ(cc_domain_transfer(a.d, cc_domain_cap(a.d, kind), b.d, &copy), EPERM);
	CHECK_EQ(cc_domain_derive(a.d, a.space, &copy), EBADF);
	CHECK_EQ(copy, 77);
	/* In an entry either: no operation passes anything on. */
	s = joined(a.d);
	for (uint16_t op = 0; op < 16; op++) {
		const CCCapSubmission e = {.opcode = op, .cap = a.space, .transfers = 1};

		CHECK(result_of(s, e) < 0);
	}
	CHECK_EQ(ledger(b.d).caps, 3);
	/* The number means the own space of whoever says it. */
	CHECK_EQ(a.space, b.space);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&a);
	world_close(&b);
}

TEST(cap_ids_carry_a_generation)	/* covers: PRK-103/u */
{
	struct world w;
	CCStrand *s;
	uint32_t first = 0;

	world_open(&w);
	s = joined(w.d);
	CHECK_EQ(cc_domain_grant_timer(w.d, &first), 0);
	for (int i = 0; i < 100; i++) {
		uint32_t id = 0;

		CHECK_EQ(result_of(s, (CCCapSubmission){.opcode = CC_CAP_OP_RELEASE, .cap = first}), 0);
		CHECK_EQ(result_of(s, (CCCapSubmission){.opcode = CC_CAP_OP_RELEASE, .cap = first}),
		         CC_CAP_E_CAP);
		CHECK_EQ(cc_domain_grant_timer(w.d, &id), 0);
		CHECK(id != first && id % CC__SLOTS_MAX == first % CC__SLOTS_MAX);
		CHECK_EQ(cc_domain_cap_kind(w.d, first), CC_CAP_NONE);
		CHECK_EQ(cc_domain_release(w.d, first), EBADF);
		first = id;
	}
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
}

TEST(cap_table_is_of_fixed_size)
{
	const CCDomainOptions options = {.caps = 4};
	struct world w;
	uint32_t id = 0;

	world_open_with(&w, &options);
	CHECK_EQ(cc_domain_grant_timer(w.d, &id), 0);
	CHECK_EQ(cc_domain_grant_timer(w.d, &id), EAGAIN);
	world_close(&w);
}

TEST(domain_options_are_checked)
{
	const CCDomainOptions bad[] = {{.caps = 2},         {.submissions = 3},  {.completions = 1},
	                               {.completions = 48}, {.buckets = 1},      {.buckets = 1 << 17},
	                               {.strands = 5000},   {.submissions = 1 << 13}};
	CCDomain *d = NULL;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK_EQ(cc_domain_create(&d, &bad[i]), EINVAL);
	CHECK_EQ(cc_domain_create(NULL, NULL), EINVAL);
	CHECK(d == NULL);
}

/* ---- keys ---- */

/* The key that a strand sleeps on. */
static struct cc__park_key key_of(const struct waiting *x)
{
	return x->strand->strand->node.sleeper.key;
}

TEST(private_key_is_space_generation_and_address)	/* covers: PRK-10/u, PRK-11/u, PRK-12/u */
{
	CCRuntime *rt = test_runtime_of(2);
	struct world pad, w;
	struct waiting x;
	struct cc__park_key key;
	CCStrand *s;

	world_open(&pad);
	world_open(&w);
	s = joined(w.d);
	start_waiting(&x, rt, FIBER, w.d, park_entry(w.space, s, &w.word[3], 0, CC_CAP_NEVER));
	key = key_of(&x);
	CHECK(key.space == w.d->space.id && key.space != w.d->id && key.space != pad.d->space.id);
	CHECK_EQ(key.generation, 1);
	CHECK(key.place == (uintptr_t)&w.word[3]);
	/* A wake of another generation, made by hand, finds nobody. */
	key.generation++;
	CHECK_EQ(cc__park_wake(&w.d->space.table, &key, 9, 0), 0);
	CHECK_EQ(cc_domain_renew(w.d), 0);
	sleeper_join(&x.s);
	CHECK_EQ(pop(w.d, NULL), CC_PARK_INTERRUPTED);
	/* The same address in the next generation. */
	CHECK_EQ(cc_domain_map(w.d, w.word, sizeof w.word, CC_CAP_READ), 0);
	start_waiting(&x, rt, FIBER, w.d, park_entry(w.space, s, &w.word[3], 0, CC_CAP_NEVER));
	CHECK_EQ(key_of(&x).generation, 2);
	key.generation = 1;
	CHECK_EQ(cc__park_wake(&w.d->space.table, &key, 9, 0), 0);
	CHECK_EQ(result_of(s, unpark_entry(w.space, &w.word[2], 9)), 0);
	push(w.d, unpark_entry(w.space, &w.word[3], 9));
	CHECK_EQ(cc_cap_enter(s, 2, CC_CAP_NEVER), 2);
	sleeper_join(&x.s);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
	world_close(&pad);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Equal addresses in two domains of one program are two words. */
TEST(other_domains_are_out_of_reach)
{
	CCRuntime *rt = test_runtime_of(2);
	struct world a, b;
	struct waiting x;
	CCStrand *s;

	world_open(&a);
	world_open(&b);
	CHECK_EQ(cc_domain_map(b.d, a.word, sizeof a.word, CC_CAP_READ), 0);
	s = joined(b.d);
	start_waiting(&x, rt, FIBER, a.d, park_entry(a.space, s, &a.word[0], 0, CC_CAP_NEVER));
	CHECK_EQ(result_of(s, unpark_entry(b.space, &a.word[0], 9)), 0);
	CHECK_EQ(ledger(a.d).waits, 1);
	CHECK_EQ(cc_domain_exit(b.d), 0);
	CHECK_EQ(ledger(a.d).waits, 1);
	CHECK_EQ(cc_domain_unmap(a.d, a.word), 0);
	sleeper_join(&x.s);
	CHECK_EQ(pop(a.d, NULL), CC_PARK_INTERRUPTED);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&a);
	world_close(&b);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(private_aliases_do_not_converge)	/* covers: PRK-16/u */
{
	CCRuntime *rt = test_runtime_of(2);
	struct views v = two_views();
	struct world w;
	struct waiting x;
	CCStrand *s;

	world_open(&w);
	s = joined(w.d);
	CHECK_EQ(cc_domain_map(w.d, v.a, PAGE, CC_CAP_READ), 0);
	CHECK_EQ(cc_domain_map(w.d, v.b, PAGE, CC_CAP_READ), 0);
	start_waiting(&x, rt, FIBER, w.d, park_entry(w.space, s, &v.a[8], 0, CC_CAP_NEVER));
	CHECK_EQ(result_of(s, unpark_entry(w.space, &v.b[8], 9)), 0);
	push(w.d, unpark_entry(w.space, &v.a[8], 9));
	CHECK_EQ(cc_cap_enter(s, 2, CC_CAP_NEVER), 2);
	sleeper_join(&x.s);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
	close_views(v);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- shared objects ---- */

struct sharing {
	struct views v;
	CCCapObject *o;
	struct world a, b;
	uint32_t object[2], shared[2];	/* capabilities of a and of b */
	CCStrand *sa, *sb;
};

/* a maps the first view, b the second. */
static void share(struct sharing *x)
{
	x->v = two_views();
	world_open(&x->a);
	world_open(&x->b);
	x->sa = joined(x->a.d);
	x->sb = joined(x->b.d);
	CHECK_EQ(cc_cap_object_create(&x->o, PAGE), 0);
	CHECK_EQ(cc_domain_grant_object(x->a.d, x->o, &x->object[0]), 0);
	CHECK_EQ(cc_domain_transfer(x->a.d, x->object[0], x->b.d, &x->object[1]), 0);
	CHECK_EQ(cc_domain_derive(x->a.d, x->object[0], &x->shared[0]), 0);
	CHECK_EQ(cc_domain_derive(x->b.d, x->object[1], &x->shared[1]), 0);
	CHECK_EQ(cc_domain_map_object(x->a.d, x->object[0], 0, x->v.a, PAGE, CC_CAP_READ), 0);
	CHECK_EQ(cc_domain_map_object(x->b.d, x->object[1], 0, x->v.b, PAGE, CC_CAP_READ), 0);
}

static void end_sharing(struct sharing *x)
{
	CHECK_EQ(cc_domain_leave(x->sa), 0);
	CHECK_EQ(cc_domain_leave(x->sb), 0);
	world_close(&x->a);
	world_close(&x->b);
	cc_cap_object_drop(x->o);
	close_views(x->v);
}

TEST(shared_key_is_object_generation_and_offset)	/* covers: PRK-13/u, PRK-07/u */
{
	const uint64_t charged = cc__park_charged();
	CCRuntime *rt = test_runtime_of(2);
	struct sharing x;
	struct waiting w;

	share(&x);
	CHECK_EQ(cc_domain_cap_kind(x.a.d, x.shared[0]), CC_CAP_SHARED_PARK_SPACE);
	start_waiting(&w, rt, FIBER, x.a.d,
	              park_entry(x.shared[0], x.sa, &x.v.a[8], 0, CC_CAP_NEVER));
	CHECK(key_of(&w).space == x.o->object.id);
	CHECK_EQ(key_of(&w).generation, 1);
	CHECK_EQ(key_of(&w).place, 32);
	CHECK_EQ(cc__load(&x.o->object.pins, CC__RELAXED), 1);
	/* Another offset; the private key of the same address; and then it. */
	CHECK_EQ(result_of(x.sb, unpark_entry(x.shared[1], &x.v.b[9], 9)), 0);
	CHECK_EQ(result_of(x.sa, unpark_entry(x.a.space, &x.v.a[8], 9)), 0);
	CHECK_EQ(result_of(x.sb, unpark_entry(x.shared[1], &x.v.b[8], 9)), 1);
	sleeper_join(&w.s);
	/* The completion is in the ring of who waited. */
	CHECK_EQ(pop(x.a.d, NULL), CC_PARK_WOKEN);
	CHECK_EQ(cc__load(&x.o->object.pins, CC__RELAXED), 0);
	end_sharing(&x);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK(cc__park_charged() == charged);
}

/* The address must map that very object, in this generation. */
TEST(shared_operations_prove_the_mapping)	/* covers: PRK-14/u, PRK-21/u, PRK-09/u */
{
	struct sharing x;
	CCCapObject *other = NULL;
	uint32_t object = 0, shared = 0;

	share(&x);
	CHECK_EQ(cc_cap_object_create(&other, PAGE), 0);
	CHECK_EQ(cc_domain_grant_object(x.a.d, other, &object), 0);
	CHECK_EQ(cc_domain_derive(x.a.d, object, &shared), 0);
	/* Private memory, another object, nothing at all: never a private key instead. */
	CHECK_EQ(result_of(x.sa, park_entry(x.shared[0], x.sa, x.a.word, 0, 0)), CC_CAP_E_OBJECT);
	CHECK_EQ(result_of(x.sa, unpark_entry(x.shared[0], x.a.word, 1)), CC_CAP_E_OBJECT);
	CHECK_EQ(result_of(x.sa, park_entry(shared, x.sa, x.v.a, 0, 0)), CC_CAP_E_OBJECT);
	CHECK_EQ(result_of(x.sa, unpark_entry(shared, x.v.a, 1)), CC_CAP_E_OBJECT);
	CHECK_EQ(result_of(x.sa, park_entry(x.shared[0], x.sa, x.v.b, 0, 0)), CC_CAP_E_FAULT);
	CHECK_EQ(result_of(x.sa, unpark_entry(x.shared[0], x.v.b, 1)), CC_CAP_E_FAULT);
	CHECK_EQ(result_of(x.sa, park_entry(x.shared[0], x.sa, x.v.a, 0, 0)), CC_PARK_TIMED_OUT);
	/* A memory object is no authority to park, and none is derived from what is none. */
	CHECK_EQ(result_of(x.sa, park_entry(x.object[0], x.sa, x.v.a, 0, 0)), CC_CAP_E_KIND);
	CHECK_EQ(cc_domain_derive(x.a.d, x.shared[0], &shared), EBADF);
	CHECK_EQ(cc_domain_derive(x.a.d, 12345, &shared), EBADF);
	/* Views that are none. */
	CHECK_EQ(cc_domain_map_object(x.a.d, x.object[0], 4, x.v.b, PAGE, CC_CAP_READ), EINVAL);
	CHECK_EQ(cc_domain_map_object(x.a.d, x.object[0], 2, x.v.b, 8, CC_CAP_READ), EINVAL);
	CHECK_EQ(cc_domain_map_object(x.a.d, x.object[0], PAGE + 4, x.v.b, 8, CC_CAP_READ), EINVAL);
	CHECK_EQ(cc_domain_map_object(x.a.d, x.shared[0], 0, x.v.b, 8, CC_CAP_READ), EBADF);
	/* Stale by revocation: capabilities, and what was mapped. */
	CHECK_EQ(cc_cap_object_revoke(x.o), 0);
	CHECK_EQ(result_of(x.sa, park_entry(x.shared[0], x.sa, x.v.a, 0, 0)), CC_CAP_E_CAP);
	CHECK_EQ(cc_domain_grant_object(x.a.d, x.o, &object), 0);
	CHECK_EQ(cc_domain_derive(x.a.d, object, &shared), 0);
	CHECK_EQ(result_of(x.sa, park_entry(shared, x.sa, x.v.a, 0, 0)), CC_CAP_E_OBJECT);
	cc_cap_object_drop(other);
	end_sharing(&x);
}

/* Words of the domain and words of objects are parked on by one kind each, which does nothing else. */
TEST(markers_have_a_type_and_no_methods)	/* covers: PRK-02/u */
{
	struct sharing x;

	share(&x);
	for (int shared = 0; shared < 2; shared++) {
		const uint32_t cap = shared ? x.shared[0] : x.a.space;
		const uint32_t *word = shared ? x.v.a : x.a.word;
		CCCapSubmission e[] = {park_entry(cap, x.sa, word, 1, 0), unpark_entry(cap, word, 1)};

		CHECK_EQ(cc_domain_cap_kind(x.a.d, cap),
		         shared ? CC_CAP_SHARED_PARK_SPACE : CC_CAP_PARK_SPACE);
		for (int i = 0; i < 2; i++) {
			CHECK_EQ(result_of(x.sa, e[i]), i == 0 ? CC_PARK_VALUE_MISMATCH : 0);
			e[i].cap = cc_domain_cap(x.a.d, CC_CAP_THREAD_CONTROL);
			CHECK_EQ(result_of(x.sa, e[i]), CC_CAP_E_KIND);
			e[i].cap = cap;
			e[i].method = 1;
			CHECK_EQ(result_of(x.sa, e[i]), CC_CAP_E_MALFORMED);
		}
	}
	end_sharing(&x);
}

/* Nothing is left of the object but who waits. */
TEST(waiters_pin_the_object)	/* covers: PRK-80/f, PRK-86/f, PRK-79/z */
{
	const uint64_t charged = cc__park_charged();
	CCRuntime *rt = test_runtime_of(2);
	struct sharing x;
	struct waiting w[2];
	struct cc__object *object;

	share(&x);
	object = &x.o->object;
	for (int k = 0; k < 2; k++)
		start_waiting(&w[k], rt, kinds[k], x.a.d,
		              park_entry(x.shared[0], x.sa, &x.v.a[k], 0, CC_CAP_NEVER));
	CHECK_EQ(cc_domain_release(x.a.d, x.object[0]), 0);
	CHECK_EQ(cc_domain_release(x.a.d, x.shared[0]), 0);
	CHECK_EQ(cc_domain_release(x.b.d, x.object[1]), 0);
	cc_cap_object_drop(x.o);
	CHECK_EQ(cc__load(&object->pins, CC__RELAXED), 2);
	/* Mappings: b's still shows that it is the same object. */
	CHECK_EQ(result_of(x.sb, unpark_entry(x.shared[1], &x.v.b[0], 9)), 1);
	sleeper_join(&w[0].s);
	CHECK_EQ(pop(x.a.d, NULL), CC_PARK_WOKEN);
	CHECK_EQ(cc_domain_release(x.b.d, x.shared[1]), 0);
	CHECK_EQ(cc_domain_unmap(x.b.d, x.v.b), 0);
	/* One mapping and one waiter are left, and the end of the mapping ends the wait. */
	CHECK_EQ(cc__load(&object->pins, CC__RELAXED), 1);
	CHECK_EQ(cc_domain_unmap(x.a.d, x.v.a), 0);
	sleeper_join(&w[1].s);
	CHECK_EQ(pop(x.a.d, NULL), CC_PARK_INTERRUPTED);
	CHECK_EQ(cc_domain_leave(x.sa), 0);
	CHECK_EQ(cc_domain_leave(x.sb), 0);
	world_close(&x.a);
	world_close(&x.b);
	close_views(x.v);
	CHECK(cc__park_charged() == charged);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Only who waits through that mapping, in that domain. */
TEST(an_unmap_of_a_shared_view_ends_its_own_waiters)
{
	CCRuntime *rt = test_runtime_of(2);
	struct sharing x;
	struct waiting a, b;

	share(&x);
	start_waiting(&a, rt, FIBER, x.a.d,
	              park_entry(x.shared[0], x.sa, x.v.a, 0, CC_CAP_NEVER));
	start_waiting(&b, rt, FIBER, x.b.d,
	              park_entry(x.shared[1], x.sb, x.v.b, 0, CC_CAP_NEVER));
	CHECK_EQ(cc_domain_unmap(x.a.d, x.v.a), 0);
	sleeper_join(&a.s);
	CHECK_EQ(pop(x.a.d, NULL), CC_PARK_INTERRUPTED);
	CHECK_EQ(ledger(x.b.d).waits, 1);
	CHECK_EQ(cc_cap_object_revoke(x.o), 0);
	sleeper_join(&b.s);
	CHECK_EQ(pop(x.b.d, NULL), CC_PARK_INTERRUPTED);
	end_sharing(&x);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- regions ---- */

TEST(regions_do_not_overlap)
{
	const CCDomainOptions options = {.regions = 4};
	struct world w;
	char *p = (char *)0x10000;

	world_open_with(&w, &options);
	CHECK_EQ(cc_domain_map(w.d, p, 0x1000, CC_CAP_READ), 0);
	CHECK_EQ(cc_domain_map(w.d, p, 0x1000, CC_CAP_READ), EEXIST);
	CHECK_EQ(cc_domain_map(w.d, p + 0xfff, 1, CC_CAP_READ), EEXIST);
	CHECK_EQ(cc_domain_map(w.d, p - 1, 0x3000, CC_CAP_READ), EEXIST);
	CHECK_EQ(cc_domain_map(w.d, p - 8, 8, CC_CAP_READ), 0);
	CHECK_EQ(cc_domain_map(w.d, p, 0, CC_CAP_READ), EINVAL);
	CHECK_EQ(cc_domain_map(w.d, p, SIZE_MAX, CC_CAP_READ), EINVAL);
	CHECK_EQ(cc_domain_map(w.d, p + 0x1000, 8, CC_CAP_READ), 0);
	CHECK_EQ(cc_domain_map(w.d, p + 0x2000, 8, CC_CAP_READ), EAGAIN);
	CHECK_EQ(ledger(w.d).regions, 4);
	CHECK_EQ(cc_domain_unmap(w.d, p + 4), ENOENT);
	CHECK_EQ(cc_domain_unmap(w.d, p), 0);
	CHECK_EQ(cc_domain_unmap(w.d, p), ENOENT);
	CHECK_EQ(cc_domain_map(w.d, p, 0x1000, CC_CAP_READ), 0);
	world_close(&w);
}

/* A word that lies half in a region is in none. */
TEST(a_word_at_the_edge_is_not_readable)
{
	struct world w;
	CCStrand *s;
	uint32_t two[2] = {0, 0};

	world_open(&w);
	s = joined(w.d);
	CHECK_EQ(cc_domain_map(w.d, two, 6, CC_CAP_READ), 0);
	CHECK_EQ(result_of(s, park_entry(w.space, s, &two[0], 0, 0)), CC_PARK_TIMED_OUT);
	CHECK_EQ(result_of(s, park_entry(w.space, s, &two[1], 0, 0)), CC_CAP_E_FAULT);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
}

/* Park, take the mapping away, map the same address: a wake finds nobody, and the old waiter
 * has ended already. */
TEST(what_goes_is_drained_before_reuse)	/* covers: PRK-22/u, PRK-98/u, RES-32/u, RES-65/u */
{
	CCRuntime *rt = test_runtime_of(2);

	for (int how = 0; how < 4; how++)
		for (int k = 0; k < 2; k++) {
			struct world w;
			struct waiting x[2];
			CCStrand *s;
			uint32_t elsewhere = 0;

			world_open(&w);
			s = joined(w.d);
			CHECK_EQ(cc_domain_map(w.d, &elsewhere, 4, CC_CAP_READ), 0);
			start_waiting(&x[0], rt, kinds[k], w.d,
			              park_entry(w.space, s, w.word, 0, CC_CAP_NEVER));
			start_waiting(&x[1], rt, kinds[k], w.d,
			              park_entry(w.space, s, &elsewhere, 0, CC_CAP_NEVER));
			if (how == 0)
				CHECK_EQ(cc_domain_unmap(w.d, w.word), 0);
			else if (how == 1)
				CHECK_EQ(cc_domain_revoke(w.d, w.word), 0);
			else if (how == 2)
				CHECK_EQ(cc_domain_renew(w.d), 0);
			else
				cc__space_end(&w.d->space);
			/* At once, whether the thread has run by now or not. */
			CHECK_EQ(pop(w.d, NULL), CC_PARK_INTERRUPTED);
			sleeper_join(&x[0].s);
			if (how == 1) {
				CHECK_EQ(cc_domain_map(w.d, w.word, 4, CC_CAP_READ), EEXIST);
				CHECK_EQ(result_of(s, park_entry(w.space, s, w.word, 0, 0)),
				         CC_CAP_E_FAULT);
				CHECK_EQ(cc_domain_unmap(w.d, w.word), 0);
			}
			if (how < 2) {
				CHECK_EQ(ledger(w.d).waits, 1);
				CHECK_EQ(cc_domain_unmap(w.d, &elsewhere), 0);
			}
			CHECK_EQ(pop(w.d, NULL), CC_PARK_INTERRUPTED);
			sleeper_join(&x[1].s);
			CHECK_EQ(cc_domain_map(w.d, w.word, 4, CC_CAP_READ), how == 3 ? ESHUTDOWN : 0);
			CHECK_EQ(result_of(s, unpark_entry(w.space, w.word, 9)), 0);
			CHECK_EQ(cc_domain_leave(s), 0);
			world_close(&w);
		}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* The handle goes, the waiters stay: until a wake that came before, their time, or whoever
 * interrupts them. */
TEST(release_of_the_last_handle_takes_the_right_only)	/* covers: PRK-76/u, PRK-79/z */
{
	CCRuntime *rt = test_runtime_of(2);
	struct world w;
	struct waiting x[2];
	CCStrand *s;

	world_open(&w);
	s = joined(w.d);
	start_waiting(&x[0], rt, FIBER, w.d, park_entry(w.space, s, w.word, 0, CC_CAP_NEVER));
	start_waiting(&x[1], rt, THREAD, w.d, park_entry(w.space, s, w.word, 0, CC_CAP_NEVER));
	CHECK_EQ(result_of(s, (CCCapSubmission){.opcode = CC_CAP_OP_RELEASE, .cap = w.space}), 0);
	CHECK_EQ(ledger(w.d).waits, 2);
	CHECK_EQ(result_of(s, unpark_entry(w.space, w.word, 9)), CC_CAP_E_CAP);
	CHECK_EQ(result_of(s, park_entry(w.space, s, w.word, 0, 0)), CC_CAP_E_CAP);
	CHECK_EQ(cc_domain_interrupt(w.d, x[0].entry.owner), 0);
	sleeper_join(&x[0].s);
	CHECK_EQ(pop(w.d, NULL), CC_PARK_INTERRUPTED);
	CHECK_EQ(cc_domain_exit(w.d), 0);
	sleeper_join(&x[1].s);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- the direct door into a strict domain ---- */

struct direct {
	CCDomain *d;
	const uint32_t *word;
	CCStrand *strand;
	CCParkStatus status;
	cc__a32 id;
	struct sleeper s;
};

static int direct_main(void *arg)
{
	struct direct *x = arg;
	int err;

	x->strand = joined(x->d);
	cc__store(&x->id, cc_strand_id(x->strand), CC__RELEASE);
	err = cc_park_wait(cc_strand_park_space(x->strand), x->word, 0, CC_FOREVER, &x->status);
	cc_domain_leave(x->strand);
	return err;
}

static void start_direct(struct direct *x, CCRuntime *rt, enum kind kind, CCDomain *d,
                         const uint32_t *word)
{
	*x = (struct direct){.d = d, .word = word, .status = (CCParkStatus)77};
	sleeper_start(&x->s, rt, kind, direct_main, x);
	TEST_UNTIL(cc__load(&x->id, CC__ACQUIRE) != 0);
	TEST_UNTIL(is_waiting(d, cc__load(&x->id, CC__ACQUIRE)));
}

TEST(direct_door_of_a_strand)	/* covers: RES-65/u */
{
	CCRuntime *rt = test_runtime_of(2);

	for (int k = 0; k < 2; k++) {
		struct world w;
		struct direct x;
		CCStrand *s;
		CCParkSpace *space;
		CCParkStatus status = (CCParkStatus)77;
		uint32_t away = 0, woken = 9;

		world_open(&w);
		s = joined(w.d);
		space = cc_strand_park_space(s);
		CHECK_EQ(cc_park_wait(space, &away, 0, CC_FOREVER, &status), EFAULT);
		CHECK_EQ(status, 77);
		CHECK_EQ(cc_park_wait(space, w.word, 1, CC_FOREVER, &status), 0);
		CHECK_EQ(status, CC_PARK_VALUE_MISMATCH);
		CHECK_EQ(cc_park_wait(space, w.word, 0, CC_NOW, &status), 0);
		CHECK_EQ(status, CC_PARK_TIMED_OUT);
		CHECK_EQ(cc_park_wait(space, w.word, 0, cc_after(CC_MSEC), &status), 0);
		CHECK_EQ(status, CC_PARK_TIMED_OUT);
		start_direct(&x, rt, kinds[k], w.d, w.word);
		CHECK_EQ(ledger(w.d).promised, 0);
		/* The program's own space is another one. */
		CHECK_EQ(cc_park_wake(cc_park_space(), w.word, 9, &woken), 0);
		CHECK_EQ(woken, 0);
		CHECK_EQ(cc_park_wake(space, w.word, 9, &woken), 0);
		CHECK_EQ(woken, 1);
		CHECK_EQ(sleeper_join(&x.s), 0);
		CHECK_EQ(x.status, CC_PARK_WOKEN);
		start_direct(&x, rt, kinds[k], w.d, w.word);
		CHECK_EQ(cc_domain_unmap(w.d, w.word), 0);
		CHECK_EQ(sleeper_join(&x.s), 0);
		CHECK_EQ(x.status, CC_PARK_INTERRUPTED);
		CHECK_EQ(cc_domain_map(w.d, w.word, 4, CC_CAP_READ), 0);
		start_direct(&x, rt, kinds[k], w.d, w.word);
		CHECK_EQ(cc_domain_end(w.d, cc__load(&x.id, CC__ACQUIRE)), 0);
		CHECK_EQ(sleeper_join(&x.s), ESHUTDOWN);
		CHECK_EQ(x.status, CC_PARK_INTERRUPTED);
		/* Both doors lead to the same words. */
		start_direct(&x, rt, kinds[k], w.d, w.word);
		CHECK_EQ(result_of(s, unpark_entry(w.space, w.word, 9)), 1);
		CHECK_EQ(sleeper_join(&x.s), 0);
		CHECK_EQ(cc_domain_leave(s), 0);
		world_close(&w);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}
