/* ring_test.c - the ring door of strict domains: what entries may look like, what completes
 * them, and who may block. */
#include <errno.h>
#include <sys/mman.h>

#include "domains.h"

static const enum kind kinds[] = {FIBER, THREAD};

/* The layout, as docs/park.md has it.  covers: PRK-24/a, PRK-33/a */
_Static_assert(sizeof(CCCapSubmission) == 64 && sizeof(CCCapCompletion) == 32, "sizes");
_Static_assert(offsetof(CCCapSubmission, cap) == 8 && offsetof(CCCapSubmission, owner) == 12 &&
                   offsetof(CCCapSubmission, user_data) == 16 &&
                   offsetof(CCCapSubmission, address) == 24 &&
                   offsetof(CCCapSubmission, length) == 32 &&
                   offsetof(CCCapSubmission, dependency) == 40,
               "what a wait fills in");
_Static_assert(CC_PARK_WOKEN == 0 && CC_PARK_VALUE_MISMATCH == 1 && CC_PARK_TIMED_OUT == 2 &&
                   CC_PARK_INTERRUPTED == 3,
               "results of a wait");

static CCCapSubmission park_here(const struct own *o, uint64_t timeout)
{
	return park_entry(o->w.space, o->s, &o->w.word[0], 0, timeout);
}

static uint32_t head_of(const struct own *o)
{
	return cc__load(cc__user_index(&cc_domain_ring(o->w.d)->sq_head), CC__ACQUIRE);
}

/* ---- entries ---- */

TEST(ring_operations_that_need_not_sleep)	/* covers: PRK-03/u, PRK-25/u, PRK-33/u, PRK-34/u,
						 * PRK-36/u, PRK-51/u, PRK-52/u */
{
	struct own o;
	CCCapSubmission e;

	own_open(&o);
	CHECK_EQ(result_of(o.s, nop_entry(7)), 0);
	o.w.word[0] = 0x80000001;
	e = park_here(&o, CC_CAP_NEVER);
	for (uint32_t expected = 0; expected < 4; expected++) {
		e.length = expected;
		e.user_data = UINT64_MAX - expected;
		CHECK_EQ(result_of(o.s, e), CC_PARK_VALUE_MISMATCH);
	}
	e.length = 0x80000001;
	e.dependency = 0;
	CHECK_EQ(result_of(o.s, e), CC_PARK_TIMED_OUT);
	CHECK_EQ(result_of(o.s, unpark_entry(o.w.space, &o.w.word[0], 1)), 0);
	CHECK_EQ(result_of(o.s, unpark_entry(o.w.space, &o.w.word[0], UINT32_MAX)), 0);
	own_close(&o);
}

TEST(ring_flags_of_a_wait_are_exactly_thread_owned)	/* covers: PRK-27/u, PRK-32/u */
{
	struct own o;

	own_open(&o);
	for (uint32_t flags = 0; flags <= UINT16_MAX; flags++) {
		CCCapSubmission e = park_here(&o, 0);

		e.flags = (uint16_t)flags;
		CHECK_EQ(result_of(o.s, e), flags == CC_CAP_THREAD_OWNED ? CC_PARK_TIMED_OUT
		                                                         : CC_CAP_E_MALFORMED);
	}
	own_close(&o);
}

/* One bit at a time: whether it belongs to a field that the operation uses. */
static bool is_used(const CCCapSubmission *e, size_t byte)
{
	static const struct {
		size_t at, size;
		bool park, unpark;
	} fields[] = {
	    {offsetof(CCCapSubmission, opcode), 2, true, true},
	    {offsetof(CCCapSubmission, cap), 4, true, true},
	    {offsetof(CCCapSubmission, owner), 4, true, false},
	    {offsetof(CCCapSubmission, user_data), 8, true, true},
	    {offsetof(CCCapSubmission, address), 8, true, true},
	    {offsetof(CCCapSubmission, length), 4, true, true},
	    {offsetof(CCCapSubmission, dependency), 8, true, false},
	};

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (byte >= fields[i].at && byte < fields[i].at + fields[i].size)
			return e->opcode == CC_CAP_OP_PARK ? fields[i].park : fields[i].unpark;
	return false;
}

static void sweep(struct own *o, const CCCapSubmission *good)
{
	for (size_t bit = 0; bit < 8 * sizeof *good; bit++) {
		union {
			CCCapSubmission e;
			unsigned char byte[64];
		} u = {*good};

		u.byte[bit / 8] ^= (unsigned char)(1 << bit % 8);
		if (!is_used(good, bit / 8))
			CHECK_EQ(result_of(o->s, u.e), CC_CAP_E_MALFORMED);
	}
}

