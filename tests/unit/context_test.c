/* context_test.c - the switch itself: what belongs to a context stays with it,
 * what is handed over arrives. */
#include "test.h"

#include <ccc/ccc.h>

#include <stdlib.h>
#include <string.h>

#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define HAVE_BACKTRACE 1
#endif

#include "os/context.h"
#include "os/pages.h"

/* ---- one context beside that of the test ---- */

enum { STACK = 256 * 1024 };

struct co {
	struct cc__context here, there;
	struct cc__stack_tools tools;
	char *stack;
};

static void co_again(struct co *c, cc__context_main *main)
{
	cc__context_make(&c->there, c->stack, c->stack + STACK, main);
}

static void co_make(struct co *c, cc__context_main *main)
{
	c->stack = cc__pages_map(STACK);
	cc__stack_tools_init(&c->tools, c->stack, STACK);
	cc__context_adopt(&c->here);
	co_again(c, main);
}

static void co_free(struct co *c)
{
	cc__tools_ended(c->stack, c->stack + STACK, false);
	cc__stack_tools_fini(&c->tools, c->stack, STACK);
	cc__pages_unmap(c->stack, STACK);
}

static struct cc__arrival enter(struct co *c, void *worker, uintptr_t after)
{
	return cc__context_switch_told(&c->here, c->there.sp, worker, after, false, c->stack,
	                               c->stack + STACK);
}

static struct cc__arrival back(struct co *c, void *worker, uintptr_t after, bool last)
{
	return cc__context_switch_told(&c->there, c->here.sp, worker, after, last, NULL, NULL);
}

/* ---- the hand-over ---- */

static struct co *the_co;	/* what `main` of a context cannot be given */

static void echo(void *worker, uintptr_t after)
{
	struct co *c = the_co;

	cc__tools_arrive(NULL);
	while (after != 0) {
		struct cc__arrival a = back(c, (char *)worker + 1, after + 1, false);

		worker = a.worker;
		after = a.after;
	}
	back(c, NULL, 0, true);
	abort();
}

TEST(switch_hands_worker_and_after_over)
{
	struct co c;
	char bytes[1000];

	the_co = &c;
	co_make(&c, echo);
	for (uintptr_t i = 1; i < 500; i++) {
		const uintptr_t word = i << 52 | i;
		struct cc__arrival a = enter(&c, &bytes[i], word);

		CHECK(a.worker == &bytes[i + 1]);
		CHECK(a.after == word + 1);
	}
	CHECK(enter(&c, NULL, 0).after == 0);
	co_free(&c);
}

/* ---- registers ----
 *
 * switch_with(save, to, regs) loads every callee-saved register from regs->in,
 * switches, and stores them all to regs->out when it is resumed. */

#if defined(__x86_64__)
enum { REGS = 6 };	/* rbx rbp r12 r13 r14 r15 */
#else
enum { REGS = 11 + 8 };	/* x19 ... x28, x29; d8 ... d15 */
#endif

struct regs {
	uint64_t in[REGS], out[REGS];
};

void switch_with(void **save, void *to, struct regs *r);

