/* context.h - stands in for src/os/context.h in the explorer, where stacks are
 * the engine's: a switch is a choice point, and resuming a context that is not
 * saved yet, or not ordered after its save, is found. */
#ifndef CC__OS_CONTEXT_H
#define CC__OS_CONTEXT_H

#include "engine.h"
#include "os/tools.h"

struct cc__context {
	mc_ctx *sp;	/* means something while switched out */
};

struct cc__arrival {
	void *worker;
	uintptr_t after;
};

typedef void cc__context_main(void *worker, uintptr_t after);

static inline void cc__context_begin(void *main)
{
	struct mc_arrival a = mc_arrival();

	((cc__context_main *)main)(a.worker, a.after);
}

static inline mc_ctx *cc__context_frame(void *top, cc__context_main *main)
{
	(void)top;
	return mc_ctx_new(cc__context_begin, (void *)main);
}

static inline void cc__context_adopt(struct cc__context *c)
{
	c->sp = mc_ctx_self();
}

static inline void cc__control_reset(void) {}
static inline uint64_t cc__control_renew(void)
{
	return 0;
}
static inline void cc__control_restore(uint64_t words)
{
	(void)words;
}

enum { CC__CONTEXT_ENDS = 2, CC__CONTEXT_BITS = 7 };

static inline struct cc__arrival cc__switch_stack(mc_ctx **save, mc_ctx *to, void *worker,
                                                  uintptr_t after)
{
	struct mc_arrival a;

	/* Written once: whoever resumes too early reads what is there and is told so by the
	 * engine ("resumed while running"), not that two accesses race. */
	if (*save != mc_ctx_self())
		*save = mc_ctx_self();
	if ((after & CC__CONTEXT_BITS) == CC__CONTEXT_ENDS)
		mc_ctx_end_with(to, worker, after);
	a = mc_switch_with(to, worker, after);
	return (struct cc__arrival){a.worker, a.after};
}

#endif