TEST(ring_what_is_not_used_is_zero)	/* covers: PRK-30/u, PRK-31/u, PRK-32/u */
{
	struct own o;
	CCCapSubmission e;

	own_open(&o);
	e = park_here(&o, 0);
	sweep(&o, &e);
	CHECK_EQ(result_of(o.s, e), CC_PARK_TIMED_OUT);
	e = unpark_entry(o.w.space, &o.w.word[0], 1);
	sweep(&o, &e);
	CHECK_EQ(result_of(o.s, e), 0);
	e.flags = CC_CAP_PIPELINE;
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_MALFORMED);
	own_close(&o);
}

/* Bits of the fields that are used: each gives one of the results of a table, none anything
 * worse. */
TEST(ring_every_bit_of_an_entry_is_survived)
{
	struct own o;

	own_open(&o);
	for (int which = 0; which < 2; which++)
		for (size_t bit = 0; bit < 512; bit++) {
			union {
				CCCapSubmission e;
				unsigned char byte[64];
			} u;
			int result;

			u.e = which == 0 ? park_here(&o, 0) : unpark_entry(o.w.space, &o.w.word[0], 1);
			u.byte[bit / 8] ^= (unsigned char)(1 << bit % 8);
			if (u.e.opcode == CC_CAP_OP_PARK && u.e.dependency != 0)
				u.e.length = 1;
			result = result_of(o.s, u.e);
			CHECK(result >= CC_CAP_E_FAULT && result <= CC_PARK_TIMED_OUT);
		}
	own_close(&o);
}

TEST(ring_opcodes_that_are_none)	/* covers: PRK-01/u */
{
	struct own o;

	own_open(&o);
	for (uint32_t op = 0; op <= UINT16_MAX; op++) {
		const CCCapSubmission e = {.opcode = (uint16_t)op, .user_data = op};
		const int result = result_of(o.s, e);

		switch (op) {
		case CC_CAP_OP_NOP:
			CHECK_EQ(result, 0);
			break;
		case CC_CAP_OP_RELEASE:
		case CC_CAP_OP_TIMER:
			CHECK_EQ(result, CC_CAP_E_CAP);
			break;
		case CC_CAP_OP_PARK:
		case CC_CAP_OP_UNPARK:
			CHECK_EQ(result, CC_CAP_E_MALFORMED);
			break;
		default:	/* the reserved one for measuring, too */
			CHECK_EQ(result, CC_CAP_E_UNSUPPORTED);
		}
	}
	own_close(&o);
}

TEST(ring_transport_errors)	/* covers: PRK-35/u, PRK-18/u, PRK-19/u, PRK-20/u, PRK-29/u, PRK-48/u,
				 * PRK-82/u, PRK-98/u, RES-65/u */
{
	struct own o;
	uint32_t timer = 0, gone = 0, away = 0;
	static uint32_t no_read[4];
	CCCapSubmission e;

	own_open(&o);
	CHECK_EQ(cc_domain_map(o.w.d, no_read, sizeof no_read, CC_CAP_WRITE), 0);
	CHECK_EQ(cc_domain_grant_timer(o.w.d, &timer), 0);
	CHECK_EQ(cc_domain_grant_timer(o.w.d, &gone), 0);
	CHECK_EQ(cc_domain_release(o.w.d, gone), 0);
	for (uint32_t odd = 1; odd <= 3; odd++) {
		e = park_here(&o, 0);
		e.address += odd;
		CHECK_EQ(result_of(o.s, e), CC_CAP_E_ADDRESS);
		e = unpark_entry(o.w.space, &o.w.word[0], 1);
		e.address += odd;
		CHECK_EQ(result_of(o.s, e), CC_CAP_E_ADDRESS);
	}
	for (int bit = 56; bit < 64; bit++) {
		e = park_here(&o, 0);
		e.address |= UINT64_C(1) << bit;
		CHECK_EQ(result_of(o.s, e), CC_CAP_E_ADDRESS);
		e = unpark_entry(o.w.space, &o.w.word[0], 1);
		e.address |= UINT64_C(1) << bit;
		CHECK_EQ(result_of(o.s, e), CC_CAP_E_ADDRESS);
	}
	/* What is not mapped, or not to be read, cannot be waited for; to wake is to name it. */
	e = park_entry(o.w.space, o.s, &away, 0, 0);
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_FAULT);
	e = park_entry(o.w.space, o.s, NULL, 0, 0);
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_FAULT);
	e = park_entry(o.w.space, o.s, no_read, 0, 0);
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_FAULT);
	CHECK_EQ(result_of(o.s, unpark_entry(o.w.space, &away, 1)), 0);
	CHECK_EQ(result_of(o.s, unpark_entry(o.w.space, no_read, 1)), 0);
	CHECK_EQ(result_of(o.s, unpark_entry(o.w.space, &o.w.word[0], 0)), CC_CAP_E_MALFORMED);
	for (int which = 0; which < 2; which++) {
		const uint32_t bad[] = {0, gone, o.w.space ^ 1 << 20, UINT32_MAX, timer,
		                        cc_domain_cap(o.w.d, CC_CAP_THREAD_CONTROL)};

		for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
			e = which == 0 ? park_here(&o, 0) : unpark_entry(0, &o.w.word[0], 1);
			e.cap = bad[i];
			CHECK_EQ(result_of(o.s, e), i < 4 ? CC_CAP_E_CAP : CC_CAP_E_KIND);
		}
	}
	own_close(&o);
}