/* clang-format off */
#if defined(__x86_64__)
__asm__(
"	.text\n"
"	.globl switch_with\n"
"	.type switch_with, @function\n"
"switch_with:\n"
"	pushq %rbx\n	pushq %rbp\n	pushq %r12\n"
"	pushq %r13\n	pushq %r14\n	pushq %r15\n"
"	pushq %rdx\n"
"	movq 0(%rdx), %rbx\n	movq 8(%rdx), %rbp\n	movq 16(%rdx), %r12\n"
"	movq 24(%rdx), %r13\n	movq 32(%rdx), %r14\n	movq 40(%rdx), %r15\n"
"	xorl %ecx, %ecx\n"
"	call cc__switch_stack\n"
"	popq %rdx\n"
"	movq %rbx, 48(%rdx)\n	movq %rbp, 56(%rdx)\n	movq %r12, 64(%rdx)\n"
"	movq %r13, 72(%rdx)\n	movq %r14, 80(%rdx)\n	movq %r15, 88(%rdx)\n"
"	popq %r15\n	popq %r14\n	popq %r13\n"
"	popq %r12\n	popq %rbp\n	popq %rbx\n"
"	ret\n"
"	.size switch_with, .-switch_with\n");
#else
__asm__(
"	.text\n"
"	.globl switch_with\n"
"	.type switch_with, %function\n"
"	.p2align 2\n"
"switch_with:\n"
"	stp x29, x30, [sp, #-176]!\n"
"	stp x19, x20, [sp, #16]\n	stp x21, x22, [sp, #32]\n"
"	stp x23, x24, [sp, #48]\n	stp x25, x26, [sp, #64]\n"
"	stp x27, x28, [sp, #80]\n"
"	stp d8, d9, [sp, #96]\n	stp d10, d11, [sp, #112]\n"
"	stp d12, d13, [sp, #128]\n	stp d14, d15, [sp, #144]\n"
"	str x2, [sp, #160]\n"
"	ldp x19, x20, [x2]\n	ldp x21, x22, [x2, #16]\n"
"	ldp x23, x24, [x2, #32]\n	ldp x25, x26, [x2, #48]\n"
"	ldp x27, x28, [x2, #64]\n	ldr x29, [x2, #80]\n"
"	ldp d8, d9, [x2, #88]\n	ldp d10, d11, [x2, #104]\n"
"	ldp d12, d13, [x2, #120]\n	ldp d14, d15, [x2, #136]\n"
"	mov x3, xzr\n"
"	bl cc__switch_stack\n"
"	ldr x2, [sp, #160]\n"
"	add x2, x2, #152\n"
"	stp x19, x20, [x2]\n	stp x21, x22, [x2, #16]\n"
"	stp x23, x24, [x2, #32]\n	stp x25, x26, [x2, #48]\n"
"	stp x27, x28, [x2, #64]\n	str x29, [x2, #80]\n"
"	stp d8, d9, [x2, #88]\n	stp d10, d11, [x2, #104]\n"
"	stp d12, d13, [x2, #120]\n	stp d14, d15, [x2, #136]\n"
"	ldp d8, d9, [sp, #96]\n	ldp d10, d11, [sp, #112]\n"
"	ldp d12, d13, [sp, #128]\n	ldp d14, d15, [sp, #144]\n"
"	ldp x27, x28, [sp, #80]\n	ldp x25, x26, [sp, #64]\n"
"	ldp x23, x24, [sp, #48]\n	ldp x21, x22, [sp, #32]\n"
"	ldp x19, x20, [sp, #16]\n"
"	ldp x29, x30, [sp], #176\n"
"	ret\n"
"	.size switch_with, .-switch_with\n");
#endif
/* clang-format on */

static void switch_and_compare(struct co *c, bool away, uint64_t *seed)
{
	struct cc__context *from = away ? &c->here : &c->there, *to = away ? &c->there : &c->here;
	void *fake = NULL;
	struct regs r;

	for (int i = 0; i < REGS; i++)
		r.in[i] = test_random(seed);
	memset(r.out, 0, sizeof r.out);
	cc__tools_leave(&fake, away ? c->stack : NULL, c->stack + STACK);
	switch_with(&from->sp, to->sp, &r);
	cc__tools_arrive(fake);
	for (int i = 0; i < REGS; i++)
		CHECK_EQ(r.in[i], r.out[i]);
}

static void scramble(void *worker, uintptr_t after)
{
	struct co *c = the_co;
	uint64_t seed = 4711;

	(void)worker, (void)after;
	cc__tools_arrive(NULL);
	for (;;)
		switch_and_compare(c, false, &seed);
}

TEST(switch_keeps_callee_saved_registers)
{
	uint64_t seed = test_seed();
	struct co c;

	the_co = &c;
	co_make(&c, scramble);
	for (int i = 0; i < 1000; i++)
		switch_and_compare(&c, true, &seed);
	co_free(&c);
}

/* ---- control words ---- */

#if defined(__x86_64__)

/* MXCSR and the x87 control word, side by side. */
static uint64_t control(void)
{
	uint32_t mxcsr;
	uint16_t x87;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
	return (uint64_t)x87 << 32 | (mxcsr & 0xffc0);	/* without the sticky flags */
}

static void set_control(uint64_t word)
{
	uint32_t mxcsr = (uint32_t)word;
	uint16_t x87 = (uint16_t)(word >> 32);

	__asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87));
}

/* Rounding of both units: 0 nearest, 1 down, 2 up, 3 to zero. */
static uint64_t rounding(uint64_t word, unsigned mode)
{
	word &= ~((uint64_t)3 << 13 | (uint64_t)3 << 42);
	return word | (uint64_t)mode << 13 | (uint64_t)mode << 42;
}

/* One of a unit only, so that the two are told apart. */
static uint64_t mxcsr_only(uint64_t word)
{
	return word ^ (uint64_t)1 << 15;
}
static uint64_t x87_only(uint64_t word)
{
	return word ^ (uint64_t)1 << 40;
}

