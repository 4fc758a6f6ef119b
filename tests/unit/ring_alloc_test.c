/* ring_alloc_test.c - waits, wakes and every kind of end, while nobody may allocate.
 *
 * link-wrap: malloc calloc realloc mmap aligned_alloc posix_memalign */
#include <errno.h>
#include <sys/mman.h>

#include "domains.h"

static cc__a32 poisoned, calls;

/* Somebody allocates. */
static void count(void)
{
	if (cc__load(&poisoned, CC__RELAXED) != 0)
		cc__add(&calls, 1, CC__RELAXED);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_mmap(void *p, size_t size, int prot, int flags, int fd, off_t offset);
void *__real_aligned_alloc(size_t align, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_mmap(void *p, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_aligned_alloc(size_t align, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size);

void *__wrap_malloc(size_t size)
{
	count();
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	count();
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	count();
	return __real_realloc(p, size);
}

void *__wrap_mmap(void *p, size_t size, int prot, int flags, int fd, off_t offset)
{
	count();
	return __real_mmap(p, size, prot, flags, fd, offset);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	count();
	return __real_aligned_alloc(align, size);
}

int __wrap_posix_memalign(void **out, size_t align, size_t size)
{
	count();
	return __real_posix_memalign(out, align, size);
}

static void poison(void)
{
	cc__store(&calls, 0, CC__RELAXED);
	cc__store(&poisoned, 1, CC__RELAXED);
}

static void cure(void)
{
	cc__store(&poisoned, 0, CC__RELAXED);
	CHECK_EQ(cc__load(&calls, CC__RELAXED), 0);
}

TEST(the_poison_works)
{
	static CC__ATOMIC(void *) p;	/* a compiler leaves out what is not kept */

	poison();
	cc__store(&p, malloc(8), CC__RELAXED);
	cc__store(&poisoned, 0, CC__RELAXED);
	CHECK(cc__load(&p, CC__RELAXED) != NULL);
	free(cc__load(&p, CC__RELAXED));
	CHECK_EQ(cc__load(&calls, CC__RELAXED), 1);
}

enum { SLEEPERS = 8, ROUNDS = 6 };

struct round {
	struct world w;
	struct gate {
		cc__a32 round, arrived;
	} gate;
	cc__a32 ends;
	struct sleeper s[SLEEPERS];
};

/* Joined and started before: then it waits once a round, and is ended in whatever way. */
static int sleeper_of_rounds(void *arg)
{
	struct round *r = arg;
	CCStrand *s = joined(r->w.d);
	int entered = 0;

	for (uint32_t i = 1; i <= ROUNDS && entered >= 0; i++) {
		cc__add(&r->gate.arrived, 1, CC__RELEASE);
		while (cc__load(&r->gate.round, CC__ACQUIRE) < i)
			cc_yield();
		cc__lock(&submitting, CC__RANK_RUNTIME);
		push(r->w.d, park_entry(r->w.space, s, r->w.word, 0,
		                        i == 2 ? (uint64_t)CC_MSEC : CC_CAP_NEVER));
		cc__unlock(&submitting);
		/* Others may be at the head: whoever is, is about to enter. */
		while ((entered = cc_cap_enter(s, 0, 0)) >= 0 &&
		       cc__load(&r->ends, CC__ACQUIRE) < i)
			cc_yield();
	}
	return cc_domain_leave(s);
}

static uint32_t read_all(struct round *r)
{
	uint32_t n = 0;

	while (pop(r->w.d, NULL) != NOTHING)
		n++;
	return n;
}

/* So many wait; and then so many have ended. */
static void until_waiting(struct round *r, uint32_t round)
{
	cc__store(&r->gate.round, round, CC__RELEASE);
	TEST_UNTIL(ledger(r->w.d).waits == SLEEPERS);
}

static void until_ended(struct round *r, uint32_t round)
{
	for (uint32_t ended = 0; ended < SLEEPERS;)
		ended += read_all(r);
	cc__store(&r->ends, round, CC__RELEASE);
	TEST_UNTIL(cc__load(&r->gate.arrived, CC__ACQUIRE) == SLEEPERS * (round + 1));
}

/* Wake, timeout, interrupt, unmap, new generation, exit. */
static void end_in_every_way(enum kind kind)
{
	static struct round r;
	/* One worker, which has run them all: none is still on its way. */
	CCRuntime *rt = kind == FIBER ? test_runtime_of(1) : NULL;
	struct cc__space *space;

	memset(&r, 0, sizeof r);
	world_open(&r.w);
	space = &r.w.d->space;
	for (int i = 0; i < SLEEPERS; i++)
		sleeper_start(&r.s[i], rt, kind, sleeper_of_rounds, &r);
	TEST_UNTIL(cc__load(&r.gate.arrived, CC__ACQUIRE) == SLEEPERS);
	poison();
	until_waiting(&r, 1);
	CHECK_EQ(cc__space_wake(space, NULL, 0, (uintptr_t)r.w.word, 99), SLEEPERS);
	until_ended(&r, 1);
	cc__store(&r.gate.round, 2, CC__RELEASE);
	until_ended(&r, 2);	/* by time */
	until_waiting(&r, 3);
	for (uint32_t i = 0; i < SLEEPERS; i++)
		cc__node_interrupt(&r.w.d->strands.strand[i].node,
		                   cc__strand_id(&r.w.d->strands.strand[i]));
	until_ended(&r, 3);
	until_waiting(&r, 4);
	CHECK_EQ(cc_domain_unmap(r.w.d, r.w.word), 0);
	CHECK_EQ(cc_domain_map(r.w.d, r.w.word, sizeof r.w.word, CC_CAP_READ), 0);
	until_ended(&r, 4);
	until_waiting(&r, 5);
	CHECK_EQ(cc_domain_renew(r.w.d), 0);
	CHECK_EQ(cc_domain_map(r.w.d, r.w.word, sizeof r.w.word, CC_CAP_READ), 0);
	until_ended(&r, 5);
	until_waiting(&r, 6);
	CHECK_EQ(cc_domain_exit(r.w.d), 0);
	TEST_UNTIL(ledger(r.w.d).strands == 0);
	cure();
	for (int i = 0; i < SLEEPERS; i++)
		sleeper_join(&r.s[i]);
	CHECK_EQ(read_all(&r), 0);
	world_close(&r.w);
	if (rt != NULL)
		CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(nobody_allocates_for_threads)	/* covers: PRK-67/f, PRK-71/f */
{
	end_in_every_way(THREAD);
}

TEST(nobody_allocates_for_fibers)	/* covers: PRK-67/f, PRK-71/f */
{
	end_in_every_way(FIBER);
}

/* A million words of one object, and of one space. */
TEST(a_million_offsets_cost_nothing)	/* covers: PRK-81/s */
{
	enum { OFFSETS = 1000000, CHUNK = 4096 / 4 };
	static uint32_t memory[OFFSETS];
	const uint64_t charged = cc__park_charged();
	struct world w;
	CCCapObject *o = NULL;
	uint32_t object = 0, shared = 0;
	uint64_t charged_before;
	CCStrand *s;
	CCCapCompletion c;

	world_open(&w);
	s = joined(w.d);
	CHECK_EQ(cc_cap_object_create(&o, sizeof memory), 0);
	CHECK_EQ(cc_domain_grant_object(w.d, o, &object), 0);
	CHECK_EQ(cc_domain_derive(w.d, object, &shared), 0);
	CHECK_EQ(cc_domain_map_object(w.d, object, 0, memory, sizeof memory, CC_CAP_READ), 0);
	charged_before = cc__park_charged();
	poison();
	for (uint32_t i = 0; i < OFFSETS; i++) {
		CCCapSubmission e = park_entry(i % 2 == 0 ? shared : w.space, s, &memory[i], 0,
		                               i % CHUNK == 0 ? 1 : 0);
		int expected = CC_PARK_TIMED_OUT;

		if (i % 4 >= 2) {
			e = unpark_entry(i % 2 == 0 ? shared : w.space, &memory[i], 1);
			expected = 0;
		}
		if (cc_cap_push(w.d, &e) != 0 || cc_cap_enter(s, 0, 0) != 1 ||
		    cc_cap_pop(w.d, &c) != 0 || c.result != expected) {
			CHECK_EQ(c.result, expected);
			break;
		}
	}
	cure();
	CHECK(cc__park_charged() == charged_before);
	CHECK_EQ(cc_domain_leave(s), 0);
	world_close(&w);
	cc_cap_object_drop(o);
	CHECK(cc__park_charged() == charged);
}