/* Each entry has all that is wrong behind the first. */
TEST(ring_errors_in_their_order)	/* covers: PRK-46/u, PRK-99/u */
{
	struct own o;
	uint32_t away = 5;
	CCCapSubmission e;

	own_open(&o);
	o.w.word[0] = 5;
	e = park_entry(12345, o.s, (char *)&away + 1, 0, 0);
	e.reserved = 1;
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_MALFORMED);
	e.reserved = 0;
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_CAP);
	e.cap = o.w.space;
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_ADDRESS);
	e.address = (uintptr_t)&away;
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_FAULT);
	e.address = (uintptr_t)&o.w.word[0];
	CHECK_EQ(result_of(o.s, e), CC_PARK_VALUE_MISMATCH);
	e.length = 5;
	CHECK_EQ(result_of(o.s, e), CC_PARK_TIMED_OUT);
	e = unpark_entry(12345, (char *)&away + 1, 1);
	e.owner = 1;
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_MALFORMED);
	e.owner = 0;
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_CAP);
	e.cap = o.w.space;
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_ADDRESS);
	own_close(&o);
}

/* ---- whose entry ---- */

TEST(ring_a_foreign_entry_stays_at_the_head)	/* covers: PRK-28/u, PRK-47/u, RES-29/u */
{
	struct own o;
	CCStrand *other;
	uint64_t user_data = 0;

	own_open(&o);
	other = joined(o.w.d);
	push(o.w.d, nop_entry(1));
	push(o.w.d, park_entry(o.w.space, other, &o.w.word[0], 1, CC_CAP_NEVER));
	push(o.w.d, nop_entry(2));
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(cc_cap_enter(o.s, 0, 0), 1);
		CHECK_EQ(head_of(&o), 1);
	}
	CHECK_EQ(cc_cap_enter(other, 0, 0), 3);
	CHECK_EQ(head_of(&o), 3);
	CHECK_EQ(pop(o.w.d, &user_data), 0);
	CHECK_EQ(pop(o.w.d, &user_data), CC_PARK_VALUE_MISMATCH);
	CHECK_EQ(pop(o.w.d, &user_data), 0);
	CHECK_EQ(user_data, 2);
	CHECK_EQ(cc_domain_leave(other), 0);
	own_close(&o);
}

TEST(ring_entries_of_the_dead_are_retired)	/* covers: PRK-93/u, PRK-94/u, RES-31/u */
{
	struct own o;
	CCStrand *other;
	uint32_t id;

	own_open(&o);
	other = joined(o.w.d);
	id = cc_strand_id(other);
	push(o.w.d, park_entry(o.w.space, other, &o.w.word[0], 0, CC_CAP_NEVER));
	push(o.w.d, nop_entry(2));
	push(o.w.d, park_entry(o.w.space, other, &o.w.word[0], 0, CC_CAP_NEVER));
	push(o.w.d, nop_entry(3));
	/* The one at the head goes with its owner, the other when its turn comes. */
	CHECK_EQ(cc_domain_leave(other), 0);
	CHECK_EQ(pop(o.w.d, NULL), CC_CAP_E_OWNER);
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), 3);
	CHECK_EQ(pop(o.w.d, NULL), 0);
	CHECK_EQ(pop(o.w.d, NULL), CC_CAP_E_OWNER);
	CHECK_EQ(pop(o.w.d, NULL), 0);
	/* Whoever gets its place is not taken for it. */
	other = joined(o.w.d);
	CHECK(cc_strand_id(other) != id);
	push(o.w.d, park_entry(o.w.space, other, &o.w.word[0], 0, CC_CAP_NEVER));
	cc_cap_submissions(cc_domain_ring(o.w.d))[4].owner = id;
	CHECK_EQ(cc_cap_enter(other, 0, 0), 1);
	CHECK_EQ(pop(o.w.d, NULL), CC_CAP_E_OWNER);
	for (uint32_t never = 0; never < 3; never++) {
		CCCapSubmission e = park_here(&o, 0);

		e.owner = never == 0 ? 0 : UINT32_MAX >> (never - 1) * 20;
		CHECK_EQ(result_of(o.s, e), CC_CAP_E_OWNER);
	}
	CHECK_EQ(cc_domain_leave(other), 0);
	own_close(&o);
}

