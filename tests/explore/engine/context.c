/* context.c - stacks: of model threads and of what they switch between.
 *
 * Stacks are static and guarded, taken in the same order each time, and never
 * handed out twice in one execution.  Addresses are the same in every run. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "mc.h"

enum { PAGE = 4096 };

static char memory[CONTEXTS][STACK_SIZE] __attribute__((aligned(PAGE)));
static struct mc_ctx contexts[CONTEXTS];
static int taken;
struct mc_ctx engine_ctx;

/* Save the callee-saved registers and the stack pointer, load another's. */
void mc__swap(void **save, void *to);
void mc__start(void);
#if defined(__x86_64__)
__asm__(".text\n.globl mc__swap\n.type mc__swap,@function\nmc__swap:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".globl mc__start\n.type mc__start,@function\nmc__start:\n"
        "mov %rbx,%rdi\nxor %ebp,%ebp\ncall mc__begin\nud2\n");
enum { FRAME = 7, AT_SELF = 4, AT_RETURN = 6 }; /* words from sp */
#elif defined(__aarch64__)
__asm__(".text\n.globl mc__swap\n.type mc__swap,%function\nmc__swap:\n"
        "sub sp,sp,#160\nstp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\n"
        "stp x25,x26,[sp,#48]\nstp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\n"
        "stp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\nstp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
        "mov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
        "ldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\n"
        "ldp x25,x26,[sp,#48]\nldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\n"
        "ldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\nldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\n"
        "add sp,sp,#160\nret\n"
        ".globl mc__start\n.type mc__start,%function\nmc__start:\n"
        "mov x0,x19\nmov x29,xzr\nbl mc__begin\nbrk #0\n");
enum { FRAME = 20, AT_SELF = 0, AT_RETURN = 11 };
#else
#error "a context switch for this CPU"
#endif

__attribute__((used)) void mc__begin(struct mc_ctx *self);
void mc__begin(struct mc_ctx *self)
{
	self->fn(self->arg);
	mc_fail("context: the function of context %d returned; it must end with mc_ctx_end",
	        self->number);
}

void ctx_setup(void)
{
	for (int i = 0; i < CONTEXTS; i++) {
		contexts[i].stack = memory[i];
		contexts[i].number = i;
		mprotect(memory[i], PAGE, PROT_NONE); /* the guard */
	}
}

void ctx_reset(void)
{
	taken = 0;
}

void ctx_arm(struct mc_ctx *c, void (*fn)(void *), void *arg)
{
	/* 16-aligned once swap has popped the FRAME words: so is the call in
	 * mc__start. */
	void **sp = (void **)(c->stack + STACK_SIZE - 64) - FRAME;

	memset(sp, 0, FRAME * sizeof *sp);
	sp[AT_SELF] = c;
	sp[AT_RETURN] = (void *)mc__start;
	c->sp = sp;
	c->fn = fn;
	c->arg = arg;
	c->state = CTX_NEW;
	c->arrival = (struct mc_arrival){0};
}

struct mc_ctx *ctx_take(void (*fn)(void *), void *arg)
{
	struct mc_ctx *c;

	if (taken == CONTEXTS)
		limit("contexts");
	c = &contexts[taken++];
	ctx_arm(c, fn, arg);
	return c;
}

bool ctx_on_stack(const void *p)
{
	return (size_t)((const char *)p - memory[0]) < sizeof memory;
}

void ctx_swap(struct mc_ctx *from, struct mc_ctx *to)
{
	mc__swap(&from->sp, to->sp);
}

/* ---- for scenarios ---- */

mc_ctx *mc_ctx_new(void (*fn)(void *), void *arg)
{
	struct mc_ctx *c = ctx_take(fn, arg);

	/* The arming is a write of its frame: to be ordered before the resume. */
	access_at(&c->shadow, sizeof c->shadow, WRITE, (uintptr_t)__builtin_return_address(0));
	return c;
}

mc_ctx *mc_ctx_self(void)
{
	return threads[me].ctx;
}

static void resume_check(const struct mc_ctx *to, uintptr_t where)
{
	const struct cell *c = unordered(&to->shadow);

	if (to->state == CTX_RUNNING)
		mc_fail("context: %d resumed while running (not saved yet)", to->number);
	if (to->state == CTX_ENDED)
		mc_fail("context: %d resumed after its end", to->number);
	if (c != NULL && in_model) {
		char saved[200];

		strncpy(saved, where_text(c->where, WRITE), sizeof saved - 1);
		saved[sizeof saved - 1] = '\0';
		mc_fail("context: %d resumed by %s at %s, not ordered after its save by %s at %s",
		        to->number, thread_name(me), where_text(where, WRITE),
		        thread_name(c->thread), saved);
	}
}

/* Registers and stack of `from` are written by the save, those of `to` taken
 * over by the resume: both are writes, so two resumes are seen as well. */
static struct mc_arrival switch_to(struct mc_ctx *to, void *worker, uintptr_t after,
                                   enum ctx_state leave_as, uintptr_t where)
{
	static const struct mc_site site = {"context", "mc_switch", 0};
	struct mc_ctx *from = threads[me].ctx;

	threads[me].pc = where;
	threads[me].pending[1] = (uintptr_t)&to->shadow >> 3;
	point(&from->shadow, true, &site);
	operate(&to->shadow, true);
	if (tracing)
		trace_op(&site, "switch  context %d -> %d", from->number, to->number);
	resume_check(to, where);
	access_at(&to->shadow, sizeof to->shadow, WRITE, where);
	access_at(&from->shadow, sizeof from->shadow, WRITE, where);
	from->state = leave_as;
	to->state = CTX_RUNNING;
	to->arrival = (struct mc_arrival){worker, after};
	threads[me].ctx = to;
	stored();
	ctx_swap(from, to);
	return from->arrival;
}

void mc_switch(mc_ctx *to)
{
	switch_to(to, NULL, 0, CTX_SAVED, (uintptr_t)__builtin_return_address(0));
}

struct mc_arrival mc_switch_with(mc_ctx *to, void *worker, uintptr_t after)
{
	return switch_to(to, worker, after, CTX_SAVED, (uintptr_t)__builtin_return_address(0));
}

struct mc_arrival mc_arrival(void)
{
	return threads[me].ctx->arrival;
}

_Noreturn void mc_ctx_end_with(mc_ctx *to, void *worker, uintptr_t after)
{
	switch_to(to, worker, after, CTX_ENDED, (uintptr_t)__builtin_return_address(0));
	__builtin_unreachable();
}

_Noreturn void mc_ctx_end(mc_ctx *to)
{
	switch_to(to, NULL, 0, CTX_ENDED, (uintptr_t)__builtin_return_address(0));
	__builtin_unreachable();
}