/* Of the x87, too: 1/3 in double extended. */
static double x87_third(void)
{
	volatile long double one = 1, three = 3;
	long double third = one / three;

	return (double)(third * 3 < 1 ? -1 : third * 3 > 1 ? 1 : 0);
}

#else

static uint64_t control(void)
{
	uint64_t fpcr;

	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	return fpcr;
}

static void set_control(uint64_t word)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(word));
}

/* 0 nearest, 1 down, 2 up, 3 to zero. */
static uint64_t rounding(uint64_t word, unsigned mode)
{
	static const uint64_t rmode[] = {0, 2, 1, 3};

	return (word & ~((uint64_t)3 << 22)) | rmode[mode] << 22;
}

static uint64_t mxcsr_only(uint64_t word)
{
	return word ^ (uint64_t)1 << 24;
} /* FZ */
static uint64_t x87_only(uint64_t word)
{
	return word ^ (uint64_t)1 << 25;
} /* DN */

#endif

static double third(void)
{
	volatile double one = 1, three = 3;

	return one / three;
}

struct words {
	struct co co;
	uint64_t there;	/* what the other context is to set */
	uint64_t seen;	/* what it began with */
};

static struct words *the_words;

static void set_own(void *worker, uintptr_t after)
{
	struct words *w = the_words;

	(void)worker, (void)after;
	cc__tools_arrive(NULL);
	w->seen = control();
	for (;;) {
		const uint64_t own = w->there;

		set_control(own);
		back(&w->co, NULL, 0, false);
		CHECK_EQ(control(), own);
	}
}

TEST(switch_keeps_the_control_words_of_each_context)
{
	const uint64_t mine = control();
	const uint64_t words[] = {rounding(mine, 1), rounding(mine, 2), rounding(mine, 3),
	                          mxcsr_only(mine),  x87_only(mine),    mine};
	struct words w;

	the_words = &w;
	co_make(&w.co, set_own);
	for (unsigned i = 0; i < 600; i++) {
		w.there = words[i % 6];
		enter(&w.co, NULL, 0);	/* it checks the former, sets the next */
		CHECK_EQ(control(), mine);
	}
	co_free(&w.co);
	set_control(mine);
}

TEST(fresh_context_begins_with_the_default_control_words)
{
	const uint64_t mine = control();

	for (unsigned mode = 0; mode < 4; mode++) {
		struct words w = {.there = mine};

		the_words = &w;
		set_control(rounding(mine, mode));
		co_make(&w.co, set_own);
		set_control(mine);
		enter(&w.co, NULL, 0);
		CHECK_EQ(w.seen, mine);
		CHECK_EQ(control(), mine);
		co_free(&w.co);
	}
}

/* The same among fibers, and with what the words are for. */

struct rounder {
	unsigned mode;
	double third;
};

enum { ROUNDS = 1000 };

static int round_on(void *arg)
{
	struct rounder *r = arg;
	const uint64_t before = control(), own = rounding(before, r->mode);

	set_control(own);
	r->third = third();
#if defined(__x86_64__)
	const double x87 = x87_third();
#endif
	for (int i = 0; i < ROUNDS; i++) {
		cc_yield();
		if (!CHECK_EQ(control(), own) || !CHECK(third() == r->third))
			break;
#if defined(__x86_64__)
		CHECK(x87_third() == x87);
#endif
	}
	set_control(before);
	return 0;
}

