/* overflow.c - a fault that is the overflow of a fiber's stack is reported with the fiber. */
#include "task/overflow.h"

#include <stdio.h>

#include "os/fault.h"
#include "task/frame.h"
#include "wait/thread.h"

/* The fiber that runs on the calling thread; NULL: none does. */
static struct cc__fiber *running_fiber(void)
{
	struct cc__thread *t = cc__tls_get();

	return t != NULL && cc__running(t) != &t->parker ? cc__fiber_of(cc__running(t)) : NULL;
}

/* The fiber that made the thread fault, if that is a fiber.  A fiber that switches away is no
 * longer the thread's running one while its registers are being saved on its stack. */
static const struct cc__fiber *culprit(const struct cc__fault *fault)
{
	struct cc__stack_area a = {0};

	if (cc__in_switch(fault->pc))
		a = cc__stack_area_of(fault->address);
	return a.who != NULL ? cc__fiber_of(a.who) : running_fiber();
}

#define REMEDY \
	"stack_size in CCTaskOptions, CCNurseryOptions or CCConfig, or CC_STACK_SIZE in the " \
	"environment"

/* `skipped`: how far below its stack and the guard the stack pointer is; 0: it hit the guard. */
static void describe_overflow(const struct cc__fiber *f, size_t stack, size_t skipped, char *text,
                     size_t size)
{
	/* Relaxed: f runs on this very thread. */
	const uint64_t id = cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID;
	struct cc__name name;
	int n;

	cc__fiber_name_of(f, &name);
	n = snprintf(text, size, "libccc: fiber %llu '%s' overflowed its %zu KB stack",
	             (unsigned long long)id, name.text, stack / 1024);
	if (skipped == 0)
		snprintf(text + n, size - (size_t)n, "; give it a larger one: " REMEDY "\n");
	else
		snprintf(text + n, size - (size_t)n,
		         " with a frame that skipped the guard: its stack pointer is %zu KB below "
		         "it, and the memory in between may be overwritten; compile with "
		         "-fstack-clash-protection, and give it a larger stack: " REMEDY "\n",
		         (skipped + 1023) / 1024);
}

/* An overflow touches the fiber's own guard; or the fiber's stack pointer is below that guard,
 * and what it touches is between the two.  (Functions may use some bytes below the stack
 * pointer.)  All else is a stray pointer, into some guard or not, and so the host's. */
static bool claim_overflow(const struct cc__fault *fault, char *text, size_t size)
{
	enum { RED_ZONE = 128 };
	const struct cc__fiber *f = culprit(fault);
	/* Relaxed: f runs on this very thread. */
	const struct cc__stack *s = f != NULL ? cc__load(&f->stack, CC__RELAXED) : NULL;
	struct cc__stack_area own;
	size_t skipped = 0;

	if (!cc__is_stack(s) || (own = cc__stack_area_of(cc__stack_bottom(s))).guard == NULL)
		return false;
	if (fault->sp < own.guard)
		skipped = (size_t)(own.guard - fault->sp);
	if (fault->address >= own.bottom ||
	    (fault->address < own.guard &&
	     (skipped == 0 || skipped > CC__STACK_MAX || fault->address + RED_ZONE < fault->sp)))
		return false;
	describe_overflow(f, own.size, fault->address < own.guard ? skipped : 0, text, size);
	return true;
}

void cc__overflow_install(void)
{
	cc__fault_install(claim_overflow);
}
