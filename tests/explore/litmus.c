/* litmus.c - the explorer's own table of known answers: weak memory.
 *
 * Each test lists every outcome that C11 (as repaired by RC11, with the release
 * sequences of C20) allows, and the explorer must see exactly those: one missing
 * is a behaviour it does not explore, one too many a bug that is none.
 * The exception is load buffering, which is allowed for relaxed accesses and
 * never produced: see `lb_relaxed`. */
#include "engine.h"

enum {
	RLX = CC__RELAXED,
	ACQ = CC__ACQUIRE,
	REL = CC__RELEASE,
	AR = CC__ACQ_REL,
	SC = CC__SEQ_CST,
};

#define NOFENCE ((void)0)
#define FENCE(order) cc__fence(order)
/* Everything: no bound on preemptions and stale reads. */
#define EXACT .bound = MC_ALL, .weak = MC_ALL

static cc__a32 x, y;
static unsigned r0, r1, r2, r3; /* each written by one thread */

static void show2(void)
{
	mc_outcome("%u%u", r0, r1);
}

static void show4(void)
{
	mc_outcome("%u%u%u%u", r0, r1, r2, r3);
}

static void show_xy(void)
{
	mc_outcome("%u%u", cc__peek(&x), cc__peek(&y));
}

static void show_r0_x(void)
{
	mc_outcome("%u%u", r0, cc__peek(&x));
}

/* ---- store buffering: can both miss the other's store? ---- */

