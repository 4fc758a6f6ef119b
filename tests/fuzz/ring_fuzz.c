/* ring_fuzz.c - reads a string of bytes as what a hostile user does to his rings, and as calls
 * that look at them: whatever he writes, results are of the contract, and what the domain
 * promises and keeps for itself stays whole.  See driver.h.
 *
 * One strand, this thread.  Waits that would not end are given a short time before each
 * call; nobody else is there to wake them. */
#include <errno.h>

#define FUZZ_NAME "ring_fuzz"
#include "driver.h"

#include "park/domain.h"
#include "park/user.h"

enum { SQ = 8, CQ = 8, WORDS = 4 };

static struct world {
	const uint8_t *bytes;
	size_t left;
	CCDomain *d;
	CCStrand *s;
	uint32_t caps[4];	/* to choose from */
	uint32_t words[WORDS];
	CCCapObject *object;
	uint32_t sq_head, cq_tail;	/* the domain's, when we last looked */
} w;

static void fail(const char *what)
{
	fprintf(stderr, "ring_fuzz: %s\n", what);
	abort();
}

static uint64_t next_bytes(unsigned count)
{
	uint64_t value = 0;

	for (; count > 0 && w.left > 0; count--, w.left--)
		value = value << 8 | *w.bytes++;
	return value;
}

/* ---- what he writes ---- */

static CCCapSubmission *entry_of(uint32_t index)
{
	return &cc_cap_submissions(w.d->ring.user)[index % SQ];
}

/* Anything at all, into an entry. */
static void op_garbage(void)
{
	unsigned char *at = (unsigned char *)entry_of((uint32_t)next_bytes(1));
	const unsigned from = (unsigned)next_bytes(1) % 64, count = (unsigned)next_bytes(1) % 64;

	for (unsigned i = from; i < 64 && i < from + count; i++)
		at[i] = (unsigned char)next_bytes(1);
}

/* Something that makes sense, but for a bit perhaps. */
static void op_entry(void)
{
	static const uint16_t opcodes[] = {CC_CAP_OP_PARK,    CC_CAP_OP_UNPARK, CC_CAP_OP_NOP,
	                                   CC_CAP_OP_RELEASE, CC_CAP_OP_TIMER};
	const unsigned how = (unsigned)next_bytes(1);
	CCCapSubmission e = {.opcode = opcodes[how % 5], .user_data = next_bytes(2)};
	const unsigned bit = (unsigned)next_bytes(2);

	e.cap = w.caps[next_bytes(1) % 4];
	if (e.opcode == CC_CAP_OP_PARK || e.opcode == CC_CAP_OP_UNPARK) {
		e.address = (uintptr_t)&w.words[next_bytes(1) % WORDS];
		e.length = (uint32_t)next_bytes(1) % 3;
	}
	if (e.opcode == CC_CAP_OP_PARK) {
		e.flags = CC_CAP_THREAD_OWNED;
		e.owner = cc_strand_id(w.s);
	}
	if (e.opcode == CC_CAP_OP_TIMER || e.opcode == CC_CAP_OP_PARK)
		e.dependency = next_bytes(2);
	if (e.opcode == CC_CAP_OP_NOP)
		e.cap = 0;
	if (bit < 512)
		((unsigned char *)&e)[bit / 8] ^= (unsigned char)(1 << bit % 8);
	cc_ignore(cc_cap_push(w.d, &e));
}

static void op_index(void)
{
	CCCapRing *r = w.d->ring.user;
	uint32_t *const index[] = {&r->sq_head, &r->sq_tail, &r->cq_head, &r->cq_tail,
	                           &r->sq_entries, &r->cq_entries};
	uint32_t *at = index[next_bytes(1) % 6];
	const unsigned how = (unsigned)next_bytes(1);

	*at = how % 2 == 0 ? *at + how / 2 - 64 : (uint32_t)next_bytes(4);
}

/* Sense again: what a user would have there. */
static void op_repair(void)
{
	CCCapRing *r = w.d->ring.user;

	r->sq_head = r->sq_tail = w.d->ring.sq_head;
	r->cq_head = r->cq_tail = w.d->ring.cq_tail;
}

