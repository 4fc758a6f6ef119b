/* context.h - a stack with a place in it to go on from, and the way there.
 *
 * C1  A context is resumed by at most one thread at a time, and only after the
 *     switch that left it has returned on the other side.
 * C2  Callee-saved registers and the floating-point control words belong to
 *     the context; everything else, thread-local storage above all, to the
 *     thread.  So the worker travels in a register, and nothing that was read
 *     from TLS before a switch is used after it.
 *
 * Sanitizers and Valgrind are told inside the switch; without them the struct
 * is one pointer. */
#ifndef CC__OS_CONTEXT_H
#define CC__OS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define CC__ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define CC__TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define CC__ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define CC__TSAN 1
#endif

struct cc__context {
	void *sp;	/* means something while switched out */
#ifdef CC__ASAN
	void *fake_stack;	/* ASan's, saved on the way out */
	const void *bottom;	/* lowest address */
	size_t size;
#endif
#ifdef CC__TSAN
	void *tsan;	/* TSan's idea of this flow of control */
#endif
};

/* What the tools keep with a piece of stack memory, however many contexts
 * live on it one after another. */
struct cc__stack_tools {
#ifdef CC__TSAN
	void *tsan;
#endif
	unsigned valgrind;
};

/* What the side that arrives is given: in registers, not in memory. */
struct cc__arrival {
	void *worker;		/* on whose thread we are now */
	uintptr_t after;	/* what is left to do for the context before us */
};

typedef void cc__context_main(void *worker, uintptr_t after);

/* Tell the tools of a new stack [bottom, bottom + size), and of its end. */
void cc__stack_tools_init(struct cc__stack_tools *t, void *bottom, size_t size);
void cc__stack_tools_fini(struct cc__stack_tools *t, void *bottom, size_t size);

/* A context that will begin in `main` at `top` (16-aligned) of that stack.
 * `main` never returns. */
void cc__context_make(struct cc__context *c, struct cc__stack_tools *t, void *bottom, void *top,
                      cc__context_main *main);

/* A context that goes on where another one ended on the same stack: tells the
 * tools, if there are any. */
#if defined(CC__ASAN) || defined(CC__TSAN)
void cc__context_on(struct cc__context *c, const struct cc__stack_tools *t, void *bottom,
                    void *top);
#else
static inline void cc__context_on(struct cc__context *c, const struct cc__stack_tools *t,
                                  void *bottom, void *top)
{
	(void)c, (void)t, (void)bottom, (void)top;
}
#endif

/* The context of the calling thread's own stack, before its first switch. */
void cc__context_adopt(struct cc__context *c);

/* The first thing `main` does. */
void cc__context_entered(void);

/* The floating-point control words as a fresh context has them: the ABI's
 * defaults, whoever made it. */
void cc__control_reset(void);
/* The same, and what they were; back to that. */
uint64_t cc__control_renew(void);
void cc__control_restore(uint64_t words);

/* The assembly below all this.  It leaves by `ret`, so the CPU guesses where a
 * switch goes on only if all callers share one call site, and their callers
 * one too: keep the ways that lead here few. */
struct cc__arrival cc__switch_stack(void **save, void *to, void *worker, uintptr_t after);
void *cc__context_frame(void *top, cc__context_main *main);
extern const char cc__switch_stack_end[];	/* behind its last instruction */

/* Whether the instruction at pc is one of the switch. */
static inline bool cc__in_switch(const char *pc)
{
	return (uintptr_t)pc >= (uintptr_t)cc__switch_stack && pc < cc__switch_stack_end;
}

/* Tell the sanitizers, before and after. */
void cc__context_leaving(struct cc__context *from, struct cc__context *to, bool last);
void cc__context_arrived(struct cc__context *at);

/* Leave `from`, go on in `to`, hand over (worker, after).  Returns when
 * somebody switches back to `from`.  With `last`, nobody ever will. */
static inline struct cc__arrival cc__context_switch(struct cc__context *from,
                                                    struct cc__context *to, void *worker,
                                                    uintptr_t after, bool last)
{
	struct cc__arrival a;

	(void)last;
#if defined(CC__ASAN) || defined(CC__TSAN)
	cc__context_leaving(from, to, last);
#endif
	a = cc__switch_stack(&from->sp, to->sp, worker, after);
#if defined(CC__ASAN) || defined(CC__TSAN)
	cc__context_arrived(from);
#endif
	return a;
}

#endif