TEST(ring_ids_of_strands_are_not_given_out_again)	/* covers: PRK-94/u */
{
	const CCDomainOptions options = {.strands = 2};
	struct own o;
	uint32_t last = 0;

	own_open_with(&o, &options);
	for (int i = 0; i < 1000; i++) {
		CCStrand *other = joined(o.w.d), *third = NULL;

		CHECK(cc_strand_id(other) > last && cc_strand_id(other) != cc_strand_id(o.s));
		last = cc_strand_id(other);
		CHECK_EQ(cc_domain_join(o.w.d, &third), EAGAIN);
		CHECK_EQ(cc_domain_leave(other), 0);
	}
	own_close(&o);
}

/* ---- sleep and wake ---- */

TEST(ring_a_wake_wakes)	/* covers: PRK-101/u, PRK-73/u */
{
	CCRuntime *rt = test_runtime_of(2);
	struct own o;

	own_open(&o);
	for (int k = 0; k < 2; k++) {
		struct waiting x;
		uint64_t user_data = 0;
		const uint32_t head = head_of(&o);

		start_waiting(&x, rt, kinds[k], o.w.d, park_here(&o, CC_CAP_NEVER));
		CHECK_EQ(head_of(&o), head + 1);
		CHECK_EQ(ledger(o.w.d).promised, 1);
		CHECK_EQ(ledger(o.w.d).waits, 1);
		push(o.w.d, unpark_entry(o.w.space, &o.w.word[0], 5));
		CHECK_EQ(cc_cap_enter(o.s, 2, CC_CAP_NEVER), 2);
		sleeper_join(&x.s);
		CHECK_EQ(pop(o.w.d, &user_data), CC_PARK_WOKEN);
		CHECK_EQ(user_data, 0x1111);
		CHECK_EQ(pop(o.w.d, &user_data), 1);
		CHECK_EQ(user_data, 0x2222);
	}
	own_close(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

enum { MANY = 12 };

/* The completions are posted in the order of the wakes. */
TEST(ring_wakes_in_the_order_of_coming)	/* covers: PRK-56/u, PRK-34/u */
{
	CCRuntime *rt = test_runtime_of(2);
	struct waiting x[MANY];
	struct own o;
	uint64_t next = 0, user_data = 0;
	unsigned gone = 0;

	own_open(&o);
	for (uint64_t i = 0; i < MANY; i++) {
		CCCapSubmission e = park_here(&o, CC_CAP_NEVER);

		e.user_data = i;
		start_waiting(&x[i], rt, kinds[i % 2], o.w.d, e);
	}
	for (uint32_t most = 1; next < MANY; most++) {
		const uint64_t left = MANY - next;
		const int woken = (int)(most < left ? most : left);

		push(o.w.d, unpark_entry(o.w.space, &o.w.word[0], most));
		CHECK(cc_cap_enter(o.s, 0, 0) == woken + 1);
		for (int i = 0; i < woken; i++) {
			CHECK_EQ(pop(o.w.d, &user_data), CC_PARK_WOKEN);
			CHECK_EQ(user_data, next++);
		}
		CHECK_EQ(pop(o.w.d, NULL), woken);
		for (int i = 0; i < woken; i++)	/* or they take the next entry */
			sleeper_join(&x[gone++].s);
	}
	own_close(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(ring_timeouts)	/* covers: PRK-26/u, PRK-61/u, PRK-62/u, PRK-97/u */
{
	struct own o;
	uint32_t timer = 0;
	CCCapSubmission tick;

	own_open(&o);
	CHECK_EQ(cc_domain_grant_timer(o.w.d, &timer), 0);
	tick = (CCCapSubmission){
	    .opcode = CC_CAP_OP_TIMER, .cap = timer, .user_data = 9, .dependency = CC_MSEC};
	for (uint64_t nanoseconds = 1; nanoseconds <= CC_MSEC; nanoseconds *= 1000) {
		const cc_time before = cc_now();

		CHECK_EQ(result_of(o.s, park_here(&o, nanoseconds)), CC_PARK_TIMED_OUT);
		CHECK(cc_now() - before >= (cc_time)nanoseconds);
	}
	/* The timer's clock is the same: armed first for the same span, it is through. */
	push(o.w.d, tick);
	push(o.w.d, park_here(&o, CC_MSEC));
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), 2);
	CHECK_EQ(pop(o.w.d, NULL), CC_PARK_TIMED_OUT);
	CHECK_EQ(pop(o.w.d, NULL), 0);
	/* However long, a span stays one. */
	CHECK_EQ(cc__park_deadline(CC_CAP_NEVER), CC_FOREVER);
	CHECK_EQ(cc__park_deadline(CC_CAP_NEVER - 1), CC_FOREVER - 1);
	CHECK_EQ(cc__park_deadline((uint64_t)INT64_MAX), CC_FOREVER - 1);
	CHECK_EQ(cc__park_deadline((uint64_t)INT64_MAX + 1), CC_FOREVER - 1);
	CHECK_EQ(cc__park_deadline(0), CC_NOW);
	own_close(&o);
}

TEST(ring_timers_are_ordinary_work)
{
	struct own o;
	uint32_t timer = 0;
	CCCapSubmission e;

	own_open(&o);
	CHECK_EQ(cc_domain_grant_timer(o.w.d, &timer), 0);
	e = (CCCapSubmission){.opcode = CC_CAP_OP_TIMER, .cap = timer, .user_data = 4};
	CHECK_EQ(result_of(o.s, e), 0);
	e.dependency = CC_CAP_NEVER;
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_MALFORMED);
	e.dependency = 1;
	e.cap = o.w.space;
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_KIND);
	e.cap = timer;
	for (int i = 0; i < CC__CAPRING_TIMERS; i++) {
		e.dependency = (uint64_t)(CC__CAPRING_TIMERS - i) * 100 * CC_USEC;
		push(o.w.d, e);
		CHECK(cc_cap_enter(o.s, 0, 0) >= 0);
	}
	/* Blocked, it sees to them. */
	CHECK_EQ(cc_cap_enter(o.s, CC__CAPRING_TIMERS, CC_CAP_NEVER), CC__CAPRING_TIMERS);
	for (int i = 0; i < CC__CAPRING_TIMERS; i++)
		CHECK_EQ(pop(o.w.d, NULL), 0);
	e.dependency = (uint64_t)(3600 * CC_SEC);
	for (int i = 0; i < CC__CAPRING_TIMERS; i++) {
		push(o.w.d, e);
		CHECK_EQ(cc_cap_enter(o.s, 0, 0), 0);
	}
	CHECK_EQ(ledger(o.w.d).timers, CC__CAPRING_TIMERS);
	CHECK_EQ(result_of(o.s, e), CC_CAP_E_AGAIN);
	own_close(&o);	/* with timers that are armed */
}

