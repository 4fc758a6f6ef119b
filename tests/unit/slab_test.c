/* slab_test.c - base/slab.h: chains, reuse, a walk while others grow it.
 *
 * link-wrap: mmap
 * ctest-label: valgrind */
#include "test.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/slab.h"

/* ---- mmap, which may be told to fail ---- */

static cc__a32 mmap_calls, mmap_fails;

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	cc__add(&mmap_calls, 1, CC__RELAXED);
	if (cc__load(&mmap_fails, CC__RELAXED) != 0)
		return MAP_FAILED;
	return __real_mmap(at, size, prot, flags, fd, offset);
}

/* ---- what is in the slabs ---- */

struct object {
	cc__a64 owner;		/* 0: free */
	struct object *next;	/* the link: neither first nor last */
	uint64_t body[5];
};

static bool count(void *object, void *arg)
{
	(void)object;
	return ++*(size_t *)arg != 0;
}

static size_t walked(struct cc__slab *s)
{
	size_t n = 0;

	cc__slab_walk(s, count, &n);
	return n;
}

static bool is_zero_but_link(const struct object *o)
{
	static const uint64_t zero[5];

	return cc__peek(&o->owner) == 0 && memcmp(o->body, zero, sizeof zero) == 0;
}

/* Frees a chain of `n`, its last object unknown. */
static void put_all(struct cc__slab *s, struct object *first)
{
	while (first != NULL) {
		struct object *next = first->next;

		cc__slab_put(s, first);
		first = next;
	}
}

TEST(slab_fresh_objects_are_zero)
{
	/* More than two chunks of two megabytes hold. */
	enum { MANY = 90000 };
	static struct cc__slab s = CC__SLAB_INIT(struct object, next);
	const size_t before = walked(&s);	/* not 0 in a second round */
	const uint32_t calls = cc__load(&mmap_calls, CC__RELAXED);
	struct object *all = NULL;

	for (int i = 0; i < MANY; i++) {
		struct object *o = cc__slab_get(&s);

		REQUIRE(o != NULL && o->next == NULL && (uintptr_t)o % sizeof(void *) == 0);
		REQUIRE(before != 0 || is_zero_but_link(o));
		memset(o->body, 0xff, sizeof o->body);	/* a neighbour would notice */
		o->next = all;
		all = o;
	}
	CHECK_EQ(walked(&s), MANY);
	if (before == 0)
		CHECK(cc__load(&mmap_calls, CC__RELAXED) - calls >= 2);
	put_all(&s, all);
}

TEST(slab_object_comes_back_as_it_left_but_for_the_link)
{
	static struct cc__slab s = CC__SLAB_INIT(struct object, next);
	struct object *o = cc__slab_get(&s), *again, other;

	REQUIRE(o != NULL);
	cc__init(&o->owner, 17);
	for (int i = 0; i < 5; i++)
		o->body[i] = 0x1000 + (uint64_t)i;
	o->next = &other;
	cc__slab_put(&s, o);
	again = cc__slab_get(&s);
	REQUIRE(again == o);		/* the last one first: it is warm */
	CHECK_EQ(cc__peek(&o->owner), 17);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(o->body[i], 0x1000 + i);
	CHECK(o->next == NULL);
	cc__slab_put(&s, o);
}

TEST(slab_chain_is_linked_and_ends)
{
	static struct cc__slab s = CC__SLAB_INIT(struct object, next);
	struct object *first, *last, *o;
	const size_t before = walked(&s);
	unsigned n = 0, in_chain = 0;

	first = last = cc__slab_get_chain(&s, 10, &n);
	REQUIRE(first != NULL);
	CHECK_EQ(n, 10);
	for (o = first; o != NULL; o = o->next) {
		last = o;
		cc__init(&o->owner, ++in_chain);	/* twice the same would show below */
	}
	REQUIRE_EQ(in_chain, 10);
	for (o = first; o != NULL; o = o->next)
		CHECK_EQ(cc__peek(&o->owner), 11 - in_chain--);
	cc__slab_put_chain(&s, first, last);
	/* The same ten, and then a fresh one. */
	first = cc__slab_get_chain(&s, 11, &n);
	CHECK_EQ(n, 11);
	for (o = first, in_chain = 0; o != NULL; o = o->next)
		in_chain++;
	CHECK_EQ(in_chain, 11);
	CHECK_EQ(walked(&s), before > 11 ? before : 11);
	put_all(&s, first);
}

TEST(slab_without_memory_gives_what_it_has)
{
	static struct cc__slab s = CC__SLAB_INIT(struct object, next);
	struct object *first, *more;
	unsigned n = 99;

	if (walked(&s) == 0) {
		cc__store(&mmap_fails, 1, CC__RELAXED);
		first = cc__slab_get(&s);
		more = cc__slab_get_chain(&s, 4, &n);
		cc__store(&mmap_fails, 0, CC__RELAXED);
		CHECK(first == NULL && more == NULL);
		CHECK_EQ(n, 0);
	}
	REQUIRE((first = cc__slab_get(&s)) != NULL);
	cc__store(&mmap_fails, 1, CC__RELAXED);
	/* A chunk has room for less than 20,000 of them. */
	more = cc__slab_get_chain(&s, 100000, &n);
	cc__store(&mmap_fails, 0, CC__RELAXED);
	CHECK(more != NULL && n > 10000 && n < 100000);
	CHECK_EQ(walked(&s), n + 1);
	put_all(&s, more);
	cc__slab_put(&s, first);
}

