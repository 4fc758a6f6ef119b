/* domain.c - memory of domains and objects that is freed as soon as nobody holds it, while
 * somebody of another domain has just woken who was there; slots of strands that are used
 * again; who is blocked behind a wait that has no end of its own.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c park/engine.c park/space.c park/cap.c
 *	park/ring.c */
#include <errno.h>

#include "shim_wait.h"

#include "park/ring.h"
#include "park/user.h"

enum { FIRST, SECOND };

/* All that belongs to a domain, in one piece. */
struct domain {
	struct {
		CCCapRing ring;
		CCCapSubmission sq[2];
		CCCapCompletion cq[2];
	} user;
	struct cc__bucket bucket[2];
	struct cc__region region[1];
	struct cc__space space;
	struct cc__cap cap[5];
	struct cc__caps caps;
	struct cc__strand strand[2];
	struct cc__strands strands;
	struct cc__capring ring;
	uint32_t shared;		/* its SHARED_PARK_SPACE */
};

struct object {
	struct cc__object o;
	struct cc__bucket bucket[2];
};

static cc__a32 word;
static struct domain *first, *second;
static struct object *object;
static cc__a32 inside;			/* who uses `first` */
static int entered[2], woken;

static uint64_t at(void)
{
	return (uintptr_t)&word;
}

static void free_object(struct cc__object *o)
{
	mc_free(o);
}

static void map(struct domain *d)
{
	const struct cc__region r = {.base = at(),
	                             .length = 4,
	                             .object = &object->o,
	                             .generation = cc__object_generation(&object->o),
	                             .access = CC_CAP_READ};

	MC_ASSERT(cc__space_map(&d->space, &r) == 0);
}

static struct domain *open_domain(uint64_t id)
{
	struct domain *d = mc_alloc_zero(sizeof *d);
	const struct cc__space_memory m = {d->region, 1, d->bucket, 1};
	uint32_t cap;
	int err;

	cc__space_init(&d->space, id, UINT64_MAX - 7, &m);
	cc__caps_init(&d->caps, d->cap, 5);
	MC_ASSERT(cc__caps_mint(&d->caps) == 0);
	MC_ASSERT(cc__caps_grant_object(&d->caps, &object->o, &cap) == 0);
	MC_ASSERT(cc__caps_derive(&d->caps, cap, &d->shared) == 0);
	cc__strands_init(&d->strands, &d->space, d->strand, 2);
	cc__capring_init(&d->ring, &d->user.ring, 2, 2);
	d->ring.space = &d->space;
	d->ring.caps = &d->caps;
	d->ring.strands = &d->strands;
	for (int i = 0; i < 2; i++)
		MC_ASSERT(cc__strand_join(&d->strands, &err) == &d->strand[i]);
	map(d);
	return d;
}

static void submit_park(struct domain *d, int i, uint64_t timeout)
{
	const CCCapSubmission e = {.opcode = CC_CAP_OP_PARK,
	                           .flags = CC_CAP_THREAD_OWNED,
	                           .cap = d->shared,
	                           .owner = cc__strand_id(&d->strand[i]),
	                           .address = at(),
	                           .dependency = timeout};

	MC_ASSERT(cc__user_push(&d->user.ring, 2, &e) == 0);
}

/* The creator keeps no hold. */
static void open_all(void)
{
	object = mc_alloc_zero(sizeof *object);
	cc__object_init(&object->o, 9, 4, object->bucket, 1);
	object->o.last = free_object;
	first = open_domain(1);
	second = open_domain(2);
	cc__object_drop(&object->o);
	cc__init(&inside, 1);
	submit_park(first, FIRST, CC_CAP_NEVER);
}

static void open_with_two(void)
{
	open_all();
	cc__init(&inside, 2);
}

static void close_domain(struct domain *d)
{
	cc__capring_exit(&d->ring);
	MC_ASSERT(d->ring.promised == 0 && d->ring.kept == 0);
	mc_free(d);
}

static void give_up(void)
{
	/* Acq_rel: the last one frees what the other has used. */
	if (cc__sub(&inside, 1, CC__ACQ_REL) == 1)
		close_domain(first);
}

static void leave(int i)
{
	struct cc__strand *s = &first->strand[i];

	cc__capring_strand_end(&first->ring, cc__strand_id(s));
	MC_ASSERT(cc__strand_free(s));
	give_up();
}

/* The first one that sleeps in the ring, and whoever of his domain waits for completions. */
static void park_and_leave(void)
{
	be_thread();
	entered[FIRST] = cc__capring_enter(&first->ring, &first->strand[FIRST], 0, 0);
	leave(FIRST);
}

static void await_and_leave(void)
{
	be_thread();
	entered[SECOND] = cc__capring_enter(&first->ring, &first->strand[SECOND], 1, CC_CAP_NEVER);
	MC_ASSERT(entered[SECOND] == 1);
	leave(SECOND);
}