/* ---- promises ---- */

/* 32 places: 31 may sleep, and there is a place to wake them from. */
TEST(ring_credits_leave_one_ordinary_place)	/* covers: PRK-92/u, PRK-74/u, PRK-57/u, PRK-73/u, RES-30/u */
{
	CCRuntime *rt = test_runtime_of(2);
	struct waiting x[31];
	uint64_t which = 0;
	struct own o;

	own_open(&o);
	for (int i = 0; i < 31; i++)
		start_waiting(&x[i], rt, FIBER, o.w.d, park_here(&o, CC_CAP_NEVER));
	CHECK_EQ(ledger(o.w.d).promised, 31);
	/* One more is refused, neither asleep nor listed; and so are timers. */
	CHECK_EQ(result_of(o.s, park_here(&o, CC_CAP_NEVER)), CC_CAP_E_AGAIN);
	CHECK_EQ(ledger(o.w.d).waits, 31);
	CHECK_EQ(ledger(o.w.d).promised, 31);
	/* Of the 32 places one is left for all other completions. */
	push(o.w.d, nop_entry(1));
	push(o.w.d, nop_entry(2));
	for (uint64_t i = 1; i <= 2; i++) {
		CHECK_EQ(cc_cap_enter(o.s, 0, 0), 1);
		CHECK_EQ(pop(o.w.d, &which), 0);
		CHECK_EQ(which, i);
	}
	/* What need not sleep needs no credit. */
	CHECK_EQ(result_of(o.s, park_here(&o, 0)), CC_PARK_TIMED_OUT);
	push(o.w.d, unpark_entry(o.w.space, &o.w.word[0], 40));
	CHECK_EQ(cc_cap_enter(o.s, 32, CC_CAP_NEVER), 32);
	for (int i = 0; i < 31; i++)
		CHECK_EQ(pop(o.w.d, NULL), CC_PARK_WOKEN);
	CHECK_EQ(pop(o.w.d, NULL), 31);
	for (int i = 0; i < 31; i++)
		sleeper_join(&x[i].s);
	own_close(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(ring_a_wake_waits_for_a_place_of_its_own)	/* covers: PRK-59/u, PRK-57/u, PRK-73/u, PRK-74/u */
{
	const CCDomainOptions options = {.completions = 4};
	CCRuntime *rt = test_runtime_of(2);
	struct waiting x;
	struct own o;

	own_open_with(&o, &options);
	start_waiting(&x, rt, FIBER, o.w.d, park_here(&o, CC_CAP_NEVER));
	for (uint64_t i = 0; i < 3; i++)
		push(o.w.d, nop_entry(i));
	push(o.w.d, unpark_entry(o.w.space, &o.w.word[0], 1));
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(cc_cap_enter(o.s, 0, 0), 3);
		CHECK_EQ(head_of(&o), 4);
		CHECK_EQ(ledger(o.w.d).waits, 1);
	}
	/* With one place the wake is taken, and the waiter has the place that it kept. */
	CHECK_EQ(pop(o.w.d, NULL), 0);
	CHECK_EQ(cc_cap_enter(o.s, 4, CC_CAP_NEVER), 4);
	CHECK_EQ(pop(o.w.d, NULL), 0);
	CHECK_EQ(pop(o.w.d, NULL), 0);
	CHECK_EQ(pop(o.w.d, NULL), CC_PARK_WOKEN);
	CHECK_EQ(pop(o.w.d, NULL), 1);
	sleeper_join(&x.s);
	own_close(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Senseless indices are told, nothing is taken, and sense brings all back. */
TEST(ring_indices_that_make_no_sense)	/* covers: PRK-96/u */
{
	struct own o;
	CCCapRing *r;

	own_open(&o);
	r = cc_domain_ring(o.w.d);
	push(o.w.d, nop_entry(1));
	r->sq_tail = 17;
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), CC_CAP_E_RING);
	r->sq_tail = UINT32_MAX;
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), CC_CAP_E_RING);
	CHECK_EQ(cc_cap_poll(o.w.d), CC_CAP_E_RING);
	r->sq_tail = 1;
	r->sq_head = 77;	/* nobody reads it */
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), 1);
	CHECK_EQ(r->sq_head, 1);
	r->cq_head = 2;
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), CC_CAP_E_RING);
	r->cq_head = UINT32_MAX;
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), CC_CAP_E_RING);
	r->cq_tail = 99;
	r->cq_head = 0;
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), 1);
	r->cq_tail = 1;
	CHECK_EQ(pop(o.w.d, NULL), 0);
	CHECK_EQ(cc_cap_enter(o.s, 33, 0), CC_CAP_E_MALFORMED);
	own_close(&o);
}