#define SB(name, w0, f0, l0, w1, f1, l1, allowed) \
	static void name##_left(void) \
	{ \
		cc__store(&x, 1, w0); \
		f0; \
		r0 = cc__load(&y, l0); \
	} \
	static void name##_right(void) \
	{ \
		cc__store(&y, 1, w1); \
		f1; \
		r1 = cc__load(&x, l1); \
	} \
	SCENARIO(name, .body = {name##_left, name##_right}, .final = show2, EXACT, \
	         .outcomes = allowed)

SB(sb_relaxed, RLX, NOFENCE, RLX, RLX, NOFENCE, RLX, "00 01 10 11")
SB(sb_release_acquire, REL, NOFENCE, ACQ, REL, NOFENCE, ACQ, "00 01 10 11")
SB(sb_seq_cst, SC, NOFENCE, SC, SC, NOFENCE, SC, "01 10 11")
SB(sb_seq_cst_one_side, SC, NOFENCE, SC, REL, NOFENCE, ACQ, "00 01 10 11")
SB(sb_seq_cst_stores_only, SC, NOFENCE, ACQ, SC, NOFENCE, ACQ, "00 01 10 11")
SB(sb_seq_cst_loads_only, REL, NOFENCE, SC, REL, NOFENCE, SC, "00 01 10 11")
SB(sb_fences, RLX, FENCE(SC), RLX, RLX, FENCE(SC), RLX, "01 10 11")
SB(sb_fence_one_side, RLX, FENCE(SC), RLX, REL, NOFENCE, ACQ, "00 01 10 11")
SB(sb_fences_acq_rel, RLX, FENCE(AR), RLX, RLX, FENCE(AR), RLX, "00 01 10 11")
SB(sb_fence_and_seq_cst, RLX, FENCE(SC), RLX, SC, NOFENCE, SC, "01 10 11")
SB(sb_fence_and_seq_cst_store, RLX, FENCE(SC), RLX, SC, NOFENCE, RLX, "00 01 10 11")
SB(sb_light_and_heavy, RLX, cc__fence_light(), RLX, RLX, cc__fence_heavy(), RLX, "01 10 11")
SB(sb_light_and_light, RLX, cc__fence_light(), RLX, RLX, cc__fence_light(), RLX, "00 01 10 11")
SB(sb_light_and_fence, RLX, cc__fence_light(), RLX, RLX, FENCE(SC), RLX, "00 01 10 11")

#define SB_XCHG(name, rmw, load, allowed) \
	static void name##_left(void) \
	{ \
		cc__xchg(&x, 1, rmw); \
		r0 = cc__load(&y, load); \
	} \
	static void name##_right(void) \
	{ \
		cc__xchg(&y, 1, rmw); \
		r1 = cc__load(&x, load); \
	} \
	SCENARIO(name, .body = {name##_left, name##_right}, .final = show2, EXACT, \
	         .outcomes = allowed)

SB_XCHG(sb_xchg_acq_rel, AR, ACQ, "00 01 10 11")
SB_XCHG(sb_xchg_seq_cst, SC, SC, "01 10 11")

/* ---- message passing: flag seen, data not? ---- */

#define MP(name, w, f0, l, f1, allowed) \
	static void name##_left(void) \
	{ \
		cc__store(&x, 1, RLX); \
		f0; \
		cc__store(&y, 1, w); \
	} \
	static void name##_right(void) \
	{ \
		r0 = cc__load(&y, l); \
		f1; \
		r1 = cc__load(&x, RLX); \
	} \
	SCENARIO(name, .body = {name##_left, name##_right}, .final = show2, EXACT, \
	         .outcomes = allowed)

MP(mp_relaxed, RLX, NOFENCE, RLX, NOFENCE, "00 01 10 11")
MP(mp_release_acquire, REL, NOFENCE, ACQ, NOFENCE, "00 01 11")
MP(mp_release_relaxed, REL, NOFENCE, RLX, NOFENCE, "00 01 10 11")
MP(mp_relaxed_acquire, RLX, NOFENCE, ACQ, NOFENCE, "00 01 10 11")
MP(mp_fence_fence, RLX, FENCE(REL), RLX, FENCE(ACQ), "00 01 11")
MP(mp_fence_atomic, RLX, FENCE(REL), ACQ, NOFENCE, "00 01 11")
MP(mp_atomic_fence, REL, NOFENCE, RLX, FENCE(ACQ), "00 01 11")
MP(mp_fence_release_only, RLX, FENCE(REL), RLX, NOFENCE, "00 01 10 11")
MP(mp_fence_acquire_only, RLX, NOFENCE, RLX, FENCE(ACQ), "00 01 10 11")
MP(mp_fences_the_wrong_way, RLX, FENCE(ACQ), RLX, FENCE(REL), "00 01 10 11")
MP(mp_fences_seq_cst, RLX, FENCE(SC), RLX, FENCE(SC), "00 01 11")
MP(mp_seq_cst, SC, NOFENCE, SC, NOFENCE, "00 01 11")

/* ---- load buffering ----
 * C11 allows 11 for relaxed accesses.  The explorer never produces it: a load
 * reads what has been stored so far. */

#define LB(name, l, w, allowed) \
	static void name##_left(void) \
	{ \
		r0 = cc__load(&x, l); \
		cc__store(&y, 1, w); \
	} \
	static void name##_right(void) \
	{ \
		r1 = cc__load(&y, l); \
		cc__store(&x, 1, w); \
	} \
	SCENARIO(name, .body = {name##_left, name##_right}, .final = show2, EXACT, \
	         .outcomes = allowed)

LB(lb_relaxed, RLX, RLX, "00 01 10") /* 11 is not explored */
LB(lb_release_acquire, ACQ, REL, "00 01 10")

/* ---- 2+2W: can both first stores win? ---- */

#define TWO_TWO_W(name, w0, f0, w1, f1, allowed) \
	static void name##_left(void) \
	{ \
		cc__store(&x, 1, w0); \
		f0; \
		cc__store(&y, 2, w0); \
	} \
	static void name##_right(void) \
	{ \
		cc__store(&y, 1, w1); \
		f1; \
		cc__store(&x, 2, w1); \
	} \
	SCENARIO(name, .body = {name##_left, name##_right}, .final = show_xy, EXACT, \
	         .outcomes = allowed)

TWO_TWO_W(two_two_w_relaxed, RLX, NOFENCE, RLX, NOFENCE, "11 12 21 22")
TWO_TWO_W(two_two_w_release, REL, NOFENCE, REL, NOFENCE, "11 12 21 22")
TWO_TWO_W(two_two_w_seq_cst, SC, NOFENCE, SC, NOFENCE, "12 21 22")
TWO_TWO_W(two_two_w_seq_cst_one_side, SC, NOFENCE, REL, NOFENCE, "11 12 21 22")
TWO_TWO_W(two_two_w_fences, RLX, FENCE(SC), RLX, FENCE(SC), "12 21 22")
TWO_TWO_W(two_two_w_fence_one_side, RLX, FENCE(SC), RLX, FENCE(AR), "11 12 21 22")
TWO_TWO_W(two_two_w_fence_and_seq_cst, RLX, FENCE(SC), SC, NOFENCE, "12 21 22")

/* ---- R and S ---- */

#define SHAPE_R(name, w, f, l, allowed) \
	static void name##_left(void) \
	{ \
		cc__store(&y, 1, w); \
		f; \
		cc__store(&x, 1, w); \
	} \
	static void name##_right(void) \
	{ \
		cc__store(&x, 2, w); \
		f; \
		r0 = cc__load(&y, l); \
	} \
	SCENARIO(name, .body = {name##_left, name##_right}, .final = show_r0_x, EXACT, \
	         .outcomes = allowed)

SHAPE_R(r_release_acquire, REL, NOFENCE, ACQ, "01 02 11 12")
SHAPE_R(r_seq_cst, SC, NOFENCE, SC, "01 11 12")
SHAPE_R(r_fences, RLX, FENCE(SC), RLX, "01 11 12")

#define SHAPE_S(name, w, l, allowed) \
	static void name##_left(void) \
	{ \
		cc__store(&x, 2, RLX); \
		cc__store(&y, 1, w); \
	} \
	static void name##_right(void) \
	{ \
		r0 = cc__load(&y, l); \
		cc__store(&x, 1, RLX); \
	} \
	SCENARIO(name, .body = {name##_left, name##_right}, .final = show_r0_x, EXACT, \
	         .outcomes = allowed)

SHAPE_S(s_relaxed, RLX, RLX, "01 02 11 12")
SHAPE_S(s_release_acquire, REL, ACQ, "01 02 11")

/* ---- IRIW: do two readers see two writers in different orders? ---- */

#define IRIW(name, w, l, f, allowed) \
	static void name##_x(void) \
	{ \
		cc__store(&x, 1, w); \
	} \
	static void name##_y(void) \
	{ \
		cc__store(&y, 1, w); \
	} \
	static void name##_xy(void) \
	{ \
		r0 = cc__load(&x, l); \
		f; \
		r1 = cc__load(&y, l); \
	} \
	static void name##_yx(void) \
	{ \
		r2 = cc__load(&y, l); \
		f; \
		r3 = cc__load(&x, l); \
	} \
	SCENARIO(name, .body = {name##_x, name##_y, name##_xy, name##_yx}, .final = show4, EXACT, \
	         .outcomes = allowed)

#define ALL_BUT_1010 "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1011 1100 1101 1110 1111"
IRIW(iriw_acquire, REL, ACQ, NOFENCE, ALL_BUT_1010 " 1010")
IRIW(iriw_seq_cst, SC, SC, NOFENCE, ALL_BUT_1010)
IRIW(iriw_seq_cst_loads_only, REL, SC, NOFENCE, ALL_BUT_1010 " 1010")
IRIW(iriw_fences, RLX, RLX, FENCE(SC), ALL_BUT_1010)

/* ---- WRC: is what a writer has read part of what it releases? ---- */

#define WRC(name, w, l, allowed) \
	static void name##_0(void) \
	{ \
		cc__store(&x, 1, RLX); \
	} \
	static void name##_1(void) \
	{ \
		r0 = cc__load(&x, RLX); \
		cc__store(&y, 1, w); \
	} \
	static void name##_2(void) \
	{ \
		r1 = cc__load(&y, l); \
		r2 = cc__load(&x, RLX); \
	} \
	static void name##_show(void) \
	{ \
		mc_outcome("%u%u%u", r0, r1, r2); \
	} \
	SCENARIO(name, .body = {name##_0, name##_1, name##_2}, .final = name##_show, EXACT, \
	         .outcomes = allowed)

WRC(wrc_relaxed, RLX, RLX, "000 001 010 011 100 101 110 111")
WRC(wrc_release_acquire, REL, ACQ, "000 001 010 011 100 101 111")

/* ---- coherence: one location has one order ---- */

static void store_1(void)
{
	cc__store(&x, 1, RLX);
}

static void store_2(void)
{
	cc__store(&x, 2, RLX);
}

static void read_twice(void)
{
	r0 = cc__load(&x, RLX);
	r1 = cc__load(&x, RLX);
}
SCENARIO(corr, .body = {store_1, read_twice}, .final = show2, EXACT, .outcomes = "00 01 11")

static void read_twice_too(void)
{
	r2 = cc__load(&x, RLX);
	r3 = cc__load(&x, RLX);
}

static void same_order(void)
{
	MC_ASSERT(!(r0 == 1 && r1 == 2 && r2 == 2 && r3 == 1));
	MC_ASSERT(!(r0 == 2 && r1 == 1 && r2 == 1 && r3 == 2));
	MC_ASSERT(!(r0 != 0 && r1 == 0) && !(r2 != 0 && r3 == 0));
}
SCENARIO(corr_two_writers, .body = {store_1, store_2, read_twice, read_twice_too},
         .final = same_order, EXACT)

static void store_1_then_2(void)
{
	cc__store(&x, 1, RLX);
	cc__store(&x, 2, RLX);
}
SCENARIO(coww, .body = {store_1_then_2, read_twice}, .final = show_r0_x, EXACT,
         .outcomes = "02 12 22")

static void store_1_then_read(void)
{
	cc__store(&x, 1, RLX);
	r0 = cc__load(&x, RLX);
}
SCENARIO(cowr, .body = {store_1_then_read, store_2}, .final = show_r0_x, EXACT,
         .outcomes = "11 12 22")

static void read_then_store_1(void)
{
	r0 = cc__load(&x, RLX);
	cc__store(&x, 1, RLX);
}
SCENARIO(corw, .body = {read_then_store_1, store_2}, .final = show_r0_x, EXACT,
         .outcomes = "01 02 21")

/* ---- release sequences ---- */

static void data_then_release(void)
{
	cc__store(&x, 1, RLX);
	cc__store(&y, 1, REL);
}

static void acquire_then_data(void)
{
	r0 = cc__load(&y, ACQ);
	r1 = cc__load(&x, RLX);
}

static void continue_by_rmw(void)
{
	uint32_t one = 1;

	cc__cas(&y, &one, 2, RLX, RLX);
}
SCENARIO(release_sequence_by_rmw, .body = {data_then_release, continue_by_rmw, acquire_then_data},
         .final = show2, EXACT, .outcomes = "00 01 11 21")

static void break_by_store(void)
{
	if (cc__load(&y, RLX) == 1)
		cc__store(&y, 2, RLX);
}
SCENARIO(release_sequence_ends_at_a_store,
         .body = {data_then_release, break_by_store, acquire_then_data}, .final = show2, EXACT,
         .outcomes = "00 01 11 20 21")

/* C11 had this one synchronize, C20 does not. */
static void release_then_store(void)
{
	cc__store(&x, 1, RLX);
	cc__store(&y, 1, REL);
	cc__store(&y, 2, RLX);
}
SCENARIO(release_sequence_ends_at_own_store, .body = {release_then_store, acquire_then_data},
         .final = show2, EXACT, .outcomes = "00 01 11 20 21")

static void release_by_fence_twice(void)
{
	cc__store(&x, 1, RLX);
	cc__fence(REL);
	cc__store(&y, 1, RLX);
	cc__store(&y, 2, RLX);
}
SCENARIO(release_fence_covers_all_later_stores, .body = {release_by_fence_twice, acquire_then_data},
         .final = show2, EXACT, .outcomes = "00 01 11 21")

/* ---- read-modify-write ---- */

static void add_left(void)
{
	r0 = cc__add(&x, 1, RLX);
}

static void add_right(void)
{
	r1 = cc__add(&x, 1, RLX);
}

static void show_added(void)
{
	mc_outcome("%u%u%u", r0, r1, cc__peek(&x));
}
SCENARIO(rmw_is_atomic, .body = {add_left, add_right}, .final = show_added, EXACT,
         .outcomes = "012 102")
/* A store may land before, after or between, never inside one. */
SCENARIO(rmw_with_a_store_between, .body = {add_left, add_right, store_2}, .final = show_added,
         EXACT, .outcomes = "012 102 023 203 234 324")

static void cas_left(void)
{
	uint32_t zero = 0;

	r0 = cc__cas(&x, &zero, 1, AR, RLX);
}

static void cas_right(void)
{
	uint32_t zero = 0;

	r1 = cc__cas(&x, &zero, 2, AR, RLX);
	MC_ASSERT(r1 || zero == 1);
}
SCENARIO(cas_has_one_winner, .body = {cas_left, cas_right}, .final = show2, EXACT,
         .outcomes = "01 10")

static void cas_weakly(void)
{
	uint32_t zero = 0;

	r0 = cc__cas_weak(&x, &zero, 1, AR, RLX);
	r1 = zero;
}
SCENARIO(weak_cas_fails_for_no_reason, .body = {cas_weakly}, .final = show2, .outcomes = "00 10")

static void cas_fails_with_acquire(void)
{
	uint32_t five = 5;

	if (!cc__cas(&y, &five, 6, RLX, ACQ))
		r0 = five;
	r1 = cc__load(&x, RLX);
}
SCENARIO(failed_cas_acquires, .body = {data_then_release, cas_fails_with_acquire}, .final = show2,
         EXACT, .outcomes = "00 01 11")

/* Sizes: the rest of the word stays as it is. */
static CC__ATOMIC(uint8_t) small;
static CC__ATOMIC(uint16_t) middle;
static CC__ATOMIC(const char *) pointer;
static void sizes(void)
{
	const char *nothing = NULL;

	cc__store(&small, 255, RLX);
	MC_ASSERT(cc__add(&small, 1, RLX) == 255 && cc__load(&small, RLX) == 0);
	MC_ASSERT(cc__sub(&middle, 1, RLX) == 0 && cc__load(&middle, RLX) == 0xffff);
	MC_ASSERT(cc__and(&middle, 0xff0, RLX) == 0xffff && cc__or(&middle, 1, RLX) == 0xff0);
	MC_ASSERT(cc__cas(&pointer, &nothing, "text", AR, RLX));
	MC_ASSERT(cc__xchg(&pointer, NULL, RLX)[0] == 't' && cc__peek(&middle) == 0xff1);
}
SCENARIO(sizes_and_pointers, .body = {sizes})
