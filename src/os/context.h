/* context.h - a stack with a place in it to go on from, and the way there.
 *
 * C1  A context is resumed by at most one thread at a time, and only after the
 *     switch that left it has returned on the other side.
 * C2  Callee-saved registers and the floating-point control words belong to
 *     the context; everything else, thread-local storage above all, to the
 *     thread.  So the worker travels in a register, and nothing that was read
 *     from TLS before a switch is used after it.
 *
 * In a process with a sanitizer the switch that tells it is used (os/tools.h). */
#ifndef CC__OS_CONTEXT_H
#define CC__OS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/tools.h"

struct cc__context {
	void *sp;	/* means something while switched out */
};

/* What the side that arrives is given: in registers, not in memory. */
struct cc__arrival {
	void *worker;		/* on whose thread we are now */
	uintptr_t after;	/* what is left to do for the context before us */
};

typedef void cc__context_main(void *worker, uintptr_t after);

/* The context of the calling thread's own stack, before its first switch. */
static inline void cc__context_adopt(struct cc__context *c)
{
	c->sp = NULL;
	if (cc__tools != 0)
		cc__tools_adopt();
}

/* The floating-point control words as a fresh context has them: the ABI's
 * defaults, whoever made it. */
void cc__control_reset(void);
/* The same, and what they were; back to that. */
uint64_t cc__control_renew(void);
void cc__control_restore(uint64_t words);

/* What the caller puts into the low bits of `after` if the context that is left will never be
 * resumed, and those bits.  The switch itself does not care; the explorer does. */
enum { CC__CONTEXT_ENDS = 2, CC__CONTEXT_BITS = 7 };

/* Saves the caller's context in *save, goes on in `to`, and hands (worker, after) to it.  Returns when
 * a switch to *save is made.  The assembly leaves by `ret`, so the CPU guesses where a
 * switch goes on only if all callers share one call site, and their callers
 * one too: keep the ways that lead here few. */
struct cc__arrival cc__switch_stack(void **save, void *to, void *worker, uintptr_t after);
/* Lays a frame out below `top`, whose highest 8 bytes stay unused (TOOLS-2). */
void *cc__context_frame(void *top, cc__context_main *main);
extern const char cc__switch_stack_end[];	/* behind its last instruction */

/* Whether the instruction at pc is one of the switch. */
static inline bool cc__in_switch(const char *pc)
{
	return (uintptr_t)pc >= (uintptr_t)cc__switch_stack && pc < cc__switch_stack_end;
}

/* A context that will begin in `main` at `top` (16-aligned) of the stack [bottom, top).  `main`
 * never returns. */
static inline void cc__context_make(struct cc__context *c, void *bottom, void *top,
                                    cc__context_main *main)
{
	if (__builtin_expect(cc__tools != 0, 0))
		cc__tools_new(bottom, top);
	c->sp = cc__context_frame(top, main);
}

/* As cc__switch_stack, and tells the sanitizers: the stack of `to` is [bottom, top), or
 * the thread's own if bottom is NULL. */
struct cc__arrival cc__context_switch_told(struct cc__context *from, void *to, void *worker,
                                           uintptr_t after, bool last, void *bottom, void *top);

#endif