/* ---- poll ---- */

TEST(ring_poll_leaves_what_sleeps_or_wakes)	/* covers: PRK-43/u, PRK-44/u */
{
	struct own o;

	own_open(&o);
	push(o.w.d, nop_entry(1));
	push(o.w.d, park_here(&o, 0));
	push(o.w.d, nop_entry(2));
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(cc_cap_poll(o.w.d), 1);
		CHECK_EQ(head_of(&o), 1);
	}
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), 3);
	push(o.w.d, unpark_entry(o.w.space, &o.w.word[0], 1));
	push(o.w.d, nop_entry(3));
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(cc_cap_poll(o.w.d), 3);
		CHECK_EQ(head_of(&o), 3);
	}
	CHECK_EQ(cc_cap_enter(o.s, 0, 0), 5);
	own_close(&o);
}

/* ---- who may block ---- */

struct blocker {
	CCDomain *d;
	uint32_t wanted;
	int entered;
	struct sleeper s;
};

static int blocker_main(void *arg)
{
	struct blocker *b = arg;
	CCStrand *s = joined(b->d);

	b->entered = cc_cap_enter(s, b->wanted, CC_CAP_NEVER);
	return cc_domain_leave(s);
}

static bool is_blocked(CCDomain *d)
{
	bool blocked;

	cc__lock(&d->ring.done.lock, CC__RANK_DONE);
	blocked = d->ring.done.head != NULL;
	cc__unlock(&d->ring.done.lock);
	return blocked;
}

/* The same, or it is up for a moment to see what has changed. */
static bool has_blocked(CCDomain *d)
{
	bool entering;

	cc__lock(&d->ring.done.lock, CC__RANK_DONE);
	entering = d->ring.entering;
	cc__unlock(&d->ring.done.lock);
	return entering;
}

static void start_blocked(struct blocker *b, CCRuntime *rt, enum kind kind, CCDomain *d,
                          uint32_t wanted)
{
	*b = (struct blocker){.d = d, .wanted = wanted};
	sleeper_start(&b->s, rt, kind, blocker_main, b);
	TEST_UNTIL(is_blocked(d));
}

