/* context.c - a switch between contexts that a sanitizer is told of (os/tools.h). */
#include "os/context.h"

CC__UNCOUNTED struct cc__arrival cc__context_switch_told(struct cc__context *from, void *to, void *worker,
                                                         uintptr_t after, bool last, void *bottom,
                                                         void *top)
{
	struct cc__arrival a;
	void *fake = NULL;

	cc__tools_leave(last ? NULL : &fake, bottom, top);
	a = cc__switch_stack(&from->sp, to, worker, after);
	cc__tools_arrive(fake);
	return a;
}