/* ---- what he calls ---- */

static void shorten_waits(void)
{
	for (uint32_t i = 0; i < SQ; i++)
		if (entry_of(i)->opcode == CC_CAP_OP_PARK)
			entry_of(i)->dependency &= 0xff;
}

static void check_result(int result)
{
	if (result > CQ || (result < 0 && result != CC_CAP_E_RING))
		fail("a result that is none");
}

static void op_enter(void)
{
	shorten_waits();
	check_result(cc_cap_enter(w.s, 0, 0));
}

static void op_enter_for_some(void)
{
	shorten_waits();
	check_result(cc_cap_enter(w.s, (uint32_t)next_bytes(1) % (CQ + 1), 1 + next_bytes(1)));
}

static void op_poll(void)
{
	check_result(cc_cap_poll(w.d));
}

static void op_pop(void)
{
	CCCapCompletion c;

	if (cc_cap_pop(w.d, &c) == 0 && (c.flags != 0 || c.reserved[0] != 0 || c.reserved[1] != 0))
		fail("a completion that nobody wrote");
}

static void op_map(void)
{
	static int (*const change[])(CCDomain *, const void *) = {cc_domain_unmap, cc_domain_revoke};
	const unsigned how = (unsigned)next_bytes(1);

	if (how % 4 == 0)
		cc_ignore(cc_domain_map(w.d, w.words, sizeof w.words, how / 4 % 4));
	else if (how % 4 == 1)
		cc_ignore(cc_domain_map_object(w.d, w.caps[2], 0, w.words, sizeof w.words,
		                               CC_CAP_READ));
	else
		change[how % 2](w.d, w.words);
}

static void op_leave(void)
{
	if (cc_domain_leave(w.s) != 0 || cc_domain_join(w.d, &w.s) != 0)
		fail("cannot leave and join");
}

/* ---- what must hold ---- */

static void check_ring(void)
{
	const struct cc__capring *r = &w.d->ring;

	if (r->cq_tail - r->cq_head + r->promised > CQ)
		fail("more than there is room for");
	if (r->kept != r->armed || r->promised != r->armed)
		fail("a promise that nobody keeps");
	if (r->sq_head - w.sq_head > 64 * SQ || r->cq_tail - w.cq_tail > 64 * SQ)
		fail("an index of the domain went back");
	if (r->entering || cc__strands_waiting(&w.d->strands) != 0)
		fail("somebody is left inside");
	w.sq_head = r->sq_head;
	w.cq_tail = r->cq_tail;
}

static void open_world(void)
{
	const CCDomainOptions o = {.strands = 2, .submissions = SQ, .completions = CQ, .buckets = 2};

	if (cc_domain_create(&w.d, &o) != 0 || cc_domain_join(w.d, &w.s) != 0 ||
	    cc_cap_object_create(&w.object, sizeof w.words) != 0)
		fail("no domain");
	w.caps[0] = cc_domain_cap(w.d, CC_CAP_PARK_SPACE);
	if (cc_domain_grant_timer(w.d, &w.caps[1]) != 0 ||
	    cc_domain_grant_object(w.d, w.object, &w.caps[2]) != 0 ||
	    cc_domain_derive(w.d, w.caps[2], &w.caps[3]) != 0 ||
	    cc_domain_map(w.d, w.words, sizeof w.words, CC_CAP_READ) != 0)
		fail("no capabilities");
}

/* covers: PRK-96/q */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static void (*const ops[])(void) = {op_entry, op_garbage, op_enter,          op_entry,
	                                    op_pop,   op_index,   op_enter_for_some, op_entry,
	                                    op_poll,  op_enter,   op_repair,         op_map,
	                                    op_leave};

	memset(&w, 0, sizeof w);
	w.bytes = bytes;
	w.left = size;
	open_world();
	while (w.left > 0) {
		ops[next_bytes(1) % (sizeof ops / sizeof *ops)]();
		check_ring();
	}
	if (cc_domain_leave(w.s) != 0 || cc_domain_free(w.d) != 0)
		fail("not free at the end");
	cc_cap_object_drop(w.object);
	if (cc__park_charged() != 0)
		fail("something is still charged");
	return 0;
}