TEST(ring_one_is_blocked_others_park_a_third_wakes)	/* covers: PRK-45/u, PRK-104/u, PRK-105/u */
{
	CCRuntime *rt = test_runtime_of(2);

	for (int k = 0; k < 2; k++) {
		struct waiting x[3];
		struct blocker b;
		struct own o;

		own_open(&o);
		start_blocked(&b, rt, kinds[k], o.w.d, 4);
		for (int i = 0; i < 3; i++)
			start_waiting(&x[i], rt, kinds[i % 2], o.w.d, park_here(&o, CC_CAP_NEVER));
		/* One more would have to stand in line; who need not block is let in. */
		CHECK_EQ(cc_cap_enter(o.s, 1, CC_CAP_NEVER), CC_CAP_E_BUSY);
		CHECK_EQ(cc_cap_enter(o.s, 1, 0), 0);
		TEST_UNTIL(is_blocked(o.w.d));	/* or it would take what we push */
		push(o.w.d, unpark_entry(o.w.space, &o.w.word[0], 2));
		CHECK_EQ(cc_cap_enter(o.s, 3, CC_CAP_NEVER), 3);
		CHECK(has_blocked(o.w.d));
		for (int i = 0; i < 2; i++)	/* or they take what comes next */
			sleeper_join(&x[i].s);
		push(o.w.d, nop_entry(1));
		CHECK_EQ(cc_cap_enter(o.s, 0, 0), 4);
		sleeper_join(&b.s);
		CHECK_EQ(b.entered, 4);
		push(o.w.d, unpark_entry(o.w.space, &o.w.word[0], 2));
		CHECK_EQ(cc_cap_enter(o.s, 6, CC_CAP_NEVER), 6);
		sleeper_join(&x[2].s);
		own_close(&o);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* What it waits for stands behind an entry of another strand: when that is taken, it goes on
 * and takes the rest. */
TEST(ring_the_blocked_one_goes_on_when_the_head_moves)
{
	CCRuntime *rt = test_runtime_of(2);
	struct blocker b;
	struct own o;
	int results;

	own_open(&o);
	push(o.w.d, park_here(&o, CC_MSEC));
	push(o.w.d, nop_entry(1));
	start_blocked(&b, rt, FIBER, o.w.d, 2);
	CHECK_EQ(head_of(&o), 0);
	CHECK(cc_cap_enter(o.s, 0, 0) >= 1);
	sleeper_join(&b.s);
	CHECK_EQ(b.entered, 2);
	results = pop(o.w.d, NULL);
	CHECK_EQ(results + pop(o.w.d, NULL), CC_PARK_TIMED_OUT + 0);
	own_close(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(ring_enter_with_a_timeout)
{
	struct own o;
	const cc_time before = cc_now();

	own_open(&o);
	CHECK_EQ(cc_cap_enter(o.s, 1, CC_MSEC), 0);
	CHECK(cc_now() - before >= CC_MSEC);
	push(o.w.d, nop_entry(1));
	CHECK_EQ(cc_cap_enter(o.s, 2, CC_MSEC), 1);
	CHECK(!has_blocked(o.w.d));
	own_close(&o);
}

/* ---- ends that are not asked for ---- */

TEST(ring_exit_ends_all_in_silence)	/* covers: PRK-65/u, PRK-78/u, PRK-75/u */
{
	CCRuntime *rt = test_runtime_of(2);
	const uint64_t charged = cc__park_charged();

	for (int k = 0; k < 2; k++) {
		struct waiting x[3];
		struct blocker b;
		struct own o;
		CCStrand *late = NULL;
		CCDomainLedger l;

		own_open(&o);
		CHECK(cc__park_charged() > charged);
		for (int i = 0; i < 3; i++)
			start_waiting(&x[i], rt, kinds[k], o.w.d, park_here(&o, CC_CAP_NEVER));
		start_blocked(&b, rt, kinds[k], o.w.d, 1);
		CHECK_EQ(cc_domain_free(o.w.d), EBUSY);
		CHECK_EQ(cc_domain_exit(o.w.d), 0);
		for (int i = 0; i < 3; i++) {
			sleeper_join(&x[i].s);
			CHECK_EQ(x[i].entered, CC_CAP_E_GONE);
		}
		sleeper_join(&b.s);
		CHECK_EQ(b.entered, CC_CAP_E_GONE);
		CHECK_EQ(cc_cap_enter(o.s, 0, 0), CC_CAP_E_GONE);
		CHECK_EQ(pop(o.w.d, NULL), NOTHING);
		CHECK_EQ(cc_domain_join(o.w.d, &late), ESHUTDOWN);
		CHECK_EQ(cc_domain_map(o.w.d, &late, sizeof late, CC_CAP_READ), ESHUTDOWN);
		CHECK_EQ(cc_domain_leave(o.s), 0);
		l = ledger(o.w.d);
		CHECK(l.strands == 0 && l.caps == 0 && l.regions == 0 && l.waits == 0 &&
		      l.promised == 0 && l.timers == 0);
		CHECK_EQ(cc_domain_free(o.w.d), 0);
	}
	CHECK(cc__park_charged() == charged);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(ring_a_strand_is_ended_or_interrupted)	/* covers: PRK-78/u, PRK-98/u */
{
	CCRuntime *rt = test_runtime_of(2);

	for (int k = 0; k < 2; k++) {
		struct waiting x;
		struct own o;

		own_open(&o);
		start_waiting(&x, rt, kinds[k], o.w.d, park_here(&o, CC_CAP_NEVER));
		CHECK_EQ(cc_domain_interrupt(o.w.d, x.entry.owner), 0);
		sleeper_join(&x.s);
		CHECK_EQ(x.entered, 1);
		CHECK_EQ(pop(o.w.d, NULL), CC_PARK_INTERRUPTED);
		CHECK_EQ(cc_domain_interrupt(o.w.d, x.entry.owner), ESRCH);
		CHECK_EQ(cc_domain_end(o.w.d, x.entry.owner), ESRCH);
		start_waiting(&x, rt, kinds[k], o.w.d, park_here(&o, CC_CAP_NEVER));
		CHECK_EQ(cc_domain_end(o.w.d, x.entry.owner), 0);
		CHECK_EQ(ledger(o.w.d).promised, 0);
		sleeper_join(&x.s);
		CHECK_EQ(x.entered, CC_CAP_E_GONE);
		CHECK_EQ(pop(o.w.d, NULL), NOTHING);
		/* Not in a wait: nothing to interrupt. */
		CHECK_EQ(cc_domain_interrupt(o.w.d, cc_strand_id(o.s)), 0);
		own_close(&o);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

struct cut {
	struct world w;
	CCCapSubmission entry;
	uint32_t wanted;
	int entered;
	int parks;
};

static int enter_in_nursery(void *arg)
{
	struct cut *c = arg;
	CCStrand *s = joined(c->w.d);

	if (c->parks) {
		c->entry = park_entry(c->w.space, s, &c->w.word[0], 0, CC_CAP_NEVER);
		push(c->w.d, c->entry);
	}
	c->entered = cc_cap_enter(s, 1, CC_CAP_NEVER);
	return cc_domain_leave(s);
}

TEST(ring_cancellation_interrupts)
{
	for (int parks = 0; parks < 2; parks++) {
		struct cut c = {.parks = parks};
		int err = 0;

		world_open(&c.w);
		c.parks = parks;
		cc_nursery_scope(n, &err)
		{
			CHECK_EQ(cc_nursery_spawn(n, NULL, enter_in_nursery, &c), 0);
			TEST_UNTIL(parks ? ledger(c.w.d).waits == 1 : is_blocked(c.w.d));
			CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		}
		CHECK_EQ(c.entered, parks ? 1 : CC_CAP_E_CANCELED);
		CHECK_EQ(pop(c.w.d, NULL), parks ? CC_PARK_INTERRUPTED : NOTHING);
		world_close(&c.w);
	}
}

/* The contract's first smoke, through the ring. */
TEST(ring_smoke)	/* covers: PRK-89/u */
{
	CCRuntime *rt = test_runtime_of(2);
	struct waiting x[6];
	struct own o;
	int woken = 0;

	own_open(&o);
	CHECK_EQ(result_of(o.s, park_entry(o.w.space, o.s, &o.w.word[0], 1, CC_CAP_NEVER)),
	         CC_PARK_VALUE_MISMATCH);
	CHECK_EQ(result_of(o.s, park_here(&o, 0)), CC_PARK_TIMED_OUT);
	for (int i = 0; i < 6; i++)
		start_waiting(&x[i], rt, kinds[i % 2], o.w.d, park_here(&o, CC_CAP_NEVER));
	push(o.w.d, unpark_entry(o.w.space, &o.w.word[0], 1));
	push(o.w.d, unpark_entry(o.w.space, &o.w.word[0], 3));
	CHECK_EQ(cc_cap_enter(o.s, 6, CC_CAP_NEVER), 6);
	for (int i = 0; i < 6; i++)
		woken += pop(o.w.d, NULL);
	CHECK_EQ(woken, 4);
	CHECK_EQ(cc_domain_exit(o.w.d), 0);
	for (int i = 0; i < 6; i++)
		sleeper_join(&x[i].s);
	CHECK_EQ(x[4].entered, CC_CAP_E_GONE);
	CHECK_EQ(x[5].entered, CC_CAP_E_GONE);
	CHECK_EQ(cc_domain_leave(o.s), 0);
	CHECK_EQ(cc_domain_free(o.w.d), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