static bool stop_at_third(void *object, void *arg)
{
	(void)object;
	return ++*(unsigned *)arg < 3;
}

TEST(slab_walk_visits_each_once_and_stops_when_told)
{
	static struct cc__slab s = CC__SLAB_INIT(struct object, next);
	struct object *o[5];
	unsigned visits = 0;

	for (int i = 0; i < 5; i++)
		REQUIRE((o[i] = cc__slab_get(&s)) != NULL);
	cc__slab_walk(&s, stop_at_third, &visits);
	CHECK_EQ(visits, 3);
	cc__slab_put(&s, o[2]);		/* free ones are visited too */
	CHECK_EQ(walked(&s), 5);
	for (int i = 0; i < 5; i++)
		if (i != 2)
			cc__slab_put(&s, o[i]);
}

TEST(slab_find_knows_the_object_around_an_address)
{
	static struct cc__slab s = CC__SLAB_INIT(struct object, next);
	static struct cc__slab other = CC__SLAB_INIT(struct object, next);
	struct object *o[3];
	char outside = 0;

	CHECK(cc__slab_find(&s, &outside) == NULL);	/* it has no memory yet */
	for (int i = 0; i < 3; i++)
		REQUIRE((o[i] = cc__slab_get(&s)) != NULL);
	REQUIRE(cc__slab_get(&other) != NULL);
	for (int i = 0; i < 3; i++) {
		CHECK(cc__slab_find(&s, o[i]) == o[i]);
		CHECK(cc__slab_find(&s, (char *)(o[i] + 1) - 1) == o[i]);
		CHECK(cc__slab_find(&other, o[i]) == NULL);
	}
	/* Of the memory before the first object, and beyond the last one. */
	CHECK(cc__slab_find(&s, (char *)o[0] - 1) == NULL);
	CHECK(cc__slab_find(&s, (char *)o[0] + (2 << 20) - 64) == NULL);
	CHECK(cc__slab_find(&s, &outside) == NULL);
	CHECK(cc__slab_find(&s, NULL) == NULL);
	CHECK(cc__slab_find(&s, (void *)UINTPTR_MAX) == NULL);
}

/* ---- growth from four threads, and a fifth that walks ---- */

enum { THREADS = 4, ROUNDS = 300, HELD = 64 };

struct growth {
	struct cc__slab slab;
	cc__a32 running;	/* threads that still grow it */
	cc__a64 taken_twice;
};

struct grower {
	struct growth *all;
	uint64_t id, random;
};

/* Whoever gets an object must find it free, and find it his when he gives it
 * back.  Half come alone, half in chains. */
static void *grow(void *arg)
{
	struct grower *me = arg;
	struct cc__slab *s = &me->all->slab;
	struct object *kept = NULL;	/* never given back before the end: growth */

	for (int round = 0; round < ROUNDS; round++) {
		unsigned n = 1 + (unsigned)(test_random(&me->random) % HELD);
		struct object *first = NULL, *o;

		if (round % 2 == 0) {
			first = cc__slab_get_chain(s, n, &n);
		} else {
			for (unsigned i = 0; i < n; i++) {
				if ((o = cc__slab_get(s)) == NULL)
					break;
				o->next = first;
				first = o;
			}
		}
		for (o = first; o != NULL; o = o->next)
			if (cc__xchg(&o->owner, me->id, CC__ACQ_REL) != 0)
				cc__add(&me->all->taken_twice, 1, CC__RELAXED);
		if ((o = first) != NULL) {
			first = o->next;
			o->next = kept;
			kept = o;
		}
		for (o = first; o != NULL; o = o->next)
			if (cc__xchg(&o->owner, 0, CC__ACQ_REL) != me->id)
				cc__add(&me->all->taken_twice, 1, CC__RELAXED);
		put_all(s, first);
	}
	for (struct object *o = kept; o != NULL; o = o->next)
		cc__store(&o->owner, 0, CC__RELEASE);
	put_all(s, kept);
	cc__sub(&me->all->running, 1, CC__RELEASE);
	return NULL;
}

static bool owner_is_known(void *object, void *arg)
{
	struct object *o = object;
	size_t *visits = arg;

	if (cc__load(&o->owner, CC__RELAXED) > THREADS)
		return false;
	++*visits;
	return true;
}

TEST(slab_is_walked_while_four_threads_grow_it)
{
	static struct growth g = {.slab = CC__SLAB_INIT(struct object, next)};
	struct grower grower[THREADS];
	pthread_t thread[THREADS];
	size_t before = 0;
	unsigned walks = 0;
	uint64_t random = test_seed();

	cc__init(&g.running, THREADS);
	for (int i = 0; i < THREADS; i++) {
		grower[i] = (struct grower){&g, (uint64_t)i + 1, test_random(&random)};
		REQUIRE_EQ(pthread_create(&thread[i], NULL, grow, &grower[i]), 0);
	}
	do {
		size_t visits = 0;

		cc__slab_walk(&g.slab, owner_is_known, &visits);
		CHECK(visits >= before);	/* it grows only, and no owner is unknown */
		before = visits;
		walks++;
	} while (cc__load(&g.running, CC__ACQUIRE) != 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHECK(walks > 0 && walked(&g.slab) >= ROUNDS);
	CHECK_EQ(cc__peek(&g.taken_twice), 0);
}