/* From the other domain. */
static void wake(void)
{
	const struct cc__cap cap = cc__caps_look(&second->caps, second->shared);

	cc__store(&word, 1, CC__RELAXED);
	woken = cc__space_wake(&second->space, cap.object, cap.generation, at(), 1);
	cc__object_drop(cap.object);
	close_domain(second);
}

static void all_freed(void)
{
	check_threads_at_rest();
	mc_outcome("%d", woken);
}

/* covers: PRK-79/m */
SCENARIO(domain_is_freed_by_who_was_woken, .init = open_all, .body = {park_and_leave, wake},
         .final = all_freed, .leaks = true, .outcomes = "0 1", .weak = MC_NONE, .bound = 2)
SCENARIO(domain_is_freed_by_who_was_told, .init = open_with_two,
         .body = {park_and_leave, await_and_leave, wake}, .final = all_freed, .leaks = true,
         .spurious = MC_NONE, .weak = MC_NONE, .bound = 1)

/* The mapping and the capabilities go while somebody waits: his pin is the last hold. */
static void unmap_and_release(void)
{
	cc__caps_end(&first->caps);
	MC_ASSERT(cc__space_unmap(&first->space, at()) == 0);
	give_up();
	close_domain(second);
}

SCENARIO(object_is_freed_by_its_waiter, .init = open_with_two,
         .body = {park_and_leave, unmap_and_release}, .final = all_freed, .leaks = true,
         .weak = MC_NONE, .bound = 2) /* covers: PRK-80/m, PRK-86/m */

/* ---- an entry stands behind the wait ---- */

static void open_with_nop(void)
{
	const CCCapSubmission nop = {.opcode = CC_CAP_OP_NOP};

	open_all();
	MC_ASSERT(cc__user_push(&first->user.ring, 2, &nop) == 0);
}

static void park(void)
{
	be_thread();
	entered[FIRST] = cc__capring_enter(&first->ring, &first->strand[FIRST], 0, 0);
}

static void await_and_revoke(void)
{
	be_thread();
	entered[SECOND] = cc__capring_enter(&first->ring, &first->strand[SECOND], 1, CC_CAP_NEVER);
	cc__object_revoke(&object->o);
}

static void both_done(void)
{
	check_threads_at_rest();
	MC_ASSERT(entered[SECOND] == 1 && first->ring.promised == 0 && first->ring.kept == 0);
}

/* The wait goes on for ever, and only a nudge tells who is blocked that the head has moved. */
SCENARIO(ring_blocked_is_told_that_the_head_moved, .init = open_with_nop,
         .body = {park, await_and_revoke}, .final = both_done, .spurious = MC_NONE,
         .weak = MC_NONE, .bound = 2)

/* ---- a slot that is used again ---- */

static uint32_t old_id;
static int results[2];

static void open_one(void)
{
	open_all();
	old_id = cc__strand_id(&first->strand[FIRST]);
}

static void wait_as(struct cc__strand *s, int i, cc_time deadline)
{
	const struct cc__node_wait w = {.address = at(), .deadline = deadline};

	results[i] = cc__strand_wait(s, &w);
}

static void two_in_one_slot(void)
{
	struct cc__strand *s = &first->strand[FIRST];
	int err;

	be_thread();
	wait_as(s, 0, cc__now() + CC_SEC);
	cc__strand_end(&first->strands, old_id);
	MC_ASSERT(cc__strand_free(s));
	MC_ASSERT(cc__strand_join(&first->strands, &err) == s && cc__strand_id(s) != old_id);
	wait_as(s, 1, cc__now() + CC_SEC);
}

static void end_old(void)
{
	cc__strand_interrupt(&first->strands, old_id);
	cc__strand_end(&first->strands, old_id);
}

static void only_the_old_one(void)
{
	check_threads_at_rest();
	MC_ASSERT(results[1] == CC_PARK_TIMED_OUT);
	mc_outcome("%d", results[0]);
}

/* covers: PRK-58/m, PRK-94/m */
SCENARIO(strand_end_means_the_old_one, .init = open_one, .body = {two_in_one_slot, end_old},
         .final = only_the_old_one, .spurious = MC_NONE, .outcomes = "2 3 -14", .weak = 1)

/* ---- an object is revoked ---- */

static void wait_shared(void)
{
	const struct cc__cap cap = cc__caps_look(&first->caps, first->shared);
	const struct cc__node_wait w = {.object = cap.object,
	                                .generation = cap.generation,
	                                .address = at(),
	                                .deadline = CC_FOREVER};

	be_thread();
	if (cap.object == NULL) {
		results[0] = CC_CAP_E_CAP;
		return;
	}
	results[0] = cc__strand_wait(&first->strand[FIRST], &w);
	cc__object_drop(cap.object);
}

static void revoke(void)
{
	cc__object_revoke(&object->o);
}

static void revoked(void)
{
	check_threads_at_rest();
	mc_outcome("%d", results[0]);
}

/* covers: PRK-68/m */
SCENARIO(object_revoke_ends_every_wait, .init = open_one, .body = {wait_shared, revoke},
         .final = revoked, .outcomes = "3 -4 -7")