TEST(fibers_round_each_in_its_own_way)
{
	struct rounder r[4];
	CCTask t[4];

	for (unsigned i = 0; i < 4; i++) {
		r[i].mode = i;
		CHECK_EQ(cc_task_spawn(NULL, &t[i], NULL, round_on, &r[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(cc_task_join(t[i], CC_FOREVER, NULL), 0);
	CHECK(r[1].third < r[2].third);		/* down, up */
	CHECK(r[1].third == r[3].third);	/* to zero is down here */
	CHECK_EQ(cc_shutdown(), 0);
}

/* A task that forgets to clean up passes nothing on to the next on its stack. */

static int leave_rounding_up(void *arg)
{
	(void)arg;
	set_control(rounding(control(), 2));
	return 0;
}

static int tell_control(void *arg)
{
	*(uint64_t *)arg = control();
	return 0;
}

static int one_after_another(void *arg)
{
	uint64_t *seen = arg;
	CCTask t[2];

	CHECK_EQ(cc_task_spawn(NULL, &t[0], NULL, leave_rounding_up, NULL), 0);
	CHECK_EQ(cc_task_spawn(NULL, &t[1], NULL, tell_control, seen), 0);
	CHECK_EQ(cc_task_join(t[0], CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_task_join(t[1], CC_FOREVER, NULL), 0);
	return 0;
}

TEST(task_begins_with_the_default_control_words)
{
	uint64_t seen = 0;
	CCTask t;

	CHECK_EQ(cc_task_spawn(NULL, &t, NULL, one_after_another, &seen), 0);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), 0);
	CHECK_EQ(seen, control());
	CHECK_EQ(cc_shutdown(), 0);
}

/* ---- alignment ---- */

/* A store that faults on a stack that is off by 8. */
static __attribute__((noinline)) bool aligned_here(void)
{
	_Alignas(16) volatile char room[16] = {0};

#if defined(__x86_64__)
	__asm__ volatile("movaps %%xmm0, %0" : "=m"(*(volatile char(*)[16])room));
#else
	__asm__ volatile("str q0, [%0]" : : "r"(room) : "memory");
	uintptr_t sp;

	__asm__ volatile("mov %0, sp" : "=r"(sp));
	if (sp % 16 != 0)
		return false;
#endif
	return (uintptr_t)room % 16 == 0;
}

static bool was_aligned;

static void look_at_alignment(void *worker, uintptr_t after)
{
	struct co *c = the_co;

	(void)worker, (void)after;
	cc__tools_arrive(NULL);
	was_aligned = (uintptr_t)__builtin_frame_address(0) % 16 == 0 && aligned_here();
	back(c, NULL, 0, true);
	abort();
}

TEST(fresh_context_begins_on_an_aligned_stack)
{
	struct co c;

	the_co = &c;
	was_aligned = false;
	co_make(&c, look_at_alignment);
	enter(&c, NULL, 0);
	CHECK(was_aligned);
	co_free(&c);
}

/* Stacks begin at offsets that differ from one to the next. */
static int look_after_yield(void *arg)
{
	bool before = aligned_here();

	(void)arg;
	cc_yield();
	return before && aligned_here() && (uintptr_t)__builtin_frame_address(0) % 16 == 0;
}

TEST(fibers_run_on_aligned_stacks)
{
	enum { N = 64 };
	CCTask t[N];

	for (int i = 0; i < N; i++)
		CHECK_EQ(cc_task_spawn(NULL, &t[i], NULL, look_after_yield, NULL), 0);
	for (int i = 0; i < N; i++) {
		int aligned = 0;

		CHECK_EQ(cc_task_join(t[i], CC_FOREVER, &aligned), 0);
		CHECK_EQ(aligned, 1);
	}
	CHECK_EQ(cc_shutdown(), 0);
}

/* ---- many ---- */

/* A context is used up by what runs in it; its stack serves the next. */
TEST(stack_serves_one_context_after_another)
{
	struct co c;

	the_co = &c;
	co_make(&c, echo);
	for (uintptr_t i = 0; i < 1000; i++) {
		CHECK(enter(&c, NULL, 5).after == 6);
		CHECK(enter(&c, NULL, 0).after == 0);
		cc__tools_ended(c.stack, c.stack + STACK, false);
		co_again(&c, echo);
	}
	co_free(&c);
}

/* ---- unwinding ---- */

#ifdef HAVE_BACKTRACE

enum { FRAMES = 64, BASE_SIZE = 32 };

extern const char cc__context_base[];	/* where a context begins */

static void *frame[FRAMES];
static int frames;

static void walk_own_stack(void *worker, uintptr_t after)
{
	(void)worker, (void)after;
	cc__tools_arrive(NULL);
	frames = backtrace(frame, FRAMES);
	back(the_co, NULL, 0, true);
	abort();
}

/* What lies above the first frame may look like a return address: the unwind table alone says that
 * there is none. */
TEST(unwinding_ends_at_the_base_whatever_lies_above_it)
{
	const uintptr_t somewhere = (uintptr_t)co_again + 1;
	const char *last;
	struct co c;

	the_co = &c;
	CHECK(backtrace(frame, FRAMES) > 0);	/* the unwinder is loaded on the stack of main */
	co_make(&c, walk_own_stack);
	memcpy(c.stack + STACK - 16, &somewhere, sizeof somewhere);
	enter(&c, NULL, 0);
	co_free(&c);
	REQUIRE(frames > 1 && frames < FRAMES);
	last = frame[frames - 1];
	CHECK(last > cc__context_base && last < cc__context_base + BASE_SIZE);
}

#endif
